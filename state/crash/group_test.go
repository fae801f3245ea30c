//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"tercet/formats"
	"tercet/internal/testkit/faults"
	"tercet/state"
)

const groupWriters, groupEach = 6, 2

// together has goroutines share the writes of one manager, and prints of each task how it ended: "done 3-1", "IO 3-1".
func together(w *workspace) error {
	var wg sync.WaitGroup
	said := make([]error, groupWriters)
	for g := range groupWriters {
		wg.Go(func() {
			for i := range groupEach {
				title := fmt.Sprint(g, "-", i)
				_, err := w.apply("tx-"+title, state.CreateTasks{Tasks: []state.NewTask{{Title: title}}})
				word := "done"
				if err != nil {
					word = string(formats.CodeOf(err))
				}
				_, err = fmt.Printf("%s %s\n", word, title)
				said[g] = errors.Join(said[g], err)
			}
		})
	}
	wg.Wait()
	return errors.Join(said...)
}

// agrees holds the tasks against what the goroutines were told, and the next command with what it should do.
func agrees(dir string, told []string) error {
	w, err := openWorkspace(dir, late)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.apply("", state.CreateTasks{Tasks: []state.NewTask{{Title: after}}}); err != nil {
		return fmt.Errorf("the next command: %w", err)
	}
	doc, err := w.r.Doc(context.Background())
	if err != nil {
		return err
	}
	there := map[string]int{}
	for _, task := range doc.Tasks {
		there[task.Title]++
	}
	for _, line := range told {
		word, title, _ := strings.Cut(line, " ")
		want := 0
		switch code := formats.Code(word); {
		case word == "done", code == formats.CodeNotDurable:
			want = 1
		case code == formats.CodeIO:
		default:
			return fmt.Errorf("told %q, expected done, IO or NOT_DURABLE", line)
		}
		if there[title] != want {
			return fmt.Errorf("told %q, and the task is there %d times", line, there[title])
		}
	}
	for g := range groupWriters {
		for i := range groupEach {
			title := fmt.Sprint(g, "-", i)
			res, err := w.apply("tx-"+title, state.CreateTasks{Tasks: []state.NewTask{{Title: title}}})
			if err != nil || res.Replayed != (there[title] == 1) {
				return fmt.Errorf("transaction %s again: %w, replayed %v, it was there %d times", title, err, res.Replayed, there[title])
			}
		}
	}
	return w.sound()
}

// TestTogether stops transactions that share a write at every call of it, and explores what a disk may keep of it.
func TestTogether(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	template := folder(t)
	setUp(t, template, func(w *workspace) error { return w.m.Init(context.Background(), state.InitOptions{}) })
	points, states := 0, 0
	stride := 37
	if *full {
		stride = 1
	}
	for k, reached := 1, true; reached; k += stride {
		for _, f := range faultsOf() {
			dir := folder(t)
			clone(t, template, dir)
			cmd := command(t, "together", dir)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			got := under(t, cmd, faults.Plan{Under: dir, At: k, Errno: f.errno, Again: f.again})
			reached = got.Reached
			points++
			if err := agrees(dir, lines(out.Bytes())); err != nil || errs.Len() > 0 {
				t.Fatalf("%s at %v: %v\nsaid %s%s", f.name, got.Hit, err, out.Bytes(), errs.Bytes())
			}
			os.RemoveAll(dir)
		}
	}
	dir, to := folder(t), folder(t)
	clone(t, template, dir)
	r := record(t, dir, command(t, "together", dir))
	var told []string
	for _, c := range r.calls {
		if c.N == 0 {
			told = append(told, strings.TrimSpace(string(c.Data)))
		}
	}
	for _, independent := range []bool{false, true} {
		r.explore(independent, effort{limit: 2, stride: stride}, rand.New(rand.NewPCG(3, 3)), func(c crash) {
			states++
			if err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o755), c.put(dir, to)); err != nil {
				t.Fatal(err)
			}
			if err := agrees(to, told[:c.acked]); err != nil {
				t.Fatalf("independent: %v, before call %s: %v", independent, r.at(c.at), err)
			}
		})
	}
	t.Logf("%d points, %d states", points, states)
}
