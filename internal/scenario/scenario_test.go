package scenario_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/scenario"
	"tercet/subagents"
)

const whole = `{
  "line": "/note hello", "before": ["/task x"], "files": {".tercet/config.yaml": "runner: offline\n"},
  "answers": [{"gate": "ask", "choose": "keep", "note": "well"}],
  "returns": {
    "writer": [
      {"status": "completed", "summary": "one", "artifacts": [{"type": "report", "path": "R.md"}], "writes": {"R.md": "r", "src/a.go": "a"}, "removes": ["old.go"]},
      "AGENT_RESULT: writer\nSTATUS: success\nCOUNT: 3\n",
      {"result": "AGENT_RESULT: writer\nSTATUS: success\n", "writes": {"b.go": "b"}}
    ]
  },
  "expect": {"exit": 3, "rollbacks": 0, "sequence": []}
}`

// TestWorkers: answers come in their order and the last one repeats, files go where the engine
// looks for them, and a worker without an answer is told.
func TestWorkers(t *testing.T) {
	t.Parallel()
	test, err := scenario.Parse("t.json", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	workers := scenario.NewWorkers(&test, false)
	info := formats.AgentInfo{
		Name:   "writer",
		Fields: map[string]formats.Field{"COUNT": {Type: formats.TypeInteger}},
	}
	writer := workers.Agent(subagents.Definition{Info: info}, nil)
	var summaries []string
	for i := range 4 {
		ret, err := writer.Run(t.Context(), formats.Request{
			Agent: "writer",
			Dir:   dir,
			Out:   out,
		})
		if err != nil {
			t.Fatal(err)
		}
		summaries = append(summaries, ret.Summary)
		if i == 1 && ret.Fields["COUNT"] != 3 {
			t.Errorf("COUNT = %#v, want it typed by the contract", ret.Fields["COUNT"])
		}
	}

	if summaries[0] != "one" || summaries[2] != summaries[3] {
		t.Errorf("summaries = %q, want them in order and the last one twice", summaries)
	}
	for name, want := range map[string]bool{
		out + "/R.md":     true,
		dir + "/R.md":     false,
		dir + "/src/a.go": true,
		dir + "/b.go":     true,
		dir + "/old.go":   false,
	} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}

	d, ok := workers.Answer(formats.Gate{Step: "loop#1[2]/ask#1"})
	if !ok || d.Answer != "keep" || d.Note != "well" {
		t.Errorf("Answer = %v, %v", d, ok)
	}
	japanese := scenario.NewWorkers(
		&scenario.Test{Language: "ja", Answers: []scenario.Answer{{Gate: "ask", Choose: "中断"}}},
		false,
	)
	d, ok = japanese.Answer(formats.Gate{
		Step:    "ask",
		Choices: []formats.Choice{{Label: "Retry"}, {Label: "Abort"}},
	})
	if !ok || d.Answer != "Abort" {
		t.Errorf("Answer in Japanese = %v, %v", d, ok)
	}
	if _, ok := workers.Answer(formats.Gate{Step: "ask#2"}); ok {
		t.Error("an answer was given twice")
	}
	_, err = workers.Agent(subagents.Definition{Info: formats.AgentInfo{Name: "other"}}, nil).Run(
		t.Context(),
		formats.Request{},
	)
	if formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("Run without an answer = %v", err)
	}
	for name, want := range map[string]bool{
		"gatekeeper":      false,
		"document-writer": false,
		"sandbox-runner":  false,
	} {
		if got := workers.IsScripted(formats.AgentInfo{Name: name, Builtin: true}); got != want {
			t.Errorf("Plays(%s) = %v", name, got)
		}
	}

	want := []string{
		"exit: expected 3, got 0, completed: ",
		"returns: other was called and has none",
	}
	got := workers.Judge(scenario.Outcome{
		Return: formats.Return{Status: formats.StatusCompleted},
		Files:  os.DirFS(dir),
	})
	if !slices.Equal(got, want) {
		t.Errorf("Judge = %q, want %q", got, want)
	}
}

func TestParseFindsAll(t *testing.T) {
	t.Parallel()
	_, err := scenario.Parse("t.json", []byte(`{"returns": {"a": ["x", {"result": "AGENT_RESULT: a\nSTATUS: success", "summary": "y"}]}, "files": {"a/.git/config": "", ".tercet/../x": ""},
"answers": {}, "yes": "no", "language": "fr", "before": ["x"], "expect": {"sequence": [1], "file": {}}}`))
	var d *formats.Diagnostics
	if !errors.As(err, &d) || len(d.List) != 11 {
		t.Fatalf("Parse = %v, want 11 findings", err)
	}
	for _, one := range d.List {
		if one.Pos.Line < 1 || one.Pos.Col < 1 || one.Code != scenario.CodeTest {
			t.Errorf("%v has no place or another code", one)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"line": "/x", "returns": {"a": [{}]}}`))
	f.Add([]byte(`{"line": 7, "returns": {"a": "b"}, "expect": []}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		test, err := scenario.Parse("t.json", src)
		var d *formats.Diagnostics
		switch {
		case err != nil && (!errors.As(err, &d) || len(d.List) == 0):
			t.Errorf("Parse(%q) = %v, want findings", src, err)
		case err == nil && !strings.HasPrefix(test.Line, "/"):
			t.Errorf("Parse(%q) takes the line %q", src, test.Line)
		}
	})
}
