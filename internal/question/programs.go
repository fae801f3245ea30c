package question

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/letters"
	"tercet/internal/plain"
	"tercet/internal/proc"
	"tercet/internal/style"
)

// getenv gives a variable of the user's own environment.
func (p Person) getenv(name string) string {
	for _, kv := range slices.Backward(p.Env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// splitWords splits the text of a variable as a shell would, without running anything.
func (p Person) splitWords(text string) (list []string, err error) {
	var parsed []*syntax.Word
	for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(text)) {
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, w)
	}
	list, err = expand.Fields(&expand.Config{Env: expand.FuncEnviron(p.getenv)}, parsed...)
	if err == nil && len(list) == 0 {
		err = errors.New("it names no program")
	}
	return list, err
}

// runProgram gives the terminal to the program that a variable names until it ends, and reports
// whether the program succeeded. The user is told why it did not.
func (a *asking) runProgram(
	ctx context.Context,
	variable, dir string,
	stdin []byte,
	args ...string,
) bool {
	argv, err := a.splitWords(a.getenv(variable))
	if err != nil {
		a.say(fmt.Sprintf("%s cannot be read: %s", variable, plain.Line(err.Error())))
		return false
	}

	tty := a.Lines.tty
	if tty == nil {
		return false
	}
	out, done := a.Lend()
	f := proc.Foreground{
		Argv:  append(argv, args...),
		Dir:   dir,
		Env:   a.Env,
		Stdin: stdin,
		In:    tty.File(),
		Out:   out,
	}
	if a.getenv("LESS") == "" {
		f.Env = append(slices.Clone(f.Env), "LESS=FRX")
	}
	back := tty.Hold(out)
	f.Stopped = func() {
		back(false)
		a.Suspend()
	}
	res, err := f.Run(ctx)
	back(res.Signal != "")
	done()
	a.Lines.Drop(ctx) // typed for the program, which did not read it
	name := plain.Line(argv[0])
	switch {
	case errors.As(err, new(*proc.NotFoundError)):
		a.say(fmt.Sprintf("%s names %s, which is not there", variable, name))
	case err != nil:
		a.say(fmt.Sprintf("%s: %s", variable, plain.Line(err.Error())))
	case res.Signal != "":
		a.say(fmt.Sprintf("%s was ended by %s", name, res.Signal))
	case res.Exit != 0:
		a.say(fmt.Sprintf("%s ended with %d", name, res.Exit))
	default:
		return true
	}

	return false
}

// showPages shows a patch, by the user's pager or, without one, a screen at a time.
func (a *asking) showPages(ctx context.Context, patch string) {
	patch = strings.TrimRight(patch, "\n")
	text := a.Sheet.Diff(patch) + "\n"
	if pager := a.getenv("PAGER"); pager != "" {
		argv, err := a.splitWords(pager)
		if err == nil {
			_, err = (&proc.Starter{Env: a.Env}).LookPath(argv[0])
		}
		if err == nil {
			a.runProgram(ctx, "PAGER", os.TempDir(), []byte(text))
			return
		}
		a.say(fmt.Sprintf("PAGER names %s, which is not there", plain.Line(pager)))
	}

	lines := strings.SplitAfter(text, "\n")
	bare := strings.Split(patch+"\n", "\n")
	for at := 0; at < len(lines); {
		columns, rows := a.Screen()
		first := at
		used := 0
		for ; at < len(lines); at++ {
			row := 1 + max(style.Width(bare[at])-1, 0)/max(columns, 1)
			used += row
			if used >= max(rows, 3) && at > first {
				break
			}
		}

		fmt.Fprint(a.Out, strings.Join(lines[first:at], ""))
		if at == len(lines) {
			fmt.Fprintln(a.Out)
			return
		}

		more := fmt.Sprintf("line %d of %d: Enter or Space goes on, q ends ", at, len(lines))
		line, err := a.Line(ctx, func() string { return more }, pageKey)
		if err != nil || normalizeAnswer(line) == "q" {
			if err != nil {
				fmt.Fprintln(a.Out)
			}
			return
		}
	}
}

// pageKey are the keys between two pages; every key but q shows the next one.
func pageKey(key string) (shown string, does Effect) {
	return "", Answers
}

// runEditor edits a text in a file of a name, and gives what stands there then. Without one, and
// when it did not do its work, that is told.
func (a *asking) runEditor(ctx context.Context, name, text string) (string, bool) {
	variable := "VISUAL"
	if a.getenv(variable) == "" {
		variable = "EDITOR"
	}
	if a.getenv(variable) == "" {
		a.say("no editor is set: set VISUAL or EDITOR; a note can also follow a choice after ':'")
		return "", false
	}

	dir, err := os.MkdirTemp("", "tercet-")
	if err != nil {
		a.say("the editor has no folder: " + plain.Line(err.Error()))
		return "", false
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a copy that stays does no harm
	file := filepath.Join(dir, name)
	if err := atomicfile.Write(file, []byte(text), atomicfile.Options{Mode: 0o600}); err != nil {
		a.say("the editor has no file: " + plain.Line(err.Error()))
		return "", false
	}
	if !a.runProgram(ctx, variable, dir, nil, file) {
		return "", false
	}

	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && strings.TrimSpace(string(data)) == "":
		return "", true
	case err != nil:
		a.say("what the editor left cannot be read: " + plain.Line(err.Error()))
		return "", false
	case !utf8.Valid(data):
		a.say("what the editor left is no UTF-8 text")
		return "", false
	}

	return string(data), true
}

// noteEnds stands below a note while it is written.
const noteEnds = "(The note ends here. It goes with your answer to what follows.)"

// writeNote has the user write a note.
func (a *asking) writeNote(ctx context.Context) {
	text := a.text + "\n\n" + noteEnds + "\n" + formats.OneLine(a.gate.Question) + "\n"
	left, ok := a.runEditor(ctx, "note.md", text)
	if !ok {
		return
	}

	note, _, _ := strings.Cut(strings.ReplaceAll(left, "\r\n", "\n"), noteEnds)
	note = strings.TrimSpace(note)
	switch {
	case note == "" || note == a.note:
		a.say("the note is as it was")
		return
	case len(note) > letters.MaxNote:
		a.say(fmt.Sprintf("expected a note of at most %d bytes, got %d; e opens it again",
			letters.MaxNote, len(note)))
		a.text = note
		return
	}

	a.note = note
	a.text = note
	a.say("your note goes with the answer: " + plain.Line(formats.Clip(formats.OneLine(note), 60)))
}

// maxEdited bounds a document that can be changed at a question.
const maxEdited = 4 << 20

// editDocument has the user change a document that is named by its number or by a part of its name.
// It gives the name of one that is another one then.
func (a *asking) editDocument(ctx context.Context, which string) string {
	list := a.gate.Documents
	at, err := strconv.Atoi(which)
	at--
	if err != nil {
		has := func(name string) bool { return strings.Contains(name, which) }
		if at = slices.IndexFunc(list, has); at >= 0 && slices.ContainsFunc(list[at+1:], has) {
			at = -1
		}
	}
	if at < 0 || at >= len(list) || a.Root == nil {
		a.say(fmt.Sprintf("no document is called %s; ? lists them",
			plain.Line(strconv.Quote(which))))
		return ""
	}

	name := list[at]
	was, err := a.readDocument(name)
	if err != nil {
		a.say(plain.Line(err.Error()))
		return ""
	}

	now, ok := a.runEditor(ctx, path.Base(name), was)
	switch {
	case !ok:
		return ""
	case now == "" || now == was:
		a.say(plain.Line(name) + " is as it was")
		return ""
	}

	err = atomicfile.WriteIn(a.Root, name, []byte(now), atomicfile.Options{Before: func() error {
		if there, err := a.readDocument(name); err != nil || there != was {
			return cmp.Or(err, errors.New("the file has changed meanwhile"))
		}
		return nil
	}})
	if err != nil {
		a.say(fmt.Sprintf("%s was not written: %s", plain.Line(name), plain.Line(err.Error())))
		if dir, err := os.MkdirTemp("", "tercet-kept-"); err == nil {
			kept := filepath.Join(dir, path.Base(name))
			err := atomicfile.Write(kept, []byte(now), atomicfile.Options{Mode: 0o600})
			if err == nil {
				a.say("what you wrote is kept in " + kept)
			}
		}
		return ""
	}
	return name
}

// readDocument reads a document of the project, which is a file and no link.
func (a *asking) readDocument(name string) (string, error) {
	info, err := a.Root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxEdited {
		return "", fmt.Errorf("expected a regular file of at most %d MiB, got %s",
			maxEdited>>20, name)
	}

	data, err := a.Root.ReadFile(name)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("expected text in UTF-8 in %s", name)
	}
	return string(data), err
}
