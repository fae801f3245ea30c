package state //nolint:testpackage // the table of operations is not exported

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/documents"
)

// runTx is a transaction with every operation that a run may ask for.
func runTx() Tx {
	return Tx{
		ID:      "t1",
		Session: "s1",
		Run:     "r1",
		Ops: []Op{
			CreateTasks{Tasks: []NewTask{{Title: "one", Dependencies: []int{2}}}},
			UpdateStatus{
				Tasks:     []int{1},
				To:        formats.Planned,
				Reason:    "why",
				Artifacts: []formats.Artifact{{Type: formats.ArtifactPlan, Path: "a/b.md"}},
				Lease:     &LeaseRequest{Timeout: time.Minute},
			},
			UpdateMetadata{Task: 1, Fields: map[string]any{"title": "x"}},
			LinkArtifacts{Task: 1, Artifacts: []formats.Artifact{{Path: "a/b.md"}}},
			SetPhase{Task: 1, Phase: 2, Status: documents.PhaseCompleted},
			ArchiveTasks{Tasks: []int{1}},
			UnarchiveTasks{Tasks: []int{1}},
			DivideTask{Task: 1, Parts: []NewTask{{Title: "part"}}},
			SetLease{Tasks: []int{1}, Suspended: true, IfHeld: true},
			SyncTasks{},
		},
	}
}

func TestWireKeepsTransactions(t *testing.T) {
	t.Parallel()

	want := runTx()
	data, err := EncodeTx(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeTx(data)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Tx{})); diff != "" {
		t.Errorf("what was sent and what arrived differ:\n%s", diff)
	}

	for name := range wireOps() {
		sent := slices.ContainsFunc(want.Ops, func(op Op) bool { return op.name() == name })
		if !sent {
			t.Errorf("operation %s is not tried here", name)
		}
	}
}

// TestWireRefuses: what only the user may ask for does not travel, and nothing unknown is applied.
func TestWireRefuses(t *testing.T) {
	t.Parallel()

	serial := uint64(1)
	for _, tx := range []Tx{
		{Ops: []Op{SyncTasks{}}},
		{ID: "t", Ops: []Op{SyncTasks{}}, Force: true},
		{ID: "t", Ops: []Op{SyncTasks{}}, ExpectedSerial: &serial},
		{ID: "t", Ops: []Op{Renumber{Task: 1}}},
		{ID: "t", Ops: []Op{ImportTasks{}}},
	} {
		if data, err := EncodeTx(tx); err == nil {
			t.Errorf("%+v was encoded as %s", tx, data)
		}
	}

	for _, text := range []string{
		``, `{}`, `{"id":"t","ops":[]}`,
		`{"id":"t","ops":[{"op":"renumber","value":{}}]}`,
		`{"id":"t","ops":[{"op":"sync_tasks","value":{"all":true}}]}`,
		`{"id":"t","force":true,"ops":[{"op":"sync_tasks","value":{}}]}`,
		`{"id":"t","ops":[{"op":"sync_tasks","value":{}}]} {}`,
	} {
		tx, err := DecodeTx([]byte(text))
		if formats.CodeOf(err) != formats.CodeUsage {
			t.Errorf("DecodeTx(%s) = %+v, %v, want USAGE", text, tx, err)
		}
	}
}

func FuzzDecodeTx(f *testing.F) {
	data, err := EncodeTx(runTx())
	if err != nil {
		f.Fatal(err)
	}

	f.Add(data)
	f.Add([]byte(`{"id":"t","ops":[{"op":"sync_tasks","value":{}}]}`))

	f.Fuzz(func(t *testing.T, data []byte) {
		tx, err := DecodeTx(data)
		if err != nil {
			return
		}

		again, err := EncodeTx(tx)
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", data, err)
		}
		if !json.Valid(again) {
			t.Fatalf("%s is no JSON", again)
		}
	})
}
