package meta

import (
	"context"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/merge3"
	"tercet/templates"
)

// maxDiffLines bounds the lines of a diff that a question shows.
const maxDiffLines = 400

// rewrite puts the command that a model made of a prompt in the place of the draft's. It is held to
// what the draft is held to: its name, its length, lint and a dry run. If something is wrong with
// it, `bad` lists that, and the draft stays.
func (b *Builder) rewrite(ctx context.Context, d *draft, texts any) (formats.Return, error) {
	written := formats.As[map[string]any](texts)
	text := formats.As[string](written["command"])
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) + "\n"
	next := &draft{answers: d.answers, files: slices.Clone(d.files)}
	before := ""
	for i, f := range next.files {
		if path.Dir(f.Name) == commandFolder {
			before = string(f.Data)
			next.files[i].Data = []byte(text)
		}
	}

	bad := b.checkText(ctx, next, text)
	if ctx.Err() != nil {
		return formats.Return{}, context.Cause(ctx)
	}

	if len(bad) > 0 {
		next = d
	}
	for _, title := range formats.As[[]any](written["tasks"]) {
		next.addFollowUp(formats.As[string](title), "Left by /meta when it made /"+d.Name+".")
	}

	ret := next.filesReturn()
	ret.Warnings = next.warnings
	ret.Fields["bad"] = bad
	ret.Summary = "/" + d.Name + " is written anew"
	if len(bad) > 0 {
		ret.Summary = formats.Count(len(bad), "finding") + " in the new text of /" + d.Name
		return ret, nil
	}

	ret.Text = strings.Join(merge3.Diff(before, text, maxDiffLines), "\n")
	dry := strings.ReplaceAll(strings.TrimSpace(next.dryRunText), "\n", "\n  ")
	about := "- " + commandFolder + "/" + d.Name +
		".md: written by an agent out of the prompt\n" +
		"\nThe files are yours to edit; 'tercet lint' checks them.\n" +
		"\nThe dry run of it:\n\n  " + dry + "\n"
	ret.Fields["written"] = formats.Clip(about, formats.MaxText/4)
	return ret, nil
}

// checkText says what is wrong with a new text of the draft's command.
func (b *Builder) checkText(ctx context.Context, d *draft, text string) []any {
	bad := []any{}
	switch lines := strings.Count(text, "\n"); {
	case text == "\n":
		return append(bad, "expected the text of the file in the field command, got nothing")
	case lines > templates.MaxOutline:
		return append(bad, "expected at most "+formats.Count(templates.MaxOutline, "line")+
			", got "+formats.Count(lines, "line"))
	case !strings.Contains(text, "\n## Workflow Execution\n"):
		return append(bad, "expected a section '## Workflow Execution' with the steps, got none")
	}

	for _, f := range b.Lint(slices.Clone(d.files)) {
		if f.Severity == formats.SeverityWarning {
			d.warnings = append(d.warnings, f.Error())
			continue
		}
		bad = append(bad, strings.TrimSpace(f.Error()+" "+f.Help))
	}
	if len(bad) > 0 {
		return bad
	}

	ret, err := b.dryRunDraft(ctx, d)
	if err != nil {
		return append(bad, err.Error())
	}
	for _, e := range ret.Errors {
		bad = append(bad, strings.TrimSpace(e.Message+" "+e.Recommendation))
	}
	return bad
}
