package documents

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/formats/record"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/nearest"
)

// Options say how to read a document; the zero value reads the current form and checks no
// file.
type Options struct {
	Variant string
	Lenient bool // read as Read does
	// Profiles are the profiles of the project; nil: only the shipped ones.
	Profiles *ProjectProfiles
	// Exists reports whether a path in the document is a file of the project; nil: no check.
	Exists func(path string) bool
}

// handoffReader reads one handoff document, or one that is read in the same way.
type handoffReader struct {
	*formats.Findings

	rules *profile
	opt   Options
	doc   *md.Document
	out   *Document
	title formats.Pos // position of the title, else the start
	parts []chapter   // the part above the first section, then the sections
}

// chapter is a section of level 2, or the unnamed part above the first one.
type chapter struct {
	name    string
	at      formats.Pos // of its heading
	lines   []line
	entries []entry
	hasText bool
}

// line is a line outside code, with its number; comments are blanked.
type line struct {
	text string
	n    int
}

// entry is one `key: value` of a part.
type entry struct {
	key, value  string
	at, valueAt formats.Pos // of the key, of the value
	items       []string    // of the list below a key without a value
	quoted      bool        // it stands in a quotation
}

func (r *handoffReader) read(src []byte) {
	doc, problems := md.ParseUpTo(src, MaxSize)
	r.doc = doc
	r.title = startPos
	for _, p := range problems {
		addProblem(r.Findings, p)
	}

	r.out.Values = map[string]any{}
	r.splitChapters()
	r.checkTitle()
	r.checkSections()
	r.readAllKeys()
	r.checkFilled()
	r.readParts()
	r.runChecks()
}

// splitChapters splits the document into chapters.
func (r *handoffReader) splitChapters() {
	r.parts = []chapter{{}}
	first := true
	var heads []md.Block
	for _, b := range r.doc.Blocks {
		switch {
		case b.Kind != md.Heading || b.Depth > 0:
		case b.Level == 1 && first:
			r.out.Title = b.Text
			r.title = b.Pos
			first = false
		case b.Level == 2:
			heads = append(heads, b)
			r.parts = append(r.parts, chapter{name: r.rules.nameOf(b.Text), at: b.Pos})
		}
	}

	r.parts[0].at = r.title
	comment := false
	at := 0
	for n, text := range r.doc.ProseLines() {
		for at < len(heads) && n >= heads[at].Pos.Line {
			at++
		}
		text, comment = blankComments(text, comment)
		if at > 0 && n == heads[at-1].Pos.Line || n == r.title.Line && !first {
			continue
		}
		r.parts[at].lines = append(r.parts[at].lines, line{text, n})
	}

	for i := range r.parts {
		p := &r.parts[i]
		p.entries = entriesOf(p.lines)
		p.hasText = slices.ContainsFunc(p.lines, func(l line) bool {
			text := strings.TrimLeft(l.text, "->*+ \t")
			return !isHeading(text) && !isPlaceholder(text, false)
		})
	}
}

func isHeading(text string) bool {
	return strings.HasPrefix(text, "#")
}

// blankComments replaces comments by blanks, so that positions stay.
func blankComments(text string, inside bool) (string, bool) {
	if !inside && !strings.Contains(text, "<!--") {
		return text, false
	}
	out := []byte(text)
	for at := 0; at < len(out); {
		mark := "<!--"
		if inside {
			mark = "-->"
		}
		n := strings.Index(text[at:], mark)
		end := len(out)
		closed := n >= 0
		if closed {
			end = at + n
		}
		for i := at; i < end && inside; i++ {
			out[i] = ' '
		}
		if !closed {
			break
		}
		copy(out[end:], "    "[:len(mark)])
		at = end + len(mark)
		inside = !inside
	}

	return string(out), inside
}

// entryForm matches a key, in bold, as code or plain, and its value after an ASCII or full-width
// colon.
var entryForm = lazy.Regexp(
	"^(?:\\*\\*|__|`)?([\\pL_][^:：*`|>]{0,59}?)(?:\\*\\*|__|`)?[ \\t]*[:：]" +
		"[ \\t]*(?:\\*\\*|__)?[ \\t]*(.*?)[ \\t]*$",
)

// quoteMark matches the beginning of a further entry of a quoted line: " > " or "> Name:".
var quoteMark = lazy.Regexp(`[ \t]>[ \t]|>[ \t]*(?:\*\*)?[\pL_][^:：>]{0,59}[:：]`)

// bullet matches a list item with an optional check box.
var bullet = lazy.Regexp(`^([ \t]*)(?:[-*+]|(\d+)[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.*?)[ \t]*$`)

// entriesOf parses the keys of lines.
func entriesOf(lines []line) (out []entry) {
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		from := len(l.text) - len(strings.TrimLeft(l.text, " \t"))
		quoted := strings.HasPrefix(l.text[from:], ">")
		from += markWidth(l.text[from:])
		if isHeading(l.text[from:]) {
			continue
		}
		for _, piece := range entrySpans(l.text, from, quoted) {
			form := entryForm().FindStringSubmatchIndex(l.text[piece[0]:piece[1]])
			if form == nil {
				continue
			}
			at := func(n int) string {
				return l.text[piece[0]+form[2*n] : piece[0]+form[2*n+1]]
			}
			e := entry{
				key:     fieldKey(at(1)),
				value:   unquote(at(2)),
				quoted:  quoted,
				at:      formats.Pos{Line: l.n, Col: piece[0] + form[2] + 1},
				valueAt: formats.Pos{Line: l.n, Col: piece[0] + form[4] + 1},
			}
			if strings.HasPrefix(e.value, "//") {
				continue // a URL
			}
			if e.value == "" && !quoted {
				e.items = itemsBelow(lines[i+1:], l)
				i += len(e.items)
			}
			out = append(out, e)
		}
	}

	return out
}

// markWidth is the length of the quotation or item mark at the start of a text.
func markWidth(text string) int {
	rest := text
	for {
		cut := strings.TrimLeft(rest, "> \t")
		if len(cut) > 1 && strings.ContainsRune("-*+", rune(cut[0])) &&
			(cut[1] == ' ' || cut[1] == '\t') {
			cut = cut[2:]
		}
		if cut == rest {
			return len(text) - len(rest)
		}
		rest = cut
	}
}

// entrySpans are the parts of a line that may have an entry each: one, or several in a quotation.
func entrySpans(text string, from int, quoted bool) (out [][2]int) {
	for quoted {
		cut := quoteMark().FindStringIndex(text[from:])
		if cut == nil {
			break
		}
		next := from + cut[0] + strings.IndexByte(text[from+cut[0]:], '>') + 1
		out = append(out, [2]int{from, from + cut[0]})
		from = next + len(text[next:]) - len(strings.TrimLeft(text[next:], " \t"))
	}
	return append(out, [2]int{from, len(text)})
}

// itemsBelow are the items of the list below a key: deeper than it, or at its level if it is not an
// item itself.
func itemsBelow(lines []line, key line) (out []string) {
	depth := record.IndentWidth(key.text)
	if bullet().MatchString(key.text) {
		depth++
	}

	for i, l := range lines {
		form := bullet().FindStringSubmatch(l.text)
		if form == nil || len(form[1]) < depth || l.n != key.n+1+i {
			break
		}
		out = append(out, unquote(form[4]))
	}
	return out
}

// unquote removes the marks of code and quotation around a value.
func unquote(text string) string {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "**"))
	for _, mark := range []string{"`", "\""} {
		if strings.HasPrefix(text, mark) && strings.HasSuffix(text, mark) &&
			strings.Count(text, mark) == 2 {
			text = strings.TrimSpace(text[len(mark) : len(text)-len(mark)])
		}
	}
	return text
}

// fieldKey is a key in the form of fields: lower case, with '_' for blanks.
func fieldKey(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return c == ' ' || c == '_' || c == '\t' || c == '\u3000'
	}), "_")
}

// checkTitle checks the title, which says what kind of document it is, and the file's name.
func (r *handoffReader) checkTitle() {
	if base := path.Base(r.File); slices.Contains(r.rules.Legacy, base) {
		r.Add(codeTwoNames, startPos, "rename it to "+r.rules.File,
			"%s is an older name of %s", base, r.rules.File)
	}

	want := r.rules.Title
	switch {
	case want == "":
	case r.out.Title == "":
		r.Add(codeNoTitle, r.title, "start with '# "+want+": name'", "the document has no title")
	case !hasTitle(r.out.Title, want):
		help := "start with '# " + want + ": name'"
		for _, name := range Profiles() {
			p, err := profileOf(name)
			if err == nil && p.Title != "" && hasTitle(r.out.Title, p.Title) {
				help = "check it with --profile " + name
			}
		}
		r.Add(codeOtherKind, r.title, help, "expected a title '%s: ...', got '%s'", want,
			r.out.Title)
	}
}

func hasTitle(title, want string) bool {
	before, _, ok := strings.Cut(strings.ReplaceAll(title, "：", ":"), ":")
	return ok && fieldKey(before) == fieldKey(want)
}

// checkSections checks that each section exists, once, with content.
func (r *handoffReader) checkSections() {
	seen := map[string]int{}
	for _, p := range r.parts[1:] {
		rule := r.rules.section(p.name)
		if first, twice := seen[p.name]; twice {
			if rule != nil {
				r.Add(codeTwice, p.at, fmt.Sprintf("join it with the one on line %d", first),
					"section '%s' stands twice", p.name)
			}
			continue
		}
		seen[p.name] = p.at.Line

		var text strings.Builder
		last := len(p.lines)
		for _, l := range p.lines[:last] {
			text.WriteString(strings.TrimRight(l.text, " \t") + "\n")
		}

		r.out.Sections[p.name] = strings.Trim(text.String(), "\n")
		if rule != nil && rule.Filled && r.applies(rule.Variant) && !p.hasText {
			r.Add(codeEmptySection, p.at, "write what the next flow has to know",
				"section '%s' says nothing", p.name)
		}
	}

	for _, s := range r.rules.Sections {
		if _, ok := seen[s.Name]; !ok && s.Required && r.applies(s.Variant) {
			r.Add(codeNoSection, r.title,
				r.suggest("## "+s.Name, s.Name, slices.Sorted(maps.Keys(seen))),
				"expected a section '%s', got none",
				s.Name)
		}
	}
}

// applies reports whether a rule counts in the variant that is read.
func (r *handoffReader) applies(variant string) bool {
	return variant == "" || (variant == VariantSeed) == (r.opt.Variant == VariantSeed)
}

// suggest is the advice for a missing name.
func (r *handoffReader) suggest(line, name string, there []string) string {
	if near := nearest.Names(name, there); len(near) > 0 && r.rules.section(near[0]) == nil {
		return "rename '" + near[0] + "' to '" + name + "'"
	}
	return "add the line '" + line + "'"
}

// findChapter returns the first chapter of a name, or nil.
func (r *handoffReader) findChapter(name string) *chapter {
	for i := range r.parts {
		if r.parts[i].name == name {
			return &r.parts[i]
		}
	}
	return nil
}

// readAllKeys reads the values. Unknown keys keep the type they are written as; of duplicates the
// first counts.
func (r *handoffReader) readAllKeys() {
	taken := map[formats.Pos]bool{}
	for i := range r.rules.Keys {
		r.readKey(&r.rules.Keys[i], taken)
	}
	for _, p := range r.parts {
		for _, e := range p.entries {
			_, twice := r.out.Values[e.key]
			if twice || taken[e.at] || e.value == "" && e.items == nil {
				continue
			}
			r.out.Values[e.key] = parseTyped(e.value)
			r.out.Fields[e.key] = e.value
			if e.items != nil {
				r.out.Values[e.key] = formats.Values(e.items)
				r.out.Fields[e.key] = strings.Join(e.items, ", ")
			}
		}
	}
}

// readKey reads the value of one key by its rule.
func (r *handoffReader) readKey(k *keyRule, taken map[formats.Pos]bool) {
	var found []entry
	for i, p := range r.parts {
		if k.In == header && i > 0 || k.In != "" && k.In != header && p.name != k.In {
			continue
		}
		for _, e := range p.entries {
			if k.matches(e.key) {
				taken[e.at] = true
				found = append(found, e)
			}
		}
	}

	at := r.title
	p := r.findChapter(k.In)
	if k.In != "" && k.In != header {
		if p == nil {
			return // the section is missing
		}
		at = p.at
	}

	switch {
	case len(found) > 0:
	case k.Section && r.findChapter(k.Name) != nil:
		e := entry{
			key:     k.field(),
			at:      r.findChapter(k.Name).at,
			valueAt: r.findChapter(k.Name).at,
		}
		for _, l := range r.findChapter(k.Name).lines {
			if e.value == "" && strings.TrimSpace(l.text) != "" {
				from := markWidth(l.text)
				e.value = unquote(l.text[from:])
				e.valueAt = formats.Pos{Line: l.n, Col: from + 1}
			}
		}
		found = append(found, e)
	case k.Required && r.applies(k.Variant):
		var there []string
		for _, p := range r.parts {
			for _, e := range p.entries {
				there = append(there, strings.ToUpper(e.key))
			}
		}
		r.Add(codeNoField, at, r.suggest(k.Name+": "+k.example(), k.Name, there),
			"expected a line '%s: ...', got none", k.Name)
		return
	default:
		return
	}

	if k.Type == typeLines {
		r.readAllLines(k, found)
		return
	}
	for _, again := range found[1:] {
		r.Add(codeTwice, again.at,
			fmt.Sprintf("keep one; the first is on line %d", found[0].at.Line),
			"key '%s' stands twice",
			k.Name)
	}

	e := found[0]
	r.out.Fields[k.field()] = e.value
	switch {
	case e.items == nil && isPlaceholder(e.value, false):
		r.out.Values[k.field()] = nil
		if k.Required || !k.isText() {
			r.Add(codeEmptyField, e.at, "write "+k.Name+": "+k.example(),
				"key '%s' says nothing", k.Name)
		}
	default:
		v, want, help := k.parse(e)
		r.out.Values[k.field()] = v
		if want != "" {
			r.addWrongValue(e.valueAt, k.Name, want, e.value, help)
		} else if help != "" {
			r.Add(codeSpelling, e.valueAt, help, "%s is '%s'", k.Name, e.value)
		}
	}
}

// readAllLines reads the texts of all lines with a key; lines without one count as absent.
func (r *handoffReader) readAllLines(k *keyRule, found []entry) {
	first := ""
	var list []any
	for _, e := range found {
		if e.value != "" {
			first = cmp.Or(first, e.value)
			list = append(list, e.value)
		}
	}
	if list != nil {
		r.out.Fields[k.field()] = first
		r.out.Values[k.field()] = list
	}
}

// maxQuotedValue bounds a quoted value in a message, in characters.
const maxQuotedValue = 60

// Prose is an agent's text as a section may hold it: it opens no section, fence or comment.
func Prose(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, " \t\r")
		if bare := strings.TrimLeft(l, " \t"); isHeading(bare) {
			l = `\` + bare
		}
		lines[i] = strings.NewReplacer("```", "'''", "~~~", "'''", "<!--", "<!- -").Replace(l)
	}
	return strings.Join(lines, "\n")
}

// parseTyped converts a text to the type it is written as.
func parseTyped(text string) any {
	switch strings.ToLower(text) {
	case "true", "yes":
		return true
	case "false", "no":
		return false
	case "null", "none", "-":
		return nil
	}

	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n
	}

	if list, ok := record.ParseBracketed(text); ok {
		return list
	}
	return text
}
