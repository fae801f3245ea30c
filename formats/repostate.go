package formats

import "strings"

// RepoState says what tercet does with a repository beyond commits.
type RepoState string

// The states. Work is pushed in all but the first two, and a request is opened in RepoGitHub alone.
const (
	RepoNone         RepoState = "none" // no git repository: no commits either
	RepoLocal        RepoState = "local-only"
	RepoGitHub       RepoState = "github"
	RepoGitHubUnauth RepoState = "github_unauth" // gh is not installed, or not logged in
	RepoGitLab       RepoState = "gitlab_scaffold"
	RepoGitea        RepoState = "gitea_scaffold" // and every other host
)

// RepoStateOf gives the state of a repository with a remote at a host. What the rules file says as Remote type goes
// before the name of the host; other words than those of the hosts say nothing.
func RepoStateOf(remoteType, host string) RepoState {
	said, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(remoteType)), "_")
	switch {
	case said == string(RepoLocal):
		return RepoLocal
	case said == "github", said != "gitlab" && said != "gitea" && strings.Contains(host, "github"):
		return RepoGitHub
	case said == "gitlab", said != "gitea" && strings.Contains(host, "gitlab"):
		return RepoGitLab
	}
	return RepoGitea
}

// Pushes tells whether work is pushed.
func (s RepoState) Pushes() bool { return s != RepoNone && s != RepoLocal }

// Skipped is what a result and the journal say of a push or a request that is not made.
func (s RepoState) Skipped() string { return "skipped (REPO_STATE=" + string(s) + ")" }
