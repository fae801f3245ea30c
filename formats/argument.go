package formats

// ArgumentInfo is an argument of a command for menus, forms and programs.
type ArgumentInfo struct {
	Name string `json:"name"`
	// Type is the word of the command file: string, path, enum, text, integer, number, boolean,
	// duration, task, tasks, json or subagent.
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Required    bool     `json:"required"`
	Flag        bool     `json:"flag"`            // it is given as --name only
	Short       string   `json:"short,omitempty"` // one letter of a flag
	Repeat      bool     `json:"repeat,omitempty"`
	Default     any      `json:"default,omitempty"`
	Values      []string `json:"values,omitempty"`  // of an enum
	Minimum     *float64 `json:"minimum,omitempty"` // of a number, or of a duration in seconds
	Maximum     *float64 `json:"maximum,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	// Complete is the kind of names that fit, such as tasks or files.
	Complete string `json:"complete,omitempty"`
	// Unless are the arguments that make this one needless.
	Unless []string `json:"unless,omitempty"`
}

// Schema is the JSON schema of an object with the arguments as members.
func (c CommandInfo) Schema() map[string]any {
	members := map[string]any{}
	required := []string{}
	for _, a := range c.Arguments {
		members[a.Name] = a.schema()
		if a.Required && len(a.Unless) == 0 {
			required = append(required, a.Name)
		}
	}

	return map[string]any{
		"type":                 "object",
		"properties":           members,
		"required":             required,
		"additionalProperties": false,
	}
}

// schema is the JSON schema of the values of the argument.
func (a ArgumentInfo) schema() map[string]any {
	out := map[string]any{}
	switch a.Type {
	case "integer", "number", "boolean":
		out["type"] = a.Type
	case "task":
		out["type"] = "integer"
		out["minimum"] = 1
	case "json":
		// any value
	case "enum":
		out["enum"] = a.Values
	default:
		out["type"] = "string"
	}

	if a.Type == "integer" || a.Type == "number" {
		if a.Minimum != nil {
			out["minimum"] = *a.Minimum
		}
		if a.Maximum != nil {
			out["maximum"] = *a.Maximum
		}
	}

	if a.Pattern != "" {
		out["pattern"] = "^(?:" + a.Pattern + ")$" // the whole value has to match
	}
	if a.Repeat {
		out = map[string]any{"type": "array", "items": out}
	}

	if a.Description != "" {
		out["description"] = a.Description
	}
	if a.Default != nil {
		out["default"] = a.Default
	}
	return out
}
