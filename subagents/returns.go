package subagents

import (
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/md"
)

// returns reads the contract.
func (r *reader) returns(def *Definition, n *md.Node) {
	if isAny(n) {
		return
	}
	info := &def.Info
	r.fields(n, "any, or a map of form, statuses, artifacts, fields, status, issues", "returns",
		field{"form", func(n *md.Node) {
			form := oneOf(r, "form", []string{"json", "agent_result"})(n)
			info.AgentResult = form == "agent_result"
		}},
		fieldOf("statuses", &info.Statuses, r.statuses),
		field{"artifacts", func(n *md.Node) {
			info.NoArtifacts, info.Artifacts = r.artifacts(n)
		}},
		fieldOf("fields", &info.Fields, r.fieldTypes),
		field{"status", func(n *md.Node) {
			info.StatusQuery, info.StatusPos = r.query(n)
		}},
		field{"issues", func(n *md.Node) {
			info.IssuesQuery, info.IssuesPos = r.query(n)
		}})
}

func (r *reader) statuses(n *md.Node) []formats.Outcome {
	if n.Kind == md.List && len(n.Items) == 0 {
		r.Refuse(codeContract, n, "name at least completed and failed", "statuses is empty")
	}
	return append(
		[]formats.Outcome{},
		words(r, n, "statuses", oneOf(r, "status", formats.Outcomes()))...,
	)
}

// artifacts reads `none`, `any` or the list of those that the contract has.
func (r *reader) artifacts(n *md.Node) (none bool, all []formats.ArtifactSpec) {
	if isAny(n) {
		return false, nil
	}
	if n.IsStr() && n.Value == "none" {
		return true, nil
	}
	if n.Kind != md.List {
		r.Wrong(n, "none or a list of {type, name, document, optional}", "")
		return false, nil
	}
	if len(n.Items) == 0 {
		r.Refuse(codeContract, n, "write artifacts: none", "artifacts is empty")
	}
	for _, item := range n.Items {
		spec := formats.ArtifactSpec{}
		r.fields(
			item,
			"{type, name, document, optional}",
			"artifact",
			fieldOf("type", &spec.Type, oneOf(r, "artifact type", formats.ArtifactTypes())),
			field{"name", func(n *md.Node) {
				spec.Name = r.text(n, "a file name")
			}},
			fieldOf("document", &spec.Document, oneOf(r, "profile", documents.Profiles())),
			fieldOf("optional", &spec.Optional, r.boolean),
		)
		if item.Kind == md.Map && item.Get("type") == nil {
			r.Refuse(
				codeMissing,
				item,
				"one of "+strings.Join(formats.Words(formats.ArtifactTypes()), ", "),
				"missing key type of an artifact",
			)
		}
		all = append(all, spec)
	}

	return false, all
}

// fieldTypes reads the types of the fields; a name that ends in ? is optional.
func (r *reader) fieldTypes(n *md.Node) map[string]formats.Field {
	if isAny(n) {
		return nil
	}
	out := map[string]formats.Field{}
	kind := oneOf(r, "type", inputTypes)
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
		out[name] = formats.Field{Type: kind(value), Optional: optional}
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
