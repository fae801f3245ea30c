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
				"retention",
				"'off'|age|form:retention",
				"which runs gc keeps: their age (30d), or age and size",
			},
			{
				"notify",
				"text|[text]",
				"program and arguments that get a JSON line when a gate opens or a run ends",
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
			{"secrets", "form:secrets", "what the scan before a commit lets pass"},
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
			{"spawns", "count", "calls of workers in a run"},
			{"duration", "duration", "of a run"},
			{"tokens", "count", "of all workers of a run"},
			{"cost", "dollars", "of all workers of a run, in US dollars"},
			{
				"auto_resume",
				"duration",
				"how long after it stopped 'tercet watch' still resumes a run that waits for " +
					"a time",
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
	"agent":    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}]}
}`
