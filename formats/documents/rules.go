package documents

import (
	"errors"
	"io/fs"
)

// ReadRules reads the rules of a project: output_language, product_type, slug, remote_type,
// co_authored_by and approval, a map of tiers. A missing or malformed key is nil. open gives
// fs.ErrNotExist for a missing file.
func ReadRules(open func(name string) ([]byte, error)) (values map[string]any, err error) {
	for _, name := range []string{"docs/project-rules.md", ".claude/rules/project-rules.md"} {
		src, err := open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d, _ := Parse(ProfileRules, name, src) //nolint:errcheck // an invalid value is null
		return d.Values, nil
	}
	return nil, nil
}
