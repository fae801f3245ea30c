//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"tercet/internal/testkit/faults"
)

// writer keeps a list of titles in state.json. The zero value does it right; each field is a
// defect, planted to see whether the tests of this package find it.
type writer struct {
	inPlace    bool // writes over the file
	noSync     bool // does not sync the new file
	noDirSync  bool // does not sync the folder
	unlocked   bool // takes no lock
	lockData   bool // locks the file that is replaced
	deleteLock bool // deletes the lock file when it is done
	shared     *flock.Flock
	swallow    bool // says nothing of errors
}

// planted lists the writers by name, with what finds their defect.
func planted() map[string]struct {
	w  writer
	by string
} {
	return map[string]struct {
		w  writer
		by string
	}{
		"sound":              {writer{}, ""},
		"in place":           {writer{inPlace: true}, "points"},
		"no fsync":           {writer{noSync: true}, "explorer"},
		"no folder fsync":    {writer{noDirSync: true}, "explorer"},
		"unlocked":           {writer{unlocked: true}, "soak"},
		"lock on the data":   {writer{lockData: true}, "soak"},
		"lock file deleted":  {writer{deleteLock: true}, "soak"},
		"shared lock object": {writer{shared: &flock.Flock{}}, "soak"},
		"swallowed error":    {writer{swallow: true}, "points"},
	}
}

func titles(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("state.json is torn: %w: %q", err, data)
	}
	return list, nil
}

// add adds a title; it is acknowledged when there is no error.
func (w writer) add(dir, title string) (err error) {
	file := filepath.Join(dir, "state.json")
	if !w.unlocked {
		name := filepath.Join(dir, "state.lock")
		if w.lockData {
			name = file + ".none"
			if _, err := os.Stat(file); err == nil {
				name = file
			}
		}
		lock := w.shared
		if lock == nil {
			lock = flock.New(name)
		}
		if err := lock.Lock(); err != nil {
			return err
		}
		defer func() {
			if w.deleteLock {
				os.Remove(name)
			}
			err = errors.Join(err, lock.Unlock())
		}()
	}
	list, err := titles(dir)
	if err != nil {
		return err
	}

	data, err := json.Marshal(append(list, title))
	if err != nil {
		return err
	}
	err = w.put(file, data)
	if w.swallow {
		return nil
	}
	return err
}

func (w writer) put(file string, data []byte) error {
	temp := file
	if !w.inPlace {
		temp = fmt.Sprintf("%s.tmp-%d-%016x", file, os.Getpid(), rand.Uint64())
	}
	f, err := os.Create(temp)
	if err != nil {
		return err
	}

	_, err = f.Write(data)
	if err == nil && !w.noSync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil && !w.swallow {
		return err
	}
	if !w.inPlace {
		if err := os.Rename(temp, file); err != nil {
			return err
		}
	}
	if w.noDirSync {
		return nil
	}

	d, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// adds has some goroutines of a child add titles, and prints each that is acknowledged.
func adds(dir string, args []string) error {
	w := planted()[args[0]].w
	goroutines, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}

	each, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if w.shared != nil {
		w.shared = flock.New(filepath.Join(dir, "state.lock"))
	}
	var wg sync.WaitGroup
	all := make([]error, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				title := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
				all[g] = w.add(dir, title)
				if all[g] != nil {
					return
				}
				_, all[g] = os.Stdout.WriteString(title + "\n")
				if all[g] != nil {
					return
				}
			}
		})
	}

	wg.Wait()
	return errors.Join(all...)
}

// check holds a list against what was acknowledged, and writes once more.
func check(dir string, acked []string) error {
	list, err := titles(dir)
	if err != nil {
		return err
	}
	for _, title := range acked {
		if !slices.Contains(list, title) {
			return fmt.Errorf("%q was acknowledged and is lost, there are %q", title, list)
		}
	}
	return writer{}.add(dir, "next")
}

func lines(out []byte) []string {
	var list []string
	for line := range bytes.Lines(out) {
		list = append(list, strings.TrimSuffix(string(line), "\n"))
	}
	return list
}

// byPoints stops a writer at every call.
func byPoints(t *testing.T, name string) error {
	t.Helper()
	for k := 1; ; k++ {
		for _, errno := range []unix.Errno{0, unix.ENOSPC, unix.EIO} {
			dir := folder(t)
			if err := (writer{}).add(dir, "first"); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd := command(t, "adds", dir, name, "1", "2")
			cmd.Stdout = &out
			plan := faults.Plan{
				Under: dir,
				At:    k,
				Errno: errno,
			}
			got := under(t, cmd, plan)
			if !got.Reached {
				return nil
			}
			if err := check(dir, append(lines(out.Bytes()), "first")); err != nil {
				return fmt.Errorf("errno %d at %v: %w", errno, got.Hit, err)
			}
		}
	}
}

// byExplorer looks at the states in which a writer may leave a disk.
func byExplorer(t *testing.T, name string) error {
	t.Helper()
	dir := folder(t)
	if err := (writer{}).add(dir, "first"); err != nil {
		t.Fatal(err)
	}
	r := record(t, dir, command(t, "adds", dir, name, "1", "3"))
	var acks []string
	for _, c := range r.calls {
		if c.N == 0 {
			acks = append(acks, strings.TrimSpace(string(c.Data)))
		}
	}

	var found error
	to := folder(t)
	for _, independent := range []bool{false, true} {
		r.explore(
			independent,
			effort{limit: 16, stride: 1},
			rand.New(rand.NewPCG(1, 1)),
			func(c crash) {
				if found != nil {
					return
				}
				err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o755), c.put(dir, to))
				if err != nil {
					t.Fatal(err)
				}
				if err := check(to, append(acks[:c.acked:c.acked], "first")); err != nil {
					found = fmt.Errorf("before call %s: %w", r.at(c.at), err)
				}
			},
		)
	}

	return found
}

// bySoak has several processes write at once.
func bySoak(t *testing.T, name string) error {
	t.Helper()
	for range 12 {
		dir := folder(t)
		if err := (writer{}).add(dir, "first"); err != nil {
			t.Fatal(err)
		}
		const processes = 6
		outs := make([]bytes.Buffer, processes)
		cmds := make([]*exec.Cmd, processes)
		for i := range cmds {
			cmds[i] = command(t, "free adds", dir, name, "4", "10")
			cmds[i].Stdout = &outs[i]
			if err := cmds[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		acked := []string{"first"}
		for i := range cmds {
			cmds[i].Wait() // that a writer could not go on shows in what is there
			acked = append(acked, lines(outs[i].Bytes())...)
		}
		if err := check(dir, acked); err != nil {
			return errors.New(err.Error()[:min(200, len(err.Error()))])
		}
	}

	return nil
}

// TestPlanted: each of the eight planted defects is found, and a writer without one is left in
// peace.
func TestPlanted(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}

	ways := []struct {
		name string
		find func(*testing.T, string) error
	}{{"points", byPoints}, {"explorer", byExplorer}, {"soak", bySoak}}

	var found atomic.Int64
	t.Cleanup(func() {
		t.Logf("R6: %d of %d planted defects found", found.Load(), len(planted())-1)
	})

	for name, p := range planted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, way := range ways {
				if p.by != "" && p.by != way.name {
					continue
				}

				err := way.find(t, name)

				switch {
				case p.by == "" && err != nil:
					t.Errorf("%s finds in a sound writer: %v", way.name, err)
				case p.by != "" && err == nil:
					t.Errorf("%s does not find the defect", way.name)
				case err != nil:
					found.Add(1)
					t.Logf("%s: %.300s", way.name, err.Error())
				}
			}
		})
	}
}
