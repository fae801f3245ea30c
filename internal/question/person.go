package question

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/phrase"
	"tercet/internal/plain"
	"tercet/internal/style"
)

// Person is the user at the terminal.
type Person struct {
	Lines  *Lines
	Out    io.Writer // the terminal
	Screen func() (columns, rows int)
	Sheet  style.Sheet
	// Language is that of the flows' labels.
	Language string
	// Line shows a prompt and reads one line, or one of the keys; a key with Enter right behind it
	// ends with a line feed. It asks for the prompt again when the terminal has another width. Its
	// error means that the user leaves the question.
	Line func(ctx context.Context, prompt func() string, keys Keys) (string, error)
	// TypedAhead reports lines that were typed before the question and do not answer it.
	TypedAhead func(lines []string)
	// Env is the user's environment, which names editor and pager. Lend reserves the terminal for
	// one of them until done, and Suspend stops this process like Ctrl-Z until it continues.
	Env     []string
	Lend    func() (out *os.File, done func())
	Suspend func()
}

// Keys tells what a typed letter does at a question, and what is shown for it: of one that answers
// its word, of one that is ignored what is expected instead. nil: only a line answers.
type Keys func(key string) (shown string, does Effect)

// Effect is what a typed letter does at a question.
type Effect uint8

// The effects of a letter.
const (
	Ignored Effect = iota // no answer begins with it
	Begins                // it begins a line
	Answers               // it answers by itself
)

// Matter is the subject of a question.
type Matter struct {
	Prefix string // of the question's lines
	Note   string // a note given in advance
	// Root is the project, whose documents the user reads and edits. Diff gives the changes of the
	// work; nil: unknown.
	Root *os.Root
	Diff func(ctx context.Context) (string, error)
}

// Answer is the user's answer: a choice with its note, or an edited document instead.
type Answer struct{ Label, Note, Edited string }

// ErrLeft means that the user left the question without an answer. ErrInterrupted, which is one,
// means by Ctrl-C, or that the terminal is gone.
var (
	ErrLeft        = errors.New("left without an answer")
	ErrInterrupted = fmt.Errorf("interrupted: %w", ErrLeft)
)

// asking is one question that is open.
type asking struct {
	Person
	Matter

	gate formats.Gate
	set  Set
	note string
	text string // the note as it was left in the editor
	diff string
	seen string // the diff that the user looked at
}

// Ask shows what the answer is bound to, and asks until there is an answer. After looking at the
// diff, writing a note or editing a document, it asks again.
func (p Person) Ask(ctx context.Context, g formats.Gate, m Matter) (Answer, error) {
	a := &asking{
		Person: p,
		Matter: m,
		gate:   g,
		set:    Of(g.Choices, p.Language),
		note:   m.Note,
		text:   m.Note,
	}
	if g.Flow {
		a.say(phrase.In(p.Language, "Confirmation needed"))
	}
	for _, s := range g.ShownTexts() {
		if text := plain.Text(strings.TrimRight(s, "\n")); text != "" {
			a.show(text)
		}
	}

	for _, text := range g.Reviews {
		a.show(plain.Line(text))
	}

	a.showOutcomes()
	a.diff = a.currentDiff(ctx)
	p.TypedAhead(p.Lines.Drop(ctx))

	for {
		line, err := p.Line(ctx, a.prompt, a.keyEffect)
		if err != nil && line == "" {
			fmt.Fprintln(p.Out)
			left := ErrInterrupted
			if errors.Is(err, io.EOF) {
				left = ErrLeft
			}
			return Answer{}, cmp.Or(context.Cause(ctx), left)
		}

		label, note, ok := a.set.Read(line)
		word, which, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ok && len(line) == 1 && a.note == "" && WantsNote(g, label, line) {
			note, err = a.noteFor(ctx, label)
			if err != nil {
				continue
			}
		}

		switch {
		case ok && a.diffChanged(ctx):
			a.say("the diff has changed since you looked at it: d shows it as it is now")
		case ok && a.gate.Lacks(label, a.note+note):
			word := plain.Line(phrase.In(a.Language, label))
			a.say(fmt.Sprintf("'%s' needs a note: type it behind a colon, as in '%s: what to do'",
				word, word))
		case ok:
			return Answer{Label: label, Note: strings.Trim(a.note+"\n"+note, "\n")}, nil
		case a.gate.Free != "" && len(word) > 1,
			a.gate.Free != "" && word != "" && !strings.Contains(reserved, word):
			return Answer{
				Label: a.gate.Free,
				Note:  strings.Trim(a.note+"\n"+strings.TrimSpace(line), "\n"),
			}, nil
		case word == "d" && a.diff != "" && which == "":
			a.diff = a.currentDiff(ctx)
			a.seen = a.diff
			a.showPages(ctx, a.diff)
		case word == "e" && which == "":
			a.writeNote(ctx)
		case word == "e":
			if edited := a.editDocument(ctx, strings.TrimSpace(which)); edited != "" {
				return Answer{Edited: edited}, nil
			}
		case word == "?" && which == "":
			a.showKeys()
		default:
			a.say("expected one of the choices, got " + plain.Line(strconv.Quote(line)))
			a.showKeys()
		}
	}
}

// keyEffect tells whether a letter or number answers at once. Where words of the user's own are an
// answer, a line has to be sent: its first letter decides nothing.
func (a *asking) keyEffect(typed string) (shown string, does Effect) {
	if a.gate.Free != "" {
		return "", Begins
	}
	if label, ok := a.set.find(typed); ok {
		return phrase.In(a.Language, label), Answers
	}
	switch {
	case typed == "d" && a.diff != "":
		return "diff", Answers
	case typed == "e" && len(a.gate.Documents) == 0:
		return "edit", Answers
	case typed == "?":
		return "", Answers
	case typed == "e", a.set.beginsChoice(typed):
		return "", Begins
	}
	return "no choice has this key; ? shows the keys", Ignored
}

// WantsNote reports whether a key that answers a gate asks for a note first: that of a choice that
// does not go on, since who is told no wants to know why, and any with Shift. A question that no
// journal has keeps no note.
func WantsNote(g formats.Gate, label, key string) bool {
	if g.ID == "" {
		return false
	}
	c, _ := g.Choice(label)
	shifted := key >= "A" && key <= "Z"
	return shifted || c.NeedsNote || !c.Approves && !g.NeedsPerson
}

// noteFor reads a note for a choice. An error means that the user goes back to the question.
func (a *asking) noteFor(ctx context.Context, label string) (string, error) {
	word := plain.Line(phrase.In(a.Language, label))
	hint := " (Enter: none): "
	if a.gate.Lacks(label, "") {
		hint = ": "
	}
	prompt := func() string { return "  note for '" + word + "'" + hint }
	note, err := a.Line(ctx, prompt, nil)
	if err != nil {
		fmt.Fprintln(a.Out)
	}
	return strings.TrimSpace(note), err
}

// show prints a text that the answer is bound to. Prose is broken between words; patches, commands
// and blocks of code are left whole.
func (a *asking) show(text string) {
	columns, _ := a.Screen()
	switch {
	case style.IsPatch(text):
		text = a.Sheet.Diff(text)
	case !a.gate.NeedsPerson:
		text = style.Prose(text, columns-len("  | "))
	}
	fmt.Fprintln(a.Out, "  | "+strings.ReplaceAll(text, "\n", "\n  | "))
}

// showOutcomes says what happens after each choice, if that is known.
func (a *asking) showOutcomes() {
	var words []string
	for i, c := range a.gate.Choices {
		if c.After != "" {
			words = append(words, plain.Line(a.set.words[i]+" "+c.After))
		}
	}
	if len(words) > 0 {
		columns, _ := a.Screen()
		for line := range strings.SplitSeq(style.Wrap(strings.Join(words, "; "), columns), "\n") {
			fmt.Fprintln(a.Out, a.Sheet.Paint(style.Aside, line))
		}
	}
}

// say prints a line, broken between words.
func (a *asking) say(line string) {
	columns, _ := a.Screen()
	fmt.Fprintln(a.Out, style.Wrap(line, columns))
}

// prompt is the question with its choices, in rows where they are too wide for one.
func (a *asking) prompt() string {
	columns, _ := a.Screen()
	more := "[?]"
	if a.diff != "" {
		more = "[d]iff " + more
	}
	if len(a.gate.Documents) > 0 && a.editorName() != "" {
		more = strings.Replace(more, "[?]", "[e]dit [?]", 1)
	}
	question := a.Prefix + plain.Line(phrase.Question(a.Language, a.gate.Question))
	items := append(a.set.showAll(), a.Sheet.Paint(style.Aside, more))
	line := question + "  " + strings.Join(items, "  ") + " "
	if style.Width(question)+style.Width(a.set.String())+len(more)+5 <= columns {
		return line
	}

	var out strings.Builder
	out.WriteString(style.Wrap(question, columns) + "\n ")
	at := 1
	for _, item := range items {
		w := style.Width(item)
		if item == items[len(items)-1] {
			w = len(more)
		}
		if at > 1 && at+w+2 >= columns {
			out.WriteString("\n ")
			at = 1
		}
		if at > 1 {
			out.WriteString(" ")
			at++
		}
		out.WriteString(" " + item)
		at += w + 1
	}

	return out.String() + " "
}

// editorName is the command of the user's editor; empty if none is set.
func (a *asking) editorName() string {
	return cmp.Or(a.getenv("VISUAL"), a.getenv("EDITOR"))
}

// showKeys explains how to answer.
func (a *asking) showKeys() {
	list := a.set.Keys()
	last := len(list) - 1

	var own []string
	if a.diff != "" {
		files := formats.Count(countFiles(a.diff), "file")
		own = append(own, "d  what the work has changed: "+files)
	}
	editor := a.editorName()
	if editor == "" {
		own = append(own, "e  an editor; set VISUAL or EDITOR to have one")
	} else {
		own = append(own, "e  a note, written with "+plain.Line(editor))
		for i, name := range a.gate.Documents {
			own = append(own, fmt.Sprintf("e %d  change %s", i+1, plain.Line(name)))
		}
	}

	for _, line := range slices.Concat(list[:last], own, []string{"?  these keys"}, list[last:]) {
		a.say("  " + line)
	}
	if a.note != "" {
		a.say("  your note: " + plain.Line(formats.Clip(formats.OneLine(a.note), 60)))
	}
}

// currentDiff is what the work has changed: that of the tree, else what the gate shows.
func (a *asking) currentDiff(ctx context.Context) string {
	if a.Diff != nil {
		patch, err := a.Diff(ctx)
		if err == nil && strings.TrimSpace(patch) != "" {
			return plain.Text(patch)
		}
		if err != nil && ctx.Err() == nil {
			a.say("the diff cannot be made: " + plain.Line(err.Error()))
		}
	}

	var shown []string
	for _, s := range a.gate.Show {
		if style.IsPatch(s) {
			shown = append(shown, plain.Text(s))
		}
	}
	return strings.Join(shown, "\n")
}

// diffChanged tells whether the user looked at a diff that is another one now.
func (a *asking) diffChanged(ctx context.Context) bool {
	if a.seen == "" {
		return false
	}
	a.diff = a.currentDiff(ctx)
	return a.diff != a.seen
}

// countFiles counts those of a patch.
func countFiles(patch string) int {
	return max(1, strings.Count("\n"+patch, "\ndiff --git "))
}
