package phrase_test

import (
	"regexp"
	"slices"
	"testing"

	"tercet/internal/phrase"
)

// TestBothLanguagesHaveEveryText: no text lacks its Japanese, is the same in both languages, or
// loses a place that is filled in.
func TestBothLanguagesHaveEveryText(t *testing.T) {
	t.Parallel()
	place := regexp.MustCompile(`\{\w+\}`)
	for en, ja := range phrase.All() {
		if ja == "" || ja == en || en == "" {
			t.Errorf("%q is %q in Japanese", en, ja)
		}
		want := place.FindAllString(en, -1)
		got := place.FindAllString(ja, -1)
		if !slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))) {
			t.Errorf("%q has the places %q, and %q in Japanese", en, want, got)
		}
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ language, title, want string }{
		{phrase.English, "Write the plan", "Write the plan"},
		{phrase.Japanese, "Write the plan", "計画を書く"},
		{phrase.Japanese, "Mark the task as planned", "このタスクを計画済みにする"},
		{phrase.Japanese, "Mark task 12 as planned", "タスク 12 を計画済みにする"},
		{phrase.Japanese, "Mark task 12 as sold", "Mark task 12 as sold"},
	} {
		if got := phrase.Title(tt.language, tt.title); got != tt.want {
			t.Errorf("Title(%q, %q) = %q, want %q", tt.language, tt.title, got, tt.want)
		}
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language, text string
		with           []string
		want           string
	}{
		{"", "Abort", nil, "Abort"},
		{phrase.English, "Abort", nil, "Abort"},
		{phrase.Japanese, "Abort", nil, "中断"},
		{phrase.Japanese, "Ship it", nil, "Ship it"},
		{
			phrase.English,
			"Phase {N}/{M}: launching {agent}",
			[]string{"{N}", "1", "{M}", "3", "{agent}", "{N}"},
			"Phase 1/3: launching {N}",
		},
		{
			phrase.Japanese,
			"Phase {N}/{M}: launching {agent}",
			[]string{"{N}", "1", "{M}", "3", "{agent}", "tester"},
			"Phase 1/3: tester を起動します",
		},
	} {
		if got := phrase.In(tt.language, tt.text, tt.with...); got != tt.want {
			t.Errorf("In(%q, %q, %q) = %q, want %q", tt.language, tt.text, tt.with, got, tt.want)
		}
	}
}

// TestQuestion: what stands in the holes of a question stays, in the order of the language.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for english, want := range map[string]string{
		"Archive 2 tasks?":                 "2 tasks をアーカイブしますか？",
		"Run the 3 commands of plan {1}?":  "plan {1} の 3 commands を実行しますか？",
		"Write these files?":               "これらのファイルを書き込みますか？",
		"Write these files? And others":    "Write these files? And others",
		"run r1 of /plan 1 did not end:":   "/plan 1 の実行 r1 は終わっていません:",
		"step 'x' is failed: a: b":         "ステップ 'x' は failed: a: b",
		"Is this a question of somebody's": "Is this a question of somebody's",
	} {
		if got := phrase.Question(phrase.Japanese, english); got != want {
			t.Errorf("Question(%q) = %q, want %q", english, got, want)
		}
		if got := phrase.Question(phrase.English, english); got != english {
			t.Errorf("Question(%q) in English = %q", english, got)
		}
	}
}

// FuzzQuestion: no question breaks the translation, and none of another language changes.
func FuzzQuestion(f *testing.F) {
	f.Add("Run the {} of {1}?")
	f.Add("step '' is : ")
	f.Fuzz(func(t *testing.T, text string) {
		phrase.Question(phrase.Japanese, text)
		if got := phrase.Question("", text); got != text {
			t.Errorf("Question(%q) = %q", text, got)
		}
	})
}
