package main

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/commands/completion"
	"tercet/formats"
	"tercet/internal/editor"
	"tercet/internal/history"
	"tercet/internal/journal"
	"tercet/internal/plain"
	"tercet/project"
	"tercet/router"
)

// offers says what may stand in a line, for the prompt and for shells. What it has read is kept for
// one world.
type offers struct {
	app *app

	kept  *history.History // for what was used last; nil: it does not count
	of    *project.Session
	names map[completion.Kind][]completion.Item
	tasks []formats.Task
}

// at is what may stand at a byte of a line of the prompt.
func (o *offers) at(line string, at int) editor.Offer {
	got := o.sources(context.Background()).At(line, at)
	out := editor.Offer{From: got.From, To: got.To}
	for _, i := range got.Items {
		out.Items = append(out.Items, editor.Item{
			Value: i.Value,
			About: plain.Line(i.About),
			Open:  i.Open,
		})
	}
	for _, p := range got.Hint {
		out.Hint = append(out.Hint, editor.Word{Text: plain.Line(p.Text), Bold: p.Current})
	}
	return out
}

// sources is what there is in the world as it stands. Without one there are only the verbs.
func (o *offers) sources(ctx context.Context) completion.Sources {
	if o.of != o.app.session || o.names == nil {
		o.of = o.app.session
		o.names = map[completion.Kind][]completion.Item{}
		o.tasks = nil
	}
	return completion.Sources{
		Names: func(kind completion.Kind) []completion.Item {
			if _, ok := o.names[kind]; !ok {
				o.names[kind] = slices.DeleteFunc(o.list(ctx, kind), func(i completion.Item) bool {
					return i.Value != plain.Line(i.Value) // it could not be typed
				})
			}
			return o.names[kind]
		},
		Command: func(name string) ([]argspec.Spec, []formats.TaskStatus, bool) {
			if o.of == nil {
				return nil, nil, false
			}
			r, err := o.of.Project.Table.Route(router.Line{Raw: "/" + name})
			if err != nil {
				return nil, nil, false
			}
			prog, _, err := o.of.Library.Load(r.Source, r.File)
			if err != nil {
				return nil, nil, false
			}
			return prog.Args, prog.Allow, true
		},
		Tasks: func() []formats.Task {
			if o.tasks == nil && o.of != nil && o.of.Project.Reader != nil {
				o.tasks, _ = o.of.Project.Reader.Tasks(ctx) //nolint:errcheck // without one there is less to offer
			}
			return o.tasks
		},
	}
}

// list gives the names of a kind. What cannot be read has none.
func (o *offers) list(ctx context.Context, kind completion.Kind) []completion.Item {
	var out []completion.Item
	w := o.of
	switch {
	case kind == completion.Verbs:
		for _, v := range verbs() {
			if v.now == "" && v.name()[0] != '_' {
				out = append(out, completion.Item{Value: v.name(), About: v.short})
			}
		}
	case kind == completion.Statuses:
		return items(formats.TaskStatuses())
	case w == nil:
	case kind == completion.Commands:
		return o.commands()
	case kind == completion.Subagents:
		return items(w.Set.Names())
	case kind == completion.Runs && w.Project.HasWorkspace:
		list, _ := journal.Runs(w.Project.Root, false) //nolint:errcheck // runs that cannot be read are not offered
		for _, r := range list {
			out = append(out, completion.Item{Value: r.ID, About: r.Line + " (" + r.Status + ")"})
		}
	case kind == completion.Files:
		return items(o.files(ctx))
	}
	return out
}

// items are names that nothing is said about.
func items[T ~string](names []T) []completion.Item {
	out := make([]completion.Item, len(names))
	for i, name := range names {
		out[i].Value = string(name)
	}
	return out
}

// commands are those that there are and the aliases, what was used last before the others.
func (o *offers) commands() []completion.Item {
	var out []completion.Item
	for _, c := range o.of.Catalog.List() {
		out = append(out, completion.Item{Value: "/" + c.Name, About: c.Description})
	}
	for _, name := range slices.Sorted(maps.Keys(o.of.Project.Config.Aliases)) {
		goal := "/" + strings.TrimPrefix(o.of.Project.Config.Aliases[name], "/")
		out = append(out, completion.Item{Value: "/" + strings.TrimPrefix(name, "/"), About: goal})
	}
	if o.kept == nil {
		return out
	}
	last := map[string]int{}
	for i, line := range o.kept.Lines() {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		last[name] = i + 1
	}
	slices.SortStableFunc(out, func(a, b completion.Item) int {
		return last[b.Value] - last[a.Value]
	})
	return out
}

// mostFiles is how many files are looked at where git does not list them.
const mostFiles = 5000

// files are those of the project that git does not ignore, relative to the current folder.
func (o *offers) files(ctx context.Context) []string {
	if list, err := o.of.Project.Git(o.of.Project.Dir).Visible(ctx); err == nil {
		return list
	}
	var out []string
	walk := func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(out) >= mostFiles:
			return fs.SkipAll
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir():
			out = append(out, filepath.ToSlash(name))
		}
		return nil
	}
	_ = fs.WalkDir(o.of.Project.Root.FS(), ".", walk) //nolint:errcheck // what cannot be read has no files
	return out
}

// completeLine completes the words of a shell: a slash command, its arguments and their values.
func (o *offers) completeLine(
	cmd *cobra.Command,
	args []string,
	typed string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.HasPrefix(typed, "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp // the library offers the verbs
	}
	head := ""
	if len(args) > 0 {
		head = argspec.Join(args) + " "
	}
	return o.offered(cmd.Context(), head, typed)
}

// offered gives a shell the items at the end of a line: of a command, or of a verb's word.
func (o *offers) offered(
	ctx context.Context, head, typed string, word ...argspec.Spec,
) ([]string, cobra.ShellCompDirective) {
	o.quietly(ctx)
	s := o.sources(ctx)
	verb := len(word) > 0
	s.Raw = true
	if verb {
		s.Command = func(string) ([]argspec.Spec, []formats.TaskStatus, bool) {
			return word, nil, true
		}
	}
	got := s.At(head+typed, len(head)+len(typed))
	begin := (head + typed)[len(head):max(len(head), got.From)]
	var out []string
	for _, i := range got.Items {
		value := begin + i.Value
		if verb && !strings.HasPrefix(typed, "/") {
			value = strings.TrimPrefix(value, "/")
		}
		if strings.HasPrefix(value, typed) {
			out = append(out, value+"\t"+plain.Line(i.About))
		}
	}
	if len(got.Items) == 0 && !verb {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// kinds are the kinds of names behind the words of a verb's usage.
var kinds = map[string]completion.Kind{
	"RUN":      completion.Runs,
	"TASK":     completion.TaskKind,
	"TASKS":    completion.TaskKind,
	"SUBAGENT": completion.Subagents,
	"NAME":     completion.Commands,
	"STATUS":   completion.Statuses,
}

// completeVerb completes what follows a verb, by the words of its usage.
func (o *offers) completeVerb(use string) cobra.CompletionFunc {
	words := strings.Fields(strings.NewReplacer("[", " ", "]", " ", "|", " ").Replace(use))[1:]
	return func(
		cmd *cobra.Command,
		args []string,
		typed string,
	) ([]string, cobra.ShellCompDirective) {
		if slices.Contains(words, "LINE") && (len(args) > 0 || strings.HasPrefix(typed, "/")) {
			return o.completeLine(cmd, args, typed)
		}
		if len(args) >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind, ok := kinds[words[len(args)]]
		if !ok {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return o.offered(cmd.Context(), "/verb ", typed,
			argspec.Spec{
				Name:     "word",
				Type:     argspec.String,
				Complete: string(kind),
			})
	}
}

// quietly builds the world without telling what is wrong with it: what runs a line tells that.
func (o *offers) quietly(ctx context.Context) {
	a := o.app
	told := maps.Clone(a.told)
	flags := a.flags
	quiet := a.term.quiet
	a.told[toldBroken] = true
	a.flags.quiet = true
	a.term.quiet = true
	_, _ = a.openSession(ctx) //nolint:errcheck // without one there is less to offer
	a.told = told
	a.flags = flags
	a.term.quiet = quiet
}
