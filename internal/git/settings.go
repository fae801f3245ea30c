package git

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Settings keeps what git said about the configuration of repositories: the top of the working tree,
// and the drivers to switch off. That spares two processes for each command in a working tree. An
// answer counts as long as the files that decide it have the same content. The zero value is ready,
// and safe for concurrent use.
type Settings struct {
	mu      sync.Mutex
	answers map[string]answer // by the state of the configuration
}

// maxAnswers bounds what is kept: every worktree of a run has an answer of its own.
const maxAnswers = 1000

// answer is what git said where the configuration was in one state.
type answer struct {
	top     string
	drivers []string
	listed  bool // drivers were asked for
}

// get gives what is known in a state of the configuration.
func (s *Settings) get(state string) answer {
	if s == nil || state == "" {
		return answer{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[state]
}

// change notes what git said in a state of the configuration.
func (s *Settings) change(state string, do func(a *answer)) {
	if s == nil || state == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[state]
	do(&a)
	if s.answers == nil || len(s.answers) >= maxAnswers {
		s.answers = map[string]answer{}
	}
	s.answers[state] = a
}

// configState identifies the content of all files that decide which repository Dir belongs to and
// how it is configured. It is empty where that cannot be told without git: outside a repository,
// with configuration that includes other files, or with variables that lead git elsewhere.
func (r *Repo) configState() string {
	own, common := gitDirs(r.Dir)
	if own == "" {
		return ""
	}
	files := []string{
		filepath.Join(common, "config"),
		filepath.Join(common, "config.worktree"),
		filepath.Join(own, "config.worktree"),
	}
	config := ""
	for _, pair := range r.Starter.Env {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case key == "GIT_CONFIG_GLOBAL":
			files = append(files, value)
		case strings.HasPrefix(key, "GIT_"):
			return ""
		case key == "HOME":
			files = append(files, filepath.Join(value, ".gitconfig"))
			if config == "" {
				config = filepath.Join(value, ".config")
			}
		case key == "XDG_CONFIG_HOME":
			config = value
		}
	}
	files = append(files, filepath.Join(config, "git", "config"))

	parts := []string{r.Dir, own, common}
	for _, name := range files {
		text, err := fileState(name)
		if err != nil {
			text = "none"
		}
		parts = append(parts, text)
	}
	if slices.ContainsFunc(parts[3:], func(text string) bool {
		return strings.Contains(strings.ToLower(text), "include")
	}) {
		return ""
	}
	return sum(strings.Join(parts, "\x00\x00"))
}
