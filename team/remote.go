package team

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/project"
)

// Remote is a team that is reached by the program behind 'tercet --on team'.
type Remote struct{ Helper proc.Helper }

var _ project.Team = Remote{}

// Watch implements project.Team.
func (r Remote) Watch(ctx context.Context, see func(project.TeamState)) error {
	said, err := r.Helper.EachLine(ctx, func(line []byte) error {
		var state project.TeamState
		if err := json.Unmarshal(line, &state); err != nil {
			return formats.Broken(formats.CodeTransient, "the state of the team", err,
				"let tercet and tercet-worker have the same version")
		}
		see(state)
		return nil
	}, "--json", "watch")
	if ctx.Err() != nil {
		return nil //nolint:nilerr // nobody looks any more
	}
	return failure(said, err)
}

// Gates implements project.Team.
func (r Remote) Gates(ctx context.Context) ([]project.TeamGate, error) {
	var doc struct{ Gates []project.TeamGate }
	out, err := r.runVerb(ctx, "--json", "gates")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return nil, formats.Broken(formats.CodeTransient, "the questions of the team", err,
			"let all machines have the same version of tercet")
	}
	return doc.Gates, nil
}

// Show implements project.Team.
func (r Remote) Show(ctx context.Context, run string) (string, error) {
	return r.runVerb(ctx, "show", run)
}

// Answer implements project.Team.
func (r Remote) Answer(ctx context.Context, run, gate string, reply project.Reply) (string, error) {
	args := []string{"approve", run, "--gate=" + gate, "--choice=" + reply.Label}
	if reply.Note != "" {
		args = append(args, "--note="+reply.Note)
	}
	out, err := r.runVerb(ctx, args...)
	return strings.TrimSpace(out), err
}

// Order implements project.Team.
func (r Remote) Order(ctx context.Context, run, do string) error {
	_, err := r.runVerb(ctx, do, run)
	return err
}

// runVerb does a verb, and gives what it printed.
func (r Remote) runVerb(ctx context.Context, args ...string) (string, error) {
	said, err := r.Helper.Run(ctx, args...)
	return string(said.Out), failure(said, err)
}

// failure is why the program did not do it, in its own words.
func failure(said proc.HelperResult, err error) error {
	if err != nil {
		return formats.Broken(formats.CodeToolUnavailable, "the program of the team", err)
	}
	if said.Code == 0 {
		return nil
	}

	code := formats.CodeTransient
	for _, known := range []formats.Code{
		formats.CodePrecondition, formats.CodeDenied, formats.CodeUsage, formats.CodeNotFound,
		formats.CodeConfig,
	} {
		if formats.ExitFor(known) == said.Code {
			code = known
		}
	}

	message := fmt.Sprintf("the program of the team ended with %d", said.Code)
	help := ""
	for line := range strings.Lines(string(said.Err)) {
		line = strings.TrimSpace(line)
		kind, text, ok := strings.Cut(line, ": ")
		switch {
		case ok && kind == "help":
			help = text
		case ok && (kind == "tercet" || kind == "error"):
			message = text
		}
	}

	return formats.Fail(code, help, "%s", message)
}
