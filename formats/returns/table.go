package returns

import (
	"sync"

	"tercet/formats"
	"tercet/internal/strict"
)

// Tables are the keys of a subagent's return and of its objects.
func Tables() []strict.Table {
	return tables()
}

// JSONSchema is the JSON Schema of a subagent's return, for editors and for agents.
func JSONSchema() (map[string]any, error) {
	return strict.Schema("return", returnRules, tables())
}

// The parser reads each member by its name and repairs other spellings; this is the form that needs
// no repair.
var tables = sync.OnceValue(func() []strict.Table {
	return []strict.Table{
		{
			Name:  "return",
			Needs: []string{"status", "summary"},
			Keys: []strict.Key{
				{"status", strict.Texts(statusWords), "whether the work was done"},
				{"summary", "summary", "what was done, in at most 500 characters"},
				{"verdict", strict.Texts(verdictWords), "of a reviewer: what it judged"},
				{"artifacts", "[form:artifact]", "the files that were made"},
				{"issues", "[form:issue]", "what was found wrong in work that was done"},
				{
					"errors",
					"[form:error]",
					"why the work failed; a failed return needs one, a completed one has none",
				},
				{"fields", "object", "further members, as the contract names them"},
				{"blocked_reason", "text", "with status blocked: what is missing"},
				{"blocked_target", "text", "with status blocked: who could give it"},
				{"next_steps", "text", "what to do next"},
				{"text", "text", "a longer text to show, markdown of at most 256 KiB"},
				{"warnings", "[text]", "what else to know about the work"},
				{"nonce", "text", "the nonce of this delegation, where the prompt asks for it"},
				{"agent", "text", "the name of the subagent, where the prompt asks for it"},
				{"schema", "'" + Schema + "'", "the name of this format"},
			},
		},
		{
			Name:  "artifact",
			Needs: []string{"type", "path"},
			Keys: []strict.Key{
				{"type", strict.Texts(formats.Words(formats.ArtifactTypes())), "what it is"},
				{
					"path",
					"filled",
					"of a document below the output folder, of other files from the root of " +
						"the tree",
				},
				{"summary", "summary", "what is in it"},
				{"deleted", "boolean", "the file was removed"},
			},
		},
		{
			Name:  "issue",
			Needs: []string{"level", "description"},
			Keys: []strict.Key{
				{"level", "'error'|'warning'|'suggestion'", "how bad it is"},
				{"description", "filled", "what is wrong"},
				{"files", "[text]", "where"},
				{"line", "line", "of the first file"},
				{"suggested_fix", "text", "what would mend it"},
				{"source", "'agent'|'check'", "who found it (agent)"},
			},
		},
		{
			Name:  "error",
			Needs: []string{"message"},
			Keys: []strict.Key{
				{"message", "filled", "what happened"},
				{
					"type",
					strict.Texts(formats.Words(formats.ErrorTypes())),
					"the kind of error (execution)",
				},
				{
					"code",
					strict.Texts(formats.Words(formats.Codes())),
					"as 'tercet help exit-codes' lists them (" + string(formats.CodeUnknown) + ")",
				},
				{"recoverable", "boolean", "the same work may succeed later"},
				{"recommendation", "text", "what to do about it"},
			},
		},
	}
})

const returnRules = `{
	"text":    {"type": "string"},
	"filled":  {"type": "string", "minLength": 1},
	"summary": {"type": "string", "minLength": 1, "maxLength": 500},
	"boolean": {"type": "boolean"},
	"object":  {"type": "object"},
	"line":    {"type": "integer", "minimum": 0, "maximum": 2147483647}
}`
