package formats_test

import (
	"testing"

	"tercet/formats"
)

// TestRepoStateOf: the rules file goes before the host; what neither of them says is a host that
// takes pushes alone.
func TestRepoStateOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said, host string
		want       formats.RepoState
		pushes     bool
	}{
		{"", "github.com", formats.RepoGitHub, true},
		{"", "github.example.org", formats.RepoGitHub, true},
		{"", "gitlab.com", formats.RepoGitLab, true},
		{"", "gitea.example.org", formats.RepoGitea, true},
		{"", "git.example.org", formats.RepoGitea, true},
		{"", "", formats.RepoGitea, true},
		{"github", "git.example.org", formats.RepoGitHub, true},
		{"gitlab", "github.com", formats.RepoGitLab, true},
		{"Gitea", "gitlab.com", formats.RepoGitea, true},
		{"local-only", "github.com", formats.RepoLocal, false},
		{"bazaar", "github.com", formats.RepoGitHub, true},
	} {
		if got := formats.RepoStateOf(c.said, c.host); got != c.want || got.Pushes() != c.pushes {
			t.Errorf("RepoStateOf(%q, %q) = %s, pushes %v, want %s, %v",
				c.said, c.host, got, got.Pushes(), c.want, c.pushes)
		}
	}

	if got := formats.RepoNone.Skipped(); got != "skipped (REPO_STATE=none)" {
		t.Errorf("Skipped = %q", got)
	}
}
