package documents

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/md"
	"tercet/internal/nearest"
)

// MaxSize bounds a document, in bytes.
const MaxSize = 2 << 20

// Document is a document read by its profile. Fields and Sections use the profile's names as keys
// where it has them, else the text of the document.
type Document struct {
	Path    string            `json:"path"`
	Profile string            `json:"profile"`
	Title   string            `json:"title"`  // text of the first heading of level 1
	Fields  map[string]string `json:"fields"` // metadata bullets
	// text of each level-2 section, without its heading
	Sections map[string]string `json:"sections"`
	Phases   []Phase           `json:"phases"`
	// records of errors.json; only for the profile errors
	Errors []any          `json:"errors,omitzero"`
	Values map[string]any `json:"-"` // typed fields of a handoff document
}

// Any is a loaded document for jq: {path, profile, title, fields, sections, phases, errors}. The
// values are plain JSON with int numbers, fresh on every call.
func (d *Document) Any() map[string]any {
	out, ok := toJSON(d).(map[string]any)
	if ok && d.Values != nil {
		out["fields"] = maps.Clone(d.Values)
	}
	return out
}

// toJSON converts a value to plain JSON.
func toJSON(v any) any {
	text, err := jsonx.Marshal(v, "")
	if err != nil {
		return nil // unreachable: a document has only JSON values
	}
	tree, err := jsonx.Parse(text, jsonx.Limits{Depth: 2 * jsonx.DefaultDepth, Bytes: len(text)})
	if err != nil {
		return nil // unreachable: just encoded
	}
	return tree.Plain(jsonx.Exact)
}

// Parse reads a document by its profile. The document is never nil and holds what could be
// read. The diagnostics are nil if there are no findings; if HasErrors is false, all are warnings.
func Parse(profile, file string, src []byte) (*Document, *formats.Diagnostics) {
	return Options{}.Parse(profile, file, src)
}

// Read is Parse for a document that a user or another system wrote. Errors are only
// what blocks work on a plan: no phase, two phases of one number, a misspelt heading of a phase.
// Every other finding is a warning.
func Read(profile, file string, src []byte) (*Document, *formats.Diagnostics) {
	return Options{Lenient: true}.Parse(profile, file, src)
}

// Parse is the function Parse with options.
func (o Options) Parse(profile, file string, src []byte) (*Document, *formats.Diagnostics) {
	d := &Document{
		Path:     file,
		Profile:  profile,
		Fields:   map[string]string{},
		Sections: map[string]string{},
		Phases:   []Phase{},
	}
	f := &formats.Findings{File: file}
	p, err := o.Profiles.rules(profile)
	unknown, isUnknown := errors.AsType[*formats.ValueError](err)
	switch {
	case isUnknown:
		f.Add(
			codeUnknownFormat,
			formats.Pos{},
			formats.HelpOneOf(profile, unknown.Want),
			"expected a profile, got '%s'",
			profile,
		)
		return d, f.Diagnostics(src)
	case err != nil:
		f.Add(codeUnknownFormat, formats.Pos{}, formats.HelpOf(err), "%v", err)
		return d, f.Diagnostics(src)
	}

	switch p.Reader {
	case readRecords:
		d.Errors = parseRecords(f, src)
		d.Fields["version"] = errorsVersion
	case readPayload:
		d.Values, _ = parsePayload(f, string(src), 0)
	case readKeys:
		r := &handoffReader{
			Findings: f,
			rules:    p,
			opt:      o,
			out:      d,
		}
		r.read(src)
	case readSections:
		r := &docReader{
			Findings: f,
			profile:  p,
			out:      d,
			lenient:  o.Lenient,
		}
		r.read(src)
	}

	return d, f.Diagnostics(src)
}

// startPos is the position of findings about a whole document.
var startPos = formats.Pos{Line: 1, Col: 1}

// docReader reads one markdown document by its profile.
type docReader struct {
	*formats.Findings

	profile *profile
	doc     *md.Document
	out     *Document
	lenient bool // report only blocking findings as errors
}

// warn reports what a document should have but is usable without.
func (r *docReader) warn(code string, at formats.Pos, help, format string, args ...any) {
	r.Add(code, at, help, format, args...)
	d := &r.List[len(r.List)-1]
	if r.lenient {
		d.Severity = formats.SeverityWarning
	}
}

func (r *docReader) read(src []byte) {
	doc, problems := md.ParseUpTo(src, MaxSize)
	r.doc = doc
	for _, p := range problems {
		addProblem(r.Findings, p)
		d := &r.List[len(r.List)-1]
		if r.lenient && d.Code == codeOpenFence && !r.hidesPhase(p.Pos.Line) {
			d.Severity = formats.SeverityWarning
		}
	}

	if len(bytes.TrimSpace(doc.Text)) == 0 {
		if len(problems) == 0 {
			r.Add(codeUnreadable, startPos, "", "the document is empty")
		}
		return
	}

	r.readTitle()
	r.readMetadata()
	r.collectSections()
	if r.profile.Titled && !hasContent(r.doc.Blocks) {
		r.Add(
			codeEmptySection,
			startPos,
			"describe the work under the heading",
			"the document says nothing below its title",
		)
	}
}

// addProblem converts a problem of the markdown reader to a finding. Front matter has no meaning
// in a document, so a mistake in it is a warning.
func addProblem(f *formats.Findings, p md.Problem) {
	code := codeFrontMatter
	switch {
	case slices.Contains([]md.Code{md.CodeFenceOpen, md.CodeFenceInHTML}, p.Code):
		code = codeOpenFence
	case slices.Contains([]md.Code{md.CodeTooLarge, md.CodeBadText, md.CodeTooDeep}, p.Code):
		code = codeUnreadable
	}
	f.Add(code, p.Pos, p.Help, "%s", p.Msg)
}

// hidesPhase reports whether a phase follows an unclosed fence.
func (r *docReader) hidesPhase(line int) bool {
	for n := line + 1; n <= r.doc.LineCount(); n++ {
		text := strings.TrimSpace(r.doc.Line(n))
		if strings.HasPrefix(text, "##") && phaseLike().MatchString(strings.TrimLeft(text, "#")) {
			return true
		}
	}
	return false
}

func (r *docReader) readTitle() {
	for _, b := range r.doc.Blocks {
		if b.Kind == md.Heading && b.Depth == 0 && r.out.Title == "" &&
			(b.Level == 1 || r.profile.Titled) {
			r.out.Title = b.Text
		}
	}
	const help = "start with '# Title'"
	switch {
	case r.out.Title != "":
	case r.profile.Titled:
		r.Add(codeNoHeading, r.bodyStart(), help, "expected a heading as the title, got none")
	default:
		r.Add(codeNoTitle, r.bodyStart(), help, "the document has no title")
	}
}

// bodyStart is the start of the body, after front matter.
func (r *docReader) bodyStart() formats.Pos {
	return formats.Pos{Line: r.doc.BodyLine, Col: 1}
}

// readMetadata reads the bullets (or labelled lines) between the title and the first section.
func (r *docReader) readMetadata() {
	at := r.bodyStart()
	places := map[string]formats.Pos{}
	last := ""

	for _, b := range r.doc.Blocks {
		if b.Kind == md.Heading && b.Depth == 0 {
			if b.Level > 1 {
				break
			}
			at = b.Pos
			continue
		}
		if b.Kind != md.Item && b.Kind != md.Paragraph {
			continue
		}
		for i, line := range strings.Split(b.Raw, "\n") {
			line = strings.TrimSpace(line)
			label, value, ok := splitLabel(line)
			name, known := r.profile.field(label)
			switch {
			case ok && (known || b.Depth == 0):
				last = name
				if _, twice := r.out.Fields[name]; !twice {
					r.out.Fields[name] = value
					places[name] = formats.Pos{Line: b.Pos.Line + i, Col: b.Pos.Col}
				}
			case last != "" && (b.Depth > 0 || b.Kind == md.Item && i > 0):
				r.out.Fields[last] = strings.TrimPrefix(r.out.Fields[last]+", "+line, ", ")
			default:
				last = ""
			}
		}
	}

	for _, name := range r.profile.Fields {
		value, ok := r.out.Fields[name]
		switch {
		case !ok:
			r.warn(codeNoField, at,
				r.suggestMissing(
					"- **"+name+"**: ...", name, slices.Sorted(maps.Keys(r.out.Fields)),
				),
				"expected a metadata bullet '%s', got none",
				name)
		case value == "" || isPlaceholder(value, false):
			r.warn(codeEmptyField, places[name], helpEmpty, "metadata bullet '%s' says nothing",
				name)
		}
	}
}

const helpEmpty = "write None if there is nothing to say"

// suggestMissing is the advice for a missing name: a probable misspelling, else what to add.
func (r *docReader) suggestMissing(line, name string, there []string) string {
	there = slices.DeleteFunc(slices.Clone(there), func(s string) bool {
		return slices.Contains(r.profile.Fields, s) || slices.Contains(r.profile.sectionNames(), s)
	})
	if near := nearest.Names(name, there); len(near) > 0 {
		return "rename '" + near[0] + "' to '" + name + "'"
	}
	return "add the line '" + line + "'"
}

func (r *docReader) collectSections() {
	places := map[string]int{}
	var phases *md.Section
	for _, s := range r.doc.Sections(2) {
		name, known := r.profile.sectionOf(s.Title())
		if first, twice := places[name]; twice {
			if known {
				help := fmt.Sprintf("join it with the one on line %d", first)
				r.warn(codeTwice, s.Heading.Pos, help, "section '%s' stands twice", name)
			}
			continue
		}
		places[name] = s.Line()
		r.out.Sections[name] = r.linesBetween(s.Line()+1, s.EndLine)
		if name == r.profile.Phases && known {
			phases = &s
		} else if known && !hasContent(s.Blocks) {
			r.warn(codeEmptySection, s.Heading.Pos, helpEmpty, "section '%s' says nothing", name)
		}
	}

	if phases != nil || r.profile.Strict {
		r.readPhases(phases)
	}

	end := formats.Pos{Line: r.doc.LineCount(), Col: 1}
	for _, name := range r.profile.sectionNames() {
		if _, ok := places[name]; !ok && !r.profile.section(name).Optional {
			r.warn(codeNoSection, end,
				r.suggestMissing("## "+name, name, slices.Sorted(maps.Keys(places))),
				"expected a section '%s', got none",
				name)
		}
	}
}

// linesBetween returns the lines from first to last without surrounding blank ones.
func (r *docReader) linesBetween(first, last int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		b.WriteString(r.doc.Line(n))
		b.WriteByte('\n')
	}
	return strings.Trim(b.String(), "\n")
}

// errorsVersion is the version of errors.json that is read and written.
const errorsVersion = "2"

// parseRecords parses errors.json and returns its records.
func parseRecords(f *formats.Findings, src []byte) []any {
	root, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		at, msg := formats.SyntaxAt(src, err)
		f.Add(codeRecord, at, "", "%s", msg)
		return []any{}
	}

	at := func(v *jsonx.Value) formats.Pos {
		if v == nil {
			return startPos
		}
		return formats.PosAt(src, v.Start)
	}
	if v, ok := root.Get("version").Str(); !ok || v != errorsVersion {
		f.Add(codeRecord, at(root.Get("version")), "", "expected version %q", errorsVersion)
	}

	list := root.Get("errors")
	if !list.Is(jsonx.Array) {
		f.Add(
			codeRecord,
			at(list),
			`write {"version": "2", "errors": []}`,
			"expected errors as a list",
		)
		return []any{}
	}

	out := make([]any, 0, len(list.Elems))
	for _, e := range list.Elems {
		for _, name := range []string{
			"id", "timestamp", "type", "severity", "message", "fix_status",
		} {
			if s, ok := e.Get(name).Str(); !ok || s == "" {
				f.Add(codeRecord, at(e), "", "expected %s as a text in every error", name)
			}
		}
		if s, ok := e.Get("fix_status").Str(); ok && !slices.Contains(fixStatuses, s) {
			f.Add(codeRecord, at(e.Get("fix_status")), formats.HelpOneOf(s, fixStatuses),
				"expected fix_status, got %q", s)
		}
		out = append(out, e.Plain(jsonx.Exact))
	}

	return out
}

var fixStatuses = []string{"unfixed", "investigating", "fixed"}
