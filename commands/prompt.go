package commands

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
)

// The subagents that run another tool's command file; the second one for files that ask for a
// read-only agent.
const (
	Worker = "general"
	Reader = "reader"
)

// Prompt reads a command file by the rules of another tool, and tells whether it runs as a
// workflow; nil for a file in tercet's own format.
func (l *Library) Prompt(source, file string) (c *dialect.Command, flow bool, err error) {
	if _, foreign := l.Foreign[source]; !foreign && !strings.HasPrefix(source, ownFolder) {
		return nil, false, nil
	}
	src, err := l.read(source, file)
	if err != nil {
		return nil, false, err
	}
	place, ok := l.foreignPlace(source, file, src)
	if !ok {
		return nil, false, nil
	}
	c, err = dialect.Parse(place, file, src)
	return c, err == nil && Flow(c) != nil, err
}

// ownFolder is where the command files of a project are.
const ownFolder = formats.Workspace + "/commands"

// OwnPrompt finds a text for a model in the project's own folder of commands. It runs by the rules
// of Claude Code, as if it were in the folder of that.
func OwnPrompt(name string, src []byte) (place dialect.Place, inside string, ok bool) {
	_, inside, ok = strings.Cut(filepath.ToSlash(name), ownFolder+"/")
	if !ok || !syntax.IsPrompt(name, src, dialect.Keys()) {
		return dialect.Place{}, "", false
	}
	place = dialect.Place{
		Dialect: dialect.Claude,
		Scope:   dialect.Project,
		Dir:     ownFolder,
		Label:   ownFolder,
	}
	return place, inside, true
}

// foreignPlace finds the folder of another tool by whose rules a file of a source is read.
func (l *Library) foreignPlace(source, file string, src []byte) (dialect.Place, bool) {
	if place, ok := l.Foreign[source]; ok {
		return place, true
	}
	place, _, ok := OwnPrompt(display(source, file), src)
	return place, ok
}

// promptFlow is the command that a prompt becomes: one delegated step. Its text is filled in once
// it is compiled.
const promptFlow = `---
command: prompt
description: One delegated step
---

## Workflow Execution

### Step 1: Delegate to %[1]s

~~~yaml step
id: prompt
delegate: %[2]s
with: {prompt: "-"}
~~~

### Step 2: Return

~~~yaml step
return: {message: $steps.prompt.summary, text: $steps.prompt.text}
~~~
`

// promptProgram makes the program of a prompt: text goes to the worker as it is. raw is the rest of
// the line, whose first word may name the task by whose language the worker is chosen.
func (l *Library) promptProgram(c *dialect.Command, text, raw string) (*compile.Program, error) {
	worker, warnings := l.worker(c)
	chosen := worker
	if task, ok := firstTask(raw); ok && len(c.Routing) > 0 {
		var more []formats.Diagnostic
		chosen, more = l.routedWorker(c, worker, task)
		warnings = append(warnings, more...)
	}

	f, err := syntax.Parse(
		"prompt.md",
		[]byte(strings.ReplaceAll(fmt.Sprintf(promptFlow, worker, chosen), "~~~", "```")),
	)
	if err != nil {
		return nil, err
	}

	f.Steps[0].With[0].Value = &syntax.Value{Lit: text}
	if c.Timeout > 0 {
		f.Steps[0].Timeout = &syntax.Timeout{Pos: f.Steps[0].Pos, Total: c.Timeout.Seconds()}
	}

	prog, err := compile.Compile(f, l.Env)
	if err != nil {
		return nil, err
	}

	tree := prog.File // of this program alone
	tree.Name = c.File
	tree.Src = []byte(text)
	prog.Name = c.Name
	prog.Wishes = &c.Wishes
	tree.Front.Description.Text = c.Description
	tree.Front.Hidden = c.Hidden

	prog.Warnings = append(slices.Clone(c.Warnings), warnings...)
	return prog, nil
}

// firstTask is the task that a line names with its first word.
func firstTask(raw string) (int, bool) {
	first, _, _ := strings.Cut(strings.TrimSpace(raw), " ")
	n, err := strconv.Atoi(first)
	return n, err == nil && n > 0
}

// routedWorker is the value of 'delegate' that chooses the worker by the language of a task.
func (l *Library) routedWorker(
	c *dialect.Command, worker string, task int,
) (string, []formats.Diagnostic) {
	var found []formats.Diagnostic
	among := []string{worker}
	choice := []string{"if false then empty"}

	for _, language := range slices.Sorted(maps.Keys(c.Routing)) {
		if language == "" {
			continue
		}
		one := *c
		one.Agent = c.Routing[language]
		name, warnings := l.namedWorker(&one)
		found = append(found, warnings...)
		if !slices.Contains(among, name) {
			among = append(among, name)
		}
		choice = append(choice, fmt.Sprintf("elif . == %q then %q", language, name))
	}

	expr := fmt.Sprintf(
		"[$state.tasks[] | select(.number == %d) | .language] | first | %s else %q end",
		task, strings.Join(choice, " "), worker,
	)
	return "'${{ " + strings.ReplaceAll(expr, "'", "''") + " }}'\namong: [" +
		strings.Join(among, ", ") + "]", found
}

// worker chooses who does it: the subagent that the file names, if it takes a prompt, else the
// default one.
func (l *Library) worker(c *dialect.Command) (string, []formats.Diagnostic) {
	if agent := c.Routing[""]; agent != "" {
		one := *c
		one.Agent = agent
		return l.namedWorker(&one)
	}
	return l.namedWorker(c)
}

// namedWorker is the subagent that a file names.
func (l *Library) namedWorker(c *dialect.Command) (string, []formats.Diagnostic) {
	switch strings.ToLower(c.Agent) {
	case "", "agent", "edit", "build", "general", "general-purpose":
		return Worker, nil
	case "ask", "plan", "explore":
		return Reader, nil
	case "orchestrator", "router":
		found := formats.Found(CodeWorker, c.AgentPos, "take the key away",
			"agent %s only passes commands on, as tercet does itself: %s does the work",
			c.Agent, Worker)
		found.File = c.File
		return Worker, []formats.Diagnostic{found}
	}

	info, ok := l.Env.Agent(c.Agent)
	if !ok {
		info, ok = l.Env.Agent(dialect.AgentName(c.Agent))
	}
	takes := ok && !info.Builtin && !info.Workflow
	if takes && info.Inputs != nil {
		_, takes = info.Inputs["prompt"]
	}

	if takes {
		return info.Name, nil
	}

	message := fmt.Sprintf("no subagent is named %.60q; %s does it", c.Agent, Worker)
	if ok {
		message = fmt.Sprintf("subagent %.60q does not take a prompt; %s does it", c.Agent, Worker)
	}

	found := formats.Found(CodeWorker, c.AgentPos, "add an agent file of that name", "%s", message)
	found.File = c.File
	return Worker, []formats.Diagnostic{found}
}

// CodeWorker warns that another subagent does the work than the one named in the file.
const CodeWorker = "W040"

// runPrompt fills the arguments in, has the marks dealt with, and runs the one step.
func (l *Library) runPrompt(
	ctx context.Context,
	inv formats.Invocation,
	c *dialect.Command,
) (formats.Return, error) {
	if c.Hidden {
		return formats.Return{}, formats.Fail(formats.CodeUsage, "/help lists the commands",
			"/%s is not for people to call: user-invocable is false in %s", c.Name, c.File)
	}

	raw := inv.Raw
	if inv.Words != nil {
		raw = strings.Join(inv.Words, " ") // the quotes were the shell's, not the text's
	}
	if len(raw) > argspec.MaxRaw {
		return formats.Return{}, formats.Fail(formats.CodeUsage,
			"put the text into a file and name that",
			"/%s: expected at most %d bytes of arguments, got %d", c.Name, argspec.MaxRaw, len(raw))
	}

	if err := l.checkNamesake(ctx, c, raw); err != nil {
		return formats.Return{}, err
	}
	if err := l.begin(ctx, inv); err != nil {
		return formats.Return{}, err
	}
	pieces, err := c.Expand(dialect.Args{
		Raw:   raw,
		Words: inv.Words,
		Vars:  l.Variables(inv),
	})
	if err == nil {
		err = c.Refusal(pieces)
	}
	if err != nil {
		return formats.Return{}, err
	}

	text := sourceText(pieces)
	if hasMarks(pieces) && !inv.DryRun && l.Inject != nil {
		text, err = l.Inject(ctx, inv, c, pieces)
		if err != nil {
			return formats.Return{}, err
		}
	}
	prog, err := l.promptProgram(c, text, raw)
	if err != nil {
		return formats.Return{}, err
	}
	if l.Warn != nil && len(prog.Warnings) > 0 {
		l.Warn(prog.Warnings)
	}
	return l.run(ctx, inv, prog, argspec.Values{}, nil)
}

// Variables are the values of the tools' own variables that are known here.
func (l *Library) Variables(inv formats.Invocation) map[string]string {
	out := map[string]string{"CLAUDE_SESSION_ID": inv.Session}
	if l.Dir == "" {
		return out
	}
	out["CLAUDE_PROJECT_DIR"] = l.Dir
	out["workspaceFolder"] = l.Dir
	out["workspaceFolderBasename"] = path.Base(l.Dir)

	place := l.Foreign[inv.Source]
	dir := place.Dir
	if !path.IsAbs(dir) {
		dir = path.Join(l.Dir, dir)
	}
	out["CLAUDE_SKILL_DIR"] = path.Join(dir, path.Dir(inv.File))

	if place.Plugin != "" {
		root := place.Root
		if !path.IsAbs(root) {
			root = path.Join(l.Dir, root)
		}
		out["CLAUDE_PLUGIN_ROOT"] = root
	}
	return out
}

// hasMarks tells whether there is anything to run or to read.
func hasMarks(pieces []dialect.Output) bool {
	return slices.ContainsFunc(pieces, func(o dialect.Output) bool {
		return o.Script != nil || o.Include != nil
	})
}

// sourceText is an expansion with its marks as they stand in the file.
func sourceText(pieces []dialect.Output) string {
	var b strings.Builder
	for _, o := range pieces {
		switch {
		case o.Script != nil:
			b.WriteString(o.Script.Source)
		case o.Include != nil:
			b.WriteString(o.Include.Text())
		default:
			b.WriteString(o.Text)
		}
	}
	return b.String()
}
