package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of a check.
const (
	maxSteps      = 200_000 // schemas that are held against values
	maxLevels     = 500     // schemas inside each other
	maxViolations = 50
	maxFound      = 1000     // violations that are looked for at all
	maxMatched    = 64 << 10 // bytes of a text that a pattern is held against
)

// Validate gives everything in which a value breaks the schema, nil if nothing. Path is how the value is called in the
// violations, such as ".fields". More than fifty violations are cut.
func (s *Schema) Validate(path string, value any) []Violation {
	c := &check{left: maxSteps}
	var found []Violation
	c.hold(s.root, value, place{path: path, found: &found})
	if c.stopped {
		return []Violation{{Path: path, Expected: fmt.Sprintf("a value that can be checked in %d steps", maxSteps), Got: "one that needs more"}}
	}
	if len(found) > maxViolations {
		more := strconv.Itoa(len(found)-maxViolations) + " more"
		if len(found) >= maxFound {
			more = "many more"
		}
		found = append(found[:maxViolations:maxViolations], Violation{Path: path, Expected: "no further violations", Got: more})
	}
	return found
}

type check struct {
	left    int
	levels  int
	stopped bool
}

// place is where a value stands, and where its violations go.
type place struct {
	path  string
	found *[]Violation
}

func (p place) say(expected, got string) {
	if len(*p.found) < maxFound {
		*p.found = append(*p.found, Violation{p.path, expected, got})
	}
}

func (p place) item(i int) place { return place{p.path + "[" + strconv.Itoa(i) + "]", p.found} }

func (p place) of(name string) place { return place{member(p.path, name), p.found} }

// seen tells which members and items of a value were judged by a schema that it fits.
type seen struct {
	props map[string]bool
	first int // items from the start
	items map[int]bool
}

func (s *seen) add(o seen) {
	s.first = max(s.first, o.first)
	if len(o.props) > 0 && s.props == nil {
		s.props = map[string]bool{}
	}
	maps.Copy(s.props, o.props)
	if len(o.items) > 0 && s.items == nil {
		s.items = map[int]bool{}
	}
	maps.Copy(s.items, o.items)
}

func (s *seen) prop(name string) {
	if s.props == nil {
		s.props = map[string]bool{}
	}
	s.props[name] = true
}

// hold judges a value, and tells what of it was looked at.
func (c *check) hold(r *rule, v any, p place) (fits bool, looked seen) {
	if c.left--; c.left < 0 || c.levels >= maxLevels {
		c.stopped = true
	}
	if c.stopped || len(*p.found) >= maxFound { // what breaks it in so many ways breaks it anyway
		return false, looked
	}
	c.levels++
	defer func() { c.levels-- }()
	before := len(*p.found)
	if r.never {
		p.say("nothing here", tell(v))
	}
	kind := kindOf(v)
	if kind == "" {
		p.say("a value that JSON can hold", fmt.Sprintf("%.60s", fmt.Sprint(v)))
		return false, looked
	}
	c.alone(r, kind, v, p)
	c.together(r, v, p, &looked)
	if m, ok := v.(map[string]any); ok {
		c.object(r, m, p, &looked)
	} else if items, ok := list(v); ok {
		c.array(r, items, p, &looked)
	}
	return len(*p.found) == before && !c.stopped, looked
}

// quiet judges a value without saying anything, but for what the caller takes out of the violations.
func (c *check) quiet(r *rule, v any, p place) (bool, seen, []Violation) {
	var found []Violation
	ok, looked := c.hold(r, v, place{p.path, &found})
	return ok, looked, found
}

// alone holds a value against the keywords that need no other schema.
func (c *check) alone(r *rule, kind string, v any, p place) {
	if r.is != nil && !fitsType(r.is, kind, v) {
		p.say(alternatives(r.is), tell(v))
	}
	key := ""
	if r.konst != nil || r.enum != nil {
		key = c.key(v)
	}
	if r.konst != nil && key != canonical(r.konst.any()) {
		p.say(whole(r.konst.any()), whole(v))
	}
	if r.enum != nil && !slices.Contains(r.keys, key) {
		words := make([]string, len(r.enum))
		for i, n := range r.enum {
			words[i] = whole(n.any())
		}
		p.say(alternatives(words), whole(v))
	}
	if s, ok := v.(string); ok {
		texts(r, s, p)
	} else if kind == "number" {
		numbers(r, v, p)
	}
}

// key is the canonical text of a value; its length counts.
func (c *check) key(v any) string {
	const perStep = 64 // bytes
	key := canonical(v)
	c.left -= len(key) / perStep
	return key
}

func fitsType(is []string, kind string, v any) bool {
	if slices.Contains(is, kind) {
		return true
	}
	n, ok := ratOf(v)
	return ok && n.IsInt() && slices.Contains(is, "integer")
}

func alternatives(words []string) string {
	if len(words) > 20 {
		words = append(slices.Clone(words[:20]), "...")
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

func numbers(r *rule, v any, p place) {
	n, _ := ratOf(v)
	if r.min != nil && n.Cmp(r.min) < 0 {
		p.say("at least "+number(r.min), tell(v))
	}
	if r.max != nil && n.Cmp(r.max) > 0 {
		p.say("at most "+number(r.max), tell(v))
	}
	if r.over != nil && n.Cmp(r.over) <= 0 {
		p.say("more than "+number(r.over), tell(v))
	}
	if r.under != nil && n.Cmp(r.under) >= 0 {
		p.say("less than "+number(r.under), tell(v))
	}
	if r.multiple != nil && !n.Quo(n, r.multiple).IsInt() {
		p.say("a multiple of "+number(r.multiple), tell(v))
	}
}

func texts(r *rule, s string, p place) {
	n := utf8.RuneCountInString(s)
	counted(r.counts[minLength], r.counts[maxLength], n, "characters", p)
	switch {
	case r.pattern == nil:
	case len(s) > maxMatched:
		p.say(fmt.Sprintf("at most %d bytes where a pattern is asked for", maxMatched), strconv.Itoa(len(s)))
	case !r.pattern.MatchString(s):
		p.say("text that matches "+r.pattern.String(), tell(s))
	}
}

func counted(least, most *int, n int, what string, p place) {
	if least != nil && n < *least {
		p.say(fmt.Sprintf("at least %d %s", *least, what), strconv.Itoa(n))
	}
	if most != nil && n > *most {
		p.say(fmt.Sprintf("at most %d %s", *most, what), strconv.Itoa(n))
	}
}

// together holds a value against the schemas that judge it together.
func (c *check) together(r *rule, v any, p place, looked *seen) {
	follow := func(next *rule) {
		if next == nil {
			return
		}
		_, s := c.hold(next, v, p)
		looked.add(s) // also of what it does not fit: that is said once
	}
	follow(r.ref)
	for _, one := range r.all {
		follow(one)
	}
	if r.any != nil {
		c.choose(r.any, v, p, looked, false)
	}
	if r.one != nil {
		c.choose(r.one, v, p, looked, true)
	}
	if r.not != nil {
		if ok, _, _ := c.quiet(r.not, v, p); ok {
			p.say("a value that 'not' does not describe", tell(v))
		}
	}
	if r.when == nil {
		return
	}
	ok, s, _ := c.quiet(r.when, v, p)
	if ok {
		looked.add(s)
		follow(r.then)
		return
	}
	follow(r.otherwise)
}

// choose holds a value against alternatives.
func (c *check) choose(list []*rule, v any, p place, looked *seen, exactly bool) {
	var fits []string
	var why [][]Violation
	for i, one := range list {
		ok, s, found := c.quiet(one, v, p)
		if ok {
			fits = append(fits, strconv.Itoa(i+1))
			looked.add(s)
			continue
		}
		why = append(why, found)
	}
	switch {
	case len(fits) == 0:
		p.say(reasons(list, why, v))
	case exactly && len(fits) > 1:
		p.say("exactly one alternative to fit", strings.Join(fits, " and "))
	}
}

// reasons says why no alternative fits: of a single type each, what is wrong with the one of the value's own type.
func reasons(list []*rule, why [][]Violation, v any) (expected, got string) {
	const most = 4
	var out []string
	for i := range min(len(list), most) {
		if len(why[i]) == 0 {
			continue
		}
		first := why[i][0]
		text := first.Expected
		if first.Path != "" {
			text = first.Path + " " + text
		}
		if len(why[i]) > 1 {
			text += fmt.Sprintf(" and %d more", len(why[i])-1)
		}
		out = append(out, "("+strconv.Itoa(i+1)+") "+text)
	}
	if len(list) > most {
		out = append(out, fmt.Sprintf("%d more", len(list)-most))
	}
	return "an alternative to fit: " + strings.Join(out, ", "), tell(v)
}

// array holds items against their schemas.
func (c *check) array(r *rule, items []any, p place, looked *seen) {
	counted(r.counts[minItems], r.counts[maxItems], len(items), "items", p)
	if r.unique {
		first := map[string]int{}
		for i, e := range items {
			key := c.key(e)
			if before, twice := first[key]; twice {
				p.item(i).say("an item unlike "+p.path+"["+strconv.Itoa(before)+"]", tell(e))
				continue
			}
			first[key] = i
		}
	}
	for i := range min(len(items), len(r.prefix)) {
		c.hold(r.prefix[i], items[i], p.item(i))
	}
	looked.first = max(looked.first, min(len(items), len(r.prefix)))
	if r.items != nil {
		for i := len(r.prefix); i < len(items); i++ {
			c.hold(r.items, items[i], p.item(i))
		}
		looked.first = len(items)
	}
	c.contained(r, items, p, looked)
	if r.restItems == nil {
		return
	}
	for i := looked.first; i < len(items); i++ {
		if !looked.items[i] {
			c.hold(r.restItems, items[i], p.item(i))
		}
	}
	looked.first = len(items)
}

func (c *check) contained(r *rule, items []any, p place, looked *seen) {
	if r.contains == nil {
		return
	}
	n, least := 0, 1
	for i, e := range items {
		if ok, _, _ := c.quiet(r.contains, e, p.item(i)); ok {
			n++
			looked.add(seen{items: map[int]bool{i: true}})
		}
	}
	if r.counts[minContains] != nil {
		least = *r.counts[minContains]
	}
	counted(&least, r.counts[maxContains], n, "items that fit 'contains'", p)
}

// object holds members against their schemas.
func (c *check) object(r *rule, m map[string]any, p place, looked *seen) {
	counted(r.counts[minProperties], r.counts[maxProperties], len(m), "members", p)
	for _, name := range r.required {
		if _, ok := m[name]; !ok {
			p.of(name).say(r.due(name), "nothing")
		}
	}
	for _, d := range r.dependent {
		if _, ok := m[d.name]; !ok {
			continue
		}
		for _, name := range d.rule {
			if _, ok := m[name]; !ok {
				p.of(name).say("a value, because "+d.name+" is there", "nothing")
			}
		}
	}
	for _, g := range r.given {
		if _, ok := m[g.name]; ok {
			_, s := c.hold(g.rule, m, p)
			looked.add(s)
		}
	}
	c.members(r, m, p, looked)
	if r.restProps == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !looked.props[name] {
			c.extra(r, r.restProps, name, m[name], p)
			looked.prop(name)
		}
	}
}

func (c *check) members(r *rule, m map[string]any, p place, looked *seen) {
	for _, one := range r.props {
		if v, ok := m[one.name]; ok {
			c.hold(one.rule, v, p.of(one.name))
			looked.prop(one.name)
		}
	}
	if r.patterns == nil && r.more == nil && r.names == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if r.names != nil {
			if ok, _, found := c.quiet(r.names, name, p); !ok && len(found) > 0 {
				p.say("a name that is "+found[0].Expected, found[0].Got)
			}
		}
		known := slices.ContainsFunc(r.props, func(o named[*rule]) bool { return o.name == name })
		for _, one := range r.patterns {
			if one.pattern.MatchString(name) {
				c.hold(one.rule, m[name], p.of(name))
				looked.prop(name)
				known = true
			}
		}
		if r.more != nil && !known {
			c.extra(r, r.more, name, m[name], p)
			looked.prop(name)
		}
	}
}

// extra holds a member that no property names against the schema of the others.
func (c *check) extra(r, other *rule, name string, v any, p place) {
	if !other.never {
		c.hold(other, v, p.of(name))
		return
	}
	names := make([]string, len(r.props))
	for i, one := range r.props {
		names[i] = one.name
	}
	if len(names) == 0 {
		p.of(name).say("no such member", tell(v))
		return
	}
	p.of(name).say("no member but "+strings.Join(names, ", "), tell(v))
}

// due is what a member that is missing should be.
func (r *rule) due(name string) string {
	for _, one := range r.props {
		if one.name == name && one.rule.is != nil {
			return alternatives(one.rule.is)
		}
	}
	return "a value"
}
