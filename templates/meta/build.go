package meta

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/subagents"
	"tercet/templates"
)

// Builder is meta-builder. Root, Agents, Lint and DryRun are needed.
type Builder struct {
	Root   *os.Root // the project root
	Agents Agents
	// Lint parses and compiles the files as they would stand beside what there is.
	Lint func(files []File) []formats.Diagnostic
	// DryRun runs the command of the name out of the files without any effect.
	DryRun func(ctx context.Context, files []File, name string) (formats.Return, error)
	// Hides names the file of a command that the new one would hide, such as a shipped one; nil knows of none.
	Hides func(name string) (file string, ok bool)
}

var _ subagents.Agent = (*Builder)(nil)

// Run makes the files, checks them, and writes them all or none.
func (b *Builder) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	switch {
	case b.Root == nil:
		return formats.Return{}, formats.Unset("a project root")
	case b.Agents == nil:
		return formats.Return{}, formats.Unset("subagents")
	case b.Lint == nil:
		return formats.Return{}, formats.Unset("a linter")
	case b.DryRun == nil:
		return formats.Return{}, formats.Unset("a dry run")
	}
	a, err := read(r.Input)
	if err != nil {
		return failed(err), nil
	}
	d := &draft{answers: a, fresh: a.unknown(b.Agents)}
	if err := b.compose(d); err != nil {
		return failed(err), nil
	}
	if ret, ok := b.check(d); !ok {
		return ret, nil
	}
	ret, err := b.dry(ctx, d)
	if err != nil || ret.Status == formats.StatusFailed {
		return ret, err
	}
	if err := b.write(ctx, d.files); err != nil {
		if formats.CodeOf(err) == formats.CodePrecondition {
			return failed(err), nil
		}
		return formats.Return{}, err
	}
	return b.tell(d), nil
}

// draft is what is on its way to the disk.
type draft struct {
	answers
	fresh    []string // subagents that are new
	files    []File   // new subagents first, the command last
	known    Agents   // with the new ones
	warnings []string
	dry      string // what the dry run showed
}

// compose renders every file, and refuses one whose place is taken.
func (b *Builder) compose(d *draft) error {
	if info, err := b.Root.Stat(formats.Workspace); err != nil || !info.IsDir() {
		return formats.Fail(formats.CodeNoWorkspace, "run 'tercet init'", "expected folder %s, got none", formats.Workspace)
	}
	var taken error
	place := func(folder, name string) string {
		file := folder + "/" + name + ".md"
		switch _, err := b.Root.Lstat(file); {
		case err == nil:
			taken = errors.Join(taken, exists(file))
		case !errors.Is(err, fs.ErrNotExist):
			taken = errors.Join(taken, onWrite(file, err))
		}
		return file
	}
	for _, name := range d.fresh {
		role, _ := templates.RoleOf(name)
		lines, output, policy, err := contract(role)
		if err != nil {
			return err
		}
		src, err := templates.RenderSubagent(templates.Subagent{
			Name: name, Command: d.name, Purpose: d.purpose, Contract: lines, Output: output, Policy: policy,
		})
		if err != nil {
			return err
		}
		d.files = append(d.files, File{Name: place(subagentFolder, name), Data: src})
	}
	command := place(commandFolder, d.name)
	if taken != nil {
		return taken
	}
	agents, found := With(b.Agents, d.files)
	if broken := (&formats.Diagnostics{List: found, Of: formats.CodeBug}); broken.HasErrors() {
		return broken
	}
	d.known = agents
	src, err := templates.Render(d.shape, templates.Data{Name: d.name, Purpose: d.purpose, Agents: d.infos(agents)})
	if err != nil {
		return err
	}
	d.files = append(d.files, File{Name: command, Data: src})
	return nil
}

// check lints the files. What is wrong with them is a defect of the templates, and every finding is told.
func (b *Builder) check(d *draft) (formats.Return, bool) {
	found := b.Lint(slices.Clone(d.files))
	var errs []formats.ReturnError
	for _, f := range found {
		if f.Severity == formats.SeverityWarning {
			d.warnings = append(d.warnings, f.Error())
			continue
		}
		errs = append(errs, formats.ReturnError{
			Type: formats.ErrorValidation, Code: formats.CodeBug, Message: f.Error(), Recommendation: f.Help,
		})
	}
	if len(errs) == 0 {
		return formats.Return{}, true
	}
	return d.broken("a file that does not compile", errs), false
}

// dry runs the command without effects. The return is a failed one, or empty.
func (b *Builder) dry(ctx context.Context, d *draft) (formats.Return, error) {
	ret, err := b.DryRun(ctx, slices.Clone(d.files), d.name)
	if err != nil {
		return formats.Return{}, err
	}
	if ctx.Err() != nil {
		return formats.Return{}, context.Cause(ctx)
	}
	if ret.Outcome().Passes() {
		d.warnings = append(d.warnings, ret.Warnings...)
		d.dry = ret.Text
		return formats.Return{}, nil
	}
	errs := []formats.ReturnError{{
		Type: formats.ErrorValidation, Code: formats.CodeBug,
		Message: "dry run of /" + d.name + ": " + ret.Summary,
	}}
	return d.broken("a command that does not run dry", append(errs, ret.Errors...)), nil
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
			made++ // it is there
		}
		for _, before := range slices.Backward(files[:made]) {
			if gone := atomicfile.Remove(b.Root, before.Name); gone != nil {
				err = errors.Join(err, onWrite(before.Name, gone))
			}
		}
		return err
	}
	return nil
}

func (b *Builder) create(f File) error {
	if err := atomicfile.MkdirAll(b.Root, path.Dir(f.Name), 0); err != nil {
		return onWrite(f.Name, err)
	}
	switch err := atomicfile.Create(b.Root, f.Name, f.Data, 0); {
	case errors.Is(err, fs.ErrExist):
		return exists(f.Name) // it came up in the meantime
	case err != nil:
		return onWrite(f.Name, err)
	}
	return nil
}

// exists refuses to overwrite a file.
func exists(file string) error {
	help := "choose another name, or remove the file"
	if strings.HasPrefix(file, subagentFolder) {
		help = "the file is there but no subagent came of it: run 'tercet lint " + file + "'"
	}
	return formats.Fail(formats.CodePrecondition, help, "%s exists and is not overwritten", file)
}

// onWrite is a file that was not written, or not taken back; NOT_DURABLE is there but may not survive a loss of power.
func onWrite(file string, err error) error {
	out := formats.OnFile("write", file, err)
	if _, ok := errors.AsType[*atomicfile.NotDurableError](err); ok {
		out.Code = formats.CodeNotDurable
	}
	return out
}
