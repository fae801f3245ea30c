package interp

import (
	"encoding/json"

	"tercet/formats"
	"tercet/formats/returns"
)

// ParseStubs parses the returns for a dry run, a map. A key is a step id or a subagent's name, a
// value one return or a list of them. The error is a *formats.Failure that names the file.
func ParseStubs(file string, data []byte) (map[string][]formats.Return, error) {
	refused := func(what string, err error) error {
		return &formats.Failure{
			Code:    formats.CodeUsage,
			Message: file + ": " + what,
			Err:     err,
		}
	}

	var raw map[string]json.RawMessage
	if err := json.Unmarshal(formats.WithoutBOM(data), &raw); err != nil {
		return nil, refused("expected a JSON object from steps to returns", err)
	}

	out := map[string][]formats.Return{}
	for key, one := range raw {
		var list []json.RawMessage
		if err := json.Unmarshal(one, &list); err != nil || list == nil {
			list = []json.RawMessage{one}
		}
		for _, item := range list {
			ret, err := returns.Parse(item, returns.ParseOptions{})
			if err != nil {
				return nil, refused("the return for "+key, err)
			}
			out[key] = append(out[key], ret)
		}
	}

	return out, nil
}
