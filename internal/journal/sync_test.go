package journal_test

import (
	"os"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
)

// counted counts how often a journal is made durable.
type counted struct {
	journal.Disk
	syncs int
}

func (c *counted) Sync() error {
	c.syncs++
	return c.Disk.Sync()
}

// TestOnlyWhatHasHappenedIsSynced: of a delegation's entries its start, what is reserved for it,
// and its result wait for the disk; decisions ride along.
func TestOnlyWhatHasHappenedIsSynced(t *testing.T) {
	t.Parallel()
	w := journal.New(
		func() (*os.Root, error) { return os.OpenRoot(t.TempDir()) },
		journal.Options{Clock: time.Now, Sync: true},
	)
	if err := w.Append(t.Context(), formats.Entry{Type: formats.EntryRunStarted}); err != nil {
		t.Fatal(err)
	}
	file := new(counted)
	w.Watch(func(d journal.Disk) journal.Disk {
		file.Disk = d
		return file
	})
	for _, kind := range []formats.EntryType{
		formats.EntryLoopEntered, formats.EntryStepScheduled, formats.EntryDelegationStarted,
		formats.EntryBudgetReserved, formats.EntryDelegationResult, formats.EntryStepFinished,
	} {
		if err := w.Append(t.Context(), formats.Entry{Type: kind}); err != nil {
			t.Fatal(err)
		}
	}

	if file.syncs != 3 {
		t.Errorf("synced %d times, want 3", file.syncs)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
