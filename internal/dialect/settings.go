package dialect

import (
	"bytes"
	"errors"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/lazy"
)

var blankLine = lazy.Regexp(`\n[ \t]+\n`)

// AddSetting adds an entry to a map in an editor's settings, which are JSON with comments. All
// other bytes stay. It returns nil if the entry exists already. file is for messages.
func AddSetting(file string, src []byte, setting, key, value string) ([]byte, error) {
	byHand := `by hand: "` + setting + `": {"` + key + `": "` + value + `"}`
	head := []byte(nil)
	body := src
	if bytes.HasPrefix(src, []byte(bom)) {
		head = src[:len(bom)]
		body = src[len(bom):]
	}

	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{\n}\n")
	}
	plain := stripJSON(body)
	at := func(offset int, format string, args ...any) error {
		line, col := jsonx.Pos(body, offset)
		return formats.Fail(formats.CodeConfig, "mend it, or add "+byHand, "%s:%d:%d: "+format,
			append([]any{file, line, col}, args...)...)
	}

	root, err := jsonx.Parse(plain, jsonx.Limits{Bytes: MaxBytes, Depth: 100})
	if syntax, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		return nil, at(syntax.Offset, "%s", syntax.Msg)
	}

	entry := jsonx.Change{Key: setting}
	into := root.Get(setting)
	switch {
	case err != nil:
		return nil, at(0, "%s", err)
	case !root.Is(jsonx.Dict):
		return nil, at(root.Start, "expected an object, got %s", root.Kind)
	case into != nil && !into.Is(jsonx.Dict):
		return nil, at(into.Start, "expected %s as an object, got %s", setting, into.Kind)
	case into.Get(key) != nil:
		if was, _ := into.Get(key).Str(); was != value {
			return nil, at(into.Get(key).Start, "expected %q for %s, got %s",
				value, key, into.Get(key).Raw(body))
		}
		return nil, nil
	case into == nil:
		into = root
		entry.Raw, err = jsonx.Marshal(new(jsonx.Object).Set(key, value), "  ")
	default:
		entry.Key = key
		entry.Raw, err = jsonx.MarshalLine(value)
	}

	edits := jsonx.EditMembers(plain, into, []jsonx.Change{entry})
	for i, e := range edits {
		// where a sibling has its comment
		edits[i].Text = blankLine().ReplaceAll(e.Text, []byte("\n"))
		// a comment alone in its object
		if strings.TrimSpace(string(body[e.Start:e.End])) != "" {
			return nil, at(e.Start, "there is no place beside this comment")
		}
	}

	out, failed := jsonx.Splice(body, edits)
	return append(head, out...), errors.Join(err, failed)
}
