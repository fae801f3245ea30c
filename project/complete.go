package project

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/completion"
	"tercet/formats"
	"tercet/internal/order"
	"tercet/internal/plain"
)

// What may stand at a place in a line.
type (
	// Offers are the completions for one place in a line.
	Offers = completion.Offer
	// OfferedItem is one completion.
	OfferedItem = completion.Item
)

// Completer says what may stand in a line: commands, their arguments and the values of these. What
// it has read is kept until it gets another session. It belongs to one goroutine.
type Completer struct {
	// Verbs are those of the program, which a line may begin with instead of a command.
	Verbs []OfferedItem
	// Verb gives what may follow the words of a verb: the verbs behind it, or the kind of names. It
	// may be nil.
	Verb func(words []string) (items []OfferedItem, kind string)
	// Recent gives the lines that were entered, the newest last: their commands come first. It may
	// be nil.
	Recent func() []string

	session *Session
	names   map[completion.Kind][]OfferedItem
	tasks   []formats.Task
}

// Use makes the completer read from a session; nil: there are only the verbs.
func (c *Completer) Use(s *Session) {
	if c.session != s || c.names == nil {
		c.session = s
		c.names = map[completion.Kind][]OfferedItem{}
		c.tasks = nil
	}
}

// At gives what may stand at a byte of a line.
func (c *Completer) At(ctx context.Context, line string, at int) Offers {
	sources := c.sources(ctx)
	return sources.At(line, at)
}

// Words gives what may stand at the end of a line for a shell, which quotes values itself: words
// that begin as typed does, which head stands before.
func (c *Completer) Words(ctx context.Context, head, typed string) []OfferedItem {
	sources := c.sources(ctx)
	sources.Raw = true
	return wholeWords(sources.At(head+typed, len(head)+len(typed)), head, typed)
}

// Names gives the names of a kind that begin as typed does: commands, verbs, subagents, runs,
// files, statuses or tasks. Names of commands stand without the slash unless it was typed.
func (c *Completer) Names(ctx context.Context, kind, typed string) []OfferedItem {
	const head = "/verb "
	sources := c.sources(ctx)
	sources.Raw = true

	word := argspec.Spec{Name: "word", Type: argspec.String, Complete: kind}
	sources.Command = func(string) ([]argspec.Spec, []formats.TaskStatus, bool) {
		return []argspec.Spec{word}, nil, true
	}

	got := sources.At(head+typed, len(head)+len(typed))
	if !strings.HasPrefix(typed, "/") {
		for i, one := range got.Items {
			got.Items[i].Value = strings.TrimPrefix(one.Value, "/")
		}
	}
	return wholeWords(got, head, typed)
}

// wholeWords gives the items of an offer as whole words, those that begin as typed does.
func wholeWords(got Offers, head, typed string) []OfferedItem {
	begin := (head + typed)[len(head):max(len(head), got.From)]
	var out []OfferedItem
	for _, one := range got.Items {
		one.Value = begin + one.Value
		if strings.HasPrefix(one.Value, typed) {
			out = append(out, one)
		}
	}
	return out
}

// sources is what there is in the project.
func (c *Completer) sources(ctx context.Context) completion.Sources {
	if c.names == nil {
		c.Use(nil)
	}
	return completion.Sources{
		Names: func(kind completion.Kind) []OfferedItem {
			if _, ok := c.names[kind]; !ok {
				c.names[kind] = slices.DeleteFunc(c.list(ctx, kind), func(i OfferedItem) bool {
					return i.Value != plain.Line(i.Value) // it could not be typed
				})
			}
			return c.names[kind]
		},
		Command: func(name string) ([]argspec.Spec, []formats.TaskStatus, bool) {
			if c.session == nil {
				return nil, nil, false
			}
			r, err := c.session.Project.Table.Route(Line{Raw: "/" + name})
			if err != nil {
				return nil, nil, false
			}
			prog, _, err := c.session.Library.Load(r.Source, r.File)
			if err != nil {
				return nil, nil, false
			}
			return prog.Args, prog.Allow, true
		},
		Hint: c.argumentHint,
		Verb: func(words []string) ([]OfferedItem, completion.Kind) {
			if c.Verb == nil {
				return nil, ""
			}
			items, kind := c.Verb(words)
			return items, completion.Kind(kind)
		},
		Tasks: func() []formats.Task {
			if c.tasks == nil && c.session != nil && c.session.Project.HasWorkspace {
				//nolint:errcheck // without tasks there is less to offer
				c.tasks, _ = c.session.Project.Tasks(ctx, TaskFilter{})
			}
			return c.tasks
		},
	}
}

// argumentHint gives what a file of another tool says about the arguments of its command.
func (c *Completer) argumentHint(name string) string {
	if c.session == nil {
		return ""
	}
	r, err := c.session.Project.Table.Route(Line{Raw: "/" + name})
	if err != nil {
		return ""
	}

	_, foreign, err := c.session.Library.Load(r.Source, r.File)
	if err != nil || foreign == nil {
		return ""
	}
	return plain.Line(foreign.Hint)
}

// list gives the names of a kind. What cannot be read has none.
func (c *Completer) list(ctx context.Context, kind completion.Kind) []OfferedItem {
	switch {
	case kind == completion.Verbs:
		return c.Verbs
	case kind == completion.Statuses:
		return plainItems(formats.TaskStatuses())
	case c.session == nil:
	case kind == completion.Commands:
		return c.commands()
	case kind == completion.Subagents:
		return plainItems(c.session.Set.Names())
	case kind == completion.Runs && c.session.Project.HasWorkspace:
		var out []OfferedItem
		//nolint:errcheck // runs that cannot be read are not offered
		list, _ := c.session.Project.Runs(Filter{})
		for _, r := range list {
			out = append(out, OfferedItem{Value: r.ID, About: r.Line + " (" + r.Status + ")"})
		}
		return out
	case kind == completion.Files:
		return plainItems(c.session.Project.files(ctx))
	}
	return nil
}

// plainItems makes items of names, without a description.
func plainItems[T ~string](names []T) []OfferedItem {
	out := make([]OfferedItem, len(names))
	for i, name := range names {
		out[i].Value = string(name)
	}
	return out
}

// commands are those that there are and the aliases, what was used last before the others.
func (c *Completer) commands() []OfferedItem {
	var out []OfferedItem
	for _, one := range c.session.Commands() {
		out = append(out, OfferedItem{Value: "/" + one.Name, About: one.Description})
	}

	aliases := c.session.Project.Config.Aliases
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		goal := "/" + strings.TrimPrefix(aliases[name], "/")
		out = append(out, OfferedItem{Value: "/" + strings.TrimPrefix(name, "/"), About: goal})
	}

	if c.Recent == nil {
		return out
	}

	last := map[string]int{}
	for i, line := range c.Recent() {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		last[name] = i + 1
	}
	order.Stable(out, func(a, b OfferedItem) int {
		return last[b.Value] - last[a.Value]
	})
	return out
}

// mostFiles is how many files are looked at where git does not list them.
const mostFiles = 5000

// files are those of the project that git does not ignore, relative to the current folder: reports
// of tasks first, then their other documents, and last what else belongs to tercet.
func (p *Project) files(ctx context.Context) []string {
	list := p.listFiles(ctx)
	const specs = formats.Workspace + "/specs/"
	rank := func(name string) int {
		switch {
		case strings.HasPrefix(name, specs) && strings.Contains(name, "/reports/"):
			return 0
		case strings.HasPrefix(name, specs):
			return 1
		case !strings.HasPrefix(name, formats.Workspace+"/"):
			return 2
		}
		return 3
	}
	slices.SortStableFunc(list, func(a, b string) int { return rank(a) - rank(b) })
	return list
}

// hiddenFolder tells whether a folder is none that a user names, such as .cache.
func hiddenFolder(name string) bool {
	return strings.HasPrefix(path.Base(name), ".") && name != "." && name != formats.Workspace
}

// listFiles lists the files in the order of their names.
func (p *Project) listFiles(ctx context.Context) []string {
	if list, err := p.Git(p.Dir).VisibleFiles(ctx); err == nil {
		return list
	}

	var out []string
	walk := func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(out) >= mostFiles:
			return fs.SkipAll
		case d.IsDir() && (hiddenFolder(name) || name == formats.Workspace+"/runs"):
			return fs.SkipDir
		case !d.IsDir():
			out = append(out, filepath.ToSlash(name))
		}
		return nil
	}
	_ = fs.WalkDir(p.Root.FS(), ".", walk) //nolint:errcheck // what cannot be read has no files
	return out
}
