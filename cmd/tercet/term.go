package main

// What tercet prints goes through this file. Its rules:
//
//   - Answers go to standard output, everything else to standard error, one line each, as
//     "tercet: ...".
//   - A message is lower case without a period; advice follows on its own line as "help: ...".
//   - Text from files, agents and tools is shown through internal/plain. So no control character
//     reaches the terminal, and no line feed in a message makes a line like one of tercet's own.
//   - Standard error, and standard output if it is a terminal, show no known secret: a program may
//     print its token.
//   - Colour only on a terminal and without NO_COLOR; glyphs only where the locale is UTF-8.
//   - With --json standard output holds exactly one JSON document.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/plain"
	"tercet/internal/query"
	"tercet/internal/style"
)

type terminal struct {
	io     stdio
	stage  *stage // where runs are shown
	env    func(string) string
	inTTY  bool
	outTTY bool
	errTTY bool
	colour string // the flag
	utf8   bool
	volume

	mask func(string) string // masks known secrets; nil before the configuration is read

	filter *query.Code // of --jq, for what is printed as JSON; nil: it is printed as it is
	unfit  int         // the exit code where the filter failed on it

	// what begins the lines of a run, by its id, where several tasks are done at once
	parts map[string]string
}

// volume is how much is told.
type volume struct {
	quiet  bool
	silent bool // --json, --events: no answer in plain words
	still  bool // no lines of steps
	held   bool // a test holds what is told of steps against what it expects
}

// tells tells whether a run is shown while it goes on.
func (v volume) tells() bool {
	return !v.quiet && (!v.silent || v.held)
}

func newTerminal(s stdio, env func(string) string) *terminal {
	t := &terminal{
		io:     s,
		env:    env,
		inTTY:  isTTY(s.in),
		outTTY: isTTY(s.out),
		errTTY: isTTY(s.err),
	}
	t.parts = map[string]string{}
	locale := strings.ToUpper(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	t.utf8 = strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
	return t
}

// masked masks known secrets.
func (t *terminal) masked(text string) string {
	if t.mask == nil {
		return text
	}
	return t.mask(text)
}

// veil masks known secrets in what is written to a stream. A secret that is split over two writes
// is not found.
type veil struct {
	io.Writer
	t *terminal
}

// Write implements io.Writer.
func (v veil) Write(p []byte) (int, error) {
	if _, err := io.WriteString(v.Writer, v.t.masked(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Fd is that of the stream.
func (v veil) Fd() uintptr {
	if f, ok := v.Writer.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

func isTTY(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// configure settles colour: the flag beats the environment.
func (t *terminal) configure(f engineFlags) error {
	t.quiet = f.quiet
	t.silent = f.json || f.events
	t.colour = f.color
	_, err := formats.OneOf("--color auto, always or never", cmp.Or(
		f.color,
		"auto",
	), []string{"auto", "always", "never"})
	return err
}

// answer prints a result: strings stand inside its lines, a passage on lines of its own.
func (t *terminal) answer(format string, args ...any) {
	text := plain.Sprintf(format, args...)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	fmt.Fprint(t.io.out, text)
}

// sentence prints one as an answer, broken between words on a terminal.
func (t *terminal) sentence(format string, args ...any) {
	t.answer("%s", plain.Passage(t.wrapped(plain.Sprintf(format, args...))))
}

// columns is the width of a terminal, 0 for everything else.
func columns(w any) int {
	if !isTTY(w) {
		return 0
	}
	wide, _ := size(w)
	return wide
}

// size is that of a terminal, 80 by 24 for everything else.
func size(w any) (columns, rows int) {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns, rows
		}
	}
	return 80, 24
}

// wrapped breaks the lines of a text between words, on a terminal.
func (t *terminal) wrapped(text string) string {
	return style.Wrap(text, columns(t.io.out))
}

// tell prints lines to standard error, broken between words on a terminal.
func (t *terminal) tell(text string) {
	// masked before a break splits a secret
	fmt.Fprintln(t.io.err, style.Wrap(t.masked(text), columns(t.io.err)))
}

// raw prints bytes as they are, and on a terminal through clean.
func (t *terminal) raw(data []byte) {
	out, _ := t.screens()
	out.Write(data) //nolint:errcheck // a closed pipe ends the process by SIGPIPE
}

// rawJSON prints JSON that was encoded before.
func (t *terminal) rawJSON(doc []byte) {
	if t.filter != nil {
		var err error
		if doc, err = t.filter.Lines(context.Background(), doc); err != nil {
			t.unfit = formats.ExitFor(formats.CodeUsage)
			t.say("--jq: " + err.Error())
		}
	}
	t.io.out.Write(plain.JSON(doc)) //nolint:errcheck // a closed pipe ends the process by SIGPIPE
}

// screens gives the streams to a part of the program that writes bytes of strangers itself: a
// terminal gets them plain.
func (t *terminal) screens() (out, err io.Writer) {
	out = t.io.out
	err = t.io.err
	if t.outTTY {
		out = &plain.Writer{To: out}
	}
	if t.errTTY {
		err = &plain.Writer{To: err}
	}
	return out, err
}

// note prints one line to standard error unless --quiet.
func (t *terminal) note(format string, args ...any) {
	if !t.quiet {
		t.say(plain.Sprintf(format, args...))
	}
}

// warnings prints what did not keep the work from being done.
func (t *terminal) warnings(list []string) {
	for _, one := range list {
		t.note("warning: %s", one)
	}
}

// say prints a message to standard error; its further lines are marked.
func (t *terminal) say(line string) {
	t.tell("tercet: " + plain.Message(line))
}

// prompt prints to standard error as it stands, without a line of its own: questions and what they
// are about.
func (t *terminal) prompt(format string, args ...any) {
	fmt.Fprint(t.io.err, plain.Sprintf(format, args...))
}

func (t *terminal) help(text string) {
	if text != "" {
		t.tell("help: " + plain.Message(text))
	}
}

// sheet is what a stream can show that is a terminal, or is none.
func (t *terminal) sheet(tty bool) style.Sheet {
	colour := tty && t.env("NO_COLOR") == "" && t.env("TERM") != "dumb"
	switch {
	case t.colour == "always":
		colour = true
	case t.colour == "never":
		colour = false
	case t.env("CLICOLOR_FORCE") != "", t.env("FORCE_COLOR") != "":
		colour = true
	}
	return style.Sheet{Colour: colour, UTF8: t.utf8 && tty}
}

// json prints one document.
func (t *terminal) json(v any) {
	t.encode(v, "  ")
}

func (t *terminal) encode(v any, indent string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		t.say("json: " + err.Error())
		return
	}
	t.rawJSON(b.Bytes())
}

// failure prints an error with what to do next.
func (t *terminal) failure(err error) {
	var diags *formats.Diagnostics
	var use *argspec.UsageError
	switch {
	case errors.As(err, &diags):
		t.diagnostics(diags)
		if help := formats.HelpOf(err); help != diags.Help() {
			t.help(help)
		}
	case errors.As(err, &use):
		t.say(use.Error())
		if shown := use.Shown(); shown != "" {
			fmt.Fprintln(t.io.err, "  "+plain.Line(shown))
			fmt.Fprintln(t.io.err, "  "+use.Caret())
		}
		t.tell(plain.Message(use.Usage()))
		t.help(formats.HelpOf(err))
	default:
		for i, one := range joined(err) {
			if text := one.Error(); i == 0 && positioned().MatchString(text) {
				t.tell(plain.Message(text))
			} else {
				t.say(text)
			}
		}
		t.help(formats.HelpOf(err))
	}
}

// joined gives the errors that were put together into one, in order.
func joined(err error) []error {
	list, ok := err.(interface{ Unwrap() []error }) // what it wraps has a message around it
	if !ok {
		return []error{err}
	}
	var out []error
	texts := make([]string, 0, len(list.Unwrap()))
	for _, one := range list.Unwrap() {
		texts = append(texts, one.Error())
		out = append(out, joined(one)...)
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return out
}

// positioned is how a line begins that has file:line:col before its message already.
var positioned = lazy.Regexp(`^[^ :]*:[0-9]+:[0-9]+:`)

// returned prints a command's return: its answer to standard output, the rest to standard error.
func (t *terminal) returned(ret formats.Return) {
	outcome := ret.Outcome()
	judged := ret.Status == formats.StatusCompleted || outcome == formats.OutcomePartial
	t.warnings(ret.Warnings)
	text := ret.Text
	if judged {
		text = cmp.Or(text, ret.Summary)
	}
	wrap := style.Prose
	if t.still {
		wrap = style.Wrap
	}
	if !t.silent {
		t.answer("%s", plain.Passage(wrap(plain.Text(text), columns(t.io.out))))
	}
	if !judged {
		t.stopped(ret)
	}
	issues := ret.Issues
	if t.errTTY && t.stage != nil {
		issues = t.stage.UnshownIssues(issues)
	}
	for _, issue := range issues[:min(len(issues), mostShown)] {
		t.say(string(issue.Level) + ": " + place(issue) + issue.Description)
	}

	t.more(len(issues))
	if ret.NextSteps != "" {
		t.note("next: %s", ret.NextSteps)
	}
}

// mostShown is how many findings are printed of each kind.
const mostShown = 10

// more says how many of a number of findings were not printed.
func (t *terminal) more(n int) {
	if n > mostShown {
		t.say(sprintf("%s and %d more", t.sheet(t.errTTY).Mark("…"), n-mostShown))
	}
}

func place(i formats.Issue) string {
	if len(i.Files) == 0 || strings.Contains(i.Description, i.Files[0]) {
		return ""
	}
	if i.Line > 0 {
		return sprintf("%s:%d: ", i.Files[0], i.Line)
	}
	return strings.Join(i.Files, ", ") + ": "
}

// stopped says why a command did not do its work.
func (t *terminal) stopped(ret formats.Return) {
	if ret.Status == formats.StatusBlocked || ret.Status == formats.StatusSuspended {
		t.say(ret.BlockedReason)
		for _, e := range ret.Errors {
			t.help(e.Recommendation)
		}
		return
	}
	for i, e := range ret.Errors {
		switch {
		case i > 0 && e.Message == ret.Errors[i-1].Message:
			continue // the same failure under a wider code
		case positioned().MatchString(e.Message) &&
			formats.ExitFor(e.Code) == formats.ExitFor(formats.CodeInvalidCommand):
			t.tell(plain.Message(e.Message))
		case e.Code == formats.CodeUsage:
			t.say(e.Message)
		default:
			t.say(string(e.Code) + ": " + e.Message)
		}
		if e.Recommendation != ret.NextSteps {
			t.help(e.Recommendation)
		}
	}
}

// diagnostics prints findings, with an excerpt on a terminal and a line each elsewhere.
func (t *terminal) diagnostics(d *formats.Diagnostics) {
	defer t.more(len(d.List))
	for _, one := range d.List[:min(len(d.List), mostShown)] {
		if t.errTTY {
			t.excerpt(one, d.Sources[one.File])
			continue
		}
		line := one.Error()
		if one.Severity == formats.SeverityWarning {
			line = strings.Replace(line, one.Code+": ", one.Code+": warning: ", 1)
		}
		fmt.Fprintln(t.io.err, plain.Message(line))
		if one.Help != "" {
			fmt.Fprintln(t.io.err, "  help: "+plain.Message(one.Help))
		}
	}
}

// excerpt prints one finding with the line it is about and a caret.
func (t *terminal) excerpt(d formats.Diagnostic, src []byte) {
	sheet := t.sheet(t.errTTY)
	word := "error"
	look := style.Error
	if d.Severity == formats.SeverityWarning {
		word = "warning"
		look = style.Warning
	}
	word = sprintf("%s[%s]", word, d.Code)
	head := style.Wrap(word+": "+plain.Message(d.Message), columns(t.io.err))
	fmt.Fprintln(t.io.err, sheet.Paint(look, word)+strings.TrimPrefix(head, word))
	at := plain.Line(d.File)
	if !d.Pos.IsZero() {
		at = sprintf("%s:%d:%d", at, d.Pos.Line, d.Pos.Col)
	}
	fmt.Fprintf(t.io.err, "  --> %s\n", t.stage.linked(d.File, at))
	if line, ok := lineOf(src, d.Pos.Line); ok {
		number := fmt.Sprint(d.Pos.Line)
		gap := strings.Repeat(" ", len(number))
		before := line[:min(max(d.Pos.Col-1, 0), len(line))]
		marks := 1
		if d.End.Line == d.Pos.Line && d.End.Col > d.Pos.Col {
			marks = max(1, style.Width(line[len(before):min(d.End.Col-1, len(line))]))
		}
		tabs := func(s string) string {
			return strings.ReplaceAll(s, "\t", "    ")
		}
		wide := columns(t.io.err) - len(number) - len(" | ")
		shown, at := style.Around(tabs(line), len(tabs(before)), wide)
		if wide > at {
			marks = min(marks, wide-at)
		}
		fmt.Fprintf(t.io.err, "%s |\n%s | %s\n", gap, number, plain.Text(shown))
		fmt.Fprintf(t.io.err, "%s | %s%s\n",
			gap, strings.Repeat(" ", at), sheet.Paint(look, strings.Repeat("^", marks)))
	}
	if d.Help != "" {
		t.tell("  = help: " + plain.Message(d.Help))
	}
	if diagnosticCode().MatchString(d.Code) {
		t.tell("  = note: run 'tercet explain " + d.Code + "'")
	}
}

func lineOf(src []byte, n int) (string, bool) {
	lines := strings.Split(string(src), "\n")
	if n < 1 || n > len(lines) || src == nil {
		return "", false
	}
	return strings.TrimSuffix(lines[n-1], "\r"), true
}

// table prints rows: aligned on a terminal, tab-separated without borders elsewhere.
func (t *terminal) table(tab formats.Table) {
	if t.silent {
		return
	}
	if tab.Title != "" {
		t.answer("%s", tab.Title)
	}
	if !t.outTTY {
		fmt.Fprint(t.io.out, t.sheet(t.outTTY).Tabbed(tab))
		return
	}
	fmt.Fprint(t.io.out, t.sheet(t.outTTY).Table(tab, columns(t.io.out)))
}
