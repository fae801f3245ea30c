package argspec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
)

// MaxRaw bounds the rest of a line, in bytes.
const MaxRaw = 128 << 10

// Bind gives the rest of a command's line to its arguments. words holds the line if a shell has
// split it; else words is nil and Bind splits raw. The error is a *UsageError at the first word
// that does not fit.
func Bind(command string, specs []Spec, raw string, words []string) (Values, error) {
	if words != nil {
		raw = Join(words)
	}
	command = strings.TrimPrefix(command, "/")

	b := &binder{
		command: command,
		specs:   specs,
		raw:     raw,
		values:  make(map[string]any, len(specs)),
		given:   map[string]bool{},
	}

	if len(raw) > MaxRaw {
		return Values{}, b.fault(UsageError{
			Message: fmt.Sprintf("expected at most %d bytes of arguments, got %d",
				MaxRaw, len(raw)),
		}, 0, 0)
	}
	if !utf8.ValidString(raw) {
		return Values{}, b.fault(UsageError{Message: "expected UTF-8, got other bytes"}, 0, 0)
	}

	if words != nil {
		split, err := Split(raw)
		if err != nil {
			return Values{}, err // Join quotes what Split needs quoted
		}
		for i := range split {
			split[i].Quoted = false
		}
		b.words = split
		b.all = append([]Word{}, split...)
	}

	if err := b.bindAll(); err != nil {
		return Values{Engine: b.engine}, err
	}
	return b.finish()
}

// binder walks over a line once.
type binder struct {
	command string
	specs   []Spec
	raw     string
	all     []Word // of a shell, nil without one
	words   []Word // of these, those not yet read
	at      int    // place in raw, if there is no shell
	ended   bool   // after --
	values  map[string]any
	given   map[string]bool
	span    []int
	cuts    []cut
	engine  []string // flags of the engine, as --name or --name=value
}

// fault completes an error about a byte range of raw.
func (b *binder) fault(e UsageError, start, end int) error {
	e.Command = b.command
	e.Specs = b.specs
	e.Line = "/" + b.command
	base := len(e.Line) + 1
	if b.raw != "" && len(b.raw) <= MaxRaw && utf8.ValidString(b.raw) {
		e.Line += " " + b.raw
	}
	e.Pos = base + start
	e.End = base + end
	return &e
}

// next reads a word; ok is false at the end of the line.
func (b *binder) next() (w Word, ok bool, err error) {
	if b.all != nil {
		if len(b.words) == 0 {
			return Word{}, false, nil
		}
		w = b.words[0]
		b.words = b.words[1:]
		return w, true, nil
	}

	b.at = skipSpace(b.raw, b.at)
	if b.at == len(b.raw) {
		return Word{}, false, nil
	}
	w, bad := lex(b.raw, b.at)
	if bad != nil {
		return Word{}, false, b.fault(*bad, bad.Pos, bad.End)
	}
	b.at = w.End
	return w, true, nil
}

// peek looks at the next word without reading it. A broken one is no word here and an error when it
// is read.
func (b *binder) peek() (Word, bool) {
	words := b.words
	at := b.at
	w, ok, err := b.next()
	b.words = words
	b.at = at
	return w, ok && err == nil
}

func (b *binder) bindAll() error {
	for {
		done, err := b.bindText()
		if err != nil {
			return err
		}
		if done {
			continue
		}
		w, ok, err := b.next()
		if err != nil || !ok {
			return err
		}
		switch {
		case b.ended || w.Quoted || !isFlag(w.Text):
			err = b.bindPositional(w)
		case w.Text == "--":
			b.ended = true
		default:
			err = b.bindFlag(w)
		}
		if err != nil {
			return err
		}
	}
}

// isFlag tells whether an unquoted word is meant as a flag or ends them. A dash alone, a negative
// number and prose that a shell handed over as one word, such as a list item, are values.
func isFlag(word string) bool {
	return len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.' &&
		word[1] != ' '
}

// nextPositional is the positional argument that takes the next word, nil if none is left.
func (b *binder) nextPositional() *Spec {
	for i := range b.specs {
		if s := &b.specs[i]; !s.Flag && (!b.given[s.Name] || s.Repeat) {
			return s
		}
	}
	return nil
}

// bindText takes the raw rest of the line for a text argument whose turn it is. A text that begins
// with a quote is a word like others; one that begins with a flag is not a text yet.
func (b *binder) bindText() (done bool, err error) {
	s := b.nextPositional()
	if s == nil || s.Type != Text {
		return false, nil
	}
	if b.all != nil {
		return b.bindShellText(s)
	}

	start := skipSpace(b.raw, b.at)
	rest := b.raw[start:]
	if rest == "" {
		return false, nil
	}

	r, _ := utf8.DecodeRuneInString(rest)
	if closing(r) != 0 || !b.ended && isFlag(firstField(rest)) {
		return false, nil
	}
	end := len(b.raw)
	if !b.ended {
		end = start + b.flagStart(rest)
	}
	b.at = end
	text := strings.TrimSpace(b.raw[start:end])
	return true, b.set(s, Word{
		Text:  text,
		Start: start,
		End:   start + len(text),
	})
}

func (b *binder) bindShellText(s *Spec) (bool, error) {
	var texts []string
	var whole Word
	for len(b.words) > 0 {
		w := b.words[0]
		if !b.ended && (len(texts) == 0 && isFlag(w.Text) || b.isDeclaredFlag(w.Text)) {
			break
		}
		if len(texts) == 0 {
			whole.Start = w.Start
		}
		whole.End = w.End
		texts = append(texts, w.Text)
		b.words = b.words[1:]
	}

	if len(texts) == 0 {
		return false, nil
	}
	whole.Text = strings.Join(texts, " ")
	return true, b.set(s, whole)
}

func firstField(s string) string {
	for i := range s {
		if skipSpace(s, i) != i {
			return s[:i]
		}
	}
	return s
}

// flagStart is the offset of the first declared flag in prose, its length if there is none.
func (b *binder) flagStart(prose string) int {
	for at := 0; at < len(prose); {
		field := firstField(prose[at:])
		if b.isDeclaredFlag(field) {
			return at
		}
		at = skipSpace(prose, at+len(field))
	}
	return len(prose)
}

// isDeclaredFlag tells whether a word is a long flag of the command.
func (b *binder) isDeclaredFlag(word string) bool {
	if !strings.HasPrefix(word, "--") {
		return false
	}
	name, _, _ := strings.Cut(word, "=")
	s, _ := b.lookup(name)
	return s != nil
}

// lookup finds the argument that --name, --no-name or -n names.
func (b *binder) lookup(flag string) (s *Spec, negated bool) {
	name, long := strings.CutPrefix(flag, "--")
	name = strings.ReplaceAll(name, "-", "_")
	for i := range b.specs {
		s := &b.specs[i]
		switch {
		case !long && s.Short != "" && flag == "-"+s.Short, long && s.Name == name:
			return s, false
		case long && s.Type == Boolean && "no_"+s.Name == name:
			return s, true
		}
	}
	return nil, false
}

// bindFlag binds a word that begins with a dash, and takes the next word as its value if it needs
// one.
func (b *binder) bindFlag(w Word) (err error) {
	name, text, has := strings.Cut(w.Text, "=")
	s, negated := b.lookup(name)
	if s == nil {
		if ok, err := b.engineFlag(w, name, has); ok || err != nil {
			return err
		}
		near := adviceFor(
			strings.ReplaceAll(name, "_", "-"),
			slices.Concat(b.flagNames(), engineFlags[0], engineFlags[1]),
		)
		e := UsageError{
			Message: "unknown flag " + quoteUnprintable(name),
			Flag:    name,
			Advice:  cmp.Or(near, "write -- before words that begin with a dash"),
		}
		return b.fault(e, w.Start, min(w.Start+len(name), w.End))
	}

	if has {
		w.Start = min(w.Start+len(name)+1, w.End)
		w.Text = text
	}

	if s.Type == Boolean {
		switch {
		case negated && has:
			return b.fault(UsageError{Message: s.Expected(name+" alone", text)}, w.Start, w.End)
		case negated:
			w.Text = "false"
		case !has:
			w.Text = "true"
		}
		return b.set(s, w)
	}

	if !has {
		after, ok := b.peek()
		if !ok || !after.Quoted && (strings.HasPrefix(after.Text, "--") || b.isShort(after.Text)) {
			return b.fault(UsageError{Message: "missing value for " + s.Label()}, w.End+1, w.End+1)
		}
		w, _, err = b.next()
		if err != nil {
			return err
		}
	}

	return b.set(s, b.joinList(s, w))
}

// engineFlags are the flags of the engine that may follow a command: those that take no value, then
// with one.
var engineFlags = [2][]string{
	strings.Fields(
		"--json --events --dry-run --yes --no-input --new --if-needed --quiet -q --verbose -v -vv",
	),
	{"--jq", "--runner", "--model", parallelFlag},
}

// parallelFlag is the flag of the engine that concerns a list of tasks as a whole.
const parallelFlag = "--parallel"

// earlyFlags are flags of the engine that count before a command is looked for.
var earlyFlags = []string{"-C", "--dir", "--trust", "--color", "--lock-timeout", "--strict"}

// Parallel parses the number of tasks that may run side by side.
func Parallel(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > formats.MaxParallel {
		return 0, formats.Fail(formats.CodeUsage,
			"write it as in: tercet /plan 105-107 --parallel 2",
			"expected a whole number from 1 to %d for %s, got %q",
			formats.MaxParallel, parallelFlag,
			text)
	}
	return n, nil
}

// IsEngineFlag reports whether a word is a flag of the engine that may follow a command.
func IsEngineFlag(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return slices.Contains(engineFlags[0], name) || slices.Contains(engineFlags[1], name)
}

// StripEngineFlags is the line without the engine's valueless flags and without --parallel. Two
// lines that are the same without these mean the same work.
func StripEngineFlags(line string) string {
	words := strings.Fields(line)
	value := false
	rest := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		was := value
		value = w == parallelFlag
		return was || value || strings.HasPrefix(w, parallelFlag+"=") ||
			slices.Contains(engineFlags[0], w)
	})
	if len(rest) == len(words) {
		return line
	}
	return strings.Join(rest, " ")
}

// engineFlag hands a flag of the engine back that the command does not declare itself.
func (b *binder) engineFlag(w Word, name string, has bool) (bool, error) {
	switch {
	case slices.Contains(engineFlags[0], name):
	case slices.Contains(engineFlags[1], name):
		if has {
			break
		}
		value, ok, err := b.next()
		if err != nil || !ok {
			return true, cmp.Or(
				err,
				b.fault(UsageError{Message: "missing value for " + name}, w.End+1, w.End+1),
			)
		}
		w.Text = w.Text + "=" + value.Text
		w.End = value.End
	case slices.Contains(earlyFlags, name):
		return true, b.fault(UsageError{
			Message: name + " stands before the command",
			Flag:    name,
			Advice:  "write tercet " + name + " ... /" + b.command,
		}, w.Start, w.End)
	default:
		return false, nil
	}

	if name == parallelFlag && TaskName(b.specs) == "" {
		return true, b.fault(UsageError{
			Message: name + " is for a command that takes a task",
			Flag:    name,
			Advice:  "leave it out",
		}, w.Start, w.End)
	}
	if name == parallelFlag {
		b.cuts = append(b.cuts, cut{start: w.Start, end: w.End})
	}
	b.engine = append(b.engine, w.Text)
	return true, nil
}

func (b *binder) isShort(word string) bool {
	s, _ := b.lookup(word)
	return s != nil && strings.HasPrefix(word, "-")
}

func (b *binder) flagNames() []string {
	var names []string
	for i := range b.specs {
		names = append(names, "--"+kebabName(b.specs[i].Name))
		if b.specs[i].Type == Boolean {
			names = append(names, "--no-"+kebabName(b.specs[i].Name))
		}
		if b.specs[i].Short != "" {
			names = append(names, "-"+b.specs[i].Short)
		}
	}
	return names
}

func (b *binder) bindPositional(w Word) error {
	s := b.nextPositional()
	if s == nil {
		return b.fault(UsageError{Message: "unexpected argument " + clip(w.Text)}, w.Start, w.End)
	}
	return b.set(s, b.joinList(s, w))
}

// joinList adds to a list of task numbers the words that spaces around a comma have cut off.
func (b *binder) joinList(s *Spec, w Word) Word {
	several := s.Type == Tasks
	if w.Quoted || !several && (s.Type != Task || s.Name != TaskName(b.specs)) {
		return w
	}
	for {
		after, ok := b.peek()
		more := strings.HasSuffix(w.Text, ",") || several && strings.HasPrefix(after.Text, ",")
		if !ok || after.Quoted || !more {
			return w
		}
		if _, _, err := b.next(); err != nil {
			return w
		}
		w.Text += after.Text
		w.End = after.End
	}
}

// fileName is the form of a text that names a file.
var fileName = lazy.Regexp(`^\S+\.md$`)

// pathOf is the argument that takes a text because it names a file, nil for another text.
func (b *binder) pathOf(s *Spec, text string) *Spec {
	if s.Path == "" || b.given[s.Path] || !fileName().MatchString(text) {
		return nil
	}
	for i := range b.specs {
		if b.specs[i].Name == s.Path {
			return &b.specs[i]
		}
	}
	return nil
}

// set gives a word to an argument.
func (b *binder) set(s *Spec, w Word) error {
	if to := b.pathOf(s, w.Text); to != nil {
		return b.set(to, w)
	}
	if b.given[s.Name] && !s.Repeat {
		return b.fault(
			UsageError{Message: "expected " + s.Label() + " once, got it again"},
			w.Start,
			w.End,
		)
	}

	b.given[s.Name] = true
	if s.Repeat && s.Type == Enum && strings.Contains(w.Text, ",") &&
		!slices.Contains(s.Values, w.Text) {
		for part := range strings.SplitSeq(w.Text, ",") {
			w.Text = part
			if err := b.set(s, w); err != nil {
				return err
			}
		}
		return nil
	}

	v, want := s.value(w.Text)
	if want != "" && (s.Type == Task || s.Name == TaskName(b.specs)) {
		want = strings.Replace(want, "integer", "task number", 1)
	}
	if want != "" && s.Type == Task && s.Name == TaskName(b.specs) {
		if list, err := ParseTasks(w.Text); err == nil {
			v = list[0]
			want = ""
			b.span = list
			b.cuts = append(b.cuts, cut{w.Start, w.End, true})
		}
	}
	if want != "" {
		e := UsageError{Message: s.Expected(want, w.Text)}
		if len(s.Values) > 0 {
			e.Advice = adviceFor(w.Text, s.Values)
		}
		return b.fault(e, w.Start, w.End)
	}

	if list, ok := b.values[s.Name].([]any); s.Repeat && ok {
		v = append(list, v)
	} else if s.Repeat {
		v = []any{v}
	}

	b.values[s.Name] = v
	return nil
}

// TaskName is the name of the argument that binds $task; empty if there is none.
func TaskName(specs []Spec) string {
	number := ""
	for i := range specs {
		switch {
		case specs[i].Type == Task:
			return specs[i].Name
		case specs[i].Type == Integer && specs[i].Name == "task_number":
			number = specs[i].Name
		}
	}
	return number
}

// finish asks for all that is missing and fills in defaults.
func (b *binder) finish() (Values, error) {
	v := Values{
		Raw:    strings.TrimSpace(b.raw),
		Engine: b.engine,
		vals:   b.values,
		given:  b.given,
		task:   TaskName(b.specs),
		span:   b.span,
		raw:    b.raw,
		words:  b.all,
		cuts:   b.cuts,
	}
	var missing, flags []string
	var open []Spec
	for i := range b.specs {
		s := &b.specs[i]
		if b.given[s.Name] {
			continue
		}
		excused := slices.ContainsFunc(s.Unless, func(name string) bool {
			return b.given[name]
		})
		if !excused && (s.Required || s.Ask) {
			open = append(open, *s)
		}
		switch {
		case s.Required && excused:
			v.vals[s.Name] = nil
		case s.Required && s.Flag:
			flags = append(flags, s.Label())
		case s.Required:
			missing = append(missing, s.Label())
		case s.Default != nil:
			v.vals[s.Name] = s.Default
		case s.Type == Boolean:
			v.vals[s.Name] = false
		case s.Repeat:
			v.vals[s.Name] = []any{}
		default:
			v.vals[s.Name] = nil
		}
	}

	if missing = append(missing, flags...); len(missing) > 0 {
		end := len(strings.TrimRight(b.raw, " \t\r\n"))
		if end > 0 {
			end++ // a word would follow a space
		}
		text := "missing " + strings.Join(missing, ", ")
		return Values{Engine: b.engine}, b.fault(UsageError{Message: text, Open: open}, end, end)
	}
	return v, nil
}
