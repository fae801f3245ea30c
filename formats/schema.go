package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tercet/internal/jsonx"
	"tercet/internal/md"
	"tercet/internal/nearest"
)

// MaxSchema is the most bytes that a file with a JSON Schema may have.
const MaxSchema = 256 << 10

// The bounds of a schema.
const (
	maxSchemaDepth = 64
	maxSchemaNodes = 1000 // schemas inside of it, and those that one value is held against with every reference followed
	maxPattern     = 1000 // bytes of a regular expression
	maxFaults      = 50
)

// The drafts that are known.
const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	draft07   = "http://json-schema.org/draft-07/schema#"
)

// Schema is a JSON Schema in which nothing is wrong. It never changes. google/jsonschema-go judges values by it.
type Schema struct {
	root  *md.Node
	draft string
	refs  map[*md.Node]*md.Node // what the value of each $ref leads to
	whole *jsonschema.Resolved
	text  json.RawMessage
}

// JSON is the schema as one JSON text, for those who are to obey it.
func (s *Schema) JSON() json.RawMessage { return slices.Clone(s.text) }

// form says what the value of a keyword is, in the words of a message.
type form string

const (
	formAny     form = ""
	formNumber  form = "a number"
	formCount   form = "a whole number of at least 0"
	formBool    form = "true or false"
	formText    form = "a text"
	formPattern form = "a pattern"
	formRef     form = "a reference"
	formValues  form = "a list of values"
	formTypes   form = "a type or a list of them"
	formTexts   form = "a list of texts"
	formSchema  form = "a schema"
	formSchemas form = "a list of schemas"
	formNamed   form = "a map of schemas"
	formNeeds   form = "a map of schemas or lists of texts"
)

// keyword is a row of the table of what a schema may say.
type keyword struct {
	name  string
	form  form
	says  string // what a value has to be by this keyword alone; its value stands for %s
	here  bool   // its schemas are for the same value
	below bool   // its schemas are for members or items
}

// keywords are in the order in which violations are told.
var keywords = []keyword{
	{name: "$schema"},
	{name: "$id", form: formText},
	{name: "$anchor", form: formText},
	{name: "$defs", form: formNamed},
	{name: "definitions", form: formNamed},
	{name: "title"},
	{name: "description"},
	{name: "default"},
	{name: "deprecated"},
	{name: "readOnly"},
	{name: "writeOnly"},
	{name: "examples"},
	{name: "format"},
	{name: "contentEncoding"},
	{name: "contentMediaType"},
	{name: "contentSchema"},
	{name: "$comment"},
	{name: "type", form: formTypes, says: "%s"},
	{name: "const", says: "%s"},
	{name: "enum", form: formValues, says: "%s"},
	{name: "minLength", form: formCount, says: "at least %s characters"},
	{name: "maxLength", form: formCount, says: "at most %s characters"},
	{name: "pattern", form: formPattern, says: "text that matches %s"},
	{name: "minimum", form: formNumber, says: "at least %s"},
	{name: "maximum", form: formNumber, says: "at most %s"},
	{name: "exclusiveMinimum", form: formNumber, says: "more than %s"},
	{name: "exclusiveMaximum", form: formNumber, says: "less than %s"},
	{name: "multipleOf", form: formNumber, says: "a multiple of %s"},
	{name: "minItems", form: formCount, says: "at least %s items"},
	{name: "maxItems", form: formCount, says: "at most %s items"},
	{name: "minProperties", form: formCount, says: "at least %s members"},
	{name: "maxProperties", form: formCount, says: "at most %s members"},
	{name: "$ref", form: formRef},
	{name: "allOf", form: formSchemas, here: true},
	{name: "anyOf", form: formSchemas, here: true},
	{name: "oneOf", form: formSchemas, here: true},
	{name: "not", form: formSchema, here: true},
	{name: "if", form: formSchema, here: true},
	{name: "then", form: formSchema, here: true},
	{name: "else", form: formSchema, here: true},
	{name: "uniqueItems", form: formBool},
	{name: "prefixItems", form: formSchemas, below: true},
	{name: "items", form: formSchema, below: true},
	{name: "additionalItems", form: formSchema, below: true},
	{name: "contains", form: formSchema, below: true},
	{name: "minContains", form: formCount},
	{name: "maxContains", form: formCount},
	{name: "unevaluatedItems", form: formSchema, below: true},
	{name: "required", form: formTexts},
	{name: "dependentRequired", form: formNeeds},
	{name: "dependencies", form: formNeeds, here: true},
	{name: "dependentSchemas", form: formNamed, here: true},
	{name: "properties", form: formNamed, below: true},
	{name: "patternProperties", form: formNamed, below: true},
	{name: "additionalProperties", form: formSchema, below: true},
	{name: "propertyNames", form: formSchema, below: true},
	{name: "unevaluatedProperties", form: formSchema, below: true},
}

// unchecked are keywords of the drafts, or of others, that would change what a schema means, with what to do instead.
var unchecked = map[string]string{
	"$id": "only the outermost schema has an '$id'; name others with '$anchor'", "$vocabulary": "remove it",
	"id":          "only the outermost schema has an '$id'; name others with '$anchor'",
	"$dynamicRef": "write '$ref'", "$recursiveRef": "write '$ref'", "$dynamicAnchor": "remove it",
	"$recursiveAnchor": "remove it", "discriminator": "remove it", "nullable": "write type: [string, 'null']",
	"additionalItems": "write prefixItems for the first items, and items for the others",
	"dependencies":    "write dependentRequired or dependentSchemas",
}

// newer are the keywords that draft 07 does not have.
var newer = []string{
	"$anchor", "prefixItems", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties",
	"minContains", "maxContains",
}

var jsonTypes = []string{"string", "integer", "number", "boolean", "object", "array", "null"}

// schemas are the schemas in the value of a keyword.
func (k keyword) schemas(v *md.Node) []*md.Node {
	switch {
	case k.form == formSchema && v.Kind != md.List:
		return []*md.Node{v}
	case k.form == formSchema || k.form == formSchemas:
		return v.Items
	case k.form != formNamed && k.form != formNeeds:
		return nil
	}
	var out []*md.Node
	for _, e := range v.Entries {
		if k.form == formNamed || e.Value.Kind != md.List {
			out = append(out, e.Value)
		}
	}
	return out
}

// ReadSchema reads a schema that is written as JSON. The error is a *Failure with its place.
func ReadSchema(src []byte) (*md.Node, error) {
	v, err := jsonx.Parse(src, jsonx.Limits{Depth: maxSchemaDepth, Bytes: MaxSchema})
	if err == nil {
		return nodeOf(src, v), nil
	}
	out := &Failure{Code: CodeInvalidCommand, Message: err.Error(), Pos: Pos{Line: 1, Col: 1}}
	if broken, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		out.Pos, out.Message = placeOf(src, broken.Offset), broken.Msg
	}
	return nil, out
}

// nodeOf gives a JSON value as the positioned node of a text.
func nodeOf(src []byte, v *jsonx.Value) *md.Node {
	n := &md.Node{Kind: md.Scalar, Pos: placeOf(src, v.Start), Value: string(v.Raw(src))}
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
			key := &md.Node{Kind: md.Scalar, Type: md.Str, Pos: placeOf(src, m.KeyStart), Value: m.Key}
			n.Entries = append(n.Entries, md.Entry{Key: key, Value: nodeOf(src, m.Value)})
		}
	}
	return n
}

// schemaCheck looks for what is wrong in a schema itself.
type schemaCheck struct {
	*Schema
	findings
	seen    []*md.Node // the schemas as they were met
	anchors map[string]*md.Node
	pending []*md.Node // values of $ref
}

// CompileSchema checks a schema. The findings are in the order of the file, without its name and their code; with one
// there is no Schema.
func CompileSchema(root *md.Node) (*Schema, []Diagnostic) {
	s := &Schema{root: root, draft: draft2020, refs: map[*md.Node]*md.Node{}}
	c := &schemaCheck{Schema: s, anchors: map[string]*md.Node{}}
	switch n := root.Get("$schema"); {
	case n == nil, n.IsStr() && strings.TrimSuffix(n.Value, "#") == draft2020:
	case n.IsStr() && strings.Replace(strings.TrimSuffix(n.Value, "#"), "https:", "http:", 1)+"#" == draft07:
		s.draft = draft07
	default:
		c.fault(n, "write "+draft2020+" or "+draft07, "expected draft 2020-12 or 07 in '$schema', got %s", show(n))
	}
	c.schema(root)
	for i := 0; i < len(c.pending); i++ { // a reference may lead to a schema that was not read yet
		c.refer(c.pending[i])
	}
	use := newUse(s)
	for i := 0; i < len(c.seen) && c.list == nil; i++ {
		switch steps, circle := use.steps(c.seen[i], nil, ""); {
		case circle != nil:
			c.fault(circle, "let it refer to itself below a property or an item",
				"the schema refers to itself for the same value")
		case steps > maxSchemaNodes:
			c.fault(c.seen[i], "let fewer references lead to the same place",
				"expected at most %d schemas for one value with each reference followed, got more", maxSchemaNodes)
		}
	}
	var err error
	if s.text, err = json.Marshal(root.Any()); err == nil && c.list == nil {
		s.whole, err = s.resolved(root.Any(), wholeName)
	}
	if err != nil && c.list == nil { // the library tells no place
		c.fault(root, "", "expected a schema that can be checked: %v", err)
	}
	if c.list == nil {
		return s, nil
	}
	slices.SortStableFunc(c.list, func(a, b Diagnostic) int { return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col) })
	return nil, c.list[:min(len(c.list), maxFaults)]
}

func (c *schemaCheck) fault(n *md.Node, help, format string, args ...any) {
	c.add("E", n.Pos, fmt.Sprintf(format, args...), help)
}

// schema checks one schema, once.
func (c *schemaCheck) schema(n *md.Node) {
	if slices.Contains(c.seen, n) || len(c.seen) > maxSchemaNodes {
		return
	}
	c.seen = append(c.seen, n)
	switch {
	case len(c.seen) > maxSchemaNodes:
		c.fault(n, "split it", "expected at most %d schemas in a schema, got more", maxSchemaNodes)
	case n.Type == md.Bool:
	case n.Kind != md.Map:
		c.fault(n, "write a map of keywords such as {type: object}", "expected a schema, got %s", show(n))
	default:
		for _, e := range n.Entries {
			if n.Get(e.Key.Value) == e.Value { // else it stands twice, which the reader of the text reports
				c.keyword(n, e.Key, e.Value)
			}
		}
	}
}

// keyword checks one keyword of a schema.
func (c *schemaCheck) keyword(n, key, v *md.Node) {
	name, old := key.Value, c.draft == draft07
	at := slices.IndexFunc(keywords, func(k keyword) bool { return k.name == name })
	instead, refused := unchecked[name]
	switch {
	case refused && (name != "$id" || n != c.root) && (!old || name != "additionalItems" && name != "dependencies"):
		c.fault(key, instead, "'%s' is not checked by tercet", name)
	case at < 0 && strings.HasPrefix(name, "x-"):
	case at < 0:
		var names []string
		for _, k := range keywords {
			names = append(names, k.name)
		}
		help := cmp.Or(nearest.Help(name, names), "a remark of your own begins with x-")
		c.fault(key, help, "unknown keyword '%s' in a schema", name)
	case old && slices.Contains(newer, name):
		c.fault(key, "write $schema: "+draft2020, "'%s' is not of draft 07", name)
	case old && n.Get("$ref") != nil && name != "$ref" && name != "definitions" &&
		(keywords[at].form != "" || name == "const"):
		c.fault(key, "write allOf: [{$ref: ...}, {...}]", "'%s' beside '$ref' counts for nothing in draft 07", name)
	case name == "items" && v.Kind == md.List && !old:
		c.fault(v, "write prefixItems", "a list in 'items' is draft 07")
	default:
		if name == "$anchor" {
			c.anchors[v.Value] = n
		}
		c.value(keywords[at], v)
		for _, one := range keywords[at].schemas(v) {
			c.schema(one)
		}
	}
}

// value checks the value of a keyword.
func (c *schemaCheck) value(k keyword, v *md.Node) {
	x, err := strconv.ParseFloat(fmt.Sprint(v.Any()), 64)
	number := (v.Type == md.Int || v.Type == md.Float) && err == nil && !math.IsInf(x, 0)
	is := true
	switch k.form {
	case formAny, formTypes, formTexts, formSchema: // looked at below, or as a schema
	case formNumber:
		is = number && (k.name != "multipleOf" || x > 0)
	case formCount:
		is = number && x >= 0 && x <= math.MaxInt32 && x == math.Trunc(x)
	case formBool:
		is = v.Type == md.Bool
	case formText, formPattern, formRef:
		is = v.IsStr()
	case formValues, formSchemas:
		is = v.Kind == md.List && len(v.Items) > 0
	case formNamed, formNeeds:
		is = v.Kind == md.Map
	}
	switch {
	case !is && v.Type == md.Bool && strings.HasPrefix(k.name, "exclusive"):
		c.fault(v, "write the bound itself, "+k.name+": 5", "expected a number in '%s', got %s, which is draft 04", k.name,
			v.Value)
	case !is && k.form == formSchemas && v.Kind == md.List:
		c.fault(v, "add a schema, or remove the keyword", "'%s' holds no schema", k.name)
	case !is && k.name == "multipleOf" && number:
		c.fault(v, "", "expected a number above 0 in '%s', got %s", k.name, show(v))
	case !is:
		c.fault(v, "", "expected %s in '%s', got %s", k.form, k.name, show(v))
	case k.form == formTypes:
		c.types(v)
	case k.form == formTexts:
		c.texts(v, "name")
	case k.form == formPattern:
		c.pattern(v)
	case k.form == formRef:
		c.pending = append(c.pending, v)
	}
	for _, e := range v.Entries {
		if k.name == "patternProperties" {
			c.pattern(e.Key)
		}
		if k.name == "dependentRequired" || k.form == formNeeds && e.Value.Kind == md.List {
			c.texts(e.Value, "name")
		}
	}
}

// texts checks a list of different texts.
func (c *schemaCheck) texts(v *md.Node, what string) {
	if v.Kind != md.List {
		c.fault(v, "write ["+what+"]", "expected a list of texts, got %s", show(v))
	}
	seen := map[string]bool{}
	for _, e := range v.Items {
		switch {
		case !e.IsStr():
			c.fault(e, "", "expected text, got %s", show(e))
		case seen[e.Value]:
			c.fault(e, "remove one", "%q stands twice", e.Value)
		}
		seen[e.Value] = true
	}
}

func (c *schemaCheck) types(v *md.Node) {
	words := v.Items
	if v.IsStr() {
		words = []*md.Node{v}
	} else if c.texts(v, "string, integer"); v.Kind == md.List && len(words) == 0 {
		c.fault(v, "name a type, or remove the keyword", "'type' names none")
	}
	for _, w := range words {
		if w.IsStr() && !slices.Contains(jsonTypes, w.Value) {
			help := cmp.Or(nearest.Help(w.Value, jsonTypes), "the types are "+strings.Join(jsonTypes, ", "))
			c.fault(w, help, "unknown type %q", w.Value)
		}
	}
}

func (c *schemaCheck) pattern(v *md.Node) {
	if len(v.Value) > maxPattern {
		c.fault(v, "", "expected a pattern of at most %d bytes, got %d", maxPattern, len(v.Value))
	} else if _, err := regexp.Compile(v.Value); err != nil {
		c.fault(v, "patterns are of the syntax RE2, without look-ahead and back-references", "expected a pattern, got %q: %s",
			v.Value, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}

// refer finds what a reference leads to. Only places of the same text can be named: nothing is fetched.
func (c *schemaCheck) refer(v *md.Node) {
	where, place, _ := strings.Cut(v.Value, "#")
	if id := c.root.Get("$id"); where != "" && (id == nil || where != strings.TrimSuffix(id.Value, "#")) {
		c.fault(v, "copy the other schema under $defs, and write #/$defs/NAME",
			"expected a reference inside this schema, got %.100q: nothing is fetched", v.Value)
		return
	}
	place, err := url.PathUnescape(place)
	to := c.root
	switch {
	case err != nil:
		to = nil
	case strings.HasPrefix(place, "/"):
		for step := range strings.SplitSeq(place[1:], "/") {
			i, err := strconv.Atoi(step)
			if to != nil && to.Kind == md.List && err == nil && i >= 0 && i < len(to.Items) {
				to = to.Items[i]
			} else {
				to = to.Get(strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~"))
			}
		}
	case place != "":
		to = c.anchors[place]
	}
	if to == nil {
		c.fault(v, "write #/$defs/NAME for a schema under $defs", "nothing stands at %.100q", v.Value)
		return
	}
	c.refs[v] = to
	c.schema(to)
}

// The names by which the schemas of one text refer to each other.
const (
	wholeName = "tercet://schema"
	partName  = "tercet://part"
)

// resolved makes a schema that the library can hold values against: the whole one, or a part of it, whose references
// lead into the whole one.
func (s *Schema) resolved(plain any, name string) (*jsonschema.Resolved, error) {
	read := func(plain any) (*jsonschema.Schema, error) {
		out := &jsonschema.Schema{}
		text, err := json.Marshal(absolute(plain))
		if err == nil {
			err = json.Unmarshal(text, out)
		}
		out.Schema, out.ID = s.draft, ""
		return out, err
	}
	part, err := read(plain)
	if err != nil {
		return nil, err
	}
	load := func(*url.URL) (*jsonschema.Schema, error) { return read(s.root.Any()) }
	return part.Resolve(&jsonschema.ResolveOptions{BaseURI: name, Loader: load})
}

// absolute gives a schema whose references mean the same in every part of it.
func absolute(plain any) any {
	switch v := plain.(type) {
	case map[string]any:
		for key, one := range v {
			if to, ok := one.(string); ok && key == "$ref" {
				_, place, _ := strings.Cut(to, "#")
				v[key] = wholeName + "#" + place
			} else if !slices.Contains([]string{"const", "enum", "default", "examples"}, key) {
				absolute(one)
			}
		}
	case []any:
		for _, one := range v {
			absolute(one)
		}
	}
	return plain
}

// show is a node in a message.
func show(n *md.Node) string {
	switch {
	case n.Kind == md.List:
		return "a list"
	case n.Kind == md.Map:
		return "a map"
	case n.IsStr():
		return fmt.Sprintf("%.60q", n.Value)
	case n.Type == md.Null:
		return "null"
	}
	return n.Value
}
