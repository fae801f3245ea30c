package formats

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/internal/jsonx"
	"tercet/internal/nearest"
)

// ParseOptions says how a return is read. The zero value is the tolerant mode.
type ParseOptions struct {
	Strict bool   // refuse what would have to be repaired
	File   string // name for messages; empty: "return"
	Agent  string // an agent that the return names must be this one; empty: not asked
	Nonce  string // a nonce that the return echoes must be this one; empty: not asked
	// Session, Depth and Task are those of the delegation; a return that names another one belongs to another delegation
	// and is refused. Zero: not asked.
	Session     string
	Depth, Task int
}

// MaxReturn is the most bytes that the JSON form of a return may have.
const MaxReturn = 4 << 20

// maxReturnDepth bounds the nesting of a return's JSON.
const maxReturnDepth = 64

// ParseReturn reads the JSON form of a return. It canonicalises both vocabularies in use, lists each repair in
// Warnings, keeps unknown members in Fields, and drops claims of metadata and class, which are the engine's. The rules
// of a complete return are Validate's. The error is a *ReturnSyntaxError with everything that cannot be read, and in
// strict mode with everything that would have been repaired; the return beside it holds what could be read, for a list
// of all that is wrong, and for nothing else.
func ParseReturn(data []byte, opt ParseOptions) (Return, error) {
	if opt.File == "" {
		opt.File = "return"
	}
	p := &returnParser{src: data, opt: opt}
	root, err := jsonx.Parse(data, jsonx.Limits{Bytes: MaxReturn, Depth: maxReturnDepth})
	if err != nil {
		at, msg := syntaxError(data, err)
		p.problems = append(p.problems, Diagnostic{
			Code: codeReturnSyntax, Severity: SeverityError, File: opt.File, Pos: at, Message: msg,
			Help: "a return is one JSON object with status and summary",
		})
		return Return{}, &ReturnSyntaxError{Problems: p.problems}
	}
	if !root.Is(jsonx.Dict) {
		p.wrong(root, "expected an object, got %s", root.Kind)
		return Return{}, &ReturnSyntaxError{Problems: p.problems}
	}
	r := p.read(root)
	if len(p.problems) > 0 {
		all := &Diagnostics{List: p.problems}
		all.Sort()
		return r, &ReturnSyntaxError{Problems: all.List}
	}
	return r, nil
}

// returnParser reads one return. It goes on after a problem, so that all are found.
type returnParser struct {
	src      []byte
	opt      ParseOptions
	problems []Diagnostic
	warnings []string
	ret      Return
	extra    []jsonx.Member // unknown members, moved into fields at the end
}

func (p *returnParser) add(code string, v *jsonx.Value, help, msg string) {
	d := Diagnostic{Code: code, Severity: SeverityError, File: p.opt.File, Message: msg, Help: help}
	if v != nil {
		d.Pos, d.End = placeOf(p.src, v.Start), placeOf(p.src, v.End)
	}
	p.problems = append(p.problems, d)
}

func (p *returnParser) wrong(v *jsonx.Value, format string, args ...any) {
	p.add(codeReturnMember, v, "", fmt.Sprintf(format, args...))
}

// repaired notes a repair: a warning, or in strict mode a problem.
func (p *returnParser) repaired(v *jsonx.Value, format string, args ...any) {
	if p.opt.Strict {
		p.add(codeReturnRepair, v, "strict mode repairs nothing", fmt.Sprintf(format, args...))
		return
	}
	p.warn(format, args...)
}

func (p *returnParser) warn(format string, args ...any) {
	if len(p.warnings) < maxWarnings {
		p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
	}
}

// maxWarnings bounds the list of repairs of one return.
const maxWarnings = 100

func (p *returnParser) read(root *jsonx.Value) Return {
	for i := range root.Members {
		m := root.Members[i]
		if m.Value.Is(jsonx.Null) {
			continue
		}
		p.identity(m)
		p.spelt(m)
		if !p.known(m) {
			p.extra = append(p.extra, m)
		}
	}
	r := &p.ret
	if absent(root.Get("status")) {
		p.add(codeReturnMember, root, `add "status": "completed"`, "expected a status, got none")
	}
	if summary := root.Get("summary"); r.Summary == "" && (absent(summary) || summary.Is(jsonx.String)) {
		p.summarise(root)
	}
	p.keepExtra()
	if r.Artifacts == nil {
		r.Artifacts = []Artifact{}
	}
	if r.Errors == nil {
		r.Errors = []ReturnError{}
	}
	r.Warnings = append(r.Warnings, p.warnings...)
	if len(r.Errors) > 0 {
		r.Class = ClassOf(r.Errors[0])
	}
	return *r
}

func absent(v *jsonx.Value) bool { return v == nil || v.Is(jsonx.Null) }

// known reads a member that a return has, and tells whether it was one.
func (p *returnParser) known(m jsonx.Member) bool {
	r, v := &p.ret, m.Value
	switch m.Key {
	case "schema":
		if s, ok := v.Str(); !ok || s != ReturnSchema {
			p.repaired(v, "member schema is not %q and was dropped", ReturnSchema)
		}
	case "status":
		p.status(v)
	case "verdict":
		p.verdict(v)
	case "summary":
		r.Summary = p.short(v, "summary", MaxSummary)
	case "text":
		r.Text = p.long(v)
	case "artifacts":
		p.each(v, m.Key, p.artifact)
	case "issues":
		p.each(v, m.Key, p.issue)
	case "errors":
		p.each(v, m.Key, p.failure)
	case "warnings":
		p.each(v, m.Key, func(e *jsonx.Value) { r.Warnings = append(r.Warnings, p.text(e, "warning")) })
	case "fields":
		p.fields(v)
	case "blocked_reason", "blocking_reason", "blocker_reason", "blocker", "blocked_on", "blocked_by":
		if m.Key != "blocked_reason" {
			p.repaired(v, "member %s is read as blocked_reason", m.Key)
		}
		if r.BlockedReason == "" || m.Key == "blocked_reason" {
			r.BlockedReason = p.text(v, m.Key)
		}
	case "blocked_target":
		r.BlockedTarget = p.text(v, m.Key)
	case "next_steps":
		r.NextSteps = p.joined(v, m.Key)
	case "metadata", "class":
		for i := range v.Members {
			p.identity(v.Members[i])
		}
		p.warn("member %s is the engine's and was dropped", m.Key)
	case "agent", "nonce":
		return p.claim(m)
	default:
		return false
	}
	return true
}

func (p *returnParser) status(v *jsonx.Value) {
	word, ok := v.Str()
	if !ok {
		p.wrong(v, "expected status as a string, got %s", v.Kind)
		return
	}
	canon := strings.ToLower(strings.TrimSpace(word))
	r := &p.ret
	switch s := ReturnStatus(canon); s {
	case StatusCompleted, StatusPartial, StatusFailed, StatusBlocked:
		r.Status = s
	default:
		switch canon {
		case "researched", "planned", "implemented", "done", "success":
			r.Status = StatusCompleted
		case "in_progress":
			r.Status = StatusPartial
		case "approved", "conditional", "rejected", "needs_work":
			r.Status = StatusCompleted
			if r.Verdict == "" {
				r.Verdict = verdictWord(canon)
			}
		}
	}
	switch {
	case r.Status == "":
		p.add(codeReturnMember, v, oneOf(canon, statusWords),
			fmt.Sprintf("expected status %s, got %q", strings.Join(statusWords, ", "), word))
	case string(r.Status) != word:
		p.repaired(v, "status %q is read as %s", word, r.Status)
	}
}

func verdictWord(word string) Verdict {
	switch v := Verdict(word); v {
	case VerdictApproved, VerdictConditional, VerdictRejected:
		return v
	default:
		if word == "needs_work" {
			return VerdictRejected
		}
		return ""
	}
}

func (p *returnParser) verdict(v *jsonx.Value) {
	word, ok := v.Str()
	if !ok {
		p.wrong(v, "expected verdict as a string, got %s", v.Kind)
		return
	}
	if word == "" {
		return
	}
	got := verdictWord(strings.ToLower(strings.TrimSpace(word)))
	switch {
	case got == "":
		p.add(codeReturnMember, v, oneOf(word, verdictWords),
			fmt.Sprintf("expected verdict %s, got %q", strings.Join(verdictWords, ", "), word))
		return
	case string(got) != word:
		p.repaired(v, "verdict %q is read as %s", word, got)
	}
	p.ret.Verdict = got
}

var (
	statusWords  = []string{string(StatusCompleted), string(StatusPartial), string(StatusFailed), string(StatusBlocked)}
	verdictWords = []string{string(VerdictApproved), string(VerdictConditional), string(VerdictRejected)}
)

// oneOf is the advice for a word outside a set.
func oneOf(word string, set []string) string {
	if help := nearest.Help(word, set); help != "" {
		return help
	}
	return "use one of " + strings.Join(set, ", ")
}

// text reads a string; a number or a boolean is read as its literal.
func (p *returnParser) text(v *jsonx.Value, name string) string {
	switch v.Kind {
	case jsonx.String:
		s, _ := v.Str()
		return s
	case jsonx.Number, jsonx.Bool:
		p.repaired(v, "%s is a %s and is read as text", name, v.Kind)
		return string(v.Raw(p.src))
	case jsonx.Null:
		return ""
	case jsonx.Array, jsonx.Dict:
		p.wrong(v, "expected %s as a string, got %s", name, v.Kind)
	}
	return ""
}

// joined reads a string, or a list of strings as one.
func (p *returnParser) joined(v *jsonx.Value, name string) string {
	if !v.Is(jsonx.Array) {
		return p.text(v, name)
	}
	p.repaired(v, "member %s is a list and was joined", name)
	parts := make([]string, 0, len(v.Elems))
	for _, e := range v.Elems {
		parts = append(parts, p.text(e, name))
	}
	return strings.Join(parts, "; ")
}

// short reads a string of at most limit characters.
func (p *returnParser) short(v *jsonx.Value, name string, limit int) string {
	s := p.text(v, name)
	if n := utf8.RuneCountInString(s); n > limit {
		p.repaired(v, "%s has %d characters and was cut to %d", name, n, limit)
		return string([]rune(s)[:limit-1]) + "…"
	}
	return s
}

func (p *returnParser) long(v *jsonx.Value) string {
	s := p.text(v, "text")
	if len(s) <= MaxText {
		return s
	}
	p.repaired(v, "text has %d bytes and was cut to %d", len(s), MaxText)
	end := MaxText - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// summarise takes the summary of a return that has none from its text.
func (p *returnParser) summarise(root *jsonx.Value) {
	for line := range strings.Lines(p.ret.Text) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#")); line != "" {
			p.ret.Summary = firstLine(line, MaxSummary)
			p.repaired(root.Get("text"), "the summary is missing and was taken from the text")
			return
		}
	}
	p.add(codeReturnMember, root, `add "summary" with what was done`, "expected a summary, got none")
}

// each reads a list; a single value stands for a list of one.
func (p *returnParser) each(v *jsonx.Value, name string, read func(*jsonx.Value)) {
	switch v.Kind {
	case jsonx.Array:
		for _, e := range v.Elems {
			read(e)
		}
	case jsonx.String, jsonx.Dict:
		if s, ok := v.Str(); ok && strings.TrimSpace(s) == "" {
			return
		}
		p.repaired(v, "member %s is no list and is read as a list of one", name)
		read(v)
	case jsonx.Null, jsonx.Bool, jsonx.Number:
		p.wrong(v, "expected %s as a list, got %s", name, v.Kind)
	}
}

func (p *returnParser) fields(v *jsonx.Value) {
	if !v.Is(jsonx.Dict) {
		p.wrong(v, "expected fields as an object, got %s", v.Kind)
		return
	}
	for i := range v.Members {
		p.field(v.Members[i])
	}
}

func (p *returnParser) field(m jsonx.Member) {
	if p.ret.Fields == nil {
		p.ret.Fields = map[string]any{}
	}
	p.ret.Fields[m.Key] = plain(m.Value)
}

// keepExtra moves unknown members into the fields; a field of that name wins.
func (p *returnParser) keepExtra() {
	for _, m := range p.extra {
		if _, taken := p.ret.Fields[m.Key]; taken {
			p.repaired(m.Value, "member %s is unknown and was dropped: fields has one of that name", m.Key)
			continue
		}
		p.repaired(m.Value, "member %s is unknown and was moved into fields", m.Key)
		p.field(m)
	}
}

// member reads the members of an object by name; an unknown one is dropped with a note.
func (p *returnParser) members(v *jsonx.Value, what string, read map[string]func(*jsonx.Value)) {
	for i := range v.Members {
		m := v.Members[i]
		if m.Value.Is(jsonx.Null) {
			continue
		}
		if f, ok := read[m.Key]; ok {
			f(m.Value)
			continue
		}
		if near := nearest.Names(m.Key, slices.Sorted(maps.Keys(read))); len(near) > 0 {
			p.repaired(m.Value, "%s has the unknown member %q, which was dropped: was %q meant", what, m.Key, near[0])
		} else {
			p.repaired(m.Value, "%s has the unknown member %q, which was dropped", what, m.Key)
		}
	}
}
