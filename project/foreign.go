package project

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
	"tercet/templates/shims"
)

// finder looks for the files of other tools around the project.
func (p *Project) finder() *dialect.Finder {
	return &dialect.Finder{
		Dir:   p.Dir,
		Homes: dialect.HomesOf(p.Host.Env),
		Sub:   p.Trust.FS,
		Note:  func(text string) { p.Host.Frontend.NoteOnce(text, text) },
		Skip:  p.skip,
	}
}

// sourceOf is a folder of another tool as the router scans it.
func sourceOf(p dialect.Folder) router.Source {
	s := router.Source{
		Name:    p.Label,
		FS:      p.FS,
		Dialect: p.Dialect.String(),
		Scope:   p.Scope.String(),
		Tool:    p.Tool(),
		Prefix:  p.Extension,
		Command: p.Name,
	}
	if p.Skills {
		s.Depth = 1 // what else lies in the folder of a skill is the skill's
	}
	return s
}

// Beside spells what a text of a source names so that it leads to what its author meant. A file of
// another tool that runs as a workflow has its name on purpose.
func (p *Project) Beside(source, text string) string {
	library := p.library()
	return p.Table.RewriteCalls(source, text, func(source, file string) bool {
		prompt, flow, err := library.Prompt(source, file)
		return prompt != nil && !flow || err != nil
	})
}

// Replaced says which shipped workers the project has its own for.
func Replaced(set *subagents.Set) (out []string) {
	for _, name := range set.Replaced() {
		def, _, _ := set.Lookup(name, "")
		out = append(
			out,
			fmt.Sprintf("subagent %s is %s; the shipped one is %s%s",
				name, def.File, subagents.Shipped, name),
		)
	}
	return out
}

// ForeignAgents says what agents of other tools change here, before there is anything that they
// could work with.
func (p *Project) ForeignAgents() []string {
	noRunner := func(subagents.Definition) subagents.Agent {
		return failing(nil)
	}
	set, err := subagents.Load(noRunner, p.subagentSources()...)
	notes, bad := set.AddForeign(p.agentFolders(), noRunner)
	out := Replaced(set)
	for _, d := range notes {
		if subagents.OfNames(d) {
			out = append(out, d.Error()+formats.Prefixed("; ", d.Help))
		}
	}
	if err = errors.Join(err, bad); err != nil {
		out = append(out, fmt.Sprintf("warning: %v", err))
	}
	return out
}

// skip keeps in mind a file that tercet export wrote, for 'tercet which'.
func (p *Project) skip(at dialect.Place, inside string) {
	name, ok := at.Name(inside)
	short, scoped := strings.CutPrefix(strings.Replace(name, "tercet:", "tercet-", 1), "tercet-")
	if scoped && name != shims.Skill {
		name = short // the tool has a command of that name itself
	}
	if ok && !slices.Contains(p.Exported[name], at.Label+"/"+inside) {
		if p.Exported == nil {
			p.Exported = map[string][]string{}
		}
		p.Exported[name] = append(p.Exported[name], at.Label+"/"+inside)
	}
}

// ofProject tells whether a place of another tool came with the project: a plugin may lie in it as
// well.
func ofProject(p dialect.Place) bool {
	return p.Scope != dialect.User && fs.ValidPath(p.Dir)
}

// Limits of a command that a prompt embeds.
const (
	scriptTime   = time.Minute
	scriptOutput = 64 << 10
)

// injection is the filling of one prompt of another tool.
type injection struct {
	session *Session
	inv     formats.Invocation
	c       *dialect.Command
}

// inject runs the commands and reads the files of a prompt after the user agreed to exactly these,
// with these arguments. References to files that are not there stay as they are written; commands
// that may not run leave a remark in their place.
func (s *Session) inject(
	ctx context.Context,
	inv formats.Invocation,
	c *dialect.Command,
	pieces []dialect.Output,
) (
	string, error,
) {
	filling := c.Fill(pieces, s.Project.Trust.Files(), s.Project.note)
	p := injection{s, inv, c}
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

	d, err := p.session.approver.Approve(ctx, formats.Gate{
		Question:    "Run and read this for /" + p.c.Name + " (" + p.c.File + ")?",
		Show:        append(show, "sha256:"+digest),
		Choices:     approveOrReject,
		Digest:      digest,
		NeedsPerson: true,
		Run:         p.inv.Run,
	})
	if errors.As(err, new(*formats.GateOpenError)) {
		for _, line := range show {
			p.session.Project.note("%s", line)
		}
		return formats.Fail(formats.CodeUntrusted,
			"run it on a terminal, or pass --trust=sha256:"+digest+" for exactly this, or --yes",
			"%s runs commands or reads files that you have not approved", p.c.File)
	}
	if err != nil {
		return err
	}

	p.session.Emit(trace.Event{
		Run:     p.inv.Run,
		Kind:    trace.Gate,
		Name:    "/" + p.c.Name,
		Outcome: d.Answer,
		Message: "answered by " + d.By,
		Attrs:   map[string]any{"file": p.c.File, "sha256": digest, "show": show},
	})
	if d.Answer != approveOrReject[0].Label {
		return formats.Fail(formats.CodeDenied, "",
			"the commands and files of /%s were refused", p.c.Name)
	}
	return nil
}

// run gives the output of a script. Its text goes to sh as a file; the arguments are in the
// environment.
func (p injection) run(ctx context.Context, s *dialect.Script) (string, error) {
	if s.Refused != "" {
		p.warn(s, "not run: "+s.Refused)
		return fmt.Sprintf("[not run: %s; it was %s]", s.Refused, s.Source), nil
	}

	dir, err := os.MkdirTemp("", "tercet-prompt-")
	if err != nil {
		return "", formats.Broken(formats.CodeIO, "folder for the commands of a prompt", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is one script in the system's temporary folder
	file := filepath.Join(dir, "command.sh")
	//nolint:forbidigo // a script in a temporary folder of its own
	if err := os.WriteFile(file, []byte(s.Text+"\n"), 0o600); err != nil {
		return "", formats.Broken(formats.CodeIO, "commands of a prompt", err)
	}

	shell := "sh"
	if p.c.Shell == "bash" {
		shell = "bash"
	}
	res, err := p.session.Project.Starter.Run(ctx, proc.Command{
		Argv:      []string{shell, file},
		Dir:       p.session.Project.Dir,
		Env:       append(slices.Clone(s.Env), "TERCET_RUN="+p.inv.Run),
		Private:   true,
		Purpose:   proc.PurposeScript,
		Timeout:   proc.Timeout{Total: scriptTime},
		StdoutCap: scriptOutput,
		StderrCap: scriptOutput,
		Limit:     8 << 20,
	})
	if err != nil {
		return "", formats.Broken(formats.CodeToolUnavailable, "command of "+p.c.File, err)
	}

	text := func(b []byte) string {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
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
	p.session.Project.note("warning: %s:%d: %s", p.c.File, s.Pos.Line, text)
}
