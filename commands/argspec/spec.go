package argspec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
)

// Type is the type of an argument.
type Type string

// The types of arguments.
const (
	String   Type = "string"
	Path     Type = "path"
	Enum     Type = "enum"
	Text     Type = "text"
	Integer  Type = "integer"
	Number   Type = "number"
	Boolean  Type = "boolean"
	Duration Type = "duration"
	Task     Type = "task"
	Tasks    Type = "tasks"
	JSON     Type = "json"
	Subagent Type = syntax.Subagent
)

// types are the words of all types.
var types = []string{
	"string", "path", "enum", "text", "integer", "number", "boolean", "duration", "task", "tasks",
	"json", syntax.Subagent,
}

// String is the word as it stands in a command file.
func (t Type) String() string {
	return string(t)
}

// Spec is one argument of a command; Specs makes it.
type Spec struct {
	Name        string
	Type        Type
	Required    bool
	Flag        bool // accepted as --name only
	Default     any  // in the types of Values; nil if there is none
	Description string
	Short       string // one letter, empty if there is none
	Values      []string
	Min, Max    *float64       // bound of an integer, a number, or a duration in seconds
	Pattern     *regexp.Regexp // of a string, a path or a text; nil for any
	Repeat      bool
	Complete    string // how the prompt completes it
	// the prompt asks for it together with missing arguments, though it is optional
	Ask bool
	// key of the project's rules whose value is offered where the line has none
	Rules  string
	Unless []string // if one of these is given, tercet neither requires nor asks for this one
	Of     string   // the argument of type subagent whose input this one gives
	Path   string   // the argument that a text of one word ending in .md gives instead
	Pos    formats.Pos
}

// AtLeast raises the lower bound of an integer or a number to n; other types stay as they are.
func (s *Spec) AtLeast(n float64) {
	if (s.Type == Integer || s.Type == Number) && (s.Min == nil || *s.Min < n) {
		s.Min = &n
	}
}

// The codes of mistakes in the declaration of an argument.
const (
	CodeOrder    = "E014"
	CodeName     = "E050"
	CodeType     = "E051"
	CodeRepeated = "E052"
	CodeDefault  = "E053"
	CodeKey      = "E054"
	CodeLast     = "E055"
)

// Specs checks the arguments of a command file. The findings name no file, because an argument
// knows only its position. Bind the specs only if no finding is an error.
func Specs(args []syntax.Argument) ([]Spec, []formats.Diagnostic) {
	c := checker{}
	for i := range args {
		c.checkArgument(&args[i])
	}
	c.checkOrder()
	for i := range args {
		c.checkUnless(&args[i])
		c.checkOf(&args[i])
		c.checkPath(&args[i])
	}
	return c.specs, c.found
}

type checker struct {
	specs []Spec
	found []formats.Diagnostic
}

func (c *checker) report(code string, pos formats.Pos, help, format string, args ...any) {
	c.found = append(c.found, formats.Diagnostic{
		Code:     code,
		Severity: formats.SeverityError,
		Pos:      pos,
		Message:  fmt.Sprintf(format, args...),
		Help:     help,
	})
}

func (c *checker) checkArgument(a *syntax.Argument) {
	s := Spec{
		Name:        a.Name.Text,
		Type:        Type(a.Type.Text),
		Required:    a.Required,
		Flag:        a.Flag,
		Description: a.Description,
		Short:       a.Short,
		Values:      a.Values,
		Min:         a.Min,
		Max:         a.Max,
		Repeat:      a.Repeat,
		Complete:    a.Complete,
		Ask:         a.Ask,
		Pos:         a.Pos,
	}
	c.checkName(a)
	switch {
	case a.Type.Text == "":
		c.report(CodeType, a.Pos, "give it a type such as string or task",
			"argument '%s' has no type", s.Name)
		return
	case !slices.Contains(types, a.Type.Text):
		help := cmp.Or(nearest.Help(a.Type.Text, types), "the types are "+strings.Join(types, ", "))
		c.report(CodeType, a.Type.Pos, help, "expected argument type, got %q", a.Type.Text)
		s.Type = JSON // what names it is no further mistake
		c.specs = append(c.specs, s)
		return
	}

	if s.Type == Subagent {
		s.Complete = cmp.Or(s.Complete, "subagents")
	}
	if c.checkKeys(a, &s) && a.Default != nil {
		c.checkDefault(a, &s)
	}
	c.specs = append(c.specs, s)
}

func (c *checker) checkName(a *syntax.Argument) {
	name := a.Name.Text
	pos := a.Name.Pos
	if pos.IsZero() {
		pos = a.Pos
	}
	switch {
	case !nameForm().MatchString(name):
		c.report(CodeName, pos, "",
			"expected name of lower case letters, digits and '_', got %q", name)
	case name == "help":
		c.report(CodeName, pos, "choose another name", "name 'help' is taken by --help")
	}

	if s := a.Short; s != "" && !shortForm().MatchString(s) {
		c.report(CodeName, a.Pos, "", "expected one letter for short, got %q", s)
	}
	for i := range c.specs {
		other := &c.specs[i]
		if other.Name == name || other.Type == Boolean && name == "no_"+other.Name ||
			a.Type.Text == string(Boolean) &&
				other.Name == "no_"+name {
			c.report(CodeRepeated, pos, "",
				"arguments '%s' and '%s' cannot be told apart", other.Name, name)
		}
		if a.Short != "" && other.Short == a.Short {
			c.report(CodeRepeated, a.Pos, "",
				"arguments '%s' and '%s' have the same letter '%s'", other.Name, name, a.Short)
		}
	}
}

var (
	nameForm  = lazy.Regexp(`^[a-z][a-z0-9_]*$`)
	shortForm = lazy.Regexp(`^[a-zA-Z]$`)
)

// checkKeys checks the keys that only some types have, and tells whether values may be held against
// the spec.
func (c *checker) checkKeys(a *syntax.Argument, s *Spec) bool {
	before := len(c.found)
	only := func(key string, present bool, types ...Type) {
		if present && !slices.Contains(types, s.Type) {
			c.report(CodeKey, a.Pos, "", "an argument of type %s has no '%s'", s.Type, key)
		}
	}
	only("values", len(s.Values) > 0, Enum, String, Tasks)
	only("min", s.Min != nil, Integer, Number, Duration)
	only("max", s.Max != nil, Integer, Number, Duration)
	only("pattern", a.Pattern != nil, String, Path, Text)
	only("rules", a.Rules != nil, String, Enum)
	only("repeat", s.Repeat, String, Path, Enum, Integer, Number, Duration, JSON)
	if s.Type == Enum && len(s.Values) == 0 {
		c.report(CodeKey, a.Pos, "add values: [...]", "an argument of type enum needs 'values'")
	}
	for i, v := range s.Values {
		if v == "" || slices.Contains(s.Values[:i], v) {
			c.report(CodeKey, a.Pos, "",
				"expected different words as values, got %q twice or empty", v)
		}
	}

	keys := []string{"output_language", "product_type", "slug"}
	if a.Rules != nil {
		s.Rules = a.Rules.Text
		if !s.Required || !slices.Contains(keys, s.Rules) {
			c.report(CodeKey, a.Rules.Pos,
				cmp.Or(nearest.Help(s.Rules, keys), "write required: true"),
				"expected one of %s for rules of a required argument, got %q",
				strings.Join(keys, ", "), s.Rules)
		}
	}
	if s.Min != nil && s.Max != nil && *s.Min > *s.Max {
		c.report(CodeKey, a.Pos, "", "expected min of at most max, got %v and %v", *s.Min, *s.Max)
	}
	if a.Pattern != nil {
		re, err := regexp.Compile(a.Pattern.Text)
		if err != nil {
			c.report(CodeKey, a.Pattern.Pos, "the syntax is RE2",
				"expected pattern, got %q: %v", a.Pattern.Text, err)
		}
		s.Pattern = re
		if err == nil {
			re.Longest() // what matches the whole is found as such
		}
	}
	if s.Type == Text && s.Flag {
		c.report(CodeKey, a.Pos, "use type string", "an argument of type text cannot be a flag")
	}
	return len(c.found) == before
}

func (c *checker) checkDefault(a *syntax.Argument, s *Spec) {
	if a.Default.Kind == syntax.Literal && a.Default.Lit == nil {
		return
	}
	if s.Required {
		c.report(CodeDefault, a.Default.Pos, "leave out 'required' or 'default'",
			"a required argument has no use for a default")
		return
	}

	v, want := s.literal(a.Default)
	if want != "" {
		c.report(CodeDefault, a.Default.Pos, "",
			"expected %s as default of '%s', got %s", want, s.Name, a.Default)
		return
	}
	s.Default = v
}

// literal turns the default of a file into what the same value on the line would give.
func (s *Spec) literal(v *syntax.Value) (out any, want string) {
	if s.Type == JSON {
		return plainValue(v)
	}
	if s.Repeat || s.Type == Tasks && v.Kind == syntax.List {
		if v.Kind != syntax.List {
			return nil, "list"
		}
		one := *s
		one.Repeat = false
		list := make([]any, 0, len(v.Items))
		for _, item := range v.Items {
			got, want := one.literal(item)
			if want != "" {
				return nil, want
			}
			if numbers, ok := got.([]any); ok {
				list = append(list, numbers...)
				continue
			}
			list = append(list, got)
		}
		return list, ""
	}
	if v.Kind != syntax.Literal {
		return nil, s.Type.String() + " without an expression"
	}

	fits := false
	switch v.Lit.(type) {
	case string:
		fits = !slices.Contains([]Type{Integer, Number, Boolean, Task}, s.Type)
	case int:
		fits = slices.Contains([]Type{Integer, Number, Task, Tasks}, s.Type)
	case float64:
		fits = s.Type == Number
	case bool:
		fits = s.Type == Boolean
	}

	if !fits {
		return nil, s.Type.String()
	}
	return s.value(fmt.Sprint(v.Lit))
}

// plainValue turns a value of a file that has no expression in it into plain data.
func plainValue(v *syntax.Value) (out any, want string) {
	switch v.Kind {
	case syntax.Jq, syntax.Template:
		return nil, "value without an expression"
	case syntax.List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i], want = plainValue(item)
			if want != "" {
				return nil, want
			}
		}
		return list, ""
	case syntax.Map:
		table := make(map[string]any, len(v.Fields))
		for _, f := range v.Fields {
			table[f.Key.Text], want = plainValue(f.Value)
			if want != "" {
				return nil, want
			}
		}
		return table, ""
	case syntax.Literal:
	}
	return v.Lit, ""
}

// spec is what was made of an argument; nil: it was refused.
func (c *checker) spec(a *syntax.Argument) *Spec {
	at := slices.IndexFunc(c.specs, func(s Spec) bool {
		return s.Name == a.Name.Text
	})
	if at < 0 {
		return nil
	}
	return &c.specs[at]
}

// checkUnless takes over the arguments beside which one is not needed; they must be declared.
func (c *checker) checkUnless(a *syntax.Argument) {
	for _, w := range a.Unless {
		known := func(s Spec) bool {
			return s.Name == w.Text && s.Name != a.Name.Text
		}
		if !slices.ContainsFunc(c.specs, known) {
			c.report(CodeKey, w.Pos, "name another argument of the command",
				"no other argument is named '%s'", w.Text)
		}
		if s := c.spec(a); s != nil {
			s.Unless = append(s.Unless, w.Text)
		}
	}
}

// checkOf takes over the subagent whose input an argument gives.
func (c *checker) checkOf(a *syntax.Argument) {
	if a.Of == nil {
		return
	}
	s := c.spec(a)
	if s == nil {
		return
	}

	if s.Type != Text && (s.Type != String || !s.Repeat) {
		c.report(CodeKey, a.Of.Pos, "make it a text, or a string with repeat: true",
			"'of' belongs to a text, or to a string that may be repeated")
	}

	if !slices.ContainsFunc(c.specs, func(s Spec) bool {
		return s.Name == a.Of.Text && s.Type == Subagent
	}) {
		c.report(CodeKey, a.Of.Pos, "declare one: {name: "+a.Of.Text+", type: subagent}",
			"no argument of type subagent is named '%s'", a.Of.Text)
	}
	s.Of = a.Of.Text
}

// checkPath takes over the argument that gets a text which names a file.
func (c *checker) checkPath(a *syntax.Argument) {
	if a.Path == nil {
		return
	}
	s := c.spec(a)
	if s == nil {
		return
	}

	if s.Type != Text || s.Required {
		c.report(CodeKey, a.Path.Pos, "make it an optional text, or leave 'path' out",
			"'path' belongs to an optional text")
	}

	if !slices.ContainsFunc(c.specs, func(s Spec) bool {
		return s.Name == a.Path.Text && s.Type == Path && s.Flag
	}) {
		c.report(CodeKey, a.Path.Pos,
			"declare one: {name: "+a.Path.Text+", type: path, flag: true}",
			"no flag of type path is named '%s'", a.Path.Text)
	}
	s.Path = a.Path.Text
}

// checkOrder checks the positional arguments against each other.
func (c *checker) checkOrder() {
	optional := ""
	rest := ""
	for i := range c.specs {
		s := &c.specs[i]
		if s.Flag {
			continue
		}
		if s.Required && optional != "" {
			c.report(CodeOrder, s.Pos, "move it before '"+optional+"'",
				"required argument '%s' stands after optional '%s'", s.Name, optional)
		}
		if rest != "" {
			c.report(CodeLast, s.Pos, "move it before '"+rest+"'",
				"argument '%s' stands after '%s', which takes the rest of the line", s.Name, rest)
		}
		if !s.Required {
			optional = s.Name
		}
		if s.Type == Text || s.Repeat {
			rest = s.Name
		}
	}
}
