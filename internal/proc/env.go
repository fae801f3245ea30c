package proc

import (
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

// mergeEnv joins lists; of two entries with one key the later value stands, at the place of the first.
// The result is never nil, because a nil environment would mean that of the calling process.
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

// Look returns the absolute path of the program that Run would start for name: on the PATH of s.Env, never on that of
// the calling process. Empty and relative entries of PATH are skipped, so that a file in the working folder is never
// taken for a program.
func (s *Starter) Look(name string) (string, error) { return look(s.Env, "", name) }

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

// removeTemp removes the private folder of a call, also when the child took away its own right to write there.
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
