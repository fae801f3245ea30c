package documents

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/formats"
	"tercet/internal/md"
)

// emptyText stands for a text without content.
const emptyText = "None."

// Draft is the input of Render: metadata and sections by their names in the profile, and phases.
// Sections are markdown, and sectionRevision comes last; all other texts are one line. What the
// draft lacks, the document lacks, and its profile refuses it.
type Draft struct {
	Profile, Title string
	Texts          map[string]string
	Phases         []Phase // a plan needs one; renumbered from 1 unless the numbers ascend
}

// sectionRevision is the section that a revision adds to a plan.
const sectionRevision = "Revision"

// Render renders the document. No text of the draft can end its section or open another one.
func (d Draft) Render() []byte {
	p, err := profileOf(d.Profile)
	if err != nil {
		p = &profile{}
	}
	title := formats.OneLine(d.Title)
	if !hasWords(title) {
		title = "untitled"
	}

	blocks := []string{"# " + p.Label + title}
	var fields strings.Builder
	for _, name := range p.Fields {
		value, ok := d.Texts[name]
		if !ok {
			continue
		}
		value = formats.OneLine(value)
		if isPlaceholder(value, false) {
			value = strings.TrimSuffix(emptyText, ".")
		}
		fields.WriteString("- **" + name + "**: " + value + "\n")
	}

	if fields.Len() > 0 {
		blocks = append(blocks, fields.String())
	}
	for _, name := range append(slices.Clone(p.sectionNames()), sectionRevision) {
		text, ok := d.Texts[name]
		if name == sectionRevision {
			ok = strings.TrimSpace(text) != ""
		}
		if !ok && name != p.Phases {
			continue
		}
		blocks = append(blocks, "## "+name)
		if name != p.Phases {
			blocks = append(blocks, sanitizeSection(text))
			continue
		}
		var seen []int
		for _, phase := range renumber(d.Phases) {
			blocks = append(blocks, phase.render(seen)...)
			seen = append(seen, phase.Number)
		}
	}

	for i, b := range blocks {
		blocks[i] = strings.TrimRight(b, "\n") + "\n"
	}
	return []byte(strings.Join(blocks, "\n"))
}

// List renders texts as list items that open no other block.
func List(items []string) string {
	var b strings.Builder
	for _, it := range items {
		if it = formats.OneLine(it); !isPlaceholder(it, true) {
			b.WriteString("- " + escapeItem(it) + "\n")
		}
	}
	return cmp.Or(b.String(), "- "+emptyText+"\n")
}

// renumber returns phases whose numbers ascend from 1 or more.
func renumber(phases []Phase) []Phase {
	last := 0
	for _, p := range phases {
		if p.Number <= last || p.Number > maxPhase {
			out := make([]Phase, len(phases))
			for i, q := range phases {
				q.Number = i + 1
				q.Source = ""
				q.DependsOn = nil
				out[i] = q
			}
			return out
		}
		last = p.Number
	}
	return phases
}

// render returns the blocks of a phase; seen are the numbers of the phases before it.
func (p Phase) render(seen []int) []string {
	if p.canQuote(seen) {
		return []string{p.Source}
	}
	name := formats.OneLine(p.Name)
	status := p.Status
	if !hasWords(name) {
		name = "unnamed"
	}
	if _, err := ParsePhaseStatus(string(status)); err != nil {
		status = PhaseNotStarted
	}

	facts := "- **" + labelGoal + "**: " + formats.OneLine(p.Goal) +
		"\n- **" + labelTiming + "**: " + formats.OneLine(p.Timing) + "\n"
	var depends []string
	for _, n := range p.DependsOn {
		if slices.Contains(seen, n) {
			depends = append(depends, strconv.Itoa(n))
		}
	}

	if len(depends) > 0 {
		facts += "- **" + labelDependsOn + "**: " + strings.Join(depends, ", ") + "\n"
	}
	out := []string{
		fmt.Sprintf("### Phase %d: %s [%s]", p.Number, name, status.Mark()),
		facts,
		"**" + labelTasks + "**:",
		checklist(p.Tasks),
	}

	labelled := func(label, list string, bodies []string) {
		blocks := []string{"**" + label + "**:"}
		if list != "" {
			blocks = append(blocks, list)
		}
		for _, body := range bodies {
			if strings.TrimSpace(body) != "" {
				blocks = append(blocks, fenceBlock("sh", body))
			}
		}
		if len(blocks) > 1 {
			out = append(out, blocks...)
		}
	}
	labelled(labelCommands, "", p.Commands)
	labelled(labelVerification, checklist(p.Checks), p.Verification)
	return out
}

func checklist(items []ChecklistItem) string {
	var b strings.Builder
	for _, it := range items {
		text := formats.OneLine(it.Text)
		if !hasWords(text) {
			continue
		}
		box := "[ ] "
		if it.Done {
			box = "[x] "
		}
		b.WriteString("- " + box + text + "\n")
	}
	return b.String()
}

// fenceBlock returns a fence that is longer than every run of backticks in its body.
func fenceBlock(info, body string) string {
	run := "```"
	for strings.Contains(body, run) {
		run += "`"
	}
	return run + info + "\n" + strings.TrimSuffix(body, "\n") + "\n" + run
}

// escapeItem escapes the text of a list item so that it opens no other block.
func escapeItem(s string) string {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')'):
		return s[:digits] + `\` + s[digits:]
	case strings.IndexByte("#>+-=|~<", s[0]) >= 0,
		strings.HasPrefix(s, "```"), strings.HasPrefix(s, "* "), strings.Trim(s, "*_ ") == "",
		len(s) > 2 && s[0] == '[' && s[2] == ']':
		return `\` + s
	}
	return s
}

// hasWords reports whether a text has a letter or a digit.
func hasWords(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}

// sanitizeSection makes a text safe for a section: headings go below the section's. A text that
// would swallow what follows, or is empty, is fenced or replaced.
func sanitizeSection(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.Trim(
		strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD"),
		"\n",
	)
	if len(text) > formats.MaxText {
		text = strings.ToValidUTF8(text[:formats.MaxText], "") + "\n\n(cut here)"
	}

	doc, closed := survives(text)
	lowered := ""
	high := false
	if closed {
		lowered, high = demoteHeadings(doc)
	}
	if high {
		text = lowered
		doc, closed = survives(text)
		if closed {
			_, high = demoteHeadings(doc)
		}
	}

	switch {
	case strings.TrimSpace(text) == "", closed && !hasContent(doc.Blocks[1:len(doc.Blocks)-1]):
		return emptyText
	case closed && !high:
		return text
	}

	return fenceBlock("text", text)
}

// survives parses a text between a title and a heading, and reports whether both survive.
func survives(text string) (*md.Document, bool) {
	doc, problems := md.ParseUpTo([]byte("# top\n\n"+text+"\n\n## bottom\n"), 2*MaxSize)
	n := len(doc.Blocks)
	if len(problems) > 0 || n < 2 {
		return doc, false
	}
	first := doc.Blocks[0]
	last := doc.Blocks[n-1]
	return doc, first.Kind == md.Heading && first.Text == "top" &&
		last.Kind == md.Heading && last.Text == "bottom" && last.Level == 2 && last.Depth == 0
}

// demoteHeadings moves the headings of levels 1 and 2 to 3 and 4, and reports whether there are
// any: a section has deeper ones.
func demoteHeadings(doc *md.Document) (text string, high bool) {
	lines := make([]string, 0, doc.LineCount())
	for n := 1; n <= doc.LineCount(); n++ {
		lines = append(lines, doc.Line(n))
	}

	for _, b := range doc.Blocks[1 : len(doc.Blocks)-1] {
		if b.Kind != md.Heading || b.Depth > 0 || b.Level > 2 {
			continue
		}

		high = true
		for n := b.Pos.Line; n <= b.End.Line; n++ {
			lines[n-1] = ""
		}
		underlined := !strings.HasPrefix(strings.TrimSpace(doc.Line(b.Pos.Line)), "#")
		next := strings.TrimSpace(doc.Line(b.End.Line + 1))
		if underlined && next != "" && strings.Trim(next, "=-") == "" {
			lines[b.End.Line] = ""
		}
		lines[b.Pos.Line-1] = strings.Repeat("#", b.Level+2) + " " + b.Text
	}

	return strings.Trim(strings.Join(lines[2:len(lines)-3], "\n"), "\n"), high
}

// canQuote reports whether the source of a phase can be used verbatim. It must parse as exactly
// this phase, swallow nothing that follows, and depend only on phases before it.
func (p Phase) canQuote(seen []int) bool {
	if strings.TrimSpace(p.Source) == "" {
		return false
	}
	if slices.ContainsFunc(p.DependsOn, func(n int) bool { return !slices.Contains(seen, n) }) {
		return false
	}
	// The phases it depends on are minimal headings before it; the source may name others.
	var before strings.Builder
	for _, n := range slices.Sorted(slices.Values(p.DependsOn)) {
		fmt.Fprintf(&before, "### Phase %d: a [COMPLETED]\n\n- **Goal**: a\n- **Timing**: 1m\n\n"+
			"**Tasks**:\n\n- [x] a\n\n",
			n)
	}

	src := "# top\n\n## Implementation Phases\n\n" + before.String() + p.Source +
		"\n\n## bottom\n"
	plan, found := ParsePlan("", []byte(src))
	end, closed := plan.Sections["bottom"]
	last := len(plan.Phases) - 1
	if !closed || end != "" || last != len(p.DependsOn) || plan.Phases[last].Number != p.Number ||
		plan.Phases[last].Status != p.Status {
		return false
	}

	elsewhere := []string{codeNoField, codeNoSection} // the rest of the plan is missing
	return !slices.ContainsFunc(found.List, func(d formats.Diagnostic) bool {
		return d.Severity == formats.SeverityError && !slices.Contains(elsewhere, d.Code)
	})
}
