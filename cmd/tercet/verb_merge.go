package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/lint"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/project"
	"tercet/state/exchange"
	"tercet/state/todo"
)

// stateMerge takes one side, or both, of a file with conflict markers: of state.json itself, or of
// another file, whose merge is printed.
func stateMerge(cmd *cobra.Command, _ *app) run {
	f := cmd.Flags()
	sides := map[exchange.Resolution]*bool{
		exchange.ResolveOurs:   f.Bool("ours", false, "take our side"),
		exchange.ResolveTheirs: f.Bool("theirs", false, "take their side"),
		exchange.ResolveUnion: f.Bool("union", false,
			"merge both by task and field; where both changed one field, the later update counts"),
	}
	return func(c call) error {
		maps.DeleteFunc(sides, func(_ exchange.Resolution, on *bool) bool {
			return !*on
		})
		if len(sides) != 1 {
			return usage("expected one of --ours, --theirs and --union, got %s",
				[]string{"none", "", "two", "two"}[len(sides)])
		}

		how := slices.Collect(maps.Keys(sides))[0]
		if len(c.args) == 1 {
			src, err := c.app.input(c.args[0])
			if err != nil {
				return err
			}
			m, err := exchange.Unmark(c.args[0], src, how)
			if err == nil {
				c.app.term.Raw(m.Data)
			}
			return err
		}

		w, err := c.writable()
		if err != nil {
			return err
		}
		res, err := w.Manager.ResolveMerge(c.ctx, how)
		c.app.term.Warnings(res.Warnings)
		if err == nil {
			c.app.done("merged, serial %d", res.Serial)
		}
		return err
	}
}

// stateMergeDriver is what git calls for a file that both branches changed. Like every driver it
// leaves its result in OURS and ends with 1 if the user has to look.
func stateMergeDriver(cmd *cobra.Command, _ *app) run {
	cmd.Long = `git calls merge-driver with the three versions of state.json, archive/state.json or TODO.md. It merges
by task number and by field, and leaves the result in OURS. A new task of the other branch gets a new
number if its own is taken. Install it with:

  tercet init --merge-driver
  git config merge.tercet.driver 'tercet state merge-driver %O %A %B %P'`
	return func(c call) (err error) {
		var text [3][]byte
		for i := range text {
			if text[i], err = os.ReadFile(c.args[i]); err != nil {
				return broken(formats.CodeUsage, c.args[i], err)
			}
		}

		name := formats.Workspace + "/state.json"
		ours := c.args[1]
		if len(c.args) == 4 {
			name = filepath.ToSlash(c.args[3])
		}
		if filepath.Base(name) == "TODO.md" {
			out, ok := todo.Merge(text[0], text[1], text[2])
			if !ok {
				c.app.term.Say(name +
					": both sides were edited by hand; ours is kept, look at theirs with git")
				return shown{1}
			}
			return lint.Rewrite(ours, text[1], out)
		}

		m, err := exchange.Merge(exchange.Sources{
			Name:        name,
			Base:        text[0],
			Ours:        text[1],
			Theirs:      text[2],
			KeepNumbers: strings.Contains(name, "archive/"),
		}, exchange.ResolveNone)
		if err != nil {
			return err
		}

		for old, now := range m.Renumbered {
			c.app.term.Note("%s: task %d of their side is task %d now", name, old, now)
		}
		if err := lint.Rewrite(ours, text[1], m.Data); err != nil {
			return err
		}

		for _, one := range m.Conflicts {
			c.app.term.Say(name + ": " + one.String())
		}
		if len(m.Conflicts) > 0 {
			c.app.term.Help("take one side, or both: tercet state merge --ours, --theirs or --union")
			return shown{1}
		}
		return nil
	}
}

// gitattributes are the lines that have git call the merge driver.
var gitattributes = []string{
	formats.Workspace + "/state.json merge=tercet",
	formats.Workspace + "/archive/state.json merge=tercet",
	formats.Workspace + "/TODO.md merge=tercet",
}

// driverConfig is what the user runs once in each clone: git takes no configuration out of a
// repository.
const driverConfig = "git config merge.tercet.driver 'tercet state merge-driver %O %A %B %P'"

// missingAttributes gives the lines that .gitattributes lacks, and what is in it.
func missingAttributes(dir string) (have []byte, missing []string, err error) {
	have, err = atomicfile.ReadPath(filepath.Join(dir, ".gitattributes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, broken(formats.CodeIO, ".gitattributes", err)
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

// installDriver adds the lines to .gitattributes of the project root.
func installDriver(dir string, dry bool) ([]string, error) {
	have, missing, err := missingAttributes(dir)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if len(have) > 0 && !bytes.HasSuffix(have, []byte("\n")) {
		have = append(have, '\n')
	}
	if !dry {
		var root *os.Root
		if root, err = os.OpenRoot(dir); err == nil { // no link leads out of it
			have = append(have, strings.Join(missing, "\n")+"\n"...)
			err = errors.Join(
				atomicfile.WriteIn(root, ".gitattributes", have, atomicfile.Options{}),
				root.Close(),
			)
		}
	}
	return []string{".gitattributes"}, project.IOFailure(err)
}

// offerDriver says what is left to do for the merge driver, or, on a terminal and in a git
// repository, that there is one.
func (c call) offerDriver(dir string, asked bool) {
	if asked {
		c.app.term.Note("run once in each clone: %s", driverConfig)
		return
	}
	if !c.app.term.Interactive() || !exists(filepath.Join(dir, ".git")) {
		return
	}
	if _, missing, err := missingAttributes(dir); err == nil && len(missing) > 0 {
		c.app.term.Note(
			"git can merge state.json by task; install that with: tercet init --merge-driver",
		)
	}
}
