package dialect

// cursorTool: plain text; the arguments are put behind it.
func cursorTool() tool {
	return tool{
		keys:  []string{"description", "name"},
		words: func(string) []string { return nil },
		tail: func(_ *Command, raw, _ string) string {
			if raw == "" {
				return ""
			}
			return "\n\n" + raw
		},
	}
}
