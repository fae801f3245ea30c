package subagents

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/nearest"
)

// checkInput compares the input of a delegation with the contract. A null counts as not given, so
// that an argument that was left out may be passed on.
func checkInput(info formats.AgentInfo, input map[string]any) []string {
	if info.Inputs == nil {
		return nil
	}
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(input)) {
		in, ok := info.Inputs[name]
		v := input[name]
		switch {
		case !ok:
			one := fmt.Sprintf("unknown input %q", name)
			if help := nearest.Help(name, slices.Sorted(maps.Keys(info.Inputs))); help != "" {
				one += ", " + help
			}
			bad = append(bad, one)
		case v != nil && !hasType(v, in.Type):
			bad = append(
				bad,
				fmt.Sprintf("expected %s as %s, got %s", in.Type, name, describeMisfit(v, in.Type)),
			)
		case v != nil && in.Enum != nil && !slices.Contains(in.Enum, fmt.Sprint(v)):
			bad = append(
				bad,
				fmt.Sprintf("expected one of %s as %s, got %q",
					strings.Join(in.Enum, ", "), name, fmt.Sprint(v)),
			)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(info.Inputs)) {
		if info.Inputs[name].Required && input[name] == nil {
			bad = append(
				bad,
				fmt.Sprintf("expected %s as %s, got nothing", info.Inputs[name].Type, name),
			)
		}
	}

	return bad
}

// describeMisfit names a value that has another type than the one wanted, and the element because
// of which an array is no list of texts.
func describeMisfit(v any, want formats.InputType) string {
	list, ok := v.([]any)
	if want == formats.TypeList && ok {
		for _, one := range list {
			if _, text := one.(string); !text {
				return fmt.Sprintf("array with %s in it; a list holds texts in quotes",
					formats.TypeName(one))
			}
		}
	}
	return formats.TypeName(v)
}

// hasType also takes the values of the engine's own types that a step of it passes on as they are.
func hasType(v any, want formats.InputType) bool {
	if want == "" || want.Holds(v) {
		return true
	}
	switch v.(type) {
	case []formats.Artifact, []formats.Issue:
		return want == formats.TypeArray
	case *formats.Task, *documents.Phase:
		return want == formats.TypeObject
	}
	return false
}
