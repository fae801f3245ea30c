package meta

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/templates"
)

// failedReturn is the return for unusable answers: one error for each problem.
func failedReturn(err error) formats.Return {
	ret := formats.Failed(err)
	ret.Errors = nil
	for _, one := range flattenErrors(err) {
		ret.Errors = append(ret.Errors, formats.Failed(one).Errors...)
	}
	return ret
}

// flattenErrors splits joined errors and lists of findings.
func flattenErrors(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, one := range j.Unwrap() {
			out = append(out, flattenErrors(one)...)
		}
		return out
	}
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		var out []error
		for _, one := range d.List {
			out = append(out, &formats.Failure{
				Code:    d.ErrorCode(),
				Message: one.Error(),
				Help:    one.Help,
			})
		}
		return out
	}
	return []error{err}
}

// templateFault is the return for a defect of a template.
func (d *draft) templateFault(what string, errs []formats.ReturnError) formats.Return {
	return formats.Return{
		Status:   formats.StatusFailed,
		Errors:   errs,
		Warnings: d.warnings,
		Class:    formats.ClassOf(errs[0]),
		Summary:  fmt.Sprintf("the template %s gave %s; nothing was written", d.shape, what),
	}
}

// filesReturn is the return with the files.
func (d *draft) filesReturn() formats.Return {
	files := []any{}
	for _, f := range d.files {
		files = append(files, map[string]any{"name": f.Name, "text": string(f.Data)})
	}
	left := append([]any{}, d.followUps...)
	return formats.Return{
		Status: formats.StatusCompleted,
		Fields: map[string]any{"files": files, "name": d.Name, "left": left},
	}
}

// draftReturn is the return of a draft.
func (b *Builder) draftReturn(d *draft) formats.Return {
	ret := d.filesReturn()
	ret.Summary = "/" + d.Name
	ret.Warnings = append(d.warnings, b.fileWarnings(d)...)
	if len(d.newAgents) > 0 {
		ret.Summary += ", with the new subagents " + strings.Join(d.newAgents, ", ")
	}

	var text strings.Builder
	for _, f := range d.files {
		fmt.Fprintf(&text, "- %s: %s\n", f.Name, d.describe(f))
	}
	if d.source != "" {
		ret.Fields["hides"] = b.hiddenCommands(d)
	}

	fromPrompt := d.source != "" && !isScore(d.source)
	ret.Fields["fill"] = b.Fills != nil && b.Fills() && (d.shape != "" || fromPrompt)
	if fromPrompt && ret.Fields["fill"] == true {
		ret.Fields["reference"] = commands.Reference()
	}

	for _, line := range Shown(d.source, d.lines) {
		text.WriteString("\n    " + line)
	}
	if len(d.lines) > 0 {
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "\nRun it: /%s", d.Name)
	for _, a := range d.Args {
		text.WriteString(" " + a.Usage())
	}

	text.WriteString("\n\nThe files are yours to edit; 'tercet lint' checks them.\n")

	if d.dryRunText != "" {
		fmt.Fprintf(&text, "\nThe dry run of it:\n\n  %s\n",
			strings.ReplaceAll(strings.TrimSpace(d.dryRunText), "\n", "\n  "))
	}
	ret.Text = formats.Clip(text.String(), formats.MaxText/4)
	return ret
}

// Shown is what became of the lines of a prompt, as text.
func Shown(source string, list []Lines) []string {
	var out []string
	for _, l := range list {
		at := fmt.Sprintf("%s:%d-%d", source, l.From, l.To)
		if l.Title != "" {
			at += " " + formats.Clip(l.Title, 60)
		}
		out = append(out, at+" -> "+strings.Join(l.Becomes, "; "))
	}
	return out
}

// describe describes a file briefly.
func (d *draft) describe(f File) string {
	if d.source != "" {
		return "translated from " + d.source
	}
	if !f.isSubagent() {
		return fmt.Sprintf("shape %s, %s", d.shape, strings.Join(d.agents, ", "))
	}

	name := strings.TrimSuffix(path.Base(f.Name), ".md")
	if d.programs[name] != "" {
		return "new subagent, whose work the program " + d.programs[name] + " does"
	}
	s := templates.Subagent{Name: name, Args: d.Args, Documents: d.domain == domainDocuments}
	role, told := s.Role()
	if s.IsPlain() {
		return fmt.Sprintf("new subagent of role %s, which may %s", role, s.Tools())
	}

	why := "taken from its name"
	if !told {
		why = "because its name names none: it reads and reports, and changes nothing"
	}
	return fmt.Sprintf(
		"new subagent of role %s, %s; without another runner the offline %s does its work",
		role, why, role,
	)
}

// fileWarnings are warnings about the files.
func (b *Builder) fileWarnings(d *draft) []string {
	var out []string
	for _, name := range d.newAgents {
		for _, near := range nearest.Names(name, b.Agents.Names()) {
			if !strings.Contains(name, near) { // api-reviewer is no misspelt reviewer
				out = append(out, fmt.Sprintf("subagent %s is new; was %s meant?", name, near))
			}
		}
	}

	for i, info := range d.Agents {
		runs := templates.HasOfflineWorker(info) ||
			len(info.Runner) > 0 && !slices.Contains(info.Runner, "offline")
		if !runs && slices.Index(d.agents, info.Name) == i {
			out = append(
				out,
				fmt.Sprintf("the offline runner cannot do the work of a %s: %s needs an agent CLI",
					info.Role, info.Name),
			)
		}
	}

	for _, file := range b.hiddenCommands(d) {
		out = append(
			out,
			fmt.Sprintf("as long as %s is there, /%s hides the command in %s; "+
				"'tercet which %s' says how that one is called",
				d.files[len(d.files)-1].Name, d.Name, file, d.Name),
		)
	}

	return out
}

// hiddenCommands are the files of the commands that the draft hides once it is written.
func (b *Builder) hiddenCommands(d *draft) []string {
	out := []string{}
	for _, e := range b.Catalog.Entries {
		if e.Name == d.Name {
			out = append(out, path.Join(e.Source, e.File))
		}
	}
	return out
}
