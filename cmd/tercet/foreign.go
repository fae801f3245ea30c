package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/proc"
	"tercet/internal/trace"
	"tercet/router"
	"tercet/subagents"
)

// finder looks for the files of other tools around the project.
func (w *world) finder() *dialect.Finder {
	return &dialect.Finder{
		Dir: w.dir, Homes: dialect.HomesOf(w.env), Sub: w.gate.FS, Note: func(text string) { w.noteOnce(text, text) },
	}
}

// noteOnce tells what would be told each time that files are listed, or a line is run.
func (a *app) noteOnce(key, text string) {
	if !a.told[key] {
		a.told[key] = true
		a.term.note("%s", text)
	}
}

// sourceOf is a folder of another tool as the router scans it.
func sourceOf(p dialect.Folder) router.Source {
	s := router.Source{
		Name: p.Label, FS: p.FS, Dialect: p.Dialect.String(), Scope: p.Scope.String(), Prefix: p.Extension, Command: p.Name,
	}
	if p.Skills {
		s.Depth = 1 // what else lies in the folder of a skill is the skill's
	}
	return s
}

// foreignAgents reads the agents of other tools. A name that a subagent has already, shipped ones and the project's own
// among them, is never taken; that, and what could not be read, is a note for who asks.
func (w *world) foreignAgents() error {
	for _, p := range w.finder().Agents() {
		for _, name := range p.AgentFiles() {
			if err := w.foreignAgent(p, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) foreignAgent(p dialect.Folder, name string) error {
	note := func(code, text string) {
		n := problem(code, p.Label+"/"+name, text, "")
		n.Severity = formats.SeverityWarning
		w.agentNotes = append(w.agentNotes, n)
	}
	src, err := dialect.ReadFile(p.FS, name)
	if err != nil {
		note(formats.CodeIO.String(), err.Error())
		return nil
	}
	a, err := dialect.ParseAgent(p.Place, name, src)
	if d, ok := asDiagnostics(err); ok {
		w.agentNotes = append(w.agentNotes, d.List...)
	}
	if err != nil {
		return nil //nolint:nilerr // it is a note
	}
	w.agentNotes = append(w.agentNotes, a.Warnings...)
	_, taken := w.set.Agent(a.Name)
	switch {
	case a.Hidden:
		note(dialect.CodeTaken, "agent "+a.Name+" is switched off or remote; this file is not used")
		return nil
	case taken:
		note(dialect.CodeTaken, "subagent "+a.Name+" is there already and stays; this file is not used")
		return nil
	}
	def := definition(a)
	return w.set.Add(def, w.agent(def))
}

// definition makes a subagent of an agent of another tool: any input, any return, with or without files, and the tools
// that its file grants.
func definition(a *dialect.Agent) subagents.Definition {
	def := subagents.Definition{
		Info: formats.AgentInfo{
			Name: a.Name, Description: a.Description, Role: formats.RoleUtility, Tools: a.Tools, File: a.File,
			Timeout: formats.Timeout{Total: time.Duration(a.Minutes) * time.Minute},
			Artifacts: []formats.ArtifactSpec{
				{Type: formats.ArtifactImplementation, Optional: true}, {Type: formats.ArtifactDocumentation, Optional: true},
			},
		},
		Facets: formats.Facets{Instruction: a.Text}, Limits: subagents.Limits{Turns: a.Turns},
		File: a.File, Src: a.Src, Warnings: a.Warnings,
	}
	if a.Model != "" && a.Model != "inherit" &&
		(a.Dialect == dialect.Claude || a.Dialect == dialect.OpenCode || a.Dialect == dialect.Gemini) {
		def.Model = map[string]string{a.Dialect.String(): a.Model}
	}
	return def
}

// ofProject tells whether a place of another tool came with the project: a plugin may lie in it as well.
func ofProject(p dialect.Place) bool { return p.Scope != dialect.User && fs.ValidPath(p.Dir) }

// Bounds of a command of a prompt.
const (
	scriptTime   = time.Minute
	scriptOutput = 64 << 10
)

// injection is the filling of one prompt of another tool.
type injection struct {
	*world
	inv formats.Invocation
	c   *dialect.Command
}

// inject runs the commands and reads the files of a prompt after a person agreed to exactly these, with these
// arguments. References to files that are not there stay as they are written; commands that may not run leave a remark
// in their place.
func (w *world) inject(ctx context.Context, inv formats.Invocation, c *dialect.Command, pieces []dialect.Output) (
	string, error,
) {
	filling, p := c.Fill(pieces, w.gate.Files(), w.term.note), injection{w, inv, c}
	if err := p.approve(ctx, filling); err != nil {
		return "", err
	}
	return filling.Text(func(s *dialect.Script) (string, error) { return p.run(ctx, s) })
}

// approve asks for exactly the scripts, their values and the files, if there are any.
func (p injection) approve(ctx context.Context, filling *dialect.Filling) error {
	show, digest := filling.Asks()
	if len(show) == 0 {
		return nil
	}
	d, err := p.approver.Approve(ctx, formats.Gate{
		Question: "Run and read this for /" + p.c.Name + " (" + p.c.File + ")?", Show: append(show, "sha256:"+digest),
		Choices: approveOrReject, Digest: digest, NeedsPerson: true, Run: p.inv.Run,
	})
	if errors.As(err, new(*formats.GateOpenError)) {
		for _, line := range show {
			p.term.note("%s", line)
		}
		return formats.Fail(formats.CodeUntrusted,
			"run it on a terminal, or pass --trust=sha256:"+digest+" for exactly this, or --yes",
			"%s runs commands or reads files that nobody has agreed to", p.c.File)
	}
	if err != nil {
		return err
	}
	p.sink.Emit(trace.Event{
		Run: p.inv.Run, Kind: trace.Gate, Name: "/" + p.c.Name, Outcome: d.Answer, Message: "answered by " + d.By,
		Attrs: map[string]any{"file": p.c.File, "sha256": digest, "show": show},
	})
	if d.Answer != approveOrReject[0].Label {
		return formats.Fail(formats.CodeDenied, "", "the commands and files of /%s were refused", p.c.Name)
	}
	return nil
}

// run gives the output of a script. Its text goes to sh as a file; the arguments are in the environment.
func (p injection) run(ctx context.Context, s *dialect.Script) (string, error) {
	if s.Refused != "" {
		p.warn(s, "not run: "+s.Refused)
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
	if p.c.Shell == "bash" {
		shell = "bash"
	}
	res, err := p.starter.Run(ctx, proc.Command{
		Argv: []string{shell, file}, Dir: p.dir, Env: append(slices.Clone(s.Env), "TERCET_RUN="+p.inv.Run),
		Private: true, Purpose: proc.PurposeScript, Timeout: proc.Timeout{Total: scriptTime},
		StdoutCap: scriptOutput, StderrCap: scriptOutput, Limit: 8 << 20,
	})
	if err != nil {
		return "", broken(formats.CodeToolUnavailable, "command of "+p.c.File, err)
	}
	text := func(b []byte) string { return strings.ToValidUTF8(string(b), "\ufffd") }
	out := strings.TrimRight(text(res.Stdout), "\n")
	if res.Truncated {
		out += "\n[cut: the output is longer]"
	}
	how := fmt.Sprintf("exit status %d", res.Exit)
	switch {
	case res.Success() || p.c.Dialect == dialect.OpenCode && res.TimedOut == "" && !res.Flooded:
		return out, nil
	case res.TimedOut != "":
		how = "stopped after " + scriptTime.String()
	case res.Flooded:
		how = "stopped: too much output"
	case res.Signal != "":
		how = res.Signal
	}
	p.warn(s, how)
	if last := strings.TrimSpace(text(res.Stderr)); last != "" {
		out = strings.TrimLeft(out+"\n"+last, "\n")
	}
	return strings.TrimLeft(out+"\n["+how+"]", "\n"), nil
}

func (p injection) warn(s *dialect.Script, text string) {
	p.term.note("warning: %s:%d: %s", p.c.File, s.Pos.Line, text)
}
