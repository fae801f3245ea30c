package dialect

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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

// boolValue returns a boolean; any other word is reported and false.
func (s keySet) boolValue(n *notes, name string) bool {
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

// duration returns a time, written as a number of seconds or as 90s, 30m and 2h; 0: not set.
func (s keySet) duration(n *notes, name string) time.Duration {
	k, ok := s.get(name)
	if !ok || k.Value == nil {
		return 0
	}

	if seconds, err := strconv.Atoi(k.Raw); err == nil && seconds > 0 && seconds <= maxSeconds {
		return time.Duration(seconds) * time.Second
	}
	d, err := time.ParseDuration(k.Raw)
	if err != nil || d < time.Second || d > maxSeconds*time.Second {
		n.add(
			warnValue,
			k.Pos,
			"write seconds, or a time such as 30m; until then the limit is that of the step",
			fmt.Sprintf("expected a time of at most 24 hours for %s, got %.40q", name, k.Raw),
		)
		return 0
	}
	return d
}

// maxSeconds bounds the time that a file may ask for.
const maxSeconds = 24 * 60 * 60

// hint is the text of argument-hint: authors write `[a] [b]`, which is a list in YAML.
func (s keySet) hint() string {
	k, ok := s.get("argument-hint", "argument_hint")
	if !ok || k.Value == nil {
		return ""
	}
	return strings.Join(strings.Fields(k.Raw), " ")
}

// agentsByLanguage reads agents by language. language_based and target_agent are the words of those
// who have one agent for all languages.
func (s keySet) agentsByLanguage() map[string]string {
	k, ok := s.get("routing")
	table, isMap := k.Value.(map[string]any)
	if !ok || !isMap {
		return nil
	}

	out := map[string]string{}
	for language, value := range table {
		agent, isText := value.(string)
		switch {
		case !isText || agent == "":
		case language == "default" || language == "target_agent":
			out[""] = agent
		case table["language_based"] != false:
			out[language] = agent
		}
	}
	return out
}
