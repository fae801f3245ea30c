package subagents_test

import (
	"testing"

	"tercet/subagents"
)

// TestModels: the flag, the file, the configuration; in each the runner before every runner.
func TestModels(t *testing.T) {
	t.Parallel()
	type models = map[string]string
	for _, tt := range []struct {
		flag         string
		file, config models
		want, from   string
	}{
		{want: ""},
		{"f", models{"claude": "a"}, models{"": "c"}, "f", "--model"},
		{"", models{"claude": "a", "": "b"}, models{"claude": "c"}, "a", "planner.md"},
		{"", models{"codex": "a", "": "b"}, models{"claude": "c"}, "b", "planner.md"},
		{"", models{"codex": "a"}, models{"claude": "c", "": "d"}, "c", "at model.claude"},
		{"", nil, models{"codex": "c", "": "d"}, "d", "at model"},
		{"", nil, models{"codex": "c"}, "", ""},
	} {
		m := subagents.Models{
			Flag:   tt.flag,
			Config: tt.config,
			Origin: func(key string) string { return "at " + key },
		}
		got, from := m.For(subagents.Definition{File: "planner.md", Model: tt.file}, "claude", nil)
		if got != tt.want || from != tt.from {
			t.Errorf("%+v: For = %q from %q", tt, got, from)
		}
	}
}
