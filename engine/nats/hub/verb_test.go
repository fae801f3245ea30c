package hub //nolint:testpackage // what it tests is not exported

import (
	"strings"
	"testing"
)

// TestCheckVerb: whoever has the join word reads and answers, and starts nothing else at the home.
func TestCheckVerb(t *testing.T) {
	t.Parallel()
	for line, ok := range map[string]bool{
		"runs":                                 true,
		"runs --all --json":                    true,
		"show rtp1 --log --step plan":          true,
		"verify rtp1":                          true,
		"gates":                                true,
		"approve rtp1 --choice Go --note --no": true,
		"reject rtp1 --note=no":                true,

		"":                              false,
		"sandbox run -- id":             false,
		"task set 1 planned":            false,
		"--model show sandbox run id":   false,
		"--jq show sandbox run -- id":   false,
		"--json show rtp1":              false,
		"show -C /etc rtp1":             false,
		"show -qC/etc rtp1":             false,
		"show --dir=/etc rtp1":          false,
		"show --bundle rtp1":            false,
		"show --log --follow rtp1":      false,
		"show --jq env rtp1":            false,
		"show rtp1 -- --bundle":         false,
		"verify --accept-changes rtp1":  false,
		"approve rtp1 --trust sha256:0": false,
		"approve --choice= --yes rtp1":  false,
	} {
		if err := checkVerb(strings.Fields(line)); (err == nil) != ok {
			t.Errorf("checkVerb(%q) = %v, want it allowed: %t", line, err, ok)
		}
	}
}
