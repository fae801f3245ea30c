package jsonx_test

import (
	"regexp"
	"strings"
	"testing"

	"tercet/internal/jsonx"
)

func TestPaint(t *testing.T) {
	t.Parallel()
	p := jsonx.Palette{"n", "f", "t", "9", "s", "a", "o", "k"}
	short := func(b []byte) string {
		return strings.NewReplacer("\x1b[0m", ">", "\x1b[", "<", "m", ":").Replace(string(b))
	}
	for text, want := range map[string]string{
		`null`:            `<n:null>`,
		`-1.5e3`:          `<9:-1.5e3>`,
		`"a\"]"`:          `<s:"a\"]">`,
		`{"a":[1,true]}`:  `<o:{><k:"a"><o::><a:[><9:1><a:,><t:true><a:]><o:}>`,
		"[\n  false\n]":   "<a:[>\n  <f:false>\n<a:]>",
		`{"a":{},"b":[]}`: `<o:{><k:"a"><o::><o:{><o:}><o:,><k:"b"><o::><a:[><a:]><o:}>`,
		`"open\`:          `<s:"open\>`,
	} {
		if got := short(p.AppendJSON(nil, []byte(text))); got != want {
			t.Errorf("AppendJSON(%s) = %s, want %s", text, got, want)
		}
	}

	for text, want := range map[string]bool{
		"":         true,
		"0;31":     true,
		"0;31:::4": true,
		"31m":      false,
		"\x1b[":    false,
	} {
		if _, ok := jsonx.PaletteOf(text); ok != want {
			t.Errorf("PaletteOf(%q) = %t, want %t", text, ok, want)
		}
	}

	got, _ := jsonx.PaletteOf("1;31:4")
	if got[0] != "1;31" || got[1] != "4" || got[2] != jsonx.DefaultPalette()[2] {
		t.Errorf("PaletteOf = %v", got)
	}
}

// FuzzPaint: whatever the text, paint adds nothing but paint.
func FuzzPaint(f *testing.F) {
	for _, s := range []string{`{"a":[1,null,"b"]}`, `"\`, `]]}`, "nul", "é,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x1b") {
			t.Skip()
		}
		got := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(
			string(jsonx.DefaultPalette().AppendJSON(nil, []byte(text))),
			"",
		)
		if got != text {
			t.Fatalf("AppendJSON(%q) is %q without paint", text, got)
		}
	})
}
