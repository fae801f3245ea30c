package git

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Cache keeps what git said about repositories: the top of the working tree, the drivers to switch
// off, and who commits. That spares up to three processes for each command in a working tree. An
// answer about the configuration is valid as long as the files that decide it have the same
// content. The zero value is ready, and safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	tops    map[string]string        // by the folder and the state of the configuration
	configs map[string]configuration // by the state of the configuration
	answers map[string][]string      // by that state and a question
	// commits maps a repository and the hash of a commit to the hash of its tree, or to the empty
	// string if only the commit is known. Commits never change, so these entries stay valid.
	commits map[string]string
}

// maxAnswers bounds each map of a Cache, because every worktree of a run has an entry of its own. A
// full map is dropped.
const maxAnswers = 1000

// configuration is what git said about the configuration in one state.
type configuration struct {
	drivers  []string // configuration that disables the filters and merge drivers
	identity []string // configuration that names an author, if the user has set none
}

// top returns the known top of a working tree, empty if it is not known.
func (cache *Cache) top(state configState) string {
	if cache == nil || state.content == "" {
		return ""
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	return cache.tops[state.key()]
}

func (cache *Cache) setTop(state configState, top string) {
	if cache == nil || state.content == "" {
		return
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.tops == nil || len(cache.tops) >= maxAnswers {
		cache.tops = map[string]string{}
	}
	cache.tops[state.key()] = top
}

// config returns what is known about a state of the configuration.
func (cache *Cache) config(state configState) (c configuration, ok bool) {
	if cache == nil || state.content == "" {
		return configuration{}, false
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	c, ok = cache.configs[state.content]
	return c, ok
}

func (cache *Cache) setConfig(state configState, c configuration) {
	if cache == nil || state.content == "" {
		return
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.configs == nil || len(cache.configs) >= maxAnswers {
		cache.configs = map[string]configuration{}
	}
	cache.configs[state.content] = c
}

// answerOrAsk gives what git said to a question about the configuration in one state, or asks it.
func (cache *Cache) answerOrAsk(
	state configState, question string, ask func() ([]string, error),
) ([]string, error) {
	if cache == nil || state.content == "" {
		return ask()
	}
	key := state.content + "\x00\x00" + question
	cache.mu.Lock()
	known, ok := cache.answers[key]
	cache.mu.Unlock()
	if ok {
		return slices.Clone(known), nil
	}
	got, err := ask()
	if err != nil {
		return nil, err
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.answers == nil || len(cache.answers) >= maxAnswers {
		cache.answers = map[string][]string{}
	}
	cache.answers[key] = slices.Clone(got)
	return got, nil
}

// commitTree reports whether a hash is known to be that of a commit in a repository, and its tree,
// empty if that is not known.
func (cache *Cache) commitTree(common, hash string) (tree string, ok bool) {
	if cache == nil {
		return "", false
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	tree, ok = cache.commits[common+"\x00"+hash]
	return tree, ok
}

// setCommit notes a commit, and its tree unless that is empty.
func (cache *Cache) setCommit(common, hash, tree string) {
	if cache == nil || common == "" || !isHash(hash) {
		return
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	key := common + "\x00" + hash
	if cache.commits == nil || len(cache.commits) >= maxAnswers {
		cache.commits = map[string]string{}
	}
	if tree != "" || cache.commits[key] == "" {
		cache.commits[key] = tree
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
	if r.Cache == nil {
		return configState{}
	}
	own, common := r.unambiguousDirs()
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
		content:       hexHash(strings.Join(parts, "\x00\x00")),
		treeElsewhere: contains("worktree"),
	}
}

// isRedirectedByEnv reports whether a variable may lead git to another repository than the one of
// Dir.
func (r *Repo) isRedirectedByEnv() bool {
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
