package statefile

import (
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
)

// DependenciesOf returns the dependencies of a task, for Cycles.
func DependenciesOf(t *formats.Task) []int {
	return t.Dependencies
}

// ParentOf returns the parent of a task as a list, for Cycles.
func ParentOf(t *formats.Task) []int {
	if t.Parent == nil {
		return nil
	}
	return []int{*t.Parent}
}

// Cycles finds cycles in a graph of tasks. It visits each task once.
type Cycles struct {
	Next func(*formats.Task) []int // the numbers that a task refers to
	Task func(int) *formats.Task   // nil for a number without a task
	path []int                     // from the start to the current task
	seen map[int]int               // by number: position in path, or -1 when finished
}

// From returns a cycle that can be reached from a task, "5 -> 3 -> 5", or an empty string.
func (l *Cycles) From(n int) (loop string) {
	if l.seen == nil {
		l.seen = map[int]int{}
	}
	if at, seen := l.seen[n]; at < 0 {
		return ""
	} else if seen {
		for _, on := range l.path[at:] {
			loop += strconv.Itoa(on) + " -> "
		}
		return loop + strconv.Itoa(n)
	}

	l.seen[n] = len(l.path)
	l.path = append(l.path, n)
	if t := l.Task(n); t != nil {
		for _, to := range l.Next(t) {
			if loop = l.From(to); loop != "" {
				break
			}
		}
	}
	l.path = l.path[:len(l.path)-1]
	l.seen[n] = -1
	if loop != "" {
		delete(l.seen, n)
	}
	return loop
}

// Same reports whether two optional values are equal.
func Same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// SameTask reports whether two tasks are equal in every member that has a type.
func SameTask(a, b *formats.Task) bool {
	return a.Number == b.Number && a.Title == b.Title && a.Slug == b.Slug && a.Status == b.Status &&
		a.Language == b.Language && a.Priority == b.Priority && a.Effort == b.Effort &&
		a.Description == b.Description &&
		slices.Equal(a.Dependencies, b.Dependencies) && Same(a.Parent, b.Parent) &&
		a.Created == b.Created && a.Updated == b.Updated &&
		slices.Equal(a.Artifacts, b.Artifacts) && a.Prior == b.Prior &&
		a.BlockedReason == b.BlockedReason && Same(a.Lease, b.Lease) && a.Session == b.Session &&
		a.Issue == b.Issue
}

// Each iterates over the tasks.
func (d *Doc) Each(yield func(*formats.Task) bool) {
	for i := range d.Tasks {
		if !yield(&d.Tasks[i]) {
			return
		}
	}
}

// JoinNumbers joins numbers with commas.
func JoinNumbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}
