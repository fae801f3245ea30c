package subagents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/order"
)

// docKey names a document of a run: the n-th of its type that a step returns. A step that is run
// again within its run has the same key, and so writes the same file.
type docKey struct {
	run  string
	Step string               `json:"step"`
	Type formats.ArtifactType `json:"type"`
	N    int                  `json:"n"`
}

// place puts the documents of a return that did its work into the task's folder and rewrites their
// paths. Documents of a return that failed, and those that have no task to belong to, stay where
// they are.
func (g *delegation) place(a answer) (formats.Return, error) {
	ret := a.ret
	done := ret.Status == formats.StatusCompleted || ret.Status == formats.StatusPartial
	count := map[formats.ArtifactType]int{}

	g.dispatcher.mu.Lock()
	defer g.dispatcher.mu.Unlock()
	for _, doc := range a.docs {
		art := &ret.Artifacts[doc.index]
		folder, err := g.documentFolder(art.Type)
		if err != nil {
			return formats.Return{}, err
		}

		moved := art.Type == formats.ArtifactDocumentation
		if !done || folder == "" && !moved {
			art.Path = g.folder.path + "/" + outName + "/" + art.Path
			continue
		}

		from := art.Path
		data := doc.data
		if g.dispatcher.Mask != nil && !g.info.Builtin {
			if masked := g.dispatcher.Mask.Values(string(data)); masked != string(data) {
				data = []byte(masked)
				ret.Warnings = append(
					ret.Warnings,
					"a secret of the environment stood in "+from+" and was masked",
				)
			}
		}

		if moved {
			art.Path, err = g.placeDocumentation(from, data)
		} else {
			key := docKey{g.req.Run, g.req.Step, art.Type, count[art.Type]}
			count[art.Type]++
			day := g.dispatcher.Clock.Now().UTC().Format("20060102")
			art.Path, err = g.dispatcher.placeDocument(key, folder, data, day)
		}
		if err != nil {
			return formats.Return{}, err
		}
		copied := filepath.FromSlash(from)
		_ = g.folder.out.Remove(copied) //nolint:errcheck // reason: the copy does no harm
	}

	return ret, nil
}

// placeDocumentation puts documentation into the tree that was worked on and returns its path. That
// is under docs/, but at the top if the project has a document of that name there.
func (g *delegation) placeDocumentation(name string, data []byte) (to string, err error) {
	tree, err := os.OpenRoot(g.req.Dir)
	if err != nil {
		return "", onFile("open", g.req.Dir, err)
	}
	defer func() { err = errors.Join(err, tree.Close()) }()

	to = name
	if !strings.Contains(name, "/") {
		to = docsFolder + "/" + name
		_, there := tree.Lstat(filepath.FromSlash(to))
		if _, err := tree.Lstat(name); err == nil && errors.Is(there, fs.ErrNotExist) {
			to = name
		}
	}

	if err := atomicfile.MkdirAll(tree, path.Dir(to), 0o755); err != nil {
		return "", onFile("make", path.Dir(to), err)
	}
	err = atomicfile.WriteIn(tree, to, data, atomicfile.Options{Mode: 0o644, Alone: true})
	if err != nil {
		return "", onFile("place", to, err)
	}
	return to, nil
}

// documentPlaces are the folders in a task's folder where documents belong, and how their names
// begin.
var documentPlaces = map[formats.ArtifactType]struct{ folder, prefix string }{
	formats.ArtifactReport:  {"reports", "research-"},
	formats.ArtifactPlan:    {"plans", "implementation-"},
	formats.ArtifactSummary: {"summaries", "implementation-summary-"},
	formats.ArtifactReview:  {"reviews", "review-"},
}

// documentFolder is the folder in which a document of this delegation belongs, empty if it stays in
// the run's folder.
func (g *delegation) documentFolder(kind formats.ArtifactType) (string, error) {
	task := g.req.Task
	sub := documentPlaces[kind].folder
	switch {
	case task == nil && kind == formats.ArtifactReview:
		return formats.Workspace + "/reviews", nil
	case task == nil || sub == "":
		return "", nil
	}

	slug := cmp.Or(task.Slug, "task")
	if task.Number <= 0 || !isPlainName(slug) {
		return "", notAName("slug", slug)
	}
	folder, err := g.dispatcher.taskFolder(task.Number, slug)
	return folder + "/" + sub, err
}

// taskFolder is the folder of a task's documents: the one that has its number, whatever follows it.
func (d *Dispatcher) taskFolder(number int, slug string) (string, error) {
	specs := cmp.Or(d.Specs, formats.Specs)
	name := formats.TaskFolder(number, slug)
	entries, err := fs.ReadDir(atomicfile.FS(d.Root), specs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", onFile("read", specs, err)
	}

	is := func(e fs.DirEntry) bool {
		return e.IsDir() && formats.TaskOfFolder(e.Name()) == number
	}
	exact := func(e fs.DirEntry) bool { return is(e) && e.Name() == name }
	if i := slices.IndexFunc(entries, is); i >= 0 && !slices.ContainsFunc(entries, exact) {
		name = entries[i].Name()
	}
	return specs + "/" + name, nil
}

// placeDocument writes a document to its place and returns the path. The place is recorded first,
// so that a run that was killed in between writes there again and leaves no second document. The
// caller holds d.mu.
func (d *Dispatcher) placeDocument(
	key docKey, folder string, data []byte, day string,
) (string, error) {
	if err := d.loadRecord(key.run); err != nil {
		return "", err
	}
	now := Document{docKey: key, Sum: formats.Sum(data)}
	if old, ok := d.placed[key]; ok && path.Dir(old.Path) == folder && d.ownsPlace(old) {
		now.Path = old.Path
		if err := atomicfile.WriteIn(d.Root, now.Path, data, atomicfile.Options{}); err != nil {
			return "", onFile("place", now.Path, err)
		}
		return now.Path, d.record(now)
	}

	if err := atomicfile.MkdirAll(d.Root, folder, 0o755); err != nil {
		return "", onFile("make", folder, err)
	}
	name, err := d.namer(key.Type, folder, day)
	if err != nil {
		return "", err
	}

	for n := 0; ; n++ {
		now.Path = folder + "/" + name(n)
		now.Begun = true
		if err := d.record(now); err != nil {
			return "", err
		}
		err := atomicfile.Create(d.Root, now.Path, data, 0o644)
		if err == nil {
			now.Begun = false
			return now.Path, d.record(now)
		}
		if !errors.Is(err, fs.ErrExist) || n > 10_000 {
			return "", onFile("place", now.Path, err)
		}
	}
}

// ownsPlace removes what a killed process left of the writing of a document, and tells whether its
// place is the run's. A place that was only begun may have another owner by now.
func (d *Dispatcher) ownsPlace(doc Document) bool {
	err := atomicfile.Sweep(d.Root, path.Dir(doc.Path), path.Base(doc.Path))
	if !doc.Begun || err != nil {
		return err == nil
	}
	data, err := atomicfile.ReadFile(d.Root, doc.Path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && formats.Sum(data) == doc.Sum
}

// namer gives the n-th name to try: the first is the one after all that are there. The first
// summary of a day has no number.
func (d *Dispatcher) namer(
	kind formats.ArtifactType,
	folder, day string,
) (func(n int) string, error) {
	prefix := documentPlaces[kind].prefix
	summary := kind == formats.ArtifactSummary
	if summary {
		prefix += day
	}
	entries, err := fs.ReadDir(atomicfile.FS(d.Root), folder)
	if err != nil {
		return nil, onFile("read", folder, err)
	}

	highest := 0
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		switch {
		case summary && rest == ".md":
			rest = "1"
		case !summary && !ok: // other systems write the number first: 01_what-was-found.md
			rest, _, ok = strings.Cut(rest, "_")
		}
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(rest, ".md"), "-"))
		if ok && err == nil {
			highest = max(highest, n)
		}
	}

	return func(n int) string {
		n += highest + 1
		switch {
		case !summary:
			return fmt.Sprintf("%s%03d.md", prefix, n)
		case n == 1:
			return prefix + ".md"
		}
		return fmt.Sprintf("%s-%d.md", prefix, n)
	}, nil
}

// Document is the record of one document that a run placed.
type Document struct {
	docKey

	Path string `json:"path"`
	Sum  string `json:"sha256,omitempty"` // of its bytes when placed
	// Begun means that the document may not exist yet.
	Begun bool `json:"begun,omitempty"`
}

// Documents lists the documents that a run placed.
func Documents(root *os.Root, run string) ([]Document, error) {
	data, err := atomicfile.ReadFile(root, recordFile(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, onFile("read", recordFile(run), err)
	}
	var list []Document
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, onFile("read", recordFile(run), err)
	}
	return slices.DeleteFunc(list, func(l Document) bool { return PathProblem(l.Path) != "" }), nil
}

func recordFile(run string) string {
	return runFolder(run) + "/documents.json"
}

// loadRecord reads the record of a run that another process began. The caller holds d.mu.
func (d *Dispatcher) loadRecord(run string) error {
	if d.known[run] {
		return nil
	}
	if d.known == nil {
		d.known = map[string]bool{}
		d.placed = map[docKey]Document{}
	}
	list, err := Documents(d.Root, run)
	if err != nil {
		return err
	}
	for _, l := range list {
		l.run = run
		d.placed[l.docKey] = l
	}
	d.known[run] = true
	return nil
}

// record writes where a document of a run stands, so that a run that is resumed overwrites its own
// files and no others. The caller holds d.mu.
func (d *Dispatcher) record(doc Document) error {
	d.placed[doc.docKey] = doc
	return d.writeRecord(doc.run)
}

// writeRecord writes the record of a run.
func (d *Dispatcher) writeRecord(run string) error {
	list := []Document{}
	for key, doc := range d.placed {
		if key.run == run {
			list = append(list, doc)
		}
	}
	order.Stable(list, func(a, b Document) int {
		return strings.Compare(a.Path, b.Path)
	})

	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return onFile("keep", recordFile(run), err)
	}

	err = atomicfile.WriteIn(d.Root, recordFile(run), append(data, '\n'),
		atomicfile.Options{Mode: 0o600})
	if err != nil {
		return onFile("keep", recordFile(run), err)
	}
	return nil
}

// Discard moves documents of a failed run from the task's folder into the run's folder, those of an
// earlier process of the run included. It leaves artifacts alone that tercet did not place.
func (d *Dispatcher) Discard(ctx context.Context, run string, list []formats.Artifact) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.loadRecord(run); err != nil {
		return err
	}

	runs := map[string]bool{}
	var all error
	for key, doc := range d.placed {
		at := doc.Path
		if !slices.ContainsFunc(list, func(a formats.Artifact) bool { return a.Path == at }) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(all, err)
		}
		if err := d.discardDocument(doc); err != nil {
			all = errors.Join(all, err)
			continue
		}
		delete(d.placed, key)
		runs[key.run] = true
	}

	for _, run := range slices.Sorted(maps.Keys(runs)) {
		all = errors.Join(all, d.writeRecord(run))
	}
	return all
}

// discardDocument moves a document into the folder of its run, and notes where it was.
func (d *Dispatcher) discardDocument(doc Document) error {
	folder := runFolder(doc.run) + "/discarded"
	if err := atomicfile.MkdirAll(d.Root, folder, 0o700); err != nil {
		return onFile("make", folder, err)
	}

	list, err := readDiscarded(d.Root, doc.run)
	if err != nil {
		return err
	}

	to := folder + "/" + path.Base(doc.Path)
	for n := 2; ; n++ {
		if _, err := d.Root.Lstat(to); err != nil {
			break
		}
		to = fmt.Sprintf("%s/%d-%s", folder, n, path.Base(doc.Path))
	}

	list = append(list, discardedDocument{doc, to})
	if err := writeDiscarded(d.Root, doc.run, list); err != nil {
		return err
	}
	if err := atomicfile.Move(d.Root, doc.Path, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return onFile("place", to, err)
	}
	return nil
}

// discardedDocument is a document that was moved into the folder of its run.
type discardedDocument struct {
	Document

	File string `json:"file"`
}

// discardedFile lists what lies in the folder beside it.
func discardedFile(run string) string {
	return runFolder(run) + "/discarded.json"
}

func readDiscarded(root *os.Root, run string) (list []discardedDocument, err error) {
	data, err := atomicfile.ReadFile(root, discardedFile(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, onFile("read", discardedFile(run), err)
	}
	return list, nil
}

func writeDiscarded(root *os.Root, run string, list []discardedDocument) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		options := atomicfile.Options{Mode: 0o600}
		err = atomicfile.WriteIn(root, discardedFile(run), append(data, '\n'), options)
	}
	if err != nil {
		return onFile("keep", discardedFile(run), err)
	}
	return nil
}

// CheckRestorable fails if a document of the paths that Discard moved away cannot go back to its
// place.
func CheckRestorable(root *os.Root, run string, paths []string) error {
	list, err := readDiscarded(root, run)
	for _, one := range list {
		if !slices.Contains(paths, one.Path) {
			continue
		}
		_, gone := root.Lstat(one.File)
		if _, missing := root.Lstat(one.Path); gone == nil && missing == nil {
			return formats.Fail(formats.CodeInvalidState,
				"move it elsewhere, or go back to the step that writes it",
				"%s was made anew since the run failed", one.Path)
		}
	}
	return err
}

// Restore moves the documents of the paths back to where they were before Discard.
func (d *Dispatcher) Restore(run string, paths []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := CheckRestorable(d.Root, run, paths); err != nil {
		return err
	}

	if err := d.loadRecord(run); err != nil {
		return err
	}
	list, err := readDiscarded(d.Root, run)
	if err != nil || len(list) == 0 {
		return err
	}

	var left []discardedDocument
	for _, one := range list {
		if !slices.Contains(paths, one.Path) {
			left = append(left, one)
			continue
		}
		if err := atomicfile.MkdirAll(d.Root, path.Dir(one.Path), 0o755); err != nil {
			return onFile("make", path.Dir(one.Path), err)
		}
		err := atomicfile.Move(d.Root, one.File, one.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return onFile("place", one.Path, err)
		}
		doc := one.Document
		doc.run = run
		if err := d.record(doc); err != nil {
			return err
		}
	}

	return writeDiscarded(d.Root, run, left)
}
