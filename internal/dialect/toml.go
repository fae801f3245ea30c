package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"

	"tercet/formats"
	"tercet/internal/lazy"
)

// Limits of a TOML file, because the library's cost grows with the square of its size or faster.
const (
	maxNested    = 500   // nested brackets
	maxParts     = 5_000 // parts of a dotted name
	maxPositions = 20    // keys whose positions are looked up
)

// tomlMessages maps the library's messages to ones for the author of a command; KEY is the last key
// read.
var tomlMessages = []struct {
	form, text, help string
	// offset of the error before the end of the library's match; 0: its beginning
	back int
}{
	{
		`^expected value but found "(.*)" instead$`, `expected a value, got "$1"`,
		`put the text into quotes: "$1"`, 0,
	},
	{
		`^invalid escape in string '(.*)'$`, "unknown escape $1 in a text with double quotes",
		escapeHelp, 2,
	},
	{
		`^expected (?:four|eight|two) hexadecimal digits `,
		"unknown escape in a text with double quotes", escapeHelp, 0,
	},
	{`^Key '(.*)' has already been defined\.$`, "key $1 stands twice", "keep one of the two", 0},
	{
		`^expected a top-level item to end with a newline, `, "text after the value of KEY",
		"end the line after the value; quotes inside a text need a backslash, or ''' around it", 1,
	},
	{
		`^strings cannot contain newlines$`, "quoted text without a closing quote on its line",
		`close the quote, or write """ around a text of several lines`, 0,
	},
	{
		`^unexpected EOF; expected '("""|''')'$`, "text opened by $1 is not closed",
		"end it with $1", 0,
	},
	{
		`^unexpected EOF; expected ["'].["']$`, "quoted text without a closing quote",
		"close the quote", 0,
	},
	{
		`^(?:unexpected EOF; expected key separator '='|expected '\.' or '=', but got )`,
		noEquals, "write key = value", 0,
	},
	{`^expected .* to end table name`, "expected ] after the name of a table", "write [name]", 0},
	{`^expected a comma.*'}'`, "expected , or } in a table", "close the table with }", 0},
	{`^expected a comma.*']'`, "expected , or ] in a list", "close the list with ]", 0},
}

// noEquals is the message for a line that is neither a key nor a comment.
const noEquals = "expected = after the key"

const escapeHelp = `write \\ for a backslash, or put ''' around the text`

// undecodable cannot be decoded: the error of the attempt has the position of a value.
type undecodable struct{}

var errUndecodable = errors.New("no value")

// UnmarshalTOML implements toml.Unmarshaler.
func (undecodable) UnmarshalTOML(any) error {
	return errUndecodable
}

// parseTOML returns the top-level keys of a TOML file, and the offset at which each value begins.
func (n *notes) parseTOML(text string) (keys []Key, starts map[string]int, ok bool) {
	if at := nestedTooDeep(text); at >= 0 {
		n.add(codeTOML, posAt(text, at), "flatten the value", "values nested too deeply")
		return nil, nil, false
	}

	values := map[string]any{}
	var places map[string]toml.Primitive
	meta, err := toml.Decode(text, &places)
	if err == nil {
		_, err = toml.Decode(text, &values)
	}
	if err != nil {
		n.noteTOMLError(text, err)
		return nil, nil, false
	}

	starts = map[string]int{}
	for _, path := range meta.Keys() {
		name := path[0]
		if _, seen := starts[name]; seen {
			continue
		}
		k := Key{
			Name:  name,
			Pos:   formats.Pos{Line: 1, Col: 1},
			Value: values[name],
			Raw:   fmt.Sprint(values[name]),
		}
		starts[name] = 0
		// the library looks for one place among all keys
		wanted := len(keys) < maxPositions || name == "prompt"
		var place toml.ParseError
		ok := false
		if wanted {
			place, ok = errors.AsType[toml.ParseError](
				meta.PrimitiveDecode(places[name], &undecodable{}),
			)
		}
		if ok {
			starts[name] = place.Position.Start
			k.Pos.Line = posAt(text, starts[name]).Line
			line := text[strings.LastIndexByte(text[:starts[name]], '\n')+1:]
			k.Pos.Col += len(line) - len(strings.TrimLeft(line, " \t"))
		}
		keys = append(keys, k)
	}

	return keys, starts, true
}

// noteTOMLError reports why the library refused a file.
func (n *notes) noteTOMLError(text string, err error) {
	e, ok := errors.AsType[toml.ParseError](err)
	if !ok {
		e.Message = err.Error()
	}

	at := e.Position.Start
	message := e.Message
	help := `write prompt = """ ... """`

	for _, one := range tomlMessages {
		form := regexp.MustCompile("(?s)" + one.form)
		if found := form.FindStringSubmatchIndex(message); found != nil {
			help = string(form.ExpandString(nil, one.help, message, found))
			message = string(form.ExpandString(nil, one.text, message, found))
			if one.back > 0 {
				at += e.Position.Len - one.back
			}
			break
		}
	}

	if message == noEquals && frontLine().MatchString(lineAt(text, at)) {
		message = "--- has no place in TOML"
		help = "take the line out: a file in TOML has no frontmatter"
	}

	message = formats.Clip(message, 200)
	n.add(codeTOML, posAt(text, at), help, strings.Replace(message, "KEY", lastKey(text, e), 1))
}

// lastKey is the key whose value was read last. The library gives none for a value at the top of a
// file: then it is the last key that begins a line before the error.
func lastKey(text string, e toml.ParseError) string {
	if e.LastKey != "" {
		return e.LastKey
	}
	key := "the key"
	before := longText().ReplaceAllString(text[:min(max(e.Position.Start, 0), len(text))], "")
	for _, found := range topKey().FindAllStringSubmatch(before, -1) {
		key = found[1]
	}
	return key
}

// longText matches a text of several lines, in which a line may look like a key.
var longText = lazy.Regexp(`(?s)""".*?"""|'''.*?'''`)

// frontLine matches a line that would open or close the frontmatter of a Markdown file.
var frontLine = lazy.Regexp(`^-{3}`)

// topKey matches the beginning of a line that sets a key.
var topKey = lazy.Regexp(`(?m)^[ \t]*([A-Za-z0-9_.-]{1,64}|"[^"\n]{1,64}")[ \t]*=`)

// lineAt is the line that holds an offset, without white space around it.
func lineAt(text string, offset int) string {
	at := min(max(offset, 0), len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return strings.TrimSpace(line)
}

// nestedTooDeep returns the offset at which brackets or the parts of a name exceed the limits, or
// -1. Characters in strings count too: there they are balanced, or few.
func nestedTooDeep(text string) int {
	depth := 0
	parts := 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '.':
			parts++
		case '=', '\n':
			parts = 0
		case ' ':
			if i > 0 && text[i-1] != '.' && i+1 < len(text) && text[i+1] != '.' {
				parts = 0
			}
		}
		if depth > maxNested || parts > maxParts {
			return i
		}
	}
	return -1
}

// posAt converts an offset to a position.
func posAt(text string, offset int) formats.Pos {
	before := text[:min(max(offset, 0), len(text))]
	return formats.Pos{
		Line: 1 + strings.Count(before, "\n"),
		Col:  len(before) - strings.LastIndexByte(before, '\n'),
	}
}
