package proc

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkEnv reports the first entry that is not KEY=VALUE.
func checkEnv(lists ...[]string) error {
	for _, list := range lists {
		for _, kv := range list {
			if k, _, ok := strings.Cut(kv, "="); !ok || k == "" || strings.ContainsRune(kv, 0) {
				return fmt.Errorf("expected KEY=VALUE, got %q", kv)
			}
		}
	}
	return nil
}

// mergeEnv joins lists; of two entries with one key the later value stands, at the place of the
// first. The result is never nil, because a nil environment would mean that of the calling process.
func mergeEnv(lists ...[]string) []string {
	out := []string{}
	at := map[string]int{}
	for _, list := range lists {
		for _, kv := range list {
			k, _, _ := strings.Cut(kv, "=")
			if i, ok := at[k]; ok {
				out[i] = kv
				continue
			}
			at[k] = len(out)
			out = append(out, kv)
		}
	}
	return out
}

// lookEnv returns the value of key in env.
func lookEnv(env []string, key string) (string, bool) {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v, true
		}
	}
	return "", false
}

// Look gives the absolute path of the program that Run would start for name: on the PATH of s.Env,
// never on that of this process. It skips empty and relative entries of PATH, so that a file in the
// working folder never runs by accident.
func (s *Starter) Look(name string) (string, error) {
	return look(s.Env, "", name)
}

func look(env []string, dir, name string) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", &NotFoundError{Name: name}
	}
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if !executable(name) {
			return "", &NotFoundError{Name: name}
		}
		return name, nil
	}
	path, ok := lookEnv(env, "PATH")
	if !ok {
		path = defaultPathOnUnix
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue
		}
		if file := filepath.Join(d, name); executable(file) {
			return file, nil
		}
	}
	return "", &NotFoundError{Name: name}
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Folder makes a private temporary folder for this process itself. It is recorded like that of a
// child, so that the next start removes it if this process was killed.
func (s *Starter) Folder() (dir string, remove func() error, err error) {
	dir = s.private()
	forget := func() {}
	if owner, ferr := self(); ferr == nil && s.Record != nil {
		// No process belongs to it: of this one there is more in the session than it started.
		if forget, err = s.Record(Started{Owner: owner, Temp: dir}); err != nil {
			return "", nil, err
		}
	}
	remove = func() error {
		defer forget()
		return removeTemp(dir)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return dir, remove, nil
}

// private names a private temporary folder.
func (s *Starter) private() string {
	return filepath.Join(cmp.Or(s.Temp, os.TempDir()), "tercet-"+rand.Text())
}

// removeTemp removes the private folder of a call, also when the child took away its own right to
// write there.
func removeTemp(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return lost(dir, err)
	}
	walked := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return root.Chmod(p, 0o700)
	})
	if err := errors.Join(os.RemoveAll(dir), root.Close()); err != nil {
		return lost(dir, errors.Join(err, walked))
	}
	return nil
}

// Inherited lists the variables that every child sees, besides those of the configuration.
func Inherited() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR",
		"SHELL", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPATH", "GOROOT", "GOPROXY", "GOTOOLCHAIN",
		"GONOSUMDB", "GOSUMDB", "CARGO_HOME", "RUSTUP_HOME", "npm_config_cache", "XDG_CACHE_HOME",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	}
}

// ForPush lists the variables that git, gh and glab also see when they push a branch and open a
// request.
func ForPush() []string {
	return []string{
		"SSH_AUTH_SOCK", "GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GH_HOST",
		"GH_CONFIG_DIR", "GITLAB_TOKEN", "GITLAB_HOST", "GLAB_CONFIG_DIR", "HTTPS_PROXY",
		"https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy",
	}
}

// Set gives the named variables that are set, as NAME=value; lookup is os.LookupEnv.
func Set(lookup func(name string) (string, bool), names ...string) []string {
	var env []string
	for _, name := range names {
		if v, ok := lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
