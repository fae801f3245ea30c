package main

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// located knows where the lines of a command stand in the configuration that holds it.
type located struct {
	src      []byte // the configuration without comments, which has the same places
	key      int    // offset of the command's name
	heads    []int  // offset of the value that each line of the frontmatter was made of, from the second line on
	template *jsonx.Value
}

// locate finds a command of the map in a configuration; false if the text has it in no place that could be told.
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
			l := located{src: src, key: m.KeyStart, template: m.Value.Get("template")}
			for _, key := range headKeys() {
				if v := m.Value.Get(key); v != nil && hasLine(key, v) {
					l.heads = append(l.heads, v.Start)
				}
			}
			return l, true
		}
	}
	return located{}, false
}

// headKeys are the keys that stand in the frontmatter of a command out of a configuration, in their order.
func headKeys() []string { return []string{"description", "agent", "model", "subtask"} }

// hasLine tells whether the frontmatter has a line for a value: it is of the right type and not empty.
func hasLine(key string, v *jsonx.Value) bool {
	text, isText := v.Str()
	on, isBool := v.Bool()
	if key == "subtask" {
		return isBool && on
	}
	return isText && text != ""
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
	line := 1 + bytes.Count(l.src[:offset], []byte{'\n'})
	return formats.Pos{Line: line, Col: offset - bytes.LastIndexByte(l.src[:offset], '\n')}
}

// inside is the offset of a byte of the template, which is told by its line and its place in that.
func (l located) inside(line, col int) int {
	i, end := l.template.Start+1, l.template.End-1
	for i < end && (line > 0 || col > 0) {
		size, text := escaped(l.src[i:end])
		switch {
		case line > 0:
			line -= bytes.Count(text, []byte{'\n'})
		default:
			col -= len(text)
		}
		i += size
	}
	return i
}

// escaped reads one character of a JSON text: its bytes there, and those that it stands for.
func escaped(raw []byte) (size int, text []byte) {
	if raw[0] != '\\' || len(raw) < 2 {
		_, size = utf8.DecodeRune(raw)
		return size, raw[:size]
	}
	if raw[1] != 'u' {
		if raw[1] == 'n' {
			return 2, []byte{'\n'}
		}
		return 2, raw[1:2]
	}
	r, size := hex4(raw), 6
	if utf16.IsSurrogate(r) && len(raw) >= 12 {
		r, size = utf16.DecodeRune(r, hex4(raw[6:])), 12
	}
	return min(size, len(raw)), utf8.AppendRune(nil, r)
}

// hex4 reads the four digits of an escape \u.
func hex4(raw []byte) rune {
	var r rune
	for _, c := range raw[min(2, len(raw)):min(6, len(raw))] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r += rune(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r += rune(c|0x20-'a') + 10
		}
	}
	return r
}
