package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tercet/commands/outline"
	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/config"
	"tercet/internal/control"
	"tercet/internal/dialect"
	"tercet/internal/journal"
	"tercet/internal/packs"
	"tercet/internal/scenario"
	"tercet/internal/shell"
	"tercet/project"
	"tercet/state/exchange"
	"tercet/state/history"
	"tercet/state/todo"
	"tercet/subagents/past"
	"tercet/subagents/sandbox"
)

// answered is one call with --json: the verb with the flags that change its document, what stands
// behind them, and what comes. NAME in args is what an earlier call kept under that name.
type answered struct {
	verb, args string
	schema     string
	exit       int
	keep       string // NAME=member, of this document
}

const returned = "tercet.return/1"

// answers are the verbs in the order in which they are called in one workspace. Each verb that
// --help lists has a row here or is among the others.
var answers = []answered{
	{"init", "--dry-run", "tercet.init/1", 0, ""},
	{"init", "--merge-driver", "tercet.init/1", 0, ""},
	{"/NAME ARGS", "/help", returned, 0, ""},
	{"task add", "One", "tercet.task/1", 0, ""},
	{"task add", "Two", "tercet.task/1", 0, ""},
	{"task set", "1 priority=high", "tercet.task/1", 0, ""},
	{"task link", "1 .tercet/specs/note.md", "tercet.task/1", 0, ""},
	{"task list", "", "tercet.task-list/1", 0, ""},
	{"task ready", "", "tercet.ready/1", 0, ""},
	{"task claim", "1", "tercet.claim/1", 0, ""},
	{"task show", "1", "tercet.task-show/1", 0, ""},
	{"task set", "2 abandoned --reason no", "tercet.task/1", 0, ""},
	{"task archive", "2", "tercet.task/1", 0, ""},
	{"task unarchive", "2", "tercet.task/1", 0, ""},
	{"task renumber", "2 9", "tercet.task/1", 0, ""},
	{"task sync --check", "", "tercet.sync/1", 0, ""},
	{"task sync", "", "tercet.task/1", 0, ""},
	{"state show TASK", "1", "tercet.task-show/1", 0, ""},
	{"state verify", "", "tercet.state-verify/1", 0, ""},
	{"state transitions", "", "tercet.transitions/1", 0, ""},
	{"state history", "1", "tercet.state-history/1", 0, ""},
	{"state diff", "1", "tercet.state-diff/1", 0, ""},
	{"state graph", "", "tercet.state-graph/1", 0, ""},
	{"state layout", "lines", "tercet.task/1", 0, ""},
	{"state adopt", "", returned, 0, ""},
	{"state restore", "", returned, 0, ""},
	{"state import", "--dry-run --repair @other.json", "tercet.state-import/1", 0, ""},
	{"state merge", "--ours", returned, 1, ""},
	{"/NAME ARGS", "/ask", returned, 75, "OPEN=resume.run"},
	{"gates", "", "tercet.gates/1", 0, ""},
	{"status", "", "tercet.status/1", 0, ""},
	{"status --cost", "", "tercet.cost/1", 0, ""},
	{"show", "OPEN", "tercet.run/1", 0, ""},
	{"show --log", "OPEN", "tercet.logs/1", 0, ""},
	{"tell", "OPEN look again", "tercet.tell/1", 0, ""},
	{"board publish", "x", returned, 1, ""}, // it is for workers
	{"board since", "", returned, 1, ""},
	{"approve", "OPEN", "tercet.answer/1", 0, ""},
	{"resume", "OPEN", returned, 0, ""},
	{"run", "/ask --yes", returned, 0, "DONE=metadata.run"},
	{"wait", "DONE", returned, 0, ""},
	{"start", "/nothing", returned, 2, ""}, // elsewhere has one that begins
	{"agent", "", returned, 0, ""},
	{"export --for", "claude --dry-run", "tercet.export/1", 0, ""},
	{"runs", "", "tercet.runs/1", 0, ""},
	{"verify", "DONE", "tercet.verify/1", 0, ""},
	{"verify RUN RUN", "OPEN DONE", "tercet.diff/1", 1, ""},
	{"diff", "DONE", "tercet.changes/1", 0, ""},
	{"/NAME ARGS", "/ask", returned, 75, "LEFT=resume.run"},
	{"reject", "LEFT", "tercet.answer/1", 0, ""},
	{"cancel", "LEFT", "tercet.control/1", 0, ""},
	{"pause", "LEFT", returned, 1, ""}, // nothing to pause
	{"undo", "--yes DONE", "tercet.undo/1", 0, ""},
	{"gc", "--dry-run", "tercet.gc/1", 0, ""},
	{"show --bundle", "DONE", "tercet.report-file/1", 0, ""},
	{"trust", "", "tercet.trust/1", 0, "HASH=manifest"},
	{"trust --trust", "HASH", returned, 0, ""},
	{"trust --revoke", "", returned, 0, ""},
	{"lint", "@wrong.md", "tercet.lint/1", 65, ""},
	{"pack list", "", "tercet.pack/1", 0, ""},
	{"pack show", "review", "tercet.pack/1", 0, ""},
	{"pack add", "review", "tercet.pack/1", 0, ""},
	{"pack update", "review", "tercet.pack/1", 0, ""},
	{"pack test", "review", "tercet.test/1", 0, ""},
	{"pack remove", "review", "tercet.pack/1", 0, ""},
	{"test", "@test.json", "tercet.test/1", 0, ""},
	{"lint --adopt", "@.claude/commands/steps.md --yes", "tercet.adopt/1", 0, ""},
	{"lint --fix", "@wrong.md", "tercet.lint/1", 65, ""},
	{"lint --fix=form", "@wrong.md", "tercet.fmt/1", 0, ""},
	{"explain CODE", "E120", "tercet.code/1", 0, ""},
	{"explain CODE", "LOCKED", "tercet.code/1", 0, ""},
	{"explain LINE", "/plan 1", "tercet.explain/1", 0, ""},
	{"explain LINE", "/other", "tercet.explain/1", 0, ""},
	{"explain --graph", "/ask", "tercet.graph/1", 0, ""},
	{"which", "ask", "tercet.which/1", 0, ""},
	{"which", "other", "tercet.which/1", 0, ""},
	{"which", "nothing", "tercet.which/1", 2, ""},
	{"which --agent", "planner", "tercet.which/1", 0, ""},
	{"which --route", "/ask", "tercet.route/1", 0, ""},
	{"which --route", "/nothing", "tercet.route/1", 2, ""},
	{"prompt", "planner", "tercet.prompt/1", 0, ""},
	{"config list", "", "tercet.config/1", 0, ""},
	{"check", "--profile plan @wrong.md", "tercet.format-check/1", 65, ""},
	{"result parse", "@return.json", "tercet.result/1", 0, ""},
	{"help exit-codes", "", "tercet.exit-codes/1", 0, ""},
	{"version", "", "tercet.version/1", 0, ""},
	{"--version", "", "tercet.version/1", 0, ""},
	{"help", "", "tercet.commands/1", 0, ""},
	{"help", "plan", returned, 0, ""},
	{"VERB --help", "task add", returned, 0, ""},
	{"sandbox classify", "-- rm -rf x", "tercet.sandbox-classify/1", 0, ""},
	{"sandbox probe", "", "tercet.sandbox-probe/1", 0, ""},
	{"doctor", "", "tercet.doctor/1", 0, ""},
	{"demo --clean", "nowhere", returned, 2, ""},
	{"watch", "", returned, 2, ""}, // it needs a terminal
	{"serve", "--listen here", returned, 2, ""},
}

// others print no document of tercet's own.
var others = map[string]string{
	"query": "what the filter gives, as jq prints it; " +
		"a `tercet.return/1` if it fails before that",
	"state show":         "the state itself",
	"state export":       "the state in that shape",
	"state merge FILE":   "the merged state",
	"state merge-driver": "nothing: the merge is in the file",
	"schema":             "a JSON schema",
	"lint --fix -":       "the text",
	"sandbox run":        "what the program prints",
	"mcp":                "messages of the Model Context Protocol",
	"completion":         "the script for that shell",
	"hub":                "what the program tercet-hub prints",
	"worker":             "what the program tercet-worker prints",
}

// elsewhere are calls that take too long for this test, or another process.
var elsewhere = []answered{
	{"demo", "", "tercet.demo/1", 0, ""},
	{"demo --clean", "", "tercet.demo/1", 0, ""},
	{"pause", "RUN", "tercet.control/1", 0, ""},
	{"start", "LINE", "tercet.start/1", 0, ""},
	{"board publish", "TEXT", "tercet.board/1", 0, ""}, // of a worker
	{"board since", "", "tercet.board/1", 0, ""},
	{"serve", "", "tercet.serve/1", 0, ""},
}

type (
	diagnostic struct {
		Code, Severity, File, Message, Help string
		Line, Col, EndCol                   int
		EndLine                             int `json:",omitempty"`
		Fix                                 *struct {
			Line, Col, EndLine, EndCol int
			Text                       string
		} `json:",omitempty"`
	}
	notRouted struct {
		Error      string
		DidYouMean []string `json:",omitempty"`
		Candidates []string `json:",omitempty"`
	}
	tasksDoc struct{ Tasks []formats.Task }
)

// shapes say what stands in the document of each schema, besides the schema; of several forms
// the one that fits. A member without a name in its tag has that of its field in small letters.
var shapes = map[string][]any{
	returned: {formats.Return{}},
	"tercet.pack/1": {
		struct{ Packs []project.PackState }{},
		struct {
			Pack           packs.Pack
			Source, Commit string
			Files          []string
			Subagents      []project.PackAgent
		}{},
		struct {
			Changes []project.PackChange
			DryRun  bool
		}{},
	},
	"tercet.test/1": {struct {
		Tests          []project.TestResult
		Coverage       []scenario.Coverage
		Passed, Failed int
	}{}},
	"tercet.export/1": {struct {
		For    string
		DryRun bool
		Files  []project.ExportChange
	}{}},
	"tercet.init/1": {struct {
		Dir    string
		Files  []string
		DryRun bool
		Tools  []project.Tool
		Agents []string
		States []project.ForeignState
	}{}},
	"tercet.task/1": {struct {
		Serial            uint64
		Txn               string
		Numbers           []int
		Changed, Replayed bool
	}{}},
	"tercet.task-list/1": {tasksDoc{}},
	"tercet.ready/1":     {tasksDoc{}},
	"tercet.task-show/1": {struct{ Task *formats.Task }{}},
	"tercet.claim/1": {struct {
		Task         int
		From, Status formats.TaskStatus
		SessionID    string
		Serial       uint64
		Txn          string
		Replayed     bool
	}{}},
	"tercet.sync/1":         {struct{ Edits todo.Edits }{}},
	"tercet.state-verify/1": {struct{ Diagnostics []diagnostic }{}},
	"tercet.transitions/1": {struct {
		Transitions map[string][]struct {
			To                                formats.TaskStatus
			Reason, ChildrenTerminal, Recover bool
		}
	}{}},
	"tercet.state-history/1": {struct{ Entries []history.Entry }{}},
	"tercet.state-diff/1":    {struct{ Differences []history.Difference }{}},
	"tercet.state-graph/1":   {struct{ Format, Text string }{}},
	"tercet.state-import/1": {struct {
		File, Shape string
		Tasks       int
		Findings    []exchange.Finding
		OK, DryRun  bool
		Serial      uint64
		Numbers     []int
		Changed     bool
		Updated     []int
		Errors      int
		LeftOut     int
		Kept        map[string]int
		Warnings    []string
	}{}},
	"tercet.gates/1": {struct{ Gates []control.OpenGate }{}},
	"tercet.serve/1": {struct{ URL string }{}},
	"tercet.status/1": {struct {
		Runner string
		Gates  []control.OpenGate
		Runs   []journal.Run
		Tasks  []formats.Task
		States []project.ForeignState
	}{}},
	"tercet.cost/1": {struct{ Spent []control.Sum }{}},
	"tercet.run/1": {struct {
		Run    journal.Run
		Steps  []journal.Step
		Boards []journal.Topic
		Told   []journal.Message
		Resume string
		Next   string `json:"next_steps"`
	}{}},
	"tercet.runs/1": {struct{ Runs []journal.Run }{}},
	"tercet.logs/1": {struct {
		Run    string
		Events []journal.Event
	}{}},
	"tercet.verify/1": {struct {
		Run       string
		Identical bool
		Lines     int
	}{}},
	"tercet.diff/1": {struct {
		Runs       [2]string
		Identical  bool
		Difference *journal.Difference
	}{}},
	"tercet.changes/1": {struct{ Changes project.RunChanges }{}},
	"tercet.answer/1":  {struct{ Run, Gate, Question, Choice, By, Status string }{}},
	"tercet.control/1": {struct{ Run, Do, Status string }{}},
	"tercet.tell/1": {struct {
		Run, Message, By, Text string
		Running                bool
	}{}},
	"tercet.board/1": {struct {
		All      int
		Postings []formats.Posting
	}{}},
	"tercet.start/1":       {struct{ Run, Command string }{}},
	"tercet.commands/1":    {struct{ Commands []formats.CommandInfo }{}},
	"tercet.report-file/1": {struct{ File string }{}},
	"tercet.undo/1": {struct {
		Undo            past.Undoing
		DryRun, Nothing bool
	}{}},
	"tercet.gc/1": {struct {
		GC     past.Cleaning
		DryRun bool
	}{}},
	"tercet.trust/1": {struct {
		Dir, By, Manifest string
		Trusted           bool
		Files             []struct {
			Path, SHA256, State, Names string
			Before                     string `json:",omitempty"`
		}
		Note string `json:",omitempty"`
	}{}},
	"tercet.adopt/1": {struct {
		Adopted []struct {
			From, File string
			Notes      []string
			Lines      []struct {
				From, To int
				Title    string
				Becomes  []string
			}
		}
	}{}},
	"tercet.lint/1": {struct {
		Diagnostics []diagnostic
		Files       int
		Fixed       int      `json:",omitempty"`
		Changed     []string `json:",omitempty"`
		Written     bool     `json:",omitempty"`
	}{}},
	"tercet.fmt/1": {struct {
		Changed     []string
		Written     bool
		Files       int
		Diagnostics []diagnostic
	}{}},
	"tercet.code/1": {
		struct {
			Code, Meaning, Text, Wrong, Right string
			Line                              int
		}{},
		struct {
			Code, Meaning, Do string
			Exit              int
		}{},
	},
	"tercet.explain/1": {struct {
		Command, File                string
		Agents, Gates, Reads, Writes []string
		Bound                        outline.Bound
		Seconds                      float64
		Program                      map[string]any
		Models                       []outline.Model `json:",omitempty"`
		Missing, Line                string          `json:",omitempty"`
		Arguments                    map[string]any  `json:",omitempty"`
		Tasks                        []int           `json:",omitempty"`
		Parallel                     int             `json:",omitempty"`
		Dialect, Rules               string          `json:",omitempty"`
		Marks                        []dialect.Mark  `json:",omitempty"`
	}{}},
	"tercet.graph/1": {struct{ Command, File, Format, Text string }{}},
	"tercet.which/1": {
		struct {
			Command, File, Dialect, ShadowedBy, Kind string
			Shadows, Names, Calls, Exported          []string
			Hooks                                    bool
			Scope, Description, Usage, Rules, Text   string          `json:",omitempty"`
			Agent, Model                             string          `json:",omitempty"`
			Lenient                                  bool            `json:",omitempty"`
			Tools                                    []string        `json:",omitempty"`
			Extra                                    *map[string]any `json:",omitempty"`
			Marks                                    []dialect.Mark  `json:",omitempty"`
			Diagnostics                              []diagnostic    `json:",omitempty"`
			PositionalBase                           int             `json:",omitempty"`
		}{},
		struct {
			Agent, File, Dialect, Role, Description, Hides string
			Tools, Commands, Unfollowed                    []string
			Packs                                          map[string]string
			Order                                          []project.AgentLookup
			Diagnostics                                    []diagnostic
		}{},
		notRouted{},
	},
	"tercet.route/1": {struct {
		Command, File, Rest, Dialect string
		Depth                        int
		Shadows                      []string
	}{}, notRouted{}},
	"tercet.prompt/1": {struct {
		Agent, SHA256, Text string
		Task, Bytes         int
		Facets              []struct {
			Name, Text string
			Bytes      int
		}
	}{}},
	"tercet.config/1": {struct{ Settings []config.Setting }{}},
	"tercet.format-check/1": {struct {
		Profile     string
		Diagnostics []diagnostic
	}{}},
	"tercet.result/1": {struct {
		returns.Result
		Errors []diagnostic
	}{}},
	"tercet.exit-codes/1": {struct {
		Exits []struct {
			Code          int
			Name, Meaning string
			Codes         []string
		}
	}{}},
	"tercet.version/1": {struct{ Version, Commit, Go, OS, Arch string }{}},
	"tercet.sandbox-classify/1": {struct {
		Command string
		shell.Report
	}{}},
	"tercet.sandbox-probe/1": {struct {
		Order  []sandbox.Tier
		Best   sandbox.Tier
		Probes []sandbox.Probe
	}{}},
	"tercet.doctor/1": {struct {
		OK       bool
		Findings []project.Finding
	}{}},
	"tercet.demo/1": {
		struct {
			Dir                         string
			Commands                    []demoLine
			TestBefore, TestAfter, Diff string
		}{},
		struct{ Removed []string }{},
	},
}

// TestEveryVerbGivesJSON calls every verb with --json: it prints exactly one document, of the
// schema that docs/reference/json.md has for it and with the members that stand there.
func TestEveryVerbGivesJSON(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "project")
	for name, text := range map[string]string{
		".tercet/specs/note.md": "# A note\n",
		".tercet/commands/ask.md": "---\ncommand: ask\ndescription: Ask\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: Ask\n\n```yaml step\nid: go\ngate: Go on?\n```\n",
		".claude/commands/other.md": "---\ndescription: Of another tool\nargument-hint: WORD\n" +
			"---\nSay $ARGUMENTS and look at @wrong.md\n",
		".claude/commands/steps.md": "1. Read it\n2. Write it\n",
		"wrong.md": "---\ncommand: wrong\ndescription: Wrong\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: Plan\n\n```yaml step\nid: plan\n" +
			"delegat: planner\n```\n",
		"test.json":  `{"line": "/ask", "yes": true, "expect": {"gates": ["go"]}}`,
		"other.json": `{"tasks": [{"number": 7, "title": "Seven", "status": "not_started"}],}`,
		"return.json": `{"status": "completed", "summary": "Done", ` +
			`"artifacts": [], "metadata": {}, "errors": []}`,
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	env := map[string]string{
		"HOME":           base,
		"XDG_STATE_HOME": filepath.Join(base, "state"),
		"PATH":           withoutAgents(os.Getenv("PATH")),
		"TERCET_TRUST":   "1",
		"TERCET_RUNNER":  "offline",
	}

	kept := map[string]string{}
	seen := map[string]bool{}

	for _, c := range answers {
		line := []string{"-C", dir, "--json", "--no-input"}
		for word := range strings.FieldsSeq(c.verb + " " + c.args) {
			now, ok := kept[word]
			file, of := strings.CutPrefix(word, "@")
			switch {
			case ok:
				line = append(line, now)
			case of:
				line = append(line, filepath.Join(dir, file))
			case word != strings.ToUpper(word) || strings.Contains(c.args, word):
				line = append(line, word)
			}
		}

		var out, errs bytes.Buffer
		a := newApp(stdio{
			in:  strings.NewReader(""),
			out: &out,
			err: &errs,
		}, func(name string) string { return env[name] })
		got := a.run(t.Context(), line)

		var doc map[string]any
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Errorf("%q: %v: expected one document, got %.300q; %s",
				line[6:], err, out.String(), errs.String())
			continue
		}

		if got != c.exit || doc["schema"] != c.schema {
			t.Errorf("%q: exit %d, schema %v, want %d, %s\n%s%s",
				line[6:], got, doc["schema"], c.exit, c.schema, out.String(), errs.String())
			continue
		}

		delete(doc, "schema")
		var misfits []string
		for _, form := range shapes[c.schema] {
			bad := fits(reflect.TypeOf(form), doc, "")
			misfits = append(misfits, bad...)
			if bad == nil {
				misfits = nil
				seen[c.schema] = true
				break
			}
		}
		if len(misfits) > 0 {
			t.Errorf("%q is not as documents says:\n%s\n%s",
				line[6:], strings.Join(misfits, "\n"), out.String())
		}

		if name, path, ok := strings.Cut(c.keep, "="); ok {
			var value any = doc
			for member := range strings.SplitSeq(path, ".") {
				within, _ := value.(map[string]any)
				value = within[member]
			}
			kept[name] = fmt.Sprint(value)
		}
	}

	for schema := range shapes {
		if !seen[schema] &&
			!slices.ContainsFunc(elsewhere, func(c answered) bool {
				return c.schema == schema
			}) {
			t.Errorf("no call gives %s", schema)
		}
	}

	a := newApp(stdio{}, func(string) string { return "" })
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		for _, sub := range c.Commands() {
			name := strings.TrimSpace(path + " " + sub.Name())
			if sub.HasSubCommands() && name != "completion" {
				walk(sub, name)
			} else if of := regexp.MustCompile(`^` + name +
				`( (--?|[A-Z]).*)?$`).MatchString; !sub.Hidden &&
				!slices.ContainsFunc(answers, func(c answered) bool {
					return of(c.verb)
				}) &&
				others[name] == "" {
				t.Errorf("%s has no row in answers, so that nobody knows what its --json gives",
					name)
			}
		}
	}
	walk(a.root(), "")
}

// memberOf is a member of a document.
type memberOf struct {
	name     string
	of       reflect.Type
	optional bool
}

// membersOf are the members that a struct has as JSON.
func membersOf(t reflect.Type) (list []memberOf) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || f.Name == "Schema":
		case f.Anonymous && name == "":
			list = append(list, membersOf(f.Type)...)
		default:
			if name == "" {
				name = small(f.Name)
			}
			list = append(list, memberOf{name, f.Type, strings.Contains(options, "omit")})
		}
	}
	return list
}

var humps = regexp.MustCompile(`([a-z])([A-Z])`)

func small(name string) string {
	return strings.ToLower(humps.ReplaceAllString(name, "${1}_$2"))
}

// texts tells whether values of a type are texts as JSON.
func texts(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) ||
		t == reflect.TypeFor[time.Time]() || t.Kind() == reflect.String
}

// fits says where a value is not of a type.
func fits(t reflect.Type, v any, path string) (bad []string) {
	wrong := func() []string {
		return []string{fmt.Sprintf("%s: expected %s, got %.80v", path, kindOf(t, nil), v)}
	}
	if t.Kind() == reflect.Pointer {
		if v == nil {
			return nil
		}
		t = t.Elem()
	}

	ok := true
	kind := t.Kind()
	switch {
	case texts(t):
		_, ok = v.(string)
	case t == reflect.TypeFor[json.RawMessage](), kind == reflect.Interface:
	case kind == reflect.Bool:
		_, ok = v.(bool)
	case kind == reflect.Slice, kind == reflect.Array:
		var list []any
		list, ok = v.([]any)
		for i, one := range list {
			bad = append(bad, fits(t.Elem(), one, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case kind == reflect.Map, kind == reflect.Struct:
		var m map[string]any
		m, ok = v.(map[string]any)
		if !ok {
			break
		}
		m = maps.Clone(m)
		if kind == reflect.Map {
			for name, one := range m {
				bad = append(bad, fits(t.Elem(), one, path+"."+name)...)
			}
			break
		}
		for _, f := range membersOf(t) {
			if one, there := m[f.name]; there {
				bad = append(bad, fits(f.of, one, path+"."+f.name)...)
			} else if !f.optional {
				bad = append(bad, path+"."+f.name+" is missing")
			}
			delete(m, f.name)
		}
		for name := range m {
			bad = append(bad, path+"."+name+" is not documented")
		}
	default:
		_, ok = v.(float64)
	}

	if !ok {
		return wrong()
	}
	return bad
}

// kindOf says in words what values of a type are as JSON. Those in shared have a table of their
// own.
func kindOf(t reflect.Type, shared map[reflect.Type]string) string {
	kind := t.Kind()
	switch {
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem(), shared)
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case texts(t):
		return "text"
	case t == reflect.TypeFor[json.RawMessage](), kind == reflect.Interface:
		return "any"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Array:
		return fmt.Sprintf("list of %d: %s", t.Len(), kindOf(t.Elem(), shared))
	case kind == reflect.Slice:
		return "list of " + kindOf(t.Elem(), shared)
	case kind == reflect.Map:
		return "map to " + kindOf(t.Elem(), shared)
	case kind == reflect.Struct:
		if name := shared[t]; name != "" {
			return fmt.Sprintf("[%s](#%s)", name, name)
		}
		return "object"
	}
	return "number"
}

// innerOf is the struct that values of a type hold, nil if they hold none.
func innerOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array ||
		t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || texts(t) {
		return nil
	}
	return t
}

// jsonPage is the page of the documents: what gives each, and its members.
func jsonPage(t *testing.T) string {
	t.Helper()
	uses := map[reflect.Type]int{}
	var count func(t reflect.Type)
	count = func(t reflect.Type) {
		for _, m := range membersOf(t) {
			if in := innerOf(m.of); in != nil {
				uses[in]++
				if uses[in] == 1 {
					count(in)
				}
			}
		}
	}
	schemas := slices.Sorted(maps.Keys(shapes))
	for _, name := range schemas {
		for _, form := range shapes[name] {
			uses[reflect.TypeOf(form)]++
			count(reflect.TypeOf(form))
		}
	}

	shared := map[reflect.Type]string{}
	titles := map[string]reflect.Type{}
	for of, n := range uses {
		if n < 2 || of.Name() == "" || of == reflect.TypeFor[formats.Pos]() ||
			of == reflect.TypeFor[tasksDoc]() || of == reflect.TypeFor[notRouted]() {
			continue
		}
		title := small(of.Name())
		if other := titles[title]; other != nil {
			t.Errorf("%v and %v would have one title", of, other)
		}
		shared[of] = title
		titles[title] = of
	}

	var b strings.Builder
	var rows func(t reflect.Type, path string)
	rows = func(t reflect.Type, path string) {
		for _, m := range membersOf(t) {
			is := kindOf(m.of, shared)
			in := innerOf(m.of)
			switch {
			case m.optional:
				is += "; may be missing"
			case m.of.Kind() == reflect.Pointer:
				is += ", or null"
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", path+m.name, is)
			if in != nil && shared[in] == "" {
				within := path + m.name + "."
				if kind := m.of.Kind(); kind == reflect.Map {
					within = path + m.name + ".*[]."
				} else if kind == reflect.Slice || kind == reflect.Array {
					within = path + m.name + "[]."
				}
				rows(in, within)
			}
		}
	}
	const head = "\n| member | is |\n|---|---|\n"
	b.WriteString(
		"# JSON documents\n\n```text\ntercet --json task list\n" +
			"tercet --jq '.tasks[].title' task list\n```\n\n" +
			"With `--json` each call prints exactly one document, also when it fails: then it is " +
			"a `tercet.return/1` with the errors in it.\n" +
			"`schema` says which document it is; its number rises when a member goes or changes " +
			"its meaning. New members may come without that: ignore what you do not know.\n" +
			"In the tables `[]` stands for each element of a list, `*` for each name of a map; " +
			"`schema` is in every document. `--events` prints an event a line, and the return " +
			"last.\n\nThese verbs print something else:\n\n| verb | prints |\n|---|---|\n",
	)
	for _, verb := range slices.Sorted(maps.Keys(others)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", verb, others[verb])
	}

	for _, name := range schemas {
		var verbs []string
		for _, c := range slices.Concat(answers, elsewhere) {
			failed := name == returned && c.exit != 0 && c.keep == ""
			verb := "`" + c.verb + "`"
			if c.schema == name && !failed && !slices.Contains(verbs, verb) {
				verbs = append(verbs, verb)
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", name, strings.Join(verbs, ", "))
		for i, form := range shapes[name] {
			if i > 0 {
				b.WriteString("\nor\n")
			}
			b.WriteString(head)
			rows(reflect.TypeOf(form), "")
		}
	}

	b.WriteString("\n# Parts of several documents\n")
	for _, title := range slices.Sorted(maps.Keys(titles)) {
		if titles[title] != reflect.TypeFor[formats.Return]() {
			fmt.Fprintf(&b, "\n## %s\n%s", title, head)
			rows(titles[title], "")
		}
	}

	return strings.ReplaceAll(b.String(), "[return](#return)", "[return](#tercetreturn1)")
}
