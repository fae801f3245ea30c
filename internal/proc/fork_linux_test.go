package proc_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tercet/internal/proc"
)

// restrictForTest is the Restrict of the supervisors of these tests.
func restrictForTest(rules []byte) (*os.File, error) {
	switch string(rules) {
	case "no folders":
		return noFolders()
	case "nothing to refuse":
		return nil, nil
	case "no ruleset":
		return os.Open(os.DevNull)
	}
	return nil, errors.New("rules that nobody knows")
}

// noFolders is a ruleset that refuses to make folders.
func noFolders() (*os.File, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_DIR}
	fd, _, errno := unix.Syscall(
		unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr.Handled_access_fs),
		0,
	)
	if errno != 0 {
		return nil, errno
	}
	return os.NewFile(fd, "landlock"), nil
}

func needsLandlock(t *testing.T) {
	t.Helper()
	f, err := noFolders()
	if err != nil {
		t.Skipf("no landlock here: %v", err)
	}
	f.Close()
}

// supervised is a Starter with a supervisor. All its children have the same one.
func supervised(t *testing.T) *proc.Starter {
	t.Helper()
	return starter(t, func(s *proc.Starter) { s.Supervisor = []string{ownProc(t), superviseWord} })
}

// ruled gives a command under rules.
func ruled(rules string, argv ...string) proc.Command {
	return proc.Command{
		Argv:    argv,
		Purpose: proc.PurposeScript,
		Wrap: func(string) proc.Launch {
			return proc.Launch{Argv: argv, Rules: []byte(rules)}
		},
	}
}

// TestRulesets: a ruleset restricts one child and what it starts, and neither its supervisor nor
// the next child.
func TestRulesets(t *testing.T) {
	t.Parallel()
	needsLandlock(t)
	s := supervised(t)
	dir := t.TempDir()
	script := `mkdir a 2>/dev/null; sh -c "mkdir b" 2>/dev/null; echo file > c; grep NoNewPrivs /proc/self/status; cat; exit 3`
	for _, tt := range []struct {
		rules   string
		folders int
		privs   string
	}{
		{"no folders", 0, "1"},
		{"nothing to refuse", 2, "0"},
		{"no folders", 0, "1"},
	} {
		c := ruled(tt.rules, "sh", "-c", script)
		c.Dir = filepath.Join(dir, strings.ReplaceAll(tt.rules, " ", "-"))
		c.Stdin = []byte("input")
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := s.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		want := "NoNewPrivs:\t" + tt.privs + "\ninput"
		if string(got.Stdout) != want || got.Exit != 3 {
			t.Errorf("%s: stdout %q, exit %d, want %q and 3; stderr %q",
				tt.rules, got.Stdout, got.Exit, want, got.Stderr)
		}
		made, err := filepath.Glob(filepath.Join(c.Dir, "[ab]"))
		if err != nil || len(made) != tt.folders {
			t.Errorf("%s: made %q, %v, want %d folders", tt.rules, made, err, tt.folders)
		}
		if _, err := os.Stat(filepath.Join(c.Dir, "c")); err != nil {
			t.Errorf("%s: %v, want the file", tt.rules, err)
		}
	}
}

// TestNotRestricted: a program that cannot be restricted does not start, whatever step fails, and
// the supervisor goes on.
func TestNotRestricted(t *testing.T) {
	t.Parallel()
	needsLandlock(t)
	s := supervised(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(dir, "ran")
	for _, tt := range []struct {
		rules string
		argv  []string
		want  string
	}{
		{"unknown", []string{"touch", ran}, "rules that nobody knows"},
		{"no ruleset", []string{"touch", ran}, "landlock_restrict_self: "},
		{"no folders", []string{text}, "exec: exec format error"},
	} {
		_, err := s.Run(t.Context(), ruled(tt.rules, tt.argv...))
		if !errors.Is(err, proc.ErrStart) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want ErrStart with %q", tt.rules, err, tt.want)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: the program ran", tt.rules)
		}
	}

	if got := run(t, s, sh("echo on")); string(got.Stdout) != "on\n" {
		t.Errorf("the next program prints %q, want on", got.Stdout)
	}
}

// TestRulesNeedASupervisor: without one nothing would enforce the rules.
func TestRulesNeedASupervisor(t *testing.T) {
	t.Parallel()
	s := starter(t, func(s *proc.Starter) { s.Supervisor = nil })
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := s.Run(t.Context(), ruled("no folders", "touch", ran))
	if !errors.Is(err, proc.ErrStart) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Run = %v, want ErrStart and ErrUnsupported", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program ran")
	}
}

func BenchmarkRulesets(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	s, err := proc.NewStarter(proc.Starter{
		Allow:      func(ctx, proc.Command) error { return nil },
		Now:        time.Now,
		Supervisor: []string{exe, superviseWord},
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Run(b.Context(), ruled("no folders", "true")); err != nil {
			b.Fatal(err)
		}
	}
}

// wrapped gives a command that a shell script starts in the place of bubblewrap. The script learns
// how often it was asked for.
func wrapped(attempts *int, rules, script string) proc.Command {
	return proc.Command{
		Argv:    []string{"true"},
		Purpose: proc.PurposeScript,
		Wrap: func(string) proc.Launch {
			*attempts = *attempts + 1
			return proc.Launch{
				Argv:   []string{"sh", "-c", script, "sh", strconv.Itoa(*attempts)},
				Rules:  []byte(rules),
				Status: true,
			}
		},
	}
}

// TestSandboxIsMadeAgain: a sandbox that could not be made is asked for again, and nothing of the
// attempt is left. A program that ran is never started a second time.
func TestSandboxIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	for _, tt := range []struct {
		name, script string
		attempts     int
		out, err     string
		exit         int
	}{
		{
			"made at the third attempt",
			`[ $1 = 3 ] || { echo "bwrap: no such file" >&2; exit 1; }
cat; echo '{ "exit-code": 1 }' >&3; exit 1`,
			3, "input", "", 1,
		},
		{
			"never made",
			`echo '{ "child-pid": 7 }' >&3; echo x >&2; echo "bwrap: no such file" >&2; exit 1`,
			5, "", "the sandbox could not be made: bwrap: no such file", 0,
		},
		{"ran and failed", `echo '{ "exit-code": 1 }' >&3; exit 1`, 1, "", "", 1},
		{"ended in another way", `exit 2`, 1, "", "", 2},
	} {
		for _, rules := range []string{"", "no folders"} {
			if rules != "" {
				needsLandlock(t)
			}
			attempts := 0
			c := wrapped(&attempts, rules, tt.script)
			c.Stdin = []byte("input")
			res, err := s.Run(t.Context(), c)
			if attempts != tt.attempts || string(res.Stdout) != tt.out || res.Exit != tt.exit {
				t.Errorf("%s, rules %q: %d attempts, stdout %q, exit %d, want %d, %q, %d",
					tt.name, rules, attempts, res.Stdout, res.Exit, tt.attempts, tt.out, tt.exit)
			}
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("%s, rules %q: %v", tt.name, rules, err)
			case tt.err != "" &&
				(!errors.Is(err, proc.ErrStart) || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("%s, rules %q: %v, want ErrStart with %q", tt.name, rules, err, tt.err)
			}
		}
	}
}
