package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state"
)

// stateImport reads tasks out of another file. The file is never changed.
func (a *app) stateImport() *cobra.Command {
	var txn string
	var dry, repair, fresh bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "take over the tasks of another file", Args: words(1, 1),
		Long: `import takes over the tasks of a state.json, of a file with active_projects, or bare tasks. It first reports what is wrong
with the file, class by class: truncated, object_stream, trailing_comma, wrong_document, duplicate_key, duplicate_task,
conflict_markers, syntax, value. With --repair a stream of objects, trailing commas and duplicate keys are mended in what is
read, and of a file that was cut off the whole tasks are taken; the file itself is never changed. Completed projects go into
the archive.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := readInput(a.io.in, args[0])
			if err != nil {
				return &formats.Failure{Code: formats.CodeUsage, Message: args[0], Err: err}
			}
			m := state.ReadImport(args[0], src, repair)
			if dry || m.Err() != nil {
				return a.importReport(m, state.Result{}, dry)
			}
			res, err := a.apply(cmd.Context(), txn, false, state.ImportTasks{From: m, Fresh: fresh})
			if err != nil {
				return err
			}
			if err := a.putAway(cmd.Context(), txn, &res); err != nil {
				return err
			}
			return a.importReport(m, res, false)
		},
	}
	txnFlags(cmd, &txn)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "report; write nothing")
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what can be mended without a guess; leave out references to tasks that are nowhere")
	cmd.Flags().BoolVar(&fresh, "fresh-numbers", false, "give tasks whose number is taken a new one")
	return cmd
}

// putAway moves those into the archive that the file has among its completed projects. It is a transaction of its own: what
// was imported stays if it does not come through, and the same import again goes on here.
func (a *app) putAway(ctx context.Context, txn string, res *state.Result) error {
	list := res.PutAway()
	if len(list) == 0 {
		return nil
	}
	if txn != "" {
		txn += "-archive"
	}
	moved, err := a.apply(ctx, txn, false, state.ArchiveTasks{Tasks: list})
	if err != nil {
		a.term.help("what was imported is there; put it away with: tercet task archive " + strings.Join(numerals(list), " "))
		return err
	}
	res.Serial = moved.Serial
	return nil
}

// importReport says what was found and what came of it.
func (a *app) importReport(m *state.Import, res state.Result, dry bool) error {
	failed := m.Err()
	if a.flags.json {
		a.term.json(map[string]any{
			"schema": "tercet.state-import/1", "file": m.File, "shape": m.Shape, "tasks": len(m.Tasks()), "findings": m.Findings, "ok": failed == nil,
			"dry_run": dry, "serial": res.Serial, "numbers": nonNilInts(res.Numbers), "changed": res.Changed,
		})
	} else {
		counts := map[state.Damage]int{}
		for _, f := range m.Findings {
			counts[f.Class]++
			word := string(f.Class)
			if f.Mended && f.Class != state.DamageNote {
				word += " (mended)"
			}
			a.term.note("%s:%d:%d: %s: %s", m.File, f.Pos.Line, f.Pos.Col, word, f.Message)
			if !f.Mended {
				a.term.help(f.Help)
			}
		}
		for _, class := range sortedClasses(counts) {
			a.term.note("%s: %d", class, counts[class])
		}
		switch {
		case failed != nil:
			a.term.say(sprintf("%s was not imported", m.File))
		case dry:
			a.term.note("%s would be imported from the shape %s", count(len(m.Tasks()), "task"), m.Shape)
		default:
			a.term.answer("%s", strings.Join(numerals(res.Numbers), " "))
			a.term.note("%s imported, serial %d", count(len(res.Numbers), "task"), res.Serial)
		}
	}
	if failed != nil {
		return shown{formats.ExitFor(formats.CodeInvalidState)}
	}
	return nil
}

func sortedClasses(counts map[state.Damage]int) []state.Damage {
	var out []state.Damage
	for class := range counts {
		out = append(out, class)
	}
	slices.Sort(out)
	return out
}

func nonNilInts(list []int) []int {
	if list == nil {
		return []int{}
	}
	return list
}

func numerals(list []int) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = sprintf("%d", n)
	}
	return out
}

// stateExport prints the state in a shape.
func (a *app) stateExport() *cobra.Command {
	var shape string
	cmd := &cobra.Command{
		Use: "export", Short: "print the state in the shape of another system", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			out, err := w.reader.Export(cmd.Context(), shape)
			if err != nil {
				return err
			}
			a.term.raw(out)
			return nil
		},
	}
	cmd.Flags().StringVar(&shape, "shape", state.ShapeTercet, "tercet or active_projects")
	return cmd
}

// stateLayout lays the file out anew.
func (a *app) stateLayout() *cobra.Command {
	var txn string
	cmd := &cobra.Command{
		Use: "layout lines|pretty", Short: "lay state.json out with one task a line, or one member a line", Args: words(1, 1),
		ValidArgs: []string{string(state.LayoutLines), string(state.LayoutPretty)},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(cmd.ValidArgs, args[0]) {
				return usage("expected layout lines or pretty, got %q", args[0])
			}
			return a.write(cmd.Context(), txn, false, state.SetLayout{To: state.Layout(args[0])})
		},
	}
	txnFlags(cmd, &txn)
	return cmd
}

// stateMerge takes one side, or both, of a file with conflict markers: of state.json itself, or of another file, whose
// merge is printed.
func (a *app) stateMerge() *cobra.Command {
	var side [3]bool
	cmd := &cobra.Command{
		Use: "merge --ours|--theirs|--union [FILE]", Short: "take one side, or both, of a state with conflict markers", Args: words(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			how := state.ResolveNone
			for i, r := range []state.Resolution{state.ResolveOurs, state.ResolveTheirs, state.ResolveUnion} {
				if side[i] && how != state.ResolveNone {
					return usage("expected one of --ours, --theirs and --union, got two")
				}
				if side[i] {
					how = r
				}
			}
			if how == state.ResolveNone {
				return usage("expected one of --ours, --theirs and --union, got none")
			}
			if len(args) == 1 {
				src, err := readInput(a.io.in, args[0])
				if err != nil {
					return &formats.Failure{Code: formats.CodeUsage, Message: args[0], Err: err}
				}
				m, err := state.Unmark(args[0], src, how)
				if err != nil {
					return err
				}
				a.term.raw(m.Data)
				return nil
			}
			if err := a.mayCommand(); err != nil {
				return err
			}
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			res, err := w.manager.ResolveMerge(cmd.Context(), how)
			for _, warning := range res.Warnings {
				a.term.note("warning: %s", warning)
			}
			if err != nil {
				return err
			}
			a.term.note("merged, serial %d", res.Serial)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&side[0], "ours", false, "take our side")
	f.BoolVar(&side[1], "theirs", false, "take their side")
	f.BoolVar(&side[2], "union", false, "merge both by task and field; where both changed one field, the later update counts")
	return cmd
}

// stateMergeDriver is what git calls for a file that both branches changed. Like every driver it leaves its result in OURS
// and ends with 1 if a person has to look.
func (a *app) stateMergeDriver() *cobra.Command {
	return &cobra.Command{
		Use: "merge-driver BASE OURS THEIRS [PATH]", Short: "merge two versions for git, by task and field", Args: words(3, 4),
		Long: `merge-driver is called by git with the three versions of state.json, archive/state.json or TODO.md. It merges by task number
and by field, gives new tasks of the other branch whose number is taken a new one, and leaves the result in OURS. Install it with:

  tercet init --merge-driver
  git config merge.tercet.driver 'tercet state merge-driver %O %A %B %P'`,
		RunE: func(_ *cobra.Command, args []string) error {
			var text [3][]byte
			for i := range text {
				data, err := os.ReadFile(args[i])
				if err != nil {
					return &formats.Failure{Code: formats.CodeUsage, Message: args[i], Err: err}
				}
				text[i] = data
			}
			path := formats.Workspace + "/state.json"
			if len(args) == 4 {
				path = filepath.ToSlash(args[3])
			}
			if filepath.Base(path) == "TODO.md" {
				out, ok := state.MergeTodo(text[0], text[1], text[2])
				if !ok {
					a.term.say(path + ": both sides were edited by hand; ours is kept, look at theirs with git")
					return shown{1}
				}
				return driverWrite(args[1], out)
			}
			m, err := state.Merge(state.Sources{Name: path, Base: text[0], Ours: text[1], Theirs: text[2], Keep: strings.Contains(path, "archive/")}, state.ResolveNone)
			if err != nil {
				return err
			}
			for old, now := range m.Renumbered {
				a.term.note("%s: task %d of their side is task %d now", path, old, now)
			}
			if err := driverWrite(args[1], m.Data); err != nil {
				return err
			}
			for _, c := range m.Conflicts {
				a.term.say(path + ": " + c.String())
			}
			if len(m.Conflicts) > 0 {
				a.term.help("take one side, or both: tercet state merge --ours, --theirs or --union")
				return shown{1}
			}
			return nil
		},
	}
}

func driverWrite(name string, data []byte) error {
	full, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(full, data, atomicfile.Options{}); err != nil {
		return &formats.Failure{Code: formats.CodeIO, Message: name, Err: err}
	}
	return nil
}
