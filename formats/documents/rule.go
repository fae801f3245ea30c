package documents

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	"tercet/formats/record"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// wordRule is a closed set of words, and other spellings of them, such as those of another
// language.
type wordRule struct {
	Words   []string          `json:"words"`
	Spelled map[string]string `json:"spelled"`
}

// parse returns the word of the set that a text says. want is what was expected if it is none.
func (w *wordRule) parse(text string) (word any, want, help string) {
	if as, ok := w.Spelled[text]; ok {
		return as, "", ""
	}
	if slices.Contains(w.Words, text) {
		return text, "", ""
	}

	want = strings.Join(w.Words, ", ")
	if len(w.Words) > 1 {
		want = "one of " + want
	}
	return nil, want, nearest.Help(text, w.Words)
}

// keyRule is the rule of one key of a document, or of a column of a table. A key with words has one
// of them.
type keyRule struct {
	wordRule

	Name     string    `json:"name"`
	As       string    `json:"as"`   // name of the field; empty: derived from the name
	Also     []string  `json:"also"` // other spellings
	In       string    `json:"in"`   // section of the key; empty: anywhere
	Type     valueType `json:"type"`
	Form     string    `json:"form"` // regular expression of a text
	Want     string    `json:"want"` // what a text of that form is
	Required bool      `json:"required"`
	Section  bool      `json:"section"` // the text of a section of that name also counts
	Null     bool      `json:"null"`    // of a payload: it may be null
	Default  string    `json:"default"` // of a payload: value of a missing key
	Variant  string    `json:"variant"`

	form *regexp.Regexp // Form, or nil
}

// header as the section of a key means the part above the first section.
const header = "header"

// valueType is the type of a value without a closed set of words.
type valueType string

const (
	typeText  valueType = ""
	typeDate  valueType = "date"
	typeBool  valueType = "bool"
	typeCount valueType = "count" // an integer from 0
	typeList  valueType = "list"
	typeLines valueType = "lines" // the texts of all lines with the key
	typeFile  valueType = "file"  // of a column: a path in the project
	typePaths valueType = "paths" // of a payload: pairs of a name and a path
)

// VariantSeed is the variant of rules for the form of the first handoff documents; that of the
// present form is "current", and a rule without a variant is for both.
const VariantSeed = "seed"

// sectionRule is the rule of one section of level 2.
type sectionRule struct {
	Name      string         `json:"name"`
	Also      []string       `json:"also"` // other spellings
	Required  bool           `json:"required"`
	Optional  bool           `json:"optional"` // of a document with sections: it may be missing
	Filled    bool           `json:"filled"`   // it has to say something
	Variant   string         `json:"variant"`
	Table     *tableRule     `json:"table"`
	Checklist *checklistRule `json:"checklist"`
	Files     *filesRule     `json:"files"`
	Modes     *modesRule     `json:"modes"`
}

// tableRule is the table of a section. Its rows become a list of maps.
type tableRule struct {
	As      string    `json:"as"`
	Columns []keyRule `json:"columns"`
}

// checklistRule is the checklist of a section. Its items become a list of maps.
type checklistRule struct {
	As      string `json:"as"`
	Example string `json:"example"`
}

// filesRule is a section of lines `FILE.md: word (resolved path: path)`. Only the required files
// have to be valid.
type filesRule struct {
	wordRule

	As       string   `json:"as"`
	Required []string `json:"required"`
}

// modesRule is a section of lines `tier: mode of approval`.
type modesRule struct {
	As       string   `json:"as"`
	Settable []string `json:"settable"`
	Asking   []string `json:"asking"` // tiers that always ask
}

// tasksRule is a list of tasks, in a section or, with boxes, else in the whole document. Boxes
// means that only items with a box are tasks, and that there has to be one.
type tasksRule struct {
	As    string   `json:"as"`
	In    string   `json:"in"`
	Also  []string `json:"also"`
	Boxes bool     `json:"boxes"`
}

// topicRule is a truth value: whether the first section about a topic says more than that there is
// nothing. A line with the key has precedence.
type topicRule struct {
	As      string   `json:"as"`
	In      []string `json:"in"` // parts of the names of sections
	Nothing []string `json:"nothing"`
}

// checkRule is a check over more than one value.
type checkRule struct {
	At    string `json:"at"`    // key or section that the finding points at
	Finds string `json:"finds"` // jq over the fields: the message, or nothing
	Help  string `json:"help"`

	code *query.Code // Finds
}

// compile compiles what a profile has as text.
func (p *profile) compile() (err error) {
	for i := range p.Keys {
		k := &p.Keys[i]
		if k.Form == "" {
			continue
		}
		k.form, err = regexp.Compile(k.Form)
		if err != nil {
			return err
		}
	}
	for i := range p.Checks {
		c := &p.Checks[i]
		c.code, err = query.Compile(c.Finds, query.Options{Strict: true})
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *keyRule) field() string {
	if k.As != "" {
		return k.As
	}
	return fieldKey(k.Name)
}

func (k *keyRule) matches(key string) bool {
	same := func(name string) bool { return fieldKey(name) == key }
	return same(k.Name) || slices.ContainsFunc(k.Also, same)
}

// example is a valid value of the key.
func (k *keyRule) example() string {
	if k.Words != nil {
		return k.Words[0]
	}
	switch k.Type {
	case typeDate:
		return "2026-01-31"
	case typeBool:
		return "true"
	case typeCount:
		return "0"
	case typeText, typeList, typeLines, typeFile, typePaths:
	}
	return "..."
}

// isText reports whether every text is a value of the key.
func (k *keyRule) isText() bool {
	return k.Words == nil && k.Type == typeText
}

// parse parses a value. want is what was expected if it is invalid; help alone reports another
// spelling.
func (k *keyRule) parse(e entry) (v any, want, help string) {
	text := e.value
	if k.Words != nil {
		return k.wordRule.parse(text)
	}

	switch k.Type {
	case typeDate:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return nil, "a date such as 2026-01-31", ""
		}
	case typeBool:
		at := slices.Index([]string{"true", "false", "yes", "no"}, text)
		if at < 0 {
			return nil, "true or false", ""
		}
		if at > 1 {
			help = fmt.Sprintf("write %t", at == 2)
		}
		return at%2 == 0, "", help
	case typeCount:
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, "a whole number", ""
		}
		return n, "", ""
	case typeList:
		return parseItems(e)
	case typeText:
		if k.form != nil && !k.form.MatchString(text) {
			return nil, k.Want, ""
		}
		if e.items != nil {
			return formats.Values(e.items), "", ""
		}
		if list, ok := record.ParseBracketed(text); ok {
			return list, "", ""
		}
	case typeLines, typeFile, typePaths:
	}

	return text, "", ""
}

// parseItems parses items below a key, or after it: in brackets, or with commas.
func parseItems(e entry) (v any, want, help string) {
	out := formats.Values(e.items)
	if e.items == nil && !record.IsNone(e.value) {
		out, _ = record.ParseBracketed(strings.TrimSuffix(strings.TrimPrefix(e.value, "["), "]"))
	}
	if len(out) == 0 {
		return nil, "a list with at least one item", ""
	}
	return out, "", ""
}

// nameOf returns the rule's name of a section, else the text of its heading.
func (p *profile) nameOf(heading string) string {
	text := strings.TrimSpace(headingSuffix().ReplaceAllString(
		headingNumber().ReplaceAllString(heading, ""),
		"",
	))

	for _, s := range p.Sections {
		if _, same := matchName(text, append([]string{s.Name}, s.Also...)); same {
			return s.Name
		}
	}

	for _, k := range p.Keys {
		if k.Section && k.matches(fieldKey(text)) {
			return k.Name
		}
	}
	return text
}

var (
	headingNumber = lazy.Regexp(`^\d+(?:\.\d+)*[.)．]?[ \t]+`)
	headingSuffix = lazy.Regexp(`[ \t]*[(（][^()（）]*[)）][ \t]*$`)
)

// field is the metadata that a label names.
func (p *profile) field(label string) (name string, known bool) {
	name, known = matchName(label, p.Fields)
	for own, also := range p.Spelled {
		if _, same := matchName(label, also); same && !known {
			return own, true
		}
	}
	return name, known
}

// sectionOf is the section that a heading names.
func (p *profile) sectionOf(heading string) (name string, known bool) {
	name, known = matchName(heading, p.sectionNames())
	for _, s := range p.Sections {
		if _, same := matchName(heading, s.Also); same && !known {
			return s.Name, true
		}
	}
	return name, known
}

func (p *profile) section(name string) *sectionRule {
	for i := range p.Sections {
		if p.Sections[i].Name == name {
			return &p.Sections[i]
		}
	}
	return nil
}
