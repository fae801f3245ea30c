package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/phrase"
	"tercet/internal/style"
)

// Style is the capabilities of a terminal.
type Style struct {
	style.Sheet

	Language string // of the fixed texts of flows
	// Link returns the URL of a project file, or is empty; nil: no links
	Link func(path string) string
}

// symbol is the sign at the beginning of a line.
type symbol int

// The symbols.
const (
	markNone symbol = iota
	markRuns
	markHead
	markOk
	markBad
	markHalf
	markAside
)

// symbols are the signs and their looks. markRuns is animated.
var symbols = [...]struct {
	sign string
	look style.Look
}{
	markRuns:  {"", style.Works},
	markHead:  {"▶", style.Works},
	markOk:    {"✓", style.Good},
	markBad:   {"✗", style.Bad},
	markHalf:  {"✗", style.Waits},
	markAside: {"│", style.Aside},
}

// spinner is the animation of running work; plainSpinner is the one without UTF-8.
const (
	spinner      = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	plainSpinner = `|/-\`
)

// frameTime is the duration of one frame of the spinner.
const frameTime = 100 * time.Millisecond

// Limits of a line, in columns: the text of an element, and the minimum width. maxIndent is in
// levels.
const (
	maxItem   = 40
	maxIndent = 8
	minWidth  = 20
)

// line is one line of a drawing, in plain text.
type line struct {
	indent int
	symbol symbol
	text   string // shortened if there is no room
	path   string // after text, as a link
	suffix string // after path
	notes  []string
	wrap   bool // wrapped between words, not shortened
	// placeholders marks text as a fixed text of flows and has its placeholders and values. nil:
	// ordinary text.
	placeholders []string
	step         string // the title of a step, with which text ends; empty: it has none
}

// draw renders the line in at most width columns.
func (l line) draw(width int, now time.Time, s Style) string {
	if l.placeholders != nil {
		l.text = phrase.In(s.Language, l.text, l.placeholders...)
	}
	if before, ok := strings.CutSuffix(l.text, l.step); ok && l.step != "" {
		l.text = before + phrase.Title(s.Language, l.step)
	}
	width = max(width, minWidth)
	l.text = s.Text(l.text)
	lead := strings.Repeat("  ", min(l.indent, maxIndent, width/6))
	if l.wrap {
		return style.Wrap(lead+l.text+s.Text(l.suffix), width)
	}

	sign := ""
	look := symbols[l.symbol].look
	switch {
	case l.symbol == markRuns:
		signs := []rune(plainSpinner)
		if s.UTF8 {
			signs = []rune(spinner)
		}
		sign = string(
			signs[max(0, now.UnixMilli()/frameTime.Milliseconds())%int64(len(signs))],
		) + " "
	case l.symbol != markNone:
		sign = s.Mark(symbols[l.symbol].sign) + " "
	}

	room := width - style.Width(lead+sign)
	notes := l.suffix
	between := "  "
	for _, n := range l.notes {
		notes += between + n
		between = ", "
		if s.UTF8 {
			between = " · "
		}
	}

	text := s.Cut(l.text+l.path, max(room*2/5, room-style.Width(notes)))
	notes = s.Cut(notes, room-style.Width(text))
	if at := strings.LastIndex(text, l.path); l.path != "" && at >= 0 && s.Link != nil {
		if url := s.Link(l.path); url != "" {
			text = text[:at] + style.Link(url, l.path) + text[at+len(l.path):]
		}
	}
	if end, ok := strings.CutPrefix(notes, l.suffix); ok {
		text += l.suffix
		notes = end
	}
	return lead + s.Paint(look, sign) + text + s.Paint(style.Aside, notes)
}

// Finished returns lasting lines for the work that finished since the last call.
func (v *View) Finished(width int, s Style) []string {
	out := draw(v.finished, width, time.Time{}, s)
	v.finished = nil
	return out
}

func draw(list []line, width int, now time.Time, s Style) []string {
	out := make([]string, 0, len(list))
	for _, l := range list {
		for one := range strings.SplitSeq(l.draw(width, now, s), "\n") {
			if l.wrap { // a word that is too long is not split
				one = s.Cut(one, max(width, minWidth))
			}
			out = append(out, one)
		}
	}
	return out
}

// Lines returns the whole view: one tree for each run.
func (v *View) Lines(width int, now time.Time, s Style) []string {
	var list []line
	for _, r := range v.list {
		head := r.root.renderLine(now)
		head.indent = 0
		head.notes = append(head.notes, r.totals()...)
		list = append(list, head)
		list = r.root.appendTree(list, now)
	}
	return draw(list, width, now, s)
}

// appendTree appends the lines of a node's descendants.
func (n *node) appendTree(list []line, now time.Time) []line {
	if n.dropped > 0 {
		list = append(list, n.remark("... "+formats.Count(n.dropped, "earlier step")))
	}
	for _, one := range n.children {
		switch {
		case one.start.IsZero(), one.outcome == formats.OutcomeSkipped:
		case one.single:
			list = one.appendTree(list, now)
		default:
			list = append(append(list, one.renderLine(now)), one.speechLines()...)
			list = append(list, one.issueLines(one.openIssues())...)
			list = one.appendTree(list, now)
		}
	}
	return list
}

// Running returns the running work in a limited number of lines; none if nothing runs. It is shown
// below the lines of Finished.
func (v *View) Running(width, most int, now time.Time, s Style) []string {
	var list, below []line
	last := v.last
	for _, r := range v.list {
		all := r.root.appendRunning(nil)
		if r.root.finished || len(all) == 0 && r.question == "" {
			continue
		}
		for _, n := range all {
			for _, up := range n.ancestors() {
				if !up.contains(last) {
					list = append(list, up.headLine())
					last = up
				}
			}
			list = append(append(list, n.renderLine(now)), n.speechLines()...)
			last = n.parent
		}
		if r.question != "" {
			below = append(below, line{
				indent: 1,
				symbol: markHead,
				text:   r.prefix + "waits for an answer: " + r.question,
			})
		}
		if notes := r.totals(); len(notes) > 0 {
			text := r.prefix + duration(now.Sub(r.root.start))
			below = append(below, line{
				indent: 1,
				text:   text,
				notes:  notes,
			})
		}
	}

	if room := max(1, most-len(below)-1); len(list) > room {
		more := line{indent: 1, text: fmt.Sprintf("... and %d more", len(list)-room)}
		list = append(list[:room:room], more)
	}
	list = append(list, below...)
	return draw(list[:min(len(list), max(1, most))], width, now, s)
}

// Heartbeat returns one line about what runs and for how long; empty if nothing runs.
func (v *View) Heartbeat(now time.Time, s Style) string {
	var words []string
	for _, r := range v.list {
		for _, n := range r.root.appendRunning(nil) {
			words = append(words, n.title()+" ("+strings.Join(n.notes(now), ", ")+")")
		}
		if r.question != "" {
			words = append(words, r.prefix+"waits for an answer: "+r.question)
		}
	}

	if len(words) == 0 {
		return ""
	}
	const wide = 1000
	return line{
		indent: 1,
		symbol: markHead,
		text:   "still running: " + strings.Join(words, "; "),
	}.draw(wide, now, s)
}

// appendRunning appends the running descendants that have no running child.
func (n *node) appendRunning(out []*node) []*node {
	for _, one := range n.children {
		if one.finished || one.start.IsZero() {
			continue
		}
		was := len(out)
		if out = one.appendRunning(out); len(out) == was && one.number == 0 {
			out = append(out, one)
		}
	}
	return out
}

// speechLines is the last sentence of the agent at work, below its step.
func (n *node) speechLines() []line {
	if n.finished || n.said == "" {
		return nil
	}
	return []line{{
		indent: n.depth() + 1,
		symbol: markAside,
		text:   "\"" + n.said + "\"",
	}}
}

// title is the name of a step, with the pass that it stands for.
func (n *node) title() string {
	if n.parent != nil && n.parent.single {
		return n.run.prefix + n.parent.name + ": " + n.name
	}
	return n.run.prefix + n.name
}

func (n *node) depth() int {
	return 1 + len(n.ancestors())
}

// renderLine renders the present state of a node.
func (n *node) renderLine(now time.Time) line {
	l := line{indent: n.depth(), text: n.title(), step: n.name}
	switch {
	case !n.finished && n.outcome != "" && n.outcome.Passes():
		l.symbol = markOk // the worker has returned; parallel ones have not
	case !n.finished:
		l.symbol = markRuns
	case n.outcome == "" && n.number > 0:
		l.symbol = markHead
	default:
		l.symbol, l.suffix = symbolOf(n.outcome)
	}
	l.notes = n.notes(now)
	return l
}

// symbolOf returns the symbol of an outcome, and the suffix for one that does not pass.
func symbolOf(o formats.Outcome) (sign symbol, end string) {
	switch {
	case o == "":
		return markAside, ""
	case o.Passes():
		return markOk, ""
	case o == formats.OutcomeFailed, o == formats.OutcomeRejected, o == formats.RunCancelled:
		return markBad, ": " + string(o)
	}
	return markHalf, ": " + string(o)
}

// headLine is the line of a node above its children.
func (n *node) headLine() line {
	l := line{
		indent: n.depth(),
		symbol: markHead,
		text:   n.title(),
		step:   n.name,
	}
	if left := n.remaining(); left != "" {
		l.notes = []string{left}
	}
	return l
}

// remaining estimates the remaining time of a loop as a range, once two of its passes are finished.
func (n *node) remaining() string {
	const least = 2
	if n.parent == nil || len(n.parent.durations) < least || n.number > n.of {
		return ""
	}

	count := float64(min(n.of-n.number+1, formats.DefaultElements))
	estimate := func(took time.Duration) string {
		return duration(time.Duration(count * float64(took)))
	}
	from := estimate(slices.Min(n.parent.durations))
	to := estimate(slices.Max(n.parent.durations))
	if from == to {
		return "about " + from + " left"
	}
	return "about " + from + " to " + to + " left"
}

// notes are the annotations of a step.
func (n *node) notes(now time.Time) []string {
	var out []string
	at := now
	if n.finished || n.outcome != "" {
		at = n.end
	}
	if took := at.Sub(n.start) - n.waiting; took >= time.Second || !n.finished && n.outcome == "" {
		out = append(out, duration(max(0, took)))
	}
	if n.finished {
		return out
	}

	for _, word := range []string{n.agent, n.doing} {
		if word != "" {
			out = append(out, word)
		}
	}
	return append(out, n.used.describe(budget{})...)
}

// totals are a run's usage, compared with its limits.
func (r *run) totals() []string {
	used := r.spent
	for _, n := range r.root.appendRunning(nil) {
		used.tokens += n.used.tokens
		used.cost += n.used.cost
	}
	return used.describe(r.limits)
}

// describe formats tokens and cost, compared with limits if there are any.
func (b budget) describe(most budget) (out []string) {
	if b.tokens > 0 || most.tokens > 0 {
		text := thousands(b.tokens)
		if most.tokens > 0 {
			text += " of " + thousands(most.tokens)
		}
		out = append(out, text+" tokens")
	}
	if b.cost > 0 || most.cost > 0 {
		text := fmt.Sprintf("$%.2f", b.cost)
		if most.cost > 0 {
			text += fmt.Sprintf(" of $%.2f", most.cost)
		}
		out = append(out, text)
	}
	return out
}

func thousands(n int64) string {
	if n >= 1e4 {
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// withNumber appends the number of a pass or round to a word.
func withNumber(word string, f attrs) string {
	if f.Number < 1 {
		return word
	}
	if f.Of < 1 {
		return fmt.Sprintf("%s %d", word, f.Number)
	}
	if word == "round" {
		return fmt.Sprintf("%s %d of %d", word, f.Number, f.Of)
	}
	return fmt.Sprintf("%s %d/%d", word, f.Number, f.Of)
}

// remark is a line below a node.
func (n *node) remark(text string) line {
	return line{
		indent: n.depth() + 1,
		text:   text,
		wrap:   true,
	}
}

// formatIssue formats an issue in one line.
func formatIssue(i formats.Issue) string {
	text := clean(i.Description)
	if len(i.Files) > 0 && !strings.Contains(i.Description, i.Files[0]) {
		at := clean(i.Files[0])
		if i.Line > 0 {
			at += fmt.Sprintf(":%d", i.Line)
		}
		text = at + ": " + text
	}
	return strings.TrimPrefix(clean(string(i.Level))+": "+text, ": ")
}

// summary lists the result of a run: files, documents, time, tokens and cost.
func (r *run) summary() (out []line) {
	for _, c := range r.changed {
		out = append(out, line{
			indent: 1,
			path:   clean(c.Path),
			suffix: fmt.Sprintf("  +%d -%d", c.Added, c.Deleted),
		})
	}

	for _, a := range r.artifacts[:min(len(r.artifacts), maxChildren)] {
		if a.Type.IsDocument() && !a.Deleted {
			out = append(out, line{
				indent: 1,
				text:   clean(string(a.Type)) + " ",
				path:   clean(a.Path),
			})
		}
	}

	notes := r.totals()
	if took := r.root.end.Sub(r.root.start) - r.root.waiting; took >= time.Second ||
		len(notes) > 0 {
		if r.workers > 0 {
			notes = slices.Insert(notes, 0, formats.Count(r.workers, "worker"))
		}
		out = append(out, line{
			indent: 1,
			text:   "took " + duration(took),
			notes:  notes,
		})
	}
	return out
}

// duration formats a duration briefly: 0.4s, 42s, 2m10s, 1h02m.
func duration(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
