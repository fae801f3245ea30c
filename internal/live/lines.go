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
	// gives the address of a project file, empty if it has none; nil: no links
	Link func(path string) string
}

// mark is the sign that a line begins with.
type mark int

// The marks there are.
const (
	markNone mark = iota
	markRuns
	markHead
	markOk
	markBad
	markHalf
	markAside
)

// marks are the signs and how they look, by mark. That of what runs turns.
var marks = [...]struct {
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

// spinner is the animation of running work, plainSpinner the one without UTF-8.
const (
	spinner      = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	plainSpinner = `|/-\`
)

// turn is how long a sign of the spinner stands.
const turn = 100 * time.Millisecond

// Limits of a line, in columns: an element's text, the depth of indentation, and the least width.
const (
	mostItem  = 40
	mostIn    = 8
	leastWide = 20
)

// line is one line of a drawing, all of it plain text.
type line struct {
	in    int
	mark  mark
	text  string // cut where there is no room
	path  string // behind it, as a link
	end   string // behind that
	notes []string
	whole bool // broken between words, not cut
	// with makes the text a fixed one of flows: its places, each with what stands there. Nil: it is
	// none.
	with []string
}

// draw gives the line at most so wide.
func (l line) draw(width int, now time.Time, s Style) string {
	if l.with != nil {
		l.text = phrase.In(s.Language, l.text, l.with...)
	}
	width = max(width, leastWide)
	l.text = s.Text(l.text)
	lead := strings.Repeat("  ", min(l.in, mostIn, width/6))
	if l.whole {
		return style.Wrap(lead+l.text+s.Text(l.end), width)
	}

	sign := ""
	look := marks[l.mark].look
	switch {
	case l.mark == markRuns:
		signs := []rune(plainSpinner)
		if s.UTF8 {
			signs = []rune(spinner)
		}
		sign = string(signs[max(0, now.UnixMilli()/turn.Milliseconds())%int64(len(signs))]) + " "
	case l.mark != markNone:
		sign = s.Mark(marks[l.mark].sign) + " "
	}

	room := width - style.Width(lead+sign)
	notes := l.end
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
	if end, ok := strings.CutPrefix(notes, l.end); ok {
		text += l.end
		notes = end
	}
	return lead + s.Paint(look, sign) + text + s.Paint(style.Aside, notes)
}

// News gives the finished work since the last call, as lasting lines.
func (v *View) News(width int, s Style) []string {
	out := drawn(v.news, width, time.Time{}, s)
	v.news = nil
	return out
}

func drawn(list []line, width int, now time.Time, s Style) []string {
	out := make([]string, 0, len(list))
	for _, l := range list {
		for one := range strings.SplitSeq(l.draw(width, now, s), "\n") {
			if l.whole { // a word that is too long stays one
				one = s.Cut(one, max(width, leastWide))
			}
			out = append(out, one)
		}
	}
	return out
}

// Lines gives the whole view: one tree a run.
func (v *View) Lines(width int, now time.Time, s Style) []string {
	var list []line
	for _, r := range v.list {
		head := r.line(now)
		head.in = 0
		head.notes = append(head.notes, r.totals()...)
		list = append(list, head)
		list = r.tree(list, now)
	}
	return drawn(list, width, now, s)
}

// tree adds the lines of what is below a node.
func (n *node) tree(list []line, now time.Time) []line {
	if n.gone > 0 {
		list = append(list, n.remark("... "+formats.Count(n.gone, "earlier step")))
	}
	for _, one := range n.below {
		switch {
		case one.began.IsZero(), one.outcome == formats.OutcomeSkipped:
		case one.flat:
			list = one.tree(list, now)
		default:
			list = append(list, one.line(now))
			list = append(list, one.complaints()...)
			list = one.tree(list, now)
		}
	}
	return list
}

// Present gives the running work in a limited number of lines; none if nothing runs. It goes below
// the News.
func (v *View) Present(width, most int, now time.Time, s Style) []string {
	var list, below []line
	last := v.last
	for _, r := range v.list {
		all := r.leaves(nil)
		if r.over || len(all) == 0 && r.question == "" {
			continue
		}
		for _, n := range all {
			for _, up := range n.chain() {
				if !up.holds(last) {
					list = append(list, up.head())
					last = up
				}
			}
			list = append(list, n.line(now))
			last = n.up
		}
		if r.question != "" {
			below = append(below, line{
				in:   1,
				mark: markHead,
				text: r.part + "waits for an answer: " + r.question,
			})
		}
		if notes := r.totals(); len(notes) > 0 {
			text := r.part + short(now.Sub(r.began))
			below = append(below, line{
				in:    1,
				text:  text,
				notes: notes,
			})
		}
	}

	if room := max(1, most-len(below)-1); len(list) > room {
		more := line{in: 1, text: fmt.Sprintf("... and %d more", len(list)-room)}
		list = append(list[:room:room], more)
	}
	list = append(list, below...)
	return drawn(list[:min(len(list), max(1, most))], width, now, s)
}

// Alive gives one line about what runs and for how long; empty if nothing runs.
func (v *View) Alive(now time.Time, s Style) string {
	var words []string
	for _, r := range v.list {
		for _, n := range r.leaves(nil) {
			words = append(words, n.title()+" ("+strings.Join(n.notes(now), ", ")+")")
		}
		if r.question != "" {
			words = append(words, r.part+"waits for an answer: "+r.question)
		}
	}
	if len(words) == 0 {
		return ""
	}
	const wide = 1000
	return line{
		in:   1,
		mark: markHead,
		text: "still running: " + strings.Join(words, "; "),
	}.draw(wide, now, s)
}

// leaves adds what runs below a node and has nothing below it that runs.
func (n *node) leaves(out []*node) []*node {
	for _, one := range n.below {
		if one.over || one.began.IsZero() {
			continue
		}
		was := len(out)
		if out = one.leaves(out); len(out) == was && one.number == 0 {
			out = append(out, one)
		}
	}
	return out
}

// title is the name of a step, with the pass that it stands for.
func (n *node) title() string {
	if n.up != nil && n.up.flat {
		return n.run.part + n.up.name + ": " + n.name
	}
	return n.run.part + n.name
}

func (n *node) depth() int {
	return 1 + len(n.chain())
}

// line is a node as it stands.
func (n *node) line(now time.Time) line {
	l := line{in: n.depth(), text: n.title()}
	switch {
	case !n.over && n.outcome != "" && n.outcome.Passes():
		l.mark = markOk // the worker has answered, and others beside it have not
	case !n.over:
		l.mark = markRuns
	case n.outcome == "" && n.number > 0:
		l.mark = markHead
	default:
		l.mark, l.end = signOf(n.outcome)
	}
	l.notes = n.notes(now)
	return l
}

// signOf is the mark of an outcome, and the word for one that is not good.
func signOf(o formats.Outcome) (sign mark, end string) {
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

// head is a node that others stand below.
func (n *node) head() line {
	l := line{
		in:   n.depth(),
		mark: markHead,
		text: n.title(),
	}
	if left := n.left(); left != "" {
		l.notes = []string{left}
	}
	return l
}

// left says how long a loop will go on, as a range, once two of its passes are over.
func (n *node) left() string {
	const least = 2
	if n.up == nil || len(n.up.took) < least || n.number > n.of {
		return ""
	}
	left := float64(min(n.of-n.number+1, formats.DefaultElements))
	most := func(took time.Duration) string {
		return short(time.Duration(left * float64(took)))
	}
	from := most(slices.Min(n.up.took))
	to := most(slices.Max(n.up.took))
	if from == to {
		return "about " + from + " left"
	}
	return "about " + from + " to " + to + " left"
}

// notes are what is said behind a step.
func (n *node) notes(now time.Time) []string {
	var out []string
	at := now
	if n.over || n.outcome != "" {
		at = n.ended
	}
	if took := at.Sub(n.began) - n.away; took >= time.Second || !n.over && n.outcome == "" {
		out = append(out, short(max(0, took)))
	}
	if n.over {
		return out
	}
	for _, word := range []string{n.agent, n.doing} {
		if word != "" {
			out = append(out, word)
		}
	}
	return append(out, n.used.words(budget{})...)
}

// totals are what a run has used so far, against what it may use.
func (r *run) totals() []string {
	used := r.spent
	for _, n := range r.leaves(nil) {
		used.tokens += n.used.tokens
		used.cost += n.used.cost
	}
	return used.words(r.most)
}

// words tell tokens and money, against bounds where there are any.
func (b budget) words(most budget) (out []string) {
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

// counted is a word with a number of how many.
func counted(word string, f facts) string {
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
		in:    n.depth() + 1,
		text:  text,
		whole: true,
	}
}

// issue is an issue in one line.
func issue(i formats.Issue) string {
	text := said(i.Description)
	if len(i.Files) > 0 && !strings.Contains(i.Description, i.Files[0]) {
		at := said(i.Files[0])
		if i.Line > 0 {
			at += fmt.Sprintf(":%d", i.Line)
		}
		text = at + ": " + text
	}
	return strings.TrimPrefix(said(string(i.Level))+": "+text, ": ")
}

// summary is what a run came to: files, documents, time, tokens and money.
func (r *run) summary() (out []line) {
	for _, c := range r.changed {
		out = append(out, line{
			in:   1,
			path: said(c.Path),
			end:  fmt.Sprintf("  +%d -%d", c.Added, c.Deleted),
		})
	}

	for _, a := range r.made[:min(len(r.made), mostBelow)] {
		if a.Type.IsDocument() && !a.Deleted {
			out = append(out, line{
				in:   1,
				text: said(string(a.Type)) + " ",
				path: said(a.Path),
			})
		}
	}

	notes := r.totals()
	if took := r.ended.Sub(r.began) - r.away; took >= time.Second || len(notes) > 0 {
		if r.workers > 0 {
			notes = slices.Insert(notes, 0, formats.Count(r.workers, "worker"))
		}
		out = append(out, line{
			in:    1,
			text:  "took " + short(took),
			notes: notes,
		})
	}
	return out
}

// short is a duration in few letters: 0.4s, 42s, 2m10s, 1h02m.
func short(d time.Duration) string {
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
