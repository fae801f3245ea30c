package dialect

import (
	"fmt"
	"strings"
)

// keySet looks keys up by name.
type keySet []Key

func (s keySet) get(names ...string) (Key, bool) {
	for _, name := range names {
		for _, k := range s {
			if k.Name == name {
				return k, true
			}
		}
	}
	return Key{}, false
}

// text returns a value as the author wrote it, whatever its YAML type.
func (s keySet) text(names ...string) string {
	k, ok := s.get(names...)
	if !ok || k.Value == nil {
		return ""
	}
	return strings.TrimSpace(k.Raw)
}

// flag returns a boolean; any other word is reported and false.
func (s keySet) flag(n *notes, name string) bool {
	k, ok := s.get(name)
	if !ok || k.Value == nil {
		return false
	}
	if b, ok := k.Value.(bool); ok {
		return b
	}
	switch strings.ToLower(k.Raw) {
	case "yes", "on", "true":
		return true
	case "no", "off", "false", "":
		return false
	}
	n.add(
		warnValue,
		k.Pos,
		"write true or false",
		fmt.Sprintf("expected true or false for %s, got %.60q", name, k.Raw),
	)
	return false
}

// list returns a list that is written as a YAML list, or as a text with commas or spaces.
func (s keySet) list(names ...string) []string {
	k, ok := s.get(names...)
	if !ok || k.Value == nil {
		return nil
	}
	items, ok := k.Value.([]any)
	if !ok {
		return Words(k.Raw)
	}
	out := make([]string, 0, len(items))
	for _, one := range items {
		if text := strings.TrimSpace(fmt.Sprint(one)); text != "" && one != nil {
			out = append(out, text)
		}
	}
	return out
}

// Words splits "Read, Bash(git add:*), Edit" at commas, or without any at spaces; not inside
// parentheses or brackets.
func Words(text string) []string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	words := splitOutside(text, func(c byte) bool {
		return c == ',' || c == '\n'
	})
	if len(words) > 1 {
		return words
	}
	return splitOutside(text, func(c byte) bool { return c == ' ' || c == '\t' })
}

func splitOutside(text string, sep func(byte) bool) []string {
	var out []string
	depth := 0
	start := 0
	add := func(end int) {
		word := strings.Trim(strings.TrimPrefix(strings.TrimSpace(text[start:end]), "- "), ` "'`)
		if word != "" {
			out = append(out, word)
		}
		start = end + 1
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth = max(0, depth-1)
		case depth == 0 && sep(c):
			add(i)
		}
	}
	add(len(text))
	return out
}

// hint is the text of argument-hint: authors write `[a] [b]`, which is a list in YAML.
func (s keySet) hint() string {
	k, ok := s.get("argument-hint", "argument_hint")
	if !ok || k.Value == nil {
		return ""
	}
	return strings.Join(strings.Fields(k.Raw), " ")
}
