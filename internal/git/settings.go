package git

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Settings keeps what git said about the configuration of repositories: the top of the working
// tree, the drivers to switch off, and who commits. That spares up to three processes for each
// command in a working tree. An answer counts as long as the files that decide it have the same
// content. The zero value is ready, and safe for concurrent use.
type Settings struct {
	mu      sync.Mutex
	tops    map[string]string        // by the folder and the state of the configuration
	configs map[string]configuration // by the state of the configuration
	answers map[string][]string      // by that state and a question
	// commits have their trees, empty where nobody asked, by repository and hash. A commit never
	// changes, and what a branch names is there.
	commits map[string]string
}

// maxAnswers bounds what is kept: every worktree of a run has an answer of its own.
const maxAnswers = 1000

// configuration is what git said about the configuration in one state.
type configuration struct {
	drivers  []string // configuration that disables the filters and merge drivers
	identity []string // configuration that names an author, if the user has set none
}

// top returns the known top of a working tree, empty if it is not known.
func (s *Settings) top(state configState) string {
	if s == nil || state.content == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tops[state.key()]
}

func (s *Settings) setTop(state configState, top string) {
	if s == nil || state.content == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tops == nil || len(s.tops) >= maxAnswers {
		s.tops = map[string]string{}
	}
	s.tops[state.key()] = top
}

// config returns what is known about a state of the configuration.
func (s *Settings) config(state configState) (c configuration, ok bool) {
	if s == nil || state.content == "" {
		return configuration{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok = s.configs[state.content]
	return c, ok
}

func (s *Settings) setConfig(state configState, c configuration) {
	if s == nil || state.content == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.configs == nil || len(s.configs) >= maxAnswers {
		s.configs = map[string]configuration{}
	}
	s.configs[state.content] = c
}

// answer gives what git said to a question about the configuration in one state, or asks it.
func (s *Settings) answer(
	state configState, question string, ask func() ([]string, error),
) ([]string, error) {
	if s == nil || state.content == "" {
		return ask()
	}
	key := state.content + "\x00\x00" + question
	s.mu.Lock()
	known, ok := s.answers[key]
	s.mu.Unlock()
	if ok {
		return slices.Clone(known), nil
	}
	got, err := ask()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil || len(s.answers) >= maxAnswers {
		s.answers = map[string][]string{}
	}
	s.answers[key] = slices.Clone(got)
	return got, nil
}

// commit reports whether a hash is known to be that of a commit in a repository, and its tree,
// empty if that is not known.
func (s *Settings) commit(common, hash string) (tree string, ok bool) {
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tree, ok = s.commits[common+"\x00"+hash]
	return tree, ok
}

// setCommit notes a commit, and its tree unless that is empty.
func (s *Settings) setCommit(common, hash, tree string) {
	if s == nil || common == "" || !isHash(hash) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := common + "\x00" + hash
	if s.commits == nil || len(s.commits) >= maxAnswers {
		s.commits = map[string]string{}
	}
	if tree != "" || s.commits[key] == "" {
		s.commits[key] = tree
	}
}

// configState identifies a folder of a repository and the content of its configuration.
type configState struct {
	dir, own, common string
	// content is a hash of all files that decide how the repository is configured. It is empty
	// where that cannot be told without git: outside a repository, with configuration that includes
	// other files, or with variables that lead git elsewhere.
	content string
	// treeElsewhere means that the configuration may name another working tree.
	treeElsewhere bool
}

func (c configState) key() string {
	return strings.Join([]string{c.dir, c.own, c.common, c.content}, "\x00\x00")
}

// configState reads the files that decide which repository Dir belongs to and how it is configured.
func (r *Repo) configState() configState {
	if r.Settings == nil {
		return configState{}
	}
	own, common := r.certainDirs()
	if own == "" {
		return configState{}
	}

	files := []string{
		filepath.Join(common, "config"),
		filepath.Join(common, "config.worktree"),
		filepath.Join(own, "config.worktree"),
	}
	config := ""
	for _, pair := range r.Starter.Env {
		key, value, _ := strings.Cut(pair, "=")
		switch key {
		case "GIT_CONFIG_GLOBAL":
			files = append(files, value)
		case "HOME":
			files = append(files, filepath.Join(value, ".gitconfig"))
			if config == "" {
				config = filepath.Join(value, ".config")
			}
		case "XDG_CONFIG_HOME":
			config = value
		}
	}
	files = append(files, filepath.Join(config, "git", "config"))

	var parts []string
	for _, name := range files {
		text, err := fileState(name)
		if err != nil {
			text = "none"
		}
		parts = append(parts, text)
	}
	contains := func(word string) bool {
		return slices.ContainsFunc(parts, func(text string) bool {
			return strings.Contains(strings.ToLower(text), word)
		})
	}
	if contains("include") {
		return configState{}
	}
	return configState{
		dir:           r.Dir,
		own:           own,
		common:        common,
		content:       sum(strings.Join(parts, "\x00\x00")),
		treeElsewhere: contains("worktree"),
	}
}

// ledElsewhere reports whether a variable may lead git to another repository than the one of Dir.
func (r *Repo) ledElsewhere() bool {
	return slices.ContainsFunc(r.Starter.Env, func(pair string) bool {
		return strings.HasPrefix(pair, "GIT_") && !strings.HasPrefix(pair, "GIT_CONFIG_GLOBAL=")
	})
}

// linkedTop returns the top of a linked worktree without asking git: the folder that has .git.
// It is empty for the main working tree, and where the configuration may name another one.
func (c configState) linkedTop() string {
	if c.content == "" || c.treeElsewhere || c.own == c.common {
		return ""
	}
	dir, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		return ""
	}
	for {
		if own, _ := gitDirsAt(dir); own == c.own {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
