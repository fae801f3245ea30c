package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"

	"tercet/engine/nats/link"
	"tercet/formats"
)

// verbs are those that the home does for every person: they read, or they answer.
var verbs = []string{"runs", "show", "verify", "gates", "approve", "reject", "tell"}

// verbFlags are the flags that go with them. Whatever starts a program, writes a file, reads
// another folder or does not end is left out. A true one is followed by its value.
var verbFlags = map[string]bool{
	"--json":   false,
	"--quiet":  false,
	"--all":    false,
	"--log":    false,
	"--raw":    false,
	"--step":   true,
	"--choice": true,
	"--gate":   true,
	"--note":   true,
}

// checkVerb refuses a verb or a flag that is not for everybody. The verb comes first, so that no
// value of a flag can stand in its place.
func checkVerb(args []string) error {
	if len(args) == 0 || !slices.Contains(verbs, args[0]) {
		return formats.Fail(formats.CodeUsage, "the home has its owner for everything else",
			"expected one of status, watch, %s, pause, resume, cancel, wait, members, invite, "+
				"remove and join, or a line, for --on team, got %q",
			strings.Join(verbs, ", "), strings.Join(args, " "))
	}

	for rest := args[1:]; len(rest) > 0; rest = rest[1:] {
		if !strings.HasPrefix(rest[0], "-") {
			continue
		}

		name, _, inline := strings.Cut(rest[0], "=")
		takesValue, known := verbFlags[name]
		if !known {
			return formats.Fail(formats.CodeUsage, "type it at the home",
				"%s does not go with --on team", name)
		}

		if takesValue && !inline && len(rest) > 1 {
			rest = rest[1:]
		}
	}
	return nil
}

// runVerb does a verb of tercet at the home.
func (h *Hub) runVerb(ctx context.Context, q request) link.VerbReply {
	var w link.VerbRequest
	if err := json.Unmarshal(q.data, &w); err != nil {
		return link.VerbReply{Fault: fault(err)}
	}
	if err := checkVerb(w.Args); err != nil {
		return link.VerbReply{Fault: fault(err)}
	}

	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, h.cfg.Program, w.Args...) //nolint:gosec // checked above
	cmd.Dir = h.cfg.Project.Dir
	cmd.Env = append(
		os.Environ(),
		"TERCET_ROOT="+h.cfg.Project.Dir,
		"USER="+q.from,
		"TERCET_NO_INPUT=1",
	)
	cmd.Stdout = &out
	cmd.Stderr = &said

	err := cmd.Run()
	if cmd.ProcessState == nil {
		return link.VerbReply{Fault: fault(formats.Broken(formats.CodeIO, h.cfg.Program, err))}
	}
	return link.VerbReply{Out: out.Bytes(), Err: said.Bytes(), Code: cmd.ProcessState.ExitCode()}
}
