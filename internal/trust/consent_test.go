package trust_test

import (
	"strings"
	"testing"

	"tercet/internal/trust"
)

func TestConsentIsReadToTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":                                 0,
		"\n\n":                             0,
		"# no\n":                           0,
		"  # a remark\r\nAPPROVE: yes\r\n": 0,
		"APPROVE:yes":                      0,
		"APPROVE: no\nCOMMANDS: /plan, ship\nUNTIL: 2030-01-31\nPLAN: Full\nPRODUCT_TYPE: cli\n" +
			"HAS_UI: false\n": 0,
		"no":                           1,
		"yes":                          1,
		"approve: yes":                 1,
		"APPROVE: maybe":               1,
		"APPROVE:":                     1,
		"COMMANDS:":                    1,
		"COMMANDS: a,,b":               1,
		"UNTIL: 2030-13-01":            1,
		"UNTIL: 2030-01-31 12:00":      1,
		"PLAN: light":                  1,
		"APPROVE: yes\nAPPROVE: yes\n": 1,
		"a\nb\nc":                      3,
	} {
		if got := trust.ReadConsent(text); got != want {
			t.Errorf("ReadConsent(%q) has %d findings, want %d", text, got, want)
		}
	}
}

// FuzzConsent: a text without findings is made of blank lines, comments and keys.
func FuzzConsent(f *testing.F) {
	f.Add("APPROVE: yes\n# c\n\nUNTIL: 2030-01-31")
	f.Add("no")
	f.Fuzz(func(t *testing.T, text string) {
		if trust.ReadConsent(text) > 0 {
			return
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !strings.Contains(line, ":") {
				t.Errorf("ReadConsent(%q) takes the line %q", text, line)
			}
		}
	})
}
