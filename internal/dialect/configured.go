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

// configCommands returns the commands in a configuration of opencode, as a folder of files. Entries
// that cannot be read are reported and do not affect the others.
func (f *Finder) configCommands(tree fs.FS, name string, p Place) []Folder {
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

	text = stripJSON(text)
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

	places := map[string]configOrigin{}
	// its errors have no positions
	parsed, unsure := jsonx.Parse(text, jsonx.Limits{Duplicates: true})
	files := fstest.MapFS{}
	for _, command := range slices.Sorted(maps.Keys(raw)) {
		made, ok := commandFile(raw[command])
		if !ok || command == "" {
			f.Note(fmt.Sprintf(
				"%s: command %q is left out: expected an object with a text as template",
				p.Label, command,
			))
			continue
		}
		file := strings.ReplaceAll(command, "/", ":") + ".md"
		if l, ok := findOrigin(parsed, text, command); ok && unsure == nil {
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
			return l.posIn(at)
		}
		return formats.Pos{Line: 1, Col: 1}
	}
	return []Folder{{p, files}}
}

// rawCommands returns the entries of the maps command and commands; the first map takes precedence.
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

// headKeys are the keys of the frontmatter of a configured command, in order.
var headKeys = []string{"description", "agent", "model", "subtask"}

// hasLine reports whether a value gets a line in the frontmatter: it has the right type and is not
// empty.
func hasLine(key string, value any) bool {
	text, isText := value.(string)
	if key == "subtask" {
		return value == true
	}
	return isText && text != ""
}

// commandFile converts an entry to the equivalent file; one without a template is not a command.
// Values of the wrong type are ignored.
func commandFile(raw json.RawMessage) ([]byte, bool) {
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

// configOrigin maps the lines of a command to the configuration that contains it.
type configOrigin struct {
	src string // the configuration with comments blanked out
	key int    // offset of the command's name
	// offset of the value of each frontmatter line, from the second line on
	heads    []int
	template *jsonx.Value
}

// findOrigin finds a command in a configuration; false if its position is unknown.
func findOrigin(config *jsonx.Value, src []byte, name string) (configOrigin, bool) {
	for _, group := range []string{"command", "commands"} {
		commands := config.Get(group)
		if commands == nil {
			continue
		}
		for _, m := range commands.Members {
			if m.Key != name || !m.Value.Get("template").Is(jsonx.String) {
				continue
			}
			l := configOrigin{
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

	return configOrigin{}, false
}

// posIn converts a position in the generated file to one in the configuration.
func (l configOrigin) posIn(p formats.Pos) formats.Pos {
	offset := l.key
	body := len(l.heads) + 3 // after the frontmatter and its two --- lines
	switch {
	case p.Line >= body:
		offset = l.templateOffset(p.Line-body, p.Col-1)
	case p.Line >= 2 && p.Line-2 < len(l.heads):
		offset = l.heads[p.Line-2]
	}
	return posAt(l.src, offset)
}

// jsonPiece is a character of a JSON text, as it is written there.
var jsonPiece = lazy.Regexp(`(?s)\\u[dD][89abAB]..\\u....|\\u....|\\.|.`)

// templateOffset is the offset of a position in the template.
func (l configOrigin) templateOffset(line, col int) int {
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
