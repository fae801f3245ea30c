package syntax_test

import (
	"slices"
	"strings"
	"testing"

	"tercet/commands/syntax"
	"tercet/formats"
)

// TestGrammar: every kind and form that a key names is there, no key stands twice, and each key
// says what it does.
func TestGrammar(t *testing.T) {
	t.Parallel()
	var forms []string
	schema, _ := syntax.Schema("step")
	defs, _ := schema["$defs"].(map[string]any)
	for _, f := range syntax.Grammar() {
		forms = append(forms, f.Name)
	}
	for _, f := range syntax.Grammar() {
		seen := map[string]bool{}
		if f.What == "" || len(f.Keys) == 0 {
			t.Errorf("form %s is empty", f.Name)
		}
		for _, k := range f.Keys {
			if seen[k.Name] || k.Does == "" {
				t.Errorf("%s: key %s stands twice or says nothing", f.Name, k.Name)
			}
			seen[k.Name] = true
			for kind := range strings.SplitSeq(k.Is, "|") {
				name, isForm := strings.CutPrefix(kind, "form:")
				if isForm && !slices.Contains(forms, name) || !isForm && defs[kind] == nil {
					t.Errorf("%s: key %s is %q, which is no kind", f.Name, k.Name, kind)
				}
			}
		}
	}
}

// TestSchema: what the schema allows is what the checks allow. A key of a step that the table has
// is never unknown to Parse, and one that it has not is.
func TestSchema(t *testing.T) {
	t.Parallel()
	schema, ok := syntax.Schema("step")
	if !ok {
		t.Fatal("no schema of a step")
	}
	defs, ok := schema["$defs"].(map[string]any)
	if !ok {
		t.Fatalf("$defs = %T", schema["$defs"])
	}
	step, ok := defs["step"].(map[string]any)
	if !ok {
		t.Fatal("no definition of a step")
	}
	properties, ok := step["properties"].(map[string]any)
	if !ok {
		t.Fatal("a step has no properties")
	}
	unknown := func(key string) bool {
		src := "---\ncommand: x\ndescription: y\n---\n\n## Workflow Execution\n\n### Step 1: A\n" +
			"\n```yaml step\n" + key + ": 1\n```\n"
		return slices.ContainsFunc(
			findings(t, "x.md", []byte(src)),
			func(d formats.Diagnostic) bool {
				return d.Code == syntax.CodeStepKey
			},
		)
	}
	for key := range properties {
		if unknown(key) {
			t.Errorf("the schema has the key %s, and Parse does not", key)
		}
	}

	if !unknown("nonsense") || properties["nonsense"] != nil {
		t.Error("an unknown key is taken")
	}
	if _, ok := syntax.Schema("jq"); ok {
		t.Error("Schema(jq) is there, want forms only")
	}
}
