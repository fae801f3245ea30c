package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/frontends/term"
	"tercet/internal/journal"
	"tercet/internal/live"
	"tercet/internal/trace"
	"tercet/project"
)

// nasty is what strangers write to get at a terminal.
const nasty = "a\x1b]52;c;eA==\x07b\x9bc\u009b31m\u202ed\u2066\u200b\u00ad\U000e0041\n" +
	"tercet: all is well\r\x00\x7f\xff"

// badIn gives the first thing of an output that must not reach a terminal; line feeds and tabs are
// looked for by the caller.
func badIn(s string) string {
	if !utf8.ValidString(s) {
		return "no UTF-8"
	}
	for _, r := range s {
		switch {
		case r == '\n', r == '\t':
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
			r == 0x61c, r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff, r == 0x2028,
			r == 0x2029:
			return "a character that the terminal obeys"
		}
	}
	return ""
}

// TestEveryMouth sends nasty text through each way to the terminal: nothing of it is obeyed, and no
// line of it looks like a line of tercet.
func TestEveryMouth(t *testing.T) {
	t.Parallel()
	failed := formats.Return{
		Status:        formats.StatusFailed,
		Text:          "x",
		Summary:       nasty,
		NextSteps:     nasty,
		Warnings:      []string{nasty},
		BlockedReason: nasty,
		Errors: []formats.ReturnError{
			{Code: formats.CodeUnknown, Message: nasty, Recommendation: nasty},
			{Message: "a:1:2: E001: " + nasty, Code: formats.CodeInvalidCommand},
		},
		Issues: []formats.Issue{{
			Level:       "error",
			Description: nasty,
			Files:       []string{nasty},
			Line:        1,
		}},
	}

	blocked := failed
	blocked.Status = formats.StatusBlocked

	found := &formats.Diagnostics{
		List: []formats.Diagnostic{
			{
				Code:    "E001",
				File:    nasty,
				Pos:     formats.Pos{Line: 1, Col: 3},
				End:     formats.Pos{Line: 1, Col: 9},
				Message: nasty,
				Help:    nasty,
			},
			{Code: "E002", File: nasty, Message: nasty, Help: nasty},
		},
		Sources: map[string][]byte{nasty: []byte(nasty)},
	}

	for name, speak := range map[string]func(*term.Terminal){
		"answer": func(t *term.Terminal) {
			t.Answer("one %s, %v and %q", nasty, errors.New(nasty), nasty)
		},
		"note":   func(t *term.Terminal) { t.Note("one %s", nasty) },
		"say":    func(t *term.Terminal) { t.Say(nasty) },
		"prompt": func(t *term.Terminal) { t.Prompt("Trust %s? ", nasty) },
		"help":   func(t *term.Terminal) { t.Help(nasty) },
		"failure": func(t *term.Terminal) {
			t.Failure(&formats.Failure{
				Code:    formats.CodeIO,
				Message: nasty,
				Err:     errors.New(nasty),
				Help:    nasty,
			})
		},
		"failures": func(t *term.Terminal) {
			t.Failure(errors.Join(errors.New(nasty), errors.New(nasty)))
		},
		"placed failure": func(t *term.Terminal) {
			t.Failure(errors.New("a:1:2: " + nasty))
		},
		"diagnostics": func(t *term.Terminal) { t.Failure(found) },
		"failed":      func(t *term.Terminal) { t.ShowReturn(failed) },
		"blocked":     func(t *term.Terminal) { t.ShowReturn(blocked) },
		"table": func(t *term.Terminal) {
			t.Table(formats.Table{
				Title:   nasty,
				Columns: []string{"a", "b"},
				Rows:    [][]string{{nasty, nasty}},
			})
		},
		"step": func(t *term.Terminal) {
			live.NewScreen(live.Config{Out: t.Err}).Emit(trace.Event{
				Kind:    trace.Step,
				Name:    nasty,
				Outcome: nasty,
			})
		},
		"gate in time": func(t *term.Terminal) {
			live.NewScreen(live.Config{Out: t.Err}).Emit(trace.Event{
				Kind:    trace.Gate,
				Message: trace.InTime,
				Name:    nasty,
				Outcome: nasty,
			})
		},
		"json": func(t *term.Terminal) {
			t.JSON(map[string]string{nasty: nasty})
		},
		"json line": func(t *term.Terminal) {
			t.Encode(map[string]string{nasty: nasty}, "")
		},
		"raw": func(t *term.Terminal) { t.Raw([]byte(nasty)) },
		"raw errors": func(t *term.Terminal) {
			_, errs := t.Screens()
			_, _ = errs.Write([]byte(nasty))
		},
		"log": func(t *term.Terminal) {
			t.Set.Verbose = 2
			t.Mask(journal.NewMasker())
			t.Event(trace.Event{Kind: trace.Step, Message: nasty}, nil, true)
		},
	} {
		for _, tty := range []bool{true, false} {
			if !tty && strings.HasPrefix(name, "raw") {
				continue // bytes for a file or a program stay what they are
			}

			var out bytes.Buffer
			to := term.New(term.Config{
				Out:     &out,
				Err:     &out,
				Env:     func(string) string { return "" },
				Clock:   clock{},
				Signals: &signals{},
			})
			to.OutTTY = tty
			to.ErrTTY = tty
			to.Set.Colour = "never"

			speak(to)

			got := out.String()
			if bad := badIn(got); bad != "" || got == "" {
				t.Errorf("%s: %q: %s", name, got, bad)
			}
			if !strings.HasPrefix(name, "raw") && strings.Contains(got, "\ntercet: all") {
				t.Errorf("%s: a line of a stranger looks like one of tercet: %q", name, got)
			}
		}
	}
}

// TestGateShowsNastyText asks a question of a stranger about text of a stranger.
func TestGateShowsNastyText(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	a := newApp(stdio{
		in:  strings.NewReader(nasty + "\nn\n"),
		out: &out,
		err: &out,
	}, func(string) string { return "" })

	g := formats.Gate{
		Question: nasty,
		Show:     []string{nasty},
		Choices:  []formats.Choice{{Label: "é" + nasty, Approves: true}, {Label: "no"}},
	}

	d, err := a.term.Ask(t.Context(), project.Question{Gate: g})
	if err != nil || d.Label != "no" {
		t.Errorf("Ask = %+v, %v, want no", d, err)
	}

	got := out.String()
	bad := badIn(got)
	if bad != "" || strings.Contains(got, "\ntercet: all") ||
		!strings.Contains(got, "\n  | tercet: all is well") ||
		!strings.Contains(got, "é[a]<U+001B>") {
		t.Errorf("%q: %s", got, bad)
	}
}
