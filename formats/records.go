package formats

import (
	"slices"
	"strconv"

	"tercet/internal/jsonx"
)

// errorsVersion is the version of errors.json that is read and written.
const errorsVersion = "2"

// parseRecords reads errors.json and gives its records.
func parseRecords(f *findings, src []byte) []any {
	root, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		at, msg := syntaxError(src, err)
		f.add(codeRecord, at, msg, "")
		return []any{}
	}
	at := func(v *jsonx.Value) Pos {
		if v == nil {
			return Pos{Line: 1, Col: 1}
		}
		return placeOf(src, v.Start)
	}
	if v, ok := root.Get("version").Str(); !ok || v != errorsVersion {
		f.add(codeRecord, at(root.Get("version")), "expected version "+strconv.Quote(errorsVersion), "")
	}
	list := root.Get("errors")
	if !list.Is(jsonx.Array) {
		f.add(codeRecord, at(list), "expected errors as a list", `write {"version": "2", "errors": []}`)
		return []any{}
	}
	out := make([]any, 0, len(list.Elems))
	for _, e := range list.Elems {
		for _, name := range []string{"id", "timestamp", "type", "severity", "message", "fix_status"} {
			if s, ok := e.Get(name).Str(); !ok || s == "" {
				f.add(codeRecord, at(e), "expected "+name+" as a text in every error", "")
			}
		}
		if s, ok := e.Get("fix_status").Str(); ok && !slices.Contains(fixStatuses, s) {
			f.add(codeRecord, at(e.Get("fix_status")), "expected fix_status, got "+strconv.Quote(s), oneOf(s, fixStatuses))
		}
		out = append(out, e.Plain(number))
	}
	return out
}

var fixStatuses = []string{"unfixed", "investigating", "fixed"}
