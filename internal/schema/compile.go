package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/nearest"
)

// Schema is a compiled schema.
type Schema struct {
	root *rule
	text []byte
}

// JSON is the schema as one JSON text, for those who are to obey it.
func (s *Schema) JSON() json.RawMessage { return slices.Clone(s.text) }

// rule is one schema inside another. A zero field is a keyword that is not there.
type rule struct {
	pos   formats.Pos
	never bool // the schema false
	is    []string
	enum  []*Node
	konst *Node
	keys  []string // of enum, canonical

	min, max, over, under, multiple *big.Rat
	counts                          [8]*int // by the constants below
	pattern                         *regexp.Regexp
	unique                          bool

	required  []string
	dependent []named[[]string]

	all, any, one              []*rule
	not, when, then, otherwise *rule
	ref                        *rule
	prefix                     []*rule
	items, contains            *rule
	props                      []named[*rule]
	patterns                   []matched
	more, names                *rule // additionalProperties, propertyNames
	given                      []named[*rule]
	restItems, restProps       *rule // unevaluated
}

// The bounds that are counts.
const (
	minLength = iota
	maxLength
	minItems
	maxItems
	minProperties
	maxProperties
	minContains
	maxContains
)

type named[T any] struct {
	name string
	rule T
}

type matched struct {
	pattern *regexp.Regexp
	rule    *rule
}

// The bounds of what a schema may ask for.
const (
	maxPattern = 1000 // characters of a pattern
	maxRules   = 5000 // schemas in a schema
	maxFaults  = 50
)

// The drafts that are known.
const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	draft07   = "http://json-schema.org/draft-07/schema"
)

type compiler struct {
	root    *Node
	old     bool // draft 07
	rules   map[*Node]*rule
	order   []*rule // as they were met
	anchors map[string]*Node
	faults  []Fault
	refs    []pending
	id      string
}

type pending struct {
	from *rule
	to   string
	pos  formats.Pos
}

// Compile reads a schema. With faults there is no Schema; they are in the order of the file.
func Compile(root *Node) (*Schema, []Fault) {
	c := &compiler{root: root, rules: map[*Node]*rule{}, anchors: map[string]*Node{}}
	c.dialect()
	top := c.rule(root)
	for i := 0; i < len(c.refs); i++ { // a reference may lead to a schema that was not read yet
		c.refer(c.refs[i])
	}
	if c.faults == nil {
		c.circles(top)
	}
	slices.SortStableFunc(c.faults, func(a, b Fault) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Col - b.Pos.Col
	})
	if c.faults != nil {
		return nil, c.faults
	}
	text, err := json.Marshal(root.any())
	if err != nil {
		return nil, []Fault{{Pos: root.Pos, Message: "expected a schema that JSON can hold: " + err.Error()}}
	}
	return &Schema{root: top, text: text}, nil
}

func (c *compiler) fault(pos formats.Pos, help, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, Fault{Pos: pos, Help: help, Message: fmt.Sprintf(format, args...)})
	}
}

// dialect reads which draft the schema is written for.
func (c *compiler) dialect() {
	if c.root.Kind != Object {
		return
	}
	if id := c.root.get("$id"); id != nil {
		c.id = strings.TrimSuffix(id.Text, "#")
	}
	n := c.root.get("$schema")
	if n == nil {
		return
	}
	switch strings.TrimSuffix(n.Text, "#") {
	case draft2020:
	case draft07, strings.Replace(draft07, "http:", "https:", 1):
		c.old = true
	default:
		c.fault(n.Pos, "write "+draft2020+" or "+draft07+"#", "expected draft 2020-12 or 07 in '$schema', got %s", show(n))
	}
}

// rule compiles one schema, once.
func (c *compiler) rule(n *Node) *rule {
	if r := c.rules[n]; r != nil {
		return r
	}
	r := &rule{pos: n.Pos}
	c.rules[n] = r
	c.order = append(c.order, r)
	switch {
	case len(c.rules) == maxRules:
		c.fault(n.Pos, "split it", "expected at most %d schemas in a schema, got more", maxRules)
		return r
	case len(c.rules) > maxRules:
		return r
	case n.Kind == Bool:
		r.never = n.Text == "false"
		return r
	case n.Kind != Object:
		c.fault(n.Pos, "write a map of keywords such as {type: object}", "expected a schema, got %s", show(n))
		return r
	}
	for i, m := range n.Members {
		if slices.ContainsFunc(n.Members[:i], func(o Member) bool { return o.Key == m.Key }) {
			continue // the reader of the text reports it
		}
		c.keyword(r, n, m)
	}
	if first, rest := n.get("items"), n.get("additionalItems"); c.old && rest != nil {
		if other := c.rule(rest); first != nil && first.Kind == Array { // else it counts for nothing
			r.items = other
		}
	}
	r.keys = canonicals(r.enum)
	return r
}

// keyword compiles one keyword.
func (c *compiler) keyword(r *rule, n *Node, m Member) {
	v := m.Value
	if c.old && m.Key != "$ref" && n.get("$ref") != nil && !isRemark(m.Key) && m.Key != "definitions" {
		c.fault(m.Pos, "write allOf: [{$ref: ...}, {...}]", "'%s' beside '$ref' counts for nothing in draft 07", m.Key)
		return
	}
	if m.Key == "$anchor" && !c.old {
		if c.need(v, String) {
			c.anchors[v.Text] = n
		}
		return
	}
	if c.words(r, m, v) || c.bounds(r, m, v) || c.parts(r, m, v) {
		return
	}
	switch {
	case isRemark(m.Key) || strings.HasPrefix(m.Key, "x-"):
	case m.Key == "$id" && n == c.root:
		c.need(v, String)
	case slices.Contains(unchecked(), m.Key):
		c.fault(m.Pos, uncheckedHelp(m.Key), "'%s' is not checked by tercet", m.Key)
	default:
		help := nearest.Help(m.Key, append(keywords(), remarks()...))
		if help == "" {
			help = "a remark of your own begins with x-"
		}
		c.fault(m.Pos, help, "unknown keyword '%s' in a schema", m.Key)
	}
}

func keywords() []string {
	return []string{
		"$schema", "$id", "$ref", "$anchor", "$defs", "definitions", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
		"maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties", "required", "dependentRequired", "allOf", "anyOf",
		"oneOf", "not", "if", "then", "else", "prefixItems", "items", "contains", "properties", "patternProperties", "additionalProperties", "propertyNames", "dependentSchemas",
		"unevaluatedItems", "unevaluatedProperties",
	}
}

// remarks are keywords that tell a reader something and that no value can break.
func remarks() []string {
	return []string{
		"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples", "format", "contentEncoding", "contentMediaType", "contentSchema", "$comment", "$schema",
	}
}

func isRemark(key string) bool { return slices.Contains(remarks(), key) }

// unchecked are keywords of the drafts, or of others, that would change what a schema means.
func unchecked() []string {
	return []string{"$id", "id", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "nullable", "discriminator", "additionalItems", "dependencies"}
}

func uncheckedHelp(key string) string {
	switch key {
	case "nullable":
		return "write type: [string, 'null']"
	case "additionalItems":
		return "write prefixItems for the first items, and items for the others"
	case "dependencies":
		return "write dependentRequired or dependentSchemas"
	case "$id", "id":
		return "only the outermost schema has an '$id'; name others with '$anchor'"
	case "$dynamicRef", "$recursiveRef":
		return "write '$ref'"
	}
	return "remove it"
}

func (c *compiler) need(v *Node, kind Kind) bool {
	if v.Kind == kind {
		return true
	}
	c.fault(v.Pos, "", "expected %s, got %s", kind, show(v))
	return false
}

// texts reads a list of different words.
func (c *compiler) texts(v *Node, what string) []string {
	if v.Kind != Array {
		c.fault(v.Pos, "write ["+what+"]", "expected a list of texts, got %s", show(v))
		return nil
	}
	out := []string{}
	for _, e := range v.Elems {
		switch {
		case e.Kind != String:
			c.fault(e.Pos, "", "expected text, got %s", show(e))
		case slices.Contains(out, e.Text):
			c.fault(e.Pos, "remove one", "%q stands twice", e.Text)
		default:
			out = append(out, e.Text)
		}
	}
	return out
}

func types() []string {
	return []string{"string", "integer", "number", "boolean", "object", "array", "null"}
}

// words compiles the keywords that say which values there may be, and names.
func (c *compiler) words(r *rule, m Member, v *Node) bool {
	switch m.Key {
	case "type":
		if v.Kind == String {
			v = &Node{Kind: Array, Pos: v.Pos, Elems: []*Node{v}}
		}
		r.is = c.texts(v, "string, integer")
		for i, e := range v.Elems {
			if e.Kind == String && !slices.Contains(types(), e.Text) {
				help := nearest.Help(e.Text, types())
				if help == "" {
					help = "the types are " + strings.Join(types(), ", ")
				}
				c.fault(v.Elems[i].Pos, help, "unknown type %q", e.Text)
			}
		}
		if v.Kind == Array && len(v.Elems) == 0 {
			c.fault(v.Pos, "name a type, or remove the keyword", "'type' names none")
		}
	case "enum":
		if !c.need(v, Array) {
			break
		}
		if r.enum = v.Elems; len(v.Elems) == 0 {
			c.fault(v.Pos, "name the values", "'enum' names no value")
		}
	case "const":
		r.konst = v
	case "required":
		r.required = c.texts(v, "name")
	case "dependentRequired":
		if !c.need(v, Object) {
			break
		}
		for _, one := range v.Members {
			r.dependent = append(r.dependent, named[[]string]{one.Key, c.texts(one.Value, "name")})
		}
	case "$ref":
		if c.need(v, String) {
			c.refs = append(c.refs, pending{r, v.Text, v.Pos})
		}
	case "$defs", "definitions":
		c.named(v)
	default:
		return false
	}
	return true
}

// bounds compiles the keywords that are numbers or patterns.
func (c *compiler) bounds(r *rule, m Member, v *Node) bool {
	numbers := map[string]**big.Rat{"minimum": &r.min, "maximum": &r.max, "exclusiveMinimum": &r.over, "exclusiveMaximum": &r.under, "multipleOf": &r.multiple}
	counts := map[string]int{
		"minLength": minLength, "maxLength": maxLength, "minItems": minItems, "maxItems": maxItems, "minProperties": minProperties, "maxProperties": maxProperties,
		"minContains": minContains, "maxContains": maxContains,
	}
	if at, ok := numbers[m.Key]; ok {
		c.number(at, m.Key, v)
		return true
	}
	if at, ok := counts[m.Key]; ok {
		n, fits := ratOf(json.Number(v.Text))
		switch {
		case v.Kind != Number || !fits || !n.IsInt() || n.Sign() < 0 || !n.Num().IsInt64() || n.Num().Int64() > 1<<40:
			c.fault(v.Pos, "", "expected a whole number of at least 0 in '%s', got %s", m.Key, show(v))
		default:
			r.counts[at] = new(int(n.Num().Int64()))
		}
		return true
	}
	switch m.Key {
	case "pattern":
		if c.need(v, String) {
			r.pattern = c.regexp(v.Pos, v.Text)
		}
	case "uniqueItems":
		if c.need(v, Bool) {
			r.unique = v.Text == "true"
		}
	default:
		return false
	}
	return true
}

func (c *compiler) number(at **big.Rat, key string, v *Node) {
	n, ok := ratOf(json.Number(v.Text))
	switch {
	case v.Kind == Bool && strings.HasPrefix(key, "exclusive"):
		c.fault(v.Pos, "write the bound itself, "+key+": 5", "expected a number in '%s', got %s, which is draft 04", key, v.Text)
	case v.Kind != Number || !ok:
		c.fault(v.Pos, "", "expected a number in '%s', got %s", key, show(v))
	case key == "multipleOf" && n.Sign() <= 0:
		c.fault(v.Pos, "", "expected a number above 0 in 'multipleOf', got %s", v.Text)
	default:
		*at = n
	}
}

func (c *compiler) regexp(pos formats.Pos, text string) *regexp.Regexp {
	if len(text) > maxPattern {
		c.fault(pos, "", "expected a pattern of at most %d bytes, got %d", maxPattern, len(text))
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		c.fault(pos, "patterns are of the syntax RE2, without look-ahead and back-references", "expected a pattern, got %q: %s", text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re
}

// parts compiles the keywords that hold schemas.
func (c *compiler) parts(r *rule, m Member, v *Node) bool {
	lists := map[string]*[]*rule{"allOf": &r.all, "anyOf": &r.any, "oneOf": &r.one, "prefixItems": &r.prefix}
	single := map[string]**rule{
		"not": &r.not, "if": &r.when, "then": &r.then, "else": &r.otherwise, "items": &r.items, "contains": &r.contains, "additionalProperties": &r.more,
		"propertyNames": &r.names, "unevaluatedItems": &r.restItems, "unevaluatedProperties": &r.restProps,
	}
	if c.old {
		if done := c.parts07(r, m, v); done {
			return true
		}
	}
	if at, ok := lists[m.Key]; ok {
		*at = c.list(m.Key, v)
		return true
	}
	if at, ok := single[m.Key]; ok {
		if m.Key == "items" && v.Kind == Array {
			c.fault(v.Pos, "write prefixItems", "a list in 'items' is draft 07")
			return true
		}
		*at = c.rule(v)
		return true
	}
	switch m.Key {
	case "properties":
		r.props = c.named(v)
	case "dependentSchemas":
		r.given = c.named(v)
	case "patternProperties":
		if !c.need(v, Object) {
			break
		}
		for _, one := range v.Members {
			if re := c.regexp(one.Pos, one.Key); re != nil {
				r.patterns = append(r.patterns, matched{re, c.rule(one.Value)})
			}
		}
	default:
		return false
	}
	return true
}

// parts07 compiles what draft 07 writes otherwise.
func (c *compiler) parts07(r *rule, m Member, v *Node) bool {
	switch m.Key {
	case "items":
		if v.Kind != Array {
			return false
		}
		r.prefix = c.list(m.Key, v)
	case "additionalItems": // read with its schema
	case "dependencies":
		if !c.need(v, Object) {
			break
		}
		for _, one := range v.Members {
			if one.Value.Kind == Array {
				r.dependent = append(r.dependent, named[[]string]{one.Key, c.texts(one.Value, "name")})
				continue
			}
			r.given = append(r.given, named[*rule]{one.Key, c.rule(one.Value)})
		}
	case "prefixItems", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "$anchor", "minContains", "maxContains":
		c.fault(m.Pos, "write $schema: "+draft2020, "'%s' is not of draft 07", m.Key)
	default:
		return false
	}
	return true
}

func (c *compiler) list(key string, v *Node) []*rule {
	if !c.need(v, Array) {
		return nil
	}
	if len(v.Elems) == 0 && key != "items" {
		c.fault(v.Pos, "add a schema, or remove the keyword", "'%s' holds no schema", key)
	}
	out := make([]*rule, 0, len(v.Elems))
	for _, e := range v.Elems {
		out = append(out, c.rule(e))
	}
	return out
}

func (c *compiler) named(v *Node) []named[*rule] {
	if !c.need(v, Object) {
		return nil
	}
	out := make([]named[*rule], 0, len(v.Members))
	for _, m := range v.Members {
		out = append(out, named[*rule]{m.Key, c.rule(m.Value)})
	}
	return out
}

// show is a node in a message.
func show(n *Node) string {
	switch n.Kind {
	case Null:
		return "null"
	case String:
		return fmt.Sprintf("%.60q", n.Text)
	case Array:
		return "a list"
	case Object:
		return "a map"
	case Bool, Number:
	}
	return n.Text
}
