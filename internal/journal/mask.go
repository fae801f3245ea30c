package journal

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"tercet/internal/jsonx"
	"tercet/internal/lazy"
	"tercet/internal/secrets"
)

// Masked replaces a secret.
const Masked = "[masked]"

// MinSecret is the length in bytes from which a known value is masked. Shorter ones would mask
// words of prose.
const MinSecret = 6

// minNamed is the minimum length for masking the value of a member whose name marks a secret.
const minNamed = 8

// Masker masks keys, tokens and passwords in texts: by rules, and by known values.
type Masker struct {
	encodings []encoding
}

// nameRule matches names of members whose values are always secret.
var nameRule = lazy.Regexp(`(?i:^(?:(?:access|refresh|auth|id)_?token|token|(?:client_?)?secret` +
	`|password|passwd|(?:x-)?api[_-]?key|authorization)$)` +
	`|^[A-Z][A-Z0-9_]*_(?:TOKEN|KEY|SECRET|PASSWORD)$`)

// A rule replaces what its expression finds. A text without any of the words is not searched,
// because most output has no secrets and there may be much of it.
type rule struct {
	find    func() *regexp.Regexp
	replace string
	words   []string
}

// mayMatch tells whether the rule has to search a text.
func (r rule) mayMatch(s string) bool {
	for _, word := range r.words {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

var privateKeyWords = []string{"PRIVATE"}

var rules = []rule{
	{
		lazy.Regexp(`-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?s:.*?)(?:-----END [A-Z ]*-----|$)`),
		Masked,
		privateKeyWords,
	},
	// a truncated key
	{
		lazy.Regexp(`(?:[\w+/=]{16,}[\s|]*)+(?:[\w+/=]+[\s|]*)?-----END [A-Z ]*PRIVATE KEY`),
		Masked,
		privateKeyWords,
	},
	{lazy.Regexp(`\bsk-[A-Za-z0-9_-]{16,}`), Masked, []string{"sk-"}},
	{
		lazy.Regexp(`\bgh[opusr]_[A-Za-z0-9_]{20,}`),
		Masked,
		[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"},
	},
	{lazy.Regexp(`\bgithub_pat_[A-Za-z0-9_]{20,}`), Masked, []string{"github_pat_"}},
	{lazy.Regexp(`\bglpat-[A-Za-z0-9_-]{16,}`), Masked, []string{"glpat-"}},
	{lazy.Regexp(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), Masked, []string{"AKIA", "ASIA"}},
	{lazy.Regexp(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), Masked, []string{"xox"}},
	{lazy.Regexp(`\bAIza[A-Za-z0-9_-]{30,}`), Masked, []string{"AIza"}},
	{
		lazy.Regexp(`\b(?:hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,})`),
		Masked,
		[]string{"hf_", "npm_"},
	},
	{
		lazy.Regexp(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`),
		Masked,
		[]string{"eyJ"},
	},
	{
		lazy.Regexp(`(?i)\b(authorization:\s*(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`),
		"${1}" + Masked,
		[]string{":"},
	},
	{lazy.Regexp(`(\blogin\s+\S+\s+password\s+)\S+`), "${1}" + Masked, []string{"login"}},
	{lazy.Regexp(`\b(Bearer )[A-Za-z0-9._~+/=-]{20,}`), "${1}" + Masked, []string{"Bearer"}},
	{lazy.Regexp(`(://[^/\s:@]+:)[^/\s@]+@`), "${1}" + Masked + "@", []string{"://"}},
	{
		lazy.Regexp(`\b([A-Z][A-Z0-9_]*_(?:TOKEN|KEY|SECRET|PASSWORD))(\s*[=:]\s*)` +
			`(?:"[^"]{6,}"|'[^']{6,}'|[^\s"',;$\[]{6,})`),
		"${1}${2}" + Masked,
		[]string{"_TOKEN", "_KEY", "_SECRET", "_PASSWORD"},
	},
}

// NewMasker returns a Masker that also masks the given values everywhere, such as those of Secrets,
// also escaped or in base64. It ignores values shorter than MinSecret.
func NewMasker(values ...string) *Masker {
	var known []string
	for _, v := range values {
		if len(v) >= MinSecret && !slices.Contains(known, v) {
			known = append(known, v)
		}
	}

	// Longest first, so that a value that contains another is masked as a whole.
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) })

	m := &Masker{}
	for _, v := range known {
		m.encodings = append(m.encodings, encodingsOf(v)...)
	}
	return m
}

// Text replaces the known values, and what looks like a secret, by Masked.
func (m *Masker) Text(s string) string {
	if len(s) < MinSecret {
		return s
	}
	s = m.Values(s)
	for _, r := range rules {
		if r.mayMatch(s) {
			s = r.find().ReplaceAllString(s, r.replace)
		}
	}
	return secrets.Mask(s, Masked)
}

// Values masks only the known values. It is for documents, in which a rule could change text that
// only looks like a secret.
func (m *Masker) Values(s string) string {
	for _, f := range m.encodings {
		s = f.mask(s)
	}
	return s
}

// Line masks the strings of a line of JSON, such as one of trace.jsonl. Text that is not JSON is
// masked as text.
func (m *Masker) Line(line []byte) []byte {
	body := bytes.TrimRight(line, "\n")
	v, err := jsonx.Parse(body, jsonx.Limits{})
	var out []byte
	if err == nil {
		out, err = jsonx.Marshal(m.maskTree(v), "")
	}
	if err != nil {
		return []byte(m.Text(string(line)))
	}
	return append(out, line[len(body):]...)
}

// maskTree masks the strings of a parsed value, for jsonx.Marshal.
func (m *Masker) maskTree(v *jsonx.Value) any {
	if s, ok := v.Str(); ok {
		return m.Text(s)
	}
	switch v.Kind {
	case jsonx.Array:
		out := make([]any, len(v.Elems))
		for i, e := range v.Elems {
			out[i] = m.maskTree(e)
		}
		return out
	case jsonx.Dict:
		out := &jsonx.Object{}
		for _, member := range v.Members {
			key := m.Values(member.Key)
			s, ok := member.Value.Str()
			if ok && len(s) >= minNamed && nameRule().MatchString(member.Key) {
				out.Set(key, Masked)
				continue
			}
			out.Set(key, m.maskTree(member.Value))
		}
		return out
	case jsonx.Null, jsonx.Bool, jsonx.Number, jsonx.String:
	}
	return v
}

// Secrets returns the values of environment variables that are secret: those whose names mark them
// as secret, and the named ones.
func Secrets(environ []string, named ...string) []string {
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !slices.Contains(named, name) && !isSecretName(name) {
			continue
		}
		out = append(out, value)
		// Programs print a multi-line value line by line.
		for line := range strings.Lines(value) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// isSecretName reports whether a variable's name marks its value as a secret.
func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(word string) bool {
		return name == word || strings.HasSuffix(name, "_"+word)
	})
}

var secretWords = []string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"}
