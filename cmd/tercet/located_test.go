package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// FuzzLocated: every place of a template leads to the character in the configuration that it was read from.
func FuzzLocated(f *testing.F) {
	for _, text := range []string{"Run $1.", "a\n\"b\"\n\tä\U0001F600\\ \x00\n", "", "\n\n\n", "é\u2028<x>&\r\nx"} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, agent bool) {
		if !utf8.ValidString(text) {
			return
		}
		entry := map[string]any{"template": text}
		if agent {
			entry["agent"] = "nobody"
		}
		src, err := json.MarshalIndent(map[string]any{"command": map[string]any{"one": entry}}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		config, err := jsonx.Parse(src, jsonx.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		l, ok := locate(config, src, "one")
		if !ok {
			t.Fatalf("locate found nothing in %s", src)
		}
		lines := strings.Split(string(src), "\n")
		body := len(l.heads) + 3
		for i, line := range strings.Split(text, "\n") {
			for col := range line {
				p := l.at(formats.Pos{Line: body + i, Col: col + 1})
				rest := lines[p.Line-1][p.Col-1:]
				var got string
				if err := json.Unmarshal([]byte(`"`+strings.TrimSuffix(strings.TrimSuffix(rest, ","), `"`)+`"`), &got); err != nil {
					t.Fatalf("at(%d, %d) of %q leads to %q: %v", i+1, col+1, text, rest, err)
				}
				if want := strings.Join(strings.Split(text, "\n")[i:], "\n")[col:]; got != want {
					t.Fatalf("at(%d, %d) of %q leads to %q, want %q", i+1, col+1, text, got, want)
				}
			}
		}
		if agent {
			p := l.at(formats.Pos{Line: 2, Col: 1})
			if !strings.HasPrefix(lines[p.Line-1][p.Col-1:], `"nobody"`) {
				t.Fatalf("the agent is at %v of %s", p, src)
			}
		}
	})
}
