//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tercet/internal/proc"
)

// TestTerminalIsRestored ends the prompt in every way that a program can answer to: the terminal is
// as it was before.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *screen){
		"end of input": func(s *screen) { s.keys("\x04") },
		"SIGTERM":      func(s *screen) { s.signal(syscall.SIGTERM) },
		"SIGHUP":       func(s *screen) { s.signal(syscall.SIGHUP) },
		"SIGQUIT":      func(s *screen) { s.keys("\x1c") },
		// the runtime ends it as a panic would: nothing deferred runs
		"abort": func(s *screen) { s.signal(syscall.SIGABRT) },
		"suspended": func(s *screen) {
			s.signal(syscall.SIGSTOP)
			s.signal(syscall.SIGCONT)
			s.keys("\x04")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := untouched(t)
			s := onTerminal(t, workspaceIn(t))
			s.prompted()
			end(s)
			want := map[string]int{"SIGTERM": 143, "SIGHUP": 143, "SIGQUIT": 143, "abort": 2}[name]
			if code := s.ends(); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			if after := s.state(); !reflect.DeepEqual(before, after) {
				t.Errorf("terminal after the end: %+v, want %+v", after, before)
			}
		})
	}
}

// TestASecondSignalEnds: also what waits for a file that nobody writes ends, once it was told
// twice.
func TestASecondSignalEnds(t *testing.T) {
	t.Parallel()
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()

			dir := workspaceIn(t)
			pipe := filepath.Join(dir, "stubs")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}

			s := onTerminal(t, dir, "--dry-run", "--stubs", pipe, "/help")
			f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // which is when the program reads
			if err != nil {
				t.Fatal(err)
			}

			s.signal(sig)
			// Two that are not taken yet are one, so a machine that is slow needs a third.
			go func() {
				for range 1000 {
					<-time.After(100 * time.Millisecond)
					if s.cmd.Process.Signal(sig) != nil {
						return
					}
				}
			}()

			if code := s.ends(); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

const escapingAgent = `---
name: planner
description: Plans
role: planner
runner: exec
argv: [sh, -c, 'setsid env -i sh -c "echo $$ >> FOLDER/pids; exec sleep 60" & sh -c "trap : INT TERM; echo \$$ >> FOLDER/pids; sleep 60" & wait']
---

Plan.
`

// TestNothingOutlivesAKilledRun kills tercet while a subagent works that has left group and session
// and cleared its environment; nothing of it is left a moment later, and the record of it is gone
// after the next start.
func TestNothingOutlivesAKilledRun(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)

	file := filepath.Join(dir, ".tercet", "subagents", "planner.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(
		file,
		[]byte(strings.ReplaceAll(escapingAgent, "FOLDER", dir)),
		0o600,
	); err != nil {
		t.Fatal(err)
	}

	env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}
	if s := onTerminalWith(t, dir, env, "task", "add", "Work"); s.ends() != 0 {
		t.Fatal("no task was added")
	}

	s := onTerminalWith(t, dir, env, "--yes", "/plan", "1")
	var pids []int
	end := time.Now().Add(patience)
	for ; len(pids) < 2; <-time.After(20 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "pids"))
		if err == nil {
			pids = pids[:0]
			for f := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil {
					pids = append(pids, pid)
				}
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the subagent never ran: %v", err)
		}
	}

	s.signal(syscall.SIGKILL)
	s.ends()
	if left := standingIn(dir); len(left) > 0 {
		t.Errorf("%q still run in the folder", left)
	}
	if s := onTerminalWith(t, dir, env, "task", "ready"); s.ends() != 0 {
		t.Error("the next start fails")
	}
	folder := filepath.Join(strings.TrimPrefix(env[0], "HOME="), ".local/state/tercet/children")
	records, err := filepath.Glob(filepath.Join(folder, "*"))
	if _, missing := os.Stat(folder); err != nil || missing != nil || len(records) > 0 {
		t.Errorf("records %q, %v, want none after the next start", records, err)
	}
}

// TestPlantedRecordsEndNothing: a record in a project, true to the letter, names a process and a
// folder of somebody else's. The next start leaves both alone.
func TestPlantedRecordsEndNothing(t *testing.T) {
	t.Parallel()

	dir := workspaceIn(t)
	victim := exec.CommandContext(t.Context(), "sleep", "60")
	victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()

	facts, err := proc.Identify(victim.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}

	temp := filepath.Join(t.TempDir(), "tercet-1")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}

	owner := facts // of this boot, and gone
	owner.PID = 1 << 22
	record, err := json.Marshal(proc.Started{
		Proc:  facts,
		Owner: owner,
		Temp:  temp,
		Name:  "sleep",
	})
	if err != nil {
		t.Fatal(err)
	}

	folder := filepath.Join(dir, ".tercet/runs/children")
	err = errors.Join(
		os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "1-1.json"), record, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}

	if s := onTerminal(t, dir, "task", "ready"); s.ends() != 0 {
		t.Error("task ready fails")
	}
	if _, err := os.Stat(temp); err != nil {
		t.Error(err)
	}

	select {
	case err := <-ended:
		t.Errorf("the process ended: %v", err)
	default:
		if err := victim.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ended
	}
}

// standingIn lists the processes whose working folder is dir or below it, once there is none or the
// time is over.
func standingIn(dir string) (out []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return []string{err.Error()}
	}
	end := time.Now().Add(patience)
	for ; ; <-time.After(10 * time.Millisecond) {
		out = nil
		all, err := filepath.Glob("/proc/[0-9]*/cwd")
		if err != nil {
			return []string{err.Error()}
		}
		for _, e := range all {
			if to, err := os.Readlink(e); err == nil && strings.HasPrefix(to+"/", real+"/") {
				out = append(out, filepath.Dir(e))
			}
		}
		if len(out) == 0 || time.Now().After(end) {
			return out
		}
	}
}
