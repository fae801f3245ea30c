package main

// The only mouth of the program. Its rules:
//
//   - Answers go to standard output, everything else to standard error, one line each, as "tercet: ...".
//   - A message is lower case without a period; advice follows on its own line as "help: ...".
//   - Text that comes from files, agents and tools is shown through internal/plain: no control character reaches the
//     terminal, and no line feed inside a message makes a line that looks like one of tercet's own.
//   - Colour only on a terminal and without NO_COLOR; glyphs only where the locale is UTF-8.
//   - With --json standard output holds exactly one JSON document.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/plain"
)

type terminal struct {
	io     stdio
	env    func(string) string
	inTTY  bool
	outTTY bool
	errTTY bool
	color  bool
	utf8   bool
	quiet  bool
	silent bool // --json, --events: no answer in plain words
	still  bool // no lines of steps
}

func newTerminal(s stdio, env func(string) string) *terminal {
	t := &terminal{io: s, env: env, inTTY: isTTY(s.in), outTTY: isTTY(s.out), errTTY: isTTY(s.err)}
	locale := strings.ToUpper(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	t.utf8 = strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
	return t
}

func isTTY(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// configure settles colour: the flag beats the environment.
func (t *terminal) configure(f engineFlags) error {
	t.quiet, t.silent = f.quiet, f.json || f.events
	switch f.color {
	case "always":
		t.color = true
	case "never":
		t.color = false
	case "", "auto":
		t.color = t.errTTY && t.env("NO_COLOR") == "" && t.env("TERM") != "dumb"
		if t.env("CLICOLOR_FORCE") != "" || t.env("FORCE_COLOR") != "" {
			t.color = true
		}
	default:
		return usage("expected --color auto, always or never, got %q", f.color)
	}
	return nil
}

// answer prints a result: strings stand inside its lines, a passage on lines of its own.
func (t *terminal) answer(format string, args ...any) {
	text := plain.Sprintf(format, args...)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	fmt.Fprint(t.io.out, text)
}

// columns is the width of a terminal, 0 for everything else.
func columns(w any) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	wide, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return wide
}

// wrapped breaks the lines of a text between words, on a terminal.
func (t *terminal) wrapped(text string) string { return argspec.Wrap(text, columns(t.io.out)) }

// tell prints lines to standard error, broken between words on a terminal.
func (t *terminal) tell(text string) { fmt.Fprintln(t.io.err, argspec.Wrap(text, columns(t.io.err))) }

// raw prints bytes as they are, and on a terminal through clean.
func (t *terminal) raw(data []byte) { t.pass(t.io.out, t.outTTY, data) }

// rawErr is raw for standard error.
func (t *terminal) rawErr(data []byte) { t.pass(t.io.err, t.errTTY, data) }

func (t *terminal) pass(w io.Writer, tty bool, data []byte) {
	if tty {
		data = []byte(plain.Text(string(data)))
	}
	w.Write(data) //nolint:errcheck // a closed pipe ends the process by SIGPIPE
}

// rawJSON prints JSON that was encoded before.
func (t *terminal) rawJSON(doc []byte) {
	t.io.out.Write(plain.JSON(doc)) //nolint:errcheck // a closed pipe ends the process by SIGPIPE
}

// screens gives the streams to a part of the program that writes bytes of strangers itself: a terminal gets them plain.
func (t *terminal) screens() (out, err io.Writer) {
	out, err = t.io.out, t.io.err
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

// prompt prints to standard error as it stands, without a line of its own: questions and what they are about.
func (t *terminal) prompt(format string, args ...any) {
	fmt.Fprint(t.io.err, plain.Sprintf(format, args...))
}

func (t *terminal) help(text string) {
	if text != "" {
		t.tell("help: " + plain.Message(text))
	}
}

func (t *terminal) paint(code, text string) string {
	if !t.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (t *terminal) glyph(fancy, plain string) string {
	if t.utf8 && t.errTTY {
		return fancy
	}
	return plain
}

// json prints one document.
func (t *terminal) json(v any) { t.encode(v, "  ") }

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
		fmt.Fprintln(t.io.err, plain.Message(use.Usage()))
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
	if t.still {
		text = t.wrapped(text)
	}
	if !t.silent {
		t.answer("%s", plain.Passage(text))
	}
	if !judged {
		t.stopped(ret)
	}
	for _, issue := range ret.Issues[:min(len(ret.Issues), mostShown)] {
		t.say(string(issue.Level) + ": " + place(issue) + issue.Description)
	}
	t.more(len(ret.Issues))
	if ret.NextSteps != "" {
		t.note("next: %s", ret.NextSteps)
	}
}

// mostShown is how many findings are printed of each kind.
const mostShown = 10

// more says how many of a number of findings were not printed.
func (t *terminal) more(n int) {
	if n > mostShown {
		t.say(sprintf("... and %d more", n-mostShown))
	}
}

func place(i formats.Issue) string {
	if len(i.Files) == 0 || strings.Contains(i.Description, i.Files[0]) {
		return ""
	}
	if i.Line > 0 {
		return sprintf("%s:%d: ", i.Files[0], i.Line)
	}
	return i.Files[0] + ": "
}

// stopped says why a command did not do its work.
func (t *terminal) stopped(ret formats.Return) {
	if ret.Status == formats.StatusBlocked || ret.Status == formats.StatusSuspended {
		t.say(ret.BlockedReason)
		return
	}
	for i, e := range ret.Errors {
		switch {
		case i > 0 && e.Message == ret.Errors[i-1].Message:
			continue // the same failure under a wider code
		case positioned().MatchString(e.Message) && formats.ExitFor(e.Code) == formats.ExitFor(formats.CodeInvalidCommand):
			fmt.Fprintln(t.io.err, plain.Message(e.Message))
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
	word, code := "error", "31;1"
	if d.Severity == formats.SeverityWarning {
		word, code = "warning", "33;1"
	}
	word = sprintf("%s[%s]", word, d.Code)
	head := argspec.Wrap(word+": "+plain.Message(d.Message), columns(t.io.err))
	fmt.Fprintln(t.io.err, t.paint(code, word)+strings.TrimPrefix(head, word))
	if d.Pos.IsZero() {
		fmt.Fprintf(t.io.err, "  --> %s\n", plain.Line(d.File))
	} else {
		fmt.Fprintf(t.io.err, "  --> %s:%d:%d\n", plain.Line(d.File), d.Pos.Line, d.Pos.Col)
	}
	if line, ok := lineOf(src, d.Pos.Line); ok {
		number := fmt.Sprint(d.Pos.Line)
		gap := strings.Repeat(" ", len(number))
		before := line[:min(max(d.Pos.Col-1, 0), len(line))]
		marks := 1
		if d.End.Line == d.Pos.Line && d.End.Col > d.Pos.Col {
			marks = max(1, argspec.Width(line[len(before):min(d.End.Col-1, len(line))]))
		}
		tabs := func(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
		wide := columns(t.io.err) - len(number) - len(" | ")
		shown, at := argspec.Around(tabs(line), len(tabs(before)), wide)
		if wide > at {
			marks = min(marks, wide-at)
		}
		fmt.Fprintf(t.io.err, "%s |\n%s | %s\n", gap, number, plain.Text(shown))
		fmt.Fprintf(t.io.err, "%s | %s%s\n", gap, strings.Repeat(" ", at), t.paint(code, strings.Repeat("^", marks)))
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
		for _, row := range tab.Rows {
			fmt.Fprintln(t.io.out, strings.Join(plainCells(row), "\t"))
		}
		return
	}
	cells, widths := columned(tab)
	if wide := columns(t.io.out); !argspec.Fit(widths, wide) {
		cells, widths = columned(tab.Filled())
		argspec.Fit(widths, wide)
	}
	for _, row := range cells {
		for i := range row {
			row[i] = argspec.Cut(row[i], widths[i])
			row[i] += strings.Repeat(" ", widths[i]-argspec.Width(row[i])+2)
		}
		fmt.Fprintln(t.io.out, strings.TrimRight(strings.Join(row, ""), " "))
	}
}

// columned gives the cells of a table, its heads first, and how wide its columns are.
func columned(tab formats.Table) (cells [][]string, widths []int) {
	if len(tab.Rows) == 0 {
		return nil, nil
	}
	head := strings.ToUpper(strings.ReplaceAll(strings.Join(tab.Columns, "\t"), "_", " "))
	widths = make([]int, len(tab.Columns))
	for _, row := range slices.Insert(slices.Clone(tab.Rows), 0, strings.Split(head, "\t")) {
		row = plainCells(row)
		for i, cell := range row {
			widths[i] = max(widths[i], argspec.Width(cell))
		}
		cells = append(cells, row)
	}
	return cells, widths
}

func plainCells(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = plain.Line(cell)
	}
	return out
}
