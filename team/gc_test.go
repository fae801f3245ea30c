package team_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/project"
)

// TestCleanDropsSnapshots: the snapshots of a run that is removed go from the remote, if that is
// away with the next cleaning. Those of kept runs and of other homes stay.
func TestCleanDropsSnapshots(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	var runs []string
	for _, clone := range []string{"one", "two"} {
		job, err := k.Begin("/make 1", false)
		if err != nil {
			t.Fatal(err)
		}
		ret, err := p.clone(t, clone, overWire(k)).
			TakeRun(t.Context(), job.Run, "t1", project.Options{})
		if err != nil || ret.Status != formats.StatusCompleted {
			t.Fatalf("the run ended with %+v, %v, want completed", ret, err)
		}
		runs = append(runs, job.Run)
	}
	old, kept := runs[0], runs[1]
	remote := filepath.Join(p.dir, "remote.git")
	git(t, remote, "update-ref", "refs/tercet/runs/rother/t1/1", "main")
	write(t, filepath.Join(p.home.Dir, journal.Folder, kept, "a.bundle"), "")
	snapshots := func(run string) string {
		return git(t, remote, "for-each-ref", "--format=%(refname)", "refs/tercet/runs/"+run)
	}
	if snapshots(old) == "" {
		t.Fatal("the run has no snapshots at the remote: this test shows nothing")
	}

	var notes []string
	p.home.Host.Frontend = project.Unattended{
		Tell: func(line string) { notes = append(notes, line) },
	}
	p.home.Config.Retention.Age = time.Nanosecond
	away := remote + ".away"
	if err := os.Rename(remote, away); err != nil {
		t.Fatal(err)
	}
	if _, err := p.home.Clean(t.Context(), false); err != nil {
		t.Fatalf("Clean while the remote is away: %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.home.Dir, journal.Folder, old)); err == nil {
		t.Error("the old run is still there")
	}
	if !strings.Contains(strings.Join(notes, "\n"), "the remote still has snapshots") {
		t.Errorf("Clean told %q, want that the remote is away", notes)
	}
	if err := os.Rename(away, remote); err != nil {
		t.Fatal(err)
	}
	found, err := p.home.Clean(t.Context(), true)
	if err != nil || found.IsEmpty() || !strings.Contains(strings.Join(found.Lines(), "\n"), old) {
		t.Errorf("a dry Clean = %q, %v, want the snapshots of %s", found.Lines(), err, old)
	}
	notes = nil
	if _, err := p.home.Clean(t.Context(), false); err != nil || len(notes) > 0 {
		t.Errorf("Clean with the remote: %v, told %q", err, notes)
	}
	if left := snapshots(old); left != "" {
		t.Errorf("the remote still has %s", left)
	}
	if snapshots(kept) == "" || snapshots("rother") == "" {
		t.Error("snapshots of a kept run or of another home were removed")
	}
	if found, err := p.home.Clean(t.Context(), true); err != nil || !found.IsEmpty() {
		t.Errorf("a further Clean = %q, %v, want nothing to remove", found.Lines(), err)
	}
}
