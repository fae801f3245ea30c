package exchange

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/statefile"
)

// projectKeys are the keys that differ in the other shape.
var projectKeys = map[string]string{
	"number":  "project_number",
	"slug":    "project_name",
	"parent":  "parent_task",
	"updated": "last_updated",
}

// blockedKeys are the keys of other systems for why a task is blocked, besides blocked_reason.
var blockedKeys = []string{
	"blocking_reason", "blocker_reason", "blocker", "blocked_on", "blocked_by",
}

// asProject encodes one task in the other shape; unknown members are kept.
func asProject(t *formats.Task, v *jsonx.Value, src []byte) *jsonx.Object {
	o := new(jsonx.Object)
	keys := statefile.TaskKeys()
	for k, value := range statefile.TaskValues(t) {
		key := keys[k]
		switch {
		case value == nil && (key == "prior" || key == "lease" || key == statefile.IssueKey):
		case key == "artifacts" && v.Get(key).Is(jsonx.Array):
			o.Set(key, json.RawMessage(v.Get(key).Raw(src))) // with unknown members
		default:
			o.Set(cmp.Or(projectKeys[key], key), value)
		}
	}

	for j := range v.Members {
		m := &v.Members[j]
		switch {
		case m.Key == formKey, m.Key != statefile.IssueKey && slices.Contains(keys, m.Key),
			slices.Contains(slices.Collect(maps.Values(projectKeys)), m.Key):
		case t.BlockedReason == "" && slices.Contains(blockedKeys, m.Key) &&
			statefile.TextOf(v, m.Key) != "":
			o.Set(m.Key, nil) // it was imported as blocked_reason, which is empty now
		default:
			o.Set(m.Key, json.RawMessage(m.Value.Raw(src)))
		}
	}
	return o
}
