package config

import (
	"strings"

	"tercet/formats"
	"tercet/internal/strict"
)

// formOf returns the form of a map by the name of its table.
func formOf(name string) strict.Form {
	return strict.Find(tables, name).Form()
}

// Tables are the keys of config.yaml and of its maps.
func Tables() []strict.Table {
	return tables
}

// Schema is the JSON Schema of config.yaml.
func Schema() (map[string]any, error) {
	return strict.Schema("config", rules, tables)
}

// The loader parses each key by name; these types of values are for editors.
var tables = []strict.Table{
	{
		Name:    "config",
		Unknown: "unknown key %q",
		Keys: []strict.Key{
			{
				"runner", "text",
				"the runner of subagents: offline (default), " +
					strings.Join(formats.AgentCLIs(), ", ") + ", auto or one of acp",
			},
			{
				"model",
				"text|{text}",
				"the name of a model for every runner, or a map from runner to model",
			},
			{"aliases", "{text}", "slash name to slash name"},
			{
				"prefer",
				"{text}",
				"slash name to the scope whose command has it, tercet or project for instance",
			},
			{"commands", "text|[text]", "further folders with command files"},
			{
				"env",
				"text|[text]",
				"names of variables that children may see; their values are masked",
			},
			{"limits", "form:limits", "as in a command file; the lowest counts"},
			{"daily", "form:daily", "ceiling of a day over all runs: reaching it suspends"},
			{"lock_timeout", "duration", "how long to wait for a lock (60s)"},
			{"next_number", "count", "the first task number of a new state"},
			{
				"language",
				"'en'|'ja'",
				"of the fixed texts of flows: en (default) or ja; an answer may be given in both",
			},
			{
				"specs_dir",
				"text",
				"folder of the project that holds the documents of tasks, used in place " +
					"(.tercet/specs)",
			},
			{
				"checks",
				"{[text]}",
				"your own checks by stack, such as lean: a program and its arguments, " +
					"in place of what is detected",
			},
			{
				"commit",
				"'documents'|'none'",
				"what /research, /plan and /revise commit by themselves: their documents, or " +
					"nothing (none)",
			},
			{
				"retention",
				"'off'|age|form:retention",
				"which runs gc keeps: their age (30d), or age and size",
			},
			{
				"notify",
				"text|[text]",
				"program and arguments that get a JSON line when a gate opens or a run ends",
			},
			{
				"setup",
				"text|[text]",
				"program and arguments that prepare a fresh clone of a worker of a team, such as " +
					"installing what the project depends on",
			},
			{
				"worker",
				"form:worker",
				"what 'tercet worker' offers its team; only in your own config.yaml",
			},
			{
				"team",
				"form:team",
				"the team that you belong to; only in your own config.yaml",
			},
			{"isolated_home", "boolean", "every agent has a home folder of its own"},
			{
				"sandbox",
				"tier|[tier]|form:sandbox",
				"the tiers of isolation in order, or a map with the details",
			},
			{
				"acp",
				"agent|{agent}",
				"the agent of runner acp, or a map from runner to agent: its program and arguments",
			},
			{"context", "form:context", "what agents get of the project besides their own files"},
			{"secrets", "form:secrets", "what the scan before a commit lets pass"},
			{
				"mcp",
				"form:mcp",
				"what clients of the Model Context Protocol may do; only in your own config.yaml",
			},
			{"version", "count", "of this file's format"},
		},
	},
	{
		Name:    "limits",
		Unknown: `unknown key "limits.%s"`,
		Keys: []strict.Key{
			{"rollbacks", "count", "of a run (3)"},
			{"retries", "count", "of a step (3)"},
			{"visits", "count", "how often a step is entered (5)"},
			{"steps", "count", "of a run (200), and 50 more for each element or round of a loop"},
			{"elements", "count", "of one loop (1000)"},
			{"parallel", "count", "workers at once"},
			{
				"runs",
				"count",
				"runs at work at once, of all your projects; only in your own config.yaml",
			},
			{
				"agents",
				"count",
				"workers at once, of all your projects; only in your own config.yaml",
			},
			{"spawns", "count", "calls of workers in a run"},
			{"duration", "duration", "of a run"},
			{"tokens", "count", "of all workers of a run"},
			{"cost", "dollars", "of all workers of a run, in US dollars"},
			{
				"auto_resume",
				"duration",
				"how long after it stopped 'tercet watch' and 'tercet serve' still resume a run " +
					"that waits for a time",
			},
		},
	},
	{
		Name:    "daily",
		Unknown: `unknown key "daily.%s"`,
		Keys: []strict.Key{
			{"tokens", "count", "of all runs of a day"},
			{"cost", "dollars", "of all runs of a day, in US dollars"},
		},
	},
	{
		Name:    "retention",
		Unknown: `unknown key "retention.%s"`,
		Keys: []strict.Key{
			{"age", "age", "older runs are removed"},
			{"size", "size", "beyond this the oldest are removed (2GiB)"},
		},
	},
	{
		Name:    "sandbox",
		Unknown: `unknown key "sandbox.%s"`,
		Keys: []strict.Key{
			{"order", "tier|[tier]", "the tiers that are tried, in this order"},
			{"image", "text", "of the container tier"},
			{"engine", "'docker'|'podman'", "of the container tier; else the first that works"},
			{"network", "boolean", "a container has a network; a project can only say false"},
			{
				"agents",
				"switch",
				"bounds for agent CLIs: auto, on or off; a project can only say on",
			},
			{
				"checks",
				"boolean",
				"a project's checks run in the best tier too; a project can only say true",
			},
			{
				"sockets",
				"text|[text]",
				"absolute paths of sockets that a subagent with the tool net may use; not in a " +
					"project",
			},
		},
	},
	{
		Name:    "secrets",
		Unknown: `unknown key "secrets.%s"`,
		Keys: []strict.Key{
			{"allow", "[form:allowed]", "findings that are none"},
		},
	},
	{
		Name:    "context",
		Unknown: `unknown key "context.%s"`,
		Keys: []strict.Key{
			{
				"instructions",
				"boolean",
				"prompts hold the project's CLAUDE.md, AGENTS.md, GEMINI.md or " +
					".github/copilot-instructions.md (true)",
			},
		},
	},
	{
		Name:    "mcp",
		Unknown: `unknown key "mcp.%s"`,
		Keys: []strict.Key{
			{
				"answers",
				"boolean",
				"a client may pass an answer of its user on to a question; a script may answer " +
					"there in your name (false)",
			},
		},
	},
	{
		Name:    "worker",
		Unknown: `unknown key "worker.%s"`,
		Keys: []strict.Key{
			{"slots", "count", "runs side by side, each in a clone of its own (1)"},
			{"labels", "text|[text]", "what this machine has, for commands with needs:"},
			{
				"account",
				"text",
				"a name for the account of this machine's agents; workers with one account wait " +
					"together for its usage limit",
			},
		},
	},
	{
		Name:    "team",
		Unknown: `unknown key "team.%s"`,
		Keys: []strict.Key{
			{
				"url",
				"text",
				"where its hub is reached, such as nats://10.0.0.5:4333; " +
					"'tercet hub' listens there",
			},
			{
				"key",
				"text",
				"file with your key, which 'tercet --on team join' makes " +
					"(~/.local/state/tercet/team/member.json)",
			},
			{"remote", "text", "the git remote that has the team's snapshots (that of the branch)"},
			{"dead_after", "duration", "a worker that is silent so long has lost its run (30s)"},
			{"limits", "form:team.limits", "of all runs of the team together"},
			{
				"publish",
				"'home'|'pr'",
				"the home merges what runs publish (home), or opens a pull request for it",
			},
		},
	},
	{
		Name:    "team.limits",
		Unknown: `unknown key "team.limits.%s"`,
		Keys: []strict.Key{
			{"cost", "dollars", "of all workers of the team, in US dollars"},
			{"spawns", "count", "calls of workers by the whole team"},
		},
	},
	{
		Name:    "allowed",
		Unknown: `unknown key "secrets.allow.%s"`,
		Needs:   []string{"file"},
		Keys: []strict.Key{
			{"file", "text", "path from the project's root"},
			{"sha256", "sum", "of the finding, as the message shows it; without it the whole file"},
		},
	},
}

const rules = `{
	"text":     {"type": "string"},
	"boolean":  {"type": "boolean"},
	"count":    {"type": "integer", "minimum": 1},
	"dollars":  {"type": "number", "exclusiveMinimum": 0},
	"duration": {"type": "string", "pattern": "^([0-9.]+(h|m|s|ms))+$"},
	"age":      {"type": "string", "pattern": "^([0-9]+d|([0-9.]+(h|m|s|ms))+)$"},
	"size":     {"type": "string", "pattern": "^[0-9]+ *(KiB|MiB|GiB)$"},
	"sum":      {"type": "string", "pattern": "^[0-9A-Fa-f]{64}$"},
	"tier":     {"enum": ["container", "platform_permission", "advisory_only"]},
	"switch":   {"enum": ["auto", "on", "off", true, false]},
	"agent":    {"anyOf": [
		{"type": "string"},
		{"type": "array", "items": {"type": ["string", "number", "boolean"]}}
	]}
}`
