package router

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/order"
)

// Source is a tree of command files: a project folder, the library inside the binary, or another
// tool's folder.
type Source struct {
	Name string // for messages and traces, "library"
	FS   fs.FS
	// Dialect is the tool of these files; empty: tercet.
	Dialect string
	// Scope and Tool are words that may precede a name, as in /project:plan, /claude:plan and
	// /user:claude:plan; empty: none.
	Scope, Tool string
	// Prefix, with a dot, precedes a name that an earlier source has, so that both commands can be
	// called; empty: the file is hidden.
	Prefix string
	// Command returns the slash name of a file, false if it is not a command. Nil means tercet's
	// own rule, which also skips folders with an invalid name. With a rule, commands also answer to
	// their last part while that is unique.
	Command func(file string) (name string, ok bool)
	// Depth limits levels of folders, links included; 0: MaxFolders.
	Depth int
}

// Entry is one command of a Table.
type Entry struct {
	Name    string // without the slash, "git:commit" for git/commit.md
	File    string // path inside the source
	Source  string
	Dialect string // empty: tercet's own
}

// Limits of a scan, in case a source is a home folder by mistake: the scan fails or skips the rest.
const (
	MaxFolders = 8      // depth of folders inside a source; deeper ones are skipped
	MaxFiles   = 10_000 // entries of a source of any kind
)

// errTooMany means that a source has more than MaxFiles entries.
var errTooMany = errors.New("expected at most 10000 files and folders, got more")

// Names configures which file a name means.
type Names struct {
	Aliases map[string]string // slash name to slash name
	Prefer  map[string]string // slash name to the scope whose file wins
}

// Table maps slash names to command files.
type Table struct {
	byName  map[string]*target // canonical names, and those with '/' for ':'
	entries []Entry            // sorted by name
	files   []Entry            // in scan order
	hidden  []Hidden           // by the name they would have
	names   []string           // canonical names and aliases, sorted, for suggestions
	scopes  []string           // words that may precede a name
	// ambiguous names, with the names of the commands
	ambiguous map[string][]string
	skipped   []LeftOut
	unmatched []string
}

// target is the command that a name leads to. The fields of Route that do not depend on the line
// are precomputed.
type target struct {
	Entry
	shadows []string
	scope   string // of its source
	tool    string
	short   bool // it also answers to its last part
}

// Scan lists the command files of the sources. The first source with a name keeps it and hides the
// later ones; a source without a root folder is empty. Scan skips hidden files and folders, files
// whose name is no command's, and folders deeper than MaxFolders. A command also answers to its
// name with '/' for ':', and with its source's words in front. Where the source allows it, its last
// part is enough. A word that fits two tools names neither; a scope word in front of a name always
// means the scope, never a folder. A link counts as a file if the source's own Stat says so, and in
// the folders of other tools as a folder. An alias maps one slash name to another, not to an alias,
// and overrides a file of the same name.
func Scan(names Names, sources ...Source) (*Table, error) {
	t := &Table{byName: map[string]*target{}, ambiguous: map[string][]string{}}
	own := map[string][]*target{}
	scoped := map[string][]*target{}
	for _, s := range sources {
		w := walk{
			source: s,
			table:  t,
			own:    own,
			scoped: scoped,
		}
		if err := w.scanFolder(".", 0); err != nil {
			return nil, err
		}
		for _, word := range []string{s.Scope, s.Tool} {
			if word != "" && !slices.Contains(t.scopes, word) {
				t.scopes = append(t.scopes, word)
			}
		}
	}

	t.assignScoped(scoped)
	for name, word := range names.Prefer {
		if name = canonicalName(name); !t.prefer(own, name, word+":"+name) {
			t.unmatched = append(t.unmatched, word+":"+name)
		}
	}

	slices.Sort(t.unmatched)
	all := map[string]*target{}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		t.assignName(all, own[name], name)
	}

	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.names = append(t.names, name)
		t.entries = append(t.entries, all[name].Entry)
		t.addSpelling(name, all[name])
	}

	t.addShortNames(all, "")
	for _, word := range t.scopes {
		t.addShortNames(t.commandsBehind(word), word+":")
	}
	for i, h := range t.hidden {
		t.hidden[i].Call = t.Call(h.Source + "/" + h.File)
	}

	return t, t.addAliases(names.Aliases)
}

// assignScoped assigns the names after the words of scopes and tools. Among the files of one tool
// the first has the name, and tercet's own take precedence over those of others. If two tools have
// one, the tool is part of its name too.
func (t *Table) assignScoped(all map[string][]*target) {
	for name, list := range all {
		first := list[0]
		if first.tool == "" ||
			!slices.ContainsFunc(list, func(o *target) bool {
				return o.tool != first.tool
			}) {
			t.addSpelling(name, first)
		}
	}
	for name, list := range all {
		if t.byName[name] != nil {
			continue
		}
		for _, one := range list {
			candidate := one.tool + ":" + one.Name
			if t.byName[candidate] != one {
				candidate = one.scope + ":" + candidate
			}
			if t.byName[candidate] == one {
				t.ambiguous[name] = append(t.ambiguous[name], candidate)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, one := range all[name] {
			t.nameByFolder(one)
		}
	}
}

// nameByFolder gives a file whose names all lead to others one with the folder in it: a skill and a
// command of one tool may share a name, and are then /claude:skills:NAME and /claude:commands:NAME.
func (t *Table) nameByFolder(one *target) {
	if one.tool == "" {
		return
	}

	words := []string{one.tool, one.scope, one.scope + ":" + one.tool}
	for _, word := range words {
		if t.byName[word+":"+one.Name] == one {
			return
		}
	}

	folder := path.Base(one.Source)
	for _, word := range words {
		name := word + ":" + folder + ":" + one.Name
		if t.byName[name] == nil {
			t.addSpelling(name, one)
			return
		}
	}
}

// prefer moves the file that a scoped name leads to to the front of its plain name.
func (t *Table) prefer(own map[string][]*target, name, scoped string) bool {
	at := slices.Index(own[name], t.byName[scoped])
	if at >= 0 {
		list := slices.Clone(own[name])
		own[name] = slices.Insert(slices.Delete(list, at, at+1), 0, t.byName[scoped])
	}
	return at >= 0
}

// assignName assigns a name to the first of its files, which hides the others. A name that begins
// with the word of a scope is taken if the scoped name leads to another file: the command is then
// called by its scope.
func (t *Table) assignName(all map[string]*target, list []*target, name string) {
	for i, one := range list {
		for _, behind := range list[i+1:] {
			one.shadows = append(one.shadows, behind.Source+"/"+behind.File)
		}
		if i > 0 {
			t.hidden = append(t.hidden, Hidden{
				Entry: one.Entry,
				By:    list[0].Source + "/" + list[0].File,
			})
		}
	}
	if taken := t.byName[name]; taken != nil && taken != list[0] {
		name = list[0].scope + ":" + name
		list[0].Name = name
	}
	all[name] = list[0]
}

// commandsBehind returns the commands that have a name after a word.
func (t *Table) commandsBehind(word string) map[string]*target {
	out := map[string]*target{}
	for name, goal := range t.byName {
		if rest, ok := strings.CutPrefix(name, word+":"); ok && rest == goal.Name {
			out[rest] = goal
		}
	}
	return out
}

// addSpelling lets a target answer to a name, also with '/', unless another target has it.
func (t *Table) addSpelling(name string, goal *target) {
	for _, one := range []string{name, strings.ReplaceAll(name, ":", "/")} {
		t.byName[one] = cmp.Or(t.byName[one], goal)
	}
}

// addShortNames lets commands answer to their last part if only one has it, also within a scope:
// /user:commit is the user's git/commit.md, if that is the only commit there.
func (t *Table) addShortNames(all map[string]*target, scope string) {
	several := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if at := strings.LastIndexByte(name, ':'); at >= 0 && all[name].short {
			several[name[at+1:]] = append(several[name[at+1:]], name)
		}
	}
	for short, names := range several {
		key := scope + short
		switch {
		case t.byName[key] != nil || t.ambiguous[key] != nil:
		case len(names) == 1:
			t.addSpelling(key, all[names[0]])
		default:
			for _, name := range names {
				t.ambiguous[key] = append(t.ambiguous[key], scope+name)
			}
		}
	}
}

// Commands lists the commands by name, without hidden ones and aliases.
func (t *Table) Commands() []Entry {
	return slices.Clone(t.entries)
}

// Files lists every command file of the sources, also hidden ones, with the names they would have.
func (t *Table) Files() []Entry {
	return slices.Clone(t.files)
}

func (t *Table) addAliases(aliases map[string]string) error {
	found := map[string]*target{}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		from := canonicalName(name)
		to := canonicalName(aliases[name])
		if !isName(from) || !isName(to) {
			return formats.Fail(formats.CodeConfig, "write it like p: plan",
				"expected slash names as alias, got %q for %q", name, aliases[name])
		}
		goal, ok := t.byName[to]
		if !ok {
			continue // the name stays unknown, and Route reports it
		}
		one := *goal
		if hidden, ok := t.byName[from]; ok && hidden != goal {
			one.shadows = append(slices.Clip(one.shadows), hidden.Source+"/"+hidden.File)
		}
		found[from] = &one
		t.names = append(t.names, from)
	}

	for name, goal := range found {
		t.byName[name] = goal
		t.byName[strings.ReplaceAll(name, ":", "/")] = goal
	}
	slices.Sort(t.names)
	t.names = slices.Compact(t.names)
	return nil
}

// canonicalName is a slash name without its slash and with ':' between its parts.
func canonicalName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ":")
}

// walk scans one source.
type walk struct {
	source Source
	table  *Table
	own    map[string][]*target // by name, in order of precedence
	scoped map[string][]*target // by preceding words and name
	seen   int
	// folders are those around the one that is read, and that one
	folders []string
}

// scanFolder collects the command files of a folder and of the folders in it.
func (w *walk) scanFolder(dir string, depth int) error {
	list, err := fs.ReadDir(w.source.FS, dir)
	if err != nil {
		if dir == "." && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return w.skipUnreadable(dir, err)
	}

	if w.linksToAncestor(dir) {
		w.skip("", dir, "it is a link back to a folder that holds it")
		return nil
	}
	w.folders = append(w.folders, dir)
	defer func() { w.folders = w.folders[:len(w.folders)-1] }()
	w.seen += len(list)
	if w.seen > MaxFiles {
		w.seen -= len(list)
		return w.skipUnreadable(dir, errTooMany)
	}

	for _, entry := range list {
		inside := path.Join(dir, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || !w.checkUTF8(inside) {
			continue
		}
		switch {
		case entry.IsDir() || entry.Type() == fs.ModeSymlink && w.followsLink(inside, depth):
			if !w.canHaveCommands(entry.Name()) {
				continue
			}
			if depth+1 > cmp.Or(w.source.Depth, MaxFolders) {
				w.recordTooDeep(inside)
				continue
			}
			if err := w.scanFolder(inside, depth+1); err != nil {
				return err
			}
		case entry.Type().IsRegular() ||
			entry.Type() == fs.ModeSymlink && w.linkTarget(inside).IsRegular():
			w.addFile(inside)
		default:
			w.skipNonFile(inside, entry.Type())
		}
	}

	return nil
}

// linkTarget asks the source for the type of a link's target. A source that is bound to its root
// refuses that for links that leave it. Without Stat the file would have to be opened, so the link
// is skipped as irregular.
func (w *walk) linkTarget(inside string) fs.FileMode {
	if own, ok := w.source.FS.(fs.StatFS); ok {
		if info, err := own.Stat(inside); err == nil {
			return info.Mode().Type()
		}
	}
	return fs.ModeIrregular
}

// followsLink reports whether a link is read as the folder that it leads to. Only folders of other
// tools have such links, because these tools follow them.
func (w *walk) followsLink(inside string, depth int) bool {
	return w.source.Command != nil && depth < cmp.Or(w.source.Depth, MaxFolders) &&
		w.linksToFolder(inside)
}

// linksToAncestor reports whether a link leads back to a folder that holds it.
func (w *walk) linksToAncestor(dir string) bool {
	own, ok := w.source.FS.(fs.StatFS)
	if !ok {
		return false
	}
	info, err := own.Stat(dir)
	return err == nil && slices.ContainsFunc(w.folders, func(outer string) bool {
		around, err := own.Stat(outer)
		return err == nil && os.SameFile(info, around)
	})
}

// canHaveCommands reports whether a folder can have commands.
func (w *walk) canHaveCommands(folder string) bool {
	if w.source.Command == nil {
		return isName(folder) && !strings.Contains(folder, ":")
	}
	return folder != "node_modules"
}

// commandName returns the slash name of a file.
func (w *walk) commandName(inside string) (string, bool) {
	if w.source.Command != nil {
		name, ok := w.source.Command(inside)
		return name, ok && name != "" && !strings.ContainsFunc(name, unicode.IsSpace)
	}
	name, ok := strings.CutSuffix(inside, ".md")
	name = strings.ReplaceAll(name, "/", ":")
	return name, ok && isName(name)
}

func (w *walk) addFile(inside string) {
	name, ok := w.commandName(inside)
	if !ok {
		return
	}

	if w.own[name] != nil && w.source.Prefix != "" {
		name = w.source.Prefix + "." + name
	}
	found := &target{
		Entry: Entry{
			Name:    name,
			File:    inside,
			Source:  w.source.Name,
			Dialect: w.source.Dialect,
		},
		scope: w.source.Scope,
		tool:  w.source.Tool,
		short: w.source.Command != nil,
	}

	w.own[name] = append(w.own[name], found)
	w.table.files = append(w.table.files, found.Entry)

	words := []string{found.scope, found.tool}
	if found.scope != "" && found.tool != "" {
		words = append(words, found.scope+":"+found.tool)
	}
	for _, word := range words {
		if word != "" {
			w.scoped[word+":"+name] = append(w.scoped[word+":"+name], found)
		}
	}
}

func isName(name string) bool {
	return nameForm().MatchString(name)
}

// nameForm matches a command's name: parts of at most 32 characters with ':' between them.
var nameForm = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}(?::[a-z][a-z0-9-]{0,31})*$`)

// LeftOut is a file or folder of another tool that a scan could not use, although it may hold
// commands.
type LeftOut struct {
	Name   string // its slash name, without slash; empty: a folder
	File   string // path with the source's name in front
	Reason string
}

// String is the skipped path and the reason.
func (l LeftOut) String() string {
	return l.File + " is left out: " + l.Reason
}

// LeftOut lists what the scan could not use, by path. In tercet's own folders an unreadable file is
// an error instead.
func (t *Table) LeftOut() []LeftOut {
	out := slices.Clone(t.skipped)
	order.Stable(out, func(a, b LeftOut) int {
		return cmp.Compare(a.File, b.File)
	})
	return out
}

// findSkipped finds the skipped file that a name would have meant.
func (t *Table) findSkipped(name string) string {
	for _, l := range t.skipped {
		if l.Name != "" && (l.Name == name || strings.HasSuffix(l.Name, ":"+name)) {
			return l.String()
		}
	}
	return ""
}

func (w *walk) skip(name, inside, reason string) {
	w.table.skipped = append(w.table.skipped, LeftOut{
		Name:   name,
		File:   path.Join(w.source.Name, inside),
		Reason: reason,
	})
}

// skipUnreadable handles an unreadable folder. A folder of another tool only loses its own
// commands.
func (w *walk) skipUnreadable(dir string, err error) error {
	if w.source.Command == nil {
		return &formats.Failure{
			Code:    formats.CodeIO,
			Message: "commands of " + w.source.Name + ": " + dir,
			Err:     err,
		}
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	w.skip("", dir, err.Error())
	return nil
}

// checkUTF8 reports whether a name is UTF-8; other names cannot be opened. It records those of
// other tools.
func (w *walk) checkUTF8(inside string) bool {
	if utf8.ValidString(inside) {
		return true
	}
	if w.source.Command != nil {
		w.skip("", strings.ToValidUTF8(inside, "\ufffd"), "its name is not UTF-8")
	}
	return false
}

// recordTooDeep records a folder that is not scanned, unless the depth is the source's own.
func (w *walk) recordTooDeep(inside string) {
	if w.source.Command != nil && w.source.Depth == 0 {
		w.skip("", inside, "it lies too deep")
	}
}

// skipNonFile records a non-file with the name of another tool's command, and links to folders,
// which are not followed.
func (w *walk) skipNonFile(inside string, kind fs.FileMode) {
	name, ok := w.commandName(inside)
	switch {
	case !ok && w.source.Depth > 0 && strings.Contains(inside, "/"): // belongs to a skill
	case kind == fs.ModeSymlink && w.linksToFolder(inside):
		w.skip("", inside, "links to folders are not followed")
	case kind == fs.ModeSymlink && (ok || path.Ext(inside) == ""):
		// without an extension it may have been a folder
		w.skip(name, inside, "it is a link that leads nowhere, or out of the project")
	case ok:
		w.skip(name, inside, "it is no regular file")
	}
}

func (w *walk) linksToFolder(inside string) bool {
	return w.linkTarget(inside) == fs.ModeDir
}
