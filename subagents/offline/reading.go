package offline

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats/documents"
	"tercet/internal/md"
)

// scope says under which heading or label a block stands.
type scope int

// The scopes.
const (
	scopeWork scope = iota
	scopeVerification
	scopeAcceptance
)

// commandBlock is an sh fence that is a phase.
type commandBlock struct {
	Name string
	Body string
}

// reading is what a plan can be made of in one text. Nothing in it was understood, only found.
type reading struct {
	Blocks []commandBlock            // sh fences outside Verification and Acceptance
	Items  []string                  // open checklist items outside Verification and Acceptance
	Every  []string                  // sh fences under Verification that stand before any phase
	Last   []string                  // the other sh fences under Verification
	Checks []documents.ChecklistItem // list items under Acceptance and Verification
	Notes  []string                  // what stands there and is not used, a sentence each
}

// maxName is the most characters of a phase's name.
const maxName = 80

// parseText takes a task's description, or a text of a revision, apart. The level of headings
// decides how far "Verification" and "Acceptance" reach. A label is a paragraph or item such as
// "Verification:". It reaches to the next heading or label, or to the first paragraph after
// something stood under it.
func parseText(text string) reading {
	doc, problems := md.Parse([]byte(text))
	r := reader{doc: doc, quoteDepth: -1}
	for i := range doc.Blocks {
		r.readBlock(&doc.Blocks[i])
	}
	if len(r.out.Blocks) == 0 && len(r.out.Items) > 0 {
		// Without commands the items are the phases, so what stood before the first item stood
		// before any phase.
		r.out.Every = r.beforeItem
		r.out.Last = r.afterItem
	}
	for _, p := range problems {
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("line %d: %s", p.Pos.Line, p.Msg))
	}
	return r.out
}

// reader walks the blocks of one text.
type reader struct {
	doc        *md.Document
	out        reading
	headings   []openHeading
	label      openLabel
	lead       string // nearest heading or sentence so far
	quoteDepth int    // depth of the quote around the block, -1: none

	beforeItem, afterItem []string // verification fences, by their place to the first open item
}

type openHeading struct {
	level int
	scope scope
}

type openLabel struct {
	scope scope
	depth int
	item  bool // the label is an item, whose scope is the item
	used  bool // a fence or an item stood under it
}

func (r *reader) readBlock(b *md.Block) {
	if b.Kind == md.Quote {
		if r.quoteDepth < 0 || b.Depth <= r.quoteDepth {
			r.quoteDepth = b.Depth
		}
		return
	}

	quoted := r.quoteDepth >= 0 && b.Depth > r.quoteDepth
	if !quoted {
		r.quoteDepth = -1
	}

	switch b.Kind {
	case md.Heading:
		if !quoted && b.Depth == 0 {
			r.readHeading(b)
		}
	case md.Paragraph, md.Item:
		if !quoted {
			own := *b
			own.Text = b.Plain()
			r.readText(&own)
		}
	case md.Fence:
		r.readFence(b, quoted)
	case md.HTML, md.Quote, md.Rule:
	}
}

// scope is that of the label if one is open, else that of the headings.
func (r *reader) scope() scope {
	if r.label.scope != scopeWork {
		return r.label.scope
	}
	if n := len(r.headings); n > 0 {
		return r.headings[n-1].scope
	}
	return scopeWork
}

func (r *reader) readHeading(b *md.Block) {
	r.label = openLabel{}
	for n := len(r.headings); n > 0 && r.headings[n-1].level >= b.Level; n-- {
		r.headings = r.headings[:n-1]
	}

	s := scopeOf(b.Text)
	if s == scopeWork {
		s = r.scope()
	}
	r.headings = append(r.headings, openHeading{b.Level, s})
	r.lead = b.Text
}

// endLabel closes the label when a paragraph or an item stands beyond it.
func (r *reader) endLabel(b *md.Block) {
	l := r.label
	if l.item && b.Depth <= l.depth ||
		!l.item && b.Kind == md.Paragraph && b.Depth <= l.depth && l.used {
		r.label = openLabel{}
	}
}

// readText reads a paragraph or an item. Markdown takes a label without a blank line before it for
// the end of the text before it. A reader does not, so such a label counts.
func (r *reader) readText(b *md.Block) {
	lines := strings.Split(b.Raw, "\n")
	for i := 1; i < len(lines); i++ {
		if word := strings.TrimLeft(lines[i], " \t*_"); !strings.HasPrefix(word, "Verification") &&
			!strings.HasPrefix(word, "Acceptance") {
			continue
		}

		label := plainBlock(strings.Join(lines[i:], "\n"))
		s, rest, ok := labelOf(&label)
		if !ok {
			continue
		}

		head := *b
		head.Raw = strings.Join(lines[:i], "\n")
		head.Text = plainBlock(head.Raw).Text
		if b.Checked != nil {
			head.Text = plainBlock(head.Raw[len("[ ] "):]).Text
		}

		r.readText(&head)
		line := r.doc.Line(b.Pos.Line + i)
		r.label = openLabel{
			scope: s,
			depth: b.Depth,
			item:  b.Kind == md.Item && strings.TrimLeft(line, " \t") != line,
		}
		r.addCheck(rest, nil)
		r.setLead(label.Text)
		return
	}

	if b.Kind == md.Item {
		r.readItem(b)
		return
	}
	r.readParagraph(b)
}

// plainBlock reads a piece of a paragraph on its own.
func plainBlock(raw string) md.Block {
	doc, _ := md.Parse([]byte("x\n\n" + raw))
	if len(doc.Blocks) < 2 {
		return md.Block{Raw: raw, Text: raw}
	}

	b := doc.Blocks[1]
	b.Text = b.Plain()
	b.Raw = raw
	return b
}

func (r *reader) readParagraph(b *md.Block) {
	r.endLabel(b)

	if s, rest, ok := labelOf(b); ok {
		r.label = openLabel{scope: s, depth: b.Depth}
		r.addCheck(rest, nil)
	}
	r.setLead(b.Text)
}

func (r *reader) readItem(b *md.Block) {
	r.endLabel(b)
	s, rest, isLabel := labelOf(b)
	switch {
	case isLabel:
		r.label = openLabel{
			scope: s,
			depth: b.Depth,
			item:  true,
		}
		r.addCheck(rest, nil)
	case r.scope() != scopeWork:
		r.addCheck(b.Text, b.Checked)
	case b.Checked != nil && !*b.Checked && b.Text != "":
		r.out.Items = append(r.out.Items, b.Text)
	}

	if !isLabel {
		r.label.used = true
	}
	r.setLead(b.Text)
}

// addCheck adds an item to the checklist of the verification.
func (r *reader) addCheck(text string, done *bool) {
	if text != "" {
		r.out.Checks = append(r.out.Checks, documents.ChecklistItem{
			Text: text,
			Done: done != nil && *done,
		})
	}
}

func (r *reader) setLead(text string) {
	if text != "" {
		r.lead = lastSentence(text)
	}
}

func (r *reader) readFence(b *md.Block, quoted bool) {
	info, _, _ := strings.Cut(strings.TrimSpace(b.Info), " ")
	if !b.Fenced || strings.TrimSpace(string(b.Body)) == "" {
		return
	}

	r.label.used = true
	switch {
	case info == "bash" || info == "shell" || info == "zsh" || info == "console":
		r.addNote(b, "a fence marked %s is not run, only sh fences are", info)
	case info != "sh":
	case quoted:
		r.addNote(b, "an sh fence inside a quote is not run")
	default:
		r.addCommands(b)
	}
}

func (r *reader) addCommands(b *md.Block) {
	body := string(b.Body)
	switch r.scope() {
	case scopeWork:
		r.out.Blocks = append(r.out.Blocks, commandBlock{
			Name: phaseName(r.lead, "Run the commands"),
			Body: body,
		})
	case scopeAcceptance:
		r.addNote(b, "an sh fence under Acceptance is not run, one under Verification is")
	case scopeVerification:
		if len(r.out.Blocks) == 0 {
			r.out.Every = append(r.out.Every, body)
		} else {
			r.out.Last = append(r.out.Last, body)
		}

		if len(r.out.Items) == 0 {
			r.beforeItem = append(r.beforeItem, body)
		} else {
			r.afterItem = append(r.afterItem, body)
		}
	}
}

func (r *reader) addNote(b *md.Block, format string, args ...any) {
	r.out.Notes = append(
		r.out.Notes,
		fmt.Sprintf("line %d: ", b.Pos.Line)+fmt.Sprintf(format, args...),
	)
}

// scopeOf reads the scope that a heading's or a label's first word names.
func scopeOf(text string) scope {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	switch strings.TrimRight(word, ":.") {
	case "verification":
		return scopeVerification
	case "acceptance":
		return scopeAcceptance
	default:
		return scopeWork
	}
}

// labelOf tells whether a paragraph or an item is a label. It has at most three words that begin
// with Verification or Acceptance, and then a colon, or all of it is strong. What follows the colon
// is the rest.
func labelOf(b *md.Block) (s scope, rest string, ok bool) {
	head, rest, colon := strings.Cut(b.Text, ":")
	raw := strings.TrimSpace(b.Raw)
	strong := len(raw) > 4 && (strings.HasPrefix(raw, "**") && strings.HasSuffix(raw, "**") ||
		strings.HasPrefix(raw, "__") && strings.HasSuffix(raw, "__"))
	s = scopeOf(head)
	if s == scopeWork || !colon && !strong || len(strings.Fields(head)) > 3 {
		return scopeWork, "", false
	}
	return s, strings.TrimSpace(rest), true
}

// lastSentence is the last sentence of a paragraph. A period ends one only before a space and a
// capital or a digit.
func lastSentence(text string) string {
	text = strings.TrimSpace(text)
	for i := len(text) - 2; i > 0; i-- {
		if !strings.ContainsRune(".!?", rune(text[i-1])) || text[i] != ' ' {
			continue
		}
		if c := text[i+1]; c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf {
			return text[i+1:]
		}
	}
	return text
}

// phaseName makes the name of a phase out of a line of text. It has no brackets, because they hold
// the status in a plan's heading, and no period or colon at the end. It is not longer than maxName.
func phaseName(text, otherwise string) string {
	text = strings.Join(strings.Fields(strings.NewReplacer("[", "(", "]", ")").Replace(text)), " ")
	text = strings.TrimRight(text, " .:;,#")
	text = strings.TrimLeft(text, " #")
	if text == "" {
		return otherwise
	}
	return cutText(text, maxName)
}

// cutText shortens a text to a number of characters.
func cutText(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return strings.TrimRight(string(runes[:limit-1]), " ") + "…"
}

// makePhases makes the open phases of a plan out of what was read in the description, the first
// reading, and in each text of a revision. A verification before any phase belongs to every phase
// in the description, and to its own phases in a text. It leaves out what is in done, by commands
// or by name, and what an earlier text said already.
func makePhases(readings []reading, done []documents.Phase) []documents.Phase {
	var out []documents.Phase
	var every, last []string
	var checks []documents.ChecklistItem
	for i, r := range readings {
		first := len(out)
		said := slices.Concat(done, out)
		known := func(name, body string) bool {
			n := slices.IndexFunc(said, func(p documents.Phase) bool {
				return body == "" && len(p.Commands) == 0 && p.Name == name ||
					body != "" && slices.Contains(p.Commands, body)
			})
			if n >= 0 {
				said = slices.Delete(said, n, n+1) // a text may ask for the same twice
			}
			return n >= 0
		}

		for _, b := range r.Blocks {
			if !known(b.Name, b.Body) {
				out = append(out, documents.Phase{
					Name:     b.Name,
					Goal:     asSentence(b.Name),
					Commands: []string{b.Body},
					Tasks:    []documents.ChecklistItem{{Text: "Run the commands of this phase"}},
				})
			}
		}

		if len(r.Blocks) == 0 {
			for _, item := range r.Items {
				if name := phaseName(item, "Do the task"); !known(name, "") {
					out = append(out, documents.Phase{
						Name:  name,
						Goal:  asSentence(name),
						Tasks: []documents.ChecklistItem{{Text: item}},
					})
				}
			}
		}

		switch {
		case i == 0:
			every = r.Every
		case len(out) == first:
			last = appendNew(last, r.Every)
		default:
			for n := first; n < len(out); n++ {
				out[n].Verification = slices.Clone(r.Every)
			}
		}

		last = appendNew(last, r.Last)
		for _, c := range r.Checks {
			if !slices.ContainsFunc(checks, func(o documents.ChecklistItem) bool {
				return o.Text == c.Text
			}) {
				checks = append(checks, c)
			}
		}
	}

	if len(out) == 0 {
		return nil
	}
	for i := range out {
		out[i].Status = documents.PhaseNotStarted
		out[i].Timing = notEstimated
		out[i].Verification = appendNew(slices.Clone(every), out[i].Verification)
	}

	final := &out[len(out)-1]
	final.Verification = appendNew(final.Verification, last)
	for i := range out {
		if i == len(out)-1 || len(last) == 0 && len(every) > 0 {
			out[i].Checks = slices.Clone(checks)
		}
	}

	return out
}

// notEstimated is the timing of a phase that this runner makes.
const notEstimated = "not estimated"

// wholeTaskPhase is the one phase of a task that has neither commands nor items.
func wholeTaskPhase(title string, r reading) documents.Phase {
	return documents.Phase{
		Name:         "Do the task",
		Goal:         asSentence(title),
		Timing:       notEstimated,
		Status:       documents.PhaseNotStarted,
		Tasks:        []documents.ChecklistItem{{Text: title}},
		Verification: slices.Concat(r.Every, r.Last),
		Checks:       r.Checks,
	}
}

// notePhase is the phase for a text of a revision that has neither commands nor items.
func notePhase(text string) documents.Phase {
	text = strings.TrimSpace(text)
	first, _, _ := strings.Cut(text, "\n")
	name := phaseName("Do: "+plainBlock(first).Text, "Do the task")
	return documents.Phase{
		Name:   name,
		Goal:   asSentence(strings.TrimPrefix(name, "Do: ")),
		Timing: notEstimated,
		Status: documents.PhaseNotStarted,
		Tasks:  []documents.ChecklistItem{{Text: strings.Join(strings.Fields(text), " ")}},
	}
}

// asSentence ends a text with a period.
func asSentence(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

func appendNew(list, more []string) []string {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}
