package dialect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of the files that a prompt includes.
const (
	includeBytes = 256 << 10 // of one file
	includeSum   = 1 << 20   // of all
	includeFiles = 100
)

// includedFile is a file that a prompt refers to.
type includedFile struct {
	path string
	data []byte
}

// Filling is an expanded prompt and its files.
type Filling struct {
	command    *Command
	pieces     []Output
	tree       fs.FS
	warn       func(format string, args ...any)
	files      map[*File][]includedFile
	total      int
	unresolved map[*File]string // why a reference was not resolved, if that is unexpected
}

// Fill reads the files that a prompt refers to, in the project's tree. A reference to a missing or
// unusable file stays as written, and warn reports it.
func (c *Command) Fill(
	pieces []Output,
	tree fs.FS,
	warn func(format string, args ...any),
) *Filling {
	f := &Filling{
		command:    c,
		pieces:     pieces,
		tree:       tree,
		warn:       warn,
		files:      map[*File][]includedFile{},
		unresolved: map[*File]string{},
	}
	for _, o := range pieces {
		if o.Include != nil {
			f.resolve(o.Include)
		}
	}
	return f
}

// resolve resolves a reference. Outside the project root, or if nothing exists there, it resolves
// to nothing.
func (f *Filling) resolve(ref *File) {
	name := path.Clean(strings.TrimPrefix(ref.Path, "./"))
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.HasPrefix(name, "~/") {
		f.unresolved[ref] = "leads out of the project"
		return
	}

	if name == "." && !ref.Inline {
		return
	}

	info, err := fs.Stat(f.tree, name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		f.unresolved[ref] = "cannot be reached inside of the project"
	// another word behind @ may be anything
	case err != nil && (ref.Inline || strings.Contains(name, "/") && path.Ext(name) != ""):
		f.unresolved[ref] = "is not there"
	case err != nil:
	case info.Mode().IsRegular():
		f.addFile(ref, name)
	case info.IsDir() && ref.Inline:
		f.addFolder(ref, name)
	}
}

func (f *Filling) addFile(ref *File, name string) {
	data, err := ReadFile(f.tree, name)
	switch {
	case err != nil:
		f.warn("warning: %s: %s is not put in: %v", f.command.File, name, err)
	case len(data) > includeBytes || f.total+len(data) > includeSum:
		f.warn("warning: %s: %s is not put in: expected at most %d bytes a file and %d in all",
			f.command.File, name, includeBytes, includeSum)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		f.warn("warning: %s: %s is not put in: it is no text", f.command.File, name)
	default:
		f.total += len(data)
		f.files[ref] = append(f.files[ref], includedFile{name, data})
	}
}

// addFolder adds the files below a folder, except hidden ones and those that plain patterns of the
// project's .gitignore match.
func (f *Filling) addFolder(ref *File, name string) {
	patterns := ignorePatterns(f.tree)
	ignored := func(inside, base string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			byName, err := path.Match(p, base)
			byPath, err2 := path.Match(p, inside)
			return err == nil && byName || err2 == nil && byPath
		})
	}

	err := fs.WalkDir(f.tree, name, func(inside string, d fs.DirEntry, err error) error {
		base := path.Base(inside)
		switch {
		case err != nil:
			return err
		case inside != name &&
			(strings.HasPrefix(base, ".") || base == "node_modules" || ignored(inside, base)):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.Type().IsRegular():
		case len(f.files[ref]) >= includeFiles:
			f.warn("warning: %s: only the first %d files of %s are put in",
				f.command.File, includeFiles, name)
			return fs.SkipAll
		default:
			f.addFile(ref, inside)
		}
		return nil
	})
	if err != nil {
		f.warn("warning: %s: %v", f.command.File, err)
	}
}

// ignorePatterns reads the plain patterns of the project's ignore files: names and paths with * and
// ?, without exceptions.
func ignorePatterns(tree fs.FS) []string {
	var patterns []string
	for _, name := range []string{".gitignore", ".geminiignore"} {
		data, err := ReadFile(tree, name)
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			line = strings.Trim(strings.TrimSpace(line), "/")
			if line != "" && line[0] != '#' && line[0] != '!' {
				patterns = append(patterns, line)
			}
		}
	}
	return patterns
}

// Asks describes what would run and be read, with a digest of exactly that. It is empty if there is
// nothing to approve.
func (f *Filling) Asks() (show []string, digest string) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", f.command.File)
	for _, o := range f.pieces {
		switch {
		case o.Script != nil && o.Script.Refused == "":
			fmt.Fprintf(sum, "run %q %q\n", o.Script.Text, o.Script.Env)
			show = append(show, "runs: "+strings.TrimSpace(o.Script.Text))
			for _, kv := range o.Script.Env {
				name, value, _ := strings.Cut(kv, "=")
				show = append(show, fmt.Sprintf("      with %s=%q", name, value))
			}
		case o.Include != nil:
			for _, one := range f.files[o.Include] {
				fmt.Fprintf(sum, "read %q %x\n", one.path, sha256.Sum256(one.data))
				show = append(show, fmt.Sprintf("reads: %s (%d bytes)", one.path, len(one.data)))
			}
		}
	}
	return show, hex.EncodeToString(sum.Sum(nil))
}

// Text is the whole prompt; run returns the output of a script.
func (f *Filling) Text(run func(*Script) (string, error)) (string, error) {
	var text, behind strings.Builder
	there := map[string]bool{} // files that were appended already
	for _, o := range f.pieces {
		switch {
		case o.Script != nil:
			out, err := run(o.Script)
			if err != nil {
				return "", err
			}
			text.WriteString(out)
		case o.Include != nil:
			f.writeReference(&text, &behind, o.Include, there)
		default:
			text.WriteString(o.Text)
		}
	}
	return text.String() + behind.String(), nil
}

// writeReference writes the content of a reference: in its place, or appended to the text while the
// reference stays.
func (f *Filling) writeReference(text, behind *strings.Builder, ref *File, there map[string]bool) {
	list := f.files[ref]
	if !ref.Inline || len(list) == 0 {
		text.WriteString(ref.Text())
	}

	if reason := f.unresolved[ref]; len(list) == 0 && reason != "" {
		f.warn("warning: %s:%d: %s %s; it stays as it is written",
			f.command.File, ref.Pos.Line, ref.Path, reason)
	}

	for _, one := range list {
		to := behind
		switch {
		case ref.Inline && len(list) == 1:
			text.Write(one.data)
			continue
		case ref.Inline:
			to = text
		case there[one.path]:
			continue
		default:
			there[one.path] = true
		}
		fmt.Fprintf(to, "\n\n<file path=%q>\n%s\n</file>",
			one.path, bytes.TrimRight(one.data, "\n"))
	}
}
