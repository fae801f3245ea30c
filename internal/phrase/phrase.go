// Package phrase holds the fixed texts of flows in each language. Its functions are pure.
package phrase

import (
	"iter"
	"maps"
	"strings"
)

// The languages.
const (
	English  = "en"
	Japanese = "ja"
)

// texts has the Japanese of each text by its English. These are the phases that a command with
// tiers shows, and the choices of the flows and of tercet itself. Names of tiers are not
// translated. Journals and expressions hold the English whatever the language.
var texts = map[string]string{
	"Phase {N}/{M}: launching {agent}": "Phase {N}/{M}: {agent} を起動します",
	"Phase {N} complete: {agent}":      "Phase {N} 完了: {agent}",
	"Generated artifacts":              "生成された成果物",
	"Summary":                          "内容サマリー",
	"Confirmation needed":              "確認事項があります",
	"(recommended)":                    "(推奨)",
	"Not available: {source}":          "情報なし: {source}",

	"accept":              "受け入れる",
	"again":               "もう一度",
	"approve":             "承認",
	"discard":             "破棄",
	"keep":                "残す",
	"reject":              "却下",
	"resume":              "再開",
	"retry":               "再試行",
	"retry with feedback": "指摘を付けて再試行",
	"skip":                "スキップ",
	"stop":                "停止",

	"Abort":                      "中断",
	"Answer":                     "回答する",
	"Approve and continue":       "承認して続行",
	"Approve and start":          "承認して開始",
	"Approve despite findings":   "指摘を承知の上で承認",
	"Ask":                        "質問する",
	"Back up":                    "バックアップする",
	"Change to Major":            "Major に変更",
	"Change to Minor":            "Minor に変更",
	"Change to Patch":            "Patch に変更",
	"Commit them":                "コミットする",
	"Confirm as complete":        "完了として確定",
	"Continue from here":         "ここから続行",
	"Continue rollback":          "rollback を継続",
	"Continue without documents": "文書なしで続行",
	"Escalate to Standard":       "Standard に引き上げる",
	"Exit as interrupted":        "中断して終了",
	"Go on":                      "続行",
	"Hand off to delivery-flow":  "delivery-flow に引き継ぐ",
	"I corrected it":             "修正済み",
	"Inject and branch":          "追記してブランチを作成",
	"The first":                  "1 番目",
	"The second":                 "2 番目",
	"The third":                  "3 番目",
	"The fourth":                 "4 番目",
	"The fifth":                  "5 番目",
	"None of them":               "どれでもない",
	"It has a database":          "データベースあり",
	"It has none":                "データベースなし",
	"Keep the branch":            "ブランチを残す",
	"Other":                      "その他",
	"Overwrite":                  "上書きする",
	"Publish":                    "公開する",
	"Request additional fixes":   "追加の修正を指示",
	"Request modification":       "修正を指示",
	"Resume":                     "再開",
	"Resume from analyst-core":   "analyst-core から再開",
	"Retry":                      "再試行",
	"Retry with a note":          "指示を付けて再試行",
	"Review before deciding":     "確認してから決める",
	"Revise the specification":   "仕様を修正",
	"Roll back":                  "元に戻す",
	"Roll back to interviewer":   "interviewer に戻す",
	"Run codebase-analyzer":      "codebase-analyzer を実行",
	"Run researcher once":        "researcher を一度実行",
	"Skip":                       "スキップ",
	"Start fresh":                "新規に開始",
	"Start over":                 "最初からやり直す",
	"Stop":                       "停止",
	"Take it over":               "引き継ぐ",
}

// All yields each text in English and in Japanese.
func All() iter.Seq2[string, string] {
	return maps.All(texts)
}

// In gives a text in a language; an unknown text stays as it is. with gives pairs of {place} and
// value.
func In(language, english string, with ...string) string {
	if text := texts[english]; text != "" && language == Japanese {
		english = text
	}
	return strings.NewReplacer(with...).Replace(english)
}
