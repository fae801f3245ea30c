package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tercet/formats"
	"tercet/frontends/term"
)

// TestColour: colour is for terminals; a flag beats the variables, and one that asks for colour
// beats one that refuses it.
func TestColour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag string
		tty  bool
		env  string
		want bool
	}{
		{"auto", true, "", true},
		{"auto", false, "", false},
		{"auto", true, "NO_COLOR=", true}, // empty counts as not set
		{"auto", true, "NO_COLOR=0", false},
		{"auto", true, "TERM=dumb", false},
		{"auto", false, "FORCE_COLOR=1", true},
		{"auto", false, "CLICOLOR_FORCE=1", true},
		{"always", true, "NO_COLOR=1", true},
		{"always", false, "TERM=dumb", true},
		{"never", true, "FORCE_COLOR=1", false},
		{"never", true, "", false},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		to := term.New(term.Config{
			Clock: clock{},
			Env: func(asked string) string {
				return map[string]string{name: value}[asked]
			},
		})
		if err := to.Configure(term.Settings{Colour: c.flag}); err != nil {
			t.Fatal(err)
		}
		if got := to.Sheet(c.tty).Colour; got != c.want {
			t.Errorf("--color %s, terminal %t, %s: colour %t, want %t",
				c.flag, c.tty, c.env, got, c.want)
		}
	}
}

// seated is an app whose standard error passes for a terminal.
func seated(t *testing.T, env map[string]string) (*app, *bytes.Buffer) {
	t.Helper()
	var errs bytes.Buffer
	a := newApp(stdio{
		in:  strings.NewReader(""),
		out: &bytes.Buffer{},
		err: &errs,
	}, func(name string) string { return env[name] })
	a.term.ErrTTY = true
	return a, &errs
}

// TestErrorLayout: on a terminal a finding has its line and a caret below the place, in columns of
// which a tab takes four; the place is a link where the terminal knows links. A filter of --jq is
// shown like a file.
func TestErrorLayout(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "flow.md")
	if err := os.WriteFile(file, []byte("a:\n\tkey:\tvalue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := &formats.Diagnostics{Sources: map[string][]byte{file: []byte("a:\n\tkey:\tvalue\n")}}
	for range 12 {
		found.List = append(found.List, formats.Diagnostic{
			Code:     "E001",
			Severity: formats.SeverityError,
			File:     file,
			Message:  "wrong",
			Pos:      formats.Pos{Line: 2, Col: 7},
			End:      formats.Pos{Line: 2, Col: 9},
		})
	}

	link := "  --> \x1b]8;;file://" + filepath.ToSlash(file) + "\a" + file + ":2:7\x1b]8;;\a\n"
	const excerpt = "  |\n2 |     key:    value\n  |             ^^\n"
	for _, c := range []struct {
		env  string
		want []string
	}{
		{"TERM=xterm LANG=en_US.UTF-8", []string{link + excerpt, "\ntercet: … and 2 more\n"}},
		{"TERM=xterm LANG=C", []string{link + excerpt, "\ntercet: ... and 2 more\n"}},
		{"TERM=xterm TERCET_HYPERLINKS=0", []string{"  --> " + file + ":2:7\n" + excerpt}},
		{"TERM=dumb", []string{"  --> " + file + ":2:7\n" + excerpt}},
	} {
		env := map[string]string{"NO_COLOR": "1"}
		for one := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(one, "=")
			env[name] = value
		}
		a, errs := seated(t, env)
		a.term.Failure(found)
		for _, want := range c.want {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("%s: %q does not hold %q", c.env, errs, want)
			}
		}
	}

	a, errs := seated(t, map[string]string{"NO_COLOR": "1", "TERM": "xterm"})
	const want = "error: unknown function lengt/0 (USAGE)\n  --> --jq:1:10\n  |\n1 | .tasks | " +
		"lengt\n  |          ^\n  = help: did you mean 'length'?\n"
	code := a.run(t.Context(), []string{"--jq", ".tasks | lengt", "version"})
	if code != 2 || !strings.Contains(errs.String(), want) {
		t.Errorf("exit code %d, want 2; %q does not hold %q", code, errs, want)
	}
}

// TestSecondSignal: a signal lets what runs come to its end in order; the next one ends that too,
// whenever it comes, and what then still does not end within five seconds is ended with the
// process.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{time.Second, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ends := make(chan int, 2)

			s := &signals{end: func(code int) { ends <- code }}
			ctx := s.Context(t.Context())

			s.Handle(os.Interrupt)
			time.Sleep(later)
			if ctx.Err() == nil || s.AbortContext().Err() != nil {
				t.Errorf("after one signal: context %v, hard one %v, want the first one ended",
					ctx.Err(), s.AbortContext().Err())
			}

			s.Handle(os.Interrupt)
			if s.AbortContext().Err() == nil {
				t.Error("the second signal does not cut the end short")
			}

			time.Sleep(endTimeout - time.Millisecond)
			early := len(ends)
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()

			if early != 0 || len(ends) != 1 || <-ends != 130 {
				t.Errorf("ended %d times before %s, then %d times, want once with 130",
					early, endTimeout, len(ends))
			}
		})
	}
}

// TestSignalAtTheStart: a signal that comes before a verb is known ends what then runs.
func TestSignalAtTheStart(t *testing.T) {
	t.Parallel()
	s := &signals{end: func(int) {}}
	ctx := s.listen()
	t.Cleanup(func() { signal.Stop(s.incoming) })

	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		t.Skip("no process can interrupt itself here: ", err)
	}
	<-ctx.Done()
	if formats.CodeOf(context.Cause(ctx)) != formats.CodeCancelled {
		t.Errorf("what runs ends by %v, want %s", context.Cause(ctx), formats.CodeCancelled)
	}
}
