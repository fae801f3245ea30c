package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/formats"
	"tercet/internal/config"
)

func file(name, data string) config.Layer {
	return config.Layer{
		Name: name,
		File: name + ".yaml",
		Data: []byte(data),
	}
}

func found(list []formats.Diagnostic) []string {
	var out []string
	for _, d := range list {
		line := string(d.Severity) + " " + d.Error()
		if d.Help != "" {
			line += "; " + d.Help
		}
		out = append(out, line)
	}
	return out
}

const whole = `runner: claude
aliases:
  p: plan
  /gc: /git/commit
limits:
  rollbacks: 2
  retries: 1
  steps: 300
  duration: 90m
lock_timeout: 5s
next_number: 196
commands: [tools/commands, ../shared]
env: GH_HOST
isolated_home: true
acp: {mine: [agent, --acp], acp: opencode}
prefer: {plan: tercet}
`

// TestModel: a name for every runner hides all that lower layers say; one for a runner goes before
// a name below it.
func TestModel(t *testing.T) {
	t.Parallel()
	type models = map[string]string
	for _, tt := range []struct {
		layers []string
		want   models
		found  string
	}{
		{[]string{"model: opus"}, models{"": "opus"}, ""},
		{
			[]string{"model: {claude: opus, codex: gpt-5, acp: x}"},
			models{"claude": "opus", "codex": "gpt-5", "acp": "x"},
			"",
		},
		{[]string{"model: opus", "model: {claude: haiku}"}, models{"": "opus"}, ""},
		{
			[]string{"model: {claude: opus}", "model: {claude: haiku, gemini: pro}", "model: last"},
			models{"claude": "opus", "gemini": "pro", "": "last"},
			"",
		},
		{[]string{"model: {mine: m}", "acp: {mine: [agent]}"}, models{"mine": "m"}, ""},
		{
			[]string{"model: -x"},
			models{},
			`error workspace.yaml:1:8: E060: expected name of a model, which does not begin with a dash, for model, got "-x"`,
		},
		{
			[]string{`model: {claude: "a\tb"}`},
			models{},
			`error workspace.yaml:1:17: E060: expected name of a model, which does not begin with a dash, for model.claude, got "a\tb"`,
		},
		{
			[]string{"model: [a]"},
			models{},
			`error workspace.yaml:1:8: E060: expected name of a model, which does not begin with a dash, for model, got a list`,
		},
		{
			[]string{"model: {offline: a}"},
			models{"offline": "a"},
			`warning workspace.yaml:1:9: W110: no runner with a choice of models is named "offline"; the keys are acp, claude, codex, copilot, gemini, opencode`,
		},
		{
			[]string{"model: {cluade: a}"},
			models{"cluade": "a"},
			`warning workspace.yaml:1:9: W110: no runner with a choice of models is named "cluade"; did you mean 'claude'?`,
		},
	} {
		var layers []config.Layer
		for i, text := range tt.layers {
			layers = append(layers, file([]string{"workspace", "user", "system"}[i], text))
		}
		got, list := config.Load(layers...)
		if diff := cmp.Diff(tt.want, got.Model); diff != "" {
			t.Errorf("Load(%q): models differ (-want +got):\n%s", tt.layers, diff)
		}
		if all := strings.Join(found(list), "\n"); all != tt.found {
			t.Errorf("Load(%q): findings %s, want %s", tt.layers, all, tt.found)
		}
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"notify: [notify-send, a b]":     `[notify-send a b]`,
		"notify: beep":                   `[beep]`,
		"notify: [sh, -c, '']":           `[sh -c ]`,
		"notify: []":                     `expected a list of program and arguments for notify, got a list`,
		"notify: ['', x]":                `expected a list of program and arguments for notify, got a list`,
		"notify: {a: b}":                 `expected a list of program and arguments for notify, got a map`,
		"notify: [a, [b]]":               `expected a word for notify, got a list`,
		"notify: [\"a\\0b\"]\nrunner: x": `expected a word for notify, got "a\x00b"`,
	} {
		c, list := config.Load(file("workspace", text))
		got := fmt.Sprint(c.Notify)
		if len(list) > 0 {
			got = list[0].Message
		}
		if got != want {
			t.Errorf("Load(%q) = %s, want %s", text, got, want)
		}
	}
}

// keep is what is kept where nothing is said.
var keep = config.Retention{Age: 30 * 24 * time.Hour, Size: 2 << 30}

func TestRetention(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Retention{
		"":                                 keep,
		"retention: off":                   {Off: true, Age: keep.Age, Size: keep.Size},
		"retention: 7d":                    {Age: 7 * 24 * time.Hour, Size: keep.Size},
		"retention: {age: 36h}":            {Age: 36 * time.Hour, Size: keep.Size},
		"retention: {size: 500MiB}":        {Age: keep.Age, Size: 500 << 20},
		"retention: {age: 1d, size: 1GiB}": {Age: 24 * time.Hour, Size: 1 << 30},
	} {
		got, list := config.Load(
			file("workspace", text),
			file("user", "retention: {age: 30d, size: 2GiB}"),
		)
		if len(list) > 0 || got.Retention != want {
			t.Errorf("Load(%q) = %+v, %q, want %+v", text, got.Retention, found(list), want)
		}
	}
	got, list := config.Load(
		config.Layer{Name: "TERCET_RETENTION", Values: map[string]string{"retention": "off"}},
		file("workspace", "retention: 7d"),
	)
	if len(list) > 0 || !got.Retention.Off || got.Retention.String() != "off" ||
		keep.String() != "30d, 2048 MiB" {
		t.Errorf("Load = %+v, %q, want off", got.Retention, found(list))
	}
}

func TestLoadWhole(t *testing.T) {
	t.Parallel()
	got, list := config.Load(file("workspace", whole))
	if len(list) > 0 {
		t.Fatalf("findings: %q, want none", found(list))
	}
	want := config.Config{
		Runner:  "claude",
		Aliases: map[string]string{"p": "plan", "gc": "git:commit"},
		Prefer:  map[string]string{"plan": "tercet"},
		Limits: formats.Limits{
			Rollbacks: 2,
			Retries:   1,
			Steps:     300,
			Duration:  90 * time.Minute,
		},
		LockTimeout:  5 * time.Second,
		NextNumber:   196,
		Commands:     []string{"tools/commands", "../shared"},
		Env:          []string{"GH_HOST"},
		IsolatedHome: true,
		ACP: map[string]config.ACPAgent{
			"mine": {Argv: []string{"agent", "--acp"}},
			"acp":  {Name: "opencode"},
		},
	}
	want.Retention = keep
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
	for key, origin := range map[string]string{
		"acp.acp":            "workspace.yaml:15",
		"aliases.gc":         "workspace.yaml:4",
		"aliases.p":          "workspace.yaml:3",
		"commands.../shared": "workspace.yaml:12",
		"env.GH_HOST":        "workspace.yaml:13",
		"isolated_home":      "workspace.yaml:14",
		"limits.duration":    "workspace.yaml:9",
		"limits.steps":       "workspace.yaml:8",
		"lock_timeout":       "workspace.yaml:10",
		"next_number":        "workspace.yaml:11",
		"runner":             "workspace.yaml:1",
		"sandbox.image":      "default",
	} {
		if o := got.Origin(key); o.String() != origin {
			t.Errorf("origin of %s = %s, want %s", key, o, origin)
		}
	}
}

func TestLoadNothing(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "# nothing\n", "null\n", "runner:\nlimits:\n", "{}\n"} {
		got, list := config.Load(file("workspace", data))
		if len(list) > 0 {
			t.Errorf("Load(%q): findings %q, want none", data, found(list))
		}
		want := config.Config{
			Runner:      "offline",
			Aliases:     map[string]string{},
			Prefer:      map[string]string{},
			LockTimeout: 60 * time.Second,
			NextNumber:  1,
		}
		want.Retention = keep
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
			t.Errorf("Load(%q) differs (-want +got):\n%s", data, diff)
		}
		if o := got.Origin("runner"); o.String() != "default" {
			t.Errorf("Load(%q): origin of runner = %s, want default", data, o)
		}
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	got, list := config.Load(
		config.Layer{Name: "--runner", Values: map[string]string{"runner": "codex"}},
		config.Layer{
			Name: "environment",
			Values: map[string]string{
				"lock_timeout":  "3s",
				"isolated_home": "false",
				"env":           "A, B",
				"runner":        "gemini",
			},
		},
		file(
			"workspace",
			"aliases: {p: plan}\nlimits: {retries: 2, rollbacks: 3, auto_resume: 3h}\n"+
				"env: [B, C]\ncommands: [x]\nisolated_home: true\nnext_number: 7",
		),
		file(
			"user",
			"aliases: {p: publish, r: research}\n"+
				"limits: {retries: 1, parallel: 2, auto_resume: 1h}\ncommands: [y, x]\n"+
				"next_number: 9\nrunner: claude",
		),
	)
	if len(list) > 0 {
		t.Fatalf("findings: %q, want none", found(list))
	}
	want := config.Config{
		Runner:  "codex",
		Aliases: map[string]string{"p": "plan", "r": "research"},
		Prefer:  map[string]string{},
		Limits: formats.Limits{
			Rollbacks:  3,
			Retries:    1,
			Parallel:   2,
			AutoResume: 3 * time.Hour,
		},
		LockTimeout: 3 * time.Second,
		NextNumber:  7,
		Commands:    []string{"x", "y"},
		Env:         []string{"A", "B", "C"},
	}
	want.Retention = keep
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
	for key, origin := range map[string]string{
		"runner":             "--runner",
		"lock_timeout":       "environment",
		"aliases.p":          "workspace.yaml:1",
		"aliases.r":          "user.yaml:1",
		"limits.retries":     "user.yaml:2",
		"limits.auto_resume": "workspace.yaml:2",
		"limits.rollbacks":   "workspace.yaml:2",
		"env.B":              "environment",
		"env.C":              "workspace.yaml:3",
		"commands.x":         "workspace.yaml:4",
		"limits.visits":      "default",
	} {
		if o := got.Origin(key); o.String() != origin {
			t.Errorf("origin of %s = %s, want %s", key, o, origin)
		}
	}
}

func TestSandboxOfProjectAndPerson(t *testing.T) {
	t.Parallel()
	got, list := config.Load(
		file("workspace", "sandbox: platform_permission"),
		file("user", "sandbox: [container, advisory_only, container]"),
		file("system", "sandbox: [advisory_only]"),
	)
	if len(list) > 0 {
		t.Fatalf("findings: %q, want none", found(list))
	}
	want := config.Config{
		Runner:       "offline",
		Aliases:      map[string]string{},
		Prefer:       map[string]string{},
		LockTimeout:  60 * time.Second,
		NextNumber:   1,
		Sandbox:      []string{"container", "advisory_only"},
		SandboxFloor: []string{"platform_permission"},
	}
	want.Retention = keep
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
}

func TestDetailsOfTheSandbox(t *testing.T) {
	t.Parallel()
	all := "sandbox: {order: [container], image: tools:1, engine: podman, network: true, agents: " +
		"off, checks: true}"
	for _, tt := range []struct {
		layers []config.Layer
		want   config.SandboxOptions
		found  []string
	}{
		{[]config.Layer{file("user", all)}, config.SandboxOptions{
			Image:   "tools:1",
			Engine:  "podman",
			Network: true,
			Agents:  config.AgentsOff,
			Checks:  true,
		}, nil},
		{
			[]config.Layer{
				file("workspace", "sandbox: {image: a/b:2, agents: on, checks: true}"),
				file("user", all),
			},
			config.SandboxOptions{
				Image:   "a/b:2",
				Engine:  "podman",
				Network: true,
				Agents:  config.AgentsOn,
				Checks:  true,
			},
			nil,
		},
		{
			[]config.Layer{
				file("user", "sandbox: {agents: off}"),
				file("workspace", "sandbox: {agents: on}"),
			},
			config.SandboxOptions{Agents: config.AgentsOn},
			nil,
		},
		{
			[]config.Layer{file("user", "sandbox: {agents: auto, checks: false}")},
			config.SandboxOptions{},
			nil,
		},
		{
			[]config.Layer{file("user", "sandbox: {sockets: [/run/a.sock, b.sock]}")},
			config.SandboxOptions{Sockets: []string{"/run/a.sock"}},
			[]string{
				`error user.yaml:1:34: E060: expected the absolute path of a socket for sandbox.sockets, got "b.sock"`,
			},
		},
		{
			[]config.Layer{file("workspace", "sandbox: {sockets: /run/a.sock}")},
			config.SandboxOptions{},
			[]string{
				"warning workspace.yaml:1:20: W111: expected no value for sandbox.sockets in a " +
					"project, got a list; a project may only tighten the sandbox; set it in your " +
					"own config.yaml",
			},
		},
		{
			[]config.Layer{file(
				"workspace",
				"sandbox: {network: true, agents: off, checks: false}",
			)},
			config.SandboxOptions{},
			[]string{
				"warning workspace.yaml:1:20: W111: expected false for sandbox.network in a " +
					"project, got true; a project may only tighten the sandbox; set it in your " +
					"own config.yaml",
				"warning workspace.yaml:1:34: W111: expected on for sandbox.agents in a project, " +
					"got off; a project may only tighten the sandbox; set it in your own " +
					"config.yaml",
				"warning workspace.yaml:1:47: W111: expected true for sandbox.checks in a " +
					"project, got false; a project may only tighten the sandbox; set it in your " +
					"own config.yaml",
			},
		},
	} {
		got, list := config.Load(tt.layers...)
		if diff := cmp.Diff(tt.want, got.SandboxOptions); diff != "" {
			t.Errorf("details of %s differ (-want +got):\n%s", tt.layers[0].Data, diff)
		}
		if diff := cmp.Diff(tt.found, found(list)); diff != "" {
			t.Errorf("findings of %s differ (-want +got):\n%s", tt.layers[0].Data, diff)
		}
	}

	cfg, _ := config.Load(file("user", all))
	for _, key := range []string{
		"sandbox", "sandbox.agents", "sandbox.checks", "sandbox.engine", "sandbox.image",
		"sandbox.network",
	} {
		if o := cfg.Origin(key); o.String() != "user.yaml:1" {
			t.Errorf("origin of %s = %s, want user.yaml:1", key, o)
		}
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	for data, want := range map[string][]string{
		"runer: claude": {
			`warning c.yaml:1:1: W110: unknown key "runer"; did you mean 'runner'?`,
		},
		"zzz: 1": {
			`warning c.yaml:1:1: W110: unknown key "zzz"; the nearest keys are env, acp, mcp`,
		},
		"version: 1": nil,
		"version: 2": {
			`error c.yaml:1:10: E060: the configuration has version 2, and this tercet knows up to version 1: a newer tercet wrote it; install the newer tercet and run the command again; nothing was written`,
		},
		"version: x": {
			`error c.yaml:1:10: E060: expected integer of at least 1 for version, got "x"`,
		},
		"retention: soon": {
			`error c.yaml:1:12: E060: expected off, an age such as 30d, or a map of age and size for retention, got "soon"`,
		},
		"retention: {size: 3}": {
			`error c.yaml:1:19: E060: expected size such as 2GiB or 500MiB for retention.size, got 3`,
		},
		"retention: {age: 0d}": {
			`error c.yaml:1:18: E060: expected age such as 30d or 12h for retention.age, got "0d"`,
		},
		"retention: {aeg: 1d}": {
			`warning c.yaml:1:13: W110: unknown key "retention.aeg"; did you mean 'age'?`,
		},
		"limits: {retrys: 1}": {
			`warning c.yaml:1:10: W110: unknown key "limits.retrys"; did you mean 'retries'?`,
		},
		"limits: {tokens: 1, cost: 1}": nil,
		"limits: {spawns: 3}":          nil,
		"limits: {tokens: few}": {
			`error c.yaml:1:18: E060: expected integer of at least 1 for limits.tokens, got "few"`,
		},
		"limits: {cost: 0}": {
			"error c.yaml:1:16: E060: expected cost above 0 in US dollars for limits.cost, got 0",
		},
		"limits: {spawns: 0}": {
			"error c.yaml:1:18: E060: expected integer of at least 1 for limits.spawns, got 0",
		},
		"limits: {retries: 4}": {
			"warning c.yaml:1:19: W111: expected limits.retries of at most 3, got 4; a limit may " +
				"only be lowered",
		},
		"limits: {retries: 0}": {
			"error c.yaml:1:19: E060: expected integer of at least 1 for limits.retries, got 0",
		},
		"limits: {duration: 3h}": {
			"warning c.yaml:1:20: W111: expected limits.duration of at most 2h0m0s, got 3h; a " +
				"limit may only be lowered",
		},
		"limits: {duration: 30}": {
			"error c.yaml:1:20: E060: expected duration such as 10s or 1h30m for " +
				"limits.duration, got 30",
		},
		"limits: 3": {
			"error c.yaml:1:9: E060: expected a map of limits for limits, got 3",
		},
		"secrets: {allow: [{fil: x}]}": {
			`warning c.yaml:1:20: W110: unknown key "secrets.allow.fil"; did you mean 'file'?`,
			"error c.yaml:1:19: E060: expected the key file for secrets.allow, got a map",
		},
		"secrets: {allow: [{file: x, sha256: 12}]}": {
			"error c.yaml:1:37: E060: expected 64 hexadecimal digits for secrets.allow, got 12",
		},
		"secrets: {allow: [x]}": {
			"error c.yaml:1:19: E060: expected a map with the keys file and sha256 for " +
				"secrets.allow, got \"x\"",
		},
		"secrets: [x]": {
			"error c.yaml:1:10: E060: expected a map with the key allow for secrets, got a list",
		},
		"secrets: {alow: []}": {
			`warning c.yaml:1:11: W110: unknown key "secrets.alow"; did you mean 'allow'?`,
		},
		"runner: Claude Code": {
			`error c.yaml:1:9: E060: expected name of a runner for runner, got "Claude Code"`,
		},
		"runner: [claude]": {
			"error c.yaml:1:9: E060: expected name of a runner for runner, got a list",
		},
		"aliases: {p: 1}": {
			"error c.yaml:1:14: E060: expected slash name for aliases.p, got 1",
		},
		"aliases: {P: plan}": {
			`error c.yaml:1:11: E060: expected slash name for aliases, got "P"`,
		},
		"prefer: {plan: Project!}": {
			`error c.yaml:1:16: E060: expected word of a scope such as tercet or project for prefer.plan, got "Project!"`,
		},
		"prefer: tercet": {
			`error c.yaml:1:9: E060: expected a map of slash names for prefer, got "tercet"`,
		},
		"aliases: [p]": {
			"error c.yaml:1:10: E060: expected a map of slash names for aliases, got a list",
		},
		"lock_timeout: -1s": {
			`error c.yaml:1:15: E060: expected duration such as 10s or 1h30m for lock_timeout, got "-1s"`,
		},
		"specs_dir: ../specs": {
			`error c.yaml:1:12: E060: expected folder inside the project, such as specs, for specs_dir, got "../specs"`,
		},
		"specs_dir: .git/x": {
			`error c.yaml:1:12: E060: expected folder inside the project, such as specs, for specs_dir, got ".git/x"`,
		},
		"specs_dir: .tercet/runs": {
			`error c.yaml:1:12: E060: expected folder inside the project, such as specs, for specs_dir, got ".tercet/runs"`,
		},
		"specs_dir: .tercet/specs": nil,
		"next_number: 1.5": {
			"error c.yaml:1:14: E060: expected integer of at least 1 for next_number, got 1.5",
		},
		"isolated_home: yes": {
			`error c.yaml:1:16: E060: expected true or false for isolated_home, got "yes"`,
		},
		"env: [1A, B-C, D]": {
			`error c.yaml:1:7: E060: expected name of a variable for env, got "1A"`,
			`error c.yaml:1:11: E060: expected name of a variable for env, got "B-C"`,
		},
		"env: {A: b}": {
			"error c.yaml:1:6: E060: expected a list for env, got a map",
		},
		"commands: ['']": {
			`error c.yaml:1:12: E060: expected folder for commands, got ""`,
		},
		"sandbox: [container, docker]": {
			`error c.yaml:1:22: E060: expected container, platform_permission or advisory_only for sandbox, got "docker"`,
		},
		"sandbox: {a: b}": {
			`warning c.yaml:1:11: W110: unknown key "sandbox.a"; the keys are order, image, engine, network, agents, checks, sockets`,
		},
		"sandbox: {check: true}": {
			`warning c.yaml:1:11: W110: unknown key "sandbox.check"; did you mean 'checks'?`,
		},
		"sandbox: {order: {a: b}}": {
			"error c.yaml:1:18: E060: expected a list for sandbox, got a map",
		},
		"sandbox: {image: --privileged}": {
			`error c.yaml:1:18: E060: expected name of an image for sandbox.image, got "--privileged"`,
		},
		"sandbox: {image: 'a b'}": {
			`error c.yaml:1:18: E060: expected name of an image for sandbox.image, got "a b"`,
		},
		"sandbox: {engine: lxc}": {
			`error c.yaml:1:19: E060: expected docker or podman for sandbox.engine, got "lxc"`,
		},
		"sandbox: {agents: maybe}": {
			`error c.yaml:1:19: E060: expected auto, on or off for sandbox.agents, got "maybe"`,
		},
		"sandbox: {checks: some}": {
			`error c.yaml:1:19: E060: expected true or false for sandbox.checks, got "some"`,
		},
		"acp: [opencode, acp]":         nil,
		"acp: opencode":                nil,
		"acp: {mine: [agent], acp: x}": nil,
		"acp: 3": {
			"error c.yaml:1:6: E060: expected name of an agent, or a list of program and " +
				"arguments for acp, got 3",
		},
		"acp: []": {
			"error c.yaml:1:6: E060: expected name of an agent, or a list of program and " +
				"arguments for acp, got a list",
		},
		"acp: [a, [b]]": {
			"error c.yaml:1:10: E060: expected a word for acp, got a list",
		},
		"acp: gemini --acp": {
			`error c.yaml:1:6: E060: expected name of an agent, or a list of program and arguments for acp, got "gemini --acp"`,
		},
		"acp: {claude: claude}": {
			`error c.yaml:1:7: E060: expected a name that no other runner has for acp, got "claude"; choose another name for the runner`,
		},
		"acp: {A: claude}": {
			`error c.yaml:1:7: E060: expected name of a runner for acp, got "A"`,
		},
		"acp: {a: {b: c}}": {
			"error c.yaml:1:10: E060: expected name of an agent, or a list of program and " +
				"arguments for acp.a, got a map",
		},
		"- runner": {
			"error c.yaml:1:1: E060: expected a map of keys for the file, got a list",
		},
		"runner: claude\nrunner: codex": {
			"error c.yaml:2:1: E221: key 'runner' stands twice",
		},
		"a: b: c": {"error c.yaml:1:5: E220: "},
	} {
		_, list := config.Load(file("c", data))
		got := found(list)
		if strings.Contains(data, "runner: codex") || strings.HasPrefix(data, "a: b") {
			// The words are those of the YAML reader; the place and the code are ours to pass on.
			if len(got) != 1 ||
				got[0][:len(
					"error c.yaml:1:1: E220",
				)-1] != want[0][:len("error c.yaml:1:1: E220")-1] {
				t.Errorf("Load(%q) = %q, want %q", data, got, want)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("findings of %q differ (-want +got):\n%s", data, diff)
		}
	}

	_, list := config.Load(config.Layer{
		Name:   "TERCET_LOCK_TIMEOUT",
		Values: map[string]string{"lock_timeout": "soon"},
	})
	want := []string{
		`error TERCET_LOCK_TIMEOUT: expected duration such as 10s or 1h30m for lock_timeout, got "soon"`,
	}
	for i := range list {
		list[i].Code = ""
	}

	if diff := cmp.Diff(want, found(list)); diff != "" {
		t.Errorf("findings of a text differ (-want +got):\n%s", diff)
	}
}

func TestAWrongValueLeavesTheOneBelow(t *testing.T) {
	t.Parallel()
	got, list := config.Load(
		file("workspace", "runner: 5\nlock_timeout: x\nlimits: {retries: 9}"),
		file("user", "runner: codex\nlock_timeout: 2s\nlimits: {retries: 2}"),
	)
	if len(list) != 3 || got.Runner != "codex" || got.LockTimeout != 2*time.Second ||
		got.Limits.Retries != 2 {
		t.Errorf("Load = %+v with findings %q, want the values of the user and three findings",
			got, found(list))
	}
}

func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		whole, "", "runner: [", "limits: {retries: -1}", "aliases: {a: b, a: c}", "env: [A, A]",
		"a: &x 1\nb: *x", "model: {a: b, c: -d}", "model: x\nnotify: [a, {b: c}]", "\xff",
		"commands: {x: y}",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, data string) {
		c, list := config.Load(
			config.Layer{
				Name:   "flag",
				Values: map[string]string{"runner": data, "env": data, "aliases": data},
			},
			file("c", data),
			file("d", whole),
		)
		for _, d := range list {
			if d.Message == "" || d.Code == "" || d.File == "c.yaml" && d.Pos.Line < 1 {
				t.Fatalf("Load(%q): finding %+v says too little", data, d)
			}
		}
		if c.Runner == "" || c.NextNumber < 1 || c.LockTimeout <= 0 || c.Limits.Rollbacks < 1 ||
			c.Limits.Rollbacks > 2 {
			t.Fatalf("Load(%q) = %+v, want values within their bounds", data, c)
		}
	})
}

// TestSharedLimits: only the user's own file bounds what all projects have at work.
func TestSharedLimits(t *testing.T) {
	t.Parallel()
	const both = "limits: {runs: 2, agents: 3, steps: 9}"
	got, list := config.Load(
		file(config.WorkspaceLayer, "limits: {runs: 9, agents: 9}"),
		file(config.UserLayer, both),
		file("system", "limits: {agents: 1}"),
	)
	if got.RunsAtOnce != 2 || got.AgentsAtOnce != 3 || got.Limits.Steps != 9 {
		t.Errorf("runs %d, agents %d, steps %d, want 2, 3, 9",
			got.RunsAtOnce, got.AgentsAtOnce, got.Limits.Steps)
	}
	const refused = "W111: expected no value for limits.%s here, got %d; " +
		"set it in your own config.yaml"
	want := "warning workspace.yaml:1:16: " + fmt.Sprintf(refused, "runs", 9) +
		"\nwarning workspace.yaml:1:27: " + fmt.Sprintf(refused, "agents", 9) +
		"\nwarning system.yaml:1:18: " + fmt.Sprintf(refused, "agents", 1)
	if all := strings.Join(found(list), "\n"); all != want {
		t.Errorf("found\n%s\nwant\n%s", all, want)
	}
	_, list = config.Load(file(config.UserLayer, "limits: {runs: 0, agents: many}"))
	if len(list) != 2 || list[0].Severity != formats.SeverityError {
		t.Errorf("found %q, want two errors", found(list))
	}
}

// TestMCPAnswers: only the user's own file can let clients pass answers on.
func TestMCPAnswers(t *testing.T) {
	t.Parallel()
	const yes = "mcp: {answers: true}"
	for _, tt := range []struct {
		name   string
		layers []config.Layer
		want   bool
		found  string
	}{
		{"nobody", nil, false, ""},
		{"user", []config.Layer{file(config.UserLayer, yes)}, true, ""},
		{
			"user says no",
			[]config.Layer{file(config.UserLayer, "mcp: {answers: false}")},
			false,
			"",
		},
		{
			"project",
			[]config.Layer{file(config.WorkspaceLayer, yes)},
			false,
			"warning workspace.yaml:1:16: W111: expected no value for mcp.answers here, got " +
				"true; set it in your own config.yaml",
		},
		{
			"project beside the user",
			[]config.Layer{
				file(config.WorkspaceLayer, "mcp: {answers: false}"),
				file(config.UserLayer, yes),
			},
			true,
			"warning workspace.yaml:1:16: W111: expected no value for mcp.answers here, got " +
				"false; set it in your own config.yaml",
		},
		{
			"variable",
			[]config.Layer{{
				Name:   "TERCET_MCP",
				File:   "TERCET_MCP",
				Values: map[string]string{"mcp": "{answers: true}"},
			}},
			false,
			"warning TERCET_MCP:1:11: W111: expected no value for mcp.answers here, got true; " +
				"set it in your own config.yaml",
		},
		{
			"system",
			[]config.Layer{file("system", yes)},
			false,
			"warning system.yaml:1:16: W111: expected no value for mcp.answers here, got true; " +
				"set it in your own config.yaml",
		},
	} {
		got, list := config.Load(tt.layers...)
		if all := strings.Join(found(list), "\n"); got.MCPAnswers != tt.want || all != tt.found {
			t.Errorf("%s: MCPAnswers = %t, findings %q, want %t, %q",
				tt.name, got.MCPAnswers, all, tt.want, tt.found)
		}
	}
}

// TestTeam: only the user's own file says to which team the user belongs.
func TestTeam(t *testing.T) {
	t.Parallel()
	layer := func(name, text string) config.Layer {
		return config.Layer{Name: name, File: name + ".yaml", Data: []byte(text)}
	}
	const text = "team:\n  url: nats://10.0.0.5:4333\n  key: ~/.config/tercet/team.key\n" +
		"  remote: upstream\n  dead_after: 1m\n  limits: {cost: 2.5, spawns: 40}\n  publish: pr\n"
	got, list := config.Load(layer(config.UserLayer, text))
	want := config.Team{
		URL:       "10.0.0.5:4333",
		Key:       "~/.config/tercet/team.key",
		Remote:    "upstream",
		DeadAfter: time.Minute,
		Limits:    config.TeamLimits{Cost: 2.5, Spawns: 40},
		Publish:   config.PublishRequest,
	}
	if diff := cmp.Diff(want, got.Team); diff != "" || len(list) > 0 {
		t.Errorf("the user's own file: %v\n%s", list, diff)
	}
	for text, want := range map[string]string{
		"team: {url: 10.0.0.5}":          "expected address of a hub such as nats://10.0.0.5:4333",
		"team: {url: 'https://a/b:1'}":   "expected address of a hub",
		"team: {url: 'a:0'}":             "expected address of a hub",
		"team: {key: team.key}":          "expected absolute path, or one that begins with ~/, for team.key",
		"team: {remote: ''}":             "expected name of a git remote such as origin for team.remote",
		"team: {dead_after: 1s}":         "expected duration of at least 3s for team.dead_after",
		"team: {limits: {cost: 0}}":      "expected cost above 0 in US dollars for team.limits.cost",
		"team: {limits: {spawns: many}}": "expected integer of at least 1 for team.limits.spawns",
		"team: {publish: merge}":         "expected home or pr for team.publish",
		"team: {limit: {spawns: 1}}":     `unknown key "team.limit"`,
		"team: {limits: {spawn: 1}}":     `unknown key "team.limits.spawn"`,
		"team: origin":                   "expected a map for team",
		"# of the project\n" +
			text: "expected no value for team.url here; set it in your own",
		"# of the project\nteam: {key: /a}": "expected no value for team.key here; set it in your own",
	} {
		name := config.UserLayer
		if strings.HasPrefix(text, "# of the project") {
			name = config.WorkspaceLayer
		}
		got, list := config.Load(layer(name, text))
		if all := strings.Join(found(list), "\n"); !strings.Contains(all, want) ||
			got.Team != (config.Team{}) {
			t.Errorf("Load(%q) = %+v with %s, want %q", text, got.Team, all, want)
		}
	}
}

// TestWorker: only the user's own file says what a machine offers a team.
func TestWorker(t *testing.T) {
	t.Parallel()
	layer := func(name, text string) config.Layer {
		return config.Layer{Name: name, File: name + ".yaml", Data: []byte(text)}
	}
	const text = "worker: {slots: 2, labels: [linux, gpu], account: team-plan}"
	got, list := config.Load(layer(config.UserLayer, text))
	want := config.Worker{Slots: 2, Labels: []string{"linux", "gpu"}, Account: "team-plan"}
	if diff := cmp.Diff(want, got.Worker); diff != "" || len(list) > 0 {
		t.Errorf("the user's own file: %v\n%s", list, diff)
	}
	for text, want := range map[string]string{
		text:                     "expected no value for worker.slots here",
		"worker: {slots: 0}":     "expected integer of at least 1 for worker.slots",
		"worker: {labels: ['']}": "expected label such as gpu for worker.labels",
		"worker: {account: a b}": "expected name such as team-plan for worker.account",
		"worker: 2":              "expected a map for worker",
	} {
		name := config.UserLayer
		if strings.HasPrefix(want, "expected no value") {
			name = config.WorkspaceLayer
		}
		got, list := config.Load(layer(name, text))
		if all := strings.Join(found(list), "\n"); !strings.Contains(all, want) ||
			got.Worker.Slots+len(got.Worker.Labels)+len(got.Worker.Account) > 0 {
			t.Errorf("Load(%q) = %+v with %s, want %q", text, got.Worker, all, want)
		}
	}
}
