package interp

import (
	"slices"

	"tercet/formats"
	"tercet/internal/query"
)

// artifacts are what the workers of the run made.
type artifacts struct {
	all      []formats.Artifact
	unlinked []formats.Artifact // those that no task has yet
	linked   map[string]bool    // paths of those that a task has
	shown    any                // the newest as expressions see them; nil where there are others
}

func (a *artifacts) add(one formats.Artifact) {
	a.all = append(a.all, one)
	a.shown = nil
}

// made tells whether the run made a file.
func (a *artifacts) made(path string) bool {
	return slices.ContainsFunc(a.all, func(one formats.Artifact) bool { return one.Path == path })
}

// newest are the last of each type and path.
func (a *artifacts) newest() []formats.Artifact {
	return newest(a.all)
}

// prepared are the newest as expressions see them.
func (a *artifacts) prepared() any {
	if a.shown == nil {
		a.shown = query.Prepare(listOf(a.newest()))
	}
	return a.shown
}

// unlink keeps an artifact that is to be linked to a task.
func (a *artifacts) unlink(one formats.Artifact) {
	if !one.Deleted && !a.linked[one.Path] {
		a.unlinked = append(a.unlinked, one)
	}
}

// link notes that a task has the file. What is made later at the same path stays linked.
func (a *artifacts) link(path string) {
	a.linked[path] = true
	a.unlinked = slices.DeleteFunc(a.unlinked, func(one formats.Artifact) bool {
		return one.Path == path
	})
}

// newest keeps the last artifact of each type and path, in order.
func newest(list []formats.Artifact) []formats.Artifact {
	var out []formats.Artifact
	for i, a := range list {
		same := func(b formats.Artifact) bool {
			return b.Type == a.Type && b.Path == a.Path
		}
		if !slices.ContainsFunc(list[i+1:], same) {
			out = append(out, a)
		}
	}
	return out
}
