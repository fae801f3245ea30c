package term

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
	"os"
	"strings"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"tercet/formats"
	"tercet/internal/keyboard"
	"tercet/internal/lazy"
	"tercet/internal/plain"
	"tercet/internal/question"
	"tercet/internal/style"
	"tercet/project"
)

// Config is what a terminal is made of.
type Config struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	Env     func(name string) string // looks up a variable of the user
	Environ func() []string          // the variables of the process, for the user's programs
	Clock   project.Clock
	Signals Signals
}

// Signals are the signals of the process.
type Signals interface {
	LineSignals
	// Hard gives the context of what the first signal must not cut short.
	AbortContext() context.Context
	// Arrive does what a signal does that comes from outside.
	Handle(s os.Signal)
	// Instead lets the next Ctrl-C do something else, until done is called.
	OnInterrupt(leave func()) (done func())
}

// LineSignals end a line of the prompt.
type LineSignals interface {
	// Context gives the context of what runs next, which a signal ends.
	Context(parent context.Context) context.Context
	// Terminated reports whether SIGTERM or SIGHUP ended what runs, and ResetTerminated forgets a
	// signal that has been answered.
	Terminated() bool
	ResetTerminated()
}

// Settings are what flags say about a terminal.
type Settings struct {
	Quiet   bool   // nothing but results and errors
	Silent  bool   // standard output holds JSON: no answer in plain words
	Held    bool   // a test compares what is told of steps with what it expects
	Events  bool   // each event is a line of JSON
	Verbose int    // 1: what agents do, too; 2: every event as a log line
	Colour  string // auto, always or never; empty: auto
	NoInput bool   // nothing is asked
	Filter  Filter // of what is printed as JSON; nil: it is printed as it is
}

// Filter makes something else of a JSON document: its lines.
type Filter interface {
	Lines(ctx context.Context, doc []byte) ([]byte, error)
}

// Terminal is the terminal of a process, or what stands in for one: it prints, asks and shows runs.
// It is the Frontend of the projects of the process. Its settings change between two lines only;
// its other methods may be called by several goroutines.
type Terminal struct {
	Out   io.Writer // standard output
	Err   io.Writer // standard error
	InTTY bool      // standard input is a terminal
	// OutTTY and ErrTTY tell whether standard output and standard error are one.
	OutTTY     bool
	ErrTTY     bool
	Set        Settings
	FilterExit int // the exit code if the filter failed on what was printed; 0: it did not

	config    Config
	lines     *question.Lines    // the one reader of standard input
	keyboard  *keyboard.Keyboard // standard input if it is a terminal, else nil
	stage     *stage             // where runs are shown
	utf8      bool
	project   *project.Project // for names of files, and the language; nil: none is open
	masker    *project.Masker  // of that project; nil before its configuration is read
	logger    *zerolog.Logger  // of events; nil until it is needed
	notedOnce map[string]bool  // notes that are told once
	// labels begin the lines of a run, by its id, where several tasks are done at once.
	labels map[string]string
}

// New makes a terminal. It takes over standard error, and standard output where both are the
// terminal: what is printed comes above what is drawn.
func New(c Config) *Terminal {
	t := &Terminal{
		Out:       c.Out,
		Err:       c.Err,
		InTTY:     isTTY(c.In),
		OutTTY:    isTTY(c.Out),
		ErrTTY:    isTTY(c.Err),
		config:    c,
		notedOnce: map[string]bool{},
		labels:    map[string]string{},
	}

	locale := strings.ToUpper(cmp.Or(c.Env("LC_ALL"), c.Env("LC_CTYPE"), c.Env("LANG")))
	t.utf8 = strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
	t.stage = newStage(t)
	if tty, ok := c.In.(*os.File); ok && t.InTTY {
		t.keyboard, _ = keyboard.New(tty) //nolint:errcheck // nil: it is read as a pipe is
	}
	t.lines = question.NewLines(c.In, t.keyboard)
	return t
}

// showsRuns reports whether a run is shown while it goes on.
func (t *Terminal) showsRuns() bool {
	return !t.Set.Quiet && (!t.Set.Silent || t.Set.Held)
}

// Configure settles what flags say.
func (t *Terminal) Configure(s Settings) error {
	t.Set = s
	t.FilterExit = 0
	_, err := formats.OneOf(
		"--color auto, always or never",
		cmp.Or(s.Colour, "auto"),
		[]string{"auto", "always", "never"},
	)
	return err
}

// Use makes a project that of the terminal; nil: none is open.
func (t *Terminal) Use(p *project.Project) {
	t.project = p
}

// Masked masks known secrets.
func (t *Terminal) Masked(text string) string {
	if t.masker == nil {
		return text
	}
	return t.masker.Values(text)
}

// maskedWriter masks known secrets in what is written to a stream. A secret that is split over two
// writes is not found.
type maskedWriter struct {
	io.Writer
	t *Terminal
}

// Write implements io.Writer.
func (v maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(v.Writer, v.t.Masked(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Fd is that of the stream.
func (v maskedWriter) Fd() uintptr {
	if f, ok := v.Writer.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

func isTTY(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Answer prints a result: strings stand inside its lines, a passage on lines of its own.
func (t *Terminal) Answer(format string, args ...any) {
	text := plain.Sprintf(format, args...)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	fmt.Fprint(t.Out, text)
}

// Sentence prints one as an answer, broken between words on a terminal.
func (t *Terminal) Sentence(format string, args ...any) {
	t.Answer("%s", plain.Passage(t.Wrapped(plain.Sprintf(format, args...))))
}

// Columns is the width of a terminal, 0 for everything else.
func Columns(w any) int {
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

// Wrapped breaks the lines of a text between words, on a terminal.
func (t *Terminal) Wrapped(text string) string {
	return style.Wrap(text, Columns(t.Out))
}

// Tell prints lines to standard error, broken between words on a terminal.
func (t *Terminal) Tell(text string) {
	// masked before a break splits a secret
	fmt.Fprintln(t.Err, style.Wrap(t.Masked(text), Columns(t.Err)))
}

// Raw prints bytes as they are, and on a terminal through clean.
func (t *Terminal) Raw(data []byte) {
	out, _ := t.Screens()
	out.Write(data) //nolint:errcheck // a closed pipe ends the process by SIGPIPE
}

// RawJSON prints JSON that was encoded before.
func (t *Terminal) RawJSON(doc []byte) {
	if t.Set.Filter != nil {
		var err error
		doc, err = t.Set.Filter.Lines(t.config.Signals.AbortContext(), doc)
		if err != nil {
			t.FilterExit = formats.ExitFor(formats.CodeUsage)
			t.Say(err.Error())
			t.Help(formats.HelpOf(err))
		}
	}
	t.Out.Write(plain.JSON(doc)) //nolint:errcheck // a closed pipe ends the process by SIGPIPE
}

// Screens gives the streams to a part of the program that writes bytes of strangers itself: a
// terminal gets them plain.
func (t *Terminal) Screens() (out, err io.Writer) {
	out = t.Out
	err = t.Err
	if t.OutTTY {
		out = &plain.Writer{To: out}
	}
	if t.ErrTTY {
		err = &plain.Writer{To: err}
	}
	return out, err
}

// Note prints one line to standard error unless --quiet.
func (t *Terminal) Note(format string, args ...any) {
	if !t.Set.Quiet {
		t.Say(plain.Sprintf(format, args...))
	}
}

// Warnings prints what did not keep the work from being done.
func (t *Terminal) Warnings(list []string) {
	for _, one := range list {
		t.Note("warning: %s", one)
	}
}

// Say prints a message to standard error; its further lines are marked.
func (t *Terminal) Say(line string) {
	t.Tell("tercet: " + plain.Message(line))
}

// Prompt prints to standard error as it stands, without a line of its own: questions and what they
// are about.
func (t *Terminal) Prompt(format string, args ...any) {
	fmt.Fprint(t.Err, plain.Sprintf(format, args...))
}

// Help prints an advice below what it is about; nothing for none.
func (t *Terminal) Help(text string) {
	if text != "" {
		t.Tell("help: " + plain.Message(text))
	}
}

// Sheet is what a stream can show that is a terminal, or is none.
func (t *Terminal) Sheet(tty bool) style.Sheet {
	colour := tty && t.config.Env("NO_COLOR") == "" && t.config.Env("TERM") != "dumb"
	switch {
	case t.Set.Colour == "always":
		colour = true
	case t.Set.Colour == "never":
		colour = false
	case t.config.Env("CLICOLOR_FORCE") != "", t.config.Env("FORCE_COLOR") != "":
		colour = true
	}
	return style.Sheet{Colour: colour, UTF8: t.utf8 && tty}
}

// JSON prints one document.
func (t *Terminal) JSON(v any) {
	t.Encode(v, "  ")
}

// Encode prints one document; an empty indent puts it on one line.
func (t *Terminal) Encode(v any, indent string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		t.Say("json: " + err.Error())
		return
	}
	t.RawJSON(b.Bytes())
}

// Failure prints an error with what to do next.
func (t *Terminal) Failure(err error) {
	var diags *formats.Diagnostics
	var use *project.UsageError
	switch {
	case errors.As(err, &diags):
		t.Findings(diags)
		if help := formats.HelpOf(err); help != diags.Help() {
			t.Help(help)
		}
	case errors.As(err, &use):
		t.Say(use.Error())
		if shown := use.Shown(); shown != "" {
			fmt.Fprintln(t.Err, "  "+plain.Line(shown))
			fmt.Fprintln(t.Err, "  "+use.Caret())
		}
		t.Tell(plain.Message(use.Usage()))
		t.Help(formats.HelpOf(err))
	default:
		for i, one := range splitErrors(err) {
			if text := one.Error(); i == 0 && positionPrefix().MatchString(text) {
				t.Tell(plain.Message(text))
			} else {
				t.Say(text)
			}
		}
		t.Help(formats.HelpOf(err))
	}
}

// splitErrors gives the errors that were put together into one, in order.
func splitErrors(err error) []error {
	list, ok := err.(interface{ Unwrap() []error }) // what it wraps has a message around it
	if !ok {
		return []error{err}
	}
	var out []error
	texts := make([]string, 0, len(list.Unwrap()))
	for _, one := range list.Unwrap() {
		texts = append(texts, one.Error())
		out = append(out, splitErrors(one)...)
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return out
}

// positionPrefix is how a line begins that has file:line:col before its message already.
var positionPrefix = lazy.Regexp(`^[^ :]*:[0-9]+:[0-9]+:`)

// ShowReturn prints a command's return: its answer to standard output, the rest to standard error.
func (t *Terminal) ShowReturn(ret formats.Return) {
	outcome := ret.Outcome()
	judged := ret.Status == formats.StatusCompleted || outcome == formats.OutcomePartial
	t.Warnings(ret.Warnings)

	text := ret.Text
	if judged {
		text = cmp.Or(text, ret.Summary)
	}
	if !t.Set.Silent {
		t.Answer("%s", plain.Passage(style.Prose(plain.Text(text), Columns(t.Out))))
	}
	if !judged {
		t.sayStopped(ret)
	}

	issues := ret.Issues
	if t.showsRuns() {
		issues = t.stage.UnshownIssues(issues)
	}
	for _, issue := range issues[:min(len(issues), mostShown)] {
		t.Say(string(issue.Level) + ": " + issuePlace(issue) + issue.Description)
	}

	t.sayMore(len(issues))
	if ret.NextSteps != "" {
		t.Note("next: %s", ret.NextSteps)
	}
}

// mostShown is how many findings are printed of each kind.
const mostShown = 10

// sayMore says how many of a number of findings were not printed.
func (t *Terminal) sayMore(n int) {
	if n > mostShown {
		t.Say(fmt.Sprintf("%s and %d more", t.Sheet(t.ErrTTY).Mark("…"), n-mostShown))
	}
}

func issuePlace(i formats.Issue) string {
	if len(i.Files) == 0 || strings.Contains(i.Description, i.Files[0]) {
		return ""
	}
	if i.Line > 0 {
		return fmt.Sprintf("%s:%d: ", i.Files[0], i.Line)
	}
	return strings.Join(i.Files, ", ") + ": "
}

// sayStopped says why a command did not do its work.
func (t *Terminal) sayStopped(ret formats.Return) {
	if ret.Status == formats.StatusBlocked || ret.Status == formats.StatusSuspended {
		t.Say(ret.BlockedReason)
		for _, e := range ret.Errors {
			t.Help(e.Recommendation)
		}
		return
	}
	for i, e := range ret.Errors {
		switch {
		case i > 0 && e.Message == ret.Errors[i-1].Message:
			continue // the same failure under a wider code
		case positionPrefix().MatchString(e.Message) &&
			formats.ExitFor(e.Code) == formats.ExitFor(formats.CodeInvalidCommand):
			t.Tell(plain.Message(e.Message))
		case e.Code == formats.CodeUsage:
			t.Say(e.Message)
		default:
			e.Message = withoutIssues(e.Message, ret.Issues)
			t.sayWithCode(e)
		}
		if e.Recommendation != ret.NextSteps {
			t.Help(e.Recommendation)
		}
	}
}

// withoutIssues is a message without the list of all issues at its end or before a remark in
// brackets: the issues have lines of their own.
func withoutIssues(message string, issues []formats.Issue) string {
	texts := make([]string, 0, len(issues))
	for _, issue := range issues {
		texts = append(texts, issue.Description)
	}

	list := ": " + strings.Join(texts, "; ")
	before, after, found := strings.Cut(message, list)
	listed := found && before != "" && len(issues) > 0 && len(issues) <= mostShown
	if !listed || after != "" && !strings.HasPrefix(after, " (") {
		return message
	}
	return before + after
}

// sayWithCode prints an error with its code behind the first line: it is for scripts and searches.
func (t *Terminal) sayWithCode(e formats.ReturnError) {
	code := "(" + plain.Line(string(e.Code)) + ")"
	text := t.Masked("tercet: " + plain.Message(e.Message))
	first, more, several := strings.Cut(text, "\n")
	first = strings.TrimSuffix(style.Wrap(first+" "+code, Columns(t.Err)), code)
	fmt.Fprintln(t.Err, first+t.Sheet(t.ErrTTY).Paint(style.Aside, code))
	if several {
		fmt.Fprintln(t.Err, style.Wrap(more, Columns(t.Err)))
	}
}

// Findings prints findings, with an excerpt on a terminal and a line each elsewhere.
func (t *Terminal) Findings(d *formats.Diagnostics) {
	defer t.sayMore(len(d.List))
	for _, one := range d.List[:min(len(d.List), mostShown)] {
		if t.ErrTTY {
			t.excerpt(one, d.Sources[one.File])
			continue
		}
		line := one.Error()
		if one.Severity == formats.SeverityWarning {
			line = strings.Replace(line, one.Code+": ", one.Code+": warning: ", 1)
		}
		fmt.Fprintln(t.Err, plain.Message(line))
		if one.Help != "" {
			fmt.Fprintln(t.Err, "  help: "+plain.Message(one.Help))
		}
	}
}

// excerpt prints one finding with the line it is about and a caret.
func (t *Terminal) excerpt(d formats.Diagnostic, src []byte) {
	sheet := t.Sheet(t.ErrTTY)
	word := "error"
	look := style.Error
	if d.Severity == formats.SeverityWarning {
		word = "warning"
		look = style.Warning
	}

	code := "" // behind the sentence, if it is none to look up
	if formats.IsDiagnosticCode(d.Code) {
		word = fmt.Sprintf("%s[%s]", word, d.Code)
	} else if d.Code != "" {
		code = "(" + plain.Line(d.Code) + ")"
	}

	text := strings.TrimRight(word+": "+plain.Message(d.Message)+" "+code, " ")
	head := strings.TrimSuffix(style.Wrap(text, Columns(t.Err)), code)
	head = sheet.Paint(look, word) + strings.TrimPrefix(head, word)
	fmt.Fprintln(t.Err, head+sheet.Paint(style.Aside, code))

	at := plain.Line(d.File)
	if !d.Pos.IsZero() {
		at = fmt.Sprintf("%s:%d:%d", at, d.Pos.Line, d.Pos.Col)
	}
	fmt.Fprintf(t.Err, "  --> %s\n", t.stage.linkTo(d.File, at))

	if line, ok := lineOf(src, d.Pos.Line); ok {
		t.markedLine(d, line, look)
	}

	if d.Help != "" {
		t.Tell("  = help: " + plain.Message(d.Help))
	}
	if formats.IsDiagnosticCode(d.Code) {
		t.Tell("  = note: run 'tercet explain " + d.Code + "'")
	}
}

// markedLine prints the line that a finding is about, with carets below the place.
func (t *Terminal) markedLine(d formats.Diagnostic, line string, look style.Look) {
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
	wide := Columns(t.Err) - len(number) - len(" | ")
	shown, at := style.Around(tabs(line), len(tabs(before)), wide)
	if wide > at {
		marks = min(marks, wide-at)
	}

	carets := t.Sheet(t.ErrTTY).Paint(look, strings.Repeat("^", marks))
	fmt.Fprintf(t.Err, "%s |\n%s | %s\n", gap, number, plain.Text(shown))
	fmt.Fprintf(t.Err, "%s | %s%s\n", gap, strings.Repeat(" ", at), carets)
}

func lineOf(src []byte, n int) (string, bool) {
	lines := strings.Split(string(src), "\n")
	if n < 1 || n > len(lines) || src == nil {
		return "", false
	}
	return strings.TrimSuffix(lines[n-1], "\r"), true
}

// Table prints rows: aligned on a terminal, tab-separated without borders elsewhere.
func (t *Terminal) Table(tab formats.Table) {
	if t.Set.Silent {
		return
	}
	if tab.Title != "" {
		t.Answer("%s", tab.Title)
	}
	if !t.OutTTY {
		fmt.Fprint(t.Out, t.Sheet(t.OutTTY).Tabbed(tab))
		return
	}
	fmt.Fprint(t.Out, t.Sheet(t.OutTTY).Table(tab, Columns(t.Out)))
}
