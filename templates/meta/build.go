package meta

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/subagents"
	"tercet/templates"
)

// Builder is meta-builder.
type Builder struct {
	Root   *os.Root // the project root
	Agents Agents
	// Lint parses and compiles the files as if they were already written.
	Lint func(files []File) []formats.Diagnostic
	// DryRun runs the named command of the files without effects.
	DryRun func(ctx context.Context, files []File, name string) (formats.Return, error)
	// Catalog lists the existing commands, which a new one may hide.
	Catalog *commands.Catalog
	// Fills reports whether a model can write texts of the files; nil: no model.
	Fills func() bool
	// Wrote is told which files were written; nil: nobody is.
	Wrote func(files []File)
}

var _ subagents.Agent = (*Builder)(nil)

// Run makes the files, checks them, and writes all or none.
func (b *Builder) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	if b.Root == nil {
		return formats.Return{}, formats.Unset("a project root")
	}
	d, err := b.newDraft(r.Input)
	if err != nil {
		return failedReturn(err), nil
	}

	switch action := r.Input["action"]; action {
	case "draft", "write":
	case "fill":
		if _, prompt := r.Input["from"].(string); prompt {
			return b.rewrite(ctx, d, r.Input["texts"])
		}
		return b.fill(d, r.Input["texts"]), nil
	default:
		return failedReturn(formats.Fail(formats.CodeValidationFailed, "name one of them",
			"expected action draft, fill or write, got %v", action)), nil
	}

	if ret, ok := b.lintDraft(d); !ok {
		return ret, nil
	}
	ret, err := b.dryRunDraft(ctx, d)
	if err != nil || ret.Status == formats.StatusFailed {
		return ret, err
	}
	if r.Input["action"] == "draft" {
		return b.draftReturn(d), nil
	}

	if err := b.write(ctx, d.files); err != nil {
		if formats.CodeOf(err) == formats.CodePrecondition {
			return failedReturn(err), nil
		}
		return formats.Return{}, err
	}
	// What an agent wrote may start programs, which a yes to this question did not mean.
	if byAgent := formats.As[bool](r.Input["by_agent"]); b.Wrote != nil && !byAgent {
		b.Wrote(d.files)
	}
	return formats.Return{Status: formats.StatusCompleted, Summary: "/" + d.Name + " written"}, nil
}

// Lines are some lines of a prompt, and what became of them.
type Lines struct {
	From    int      `json:"from"`
	To      int      `json:"to"`
	Title   string   `json:"title"`
	Becomes []string `json:"becomes"`
}

// Draft is what Adopt wrote.
type Draft struct {
	File  string   // its path
	Notes []string // what it did not translate, and what the draft hides
	Lines []Lines  // what became of the prompt, in its order
	// From is the prompt as it was read, and Files are what was written.
	From  []byte
	Files []File
	// Hides are the files of the commands that it hides.
	Hides []string
}

// Adopt writes the workflow made from another tool's prompt, without changing existing files. It
// asks accept before that; its error leaves all as it was.
func (b *Builder) Adopt(
	ctx context.Context, file string, accept func(Draft) error,
) (Draft, error) {
	d, err := b.adopt(file, nil)
	if err != nil {
		return Draft{}, err
	}

	ret, ok := b.lintDraft(d)
	if ok {
		ret, err = b.dryRunDraft(ctx, d)
	}

	out := Draft{Lines: d.lines, From: d.prompt, Files: d.files, Hides: b.hiddenCommands(d)}
	if len(d.files) > 0 {
		out.File = d.files[len(d.files)-1].Name
	}
	if err == nil && len(ret.Errors) == 0 {
		ret = b.draftReturn(d)
		if err = accept(out); err == nil {
			err = b.write(ctx, d.files)
		}
	}

	out.Notes = ret.Warnings
	if len(ret.Errors) > 0 {
		e := ret.Errors[0]
		err = errors.Join(err, formats.Fail(e.Code, e.Recommendation, "%s", e.Message))
	}
	return out, err
}

// adopt makes the draft of a prompt, or of a workflow in YAML.
func (b *Builder) adopt(file string, name any) (*draft, error) {
	if isScore(file) {
		return b.adoptScore(file, name)
	}
	return b.translate(file, name)
}

// newDraft makes the draft of an action: from the answers, from a file, or from the files of an
// earlier action.
func (b *Builder) newDraft(in map[string]any) (*draft, error) {
	file, from := in["from"].(string)
	switch {
	case in["action"] != "draft":
		return draftFrom(in["files"])
	case from:
		return b.adopt(file, in["name"])
	}

	a, err := readAnswers(in)
	if err != nil {
		return nil, err
	}
	if a.auto {
		a.Args = templates.NeededArgs(a.shape, a.agents, a.Purpose, b.Agents.Agent)
	}

	d := &draft{answers: a}
	d.newAgents, err = a.newSubagents(b.Agents)
	if err == nil {
		err = b.compose(d)
	}
	return d, err
}

// draftFrom restores a draft from the files of an earlier action: one command, and subagents.
func draftFrom(files any) (*draft, error) {
	d := &draft{}
	list := formats.As[[]any](files)
	for _, one := range list {
		m := formats.As[map[string]any](one)
		name := formats.As[string](m["name"])
		text := formats.As[string](m["text"])
		stem := strings.TrimSuffix(path.Base(name), ".md")
		if dir := path.Dir(name); dir == commandFolder && d.Name == "" {
			d.Name = stem
		} else if dir != subagentFolder {
			stem = ""
		}

		if !templates.ValidName(stem) || !strings.HasSuffix(name, ".md") {
			return nil, formats.Fail(formats.CodeValidationFailed, "pass the files of a draft",
				"expected one command and its subagents as files, got %q", name)
		}
		d.files = append(d.files, File{Name: name, Data: []byte(text)})
	}

	if d.Name == "" {
		return nil, formats.Fail(
			formats.CodeValidationFailed,
			"pass the files of a draft",
			"expected files, got no command",
		)
	}
	return d, nil
}

// domainDocuments is the domain of commands that write and start nothing.
const domainDocuments = "documents"

// draft is a set of files before they are written.
type draft struct {
	answers
	newAgents  []string // subagents that are new
	files      []File   // new subagents first, the command last
	warnings   []string
	dryRunText string  // what the dry run showed
	prompt     []byte  // the translated prompt, as it was read
	source     string  // path of the translated prompt
	followUps  []any   // tasks to create: {title, description}
	lines      []Lines // what became of the translated prompt
}

// compose renders every file, and refuses one that exists.
func (b *Builder) compose(d *draft) (err error) {
	var taken error
	place := func(folder, name string) string {
		file, err := b.newPath(folder, name)
		taken = errors.Join(taken, err)
		return file
	}
	for _, name := range d.newAgents {
		s := templates.Subagent{
			Name:    name,
			Command: d.Name,
			Purpose: d.Purpose,
			Args:    d.Args,
			Program: d.programs[name],

			Documents: d.domain == domainDocuments,
		}

		role, _ := s.Role()
		if !s.IsPlain() {
			s.Contract, s.Output, s.Policy, err = contract(role)
			if err != nil {
				return err
			}
		}
		src, err := templates.RenderSubagent(s)
		if err != nil {
			return err
		}
		d.files = append(d.files, File{Name: place(subagentFolder, name), Data: src})
		if _, err := b.Root.Stat(s.Program); s.Program != "" && err != nil {
			d.addFollowUp(
				"Write "+s.Program,
				"The subagent "+name+" of /"+d.Name+" runs it: it reads a request as JSON on "+
					"standard input and gives a return as JSON (docs/exec.md). What it is for: "+
					d.Purpose,
			)
		}
	}

	command := place(commandFolder, d.Name)
	if taken != nil {
		return taken
	}
	agents, found := With(b.Agents, d.files)
	if broken := (&formats.Diagnostics{List: found, Of: formats.CodeBug}); broken.HasErrors() {
		return broken
	}

	for _, name := range d.agents {
		if info, ok := agents.Agent(name); ok {
			d.Agents = append(d.Agents, info)
		}
	}

	src, err := templates.Render(d.shape, d.Data)
	if err != nil {
		return err
	}
	d.files = append(d.files, File{Name: command, Data: src})
	return nil
}

// newPath is the path of a new file; the error says why it cannot be created.
func (b *Builder) newPath(folder, name string) (string, error) {
	if info, err := b.Root.Stat(formats.Workspace); err != nil || !info.IsDir() {
		return "", formats.Fail(formats.CodeNoWorkspace, "run 'tercet init'",
			"expected folder %s, got none", formats.Workspace)
	}

	file := folder + "/" + name + ".md"
	_, err := b.Root.Lstat(file)
	switch {
	case err == nil:
		return file, alreadyExists(file)
	case !errors.Is(err, fs.ErrNotExist):
		return file, writeError(file, err)
	}
	return file, nil
}

// addFollowUp records open work as a task.
func (d *draft) addFollowUp(title, description string) {
	d.followUps = append(d.followUps, map[string]any{"title": title, "description": description})
}

// lintDraft lints the files. Every finding is a defect of the templates and is reported.
func (b *Builder) lintDraft(d *draft) (formats.Return, bool) {
	found := b.Lint(slices.Clone(d.files))
	var errs []formats.ReturnError
	for _, f := range found {
		if f.Severity == formats.SeverityWarning {
			d.warnings = append(d.warnings, f.Error())
			continue
		}
		errs = append(errs, formats.ReturnError{
			Type:           formats.ErrorValidation,
			Code:           formats.CodeBug,
			Message:        f.Error(),
			Recommendation: f.Help,
		})
	}

	if len(errs) == 0 {
		return formats.Return{}, true
	}
	return d.templateFault("a file that does not compile", errs), false
}

// dryRunDraft runs the command without effects. The return is a failed one, or empty.
func (b *Builder) dryRunDraft(ctx context.Context, d *draft) (formats.Return, error) {
	ret, err := b.DryRun(ctx, slices.Clone(d.files), d.Name)
	if err != nil {
		return formats.Return{}, err
	}
	if ctx.Err() != nil {
		return formats.Return{}, context.Cause(ctx)
	}
	if ret.Outcome().Passes() {
		d.warnings = append(d.warnings, ret.Warnings...)
		d.dryRunText = ret.Text
		return formats.Return{}, nil
	}
	errs := []formats.ReturnError{{
		Type:    formats.ErrorValidation,
		Code:    formats.CodeBug,
		Message: "dry run of /" + d.Name + ": " + ret.Summary,
	}}
	return d.templateFault("a command that does not run dry", append(errs, ret.Errors...)), nil
}

// write creates the files in order. If one cannot be created, those before it are removed.
func (b *Builder) write(ctx context.Context, files []File) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	for i, f := range files {
		err := b.create(f)
		if err == nil {
			continue
		}

		made := i
		if formats.CodeOf(err) == formats.CodeNotDurable {
			made++ // it exists
		}
		for _, before := range slices.Backward(files[:made]) {
			if gone := atomicfile.Remove(b.Root, before.Name); gone != nil {
				err = errors.Join(err, writeError(before.Name, gone))
			}
		}
		return err
	}
	return nil
}

func (b *Builder) create(f File) error {
	if err := atomicfile.MkdirAll(b.Root, path.Dir(f.Name), 0); err != nil {
		return writeError(f.Name, err)
	}
	err := atomicfile.Create(b.Root, f.Name, f.Data, 0)
	switch {
	case errors.Is(err, fs.ErrExist):
		return alreadyExists(f.Name) // it came up in the meantime
	case err != nil:
		return writeError(f.Name, err)
	}
	return nil
}

// alreadyExists is the error for an existing file.
func alreadyExists(file string) error {
	help := "choose another name, or remove the file"
	if strings.HasPrefix(file, subagentFolder) {
		help = "the file is there but no subagent came of it: run 'tercet lint " + file + "'"
	}
	return formats.Fail(formats.CodePrecondition, help, "%s exists and is not overwritten", file)
}

// writeError is the error of writing or removing a file; with NOT_DURABLE it exists but may not
// survive a power cut.
func writeError(file string, err error) error {
	out := formats.OnFile("write", file, err)
	if _, ok := errors.AsType[*atomicfile.NotDurableError](err); ok {
		out.Code = formats.CodeNotDurable
	}
	return out
}
