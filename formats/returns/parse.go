package returns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// ParseOptions says how to read a return. The zero value is the tolerant mode.
type ParseOptions struct {
	Strict bool   // reject what the tolerant mode repairs
	File   string // name for messages; empty: "return"
	Agent  string // required name, if the return names its agent; empty: any
	Nonce  string // required nonce, if the return has one; empty: any
	Block  bool   // a single AGENT_RESULT block of the agent counts without the nonce
	// Contract, if not nil, adds the findings of Validate with their places: warnings, or in strict
	// mode errors.
	Contract *formats.AgentInfo
	// Faulty says what is wrong with an artifact's file; nil: no check.
	Faulty func(formats.Artifact) string
}

// MaxSize bounds the JSON form of a return, in bytes.
const MaxSize = 4 << 20

const helpReturn = "a return is one JSON object with a status"

// maxDepth bounds the nesting of a return's JSON. It is below that of journal and state,
// which hold returns.
const maxDepth = 32

// Parse reads the JSON form of a return. It accepts both vocabularies in use, lists each
// repair in Warnings, and keeps unknown members in Fields. It drops claims of metadata and class,
// which the engine sets. Validate checks completeness. The error is a *Diagnostics with everything
// that cannot be read, and in strict mode every repair. The return beside an error is only for
// listing further findings.
func Parse(data []byte, opt ParseOptions) (formats.Return, error) {
	opt.File = cmp.Or(opt.File, "return")
	p := &parser{
		Findings: formats.Findings{File: opt.File},
		src:      data,
		opt:      opt,
	}

	root, err := jsonx.Parse(data, jsonx.Limits{Bytes: MaxSize, Depth: maxDepth})
	switch {
	case err != nil:
		at, msg := formats.SyntaxAt(data, err)
		p.Add(codeReturnSyntax, at, helpReturn, "%s", msg)
	case !root.Is(jsonx.Dict):
		p.addWrongType(root, "expected an object, got %s", root.Kind)
	default:
		p.read(root)
	}
	return p.ret, refusal(&p.Findings, nil)
}

// refusal is the error for an unreadable return, with its text; nil without findings.
func refusal(f *formats.Findings, src []byte) error {
	d := f.Diagnostics(src)
	if d == nil {
		return nil
	}
	d.Of = formats.CodeInvalidReturn
	return d
}

// parser reads one return. It goes on after a problem, so that all are found.
type parser struct {
	formats.Findings

	src      []byte
	opt      ParseOptions
	ret      formats.Return
	warnings []string
}

func (p *parser) add(code string, v *jsonx.Value, help, format string, args ...any) {
	p.Add(code, formats.Pos{}, help, format, args...)
	d := &p.List[len(p.List)-1]
	if v != nil {
		d.Pos = formats.PosAt(p.src, v.Start)
		d.End = formats.PosAt(p.src, v.End)
	}
}

func (p *parser) addWrongType(v *jsonx.Value, format string, args ...any) {
	p.add(codeReturnMember, v, "", format, args...)
}

// noteRepair notes a repair: a warning, or in strict mode a problem.
func (p *parser) noteRepair(v *jsonx.Value, format string, args ...any) {
	if p.opt.Strict {
		p.add(codeReturnRepair, v, "strict mode repairs nothing", format, args...)
		return
	}
	p.warn(format, args...)
}

// noteReadAs notes that a word is read as another one.
func (p *parser) noteReadAs(v *jsonx.Value, what, word, as string) {
	if word != as {
		p.noteRepair(v, "%s %q is read as %s", what, word, as)
	}
}

func (p *parser) warn(format string, args ...any) {
	if len(p.warnings) < maxWarnings {
		p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
	}
}

// maxWarnings bounds the list of repairs of one return.
const maxWarnings = 100

// reader reads the value of a member.
type reader = func(*jsonx.Value)

func (p *parser) read(root *jsonx.Value) {
	r := &p.ret
	r.Artifacts = []formats.Artifact{}
	r.Errors = []formats.ReturnError{}
	known := p.memberReaders()
	var extra []jsonx.Member
	for _, m := range root.Members {
		if m.Value.Is(jsonx.Null) {
			continue
		}
		p.checkClaim(m)

		// Readers that ignore case would take one for the other.
		lower := strings.ToLower(m.Key)
		if lower != m.Key && (known[lower] != nil || slices.Contains(claims, lower)) {
			p.add(codeReturnMember, m.Value, "write '"+lower+"'",
				"expected member %q, got %q", lower, m.Key)
		}

		read := known[m.Key]
		switch {
		case read != nil:
			read(m.Value)
		case slices.Contains(reasons, m.Key):
			p.noteRepair(m.Value, "member %s is read as blocked_reason", m.Key)
			if r.BlockedReason == "" {
				r.BlockedReason = p.readString(m.Value, m.Key)
			}
		case m.Key == "nonce", m.Key == "agent" && p.opt.Agent != "":
		default:
			extra = append(extra, m)
		}
	}

	if isAbsent(root.Get("status")) {
		p.add(codeReturnMember, root, `add "status": "completed"`, "expected a status, got none")
	}
	if summary := root.Get("summary"); !notBlank(r.Summary) && r.Status != "" &&
		(isAbsent(summary) || summary.Is(jsonx.String)) {
		p.makeSummary(root)
	}
	p.keepUnknown(extra)
	p.checkRules(root)
	r.Warnings = append(r.Warnings, p.warnings...)
	if len(r.Errors) > 0 {
		r.Class = formats.ClassOf(r.Errors[0])
	}
}

func isAbsent(v *jsonx.Value) bool {
	return v == nil || v.Is(jsonx.Null)
}

// reasons are other names of the member blocked_reason.
var reasons = []string{"blocking_reason", "blocker_reason", "blocker", "blocked_on", "blocked_by"}

// memberReaders are the members of a return with how each is read.
func (p *parser) memberReaders() map[string]reader {
	r := &p.ret
	dropped := func(name string) reader {
		return func(*jsonx.Value) { p.warn("member %s is the engine's and was dropped", name) }
	}
	return map[string]reader{
		"schema": func(v *jsonx.Value) {
			if s, ok := v.Str(); !ok || s != Schema {
				p.noteRepair(v, "member schema is not %q and was dropped", Schema)
			}
		},
		"status":    p.readStatus,
		"verdict":   p.readVerdict,
		"summary":   p.summaryInto(&r.Summary, "summary"),
		"text":      p.readText,
		"artifacts": p.eachOf("artifacts", p.readArtifact),
		"issues":    p.eachOf("issues", p.readIssue),
		"errors":    p.eachOf("errors", p.readError),
		"warnings": p.eachOf("warnings", func(e *jsonx.Value) {
			r.Warnings = append(r.Warnings, p.readString(e, "warning"))
		}),
		"fields":         p.readFields,
		"blocked_reason": p.textInto(&r.BlockedReason, "blocked_reason"),
		"blocked_target": p.textInto(&r.BlockedTarget, "blocked_target"),
		"next_steps":     p.readNextSteps,
		// Metadata is the engine's; agents of other systems always give it.
		"metadata": func(*jsonx.Value) {},
		"class":    dropped("class"),
	}
}

// claims are the members by which a return says whose it is.
var claims = []string{"agent", "nonce"}

// checkClaim refuses a return of another agent, or with another nonce than that of the delegation
// it is read for. What else an agent claims of itself is dropped, and no reason to refuse its work.
func (p *parser) checkClaim(m jsonx.Member) {
	got, isText := m.Value.Str()
	switch {
	case m.Key == "nonce" && p.opt.Nonce != "" && (!isText || got != p.opt.Nonce):
		p.add(
			codeReturnClaim,
			m.Value,
			"echo the nonce of this delegation",
			"the nonce is not the one of this delegation",
		)
	case m.Key == "agent" && p.opt.Agent != "" && (!isText || got != p.opt.Agent):
		p.add(codeReturnClaim, m.Value, "",
			"expected agent %q, got %s", p.opt.Agent, m.Value.Raw(p.src))
	}
}

// statuses are the words for status and verdict of a return in both vocabularies.
var statuses = map[string]formats.Return{
	"completed":   {Status: formats.StatusCompleted},
	"partial":     {Status: formats.StatusPartial},
	"failed":      {Status: formats.StatusFailed},
	"blocked":     {Status: formats.StatusBlocked},
	"in_progress": {Status: formats.StatusPartial},
	"researched":  {Status: formats.StatusCompleted},
	"planned":     {Status: formats.StatusCompleted},
	"implemented": {Status: formats.StatusCompleted},
	"done":        {Status: formats.StatusCompleted},
	"success":     {Status: formats.StatusCompleted},
	"approved":    {Status: formats.StatusCompleted, Verdict: formats.VerdictApproved},
	"conditional": {Status: formats.StatusCompleted, Verdict: formats.VerdictConditional},
	"rejected":    {Status: formats.StatusCompleted, Verdict: formats.VerdictRejected},
	"needs_work":  {Status: formats.StatusCompleted, Verdict: formats.VerdictRejected},
}

// normalizeWord is a word as tables have it.
func normalizeWord(word string) string {
	return strings.ToLower(strings.TrimSpace(word))
}

func (p *parser) readStatus(v *jsonx.Value) {
	got := p.readWord(v, "status", statusWords, func(r formats.Return) string {
		return string(r.Status)
	})
	p.ret.Status = got.Status
	p.ret.Verdict = cmp.Or(p.ret.Verdict, got.Verdict)
}

func (p *parser) readVerdict(v *jsonx.Value) {
	if s, isText := v.Str(); !isText || s != "" {
		got := p.readWord(v, "verdict", verdictWords, func(r formats.Return) string {
			return string(r.Verdict)
		})
		p.ret.Verdict = cmp.Or(got.Verdict, p.ret.Verdict)
	}
}

// readWord reads a word of statuses as what one member of a return says; set are those that a
// message offers.
func (p *parser) readWord(
	v *jsonx.Value,
	what string,
	set []string,
	says func(formats.Return) string,
) formats.Return {
	word, isText := v.Str()
	got := statuses[normalizeWord(word)]

	switch {
	case !isText:
		p.addWrongType(v, "expected %s as a string, got %s", what, v.Kind)
	case says(got) == "":
		p.add(codeReturnMember, v, formats.HelpOneOf(normalizeWord(word), set),
			"expected %s %s, got %q", what,
			strings.Join(set, ", "), word)
	default:
		p.noteReadAs(v, what, word, says(got))
		return got
	}
	return formats.Return{}
}

var (
	statusWords = []string{
		string(formats.StatusCompleted),
		string(formats.StatusPartial),
		string(formats.StatusFailed),
		string(formats.StatusBlocked),
	}
	verdictWords = []string{
		string(formats.VerdictApproved),
		string(formats.VerdictConditional),
		string(formats.VerdictRejected),
	}
)

// readString reads a string; a number or a boolean is read as its literal.
func (p *parser) readString(v *jsonx.Value, name string) string {
	s, isText := v.Str()
	switch {
	case isText, v.Is(jsonx.Null):
		return s
	case v.Is(jsonx.Number), v.Is(jsonx.Bool):
		p.noteRepair(v, "%s is a %s and is read as text", name, v.Kind)
		return string(v.Raw(p.src))
	}
	p.addWrongType(v, "expected %s as a string, got %s", name, v.Kind)
	return ""
}

// textInto reads a text into its place.
func (p *parser) textInto(to *string, name string) reader {
	return func(v *jsonx.Value) { *to = p.readString(v, name) }
}

// readNextSteps reads the next steps, of which a list becomes one text.
func (p *parser) readNextSteps(v *jsonx.Value) {
	const name = "next_steps"
	if !v.Is(jsonx.Array) {
		p.ret.NextSteps = p.readString(v, name)
		return
	}

	p.noteRepair(v, "member %s is a list and was joined", name)
	var parts []string
	for _, e := range v.Elems {
		parts = append(parts, p.readString(e, name))
	}
	p.ret.NextSteps = strings.Join(parts, "; ")
}

// summaryInto reads a summary.
func (p *parser) summaryInto(to *string, name string) reader {
	return func(v *jsonx.Value) {
		*to = p.readString(v, name)
		// The state takes none, and the work is done.
		if strings.ContainsFunc(*to, isObeyedControl) {
			p.noteRepair(v, "%s has control characters, which were left out", name)
			*to = strings.Map(func(r rune) rune {
				if isObeyedControl(r) {
					return -1
				}
				return r
			}, *to)
		}
		if n := utf8.RuneCountInString(*to); n > formats.MaxSummary {
			p.noteRepair(v, "%s has %d characters and was cut to %d", name, n, formats.MaxSummary)
			*to = formats.Clip(*to, formats.MaxSummary)
		}
	}
}

// isObeyedControl tells what a terminal would obey, but for blanks and the ends of lines.
func isObeyedControl(r rune) bool {
	return unicode.IsControl(r) && !unicode.IsSpace(r)
}

// readText reads the text to show.
func (p *parser) readText(v *jsonx.Value) {
	s := p.readString(v, "text")
	if len(s) > formats.MaxText {
		p.noteRepair(v, "text has %d bytes and was cut to %d", len(s), formats.MaxText)
		s = strings.ToValidUTF8(s[:formats.MaxText-len("…")], "") + "…"
	}
	p.ret.Text = s
}

// makeSummary makes the summary of a return that has none: of its text, its artifacts, or its
// status.
func (p *parser) makeSummary(root *jsonx.Value) {
	r := &p.ret
	from := "text"
	for line := range strings.Lines(r.Text) {
		r.Summary = strings.TrimSpace(strings.TrimLeft(line, "#"))
		if r.Summary != "" {
			break
		}
	}

	if !notBlank(r.Summary) {
		var made []string
		for _, a := range r.Artifacts {
			if notBlank(a.Summary) {
				made = append(made, strings.TrimSpace(a.Summary))
			}
		}
		r.Summary = strings.Join(made, "; ")
		from = "artifacts"
	}

	if r.Summary == "" {
		r.Summary = cmp.Or(p.opt.Agent, "the agent") + " reports " + r.Outcome().String()
		from = "status"
	}

	r.Summary = formats.FirstLine(r.Summary, formats.MaxSummary)
	p.noteRepair(root, "the summary is missing and was taken from the %s", from)
}

// checkRules asks what a complete return has to keep, of one that can be read.
func (p *parser) checkRules(root *jsonx.Value) {
	unread := func(d formats.Diagnostic) bool { return d.Code != codeReturnRepair }
	if p.opt.Contract == nil || slices.ContainsFunc(p.List, unread) {
		return
	}
	for _, b := range violations(p.ret, *p.opt.Contract, p.opt.Faulty) {
		at := root.Get(b.member)
		if at.Is(jsonx.Array) && b.item > 0 {
			at = at.Elems[b.item-1] // each element was read
		}
		at = cmp.Or(at, root)
		if p.opt.Strict {
			p.add(codeReturnRule, at, helpRule, "%s", b.text)
		} else {
			p.warn("%s", b.text)
		}
	}
}

const helpRule = "fix the return; 'tercet prompt SUBAGENT --task N' shows what its subagent has " +
	"to return"

// eachOf reads the elements of a list; a single value stands for a list of one.
func (p *parser) eachOf(name string, read reader) reader {
	return func(v *jsonx.Value) {
		s, isText := v.Str()
		switch {
		case v.Is(jsonx.Array):
			for _, e := range v.Elems {
				read(e)
			}
		case isText && strings.TrimSpace(s) == "":
		case isText, v.Is(jsonx.Dict):
			p.noteRepair(v, "member %s is no list and is read as a list of one", name)
			read(v)
		default:
			p.addWrongType(v, "expected %s as a list, got %s", name, v.Kind)
		}
	}
}

func (p *parser) readFields(v *jsonx.Value) {
	if !v.Is(jsonx.Dict) {
		p.addWrongType(v, "expected fields as an object, got %s", v.Kind)
	}
	for _, m := range v.Members {
		p.setField(m)
	}
}

func (p *parser) setField(m jsonx.Member) {
	if p.ret.Fields == nil {
		p.ret.Fields = map[string]any{}
	}
	p.ret.Fields[m.Key] = m.Value.Plain(jsonx.Exact)
}

// keepUnknown moves unknown members into the fields; a field of that name wins.
func (p *parser) keepUnknown(extra []jsonx.Member) {
	for _, m := range extra {
		if _, taken := p.ret.Fields[m.Key]; taken {
			p.noteRepair(m.Value,
				"member %s is unknown and was dropped: fields has one of that name", m.Key)
			continue
		}
		p.noteRepair(m.Value, "member %s is unknown and was moved into fields", m.Key)
		p.setField(m)
	}
}
