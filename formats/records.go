package formats

import (
	"slices"

	"tercet/internal/jsonx"
)

// errorsVersion is the version of errors.json that is read and written.
const errorsVersion = "2"

// parseRecords reads errors.json and gives its records.
func parseRecords(f *findings, src []byte) []any {
	root, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		at, msg := syntaxError(src, err)
		f.add(codeRecord, at, "", "%s", msg)
		return []any{}
	}
	at := func(v *jsonx.Value) Pos {
		if v == nil {
			return top
		}
		return placeOf(src, v.Start)
	}
	if v, ok := root.Get("version").Str(); !ok || v != errorsVersion {
		f.add(codeRecord, at(root.Get("version")), "", "expected version %q", errorsVersion)
	}
	list := root.Get("errors")
	if !list.Is(jsonx.Array) {
		f.add(codeRecord, at(list), `write {"version": "2", "errors": []}`, "expected errors as a list")
		return []any{}
	}
	out := make([]any, 0, len(list.Elems))
	for _, e := range list.Elems {
		for _, name := range []string{"id", "timestamp", "type", "severity", "message", "fix_status"} {
			if s, ok := e.Get(name).Str(); !ok || s == "" {
				f.add(codeRecord, at(e), "", "expected %s as a text in every error", name)
			}
		}
		if s, ok := e.Get("fix_status").Str(); ok && !slices.Contains(fixStatuses, s) {
			f.add(codeRecord, at(e.Get("fix_status")), oneOf(s, fixStatuses), "expected fix_status, got %q", s)
		}
		out = append(out, e.Plain(number))
	}
	return out
}

var fixStatuses = []string{"unfixed", "investigating", "fixed"}
