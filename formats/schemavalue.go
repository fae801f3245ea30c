package formats

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"tercet/internal/md"
)

// The bounds of a check.
const (
	maxSteps      = 200_000 // schemas that are held against values, before it is begun
	maxViolations = 50
)

// Violation is one thing in which a value breaks its schema.
type Violation struct {
	Path     string // of the value, as jq writes it below the name that Validate was given
	Expected string
	Got      string
}

// String is the violation in one line.
func (v Violation) String() string { return v.Path + ": expected " + v.Expected + ", got " + v.Got }

// Validate gives everything in which a value breaks the schema, nil if nothing. Path is how the value is called in the
// violations, such as ".fields". More than fifty violations are cut.
//
// The library says whether a value fits, and stops at the first violation. To name all of them, each keyword, member
// and element is held against its own part of the schema.
func (s *Schema) Validate(path string, value any) []Violation {
	text, err := json.Marshal(value)
	var v any
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return []Violation{{path, "a value that JSON can hold", fmt.Sprintf("%.60s", fmt.Sprint(value))}}
	}
	c := newUse(s)
	if steps, _ := c.steps(s.root, v, ""); steps > maxSteps {
		return []Violation{{path, fmt.Sprintf("a value that can be checked in %d steps", maxSteps), "one that needs more"}}
	}
	if s.whole.Validate(v) == nil {
		return nil
	}
	c.hold(s.root, v, path)
	if len(c.found) > maxViolations {
		more := strconv.Itoa(len(c.found)-maxViolations) + " more"
		c.found = append(c.found[:maxViolations], Violation{path, "no further violations", more})
	}
	return c.found
}

// schemaUse holds one value against a schema.
type schemaUse struct {
	s       *Schema
	parts   map[*md.Node]*jsonschema.Resolved
	counted map[counted]int
	found   []Violation
}

func newUse(s *Schema) *schemaUse {
	return &schemaUse{s: s, parts: map[*md.Node]*jsonschema.Resolved{}, counted: map[counted]int{}}
}

type counted struct {
	n    *md.Node
	path string
}

// steps counts the schemas that the library holds against a value and what is inside of it. A schema that comes back to
// itself without going into the value, so that the count has no end, is the circle.
func (c *schemaUse) steps(n *md.Node, v any, path string) (sum int, circle *md.Node) {
	key := counted{n, path}
	if sum, known := c.counted[key]; known {
		if sum == 0 {
			return 0, n
		}
		return sum, nil
	}
	c.counted[key] = 0
	sum = 1
	add := func(part *md.Node, v any, path string) {
		if sum <= maxSteps && circle == nil {
			var more int
			more, circle = c.steps(part, v, path)
			sum += more
		}
	}
	for _, k := range keywords {
		of := n.Get(k.name)
		if of == nil {
			continue
		}
		if k.form == formRef {
			add(c.s.refs[of], v, path)
		} else if text, ok := v.(string); ok && k.form == formPattern {
			sum += len(text)
		}
		sum += len(of.Items) / 8 // values to compare with
		for i, part := range k.schemas(of) {
			if k.here {
				add(part, v, path)
				continue
			}
			if !k.below {
				continue
			}
			switch v := v.(type) {
			case map[string]any:
				for name, one := range v {
					if k.name != "properties" || of.Entries[i].Key.Value == name {
						add(part, one, path+"/"+name)
					}
				}
			case []any:
				for i, one := range v {
					add(part, one, path+"/"+strconv.Itoa(i))
				}
			}
		}
	}
	c.counted[key] = sum
	return sum, circle
}

// fits asks the library about one part of the schema: a schema inside of it, or the value of a keyword alone.
func (c *schemaUse) fits(at *md.Node, keyword string, v any) bool {
	r, known := c.parts[at]
	if !known {
		plain := at.Any()
		if keyword != "" {
			plain = map[string]any{keyword: plain}
		}
		var err error
		if r, err = c.s.resolved(plain, partName); err != nil {
			return false // not reached: the whole was read, so that a part of it can be
		}
		c.parts[at] = r
	}
	return r.Validate(v) == nil
}

func (c *schemaUse) say(path, expected, got string) {
	c.found = append(c.found, Violation{path, expected, got})
}

// hold tells every violation of a value.
func (c *schemaUse) hold(n *md.Node, v any, path string) {
	if len(c.found) > maxViolations*2 || c.fits(n, "", v) {
		return
	}
	before := len(c.found)
	for _, k := range keywords {
		if of := n.Get(k.name); of != nil {
			c.keyword(n, k, of, v, path)
		}
	}
	switch {
	case len(c.found) > before:
	case n.Kind != md.Map:
		c.say(path, "nothing here", tell(v))
	default:
		c.say(path, "a value that fits the schema", tell(v))
	}
}

// quiet gives the violations of a value without telling them.
func (c *schemaUse) quiet(n *md.Node, v any, path string) []Violation {
	kept := c.found
	c.found = nil
	c.hold(n, v, path)
	out := c.found
	c.found = kept
	return out
}

// keyword tells the violations of one keyword of a schema that the value breaks.
func (c *schemaUse) keyword(n *md.Node, k keyword, of *md.Node, v any, path string) {
	m, isMap := v.(map[string]any)
	items, isList := v.([]any)
	switch {
	case k.says != "":
		if !c.fits(of, k.name, v) {
			c.say(path, fmt.Sprintf(k.says, words(k, of)), measured(k, v))
		}
	case k.form == formRef:
		c.hold(c.s.refs[of], v, path)
	case k.here && k.form != formNamed && k.form != formNeeds:
		c.together(n, k, of, v, path)
	case isList:
		c.array(n, k, of, items, path)
	case isMap:
		c.object(n, k, of, m, path)
	}
}

// words is the value of a keyword in a message.
func words(k keyword, of *md.Node) string {
	switch {
	case k.form == formTypes && of.Kind == md.List:
		return alternatives(of.Items, func(n *md.Node) string { return n.Value })
	case k.form == formValues:
		return alternatives(of.Items, func(n *md.Node) string { return whole(n.Any()) })
	case k.form == formTypes, k.form == formPattern:
		return of.Value
	}
	return whole(of.Any())
}

func alternatives(list []*md.Node, word func(*md.Node) string) string {
	const most = 20
	var out []string
	for _, n := range list[:min(len(list), most)] {
		out = append(out, word(n))
	}
	if len(list) > most {
		out = append(out, "...")
	}
	if len(out) == 1 {
		return out[0]
	}
	return "one of " + strings.Join(out, ", ")
}

// measured is what of a value a keyword looks at.
func measured(k keyword, v any) string {
	if k.form == formAny || k.form == formValues {
		return whole(v)
	}
	if k.form != formCount {
		return tell(v)
	}
	switch of := v.(type) {
	case string:
		return strconv.Itoa(utf8.RuneCountInString(of))
	case []any:
		return strconv.Itoa(len(of))
	case map[string]any:
		return strconv.Itoa(len(of))
	}
	return tell(v)
}

// together holds a value against the schemas that judge the same value.
func (c *schemaUse) together(n *md.Node, k keyword, of *md.Node, v any, path string) {
	switch k.name {
	case "allOf":
		for _, one := range of.Items {
			c.hold(one, v, path)
		}
	case "anyOf", "oneOf":
		var fit, why []string
		for i, one := range of.Items {
			found := c.quiet(one, v, path)
			if len(found) == 0 {
				fit = append(fit, strconv.Itoa(i+1))
			} else if text := "(" + strconv.Itoa(i+1) + ") " + found[0].Path + " " + found[0].Expected; len(found) > 1 {
				why = append(why, fmt.Sprintf("%s and %d more", text, len(found)-1))
			} else {
				why = append(why, text)
			}
		}
		const most = 4
		switch {
		case len(fit) == 0 && len(why) > most:
			c.say(path, fmt.Sprintf("an alternative to fit: %s, %d more", strings.Join(why[:most], ", "), len(why)-most),
				tell(v))
		case len(fit) == 0:
			c.say(path, "an alternative to fit: "+strings.Join(why, ", "), tell(v))
		case len(fit) > 1 && k.name == "oneOf":
			c.say(path, "exactly one alternative to fit", strings.Join(fit, " and "))
		}
	case "not":
		if c.fits(of, "", v) {
			c.say(path, "a value that 'not' does not describe", tell(v))
		}
	case "if":
		then := n.Get("else")
		if c.fits(of, "", v) {
			then = n.Get("then")
		}
		if then != nil {
			c.hold(then, v, path)
		}
	}
}

// array holds the items of a list against a keyword.
func (c *schemaUse) array(n *md.Node, k keyword, of *md.Node, items []any, path string) {
	at := func(i int) string { return path + "[" + strconv.Itoa(i) + "]" }
	first := n.Get("prefixItems")
	if list := n.Get("items"); list != nil && list.Kind == md.List {
		first = list
	}
	start := 0
	if first != nil {
		start = len(first.Items)
	}
	switch k.name {
	case "uniqueItems":
		seen := map[string]int{}
		for i, e := range items {
			key := whole(e)
			if text, err := json.Marshal(e); err == nil {
				key = string(text)
			}
			if before, twice := seen[key]; twice && of.Any() == true {
				c.say(at(i), "an item unlike "+at(before), tell(e))
				continue
			}
			seen[key] = i
		}
	case "prefixItems", "items", "additionalItems":
		if of == first {
			for i := range min(len(items), start) {
				c.hold(of.Items[i], items[i], at(i))
			}
			return
		}
		for i := start; i < len(items) && (k.name == "items" || n.Get("items") == first); i++ {
			c.hold(of, items[i], at(i))
		}
	case "contains":
		count := 0
		for _, e := range items {
			if c.fits(of, "", e) {
				count++
			}
		}
		least, most := n.Get("minContains"), n.Get("maxContains")
		if floor := bound(least, 1); count < floor {
			c.say(path, fmt.Sprintf("at least %d items that fit 'contains'", floor), strconv.Itoa(count))
		}
		if ceiling := bound(most, len(items)); count > ceiling {
			c.say(path, fmt.Sprintf("at most %d items that fit 'contains'", ceiling), strconv.Itoa(count))
		}
	}
}

// bound is the value of a keyword that counts.
func bound(n *md.Node, without int) int {
	switch v := n.Any().(type) {
	case int:
		return v
	case float64:
		return int(v)
	}
	return without
}

// object holds the members of a value against a keyword.
func (c *schemaUse) object(n *md.Node, k keyword, of *md.Node, m map[string]any, path string) {
	names := slices.Sorted(maps.Keys(m))
	due := func(list *md.Node, expected string) {
		for _, name := range list.Items {
			if _, there := m[name.Value]; there {
				continue
			}
			text := expected
			if is := n.Get("properties").Get(name.Value).Get("type"); is != nil && text == "a value" {
				text = words(keyword{form: formTypes}, is)
			}
			c.say(member(path, name.Value), text, "nothing")
		}
	}
	switch k.name {
	case "required":
		due(of, "a value")
	case "dependentRequired", "dependencies", "dependentSchemas":
		for _, e := range of.Entries {
			if _, there := m[e.Key.Value]; !there {
				continue
			}
			if e.Value.Kind == md.List {
				due(e.Value, "a value, because "+e.Key.Value+" is there")
			} else {
				c.hold(e.Value, m, path)
			}
		}
	case "properties":
		for _, e := range of.Entries {
			if v, there := m[e.Key.Value]; there {
				c.hold(e.Value, v, member(path, e.Key.Value))
			}
		}
	case "patternProperties":
		for _, e := range of.Entries {
			for _, name := range names {
				if matches(e.Key.Value, name) {
					c.hold(e.Value, m[name], member(path, name))
				}
			}
		}
	case "propertyNames":
		for _, name := range names {
			if found := c.quiet(of, name, path); len(found) > 0 {
				c.say(path, "a name that is "+found[0].Expected, found[0].Got)
			}
		}
	case "additionalProperties":
		c.others(n, of, m, path, slices.DeleteFunc(names, func(name string) bool {
			return n.Get("properties").Get(name) != nil || patterned(n.Get("patternProperties"), name)
		}))
	case "unevaluatedProperties":
		c.others(n, of, m, path, slices.DeleteFunc(names, func(name string) bool { return c.evaluated(n, m, name) }))
	}
}

// patterned tells whether one of the patterns of a map is that of a name.
func patterned(patterns *md.Node, name string) bool {
	return patterns != nil && slices.ContainsFunc(patterns.Entries,
		func(e md.Entry) bool { return matches(e.Key.Value, name) })
}

// matches asks a pattern that was compiled before.
func matches(pattern, name string) bool {
	is, err := regexp.MatchString(pattern, name)
	return is && err == nil
}

// evaluated tells whether a part of the schema looked at a member: with all others looked at, nothing is left.
func (c *schemaUse) evaluated(n *md.Node, m map[string]any, name string) bool {
	others := map[string]any{}
	for other := range m {
		if other != name {
			others[other] = true
		}
	}
	plain, ok := n.Any().(map[string]any)
	if !ok {
		return true // not reached: a schema with a keyword is a map
	}
	all := []any{map[string]any{"properties": others}}
	if own, ok := plain["allOf"].([]any); ok {
		all = append(all, own...)
	}
	plain["allOf"] = all
	r, err := c.s.resolved(plain, partName)
	return err == nil && r.Validate(m) == nil
}

// others holds the members that no property names against the schema for them.
func (c *schemaUse) others(n, of *md.Node, m map[string]any, path string, names []string) {
	for _, name := range names {
		var known []string
		if p := n.Get("properties"); p != nil {
			for _, e := range p.Entries {
				known = append(known, e.Key.Value)
			}
		}
		switch {
		case of.Any() != false:
			c.hold(of, m[name], member(path, name))
		case known == nil:
			c.say(member(path, name), "no such member", tell(m[name]))
		default:
			c.say(member(path, name), "no member but "+strings.Join(known, ", "), tell(m[name]))
		}
	}
}

// tell is a value in a message.
func tell(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []any:
		return "an array of " + strconv.Itoa(len(v))
	case map[string]any:
		return "an object"
	case string:
		return fmt.Sprintf("%.60q", v)
	case float64:
		return whole(v)
	}
	return fmt.Sprint(v)
}

// whole is a value in a message that compares contents.
func whole(v any) string {
	const most = 60
	text, err := json.Marshal(v)
	if err != nil || len(text) > most {
		return tell(v)
	}
	return string(text)
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// member is the path of a member, as jq writes it.
func member(path, name string) string {
	if plainName.MatchString(name) {
		return path + "." + name
	}
	return path + fmt.Sprintf("[%.60q]", name)
}
