package project

import (
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/config"
	"tercet/subagents"
)

// schemas are the files and blocks that an editor can check, each with its JSON schema.
var schemas = []struct {
	name string
	make func() (map[string]any, error)
}{
	{"frontmatter", blockSchema("frontmatter")},
	{"args", blockSchema("args")},
	{"defaults", blockSchema("defaults")},
	{"step", blockSchema("step")},
	{"subagent", subagents.Schema},
	{"return", returns.JSONSchema},
	{"config", config.Schema},
}

func blockSchema(name string) func() (map[string]any, error) {
	return func() (map[string]any, error) {
		schema, _ := syntax.Schema(name)
		return schema, nil
	}
}

// SchemaNames are the names that Schema knows.
func SchemaNames() []string {
	names := make([]string, len(schemas))
	for i, s := range schemas {
		names[i] = s.name
	}
	return names
}

// Schema gives the JSON schema of a file or block by its name.
func Schema(name string) (map[string]any, error) {
	for _, s := range schemas {
		if s.name == name {
			return s.make()
		}
	}
	names := SchemaNames()
	_, err := formats.OneOf("one of "+strings.Join(names, ", "), name, names)
	return nil, err
}

// Setting is a value of the configuration, and where it comes from.
type Setting = config.Setting
