package dialect_test

import (
	"strings"
	"testing"

	"tercet/internal/dialect"
)

func add(src string) (string, error) {
	out, err := dialect.AddSetting(
		"settings.json",
		[]byte(src),
		"yaml.schemas",
		"./s.json",
		"c.yaml",
	)
	return string(out), err
}

// TestAddSetting: the entry comes in beside what is there; what says something else, and what
// cannot be read, is left and told.
func TestAddSetting(t *testing.T) {
	t.Parallel()
	const entry = "\"yaml.schemas\": {\n    \"./s.json\": \"c.yaml\"\n  }"
	for src, want := range map[string]string{
		"":                   "{\n  " + entry + "\n}\n",
		"{\n  \"a\": 1\n}\n": "{\n  \"a\": 1,\n  " + entry + "\n}\n",
		"\xef\xbb\xbf{\"a\": 1}\n": "\xef\xbb\xbf{\"a\": 1, \"yaml.schemas\": {\"./s.json\": " +
			"\"c.yaml\"}}\n",
		"{\n  // mine\n  \"a\": 1, // one\n}\n": "{\n  // mine\n  \"a\": 1,\n  " + entry +
			", // one\n}\n",
		"{\n  \"yaml.schemas\": {\n    \"x\": \"y\"\n  }\n}\n": "{\n  \"yaml.schemas\": {\n  " +
			"  \"x\": \"y\",\n    \"./s.json\": \"c.yaml\"\n  }\n}\n",
		"{\"yaml.schemas\": {\"./s.json\": \"c.yaml\"} /* it */ }": "",
	} {
		if got, err := add(src); err != nil || got != want {
			t.Errorf("AddSetting(%q) = %q, %v, want %q", src, got, err, want)
		}
	}

	for src, want := range map[string]string{
		"{\n  \"a\": }\n": "settings.json:2:8: ",
		"[]":              "settings.json:1:1: expected an object, got array",
		"{\"yaml.schemas\": 3}": "settings.json:1:18: expected yaml.schemas as an object, got " +
			"number",
		"{\"yaml.schemas\": {\"./s.json\": [\"d.yaml\"]}}": `settings.json:1:31: expected "c.yaml" for ./s.json, got ["d.yaml"]`,
		"{\n  // nothing yet\n}": "settings.json:1:2: there is no " +
			"place beside this comment",
	} {
		if got, err := add(src); err == nil || got != "" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("AddSetting(%q) = %q, %v, want %q", src, got, err, want)
		}
	}
}

// FuzzAddSetting: nothing that was there is lost, and a second time nothing is left to do.
func FuzzAddSetting(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "{\"a\": 1,}", "{ // c\n\"yaml.schemas\": {}}",
		"/* a */{\"b\": [1, // x\n 2,],\n}\n", "{\"yaml.schemas\": {\"x\": \"y\", }}",
		"{ \n\n\n\n}\n",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, src string) {
		out, err := add(src)
		if err != nil || out == "" {
			return
		}
		rest := out
		for i := range len(src) {
			if strings.TrimSpace(src[i:i+1]) == "" {
				continue // an empty object may lose its lines
			}
			at := strings.IndexByte(rest, src[i])
			if at < 0 {
				t.Fatalf("AddSetting(%q) = %q, which lacks what stands from byte %d on",
					src, out, i)
			}
			rest = rest[at+1:]
		}
		if again, err := add(out); err != nil || again != "" {
			t.Fatalf("AddSetting(%q) = %q, %v, want nothing to do", out, again, err)
		}
	})
}
