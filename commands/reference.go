package commands

import (
	"fmt"
	"strings"

	"tercet/commands/syntax"
)

// Reference is the grammar of command files as Markdown: the keys of each kind of map.
func Reference() string {
	var b strings.Builder
	for _, f := range syntax.Grammar() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| key | is | does |\n|---|---|---|\n",
			f.Name, strings.ToUpper(f.What[:1])+f.What[1:]+" has these keys.")
		for _, k := range f.Keys {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n",
				k.Name,
				strings.ReplaceAll(strings.ReplaceAll(k.Is, "form:", "a map: "), "|", " or "),
				k.Does)
		}
		if len(f.Foreign) > 0 {
			fmt.Fprintf(&b, "\nKeys of other tools are left alone: %s.\n",
				strings.Join(f.Foreign, ", "))
		}
	}
	return b.String()
}
