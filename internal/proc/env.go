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

// mergeEnv joins lists; of two entries with one key the later value wins, at the position of the
// first. The result is never nil, because a nil environment means that of the calling process.
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

// lookupEnv returns the value of key in env.
func lookupEnv(env []string, key string) (string, bool) {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v, true
		}
	}
	return "", false
}

// LookPath returns the absolute path of the program that Run would start for name: on the PATH of
// s.Env, never on that of this process. It skips empty and relative entries of PATH, so that a file
// in the working folder never runs by accident.
func (s *Starter) LookPath(name string) (string, error) {
	return lookPath(s.Env, "", name)
}

func lookPath(env []string, dir, name string) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", &NotFoundError{Name: name}
	}
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if !isExecutable(name) {
			info, err := os.Stat(name)
			return "", &NotFoundError{Name: name, There: err == nil && info.Mode().IsRegular()}
		}
		return name, nil
	}

	path, ok := lookupEnv(env, "PATH")
	if !ok {
		path = defaultPathOnUnix
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue
		}
		if file := filepath.Join(d, name); isExecutable(file) {
			return file, nil
		}
	}
	return "", &NotFoundError{Name: name}
}

func isExecutable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// TempFolder makes a private temporary folder for this process. It is recorded like that of a
// child, so that the next start removes it if this process is killed.
func (s *Starter) TempFolder() (dir string, remove func() error, err error) {
	dir = s.tempName()
	forget := func() {}
	if owner, ferr := ownProc(); ferr == nil && s.Record != nil {
		// The record names no child: the session of this process has more than what it started.
		forget, err = s.Record(Started{Owner: owner, Temp: dir})
		if err != nil {
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

// tempName returns the path of a new private temporary folder.
func (s *Starter) tempName() string {
	return filepath.Join(cmp.Or(s.Temp, os.TempDir()), "tercet-"+rand.Text())
}

// removeTemp removes the private folder of a call, even if the child made it read-only.
func removeTemp(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return outputError(dir, err)
	}

	walkErr := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return root.Chmod(p, 0o700)
	})
	if err := errors.Join(os.RemoveAll(dir), root.Close()); err != nil {
		return outputError(dir, errors.Join(err, walkErr))
	}
	return nil
}

// InheritedVars lists the variables that every child gets besides the configured ones.
func InheritedVars() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR",
		"SHELL", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPATH", "GOROOT", "GOPROXY", "GOTOOLCHAIN",
		"GONOSUMDB", "GOSUMDB", "GOENV", "GOWORK", "CGO_ENABLED", "CARGO_HOME", "RUSTUP_HOME",
		"npm_config_cache", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CODEX_HOME",
		"CLAUDE_CONFIG_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	}
}

// PushVars lists the variables that git, gh and glab also get to push a branch and open a request.
func PushVars() []string {
	return []string{
		"SSH_AUTH_SOCK", "GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GH_HOST",
		"GH_CONFIG_DIR", "GITLAB_TOKEN", "GITLAB_HOST", "GLAB_CONFIG_DIR", "HTTPS_PROXY",
		"https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy",
	}
}

// LookupVars returns the named variables that are set, as NAME=value; lookup is os.LookupEnv.
func LookupVars(lookup func(name string) (string, bool), names ...string) []string {
	var env []string
	for _, name := range names {
		if v, ok := lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
