package outline

import (
	"fmt"
	"slices"
	"strings"

	"tercet/commands/argspec"
)

// Measures of the drawing in pixels.
const (
	margin   = 32
	gap      = 30 // between steps, where the arrow is
	pad      = 18 // inside of a container
	sideGap  = 20
	boxWidth = 300
	widest   = 580
	perBold  = 8.4 // of 13 px text, bold
	perChar  = 6.6 // of 12 px text
	laneGap  = 14
)

// line is one line of text in a box.
type line struct {
	text string
	kind lineKind
}

type lineKind uint8

const (
	lineTitle lineKind = iota
	lineWhat
	lineWhen
	lineWay
)

func (k lineKind) height() int {
	return map[lineKind]int{lineTitle: 20, lineWhat: 22, lineWhen: 17, lineWay: 17}[k]
}

// box is a node with its place.
type box struct {
	node       *Node
	lines      []line
	x, y, w, h int
	head       int // height of the text
	children   []*box
}

// svg draws the steps from top to bottom, what is inside of a step inside of its box, and the ways back at the right.
func (o *Outline) svg() string {
	steps, failures := boxes(o.Steps), boxes(o.Errors)
	w, h := column(steps, false)
	ew, eh := column(failures, false)
	lanes := ways(steps)
	top := margin + 64
	place(steps, margin, top+40, w, false)
	width := margin*2 + w + laneWidth(len(lanes))
	height := top + 40 + h + 44 + margin
	if len(failures) > 0 {
		place(failures, margin*2+w+laneWidth(len(lanes))+24, top+40, ew, false)
		width += ew + margin + 24
		height = max(height, top+40+eh+margin)
	}
	width = max(width, margin*2+int(float64(argspec.Width(o.Description))*7.2))
	p := &pen{}
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Inter, `+
		`'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif">`, width, height, width, height)
	p.add(`<title>%s</title>`, escape("/"+o.Command+": "+o.Description))
	p.add(`<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" ` +
		`orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#64748b"/></marker>`)
	p.add(`<marker id="back" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" ` +
		`orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#c2410c"/></marker></defs>`)
	p.add(`<rect width="100%%" height="100%%" fill="#f8fafc"/>`)
	p.add(`<text x="%d" y="%d" font-size="22" font-weight="700" fill="#0f172a">/%s</text>`, margin, margin+18,
		escape(o.Command))
	p.add(`<text x="%d" y="%d" font-size="13" fill="#475569">%s</text>`, margin, margin+40, escape(o.Description))
	p.around(steps, o, margin+w/2, top+40)
	for _, list := range [][]*box{steps, failures} {
		p.column(list)
	}
	p.lanes(lanes, margin+w)
	if len(failures) > 0 {
		p.add(`<text x="%d" y="%d" font-size="13" font-weight="600" fill="#b91c1c">Error handling</text>`, failures[0].x,
			top+26)
	}
	p.add("</svg>")
	return p.String()
}

func laneWidth(n int) int {
	if n == 0 {
		return 0
	}
	return 24 + n*laneGap
}

// boxes measures a list of nodes.
func boxes(list []*Node) []*box {
	out := make([]*box, 0, len(list))
	for _, n := range list {
		b := &box{node: n, lines: []line{{n.heading(), lineTitle}, {n.Does, lineWhat}}}
		if len(n.Tiers) > 0 {
			b.lines = append(b.lines, line{"tier " + strings.Join(n.Tiers, ", "), lineWhen})
		}
		if n.When != "" {
			b.lines = append(b.lines, line{"when " + n.When, lineWhen})
		}
		for _, w := range n.Ways {
			b.lines = append(b.lines, line{w.String(), lineWay})
		}
		longest := float64(argspec.Width(n.heading()))*perBold + 14
		for _, l := range b.lines[1:] {
			longest = max(longest, float64(argspec.Width(l.text))*perChar+90)
		}
		b.w = min(max(boxWidth, int(longest)+28), widest)
		b.head = 12
		for _, l := range b.lines {
			b.head += l.kind.height()
		}
		b.head += 6
		b.h = b.head
		if len(n.Children) > 0 {
			b.children = boxes(n.Children)
			cw, ch := column(b.children, n.Side)
			b.w = max(b.w, cw+2*pad)
			b.h += ch + 2*pad - 4
		}
		out = append(out, b)
	}
	leaf := 0
	for _, b := range out {
		if len(b.children) == 0 {
			leaf = max(leaf, b.w)
		}
	}
	for _, b := range out {
		b.w = max(b.w, leaf) // of one width they are read more easily
	}
	return out
}

// column is the size of a sequence, or of boxes side by side.
func column(list []*box, side bool) (w, h int) {
	for i, b := range list {
		if side {
			w += b.w
			h = max(h, b.h)
			if i > 0 {
				w += sideGap
			}
			continue
		}
		w = max(w, b.w)
		h += b.h
		if i > 0 {
			h += gap
		}
	}
	return w, h
}

// place puts a sequence into a column of the given width, centred.
func place(list []*box, x, y, width int, side bool) {
	if side {
		total, _ := column(list, true)
		x += (width - total) / 2
	}
	for _, b := range list {
		b.x, b.y = x, y
		if !side {
			b.x += (width - b.w) / 2
			y += b.h + gap
		} else {
			x += b.w + sideGap
		}
		place(b.children, b.x+pad, b.y+b.head+pad-4, b.w-2*pad, b.node.Side)
	}
}

// lane is one way back.
type lane struct {
	from, to *box
	label    string
	line     int // of the text in the box that it comes from
}

// ways finds the ways back, the shortest first so that they lie inside of the longer ones.
func ways(steps []*box) []lane {
	byID := map[string]*box{}
	var all []*box
	var index func([]*box)
	index = func(list []*box) {
		for _, b := range list {
			byID[b.node.ID] = b
			all = append(all, b)
			index(b.children)
		}
	}
	index(steps)
	var out []lane
	for _, b := range all {
		for i, w := range b.node.Ways {
			// One line leads to the first step that is run again; the others follow from there, and the text names them.
			if at := slices.IndexFunc(w.Back, func(id string) bool { return byID[id] != nil }); at >= 0 {
				out = append(out, lane{b, byID[w.Back[at]], w.On, len(b.lines) - len(b.node.Ways) + i})
			}
		}
	}
	order := map[*box]int{}
	for i, b := range all {
		order[b] = i
	}
	length := func(l lane) int { return order[l.from] - order[l.to] }
	slices.SortStableFunc(out, func(a, b lane) int { return length(a) - length(b) })
	return out
}

// pen writes the elements of the drawing.
type pen struct{ strings.Builder }

func (p *pen) add(format string, args ...any) {
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

// around draws start and end.
func (p *pen) around(steps []*box, o *Outline, x, y int) {
	start := "start"
	if o.During != "" {
		start = "start: the task becomes " + o.During
	}
	p.pill(x, y-40, start)
	p.arrow(x, y-18, x, y-2)
	bottom := y
	if len(steps) > 0 {
		last := steps[len(steps)-1]
		bottom = last.y + last.h
	}
	p.arrow(x, bottom, x, bottom+20)
	p.pill(x, bottom+22, "end")
}

func (p *pen) pill(x, y int, text string) {
	w := int(float64(argspec.Width(text))*perChar) + 28
	p.add(`<rect x="%d" y="%d" width="%d" height="22" rx="11" fill="#0f172a"/>`, x-w/2, y, w)
	p.add(`<text x="%d" y="%d" font-size="12" fill="#ffffff" text-anchor="middle">%s</text>`, x, y+15, escape(text))
}

func (p *pen) arrow(x1, y1, x2, y2 int) {
	p.add(`<path d="M%d %dL%d %d" stroke="#64748b" stroke-width="1.5" fill="none" marker-end="url(#end)"/>`, x1, y1, x2,
		y2)
}

func (p *pen) box(b *box) {
	n, colour := b.node, ink(b.node.Kind)
	fill, dash := "#ffffff", ""
	if len(b.children) > 0 {
		fill = "#eef2ff"
	}
	if n.When != "" {
		dash = ` stroke-dasharray="5 3"`
	}
	p.add(`<g><title>%s</title>`, escape(fmt.Sprintf("%s, line %d", n.ID, n.Line)))
	p.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="10" fill="%s" stroke="%s" stroke-width="1.4"%s/>`, b.x, b.y,
		b.w, b.h, fill, colour, dash)
	p.add(`<rect x="%d" y="%d" width="5" height="%d" rx="2.5" fill="%s"/>`, b.x+7, b.y+10, b.head-18, colour)
	y := b.y + 10
	room := int(float64(b.w-44) / perChar)
	for _, l := range b.lines {
		h := l.kind.height()
		base := y + h - 5
		switch l.kind {
		case lineTitle:
			p.add(`<text x="%d" y="%d" font-size="13" font-weight="600" fill="#0f172a">%s</text>`, b.x+20, base,
				escape(cut(l.text, int(float64(b.w-36)/perBold))))
		case lineWhat:
			p.badge(b.x+20, base-12, n.Kind, colour)
			at := b.x + 20 + badgeWidth(n.Kind) + 8
			p.add(`<text x="%d" y="%d" font-size="12" fill="#334155">%s</text>`, at, base,
				escape(cut(l.text, int(float64(b.x+b.w-14-at)/perChar))))
		case lineWhen:
			p.add(`<text x="%d" y="%d" font-size="11" font-style="italic" fill="#64748b">%s</text>`, b.x+20, base,
				escape(cut(l.text, room+2)))
		case lineWay:
			p.add(`<text x="%d" y="%d" font-size="11" fill="#c2410c">%s</text>`, b.x+20, base, escape(cut(l.text, room+2)))
		}
		y += h
	}
	if n.Side {
		for _, c := range b.children {
			p.box(c)
		}
	} else {
		p.column(b.children)
	}
	p.add("</g>")
}

// column draws a sequence with the arrows between its steps.
func (p *pen) column(list []*box) {
	for i, b := range list {
		if i > 0 {
			p.arrow(b.x+b.w/2, list[i-1].y+list[i-1].h, b.x+b.w/2, b.y-2)
		}
		p.box(b)
	}
}

func badgeWidth(kind string) int { return len(kind)*6 + 14 }

func (p *pen) badge(x, y int, kind, colour string) {
	p.add(`<rect x="%d" y="%d" width="%d" height="16" rx="8" fill="%s"/>`, x, y, badgeWidth(kind), colour)
	p.add(`<text x="%d" y="%d" font-size="10" font-weight="600" fill="#ffffff" text-anchor="middle">%s</text>`,
		x+badgeWidth(kind)/2, y+12, escape(kind))
}

// lanes draws the ways back beside the column that ends at x.
func (p *pen) lanes(list []lane, x int) {
	for i, l := range list {
		at := x + 16 + i*laneGap
		from, to := l.from.y+10, l.to.y+18+(i%3)*7
		for _, text := range l.from.lines[:l.line+1] {
			from += text.kind.height()
		}
		from -= 9 // the middle of the line
		p.add(`<path d="M%d %dH%dQ%d %d %d %dV%dQ%d %d %d %dH%d" stroke="#c2410c" stroke-width="1.4" fill="none" `+
			`stroke-opacity="0.85" marker-end="url(#back)"><title>%s</title></path>`,
			l.from.x+l.from.w, from, at-6, at, from, at, from-6, to+6, at, to, at-6, to, l.to.x+l.to.w+2, escape(l.label))
	}
}

func escape(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(clean)
}
