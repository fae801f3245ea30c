package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tercet/internal/jsonx"
	"tercet/internal/lazy"
	"tercet/internal/md"
)

// The bounds of a check.
const (
	maxSteps      = 200_000 // subschema evaluations, counted before the start
	maxViolations = 50
)

// Violation is one violation of a schema.
type Violation struct {
	Path     string // of the value, in jq's notation below the path given to Validate
	Expected string
	Got      string
}

// String is the violation in one line.
func (v Violation) String() string {
	return v.Path + ": expected " + v.Expected + ", got " + v.Got
}

// Validate returns all violations of the schema in a value, at most fifty; nil if there are none.
// path is the value's name in the violations, such as ".fields".
//
// The library stops at the first violation. To find all, Validate checks each keyword alone, and
// each member and item against its own subschema.
func (s *Schema) Validate(path string, value any) []Violation {
	text, err := json.Marshal(value)
	var v any
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return []Violation{{
			path,
			"a value that JSON can hold",
			fmt.Sprintf("%.60s", fmt.Sprint(value)),
		}}
	}

	left := maxSteps
	s.countSteps(s.root, v, &left, nil)
	if left < 0 {
		return []Violation{{
			path,
			fmt.Sprintf("a value that can be checked in %d steps", maxSteps),
			"one that needs more",
		}}
	}
	if s.resolved.Validate(v) == nil {
		return nil
	}

	c := &validation{s: s, parts: map[string]*jsonschema.Resolved{}}
	c.validate(s.root, v, path)
	if len(c.found) > maxViolations {
		c.found = append(c.found[:maxViolations], Violation{path, "no further violations", "more"})
	}
	return c.found
}

// part is a subschema and the value it applies to.
type part struct {
	schema *md.Node
	value  any
	// name of the member or index of the item; nil for the whole value
	at      any
	binding bool // a violation of the part is one of the whole
}

// eachPart calls do for every subschema that applies to a value, its members and its items.
func (s *Schema) eachPart(n *md.Node, v any, do func(part)) {
	m, _ := v.(map[string]any) //nolint:errcheck // nil for other types
	for _, e := range n.Entries {
		switch name := e.Key.Value; name {
		case "$ref":
			do(part{s.places[s.pointers[e.Value]], v, nil, true})
		case "not", "if", "then", "else":
			do(part{e.Value, v, nil, false})
		case "allOf", "anyOf", "oneOf":
			for _, one := range e.Value.Items {
				do(part{one, v, nil, name == "allOf"})
			}
		case "properties":
			for _, e := range e.Value.Entries {
				if one, there := m[e.Key.Value]; there {
					do(part{e.Value, one, e.Key.Value, true})
				}
			}
		case "dependentSchemas", "dependencies":
			for _, e := range e.Value.Entries {
				if e.Value.Kind != md.List {
					do(part{e.Value, v, nil, false})
				}
			}
		}
	}

	below := func(of *md.Node, v, at any, judges bool) {
		if of != nil {
			do(part{of, v, at, judges})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		matched := s.patternSchemas(n, key)
		for _, of := range matched {
			below(of, m[key], key, true)
		}
		if matched == nil && n.Get("properties").Get(key) == nil {
			below(n.Get("additionalProperties"), m[key], key, true)
		}
		below(n.Get("propertyNames"), key, key, false)
		below(n.Get("unevaluatedProperties"), m[key], key, false)
	}

	first := n.Get("prefixItems")
	rest := n.Get("items")
	if rest != nil && rest.Kind == md.List { // draft 07
		first = rest
		rest = n.Get("additionalItems")
	}
	list, _ := v.([]any) //nolint:errcheck // nil for other types
	for i, one := range list {
		if first != nil && i < len(first.Items) {
			below(first.Items[i], one, i, true)
		} else {
			below(rest, one, i, true)
		}
		below(n.Get("contains"), one, i, false)
		below(n.Get("unevaluatedItems"), one, i, false)
	}
}

// patternSchemas are the schemas for a member whose name matches a pattern.
func (s *Schema) patternSchemas(n *md.Node, name string) (out []*md.Node) {
	if patterns := n.Get("patternProperties"); patterns != nil {
		for _, e := range patterns.Entries {
			if s.patterns[e.Key.Value].MatchString(name) {
				out = append(out, e.Value)
			}
		}
	}
	return out
}

// countSteps counts the library's steps to check a value against a schema, until none is left.
// circle is a schema that leads back to itself for the same value, which would not end. above are
// the schemas that led to n for this value.
func (s *Schema) countSteps(n *md.Node, v any, left *int, above []*md.Node) (circle *md.Node) {
	if slices.Contains(above, n) {
		return n
	}
	size := 0
	switch v := v.(type) {
	case string:
		size = len(v)
	case []any:
		size = len(v) / 8
	case map[string]any:
		size = len(v)
	}

	*left -= 1 + size/8
	for _, e := range n.Entries {
		*left -= len(e.Value.Items) / 8 // values to compare with
		if strings.HasPrefix(e.Key.Value, "pattern") {
			*left -= size * max(1, len(e.Value.Entries))
		}
	}

	s.eachPart(n, v, func(p part) {
		same := append(slices.Clip(above), n)
		if p.at != nil {
			same = nil
		}
		if *left >= 0 && circle == nil {
			circle = s.countSteps(p.schema, p.value, left, same)
		}
	})
	return circle
}

// validation collects the violations of one value.
type validation struct {
	s     *Schema
	parts map[string]*jsonschema.Resolved // by pointer and keywords
	found []Violation
}

// conforms asks the library about one subschema, or about some keywords of it alone.
func (c *validation) conforms(n *md.Node, keywords string, v any) bool {
	at := c.s.pointers[n] + " " + keywords
	if c.parts[at] == nil {
		plain := c.s.plain(n)
		if keywords != "" {
			alone := map[string]any{}
			for name := range strings.FieldsSeq(keywords) {
				if of := n.Get(name); of != nil {
					alone[name] = c.s.plain(of)
				}
			}
			plain = alone
		}
		r, err := c.s.resolve(plain, "tercet://part")
		if err != nil {
			return false // unreachable: the whole schema was resolved
		}
		c.parts[at] = r
	}
	return c.parts[at].Validate(v) == nil
}

// plain is the value of a keyword, with references in place of subschemas.
func (s *Schema) plain(n *md.Node) any {
	if pointer, is := s.pointers[n]; is {
		return map[string]any{"$ref": wholeName + (&url.URL{Fragment: pointer}).String()}
	}
	out := n.Any()
	switch plain := out.(type) {
	case []any:
		for i, one := range n.Items {
			plain[i] = s.plain(one)
		}
	case map[string]any:
		for _, e := range n.Entries {
			plain[e.Key.Value] = s.plain(e.Value)
		}
	}
	return out
}

// valueKeywords are the keywords that concern a value alone, with what they require. %s is the
// value of the keyword.
var valueKeywords = []struct{ keywords, asks string }{
	{"type", "%s"},
	{"const", "%s"},
	{"enum", "%s"},
	{"minLength", "at least %s characters"},
	{"maxLength", "at most %s characters"},
	{"pattern", "text that matches %s"},
	{"minimum", "at least %s"},
	{"maximum", "at most %s"},
	{"exclusiveMinimum", "more than %s"},
	{"exclusiveMaximum", "less than %s"},
	{"multipleOf", "a multiple of %s"},
	{"minItems", "at least %s items"},
	{"maxItems", "at most %s items"},
	{"minProperties", "at least %s members"},
	{"maxProperties", "at most %s members"},
	{"uniqueItems", "items that all differ"},
	{"contains minContains maxContains", "as many items as 'contains' asks for"},
	{"anyOf", "a value that one of 'anyOf' describes"},
	{"oneOf", "a value that exactly one of 'oneOf' describes"},
	{"not", "a value that 'not' does not describe"},
	{"if then else", "a value as 'if' asks for"},
	{"propertyNames", "names as 'propertyNames' asks for"},
	{"dependentRequired", "members as 'dependentRequired' asks for"},
	{"dependentSchemas", "a value as 'dependentSchemas' asks for"},
	{"dependencies", "a value as 'dependencies' asks for"},
}

// validate records every violation of a value.
func (c *validation) validate(n *md.Node, v any, path string) {
	if len(c.found) > maxViolations || c.conforms(n, "", v) {
		return
	}
	before := len(c.found)
	for _, k := range valueKeywords {
		first, _, _ := strings.Cut(k.keywords, " ")
		if of := n.Get(first); of != nil && !c.conforms(n, k.keywords, v) {
			asks := strings.Replace(k.asks, "%s", keywordText(first, of), 1)
			c.found = append(c.found, Violation{path, asks, valueText(v)})
		}
	}

	m, isMap := v.(map[string]any)
	if due := n.Get("required"); isMap && due != nil {
		for _, name := range due.Items {
			expected := "a value"
			if is := n.Get("properties").Get(name.Value).Get("type"); is != nil {
				expected = keywordText("type", is)
			}
			if _, there := m[name.Value]; !there {
				missing := memberPath(path, name.Value)
				c.found = append(c.found, Violation{missing, expected, "nothing"})
			}
		}
	}
	c.s.eachPart(n, v, func(p part) {
		at := path
		switch name := p.at.(type) {
		case int:
			at += "[" + strconv.Itoa(name) + "]"
		case string:
			at = memberPath(path, name)
		}
		if p.binding {
			c.validate(p.schema, p.value, at)
		}
	})
	switch {
	case len(c.found) > before:
	case n.Kind != md.Map:
		c.found = append(c.found, Violation{path, "nothing here", valueText(v)})
	default:
		c.found = append(c.found, Violation{path, "a value that fits the schema", valueText(v)})
	}
}

// keywordText is the value of a keyword in a message.
func keywordText(keyword string, of *md.Node) string {
	const most = 20
	switch {
	case of.Kind == md.List && keyword != "const":
		var out []string
		for _, n := range of.Items[:min(len(of.Items), most)] {
			out = append(out, keywordText(keyword, n))
		}
		if len(of.Items) > most {
			out = append(out, "...")
		}
		return "one of " + strings.Join(out, ", ")
	case keyword == "type", keyword == "pattern":
		return of.Value
	}
	return valueText(of.Any())
}

// valueText is a value in a message.
func valueText(v any) string {
	const most = 60
	text, err := jsonx.Marshal(v, "")

	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%.60q", v)
	case []any:
		if len(text) > most {
			return "an array of " + strconv.Itoa(len(v))
		}
	case map[string]any:
		if len(text) > most {
			return "an object of " + strconv.Itoa(len(v))
		}
	}
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

var plainName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// memberPath is the path of a member in jq's notation.
func memberPath(path, name string) string {
	if plainName().MatchString(name) {
		return path + "." + name
	}
	return path + fmt.Sprintf("[%.60q]", name)
}
