package subagents

import (
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/strict"
)

// returns reads the contract.
func (r *reader) returns(def *Definition, n *md.Node) {
	if isAny(n) {
		return
	}
	info := &def.Info
	for key, value := range r.Entries(n, "any, or a map of form, statuses, artifacts, fields, status, issues") {
		switch key.Value {
		case "form":
			info.AgentResult = word(r, value, "form", []string{"json", "agent_result"}) == "agent_result"
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
			r.Unknown(codeUnknownKey, key, strict.Form{
				Unknown: "unknown key of returns %q",
				Keys:    []string{"form", "statuses", "artifacts", "fields", "status", "issues"},
			})
		}
	}
}

func (r *reader) statuses(n *md.Node) []formats.Outcome {
	out := []formats.Outcome{}
	r.each(n, "statuses", func(item *md.Node) {
		if status := word(r, item, "status", formats.Outcomes()); status != "" {
			out = append(out, status)
		}
	})
	if n.Kind == md.List && len(n.Items) == 0 {
		r.Refuse(codeContract, n, "name at least completed and failed", "statuses is empty")
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
		r.Wrong(n, "none or a list of {type, name, document, optional}", "")
		return false, nil, nil
	}
	if len(n.Items) == 0 {
		r.Refuse(codeContract, n, "write artifacts: none", "artifacts is empty")
	}
	for _, item := range n.Items {
		spec, may := formats.ArtifactSpec{}, false
		for key, value := range r.Entries(item, "{type, name, document, optional}") {
			switch key.Value {
			case "type":
				spec.Type = word(r, value, "artifact type", formats.ArtifactTypes())
			case "name":
				spec.Name = r.text(value, "a file name")
			case "document":
				spec.Document = word(r, value, "profile", formats.Profiles())
			case "optional":
				may = r.boolean(value)
			default:
				r.Unknown(codeUnknownKey, key, strict.Form{
					Unknown: "unknown key of an artifact %q",
					Keys:    []string{"type", "name", "document", "optional"},
				})
			}
		}
		if item.Kind == md.Map && item.Get("type") == nil {
			r.Refuse(codeMissing, item, "one of "+strings.Join(texts(formats.ArtifactTypes()), ", "),
				"missing key type of an artifact")
		}
		all = append(all, spec)
		if may {
			optional = append(optional, spec.Type)
		}
	}
	return false, all, optional
}

// returned reads the types of the fields; a name that ends in ? is optional.
func (r *reader) returned(n *md.Node) map[string]formats.Field {
	if isAny(n) {
		return nil
	}
	out := map[string]formats.Field{}
	for key, value := range r.Entries(n, "any, or a map from name to type") {
		name, optional := strings.CutSuffix(key.Value, "?")
		if name == "" {
			r.Refuse(codeValue, key, "", "expected the name of a field, got nothing")
			continue
		}
		if _, twice := out[name]; twice {
			r.Refuse(codeTwice, key, "remove one", fmt.Sprintf("field %q stands twice", name))
			continue
		}
		out[name] = formats.Field{Type: word(r, value, "type", inputTypes), Optional: optional}
	}
	return out
}

func (r *reader) query(n *md.Node) (string, formats.Pos) {
	if !n.IsStr() || strings.TrimSpace(n.Value) == "" {
		r.Wrong(n, "a jq expression", "")
		return "", formats.Pos{}
	}
	return n.Value, n.ValuePos(0)
}
