package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing/fstest"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/lazy"
)

// configured gives the commands that a configuration of opencode holds, as a folder in which each
// is a file. What cannot be taken is told, and costs the other commands nothing.
func (f *Finder) configured(tree fs.FS, name string, p Place) []Folder {
	info, err := fs.Stat(tree, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}

	text, err := ReadFile(tree, name)
	if err != nil || len(text) > MaxBytes {
		f.Note(fmt.Sprintf(
			"%s cannot be read, or has more than %d bytes; its commands are left out",
			p.Label, MaxBytes,
		))
		return nil
	}

	text = plainJSON(text)
	raw, err := rawCommands(text)
	if err != nil {
		at := 1
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		} else if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			at = int(wrong.Offset)
		}
		pos := posAt(string(text), at-1)
		f.Note(fmt.Sprintf(
			"%s:%d:%d: %s is not JSON with a map of commands; its commands are left out: %v",
			p.Label, pos.Line, pos.Col, p.Label, err,
		))
		return nil
	}

	places := map[string]located{}
	// what it refuses has no places
	parsed, unsure := jsonx.Parse(text, jsonx.Limits{Duplicates: true})
	files := fstest.MapFS{}
	for _, command := range slices.Sorted(maps.Keys(raw)) {
		made, ok := asFile(raw[command])
		if !ok || command == "" {
			f.Note(fmt.Sprintf(
				"%s: command %q is left out: expected an object with a text as template",
				p.Label, command,
			))
			continue
		}
		file := strings.ReplaceAll(command, "/", ":") + ".md"
		if l, ok := locate(parsed, text, command); ok && unsure == nil {
			places[file] = l
		}
		files[file] = &fstest.MapFile{
			Data:    made,
			Mode:    0o444,
			ModTime: info.ModTime(),
		}
	}

	if len(files) == 0 {
		return nil
	}
	p.At = func(file string, at formats.Pos) formats.Pos {
		if l, ok := places[file]; ok {
			return l.at(at)
		}
		return formats.Pos{Line: 1, Col: 1}
	}
	return []Folder{{p, files}}
}

// rawCommands gives the entries of the maps command and commands; one that stands in both counts as
// it stands in the first.
func rawCommands(text []byte) (map[string]json.RawMessage, error) {
	var config struct {
		Command  map[string]json.RawMessage `json:"command"`
		Commands map[string]json.RawMessage `json:"commands"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	maps.Copy(all, config.Commands)
	maps.Copy(all, config.Command)
	return all, nil
}

// headKeys are the keys that stand in the frontmatter of a command out of a configuration, in their
// order.
var headKeys = []string{"description", "agent", "model", "subtask"}

// hasLine tells whether the frontmatter has a line for a value: it is of the right type and not
// empty.
func hasLine(key string, value any) bool {
	text, isText := value.(string)
	if key == "subtask" {
		return value == true
	}
	return isText && text != ""
}

// asFile makes of an entry the file that it would be; one without a template is none. Other values
// of the wrong type are as if they were not there.
func asFile(raw json.RawMessage) ([]byte, bool) {
	var entry map[string]any
	if json.Unmarshal(raw, &entry) != nil {
		return nil, false
	}
	template, ok := entry["template"].(string)
	var made bytes.Buffer
	made.WriteString("---\n")
	for _, key := range headKeys {
		if hasLine(key, entry[key]) {
			value, err := json.Marshal(entry[key])
			if err != nil {
				return nil, false
			}
			fmt.Fprintf(&made, "%s: %s\n", key, value)
		}
	}
	made.WriteString("---\n" + template)
	return made.Bytes(), ok && template != ""
}

// located knows where the lines of a command stand in the configuration that holds it.
type located struct {
	src string // the configuration without comments, which has the same places
	key int    // offset of the command's name
	// offset of the value that each line of the frontmatter was made of, from the second line on
	heads    []int
	template *jsonx.Value
}

// locate finds a command of the map in a configuration; false if the text has it in no place that
// could be told.
func locate(config *jsonx.Value, src []byte, name string) (located, bool) {
	for _, group := range []string{"command", "commands"} {
		commands := config.Get(group)
		if commands == nil {
			continue
		}
		for _, m := range commands.Members {
			if m.Key != name || !m.Value.Get("template").Is(jsonx.String) {
				continue
			}
			l := located{
				src:      string(src),
				key:      m.KeyStart,
				template: m.Value.Get("template"),
			}
			for _, key := range headKeys {
				v := m.Value.Get(key)
				var value any
				if v != nil && json.Unmarshal(src[v.Start:v.End], &value) == nil &&
					hasLine(key, value) {
					l.heads = append(l.heads, v.Start)
				}
			}
			return l, true
		}
	}

	return located{}, false
}

// at gives the place in the configuration of a place in the text that was made of it.
func (l located) at(p formats.Pos) formats.Pos {
	offset := l.key
	body := len(l.heads) + 3 // behind two lines of hyphens
	switch {
	case p.Line >= body:
		offset = l.inside(p.Line-body, p.Col-1)
	case p.Line >= 2 && p.Line-2 < len(l.heads):
		offset = l.heads[p.Line-2]
	}
	return posAt(l.src, offset)
}

// jsonPiece is a character of a JSON text, as it is written there.
var jsonPiece = lazy.Regexp(`(?s)\\u[dD][89abAB]..\\u....|\\u....|\\.|.`)

// inside is the offset of a byte of the template, which is told by its line and its place in that.
func (l located) inside(line, col int) int {
	start := l.template.Start + 1
	end := l.template.End - 1
	for _, at := range jsonPiece().FindAllStringIndex(l.src[start:end], -1) {
		var text string
		if line <= 0 && col <= 0 ||
			json.Unmarshal([]byte(`"`+l.src[start+at[0]:start+at[1]]+`"`), &text) != nil {
			return start + at[0]
		}
		if line > 0 {
			line -= strings.Count(text, "\n")
		} else {
			col -= len(text)
		}
	}
	return end
}
