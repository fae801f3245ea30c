package phrase

import "strings"

// titles has the Japanese of the titles of the steps of shipped commands.
var titles = map[string]string{
	// /agent
	"List the subagents":                  "subagent を一覧にする",
	"Ask the subagent":                    "subagent に依頼する",
	"Ask whether to commit its documents": "文書をコミットするか確認する",
	"Commit the documents":                "文書をコミットする",
	"Show its answer":                     "回答を表示する",
	// /errors, /help
	"Group the errors":     "エラーをまとめる",
	"Show the result":      "結果を表示する",
	"Look the commands up": "コマンドを調べる",
	"Show the answer":      "答えを表示する",
	// /implement
	"Open a worktree":             "worktree を開く",
	"For each open phase":         "未完了のフェーズごとに",
	"Do the work of the phase":    "フェーズの作業をする",
	"Review the phase":            "フェーズをレビューする",
	"Link what the phase made":    "フェーズの成果物を登録する",
	"Commit the phase":            "フェーズをコミットする",
	"Mark the phase as completed": "フェーズを完了にする",
	"Publish the branch":          "ブランチを公開する",
	"Remove the worktree":         "worktree を削除する",
	"Mark the task as completed":  "このタスクを完了にする",
	"Keep unfinished work on a branch of its own and remove the worktree": "未完了の作業を別のブランチに残し、worktree を削除する",
	// /meta
	"Draft the files":                             "ファイルの下書きを作る",
	"Write the texts":                             "本文を書く",
	"Put the texts into the files":                "本文をファイルに入れる",
	"Send texts back that do not pass the checks": "検査に通らない本文を差し戻す",
	"Ask before a command is hidden":              "コマンドを隠す前に確認する",
	"Ask before anything is written":              "書き込む前に確認する",
	"Write the files":                             "ファイルを書き込む",
	"Ask whether what is left becomes tasks":      "残りをタスクにするか確認する",
	"Create the tasks":                            "タスクを作成する",
	// /research, /plan, /revise, /review
	"Search the project and write the report": "プロジェクトを調べて報告書を書く",
	"Check the report":                        "報告書を検査する",
	"Mark the task as researched":             "このタスクを調査済みにする",
	"Commit the report":                       "報告書をコミットする",
	"Write the plan":                          "計画を書く",
	"Check the plan":                          "計画を検査する",
	"Mark the task as planned":                "このタスクを計画済みにする",
	"Commit the plan":                         "計画をコミットする",
	"Write the new plan":                      "新しい計画を書く",
	"Mark the task as revised":                "このタスクを改訂済みにする",
	"Show the new plan":                       "新しい計画を表示する",
	"Write the new description":               "新しい説明を書く",
	"Keep the description":                    "説明を保存する",
	"Run the checks and write the review":     "検査を実行してレビューを書く",
	"Check the review":                        "レビューを検査する",
	"Link the review":                         "レビューを登録する",
	"Show the verdict":                        "判定を表示する",
	// /task, /todo
	"Take tasks to recover out of the archive": "復元するタスクをアーカイブから取り出す",
	"Recover tasks":                         "タスクを復元する",
	"Abandon tasks":                         "タスクを中止する",
	"Take over the hand edits of TODO.md":   "TODO.md の手による変更を取り込む",
	"Read the parts of a task to divide":    "分割するタスクの各部を読む",
	"Divide the task":                       "このタスクを分割する",
	"Ask for the issue":                     "issue を取得する",
	"Read the task":                         "このタスクを読む",
	"Create the task":                       "このタスクを作成する",
	"Show the open tasks":                   "未完了のタスクを表示する",
	"Stop when there is nothing to archive": "アーカイブするものがなければ終わる",
	"Show what can be archived":             "アーカイブできるものを表示する",
	"Stop on a dry run":                     "dry run ならここで終わる",
	"Ask before archiving a few tasks":      "少数のタスクをアーカイブする前に確認する",
	"Ask before archiving more, also where nobody can be asked": "多数をアーカイブする前に、誰もいなくても確認する",
	"Archive the tasks":  "タスクをアーカイブする",
	"Commit the archive": "アーカイブをコミットする",
}

// What a title says of the task of its run. A run names the task by its number.
const (
	theTask      = "the task"
	theTaskInJa  = "このタスク"
	numbered     = "task {}"
	numberedInJa = "タスク "
)

// Title gives the title of a step in a language; one that tercet does not know stays as it is.
func Title(language, english string) string {
	if language != Japanese {
		return english
	}
	if title := titles[english]; title != "" {
		return title
	}
	if !strings.Contains(english, "task ") {
		return english
	}
	for known, title := range titles {
		parts, ok := matchPattern(strings.Replace(known, theTask, numbered, 1), english)
		if ok && len(parts) == 1 {
			return strings.Replace(title, theTaskInJa, numberedInJa+parts[0]+" ", 1)
		}
	}
	return english
}
