package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/order"
	"tercet/internal/strict"
)

// MaxSize bounds a file with a JSON Schema, in bytes.
const MaxSize = 256 << 10

// The bounds of a schema.
const (
	maxSchemaDepth = 64
	// subschemas, and those that one value is checked against with every reference followed
	maxSchemaNodes = 1000
	maxPattern     = 1000 // bytes of a regular expression
	maxFaults      = 50
)

// The known drafts.
const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	draft07   = "http://json-schema.org/draft-07/schema#"
)

// Schema is a checked JSON Schema. It never changes. google/jsonschema-go evaluates it.
type Schema struct {
	root     *md.Node
	draft    string
	places   map[string]*md.Node       // subschemas by JSON pointer or anchor
	pointers map[*md.Node]string       // pointer of each subschema
	patterns map[string]*regexp.Regexp // compiled patterns of member names
	resolved *jsonschema.Resolved
	text     json.RawMessage
}

// JSON is the schema as one JSON text, for prompts.
func (s *Schema) JSON() json.RawMessage {
	return slices.Clone(s.text)
}

// form is the type of a keyword's value, for messages.
type form string

const (
	formAny     form = ""
	formNumber  form = "a number"
	formFactor  form = "a number above 0"
	formCount   form = "a whole number of at least 0"
	formBool    form = "true or false"
	formText    form = "a text"
	formValues  form = "a list of values"
	formTypes   form = "a type, or a list of at least one"
	formTexts   form = "a list of texts"
	formSchema  form = "a schema"
	formSchemas form = "a list of at least one schema"
	formNamed   form = "a map of schemas"
	formNeeds   form = "a map of schemas or lists of texts"
)

// keywords are the allowed keywords of a schema.
var keywords = []struct {
	form  form
	names string
}{
	{
		formAny,
		"$schema $comment title description default deprecated readOnly writeOnly examples " +
			"format const",
	},
	{formAny, "contentEncoding contentMediaType contentSchema"},
	{formText, "$id $anchor $ref pattern"},
	{formNamed, "$defs definitions dependentSchemas properties patternProperties"},
	{formTypes, "type"},
	{formValues, "enum"},
	{
		formCount,
		"minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties",
	},
	{formNumber, "minimum maximum exclusiveMinimum exclusiveMaximum"},
	{formFactor, "multipleOf"},
	{formSchemas, "allOf anyOf oneOf prefixItems"},
	{formSchema, "not if then else items additionalItems contains unevaluatedItems"},
	{formSchema, "additionalProperties propertyNames unevaluatedProperties"},
	{formBool, "uniqueItems"},
	{formTexts, "required"},
	{formNeeds, "dependentRequired dependencies"},
}

// unchecked are keywords of the drafts, or of others, that would change the meaning of a schema,
// with what to do instead.
var unchecked = map[string]string{
	"$id":             "only the outermost schema has an '$id'; name others with '$anchor'",
	"$dynamicRef":     "write '$ref'",
	"$recursiveRef":   "write '$ref'",
	"nullable":        "write type: [string, 'null']",
	"additionalItems": "write prefixItems for the first items, and items for the others",
	"dependencies":    "write dependentRequired or dependentSchemas",
}

// newer are the keywords that draft 07 does not have.
var newer = []string{
	"$anchor", "prefixItems", "dependentRequired", "dependentSchemas", "unevaluatedItems",
	"unevaluatedProperties", "minContains", "maxContains",
}

var jsonTypes = []string{"string", "integer", "number", "boolean", "object", "array", "null"}

// Read parses a schema written as JSON. The error is a *Failure with its place.
func Read(src []byte) (*md.Node, error) {
	v, err := jsonx.Parse(src, jsonx.Limits{Depth: maxSchemaDepth, Bytes: MaxSize})
	if err == nil {
		return nodeOf(src, v), nil
	}
	at, msg := formats.SyntaxAt(src, err)
	return nil, &formats.Failure{
		Code:    formats.CodeInvalidCommand,
		Pos:     at,
		Message: msg,
	}
}

// nodeOf converts a JSON value to a node with positions.
func nodeOf(src []byte, v *jsonx.Value) *md.Node {
	n := &md.Node{
		Kind:  md.Scalar,
		Pos:   formats.PosAt(src, v.Start),
		Value: string(v.Raw(src)),
	}
	switch v.Kind {
	case jsonx.Null:
		n.Type = md.Null
	case jsonx.Bool:
		n.Type = md.Bool
	case jsonx.Number:
		n.Type = md.Int
		if strings.ContainsAny(n.Value, ".eE") {
			n.Type = md.Float
		}
	case jsonx.String:
		n.Type = md.Str
		n.Value, _ = v.Str()
	case jsonx.Array:
		n.Kind = md.List
		for _, e := range v.Elems {
			n.Items = append(n.Items, nodeOf(src, e))
		}
	case jsonx.Dict:
		n.Kind = md.Map
		for _, m := range v.Members {
			key := &md.Node{
				Kind:  md.Scalar,
				Type:  md.Str,
				Pos:   formats.PosAt(src, m.KeyStart),
				Value: m.Key,
			}
			n.Entries = append(n.Entries, md.Entry{Key: key, Value: nodeOf(src, m.Value)})
		}
	}

	return n
}

// check checks a schema itself.
type check struct {
	*Schema
	formats.Findings
	seen []*md.Node // subschemas in order of their discovery
	refs []*md.Node // values of $ref
}

// Compile checks a schema. The findings are in file order, without file name and code; if
// there are any, the Schema is nil.
func Compile(root *md.Node) (*Schema, []formats.Diagnostic) {
	s := &Schema{
		root:     root,
		draft:    draft2020,
		places:   map[string]*md.Node{},
		pointers: map[*md.Node]string{},
		patterns: map[string]*regexp.Regexp{},
	}
	c := &check{Schema: s}
	n := root.Get("$schema")
	switch {
	case n == nil, n.IsStr() && strings.TrimSuffix(n.Value, "#") == draft2020:
	case n.IsStr() &&
		strings.Replace(strings.TrimSuffix(n.Value, "#"), "https:", "http:", 1)+"#" == draft07:
		s.draft = draft07
	default:
		c.fault(n, "write "+draft2020+" or "+draft07,
			"expected draft 2020-12 or 07 in '$schema', got %s", nodeText(n))
	}

	c.checkSchema(root, "")
	c.resolveRefs()
	for i := 0; i < len(c.seen) && c.List == nil; i++ {
		left := maxSchemaNodes
		circle := s.countSteps(c.seen[i], nil, &left, nil)
		switch {
		case circle != nil:
			c.fault(circle, "let it refer to itself below a property or an item",
				"the schema refers to itself for the same value")
		case left < 0:
			c.fault(c.seen[i],
				"let fewer references lead to the same place",
				"expected at most %d schemas for one value with each reference followed, got more",
				maxSchemaNodes)
		}
	}

	if c.List == nil {
		var err error
		s.text, err = json.Marshal(root.Any())
		if err == nil {
			s.resolved, err = s.resolve(root.Any(), wholeName)
		}
		if err == nil {
			return s, nil
		}
		// the library has no position
		c.fault(root, "", "expected a schema that can be checked: %v", err)
	}
	order.Stable(c.List, func(a, b formats.Diagnostic) int {
		return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col)
	})
	return nil, c.List[:min(len(c.List), maxFaults)]
}

// resolve prepares a schema for the library.
func (s *Schema) resolve(plain any, name string) (*jsonschema.Resolved, error) {
	out := &jsonschema.Schema{}
	text, err := json.Marshal(plain)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return nil, err
	}

	out.Schema = s.draft
	whole := func(to *url.URL) (*jsonschema.Schema, error) {
		if s.resolved == nil {
			return nil, fmt.Errorf("%s is not fetched", to)
		}
		return s.resolved.Schema(), nil
	}

	return out.Resolve(&jsonschema.ResolveOptions{BaseURI: name, Loader: whole})
}

// wholeName is the name by which parts of a schema refer to the whole.
const wholeName = "tercet://schema"

func (c *check) fault(n *md.Node, help, format string, args ...any) {
	c.Add("E", n.Pos, help, format, args...)
}

// checkSchema checks the schema at a JSON pointer.
func (c *check) checkSchema(n *md.Node, at string) {
	if len(c.seen) > maxSchemaNodes {
		return
	}
	c.seen = append(c.seen, n)
	c.places[at] = n
	c.pointers[n] = at

	switch {
	case len(c.seen) > maxSchemaNodes:
		c.fault(n, "split it", "expected at most %d schemas in a schema, got more", maxSchemaNodes)
	case n.Type == md.Bool:
	case n.Kind != md.Map:
		c.fault(n, "write a map of keywords such as {type: object}",
			"expected a schema, got %s", nodeText(n))
	default:
		for _, e := range n.Entries {
			c.checkKeyword(n, e.Key, e.Value)
		}
	}
}

// checkKeyword checks one keyword of a schema.
func (c *check) checkKeyword(n, key, v *md.Node) {
	name := key.Value
	old := c.draft == draft07
	var names []string
	kind := formAny
	known := false
	for _, k := range keywords {
		of := strings.Fields(k.names)
		if slices.Contains(of, name) {
			kind = k.form
			known = true
		}
		names = append(names, of...)
	}

	instead, refused := unchecked[name]
	switch {
	case refused && (name != "$id" || n != c.root) &&
		(!old || name != "additionalItems" && name != "dependencies"):
		c.fault(key, instead, "'%s' is not checked by tercet", name)
	case !known && strings.HasPrefix(name, "x-"):
	case !known:
		help := cmp.Or(nearest.Help(name, names), "a remark of your own begins with x-")
		c.fault(key, help, "unknown keyword '%s' in a schema", name)
	case old && slices.Contains(newer, name):
		c.fault(key, "write $schema: "+draft2020, "'%s' is not of draft 07", name)
	case old && n.Get("$ref") != nil && name != "$ref" && name != "definitions" &&
		(kind != formAny || name == "const"):
		c.fault(key, "write allOf: [{$ref: ...}, {...}]",
			"'%s' beside '$ref' counts for nothing in draft 07", name)
	case name == "items" && v.Kind == md.List && !old:
		c.fault(v, "write prefixItems", "a list in 'items' is draft 07")
	case name == "$anchor" && c.places[v.Value] != nil:
		c.fault(v, "give it another name", "anchor %q stands twice", v.Value)
	case name == "$anchor":
		c.places[v.Value] = n
		fallthrough
	default:
		c.checkValue(name, kind, v, c.pointers[n]+"/"+escapePointer(name))
	}
}

// escapePointer escapes a name for a JSON pointer.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// checkValue checks the value of a keyword, and the subschemas in it.
func (c *check) checkValue(name string, kind form, v *md.Node, at string) {
	x, is := strict.Number(v)
	list := v.Kind == md.List
	switch kind {
	case formAny, formSchema:
		is = true // checked below
	case formTypes:
		is = v.Kind == md.Scalar || list && len(v.Items) > 0
	case formNumber:
	case formFactor:
		is = is && x > 0
	case formCount:
		is = is && x >= 0 && x <= math.MaxInt32 && x == math.Trunc(x)
	case formBool:
		is = v.Type == md.Bool
	case formText:
		is = v.IsStr()
	case formValues, formSchemas:
		is = list && len(v.Items) > 0
	case formTexts:
		is = uniqueStrings(v)
	case formNamed, formNeeds:
		is = v.Kind == md.Map
	}

	switch {
	case !is && kind == formTexts:
		c.fault(v, "write [name]", "expected a list of texts, got %s", nodeText(v))
	case !is:
		c.fault(v, "", "expected %s in '%s', got %s", kind, name, nodeText(v))
	case kind == formTypes:
		for _, word := range append(slices.Clone(v.Items), v) {
			if word.Kind == md.Scalar && !slices.Contains(jsonTypes, word.Value) {
				help := cmp.Or(
					nearest.Help(word.Value, jsonTypes),
					"the types are "+strings.Join(jsonTypes, ", "),
				)
				c.fault(word, help, "unknown type %s", nodeText(word))
			}
		}
	case name == "pattern":
		c.checkPattern(v)
	case name == "$ref":
		c.refs = append(c.refs, v)
	case kind == formSchema && !list:
		c.checkSchema(v, at)
	case kind == formSchema, kind == formSchemas:
		for i, one := range v.Items {
			c.checkSchema(one, at+"/"+strconv.Itoa(i))
		}
	}

	for _, e := range v.Entries {
		switch {
		case kind == formNeeds && (name == "dependentRequired" || e.Value.Kind == md.List):
			c.checkValue(e.Key.Value, formTexts, e.Value, "")
		case kind == formNeeds, kind == formNamed:
			c.checkSchema(e.Value, at+"/"+escapePointer(e.Key.Value))
		}
		if name == "patternProperties" {
			c.checkPattern(e.Key)
		}
	}
}

// uniqueStrings reports whether a node is a list of distinct strings.
func uniqueStrings(v *md.Node) bool {
	seen := map[string]bool{}
	return v.Kind == md.List && !slices.ContainsFunc(v.Items, func(e *md.Node) bool {
		twice := seen[e.Value]
		seen[e.Value] = true
		return twice || !e.IsStr()
	})
}

func (c *check) checkPattern(v *md.Node) {
	re, err := regexp.Compile(v.Value)
	switch {
	case len(v.Value) > maxPattern:
		c.fault(v, "", "expected a pattern of at most %d bytes, got %d", maxPattern, len(v.Value))
	case err != nil:
		c.fault(v, "patterns are of the syntax RE2, without look-ahead and back-references",
			"expected a pattern, got %q: %s", v.Value,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	c.patterns[v.Value] = re
}

// resolveRefs resolves the references. Only places in the same text can be referred to: nothing is
// fetched.
func (c *check) resolveRefs() {
	for _, v := range c.refs {
		where, place, _ := strings.Cut(v.Value, "#")
		id := c.root.Get("$id")
		if where != "" && (id == nil || where != strings.TrimSuffix(id.Value, "#")) {
			c.fault(v, "copy the other schema under $defs, and write #/$defs/NAME",
				"expected a reference inside this schema, got %.100q: nothing is fetched", v.Value)
		} else if to, err := url.PathUnescape(place); err != nil || c.places[to] == nil {
			c.fault(v, "write #/$defs/NAME for a schema under $defs",
				"nothing stands at %.100q", v.Value)
		} else {
			c.pointers[v] = to
		}
	}
}

// nodeText is a node in a message.
func nodeText(n *md.Node) string {
	if n.Type == md.Null {
		return "null"
	}
	return strict.Describe(n)
}
