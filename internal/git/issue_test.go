package git_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"tercet/internal/git"
)

func TestReadIssue(t *testing.T) {
	t.Parallel()
	gh := `{"title": " a\tb\u202e ", "body": "x<!-- y\n -->\r\nz\u0000", "labels": [{"name": "l\u001b"}, {"name": ""}, 3], "url": "https://h/o/r/issues/1", "state": "CLOSED"}`
	got, ok := git.ReadIssue([]byte(gh))
	if !ok || got.Title != "a b" || got.Text != "x\nz" ||
		!slices.Equal(got.Labels, []string{"l"}) || !got.Closed ||
		got.URL != "https://h/o/r/issues/1" {
		t.Errorf("readIssue(%s) = %+v, %v", gh, got, ok)
	}
	glab := `{"title": "a", "description": "` + strings.Repeat("é", git.MaxIssue) +
		`", "labels": ["l"], "web_url": "https://h/g/r/-/issues/1", "state": "opened"}`
	got, ok = git.ReadIssue([]byte(glab))
	if !ok || len(got.Text) != git.MaxIssue || got.CutBytes != git.MaxIssue || got.Closed ||
		!slices.Equal(got.Labels, []string{"l"}) {
		t.Errorf("readIssue of glab = %d bytes, %d left, %+v, %v",
			len(got.Text), got.CutBytes, got.Labels, ok)
	}
	for _, bad := range []string{
		"", "[]", "null", `{"title": "a"}`, `{"title": " ", "url": "https://h/1"}`,
		`{"title": "\u200b", "url": "https://h/1"}`, `{"title": "a", "url": "file:///etc"}`,
		`{"title": "a", "url": "https://u:p@h/1"}`, `{"title": 3, "url": "https://h/1"}`,
	} {
		if got, ok := git.ReadIssue([]byte(bad)); ok {
			t.Errorf("readIssue(%s) = %+v, want it refused", bad, got)
		}
	}
}

func FuzzReadIssue(f *testing.F) {
	f.Add([]byte(
		`{"title": "a", "body": "b\u0007\n> c", "labels": [{"name": "l"}, "m"], "url": "https://h/o/r/issues/1"}`,
	))
	f.Add([]byte(
		`{"title": "\u2028", "description": "<!-- <!-- -->", "web_url": "https://h/1", "state": "closed"}`,
	))
	f.Fuzz(func(t *testing.T, out []byte) {
		i, ok := git.ReadIssue(out)
		if !ok {
			return
		}
		odd := func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
		}
		for _, s := range append([]string{i.URL, i.Title, i.Text}, i.Labels...) {
			if strings.ContainsFunc(s, odd) || !utf8.ValidString(s) {
				t.Errorf("readIssue(%q) has %q", out, s)
			}
		}
		if i.Title == "" || len(i.Text) > git.MaxIssue ||
			strings.ContainsAny(i.Title+strings.Join(i.Labels, ""), "\n\t") {
			t.Errorf("readIssue(%q) = %+v", out, i)
		}
	})
}
