package project

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/lint"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state/exchange"
	"tercet/state/todo"
)

// Side says whose version of a conflict counts.
type Side = exchange.Resolution

// The sides of a conflict.
const (
	SideOurs   = exchange.ResolveOurs
	SideTheirs = exchange.ResolveTheirs
	SideUnion  = exchange.ResolveUnion // both; where both changed one field, the later update
)

// ResolveState takes one side, or both, of a state.json with conflict markers.
func (p *Project) ResolveState(ctx context.Context, how Side) (TaskResult, error) {
	if err := p.mayWrite(); err != nil {
		return TaskResult{}, err
	}
	return p.Manager.ResolveMerge(ctx, how)
}

// Unmark gives a text with conflict markers with one side, or both, taken.
func Unmark(name string, src []byte, how Side) ([]byte, error) {
	m, err := exchange.Unmark(name, src, how)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

// MergedFile is what the merge of a file came to.
type MergedFile struct {
	Renumbered map[int]int // tasks of their side that got another number
	Conflicts  []string    // what a person has to look at
	// HandEdits means that both sides of TODO.md were edited by hand. Ours is kept.
	HandEdits bool
}

// MergeFile merges three versions of state.json, archive/state.json or TODO.md by task and field,
// as git asks for it, and leaves the result in the file of our version. The name is that of the
// file in the repository.
func MergeFile(name, base, ours, theirs string) (MergedFile, error) {
	var texts [3][]byte
	for i, file := range []string{base, ours, theirs} {
		text, err := os.ReadFile(file)
		if err != nil {
			return MergedFile{}, formats.Broken(formats.CodeUsage, file, err)
		}
		texts[i] = text
	}

	if filepath.Base(name) == "TODO.md" {
		out, ok := todo.Merge(texts[0], texts[1], texts[2])
		if !ok {
			return MergedFile{HandEdits: true}, nil
		}
		return MergedFile{}, lint.Rewrite(ours, texts[1], out)
	}

	m, err := exchange.Merge(exchange.Sources{
		Name:        name,
		Base:        texts[0],
		Ours:        texts[1],
		Theirs:      texts[2],
		KeepNumbers: strings.Contains(name, "archive/"),
	}, exchange.ResolveNone)
	if err != nil {
		return MergedFile{}, err
	}

	out := MergedFile{Renumbered: m.Renumbered}
	for _, one := range m.Conflicts {
		out.Conflicts = append(out.Conflicts, one.String())
	}
	return out, lint.Rewrite(ours, texts[1], m.Data)
}

// gitattributes are the lines that have git call the merge driver.
var gitattributes = []string{
	formats.Workspace + "/state.json merge=tercet",
	formats.Workspace + "/archive/state.json merge=tercet",
	formats.Workspace + "/TODO.md merge=tercet",
}

// MissingAttributes gives the lines that .gitattributes of a folder lacks for the merge driver.
func MissingAttributes(dir string) ([]string, error) {
	_, missing, err := missingAttributes(dir)
	return missing, err
}

// missingAttributes is MissingAttributes with what is in the file.
func missingAttributes(dir string) (have []byte, missing []string, err error) {
	have, err = atomicfile.ReadPath(filepath.Join(dir, ".gitattributes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, formats.Broken(formats.CodeIO, ".gitattributes", err)
	}

	missing = slices.Clone(gitattributes)
	for line := range strings.Lines(string(have)) {
		line = strings.Join(strings.Fields(line), " ")
		missing = slices.DeleteFunc(missing, func(want string) bool {
			return want == line
		})
	}
	return have, missing, nil
}

// InstallMergeDriver adds the lines to .gitattributes of a folder, and lists the files that it
// writes. With dry it only lists them.
func InstallMergeDriver(dir string, dry bool) ([]string, error) {
	have, missing, err := missingAttributes(dir)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if len(have) > 0 && !bytes.HasSuffix(have, []byte("\n")) {
		have = append(have, '\n')
	}

	if !dry {
		var root *os.Root
		root, err = os.OpenRoot(dir)
		if err == nil { // no link leads out of it
			have = append(have, strings.Join(missing, "\n")+"\n"...)
			err = errors.Join(
				atomicfile.WriteIn(root, ".gitattributes", have, atomicfile.Options{}),
				root.Close(),
			)
		}
	}
	return []string{".gitattributes"}, IOFailure(err)
}
