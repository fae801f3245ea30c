package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/internal/atomicfile"
)

// fixed is the configuration of every call, key after value. Each entry switches off a way to run a
// program, or a setting that would change what is parsed here.
func fixed() []string {
	return []string{
		"core.fsmonitor", "false",
		"core.hooksPath", "/dev/null",
		"core.pager", "cat",
		"core.editor", "false",
		"core.sshCommand", "false",
		"core.quotePath", "false",
		"diff.external", "",
		"diff.ignoreSubmodules", "all",
		"diff.mnemonicPrefix", "false",
		"diff.noprefix", "false",
		"submodule.recurse", "false",
		"status.submoduleSummary", "false",
		"safe.bareRepository", "explicit",
		"protocol.allow", "never",
		"commit.gpgSign", "false",
		"tag.gpgSign", "false",
		"gpg.program", "false",
		"log.showSignature", "false",
		"merge.verifySignatures", "false",
		"merge.autoStash", "false",
		"pull.twohead", "ort",
		"rerere.enabled", "false",
		// Background work would outlive the call.
		"gc.auto", "0",
		"maintenance.auto", "false",
		"color.ui", "false",
		"i18n.commitEncoding", "UTF-8",
		"i18n.logOutputEncoding", "UTF-8",
	}
}

// environment is what git sees beside the starter's variables. Configuration goes by numbered
// variables and not by -c. A -c would end the key at the first equals sign, and a repository may
// name a filter with one in it.
func environment(pairs []string) []string {
	env := []string{
		"LC_ALL=C", "LANGUAGE=",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_PAGER=cat",
	}
	all := append(fixed(), pairs...)
	for i := 0; i+1 < len(all); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+all[i], "GIT_CONFIG_VALUE_"+n+"="+all[i+1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)/2))
}

// drivers returns the configuration that neutralises every filter and merge driver named where Dir
// stands. It is asked anew each time: what works in a worktree can write the configuration that all
// worktrees share.
func (r *Repo) drivers(ctx context.Context) ([]string, error) {
	out, _, err := r.run(ctx, call{
		args: []string{
			"config", "--includes", "--name-only", "-z", "--get-regexp", `^(filter|merge)\.`,
		},
		also: []int{1},
	})
	if err != nil {
		return nil, err
	}
	return neutral(records(out)), nil
}

// neutral returns key and value pairs that take the programs away from the drivers that keys belong
// to.
func neutral(keys []string) []string {
	var pairs []string
	seen := map[string]bool{}
	for _, key := range keys {
		i := strings.IndexByte(key, '.')
		j := strings.LastIndexByte(key, '.')
		if i < 0 || i == j || seen[key[:j]] {
			continue // a plain setting such as merge.ff, or a driver that has been dealt with
		}
		driver := key[:j]
		switch key[:i] {
		case "filter":
			seen[driver] = true
			pairs = append(
				pairs,
				driver+".clean",
				"",
				driver+".smudge",
				"",
				driver+".process",
				"",
				driver+".required",
				"false",
			)
		case "merge":
			if key[j+1:] != "driver" {
				continue
			}
			seen[driver] = true
			// An empty driver would count as a success that took our side; this one is what git
			// does without one.
			pairs = append(
				pairs,
				driver+".driver",
				"git merge-file --quiet --marker-size=%L %A %O %B",
			)
		}
	}

	return pairs
}

// Fingerprint maps everything in the repository's own folder that can make git run a program to a
// hash.
type Fingerprint map[string]string

// Changes lists what is new, gone or different in another fingerprint of the same place, sorted.
func (f Fingerprint) Changes(now Fingerprint) []string {
	all := maps.Clone(f)
	maps.Copy(all, now)
	same := func(name, _ string) bool { return f[name] == now[name] }
	maps.DeleteFunc(all, same)
	return slices.Sorted(maps.Keys(all))
}

// Fingerprint reads everything in the repository's own folder that can make git run a program. That
// is configuration with its includes, hooks, attributes, and which repository Dir belongs to.
// Compared before and after foreign work, it shows tampering. It covers the folder that all
// worktrees share. Outside a repository it is nil. It starts git only if the configuration includes
// other files.
func (r *Repo) Fingerprint(ctx context.Context) (Fingerprint, error) {
	own, common := home(r.Dir)
	if own == "" {
		return nil, nil
	}

	print := Fingerprint{"the repository of this folder": sum(common + "\x00" + own)}
	names := []string{
		"config", "config.worktree", "info/attributes", "info/grafts", "objects/info/alternates",
	}
	for _, pattern := range []string{"hooks/*", "worktrees/*/config.worktree", "modules/*/config"} {
		found, err := fs.Glob(os.DirFS(common), pattern)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	// git runs none of the samples that it puts there
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.HasSuffix(name, ".sample")
	})
	for _, name := range names {
		text, err := describe(filepath.Join(common, name))
		if err == nil {
			print[".git/"+name] = sum(text)
		} else if !errors.Is(err, fs.ErrNotExist) {
			print[".git/"+name] = err.Error()
		}
		if name != "config" || !strings.Contains(strings.ToLower(text), "[include") {
			continue
		}
		// what the files say together, with those that they include from elsewhere
		out, err := r.read(ctx, "config", "--local", "--includes", "--list", "-z")
		if err != nil {
			return nil, err
		}
		print["what the configuration includes"] = sum(string(out))
	}

	return print, nil
}

// shortestHash is the length of the hash of a commit in hexadecimal.
const shortestHash = 40

// home finds the repository of a folder as git does: the part of its own, and the one that all its
// worktrees share. Both are empty where there is none.
func home(dir string) (own, common string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		own, common = homeAt(dir)
		head := small(filepath.Join(own, "HEAD"))
		if _, err := os.Stat(filepath.Join(common, "objects")); err == nil &&
			(strings.HasPrefix(head, "ref: ") || len(head) >= shortestHash) {
			return own, common
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
		dir = filepath.Dir(dir)
	}
}

// homeAt gives the folders to which .git of a folder leads, whether there is a repository or not.
func homeAt(dir string) (own, common string) {
	from := func(dir, name string) string {
		if name = strings.TrimRight(name, "\r\n"); filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	own = filepath.Join(dir, ".git")
	if to, ok := strings.CutPrefix(small(own), "gitdir: "); ok {
		own = from(dir, to)
	}
	if real, err := filepath.EvalSymlinks(own); err == nil { // git follows a .git that is a link
		own = real
	}
	return own, from(own, small(filepath.Join(own, "commondir")))
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// describe gives mode and content of a file, and where a link leads.
func describe(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	to := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err = os.Readlink(name)
	}
	return info.Mode().String() + "\x00" + to + "\x00" + small(name), err
}

// small gives the content of a regular file, empty if there is none or it cannot be read.
func small(name string) string {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := atomicfile.ReadPath(name) // a pipe may have been put there meanwhile
	if err != nil {
		return err.Error()
	}
	return string(text)
}
