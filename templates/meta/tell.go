package meta

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/templates"
)

// failed is the return of answers that nothing can be made of: one error for each thing that is wrong.
func failed(err error) formats.Return {
	ret := formats.Failed(err)
	ret.Errors = nil
	for _, one := range each(err) {
		ret.Errors = append(ret.Errors, formats.Failed(one).Errors...)
	}
	return ret
}

// each takes errors apart that were joined, and lists of findings.
func each(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, one := range j.Unwrap() {
			out = append(out, each(one)...)
		}
		return out
	}
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		var out []error
		for _, one := range d.List {
			out = append(out, &formats.Failure{Code: d.ErrorCode(), Message: one.Error(), Help: one.Help})
		}
		return out
	}
	return []error{err}
}

// broken is the return of a template that does not hold what it promises.
func (d *draft) broken(what string, errs []formats.ReturnError) formats.Return {
	return formats.Return{
		Status: formats.StatusFailed, Errors: errs, Warnings: d.warnings, Class: formats.ClassOf(errs[0]),
		Summary: fmt.Sprintf("the template %s gave %s; nothing was written", d.shape, what),
	}
}

// tell is the return of files that were written.
func (b *Builder) tell(d *draft) formats.Return {
	ret := formats.Return{
		Status: formats.StatusCompleted, Summary: "/" + d.name + " written", Warnings: append(d.warnings, b.notes(d)...),
		NextSteps: "/" + d.name + " <task_number>",
	}
	if len(d.fresh) > 0 {
		ret.Summary += ", with the new subagents " + strings.Join(d.fresh, ", ")
	}
	var files []any
	var text strings.Builder
	text.WriteString("Written:\n\n")
	for _, f := range d.files {
		files = append(files, f.Name)
		fmt.Fprintf(&text, "- %s: %s\n", f.Name, d.about(f))
	}
	ret.Fields = map[string]any{"files": files}
	fmt.Fprintf(&text, "\nRun it: /%s <task_number>\n\nThe files are yours to edit; 'tercet lint' checks them.\n", d.name)
	if d.dry != "" {
		fmt.Fprintf(&text, "\nThe dry run of it:\n\n    %s\n", strings.ReplaceAll(strings.TrimSpace(d.dry), "\n", "\n    "))
	}
	ret.Text = text.String()
	if len(ret.Text) > formats.MaxText {
		ret.Text = strings.ToValidUTF8(ret.Text[:formats.MaxText], "")
	}
	return ret
}

// about says in a few words what a file is.
func (d *draft) about(f File) string {
	if !f.isSubagent() {
		return fmt.Sprintf("shape %s, %s", d.shape, strings.Join(d.agents, ", "))
	}
	role, told := templates.RoleOf(strings.TrimSuffix(path.Base(f.Name), ".md"))
	why := "taken from its name"
	if !told {
		why = "as its name tells none: it reads and reports, and changes nothing"
	}
	return fmt.Sprintf("new subagent of role %s, %s; without another runner the offline %s does its work", role, why, role)
}

// notes are warnings about what was written.
func (b *Builder) notes(d *draft) []string {
	var out []string
	for _, name := range d.fresh {
		for _, near := range nearest.Names(name, b.Agents.Names()) {
			if !strings.Contains(name, near) { // api-reviewer is no misspelt reviewer
				out = append(out, fmt.Sprintf("subagent %s is new; was %s meant?", name, near))
			}
		}
	}
	for i, info := range d.infos(d.known) {
		runs := templates.Offline(info) || len(info.Runner) > 0 && !slices.Contains(info.Runner, "offline")
		if !runs && slices.Index(d.agents, info.Name) == i {
			out = append(out, fmt.Sprintf("the offline runner has no %s: for %s the command needs another runner", info.Role,
				info.Name))
		}
	}
	if b.Hides != nil {
		if file, ok := b.Hides(d.name); ok {
			out = append(out, fmt.Sprintf("/%s now hides the command in %s", d.name, file))
		}
	}
	return out
}
