package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/proc"
	"tercet/internal/trace"
)

// Bounds of a command of a prompt.
const (
	scriptTime   = time.Minute
	scriptOutput = 64 << 10
)

// inject runs the commands and reads the files of a prompt after a person agreed to exactly these, with these
// arguments. References to files that are not there stay as they are written; commands that may not run leave a remark
// in their place.
func (w *world) inject(ctx context.Context, inv formats.Invocation, c *dialect.Command,
	pieces []dialect.Output,
) (string, error) {
	filling := c.Fill(pieces, w.gate.Files(), w.app.term.note)
	if err := w.approveMarks(ctx, inv, c, filling); err != nil {
		return "", err
	}
	return filling.Text(func(s *dialect.Script) (string, error) { return w.runMark(ctx, inv, c, s) })
}

// approveMarks asks for exactly the scripts, their values and the files, if there are any.
func (w *world) approveMarks(ctx context.Context, inv formats.Invocation, c *dialect.Command,
	filling *dialect.Filling,
) error {
	show, digest := filling.Asks()
	if len(show) == 0 {
		return nil
	}
	const yes = "approve"
	d, err := w.approver.Approve(ctx, formats.Gate{
		Question: "Run and read this for /" + c.Name + " (" + c.File + ")?", Show: append(show, "sha256:"+digest),
		Choices: []formats.Choice{{Label: yes, Approves: true}, {Label: "reject"}},
		Digest:  digest, NeedsPerson: true, Run: inv.Run,
	})
	if _, open := errors.AsType[*formats.GateOpenError](err); open {
		for _, line := range show {
			w.app.term.note("%s", line)
		}
		return formats.Fail(formats.CodeUntrusted,
			"run it on a terminal, or pass --trust=sha256:"+digest+" for exactly this, or --yes",
			"%s runs commands or reads files that nobody has agreed to", c.File)
	}
	if err != nil {
		return err
	}
	w.sink.Emit(trace.Event{
		Run: inv.Run, Kind: trace.Gate, Name: "/" + c.Name, Outcome: d.Answer, Message: "answered by " + d.By,
		Attrs: map[string]any{"file": c.File, "sha256": digest, "show": show},
	})
	if d.Answer != yes {
		return formats.Fail(formats.CodeDenied, "", "the commands and files of /%s were refused", c.Name)
	}
	return nil
}

// runMark gives the output of a script. Its text goes to sh as a file; the arguments are in the environment.
func (w *world) runMark(ctx context.Context, inv formats.Invocation, c *dialect.Command, s *dialect.Script) (string,
	error,
) {
	if s.Refused != "" {
		w.app.term.note("warning: %s:%d: not run: %s", c.File, s.Pos.Line, s.Refused)
		return fmt.Sprintf("[not run: %s; it was %s]", s.Refused, s.Source), nil
	}
	dir, err := os.MkdirTemp("", "tercet-prompt-")
	if err != nil {
		return "", broken(formats.CodeIO, "folder for the commands of a prompt", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is one script in the system's temporary folder
	file := filepath.Join(dir, "command.sh")
	if err := os.WriteFile(file, []byte(s.Text+"\n"), 0o600); err != nil {
		return "", broken(formats.CodeIO, "commands of a prompt", err)
	}
	shell := "sh"
	if c.Shell == "bash" {
		shell = "bash"
	}
	res, err := w.starter.Run(ctx, proc.Command{
		Argv: []string{shell, file}, Dir: w.dir, Env: append(slices.Clone(s.Env),
			"TERCET_RUN="+inv.Run), Private: true, Purpose: proc.PurposeScript,
		Timeout: proc.Timeout{Total: scriptTime}, StdoutCap: scriptOutput, StderrCap: scriptOutput, Limit: 8 << 20,
	})
	if err != nil {
		return "", broken(formats.CodeToolUnavailable, "command of "+c.File, err)
	}
	out := strings.TrimRight(strings.ToValidUTF8(string(res.Stdout), "\ufffd"), "\n")
	if res.Truncated {
		out += "\n[cut: the output is longer]"
	}
	how := fmt.Sprintf("exit status %d", res.Exit)
	switch {
	case res.Success() || c.Dialect == dialect.OpenCode && res.TimedOut == "" && !res.Flooded:
		return out, nil
	case res.TimedOut != "":
		how = "stopped after " + scriptTime.String()
	case res.Flooded:
		how = "stopped: too much output"
	case res.Signal != "":
		how = res.Signal
	}
	w.app.term.note("warning: %s:%d: %s", c.File, s.Pos.Line, how)
	if last := strings.TrimSpace(strings.ToValidUTF8(string(res.Stderr), "\ufffd")); last != "" {
		out = strings.TrimLeft(out+"\n"+last, "\n")
	}
	return strings.TrimLeft(out+"\n["+how+"]", "\n"), nil
}
