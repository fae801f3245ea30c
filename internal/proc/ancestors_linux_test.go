package proc_test

import (
	"strings"
	"testing"

	"tercet/internal/proc"
)

// TestSupervised: nothing that a child does to its environment, session or parents hides that it
// has a supervisor.
func TestSupervised(t *testing.T) {
	t.Parallel()
	if proc.IsSupervised(superviseWord) {
		t.Skip("the tests themselves run below a supervisor")
	}
	ask := "env -i PROC_CHILD=supervised \"$0\""
	for name, script := range map[string]string{
		"child":      ask,
		"session":    "setsid -w " + ask,
		"grandchild": "sh -c 'sh -c \"$1; true\" \"$0\"; true' \"$0\" " + quoted(ask),
		"orphan": "mkfifo done; (setsid sh -c '(" + ask +
			") > out; echo > done' \"$0\" &); cat done; cat out",
		"orphan, no name": "mkfifo done; (exec -a x setsid sh -c '(" + ask +
			") > out; echo > done' \"$0\" &); cat done; cat out",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, supervisor := range [][]string{nil, {ownProc(t), superviseWord}} {
				s := starter(t, func(s *proc.Starter) {
					s.Supervisor = supervisor
				})
				c := sh("")
				c.Argv = []string{"bash", "-c", script, ownProc(t)}
				c.Dir = t.TempDir()
				res, err := s.Run(t.Context(), c)
				want := "false"
				if supervisor != nil {
					want = "true"
				}
				if got := strings.TrimSpace(string(res.Stdout)); err != nil || got != want {
					t.Errorf("with supervisor %q: Supervised = %q, %v, stderr %q, want %s",
						supervisor, got, err, res.Stderr, want)
				}
			}
		})
	}
}

func quoted(script string) string {
	return "'" + strings.ReplaceAll(script, "'", `'\''`) + "'"
}
