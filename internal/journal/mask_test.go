package journal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/lazy"
)

// canaries are texts that must not reach a file. They are put together here so that no scanner
// takes this file for a leak.
func canaries() map[string]string {
	run := func(n int) string { return strings.Repeat("aB3dE6gH", n) }
	return map[string]string{
		"anthropic":   "sk-" + "ant-api03-" + run(4),
		"openai":      "sk-" + "proj-" + run(3),
		"github":      "gh" + "p_" + run(5),
		"github fine": "github" + "_pat_" + run(4),
		"gitlab":      "glpat" + "-" + run(3),
		"aws":         "AK" + "IA" + "ABCDEFGH12345678",
		"slack":       "xox" + "b-123456789012-" + run(2),
		"google":      "AI" + "za" + run(5),
		"jwt":         "ey" + "J" + run(2) + "." + run(3) + "." + run(2),
		"bearer":      "Bearer " + run(4),
		"key":         "-----BEGIN RSA " + "PRIVATE KEY-----\n" + run(8) + "\n" + run(8),
		"pgp":         "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n" + run(8) + "\n" + run(8),
		"key's end": run(8) + " | " + run(8) + " | " + run(1) + "\n-----END OPENSSH " +
			"PRIVATE KEY-----",
		"login":      "machine example.org login me pass" + "word " + run(1),
		"payment":    "sk" + "_live_" + run(2),
		"by name":    "db_pass" + "word: " + run(2) + "kLmN",
		"as JSON":    `{\"client_` + `secret\": \"` + run(2) + `kLmN\"}`,
		"url":        "://user:" + run(1) + "@",
		"assignment": "DEPLOY_TOKEN=" + run(2),
		"quoted":     `MY_SECRET: "` + run(1) + ` two"`,
		"known":      "the value of a variable",
	}
}

func TestMaskText(t *testing.T) {
	t.Parallel()
	m := journal.NewMasker("the value of a variable", "short")
	for name, secret := range canaries() {
		text := "before " + secret + " after"
		got := m.Text(text)
		words := strings.Fields(secret)
		last := words[len(words)-1]
		if strings.Contains(got, strings.Trim(last, `"`)) && name != "url" ||
			!strings.Contains(got, journal.Masked) {
			t.Errorf("%s: Text(%q) = %q, want it masked", name, text, got)
		}
		if name != "key" && name != "pgp" &&
			(!strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after")) {
			t.Errorf("%s: Text(%q) = %q, want the text around it", name, text, got)
		}
	}

	for _, text := range []string{
		"",
		"short",
		"a task-oriented approach of basic understanding and bearer authentication",
		"sk-short",
		"https://example.org/a:b@c",
		`{"key": "phases[2]/commit#1"}`,
		"foreign_key = user_id_of_the_row",
		"sess_1700000000_abc123",
		strings.Repeat("0123456789abcdef", 4),
		"export FOO_KEY=$OTHER_KEY",
	} {
		if got := m.Text(text); got != text {
			t.Errorf("Text(%q) = %q, want it as it is", text, got)
		}
	}
}

// TestMaskForms: a known value is masked however a program escapes it, and the text around it
// stays.
func TestMaskForms(t *testing.T) {
	t.Parallel()
	long := ""
	for i := range 400 {
		long += fmt.Sprintf(`%d"é/`, i*i*7919)
	}

	values := []string{
		"pä\"ss\\w\tord",
		`C:\\dir\"x"`,
		"it's a 'word'",
		"smile \U0001f600 <b>&",
		"a+b/c==d",
		"x=1&y=2;$HOME`id`",
		"line\none",
		"\xff\xfe-bytes",
		"plain-value_1.2",
		"sixsix",
		"\"\\\"\\\"\\",
		long,
		strings.Repeat("0123456789", 30),
	}
	encode := map[string]func(string) string{
		"itself":  func(s string) string { return s },
		"JSON":    func(s string) string { return inJSON(t, s, true) },
		"JSON <>": func(s string) string { return inJSON(t, s, false) },
		"ASCII": func(s string) string {
			return ascii(inJSON(t, s, false), `\u%04x`)
		},
		"ASCII, A": func(s string) string {
			return ascii(inJSON(t, s, false), `\u%04X`)
		},
		"JSON \\/": func(s string) string {
			return strings.ReplaceAll(inJSON(t, s, false), "/", `\/`)
		},
		"twice": func(s string) string {
			return inJSON(t, ascii(inJSON(t, s, true), `\u%04x`), true)
		},
		"Go": func(s string) string { return within(strconv.Quote(s)) },
		"Go ASCII": func(s string) string {
			return within(strconv.QuoteToASCII(s))
		},
		"'shell'": func(s string) string {
			return strings.ReplaceAll(s, "'", `'\''`)
		},
		"'python'": func(s string) string {
			return strings.ReplaceAll(s, "'", `'"'"'`)
		},
		"shell": func(s string) string {
			return odd().ReplaceAllString(s, `\$0`)
		},
		"shell $''": func(s string) string { return bytewise(s, `\%03o`) },
		"hex":       func(s string) string { return bytewise(s, `\x%02x`) },
		"URL":       url.QueryEscape,
		"path":      url.PathEscape,
		"%":         func(s string) string { return bytewise(s, "%%%02X") },
		"% lower":   func(s string) string { return bytewise(s, "%%%02x") },
		"base64": func(s string) string {
			return base64.StdEncoding.EncodeToString([]byte(s))
		},
		"for URLs": func(s string) string {
			return base64.URLEncoding.EncodeToString([]byte(s))
		},
		"echoed": func(s string) string {
			return base64.StdEncoding.EncodeToString([]byte(s + "\n"))
		},
		"as login": func(s string) string {
			return base64.StdEncoding.EncodeToString([]byte("me:" + s))
		},
		"as login2": func(s string) string {
			return base64.StdEncoding.EncodeToString([]byte("you:" + s))
		},
		"wrapped": func(s string) string {
			return wrapped(base64.StdEncoding.EncodeToString([]byte(s)), 76)
		},
		"pem": func(s string) string {
			return wrapped(base64.StdEncoding.EncodeToString([]byte(s)), 64)
		},
	}
	for _, value := range values {
		m := journal.NewMasker(value)
		for name, form := range encode {
			if !utf8.ValidString(value) &&
				(strings.HasPrefix(name, "Go") || name == "shell" || name == "twice") {
				continue // these replace or drop what is no UTF-8
			}
			text := form(value)
			got := m.Values("before [" + text + "] after")
			rest := strings.ReplaceAll(got, journal.Masked, "")
			if !strings.HasPrefix(got, "before [") || !strings.HasSuffix(got, "] after") ||
				len(rest) > len("before [] after")+6 {
				t.Errorf("%.40q as %s: Values = %.200q, want it masked and the rest kept",
					value, name, got)
			}
		}
	}

	for _, text := range []string{"p", "sixsi", "six six", "plain-value_1x2", "a b/c d", ""} {
		if got := journal.NewMasker(values...).Values(text); got != text {
			t.Errorf("Values(%q) = %q, want it as it is", text, got)
		}
	}
}

// odd finds what a shell needs a backslash for.
var odd = lazy.Regexp(`[^\w.\-]`)

// inJSON is the inside of a JSON string.
func inJSON(t *testing.T, s string, html bool) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return within(strings.TrimSpace(b.String()))
}

func within(quoted string) string {
	return quoted[1 : len(quoted)-1]
}

// ascii escapes what is not ASCII in UTF-16.
func ascii(s, format string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		if unit < utf8.RuneSelf {
			b.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}

// bytewise escapes each byte that is no letter or digit.
func bytewise(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '-' || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' ||
			c >= 'A' && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, format, c)
		}
	}
	return b.String()
}

func wrapped(s string, most int) string {
	var lines []string
	for len(s) > most {
		lines = append(lines, s[:most])
		s = s[most:]
	}
	return strings.Join(append(lines, s), "\n")
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/usr/bin", "MY_TOKEN=one", "db_password=two", "KEY=three", "KEYS=no", "SETTING=a\nb",
		"OTHER=no",
	}
	got := journal.Secrets(environ, "SETTING", "GONE")
	want := []string{"one", "one", "two", "two", "three", "three", "a\nb", "a", "b"}
	if !slices.Equal(got, want) {
		t.Errorf("Secrets = %q, want %q", got, want)
	}
}

func TestMaskLine(t *testing.T) {
	t.Parallel()
	m := journal.NewMasker()
	for in, want := range map[string]string{
		`{"api_key":"abcdefgh","key":"abcdefgh","n":1.0,"token":12345678,"Password":"hunter2hunter2","list":["x",null]}` +
			"\n": `{"api_key":"[masked]","key":"abcdefgh","n":1.0,"token":12345678,"Password":"[masked]","list":["x",null]}` +
			"\n",
		`{"GH_TOKEN":"abcdefgh","gh_token":"abcdefgh","my_key":"abcdefgh"}`: `{"GH_TOKEN":"[masked]","gh_token":"abcdefgh","my_key":"abcdefgh"}`,
		"no JSON DEPLOY_TOKEN=abcdefgh\n":                                   "no JSON DEPLOY_TOKEN=[masked]\n",
	} {
		if got := string(m.Line([]byte(in))); got != want {
			t.Errorf("Line(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestJournalHoldsNoSecret(t *testing.T) {
	t.Parallel()
	var list []formats.Entry
	for name, secret := range canaries() {
		list = append(list, formats.Entry{Type: "x", Data: map[string]any{name: []any{secret}}})
	}
	dir := t.TempDir()
	w := journal.New(opener(
		dir,
	), journal.Options{Clock: clock(), Mask: journal.NewMasker("the value of a variable")})
	for _, e := range list {
		if err := w.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := content(t, dir)
	if _, err := journal.Read(data); err != nil {
		t.Errorf("Read = %v, want no error", err)
	}
	if bytes.Contains(data, []byte("aB3dE6gH")) || bytes.Contains(data, []byte("value of a")) ||
		bytes.Contains(data, []byte("ABCDEFGH12345678")) {
		t.Errorf("journal holds a secret:\n%s", data)
	}
}
