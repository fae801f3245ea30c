package state

import (
	"fmt"

	"tercet/internal/jsonx"
)

// Carried holds what a manager knows of the state without having read it again against the file, read from its start.
func Carried(m *Manager) error {
	doc := m.cache.Load()
	if doc == nil {
		return nil
	}
	want, err := parseDocument(doc.file, doc.src, nil)
	if err != nil {
		return err
	}
	if doc.Serial != want.Serial || doc.NextNumber != want.NextNumber || doc.Lineage != want.Lineage || doc.sha != want.sha || len(doc.Tasks) != len(want.Tasks) || len(doc.index) != len(want.index) {
		return fmt.Errorf("known %d, %d, %d tasks; read %d, %d, %d tasks", doc.Serial, doc.NextNumber, len(doc.Tasks), want.Serial, want.NextNumber, len(want.Tasks))
	}
	for i := range want.Tasks {
		if !sameTask(&doc.Tasks[i], &want.Tasks[i]) || doc.index[want.Tasks[i].Number] != i {
			return fmt.Errorf("known %+v, read %+v", doc.Tasks[i], want.Tasks[i])
		}
		v, err := doc.read(i)
		if err != nil {
			return err
		}
		if err := sameTree(v, want.values[i]); err != nil {
			return fmt.Errorf("task %d: %w", want.Tasks[i].Number, err)
		}
	}
	known := *doc.tasks
	known.Elems = want.tasks.Elems // compared above
	for i, m := range doc.tree.Members {
		v := m.Value
		if v == doc.tasks {
			v = &known
		}
		if w := want.tree.Members[i]; m.Key != w.Key || m.KeyStart != w.KeyStart {
			return fmt.Errorf("known key %q at %d, read %q at %d", m.Key, m.KeyStart, w.Key, w.KeyStart)
		}
		if err := sameTree(v, want.tree.Members[i].Value); err != nil {
			return err
		}
	}
	if doc.tree.Start != want.tree.Start || doc.tree.End != want.tree.End || len(doc.tree.Members) != len(want.tree.Members) {
		return fmt.Errorf("known %+v, read %+v", doc.tree, want.tree)
	}
	return nil
}

func sameTree(a, b *jsonx.Value) error {
	if a == nil || a.Kind != b.Kind || a.Start != b.Start || a.End != b.End || len(a.Members) != len(b.Members) || len(a.Elems) != len(b.Elems) {
		return fmt.Errorf("known %+v, read %+v", a, b)
	}
	for i := range a.Members {
		if x, y := a.Members[i], b.Members[i]; x.Key != y.Key || x.KeyStart != y.KeyStart {
			return fmt.Errorf("known key %q at %d, read %q at %d", x.Key, x.KeyStart, y.Key, y.KeyStart)
		}
		if err := sameTree(a.Members[i].Value, b.Members[i].Value); err != nil {
			return err
		}
	}
	for i := range a.Elems {
		if err := sameTree(a.Elems[i], b.Elems[i]); err != nil {
			return err
		}
	}
	return nil
}
