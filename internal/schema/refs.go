package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// refer finds what a reference leads to. Only places of the same text can be named: nothing is fetched.
func (c *compiler) refer(p pending) {
	where, place, _ := strings.Cut(p.to, "#")
	if where != "" && where != c.id {
		c.fault(p.pos, "copy the other schema under $defs, and write #/$defs/NAME", "expected a reference inside this schema, got %.100q: nothing is fetched", p.to)
		return
	}
	place, err := url.PathUnescape(place)
	if err != nil {
		c.fault(p.pos, "", "expected a reference such as #/$defs/NAME, got %.100q", p.to)
		return
	}
	to := c.root
	switch {
	case strings.HasPrefix(place, "/"):
		to = c.pointed(strings.Split(place[1:], "/"))
	case place != "":
		to = c.anchors[place]
	}
	if to == nil {
		c.fault(p.pos, "write #/$defs/NAME for a schema under $defs", "nothing stands at %.100q", p.to)
		return
	}
	p.from.ref = c.rule(to)
}

// pointed follows a JSON pointer.
func (c *compiler) pointed(steps []string) *Node {
	at := c.root
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, step := range steps {
		step = unescape.Replace(step)
		switch at.Kind {
		case Object:
			at = at.get(step)
		case Array:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at.Elems) {
				return nil
			}
			at = at.Elems[i]
		case Null, Bool, Number, String:
			return nil
		}
		if at == nil {
			return nil
		}
	}
	return at
}

// circles finds schemas that come back to themselves without going into the value: to check one would never end.
func (c *compiler) circles(top *rule) {
	const open, done = 1, 2
	state := map[*rule]int{}
	var visit func(r *rule)
	visit = func(r *rule) {
		if r == nil || state[r] == done {
			return
		}
		if state[r] == open {
			c.fault(r.pos, "let it refer to itself below a property or an item", "the schema refers to itself for the same value")
			return
		}
		state[r] = open
		for _, next := range r.inPlace() {
			visit(next)
		}
		state[r] = done
	}
	visit(top)
	for _, r := range c.order {
		visit(r)
	}
}

// inPlace are the schemas that judge the same value.
func (r *rule) inPlace() []*rule {
	out := []*rule{r.ref, r.not, r.when, r.then, r.otherwise}
	out = append(out, r.all...)
	out = append(out, r.any...)
	out = append(out, r.one...)
	for _, g := range r.given {
		out = append(out, g.rule)
	}
	return out
}
