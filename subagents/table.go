package subagents

import (
	"sync"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/strict"
)

// Tables are the keys of a subagent file and of its maps.
func Tables() []strict.Table {
	return tables()
}

// Schema is the JSON Schema of a subagent file's frontmatter.
func Schema() (map[string]any, error) {
	return strict.Schema("subagent", rules, tables())
}

// Each key is read by its name; what a value may be stands with its reader, and here for editors.
var tables = sync.OnceValue(func() []strict.Table {
	kinds := strict.Texts(formats.Words(inputTypes))
	profiles := strict.Texts(documents.Profiles())
	return []strict.Table{
		{
			Name:    "subagent",
			Unknown: "unknown key %q",
			Needs:   []string{"name", "description"},
			Keys: []strict.Key{
				{"name", "name", "the name of the file"},
				{"description", "text", "one line of at most 120 characters"},
				{
					"role",
					strict.Texts(formats.Words(formats.Roles())),
					"what it is for (utility); a reviewer returns a verdict",
				},
				{
					"runner",
					"name|[name]",
					"what executes it, or several in order of preference; without it the " +
						"project's runner",
				},
				{"model", "text|{text}", "the name of a model, or a map from runner to model"},
				{"argv", "argv", "with runner exec or acp: the program and its arguments"},
				{"tools", "tool|[tool]", "what it may use of the machine ([read, search])"},
				{"facets", "form:facets", "files below facets/ that go into its prompt"},
				{"inputs", "'any'|{form:input}", "what a step may pass to it, by name"},
				{"returns", "'any'|form:returns", "the contract for its return"},
				{"skills", "name|[name]", "skills of the project that it knows"},
				{"mcp", "[form:server]", "servers in the project's .mcp.json that it may use"},
				{"timeout", "duration|form:timeout", "of one call (30m)"},
				{"limits", "form:limits", "of one call"},
				{
					"can_delegate_to",
					"name|[name]",
					"with steps of its own: the subagents that they may call",
				},
			},
		},
		{
			Name:    "facets",
			Unknown: "unknown facet %q",
			Keys: []strict.Key{
				{"persona", "name", "who it is"},
				{"knowledge", "name|[name]", "what it knows"},
				{"instruction", "name", "what it does"},
				{"output", "name", "what it gives"},
				{"policy", "name|[name]", "what it may not do; stands last in the prompt"},
			},
		},
		{
			Name:    "server",
			Unknown: "unknown key of a server %q",
			Needs:   []string{"server", "tools"},
			Keys: []strict.Key{
				{"server", "text", "its name in .mcp.json"},
				{"tools", "[text]", "the tools of it that may be called"},
			},
		},
		{
			Name:    "input",
			Unknown: "unknown key of an input %q",
			Keys: []strict.Key{
				{"type", kinds, "of the value (any)"},
				{"required", "boolean", "a step that leaves it out is refused"},
				{"document", profiles, "the value is the path of a document with this profile"},
				{"enum", "text|[text]", "the texts that the value may be"},
			},
		},
		{
			Name:    "returns",
			Unknown: "unknown key of returns %q",
			Keys: []strict.Key{
				{"form", "'json'|'agent_result'", "how it returns (json)"},
				{"statuses", "outcome|[outcome]", "the outcomes that it may have"},
				{"artifacts", "'none'|'any'|[form:artifact]", "the files that it makes"},
				{
					"fields",
					"'any'|{kind}",
					"name to type of further members; a name that ends in ? may be missing",
				},
				{"status", "text", "jq over {status, fields} that gives the outcome"},
				{"issues", "text", "jq over {status, fields} that gives the issues"},
			},
		},
		{
			Name:    "artifact",
			Unknown: "unknown key of an artifact %q",
			Needs:   []string{"type"},
			Keys: []strict.Key{
				{"type", strict.Texts(formats.Words(formats.ArtifactTypes())), "what it is"},
				{"name", "text", "the name of its file"},
				{"document", profiles, "the profile that it is checked by"},
				{"optional", "boolean", "it may be missing"},
			},
		},
		{
			Name:    "timeout",
			Unknown: "unknown key of timeout %q",
			Keys: []strict.Key{
				{"total", "duration", "of one call"},
				{"idle", "duration", "without output"},
			},
		},
		{
			Name:    "limits",
			Unknown: "unknown limit %q",
			Keys: []strict.Key{
				{"tokens", "count", "read and written by its model"},
				{"cost", "dollars", "in US dollars"},
				{"turns", "count", "answers of its model"},
			},
		},
	}
})

const rules = `{
	"name":     {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,47}(@[a-z][a-z0-9+#_-]{0,31})?$"},
	"text":     {"type": "string"},
	"boolean":  {"type": "boolean"},
	"argv":     {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}},
	"tool":     {"enum": ["read", "search", "write", "shell", "net"]},
	"count":    {"type": "integer", "minimum": 1},
	"dollars":  {"type": "number", "exclusiveMinimum": 0},
	"duration": {"type": "string", "pattern": "^([0-9.]+(h|m|s|ms))+$"},
	"outcome":  {"enum": ["completed", "approved", "conditional", "skipped", "partial", "rejected", "blocked",
		"suspended", "failed"]},
	"kind":     {"enum": ["string", "integer", "number", "boolean", "array", "list", "object", "any"]}
}`
