package subagents

import (
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
)

// returns reads the contract.
func (r *reader) returns(def *Definition, n *md.Node) {
	if isAny(n) {
		return
	}
	info := &def.Info
	r.fields(n, "any, or a map of form, statuses, artifacts, fields, status, issues", func(key, value *md.Node) {
		switch key.Value {
		case "form":
			info.AgentResult = r.word(value, "form", []string{"json", "agent_result"}) == "agent_result"
		case "statuses":
			info.Statuses = r.statuses(value)
		case "artifacts":
			info.NoArtifacts, info.Artifacts, def.Optional = r.artifacts(value)
		case "fields":
			info.Fields = r.returned(value)
		case "status":
			info.StatusQuery, def.StatusPos = r.query(value)
		case "issues":
			info.IssuesQuery, def.IssuesPos = r.query(value)
		default:
			r.unknown(codeUnknownKey, of(key), "key of returns", key.Value,
				[]string{"form", "statuses", "artifacts", "fields", "status", "issues"})
		}
	})
}

func (r *reader) statuses(n *md.Node) []formats.Outcome {
	set := make([]string, 0, len(formats.Outcomes()))
	for _, o := range formats.Outcomes() {
		set = append(set, o.String())
	}
	out := []formats.Outcome{}
	r.each(n, "statuses", func(item *md.Node) {
		if word := r.word(item, "status", set); word != "" {
			out = append(out, formats.Outcome(word))
		}
	})
	if n.Kind == md.List && len(n.Items) == 0 {
		r.add(codeContract, of(n), "statuses is empty", "name at least completed and failed")
	}
	return out
}

// artifacts reads `none`, `any` or the list of those that the contract has.
func (r *reader) artifacts(n *md.Node) (none bool, all []formats.ArtifactSpec, optional []formats.ArtifactType) {
	if isAny(n) {
		return false, nil, nil
	}
	if n.IsStr() && n.Value == "none" {
		return true, nil, nil
	}
	if n.Kind != md.List {
		r.wrong(n, "none or a list of {type, name, document, optional}")
		return false, nil, nil
	}
	if len(n.Items) == 0 {
		r.add(codeContract, of(n), "artifacts is empty", "write artifacts: none")
	}
	for _, item := range n.Items {
		spec, may := formats.ArtifactSpec{}, false
		r.fields(item, "{type, name, document, optional}", func(key, value *md.Node) {
			switch key.Value {
			case "type":
				spec.Type = formats.ArtifactType(r.word(value, "artifact type", artifactTypes()))
			case "name":
				spec.Name = r.text(value, "a file name")
			case "document":
				spec.Document = r.word(value, "profile", formats.Profiles())
			case "optional":
				may = r.boolean(value)
			default:
				r.unknown(codeUnknownKey, of(key), "key of an artifact", key.Value, []string{"type", "name", "document", "optional"})
			}
		})
		if item.Kind == md.Map && item.Get("type") == nil {
			r.add(codeMissing, of(item), "missing key type of an artifact", "one of "+strings.Join(artifactTypes(), ", "))
		}
		all = append(all, spec)
		if may {
			optional = append(optional, spec.Type)
		}
	}
	return false, all, optional
}

func artifactTypes() []string {
	return []string{
		string(formats.ArtifactReport), string(formats.ArtifactPlan), string(formats.ArtifactImplementation),
		string(formats.ArtifactSummary), string(formats.ArtifactReview), string(formats.ArtifactDocumentation),
	}
}

// returned reads the types of the fields; a name that ends in ? is optional.
func (r *reader) returned(n *md.Node) map[string]formats.Field {
	if isAny(n) {
		return nil
	}
	out := map[string]formats.Field{}
	r.fields(n, "any, or a map from name to type", func(key, value *md.Node) {
		name, optional := strings.CutSuffix(key.Value, "?")
		if name == "" {
			r.add(codeValue, of(key), "expected the name of a field, got nothing", "")
			return
		}
		if _, twice := out[name]; twice {
			r.add(codeTwice, of(key), fmt.Sprintf("field %q stands twice", name), "remove one")
			return
		}
		out[name] = formats.Field{Type: formats.InputType(r.word(value, "type", inputTypes())), Optional: optional}
	})
	return out
}

func (r *reader) query(n *md.Node) (string, formats.Pos) {
	if !n.IsStr() || strings.TrimSpace(n.Value) == "" {
		r.wrong(n, "a jq expression")
		return "", formats.Pos{}
	}
	return n.Value, at(n.ValuePos(0))
}
