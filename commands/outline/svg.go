package outline

import (
	"fmt"
	"slices"
	"strings"

	"tercet/internal/style"
)

// Measures of the drawing in pixels.
const (
	margin  = 32
	gap     = 30 // between steps, where the arrow is
	pad     = 18 // inside of a container
	sideGap = 20
	leaf    = 480 // width of a step without steps inside; a text that is longer is cut
	head    = 60  // height of its title and of what it does
	row     = 17  // height of each further line
	laneGap = 14
	perChar = 6.6 // width of a letter of 12 px
)

// lane is one way back: from a line of a box to the first step that is run again. The others follow from there, and the
// text names them.
type lane struct {
	x, y int
	ids  []string
	to   [2]int // the corner of the first of them that is drawn
	text string
}

// pen writes the elements of the drawing.
type pen struct {
	strings.Builder
	at    map[string][2]int // the upper right corner of each step
	lanes []lane
}

// svg draws the steps from top to bottom, what is inside of a step inside of its box, and the ways back at the right.
func (o *Outline) svg() string {
	p := &pen{at: map[string][2]int{}}
	w, h := extent(o.Steps, false)
	top, middle, start := margin+104, margin+w/2, "start"
	if during, _ := o.During(); during != "" {
		start = "start: the task becomes " + during.String()
	}
	p.pill(middle, top-40, start)
	p.arrow(middle, top-18, top-2)
	p.steps(o.Steps, margin, top, w, false)
	p.arrow(middle, top+h, top+h+20)
	p.pill(middle, top+h+22, "end")
	width, height := p.back(margin+w)+margin, top+h+44+margin
	if len(o.Errors) > 0 {
		ew, eh := extent(o.Errors, false)
		p.text(width+24, top-14, ew, `font-size="13" font-weight="600" fill="#b91c1c"`, "Error handling")
		p.steps(o.Errors, width+24, top, ew, false)
		width, height = width+24+ew+margin, max(height, top+eh+margin)
	}
	about := o.File.Front.Description.Text
	width = max(width, margin*2+int(float64(style.Width(about))*7.2))
	const marker = `<marker id="%s" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" ` +
		`orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="%s"/></marker>`
	all := &pen{}
	all.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Inter, `+
		`'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif">`, width, height, width, height)
	all.add(`<title>%s</title>`, escape(o.title()))
	all.add(`<defs>`+marker+"\n"+marker+`</defs>`, "end", "#64748b", "back", "#c2410c")
	all.add(`<rect width="100%%" height="100%%" fill="#f8fafc"/>`)
	all.text(margin, margin+18, width, `font-size="22" font-weight="700" fill="#0f172a"`, "/"+o.Name)
	all.text(margin, margin+40, width, `font-size="13" fill="#475569"`, about)
	return all.String() + p.String() + "</svg>\n"
}

// extent is the size of a sequence, or of steps side by side.
func extent(list []*Node, side bool) (w, h int) {
	for i, n := range list {
		one, high := leaf, n.height()
		if len(n.Children) > 0 {
			in, body := extent(n.Children, n.Side())
			one, high = max(leaf, in+2*pad), high+body+2*pad-4
		}
		between := min(i, 1) // nothing before the first
		if side {
			w, h = w+one+between*sideGap, max(h, high)
		} else {
			w, h = max(w, one), h+high+between*gap
		}
	}
	return w, h
}

// height is that of the text in a box.
func (n *Node) height() int { return head + row*(len(n.conditions())+len(n.Ways)) }

// steps draws a sequence in a column of a width, with arrows between its steps, or steps side by side.
func (p *pen) steps(list []*Node, x, y, width int, side bool) {
	for i, n := range list {
		w, h := extent(list[i:i+1], false)
		if side {
			p.step(n, x, y, w, h)
			x += w + sideGap
			continue
		}
		if i > 0 {
			p.arrow(x+width/2, y-gap, y-2)
		}
		p.step(n, x, y, width, h)
		y += h + gap
	}
}

func (p *pen) step(n *Node, x, y, w, h int) {
	colour, fill, dash := ink(n.Kind), "#ffffff", ""
	if len(n.Children) > 0 {
		fill = "#eef2ff"
	}
	if n.When != nil {
		dash = ` stroke-dasharray="5 3"`
	}
	p.at[n.ID] = [2]int{x + w, y}
	p.add(`<g><title>%s</title>`, escape(fmt.Sprintf("%s, line %d", n.ID, n.Pos.Line)))
	p.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="10" fill="%s" stroke="%s" stroke-width="1.4"%s/>`, x, y, w, h,
		fill, colour, dash)
	p.add(`<rect x="%d" y="%d" width="5" height="%d" rx="2.5" fill="%s"/>`, x+7, y+10, n.height()-18, colour)
	line, badge := y+25, len(n.Kind)*6+14
	p.text(x+20, line, w*3/4, `font-size="13" font-weight="600" fill="#0f172a"`, n.heading())
	line += 22
	p.add(`<rect x="%d" y="%d" width="%d" height="16" rx="8" fill="%s"/>`, x+20, line-12, badge, colour)
	p.text(x+20+badge/2, line, badge*2, `font-size="10" font-weight="600" fill="#ffffff" text-anchor="middle"`, n.Kind)
	p.text(x+28+badge, line, w-42-badge, `font-size="12" fill="#334155"`, n.Does)
	for _, when := range n.conditions() {
		line += row
		p.text(x+20, line, w-30, `font-size="11" font-style="italic" fill="#64748b"`, when)
	}
	for _, way := range n.Ways {
		line += row
		p.text(x+20, line, w-30, `font-size="11" fill="#c2410c"`, way.String())
		if len(way.Back) > 0 {
			p.lanes = append(p.lanes, lane{x: x + w, y: line - 4, ids: way.Back, text: way.On})
		}
	}
	p.steps(n.Children, x+pad, y+n.height()+pad-4, w-2*pad, n.Side())
	p.add("</g>")
}

// back draws the ways back beside the column that ends at x, and tells where they end. The shortest come first, so that
// they lie inside the longer ones.
func (p *pen) back(x int) int {
	var lanes []lane
	for _, l := range p.lanes {
		known := func(id string) bool { return p.at[id] != [2]int{} }
		if first := slices.IndexFunc(l.ids, known); first >= 0 {
			l.to = p.at[l.ids[first]]
			lanes = append(lanes, l)
		}
	}
	slices.SortStableFunc(lanes, func(a, b lane) int { return a.y - a.to[1] - (b.y - b.to[1]) })
	for i, l := range lanes {
		x += laneGap
		in := l.to[1] + 18 + i%3*7
		p.add(`<path d="M%d %dH%dQ%d %d %d %dV%dQ%d %d %d %dH%d" stroke="#c2410c" stroke-width="1.4" fill="none" `+
			`stroke-opacity="0.85" marker-end="url(#back)"><title>%s</title></path>`,
			l.x, l.y, x-6, x, l.y, x, l.y-6, in+6, x, in, x-6, in, l.to[0]+2, escape(l.text))
	}
	return x
}

func (p *pen) add(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// text writes a text that is cut at a width.
func (p *pen) text(x, y, room int, style, text string) {
	p.add(`<text x="%d" y="%d" %s>%s</text>`, x, y, style, escape(cut(text, int(float64(room)/perChar))))
}

func (p *pen) pill(x, y int, text string) {
	w := int(float64(style.Width(text))*perChar) + 28
	p.add(`<rect x="%d" y="%d" width="%d" height="22" rx="11" fill="#0f172a"/>`, x-w/2, y, w)
	p.text(x, y+15, w, `font-size="12" fill="#ffffff" text-anchor="middle"`, text)
}

func (p *pen) arrow(x, from, to int) {
	p.add(`<path d="M%d %dV%d" stroke="#64748b" stroke-width="1.5" fill="none" marker-end="url(#end)"/>`, x, from, to)
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
