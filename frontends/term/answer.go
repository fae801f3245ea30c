package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/editor"
	"tercet/internal/question"
	"tercet/internal/style"
)

// askLine asks one thing on the terminal. A single key of keys answers at once; with Enter right
// behind it, it ends with a line feed. A key that no answer begins with is ignored. Without keys,
// and for whatever begins an answer, it gives the line that is typed. What was pasted is told and
// not taken. Ctrl-C leaves the question alone, and not what asks it. A terminal that gets another
// width shows the text as it is then.
func (t *Terminal) askLine(
	ctx context.Context, text func() string, keys question.Keys,
) (line string, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer t.config.Signals.OnInterrupt(leave)()

	resume := t.stage.Pause()
	defer func() { resume(err == nil) }()
	first := text()
	again := func() { fmt.Fprint(t.Err, strings.ReplaceAll(first, "\n", "\r\n")) }
	defer onCrash(t.stage.restore, again)()

	if !t.canEdit() {
		return t.plainAnswer(ctx, first)
	}
	defer onResize(t.keyboard.Wake)()
	if keys == nil {
		return t.typedAnswer(ctx, first, "")
	}
	return t.keyedAnswer(ctx, text, keys)
}

// canEdit reports whether lines can be edited on the terminal.
func (t *Terminal) canEdit() bool {
	name := t.config.Env("TERM")
	return t.keyboard != nil && t.ErrTTY && name != "" && name != "dumb"
}

// plainAnswer reads a line as the terminal gives it.
func (t *Terminal) plainAnswer(ctx context.Context, text string) (line string, err error) {
	for {
		fmt.Fprint(t.Err, text)
		line, err = t.lines.Next(ctx)
		rest := t.lines.Rest(ctx)
		if err != nil { // the rest of a paste is no line of the prompt
			t.lines.Drop(ctx)
		}
		if len(rest) == 0 || err != nil {
			return line, err
		}
		t.reportTypedAhead(append([]string{line}, rest...))
	}
}

// keyedAnswer waits for a key that answers. Behind a key that no answer begins with nothing counts
// until the question is asked again: the next letters of a word would answer. Text that is no such
// key begins a line; several lines at once are a paste.
func (t *Terminal) keyedAnswer(
	ctx context.Context, text func() string, keys question.Keys,
) (line string, err error) {
	keyboard := t.answerLine("")
	shown := false
	for {
		got, err := keyboard.Key(ctx, text, shown)
		if err != nil {
			return "", err
		}
		shown = true

		if got.Name != "" {
			if err := t.controlKey(ctx, got.Name); err != nil {
				return "", err
			}
			continue
		}

		body, ended := strings.CutSuffix(got.Text, "\n")
		says, does := "", question.Begins
		if !got.Pasted && utf8.RuneCountInString(body) == 1 {
			says, does = keys(body)
		}
		switch {
		case does == question.Answers:
			fmt.Fprintln(t.Err, says)
			return got.Text, nil
		case does == question.Ignored && !ended:
			fmt.Fprintf(t.Err, "\n%s\n", style.Wrap(says, Columns(t.Err)))
			if err := t.dropTyped(ctx); err != nil {
				return "", err
			}
		case strings.Contains(body, "\n"), got.Pasted && ended:
			fmt.Fprintln(t.Err)
			t.reportTypedAhead(strings.Split(body, "\n"))
		case ended:
			fmt.Fprintln(t.Err, formats.Clip(body, maxEcho))
			return body, nil
		default:
			fmt.Fprintln(t.Err)
			line, err := t.typedAnswer(ctx, "answer> ", body)
			if err == nil || !errors.Is(err, io.EOF) {
				return line, err
			}
		}
		shown = false
	}
}

// wordPause is longer than the time between two letters of a word that somebody types.
const wordPause = 600 * time.Millisecond

// dropTyped drops what is typed until nothing has come for a while. Ctrl-C and Ctrl-D leave, as
// always.
func (t *Terminal) dropTyped(ctx context.Context) error {
	if err := t.keyboard.Raw(t.Err); err != nil {
		return err
	}
	defer t.keyboard.Restore(t.Err)
	for {
		data, err := t.keyboard.Read(ctx, wordPause)
		switch {
		case err != nil:
			return err
		case len(data) == 0:
			return nil
		case bytes.IndexByte(data, 0x03) >= 0:
			return question.ErrInterrupted
		case bytes.IndexByte(data, 0x04) >= 0:
			return io.EOF
		}
	}
}

// maxEcho bounds how much of a line is shown that was typed at once, in runes.
const maxEcho = 200

// controlKey does what a key does that types nothing; an error leaves the question.
func (t *Terminal) controlKey(ctx context.Context, name string) error {
	switch name {
	case "ctrl+c":
		return question.ErrInterrupted
	case "ctrl+d":
		return io.EOF
	case "ctrl+z":
		suspendProcess()
	case `ctrl+\`:
		t.config.Signals.Handle(syscall.SIGTERM)
		return context.Cause(ctx)
	}
	return nil
}

// typedAnswer reads a line that begins with a text. What stands before it is the last row of what
// is shown.
func (t *Terminal) typedAnswer(ctx context.Context, text, begun string) (string, error) {
	const least = 20 // columns to type in
	columns, _ := size(t.Err)
	at := strings.LastIndex(text, "\n") + 1
	prompt := text[at:]
	fmt.Fprint(t.Err, text[:at])
	if style.Width(prompt) > columns-least {
		fmt.Fprintln(t.Err, style.Wrap(prompt, columns))
		prompt = "> "
	}

	line, err := t.answerLine(prompt).Read(ctx, begun)
	if errors.Is(err, editor.ErrQuit) {
		return "", t.controlKey(ctx, `ctrl+\`)
	}
	return line, err
}

// answerLine reads an answer.
func (t *Terminal) answerLine(prompt string) *editor.Editor {
	return editor.New(editor.Config{
		Keyboard: t.keyboard,
		Out:      t.Err,
		Size:     func() (int, int) { return size(t.Err) },
		Prompt:   prompt,
		Colour:   t.Sheet(t.ErrTTY).Colour,
		UTF8:     t.utf8,
		Lines:    func() []string { return nil },
		Offer:    func(string, int) editor.Offer { return editor.Offer{} },
		Now:      t.config.Clock.Now,
		Suspend:  suspendProcess,
		Leaves:   true,
	})
}
