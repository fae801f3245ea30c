package question_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/phrase"
	"tercet/internal/question"
)

func set(labels ...string) question.Set {
	var list []formats.Choice
	for _, l := range labels {
		list = append(list, formats.Choice{Label: l})
	}
	return question.Of(list, "")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for want, labels := range map[string][]string{
		"[a]pprove  [r]eject": {"approve", "reject"},
		"[R]etry  Re[t]ry with a note  [S]kip  [A]bort": {
			"Retry", "Retry with a note", "Skip", "Abort",
		},
		"[A]pprove and start  A[p]prove": {"Approve and start", "Approve"},
		"[1] 承認して開始  [2] 中断":             {"承認して開始", "中断"},
		"e[x]it  d[i]scard  [3] de":      {"exit", "discard", "de"},
		"[1] é  [a]":                     {"é", "a"},
	} {
		if got := set(labels...).String(); got != want {
			t.Errorf("Of(%q) = %s, want %s", labels, got, want)
		}
	}
	if got := set("go\a\nthere").String(); strings.ContainsAny(got, "\a\n") {
		t.Errorf("%q holds control characters", got)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	own := set("retry", "retry with a note", "skip", "stop")
	flow := set("Approve and start", "Request modification", "Abort")
	ja := question.Of([]formats.Choice{
		{Label: "Approve and start"},
		{Label: "Request modification"},
		{Label: "Approve and continue"},
		{Label: "Change to Major"},
		{Label: "Change to Minor"},
		{Label: "Ship it"},
	}, phrase.Japanese)
	got := ja.String()
	want := "[1] 承認して開始  [2] 修正を指示  [3] 承認して続行  [M]ajor に変更  M[i]nor に変更  [S]hip it"
	if got != want {
		t.Errorf("in Japanese the choices are %s, want %s", got, want)
	}
	for _, tt := range []struct {
		of               question.Set
		line, want, note string
	}{
		{own, "s", "skip", ""},
		{own, "o", "stop", ""},
		{own, "st", "stop", ""},
		{own, "t", "retry with a note", ""},
		{own, "retry", "retry", ""},
		{own, "RETRY: try harder", "retry", "try harder"},
		{own, "re", "", ""},
		{own, "retry with", "retry with a note", ""},
		{own, "retrywithanote: a: b", "retry with a note", "a: b"},
		{own, "2", "retry with a note", ""},
		{own, "0", "", ""},
		{own, "5", "", ""},
		{own, "", "", ""},
		{own, "  ", "", ""},
		{own, "d", "", ""},
		{own, "e", "", ""},
		{own, "?", "", ""},
		{own, "skip it", "", ""},
		{own, ":", "", ""},
		{flow, "Request modification: shorter", "Request modification", "shorter"},
		{flow, "req", "Request modification", ""},
		{flow, "a", "Approve and start", ""},
		{flow, "b", "Abort", ""},
		{flow, "ab", "Abort", ""},
		{set("承認して開始", "承認して続行", "中断"), "中断", "中断", ""},
		{set("承認して開始", "承認して続行", "中断"), "承認", "", ""},
		{set("承認して開始", "承認して続行", "中断"), "2：短く", "承認して続行", "短く"},
		{set("do: it", "do"), "do: it", "do: it", ""},
		{set("do: it", "do"), "do: that", "do", "that"},
		{set("done", "discard"), "d", "", ""},
		{set("done", "discard"), "di", "discard", ""},
		{flow, "中断", "Abort", ""},
		{flow, "修正：短く", "Request modification", "短く"},
		{ja, "req", "Request modification", ""},
		{ja, "修正を指示: shorter", "Request modification", "shorter"},
		{ja, "2", "Request modification", ""},
		{ja, "承認", "", ""},
		{ja, "approve", "", ""},
		{ja, "承認して続", "Approve and continue", ""},
		{ja, "ma", "Change to Major", ""},
		{ja, "mi", "Change to Minor", ""},
		{ja, "m", "Change to Major", ""},
		{ja, "Ship it", "Ship it", ""},
	} {
		label, note, ok := tt.of.Read(tt.line)
		if label != tt.want || note != tt.note || ok != (tt.want != "") {
			t.Errorf("Read(%q) of %s = %q, %q, %t, want %q, %q",
				tt.line, tt.of, label, note, ok, tt.want, tt.note)
		}
	}
}

func TestYes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]bool{
		"y":          {true, true},
		" YES ":      {true, true},
		"n":          {false, true},
		"no":         {false, true},
		"":           {false, true},
		"ye":         {false, false},
		"/task x":    {false, false},
		"yes please": {false, false},
		"1":          {false, false},
	} {
		if yes, ok := question.ParseYes(line); yes != want[0] || ok != want[1] {
			t.Errorf("ParseYes(%q) = %t, %t, want %v", line, yes, ok, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("retry\nskip\nstop", "s: why")
	f.Add("承認\n中断", "2：x")
	f.Add("a:b\na", "a:b:c")
	f.Add("\xff\n\x00", "\xff")
	f.Fuzz(func(t *testing.T, labels, line string) {
		list := strings.Split(labels, "\n")
		s := set(list...)
		if strings.ContainsAny(s.String(), "\x00\x1b\n\x7f") {
			t.Fatalf("%q shows control characters", s)
		}
		label, _, ok := s.Read(line)
		if found := strings.Contains("\n"+labels+"\n", "\n"+label+"\n"); ok && !found {
			t.Fatalf("Read(%q) = %q, which is none of %q", line, label, list)
		}
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	l := question.NewLines(strings.NewReader("one\r\n\ntwo"), nil)
	for _, want := range []string{"one", ""} {
		if got, err := l.Next(t.Context()); got != want || err != nil {
			t.Errorf("Next = %q, %v, want %q", got, err, want)
		}
	}

	if got := l.Drop(t.Context()); got != nil {
		t.Errorf("Drop of what is no terminal = %q, want nothing", got)
	}
	if got, err := l.Next(t.Context()); got != "two" || !errors.Is(err, io.EOF) {
		t.Errorf("Next = %q, %v, want the last line with the end", got, err)
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Next behind the end = %v", err)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	why := errors.New("left")
	cancel(why)
	in, out := io.Pipe()
	waiting := question.NewLines(in, nil)
	if _, err := waiting.Next(gone); !errors.Is(err, why) {
		t.Errorf("Next with a context that ended = %v, want its cause", err)
	}
	if err := out.Close(); err != nil { // ends the goroutine
		t.Error(err)
	}
	if _, err := waiting.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Next behind the end = %v", err)
	}
}

// TestAskNarrow: on 40 columns the question and its choices are broken between words, and every key
// is there.
func TestAskNarrow(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	var prompts []string
	answers := []string{"?", "x", "r: too long"}
	p := question.Person{
		Lines:      question.NewLines(strings.NewReader(""), nil),
		Out:        &out,
		Screen:     func() (int, int) { return 40, 10 },
		TypedAhead: func([]string) {},
		Line: func(_ context.Context, text func() string, _ question.Keys) (string, error) {
			prompts = append(prompts, text())
			answer := answers[0]
			answers = answers[1:]
			return answer, nil
		},
	}
	const prose = "- [major] the password of the shop is written to the log\n```\ncp one two\n" +
		"```\nDone."
	g := formats.Gate{
		Question: "Merge the work of task 12 with what has come meanwhile?",
		Choices: []formats.Choice{
			{Label: "Approve and start"},
			{Label: "Request modification"},
			{Label: "Abort"},
		},
		Show:      []string{"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\x1b", prose},
		Documents: []string{"plan.md"},
	}
	a, err := p.Ask(t.Context(), g, question.Matter{Note: "first"})
	if err != nil || a.Label != "Request modification" || a.Note != "first\ntoo long" {
		t.Errorf("Ask = %+v, %v", a, err)
	}
	want := "Merge the work of task 12 with what has\ncome meanwhile?\n  [A]pprove and start\n" +
		"  [R]equest modification  A[b]ort\n  [d]iff [?] " // without an editor there is no edit
	if prompts[0] != want {
		t.Errorf("prompt = %q, want %q", prompts[0], want)
	}
	shown := out.String()
	for _, want := range []string{
		"  | +b<U+001B>\n",
		"  | - [major] the password of the shop\n  |   is written to the log\n  | ```\n" +
			"  | cp one two\n",
		"  1  [A]pprove and start\n", "d  what the work has changed: 1 file\n",
		"e  an editor; set VISUAL or EDITOR", "  your note: first\n",
		`expected one of the choices, got "x"`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("nothing says %q:\n%s", want, shown)
		}
	}

	for line := range strings.SplitSeq(shown+want, "\n") {
		if len(line) > 40 {
			t.Errorf("line %q is wider than 40", line)
		}
	}
}

// TestCommandsAreWhole: what a person agrees to run, a patch, and what stands between fences are
// shown as they are.
func TestCommandsAreWhole(t *testing.T) {
	t.Parallel()
	const command = "printf '%s' one two three four five six seven > count.sh"
	for text, person := range map[string]bool{
		command:                       true,
		"```sh\n" + command + "\n```": false,
		"diff --git a/a b/a\n@@ -1 +1 @@\n+" + command: false,
	} {
		var out strings.Builder
		p := question.Person{
			Lines:      question.NewLines(strings.NewReader(""), nil),
			Out:        &out,
			Screen:     func() (int, int) { return 40, 10 },
			TypedAhead: func([]string) {},
			Line: func(context.Context, func() string, question.Keys) (string, error) {
				return "a", nil
			},
		}
		g := formats.Gate{
			Question:    "Run it?",
			Choices:     []formats.Choice{{Label: "approve"}},
			Show:        []string{text},
			NeedsPerson: person,
		}
		_, err := p.Ask(t.Context(), g, question.Matter{})
		if err != nil || !strings.Contains(out.String(), command+"\n") {
			t.Errorf("%q is shown as %q, %v", text, out.String(), err)
		}
	}
}

// TestNoteIsNeeded: a choice that needs a note is not taken without one; a note that was given
// before counts.
func TestNoteIsNeeded(t *testing.T) {
	t.Parallel()
	g := formats.Gate{
		Question: "Well?",
		Choices:  []formats.Choice{{Label: "Go on"}, {Label: "Retry with a note", NeedsNote: true}},
	}
	for note, answers := range map[string][]string{
		"":       {"r", "2", "retry:  ", "r: shorter"},
		"before": {"r"},
	} {
		var out strings.Builder
		want := max(1, len(answers))
		asked := 0
		p := question.Person{
			Lines:      question.NewLines(strings.NewReader(""), nil),
			Out:        &out,
			Screen:     func() (int, int) { return 80, 10 },
			TypedAhead: func([]string) {},
			Line: func(context.Context, func() string, question.Keys) (string, error) {
				asked++
				return answers[asked-1], nil
			},
		}
		a, err := p.Ask(t.Context(), g, question.Matter{Note: note})
		if err != nil || a.Label != "Retry with a note" || strings.TrimSpace(a.Note) == "" ||
			asked != want {
			t.Errorf("Ask with %q = %+v, %v after %d answers, want %d", note, a, err, asked, want)
		}
		if strings.Contains(out.String(), "needs a note: type it behind a") != (want > 1) {
			t.Errorf("Ask with %q tells %q", note, out.String())
		}
	}

	for word, note := range map[string]string{"2": "", "retry": " ", "Go on": ""} {
		_, err := question.Chosen(g, word, note, true)
		usage := err != nil && formats.CodeOf(err) == formats.CodeUsage
		if usage != (word != "Go on") {
			t.Errorf("Chosen(%q, %q) = %v", word, note, err)
		}
	}
}

// TestOneKey: a letter of a choice answers by itself, with what judges said and what happens after
// each choice above it. A no asks for a note, and so does a letter with Shift; where the user's own
// words are an answer no letter decides.
func TestOneKey(t *testing.T) {
	t.Parallel()
	g := formats.Gate{
		ID:       "g1",
		Question: "Ship it?",
		Reviews:  []string{"judge: approved: it\x1b[31m reads well"},
		Choices: []formats.Choice{
			{Label: "ship", Approves: true, After: "goes on with 'Say'"},
			{Label: "again", After: "does 'Write' again, with your note"},
		},
	}
	for _, tt := range []struct {
		typed      []string
		free       string
		want, note string
		asked      int // for a note
	}{
		{typed: []string{"s"}, want: "ship"},
		{typed: []string{"a", ""}, want: "again", asked: 1},
		{typed: []string{"a", "shorter"}, want: "again", note: "shorter", asked: 1},
		{typed: []string{"a\n"}, want: "again"}, // Enter came with it
		{typed: []string{"S", "fine"}, want: "ship", note: "fine", asked: 1},
		{typed: []string{"again: shorter"}, want: "again", note: "shorter"},
		{typed: []string{"better words"}, free: "again", want: "again", note: "better words"},
	} {
		var out strings.Builder
		asked := 0
		answers := tt.typed
		p := question.Person{
			Lines:      question.NewLines(strings.NewReader(""), nil),
			Out:        &out,
			Screen:     func() (int, int) { return 80, 10 },
			TypedAhead: func([]string) {},
			Line: func(_ context.Context, text func() string, keys question.Keys) (string, error) {
				if strings.Contains(text(), "note for '") {
					asked++
				} else {
					checkEffects(t, keys, tt.free != "")
				}
				answer := answers[0]
				answers = answers[1:]
				return answer, nil
			},
		}
		gate := g
		gate.Free = tt.free
		a, err := p.Ask(t.Context(), gate, question.Matter{})
		if err != nil || a.Label != tt.want || a.Note != tt.note || asked != tt.asked {
			t.Errorf("Ask after %q = %+v, %v, asked for a note %d times, want %+v",
				tt.typed, a, err, asked, tt)
		}
		for _, want := range []string{
			"  | judge: approved: it<U+001B>[31m reads well\n",
			"ship goes on with 'Say'; again does 'Write' again, with your note\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("nothing says %q:\n%s", want, out.String())
			}
		}
	}
}

// checkEffects checks what letters do at the question of TestAskShows: where other words are an
// answer, each begins a line.
func checkEffects(t *testing.T, keys question.Keys, free bool) {
	t.Helper()
	for key, want := range map[string]question.Effect{
		"s": question.Answers,
		"?": question.Answers,
		"x": question.Ignored,
		" ": question.Ignored,
	} {
		if free {
			want = question.Begins
		}
		if _, got := keys(key); got != want {
			t.Errorf("the key %q does %v, want %v; other words answer: %v", key, got, want, free)
		}
	}
}
