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

// fixedConfig is the configuration of every call, key after value. Each entry disables a way to run
// a program, or a setting that would change what is parsed here.
func fixedConfig() []string {
	return []string{
		"core.fsmonitor", "false",
		"core.hooksPath", "/dev/null",
		"core.pager", "cat",
		"core.editor", "false",
		"core.sshCommand", "false",
		"core.alternateRefsCommand", "true", // a fetch asks it for refs; it names none
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

// environment is what git gets besides the starter's variables. Configuration is passed in numbered
// variables and not with -c: -c ends the key at the first equals sign, and a repository may name a
// filter with one in it.
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
	all := append(fixedConfig(), pairs...)
	for i := 0; i+1 < len(all); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+all[i], "GIT_CONFIG_VALUE_"+n+"="+all[i+1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)/2))
}

// configuration returns configuration that disables every filter and merge driver of the
// configuration at Dir, and that names an author if the user has set none. git is asked each time,
// because a process in a worktree can write the configuration that all worktrees share; only the
// same content of all files has the same answer.
func (r *Repo) configuration(ctx context.Context) (configuration, error) {
	state := r.configState()
	if known, ok := r.Cache.config(state); ok {
		return known, nil
	}
	out, _, err := r.run(ctx, call{
		args: []string{
			"config", "--includes", "-z", "--get-regexp",
			`^(filter|merge)\.|^user\.(name|email)$`,
		},
		okExits: []int{1},
	})
	if err != nil {
		return configuration{}, err
	}

	var keys []string
	set := map[string]string{}
	for _, rec := range records(out) {
		key, value, _ := strings.Cut(rec, "\n")
		keys = append(keys, key)
		set[key] = value
	}

	c := configuration{drivers: neutralize(keys)}
	for _, kv := range [][2]string{{"user.name", "tercet"}, {"user.email", "tercet@localhost"}} {
		if set[kv[0]] == "" {
			c.identity = append(c.identity, kv[0], kv[1])
		}
	}
	r.Cache.setConfig(state, c)
	return c, nil
}

// neutralize returns configuration that disables the programs of the drivers that keys belong to.
func neutralize(keys []string) []string {
	var pairs []string
	seen := map[string]bool{}
	for _, key := range keys {
		i := strings.IndexByte(key, '.')
		j := strings.LastIndexByte(key, '.')
		if i < 0 || i == j || seen[key[:j]] {
			continue // a plain setting such as merge.ff, or a driver that is done
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
			// An empty driver would count as a successful merge to our side; this command is git's
			// own default.
			pairs = append(
				pairs,
				driver+".driver",
				"git merge-file --quiet --marker-size=%L %A %O %B",
			)
		}
	}

	return pairs
}

// Fingerprint maps everything in the repository's folder that can make git run a program to a hash.
type Fingerprint map[string]string

// Changes lists what was added, removed or changed in another fingerprint of the same place,
// sorted.
func (f Fingerprint) Changes(now Fingerprint) []string {
	all := maps.Clone(f)
	maps.Copy(all, now)
	same := func(name, _ string) bool { return f[name] == now[name] }
	maps.DeleteFunc(all, same)
	return slices.Sorted(maps.Keys(all))
}

// Fingerprint reads everything in the repository's folder that can make git run a program:
// configuration with its includes, hooks, attributes, and which repository Dir belongs to. Compared
// before and after foreign work, it shows tampering. It covers the folder that all worktrees share.
// Outside a repository it is nil. It starts git only if the configuration includes other files.
func (r *Repo) Fingerprint(ctx context.Context) (Fingerprint, error) {
	own, common := gitDirs(r.Dir)
	if own == "" {
		return nil, nil
	}

	print := Fingerprint{"the repository of this folder": hexHash(common + "\x00" + own)}
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

	// git does not run the sample hooks
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.HasSuffix(name, ".sample")
	})

	for _, name := range names {
		text, err := fileState(filepath.Join(common, name))
		if err == nil {
			print[".git/"+name] = hexHash(text)
		} else if !errors.Is(err, fs.ErrNotExist) {
			print[".git/"+name] = err.Error()
		}
		if name != "config" || !strings.Contains(strings.ToLower(text), "[include") {
			continue
		}
		// the combined configuration with all included files
		out, err := r.read(ctx, "config", "--local", "--includes", "--list", "-z")
		if err != nil {
			return nil, err
		}
		print["what the configuration includes"] = hexHash(string(out))
	}

	return print, nil
}

// The lengths of a hash in hexadecimal, of SHA-1 and of SHA-256.
const (
	shortestHash = 40
	longestHash  = 64
)

// gitDirs finds the repository of a folder as git does: the folder of its worktree, and the one
// that all worktrees share. Both are empty if there is none.
func gitDirs(dir string) (own, common string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		own, common = gitDirsAt(dir)
		head := readSmall(filepath.Join(own, "HEAD"))
		_, err := os.Stat(filepath.Join(common, "objects"))
		isHead := strings.HasPrefix(head, "ref: ") || len(head) >= shortestHash
		if err == nil && isHead {
			return own, common
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
		dir = filepath.Dir(dir)
	}
}

// gitDirsAt returns the folders that .git of a folder leads to, whether there is a repository or
// not.
func gitDirsAt(dir string) (own, common string) {
	resolve := func(dir, name string) string {
		name = strings.TrimRight(name, "\r\n")
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}

	own = filepath.Join(dir, ".git")
	if target, ok := strings.CutPrefix(readSmall(own), "gitdir: "); ok {
		own = resolve(dir, target)
	}
	if real, err := filepath.EvalSymlinks(own); err == nil { // git follows a .git that is a link
		own = real
	}
	return own, resolve(own, readSmall(filepath.Join(own, "commondir")))
}

func hexHash(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// fileState describes mode, link target and content of a file.
func fileState(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err = os.Readlink(name)
	}
	return info.Mode().String() + "\x00" + target + "\x00" + readSmall(name), err
}

// readSmall returns the content of a regular file; empty if there is none or it is unreadable.
func readSmall(name string) string {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := atomicfile.ReadPath(name) // a pipe may have been put there meanwhile
	if err != nil {
		return err.Error()
	}
	return string(text)
}
