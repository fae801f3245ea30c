package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/internal/proc"
)

// fixed is the configuration of every call, key after value. Each entry switches off a way to run a program, or a
// setting that would change what is parsed here.
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

// environment is what git sees beside the starter's variables. Configuration goes by numbered variables and not by
// -c, because -c would end the key at the first equals sign, and a repository may name a filter with one in it.
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

// drivers returns the configuration that neutralises every filter and merge driver named where Dir stands. It is asked
// anew each time: what works in a worktree can write the configuration that all worktrees share.
func (r *Repo) drivers(ctx context.Context) ([]string, error) {
	out, _, err := r.run(ctx, call{
		args: []string{"config", "--includes", "--name-only", "-z", "--get-regexp", `^(filter|merge)\.`}, also: []int{1},
	})
	if err != nil {
		return nil, err
	}
	return neutral(records(out)), nil
}

// neutral returns key and value pairs that take the programs away from the drivers that keys belong to.
func neutral(keys []string) []string {
	var pairs []string
	seen := map[string]bool{}
	for _, key := range keys {
		i, j := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if i < 0 || i == j || seen[key[:j]] {
			continue // a plain setting such as merge.ff, or a driver that has been dealt with
		}
		driver := key[:j]
		switch key[:i] {
		case "filter":
			seen[driver] = true
			pairs = append(pairs, driver+".clean", "", driver+".smudge", "", driver+".process", "", driver+".required", "false")
		case "merge":
			if key[j+1:] != "driver" {
				continue
			}
			seen[driver] = true
			// An empty driver would count as a success that took our side; this one is what git does without one.
			pairs = append(pairs, driver+".driver", "git merge-file --quiet --marker-size=%L %A %O %B")
		}
	}
	return pairs
}

// Fingerprint holds, by name, a hash of each thing in the repository's own folder that can make git run a program.
type Fingerprint map[string]string

// Changes names what is new, gone or different in another fingerprint of the same place, sorted.
func (f Fingerprint) Changes(now Fingerprint) []string {
	var out []string
	for name, sum := range f {
		if now[name] != sum {
			out = append(out, name)
		}
	}
	for name := range now {
		if _, ok := f[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Look is the Fingerprint before foreign work. Without git, outside of a repository, and in one that git does not work
// in, there is nothing that git could run, and it is nil. A start that was denied is told as the reason alone.
func (r *Repo) Look(ctx context.Context) (Fingerprint, error) {
	print, err := r.Fingerprint(ctx)
	denied, isDenied := errors.AsType[*proc.DeniedError](err)
	switch {
	case err == nil || ctx.Err() != nil:
	case isDenied:
		err = denied.Err
	case errors.As(err, new(*MissingError)), errors.As(err, new(*Error)):
		err = nil
	}
	return print, err
}

// Fingerprint reads everything in the repository's own folder that can make git run a program: configuration with
// what it includes, hooks, and attributes, in the folder that all worktrees share, and which repository Dir belongs
// to. Taken before and after foreign work, it shows tampering.
func (r *Repo) Fingerprint(ctx context.Context) (Fingerprint, error) {
	out, err := r.read(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	common, own, ok := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if !ok {
		return nil, odd("rev-parse", "two folders", string(out))
	}
	print := Fingerprint{"the repository of this folder": sum([]byte(common + "\x00" + own))}
	root, err := os.OpenRoot(common)
	if err != nil {
		return nil, err
	}
	names := []string{"config", "config.worktree", "info/attributes", "info/grafts"}
	for _, pattern := range []string{"hooks/*", "worktrees/*/config.worktree", "modules/*/config"} {
		found, err := fs.Glob(root.FS(), pattern)
		if err != nil {
			return nil, errors.Join(err, root.Close())
		}
		names = append(names, found...)
	}
	for _, name := range names {
		h := sha256.New()
		if err := hashFile(h, root, name); err != nil {
			return nil, errors.Join(err, root.Close())
		}
		print[".git/"+name] = hex.EncodeToString(h.Sum(nil))
	}
	config, err := root.ReadFile("config")
	plain := err == nil && !bytes.Contains(bytes.ToLower(config), []byte("[include"))
	if err := root.Close(); err != nil {
		return nil, err
	}
	if !plain { // what the files say together, with those that they include from elsewhere
		if config, err = r.read(ctx, "config", "--local", "--includes", "--list", "-z"); err != nil {
			return nil, err
		}
	}
	print["what the configuration includes"] = sum(config)
	return print, nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// hashFile adds name, mode and content of one file, of which any may be absent.
func hashFile(h io.Writer, root *os.Root, name string) error {
	info, err := root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(h, "\x00"+name+"\x00"+info.Mode().String()+"\x00"); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(name)
		if err != nil {
			return err
		}
		_, err = io.WriteString(h, to)
		return err
	case !info.Mode().IsRegular():
		return nil
	}
	b, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	_, err = h.Write(b)
	return err
}
