package interp

import (
	"slices"

	"tercet/formats"
	"tercet/internal/query"
)

// artifacts are what the workers of the run made.
type artifacts struct {
	all       []formats.Artifact
	unlinked  []formats.Artifact // those that no task has yet
	linked    map[string]bool    // paths of those that a task has
	exprCache any                // the newest as expressions see them; nil where there are others
}

func (a *artifacts) add(one formats.Artifact) {
	a.all = append(a.all, one)
	a.exprCache = nil
}

// hasPath tells whether the run made a file at a path.
func (a *artifacts) hasPath(path string) bool {
	return slices.ContainsFunc(a.all, func(one formats.Artifact) bool { return one.Path == path })
}

// newest are the last of each type and path.
func (a *artifacts) newest() []formats.Artifact {
	return newest(a.all)
}

// exprValue are the newest as expressions see them.
func (a *artifacts) exprValue() any {
	if a.exprCache == nil {
		a.exprCache = query.Prepare(listOf(a.newest()))
	}
	return a.exprCache
}

// queueLink notes an artifact that is to be linked to a task, unless its path is linked already.
func (a *artifacts) queueLink(one formats.Artifact) {
	if !one.Deleted && !a.linked[one.Path] {
		a.unlinked = append(a.unlinked, one)
	}
}

// markLinked notes that a task has the file. What is made later at the same path stays linked.
func (a *artifacts) markLinked(path string) {
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
