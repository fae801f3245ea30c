package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/jsonx"
)

// configured is a command that a configuration of opencode holds.
type configured struct {
	template, description, agent, model string
	subtask                             bool
}

// appendConfig adds the commands that a configuration of opencode holds, as if each were a file. What cannot be taken is told
// once, and costs the other commands nothing.
func (a *app) appendConfig(list []presentPlace, tree fs.FS, name string, p dialect.Place) []presentPlace {
	info, err := fs.Stat(tree, name)
	if err != nil || !info.Mode().IsRegular() {
		return list
	}
	text, err := readSome(tree, name)
	if err != nil || len(text) > dialect.MaxBytes {
		a.noteOnce("%s cannot be read, or has more than %d bytes; its commands are left out", p.Label, dialect.MaxBytes)
		return list
	}
	text = plainJSON(text)
	raw, err := rawCommands(text)
	if err != nil {
		at := formats.Pos{Line: 1, Col: 1}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = posAt(text, int(syntax.Offset)-1)
		} else if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			at = posAt(text, int(wrong.Offset)-1)
		}
		a.noteOnce("%s:%d:%d: %s is not JSON with a map of commands; its commands are left out: %v", p.Label, at.Line, at.Col, p.Label, err)
		return list
	}
	places := map[string]located{}
	parsed, unsure := jsonx.Parse(text, jsonx.Limits{Duplicates: true}) // what it refuses has no places
	files := held{}
	for _, command := range slices.Sorted(maps.Keys(raw)) {
		c, ok := readConfigured(raw[command])
		if !ok || command == "" {
			a.noteOnce("%s: command %q is left out: expected an object with a text as template", p.Label, command)
			continue
		}
		file := strings.ReplaceAll(command, "/", ":") + ".md"
		if l, ok := locate(parsed, text, command); ok && unsure == nil {
			places[file] = l
		}
		files[file] = &heldFile{name: file, data: c.file(), time: info.ModTime()}
	}
	if len(files) == 0 {
		return list
	}
	p.At = func(file string, at formats.Pos) formats.Pos {
		if l, ok := places[file]; ok {
			return l.at(at)
		}
		return formats.Pos{Line: 1, Col: 1}
	}
	return append(list, presentPlace{p, files})
}

// rawCommands gives the entries of the maps command and commands; one that stands in both counts as it stands in the first.
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

// readConfigured reads an entry; one without a template is none. Other values of the wrong type are as if they were not there.
func readConfigured(raw json.RawMessage) (configured, bool) {
	var entry map[string]any
	if json.Unmarshal(raw, &entry) != nil {
		return configured{}, false
	}
	text := func(key string) string {
		s, _ := entry[key].(string) //nolint:errcheck // no text is an empty one
		return s
	}
	on, _ := entry["subtask"].(bool) //nolint:errcheck // another value is none
	c := configured{template: text("template"), description: text("description"), agent: text("agent"), model: text("model"), subtask: on}
	return c, c.template != ""
}

// file is the entry as a file would have it.
func (c configured) file() []byte {
	var made strings.Builder
	made.WriteString("---\n")
	for _, pair := range [][2]string{{"description", c.description}, {"agent", c.agent}, {"model", c.model}} {
		if pair[1] != "" {
			value, err := json.Marshal(pair[1])
			if err != nil {
				continue
			}
			made.WriteString(pair[0] + ": " + string(value) + "\n")
		}
	}
	if c.subtask {
		made.WriteString("subtask: true\n")
	}
	made.WriteString("---\n" + c.template)
	return []byte(made.String())
}

// posAt is the place of an offset in a text.
func posAt(text []byte, offset int) formats.Pos {
	before := string(text[:min(max(offset, 0), len(text))])
	return formats.Pos{Line: 1 + strings.Count(before, "\n"), Col: len(before) - strings.LastIndexByte(before, '\n')}
}

// noteOnce tells what is found each time that files are listed.
func (a *app) noteOnce(format string, args ...any) {
	text := sprintf(format, args...)
	if a.told[text] {
		return
	}
	if a.told == nil {
		a.told = map[string]bool{}
	}
	a.told[text] = true
	a.term.note("%s", text)
}
