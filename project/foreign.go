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

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/checkup"
	"tercet/internal/config"
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
		Skip:  p.noteExported,
	}
}

// DevcontainerAdvice says in a line how workers get the image of the project's development
// container. It is empty without one, and where the configuration names an image.
func (p *Project) DevcontainerAdvice() string {
	image, file := dialect.Devcontainer(p.Trust.FS("."))
	if image == "" || !config.IsImage(image) || p.Config.SandboxOptions.Image != "" {
		return ""
	}
	return fmt.Sprintf("%s names the image %s; `sandbox: {image: %q}` in %s runs workers in it",
		file, image, image, ConfigFile)
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

// RewriteCalls spells the command names in a text of a source so that they lead to what its author
// meant. A file of another tool that runs as a workflow has its name on purpose.
func (p *Project) RewriteCalls(source, text string) string {
	library := p.library()
	return p.Table.RewriteCalls(source, text, func(source, file string) bool {
		prompt, flow, err := library.Prompt(source, file)
		return prompt != nil && !flow || err != nil
	})
}

// replacementNotes says which shipped workers the project has its own for.
func replacementNotes(set *subagents.Set) (out []string) {
	var own []string
	for _, name := range set.Replaced() {
		if set.PassedOver(name) != "" {
			own = append(own, name)
			continue
		}
		def, _, _ := set.Lookup(name, "")
		out = append(
			out,
			fmt.Sprintf("subagent %s is %s; the shipped one is %s%s",
				name, def.File, subagents.Shipped, name),
		)
	}

	if own != nil {
		out = append(out, bypassNote(set, own...))
	}
	return out
}

// bypassNote says that shipped commands do not call agents of the project.
func bypassNote(set *subagents.Set, names ...string) string {
	var files, shipped, prefer []string
	for _, name := range names {
		files = append(files, set.PassedOver(name))
		shipped = append(shipped, subagents.Shipped+name)
		prefer = append(prefer, name+": project")
	}

	return fmt.Sprintf(
		"your workflows call %s; shipped ones call %s, which keep their contracts"+
			" (`prefer: {%s}` in %s/config.yaml puts yours there)",
		strings.Join(files, ", "), strings.Join(shipped, ", "), strings.Join(prefer, ", "),
		formats.Workspace)
}

// noteBypassed says, once, which agents of the project a shipped command passes over.
func (s *Session) noteBypassed(prog *compile.Program) {
	if !prog.IsLibrary() {
		return
	}
	for _, name := range prog.Subagents() {
		if s.Set.PassedOver(name) != "" {
			s.Project.Host.Frontend.NoteOnce("apart "+name, bypassNote(s.Set, name))
		}
	}
}

// warnPreferences tells of preferences of the configuration that are about no command and about no
// subagent.
func (p *Project) warnPreferences(set *subagents.Set) {
	if p.Table == nil {
		return
	}
	for _, name := range p.Table.UnmatchedPreferences() {
		_, plain, _ := strings.Cut(name, ":")
		if set.FollowsPreference(plain) {
			continue
		}
		p.Host.Frontend.NoteOnce(
			"prefer "+name,
			fmt.Sprintf(
				"warning: %s: `prefer` names /%s, and there is neither this command nor this"+
					" subagent; the scopes here are %s",
				p.Config.Origin("prefer."+plain), name, strings.Join(p.Table.Scopes(), ", ")),
		)
	}
}

// agentTools are the folders of other tools with agents in a set.
func (p *Project) agentTools(set *subagents.Set) []Tool {
	var out []Tool
	for _, folder := range p.agentFolders() {
		one := checkup.AgentTool(folder.Label, folder.Dialect.String(), nil)
		for _, name := range set.Names() {
			def, _, _ := set.Lookup(name, "")
			inside := strings.HasPrefix(def.File, folder.Label+"/")
			if inside && !slices.Contains(one.Agents, def.Info.Name) {
				one.Agents = append(one.Agents, def.Info.Name)
			}
		}

		known := func(o Tool) bool { return o.Source == one.Source }
		if len(one.Agents) > 0 && !slices.ContainsFunc(out, known) {
			out = append(out, one)
		}
	}
	return out
}

// ForeignTools gives the folders of other tools with commands or agents, and says what their agents
// change here, before there is anything that they could work with.
func (p *Project) ForeignTools() ([]Tool, []string) {
	noRunner := func(subagents.Definition) subagents.Agent {
		return failingAgent(nil)
	}
	set, err := subagents.Load(noRunner, p.subagentSources()...)
	notes, bad := set.AddForeign(p.agentFolders(), p.Config.Prefer, noRunner)

	out := replacementNotes(set)
	for _, d := range notes {
		if subagents.OfNames(d) {
			out = append(out, d.Error()+formats.Prefixed("; ", d.Help))
		}
	}
	if err = errors.Join(err, bad); err != nil {
		out = append(out, fmt.Sprintf("warning: %v", err))
	}

	if p.Table == nil {
		return nil, out
	}
	return checkup.Tools(p.Table, p.agentTools(set)), out
}

// noteExported records a file that tercet export wrote, for 'tercet which'.
func (p *Project) noteExported(at dialect.Place, inside string) {
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

// belongsToProject reports whether a place of another tool came with the project; a plugin may lie
// in it as well.
func belongsToProject(p dialect.Place) bool {
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
	defer os.RemoveAll(dir) //nolint:errcheck // one script in the temporary folder may stay

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
