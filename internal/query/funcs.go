package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"tercet/internal/nearest"
)

// workflowFuncs are the functions of workflow expressions, in jq; a later one may use an earlier
// one.
var workflowFuncs = []struct {
	Function

	src    string
	forUse []string // functions that use this one
}{
	{Function{"default", 1}, `def default(f): if . == null then f else . end;`, nil},
	{
		Function{"passed", 0},
		`def passed: (if type == "object" then .status else . end) as $s
		| $s == "completed" or $s == "approved" or $s == "conditional" or $s == "skipped";`,
		[]string{"approved", "quorum"},
	},
	{Function{"approved", 0}, `def approved: passed;`, nil},
	{
		Function{"rejected", 0},
		`def rejected: (if type == "object" then .status else . end) == "rejected";`,
		nil,
	},
	{
		Function{"failed", 0},
		`def failed: (if type == "object" then .status else . end) == "failed";`,
		nil,
	},
	{Function{"quorum", 1}, `def quorum($n): ([.[] | select(passed)] | length) >= $n;`, nil},
}

// addDefinitions prepends the definitions that the query calls: guarded ones, and those of
// workflows.
func (c *compiler) addDefinitions(q *gojq.Query, w *walker) error {
	var src strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.defs)) {
		src.WriteString(w.defs[name])
	}

	for _, d := range workflowFuncs {
		called := func(f Call) bool {
			return f.Function == d.Function || slices.Contains(d.forUse, f.Name)
		}
		if c.funcs == Workflow && slices.ContainsFunc(w.calls, called) {
			src.WriteString(d.src)
		}
	}

	if src.Len() == 0 {
		return nil
	}

	p, err := gojq.Parse(src.String())
	if err != nil {
		return c.fail(-1, "workflow functions: "+err.Error(), "")
	}
	q.FuncDefs = append(p.FuncDefs, q.FuncDefs...)
	return nil
}

// refusal says why a function may not be called, or is empty.
func (c *compiler) refusal(f Function) string {
	if slices.Contains(c.allowed, f.String()) {
		return ""
	}
	switch f.Name {
	case "env", "input_filename", "input_line_number", "modulemeta", "get_search_list":
		return f.Name + " is not available"
	case "input", "inputs", "debug", "stderr", "halt", "halt_error":
		if c.strict {
			return f.Name + " is not available in a workflow"
		}
	case "now", "localtime", "strflocaltime":
		if c.strict {
			return f.Name + " depends on when and where it runs, it is not available in a workflow"
		}
	}

	if strings.HasPrefix(f.Name, "_") {
		return "unknown function " + f.String()
	}
	return ""
}

// builtins returns the functions of jq as name/arguments.
func builtins() []string {
	q, err := gojq.Parse("builtins")
	if err != nil {
		return nil
	}

	var names []string
	v, _ := q.Run(nil).Next()
	list, _ := v.([]any) //nolint:errcheck // it is one
	for _, e := range list {
		if s, ok := e.(string); ok && !strings.HasPrefix(s, "_") {
			names = append(names, s)
		}
	}
	return names
}

var formats = []string{
	"@text", "@json", "@html", "@uri", "@urid", "@csv", "@tsv", "@sh", "@base64", "@base64d",
}

// suggest returns the name that was probably meant, or is empty.
func suggest(wrong string, names []string) string {
	for _, name := range nearest.Names(wrong, names) {
		if name != wrong {
			return name
		}
	}
	return ""
}
