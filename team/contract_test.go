package team_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/project"
	"tercet/state"
	"tercet/team"
)

// lines makes the lines of a journal with the key of a run.
func lines(t *testing.T, key []byte, entries ...formats.Entry) [][]byte {
	t.Helper()
	dir := t.TempDir()
	var out [][]byte
	w := journal.New(func() (*os.Root, error) { return os.OpenRoot(dir) },
		journal.Options{Clock: clock{}.Now, Key: key})
	for _, e := range entries {
		if err := w.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, journal.Name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		out = append(out, line)
	}
	return out
}

func code(t *testing.T, what string, err error, want formats.Code) {
	t.Helper()
	if got := formats.CodeOf(err); err == nil || got != want {
		t.Errorf("%s: %v (%s), want %s", what, err, got, want)
	}
}

// TestHomeRefuses: nothing of an attempt counts once another one has taken the run, and nothing
// that a worker has forged.
func TestHomeRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	_, err := k.Begin("make 1", false)
	code(t, "a line without a slash", err, formats.CodeUsage)
	_, err = k.Begin("/make 1\n/make 2", false)
	code(t, "two lines", err, formats.CodeUsage)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, err = newKeeper(p)
	code(t, "a second home", err, formats.CodeLocked)
	for _, run := range []string{"", "..", "../x", "a/b", "nobody"} {
		_, err := k.History(ctx, run, "t1")
		code(t, "run "+run, err, formats.CodeNotFound)
	}
	_, err = k.History(ctx, job.Run, "")
	code(t, "no attempt", err, formats.CodeUsage)

	h, err := k.History(ctx, job.Run, "t1")
	if err != nil {
		t.Fatal(err)
	}
	all := lines(t, h.Key,
		formats.Entry{Type: formats.EntryRunStarted, Data: formats.Started{}},
		formats.Entry{Type: formats.EntryStepScheduled, Step: "a#1"},
		formats.Entry{
			Type: formats.EntryGateDecided,
			Step: "g#1",
			Key:  "gate",
			Data: map[string]any{"choice": "yes", "by": "somebody", "person": true},
		},
	)
	share := func(taker string, text ...[]byte) error {
		return k.Append(ctx, formats.SharedLines{
			Run: job.Run, Taker: taker, Lines: bytes.Join(text, nil),
		})
	}
	foreign := lines(t, []byte("another key"), formats.Entry{Type: formats.EntryRunStarted})
	code(t, "another key", share("t1", foreign[0]), formats.CodeDenied)
	code(t, "a line too early", share("t1", all[1]), formats.CodeInvalidState)
	code(t, "a torn line", share("t1", all[0][:20]), formats.CodeInvalidState)
	code(t, "no line", share("t1"), formats.CodeUsage)
	if err := share("t1", all[0]); err != nil {
		t.Fatal(err)
	}
	if err := share("t1", all[0]); err != nil {
		t.Errorf("a line again whose answer was lost: %v", err)
	}

	if _, err := k.History(ctx, job.Run, "t2"); err != nil {
		t.Fatal(err)
	}
	code(t, "a late attempt", share("t1", all[1]), formats.CodeNotDurable)
	_, err = k.Do(
		ctx, formats.HomeRequest{Run: job.Run, Taker: "t1", Do: formats.HomeReserve, Txn: "x"},
	)
	code(t, "a late reservation", err, formats.CodeNotDurable)
	if err := share("t2", all[1]); err != nil {
		t.Fatal(err)
	}
	code(t, "a forged answer", share("t2", all[2]), formats.CodeDenied)

	for _, name := range []string{
		"../x", "/etc/passwd", ".tercet/config.yaml", ".tercet/state.json", ".git/hooks/pre-commit",
		".tercet/specs/../config.yaml", ".tercet/archive/state.json", "maker.sh",
	} {
		err := k.Append(ctx, formats.SharedLines{
			Run: job.Run, Taker: "t2", Lines: all[2], Files: map[string][]byte{name: nil},
		})
		if err == nil {
			t.Errorf("a worker wrote %s", name)
		}
	}
	_, err = k.Do(ctx, formats.HomeRequest{Run: job.Run, Taker: "t2", Do: "sudo"})
	code(t, "an unknown effect", err, formats.CodeUsage)
	if done, err := k.Finished(job.Run); err != nil || done {
		t.Errorf("Finished = %v, %v", done, err)
	}
}

// TestHomeAfterARestart: a torn line that nobody was told of is cut off, and the attempt goes on.
func TestHomeAfterARestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 2)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	h, err := k.History(t.Context(), job.Run, "t1")
	if err != nil {
		t.Fatal(err)
	}
	all := lines(t, h.Key, formats.Entry{Type: formats.EntryRunStarted},
		formats.Entry{Type: formats.EntryStepScheduled, Step: "a#1"})
	trees := []formats.TreeSnapshot{{Name: job.Run, Commit: "c1"}}
	l := formats.SharedLines{Run: job.Run, Taker: "t1", Lines: all[0], Trees: &trees}
	if err := k.Append(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	reserve := func(k *team.Keeper, taker, txn string) error {
		_, err := k.Do(t.Context(), formats.HomeRequest{
			Run: job.Run, Taker: taker, Do: formats.HomeReserve, Txn: txn,
		})
		return err
	}
	if err := reserve(k, "t1", "x"); err != nil {
		t.Fatal(err)
	}
	if err := reserve(k, "t1", "x"); err != nil {
		t.Errorf("the same worker again: %v", err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(p.home.Dir, filepath.FromSlash(journal.Folder), job.Run, journal.Name)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(all[1][:30]); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	again := p.keeper(t, 2)
	if jobs := again.Unfinished(); len(jobs) != 1 || jobs[0] != job {
		t.Errorf("Unfinished = %v, want %v", jobs, job)
	}
	l.Lines = all[1]
	l.Trees = nil
	if err := again.Append(t.Context(), l); err != nil {
		t.Errorf("the line after the restart: %v", err)
	}
	// the worker of a killed attempt counts, so the third one waits
	h, err = again.History(t.Context(), job.Run, "t2")
	if err != nil || len(h.Trees) != 1 || h.Trees[0].Commit != "c1" {
		t.Errorf("the snapshots after a restart: %+v, %v", h.Trees, err)
	}
	if err := reserve(again, "t2", "x"); err != nil {
		t.Error(err)
	}
	err = reserve(again, "t2", "y")
	if _, later := err.(*formats.LaterError); !later { //nolint:errorlint // not wrapped here
		t.Errorf("a worker beyond the budget: %v, want that it waits", err)
	}
}

// TestATransactionIsAppliedOnce: it comes again with a later attempt, whose journal lacks its
// answer.
func TestATransactionIsAppliedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := state.EncodeTx(state.Tx{
		ID: "once", Run: job.Run, Session: "s",
		Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "Another"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, taker := range []string{"t1", "t2"} {
		if _, err := k.History(t.Context(), job.Run, taker); err != nil {
			t.Fatal(err)
		}
		reply, err := k.Do(t.Context(), formats.HomeRequest{
			Run: job.Run, Taker: taker, Do: formats.HomeApply, Tx: tx,
		})
		var res state.Result
		if err == nil {
			err = json.Unmarshal(reply.Result, &res)
		}
		if err != nil || res.Replayed != (i == 1) || len(res.Numbers) != 1 || res.Numbers[0] != 2 {
			t.Errorf("by %s: %+v, %v", taker, res, err)
		}
		if !strings.Contains(string(reply.Files[".tercet/state.json"]), "Another") {
			t.Errorf("by %s: the state did not come back", taker)
		}
	}
	other, err := state.EncodeTx(state.Tx{
		ID: "x", Run: "another", Ops: []state.Op{state.SyncTasks{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Do(t.Context(), formats.HomeRequest{
		Run: job.Run, Taker: "t2", Do: formats.HomeApply, Tx: other,
	})
	code(t, "a transaction of another run", err, formats.CodeDenied)
}

// TestASecretStaysOnTheMachine: a snapshot that holds a secret is not pushed, and the run waits.
func TestASecretStaysOnTheMachine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script := filepath.Join(p.home.Dir, "maker.sh")
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	write(t, script, "echo 'key = \"AKIA"+strings.Repeat("Q7", 8)+"\"' > leak.txt\n"+string(text))
	git(t, p.home.Dir, "commit", "-q", "-am", "leak")
	git(t, p.home.Dir, "push", "-q", "origin", "main")
	k := p.keeper(t, 0)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	ret, err := p.clone(t, "one", k).TakeRun(t.Context(), job.Run, "t1", project.Options{})
	if err == nil && ret.Status == formats.StatusCompleted {
		t.Fatalf("the run ended well: %+v", ret)
	}
	if data, _ := json.Marshal(ret); !strings.Contains(string(data), "leak.txt") {
		t.Errorf("got %s, want the file with the secret", data)
	}
	if len(ret.Errors) == 0 || ret.Errors[0].Code != formats.CodeSecretFound {
		t.Errorf("got %+v, want SECRET_FOUND", ret.Errors)
	}
	refs := git(t, filepath.Join(p.dir, "remote.git"), "for-each-ref")
	for line := range strings.Lines(refs) {
		hash, _, _ := strings.Cut(line, " ")
		files := git(t, filepath.Join(p.dir, "remote.git"), "ls-tree", "-r", hash)
		if strings.Contains(files, "leak.txt") {
			t.Errorf("the remote has it in %s", line)
		}
	}
}

// TestDocumentsComeWithTheirLines: a home that died between the documents of an attempt and the
// line that announces them has neither; one that died behind the line has both.
func TestDocumentsComeWithTheirLines(t *testing.T) {
	t.Parallel()
	const name = ".tercet/specs/001_a_task/report.md"
	for _, c := range []struct {
		ahead int
		want  string
	}{{1, ""}, {0, "new"}} {
		p := newPlace(t)
		k := p.keeper(t, 0)
		job, err := k.Begin("/make 1", false)
		if err != nil {
			t.Fatal(err)
		}
		h, err := k.History(t.Context(), job.Run, "t1")
		if err != nil {
			t.Fatal(err)
		}
		all := lines(t, h.Key, formats.Entry{Type: formats.EntryRunStarted})
		l := formats.SharedLines{Run: job.Run, Taker: "t1", Lines: all[0]}
		if err := k.Append(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(map[string]any{
			"seq": 1 + c.ahead, "files": map[string][]byte{name: []byte("new")},
		})
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(p.home.Dir, filepath.FromSlash(journal.Folder), job.Run)
		write(t, filepath.Join(folder, "staged.json"), string(data))
		h, err = p.keeper(t, 0).History(t.Context(), job.Run, "t2")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(h.Files[name]); got != c.want {
			t.Errorf("%d lines ahead: the next attempt gets %q, want %q", c.ahead, got, c.want)
		}
		if _, err := os.Stat(filepath.Join(folder, "staged.json")); err == nil {
			t.Error("the documents are still on their way")
		}
	}
}

// TestEndAfterDocuments: a run has not ended for who waits for it before its documents are in their
// places. What kept them from there is tried again.
func TestEndAfterDocuments(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	h, err := k.History(t.Context(), job.Run, "t1")
	if err != nil {
		t.Fatal(err)
	}

	obstacle := filepath.Join(p.home.Dir, ".tercet", "specs", "002_another")
	write(t, obstacle, "a file where the folder is to be")
	all := lines(
		t, h.Key,
		formats.Entry{Type: formats.EntryRunStarted},
		formats.Entry{Type: formats.EntryRunFinished, Data: formats.Finished{Status: "completed"}},
	)
	last := formats.SharedLines{
		Run:   job.Run,
		Taker: "t1",
		Lines: bytes.Join(all, nil),
		Files: map[string][]byte{".tercet/specs/002_another/report.md": []byte("new")},
	}
	if err := k.Append(t.Context(), last); err == nil {
		t.Fatal("documents were put where a file is")
	}
	if done, err := k.Finished(job.Run); err != nil || done {
		t.Errorf("Finished without the documents = %v, %v", done, err)
	}

	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	if _, err := k.History(t.Context(), job.Run, "t2"); err != nil { // the next attempt
		t.Fatal(err)
	}
	if done, err := k.Finished(job.Run); err != nil || !done {
		t.Errorf("Finished = %v, %v", done, err)
	}
	text, err := os.ReadFile(filepath.Join(obstacle, "report.md"))
	if err != nil || string(text) != "new" {
		t.Errorf("the document is %q, %v", text, err)
	}
}

func FuzzRunOf(f *testing.F) {
	f.Add([]byte(`{"append":{"run":"r","taker":"t","lines":"e30K"}}`))
	f.Add([]byte(`{"history":{"run":"r","taker":"t"}}`))
	f.Add([]byte(`{"do":{"run":"r","do":"apply","tx":{}},"append":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := team.RunOf(data)
		if err != nil && run != "" {
			t.Errorf("%q with %v", run, err)
		}
	})
}
