package dialect

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"tercet/formats"
)

// Bounds of a TOML file: what the library needs grows with the square of them or worse.
const (
	maxNested = 500   // brackets inside each other
	maxParts  = 5_000 // of a name with dots
	maxPlaced = 20    // keys whose places are asked for
)

// tomlHelps tells what to do, by words of the library's message.
var tomlHelps = []struct{ words, help string }{
	{"already been defined", "keep one of the two"},
	{"cannot contain newlines", `close the quote, or write """ around a text of several lines`},
	{"escape", `write \\ for a backslash, or put ''' around the text`},
	{"hexadecimal", `write \\ for a backslash, or put ''' around the text`},
	{"expected value", `put a text into quotes: "text"`},
	{"to end with a newline", "end the line after the value; quotes inside a text need a backslash, or ''' around it"},
	{"unexpected EOF", `write key = "value", and close each quote and bracket`},
	{"end table name", "write [name]"},
	{"'='", "write key = value"},
}

// nowhere cannot be decoded: the error of the attempt tells where a value stands.
type nowhere struct{}

var errNowhere = errors.New("no value")

// UnmarshalTOML implements toml.Unmarshaler.
func (nowhere) UnmarshalTOML(any) error { return errNowhere }

// toml gives the keys at the top of a TOML file, and the offset at which the value of each begins.
func (n *notes) toml(text string) (keys []Key, starts map[string]int, ok bool) {
	if at := tooDeep(text); at >= 0 {
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
		n.broken(text, err)
		return nil, nil, false
	}
	starts = map[string]int{}
	for _, path := range meta.Keys() {
		name := path[0]
		if _, seen := starts[name]; seen {
			continue
		}
		k := Key{Name: name, Pos: formats.Pos{Line: 1, Col: 1}, Value: values[name], Raw: fmt.Sprint(values[name])}
		starts[name] = 0
		if place, ok := errors.AsType[toml.ParseError](meta.PrimitiveDecode(places[name], &nowhere{})); ok && (len(keys) < maxPlaced || name == "prompt") {
			starts[name] = place.Position.Start
			k.Pos.Line = posAt(text, starts[name]).Line
			line := text[strings.LastIndexByte(text[:starts[name]], '\n')+1:]
			k.Pos.Col += len(line) - len(strings.TrimLeft(line, " \t"))
		}
		keys = append(keys, k)
	}
	return keys, starts, true
}

// broken notes why the library refused a file.
func (n *notes) broken(text string, err error) {
	at, message := formats.Pos{Line: 1, Col: 1}, err.Error()
	if e, ok := errors.AsType[toml.ParseError](err); ok {
		at, message = posAt(text, e.Position.Start), strings.TrimSuffix(e.Message, ".")
	}
	first := []rune(message)
	first[0] = unicode.ToLower(first[0])
	help := `write prompt = """ ... """`
	for _, one := range tomlHelps {
		if strings.Contains(message, one.words) {
			help = one.help
			break
		}
	}
	n.add(codeTOML, at, help, string(first))
}

// tooDeep gives the offset at which brackets or the parts of a name are more than anybody writes, or -1. Signs inside of
// texts count too: there they are balanced, or few.
func tooDeep(text string) int {
	depth, parts := 0, 0
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

// posAt is the place of an offset in a text.
func posAt(text string, offset int) formats.Pos {
	before := text[:min(max(offset, 0), len(text))]
	return formats.Pos{Line: 1 + strings.Count(before, "\n"), Col: len(before) - strings.LastIndexByte(before, '\n')}
}
