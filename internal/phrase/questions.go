package phrase

import "strings"

// questions has the Japanese of the questions that tercet and its commands ask. A hole, written {},
// takes any text; the first that fits counts.
var questions = [][2]string{
	{"Archive {}?", "{} をアーカイブしますか？"},
	{"Write these files?", "これらのファイルを書き込みますか？"},
	{"Keep what is left as tasks ({})?", "残りをタスクとして残しますか？ ({})"},
	{"Commit {}?", "{} をコミットしますか？"},
	{"Run the {} of {}?", "{1} の {0} を実行しますか？"},
	{"Run this command in {}?", "このコマンドを {} で実行しますか？"},
	{"Run and read this for {}?", "{} のためにこれを実行して読み込みますか？"},
	{"Run {}?", "{} を実行しますか？"},
	{"Go on?", "続行しますか？"},
	{"Go back to step '{}' and drop {}?", "ステップ '{}' に戻り、{} を破棄しますか？"},
	{
		"{} changed since the run began. Go on with what the run read then?",
		"実行の開始後に {} が変わりました。開始時の内容で続行しますか？",
	},
	{"run {} of {} did not end:", "{1} の実行 {0} は終わっていません:"},
	{"step '{}' is {}: {}", "ステップ '{}' は {}: {}"},
	{"Which one shall stand?", "どちらを残しますか？"},
	{"{} is blocked: {}", "{} は先に進めません: {}"},
	{
		"{} is about issue #{}, and was not handed on. Add the payload?",
		"{} は issue #{} のもので、まだ引き継がれていません。payload を追記しますか？",
	},
	{"{} was handed on already{}. Resume?", "{} はすでに引き継がれています{}。再開しますか？"},
	{"Deliver a {} as {}?", "{} を {} で開発しますか？"},
	{"Discover as {}?", "{} で調査しますか？"},
	{"Documents are missing: {}", "文書が足りません: {}"},
	{"Migrate in {} phases?", "{} フェーズで移行しますか？"},
	{
		"Not committed as they stand, so that the worktree would lack them: {}",
		"コミットされていないため worktree に入りません: {}",
	},
	{"Prepare operations as {}?", "{} で運用を準備しますか？"},
	{"Publish {}?", "{} を公開しますか？"},
	{
		"TASK.md has {} open tasks of another tool. Take it over?",
		"TASK.md に他のツールの未完了タスクが {} 件あります。引き継ぎますか？",
	},
	{"The specification is deficient: {}", "仕様が不十分です: {}"},
	{"These documents exist already: {}", "次の文書はすでにあります: {}"},
	{"Write {} as {}?", "{} を {} で作成しますか？"},
	{"reviewer approves on conditions: {}", "reviewer は条件付きで承認しています: {}"},
	{"Which planning document? {}", "どの企画書ですか？ {}"},
}

// Question gives a question in a language; one that tercet does not know stays as it is.
func Question(language, english string) string {
	if language != Japanese {
		return english
	}
	for _, q := range questions {
		if parts, ok := matchPattern(q[0], english); ok {
			return fillPattern(q[1], parts)
		}
	}
	return english
}

// matchPattern matches a text with a pattern, and gives what stands in its holes.
func matchPattern(pattern, text string) (parts []string, ok bool) {
	fixed := strings.Split(pattern, "{}")
	rest, ok := strings.CutPrefix(text, fixed[0])
	for i, next := range fixed[1:] {
		if !ok {
			return nil, false
		}
		var part string
		if i == len(fixed)-2 {
			part, ok = strings.CutSuffix(rest, next)
			rest = ""
		} else {
			part, rest, ok = strings.Cut(rest, next)
		}
		parts = append(parts, part)
	}
	return parts, ok && rest == ""
}

// fillPattern puts texts into the holes of a pattern, in their order or by their numbers.
func fillPattern(pattern string, parts []string) string {
	var out strings.Builder
	next := 0
	for pattern != "" {
		before, rest, ok := strings.Cut(pattern, "{")
		out.WriteString(before)
		if !ok {
			break
		}
		number, rest, _ := strings.Cut(rest, "}")
		at := next
		if number != "" {
			at = int(number[0] - '0')
		}
		next++
		if at < len(parts) {
			out.WriteString(parts[at])
		}
		pattern = rest
	}
	return out.String()
}
