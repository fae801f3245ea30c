package formats

import "strings"

// RepoState says what tercet does with a repository beyond commits.
type RepoState string

// The states. All but the first two allow pushing; only RepoGitHub opens a request.
const (
	RepoNone         RepoState = "none" // no git repository: no commits either
	RepoLocal        RepoState = "local-only"
	RepoGitHub       RepoState = "github"
	RepoGitHubUnauth RepoState = "github_unauth" // gh is not installed, or not logged in
	RepoGitLab       RepoState = "gitlab_scaffold"
	RepoGitea        RepoState = "gitea_scaffold" // and any unknown host
)

// RepoStateOf returns the state of a repository with a remote. Remote type in the rules file
// overrides the host's name; words other than the hosts' are ignored.
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

// Pushes reports whether tercet pushes work.
func (s RepoState) Pushes() bool {
	return s != RepoNone && s != RepoLocal
}

// Skipped is the reason, in a result and in the journal, for not pushing or not opening a request.
func (s RepoState) Skipped() string {
	return "skipped (REPO_STATE=" + string(s) + ")"
}
