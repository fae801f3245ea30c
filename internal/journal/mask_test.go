package journal_test

import (
	"bytes"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/journal"
)

// canaries are texts that must not reach a file. They are put together here so that no scanner takes this file for a leak.
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
		"key's end":   run(8) + " | " + run(8) + " | " + run(1) + "\n-----END OPENSSH " + "PRIVATE KEY-----",
		"login":       "machine example.org login me pass" + "word " + run(1),
		"payment":     "sk" + "_live_" + run(2),
		"by name":     "db_pass" + "word: " + run(2) + "kLmN",
		"as JSON":     `{\"client_` + `secret\": \"` + run(2) + `kLmN\"}`,
		"url":         "://user:" + run(1) + "@",
		"assignment":  "DEPLOY_TOKEN=" + run(2),
		"quoted":      `MY_SECRET: "` + run(1) + ` two"`,
		"known":       "the value of a variable",
	}
}

func TestMaskText(t *testing.T) {
	t.Parallel()
	m := journal.NewMasker("the value of a variable", "short")
	for name, secret := range canaries() {
		text := "before " + secret + " after"
		got := m.Text(text)
		words := strings.Fields(secret)
		if last := words[len(words)-1]; strings.Contains(got, strings.Trim(last, `"`)) && name != "url" || !strings.Contains(got, journal.Masked) {
			t.Errorf("%s: Text(%q) = %q, want it masked", name, text, got)
		}
		if name != "key" && name != "pgp" && (!strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after")) {
			t.Errorf("%s: Text(%q) = %q, want the text around it", name, text, got)
		}
	}
	for _, text := range []string{
		"", "short", "a task-oriented approach of basic understanding and bearer authentication", "sk-short", "https://example.org/a:b@c",
		`{"key": "phases[2]/commit#1"}`, "foreign_key = user_id_of_the_row", "sess_1700000000_abc123", strings.Repeat("0123456789abcdef", 4),
		"export FOO_KEY=$OTHER_KEY",
	} {
		if got := m.Text(text); got != text {
			t.Errorf("Text(%q) = %q, want it as it is", text, got)
		}
	}
}

func TestMaskLine(t *testing.T) {
	t.Parallel()
	m := journal.NewMasker()
	for in, want := range map[string]string{
		`{"api_key":"abcdefgh","key":"abcdefgh","n":1.0,"token":12345678,"Password":"hunter2hunter2","list":["x",null]}` + "\n": `{"api_key":"[masked]","key":"abcdefgh","n":1.0,"token":12345678,"Password":"[masked]","list":["x",null]}` + "\n",
		`{"GH_TOKEN":"abcdefgh","gh_token":"abcdefgh","my_key":"abcdefgh"}`:                                                     `{"GH_TOKEN":"[masked]","gh_token":"abcdefgh","my_key":"abcdefgh"}`,
		"no JSON DEPLOY_TOKEN=abcdefgh\n": "no JSON DEPLOY_TOKEN=[masked]\n",
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
	w := journal.New(opener(dir), journal.Options{Clock: clock(), Mask: journal.NewMasker("the value of a variable")})
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
	if bytes.Contains(data, []byte("aB3dE6gH")) || bytes.Contains(data, []byte("value of a")) || bytes.Contains(data, []byte("ABCDEFGH12345678")) {
		t.Errorf("journal holds a secret:\n%s", data)
	}
}
