package offline

import (
	"context"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
)

// Reviser is the task-reviser, for tasks without a plan: it appends the text to the description
// under the heading Revision. It writes nothing.
type Reviser struct{ offlineRunner }

// Run returns the new text as fields.description.
func (Reviser) Run(_ context.Context, r formats.Request) (formats.Return, error) {
	task, text, err := taskAndText(r, "text")
	if err != nil {
		return formats.Failed(err), nil
	}
	if text == "" {
		return formats.Failed(badInput("text", "a text", "nothing")), nil
	}
	return formats.Return{
		Status: formats.StatusCompleted,
		Summary: fmt.Sprintf("appended %s to the description of task %d",
			formats.Count(strings.Count(text, "\n")+1, "line"), task.Number),
		Fields: map[string]any{"description": appendRevision(task.Description, text)},
	}, nil
}

// appendRevision appends a text under a heading that ends whatever section the description ends in.
func appendRevision(description, text string) string {
	description = strings.TrimSpace(description)
	if description == "" {
		return text
	}

	level := 2
	doc, problems := md.Parse([]byte(description))
	for i := range doc.Blocks {
		if b := &doc.Blocks[i]; b.Kind == md.Heading && b.Depth == 0 {
			level = min(level, b.Level)
		}
	}

	for _, p := range problems {
		if p.Code == md.CodeFenceOpen && len(doc.Blocks) > 0 {
			description += openFenceEnd(doc, p.Pos)
		}
	}
	return description + "\n\n" + strings.Repeat("#", level) + " Revision\n\n" + text
}

// openFenceEnd gives the line that closes a fence which runs to the end of the text; empty for one
// that is closed.
func openFenceEnd(doc *md.Document, at md.Pos) string {
	last := doc.Blocks[len(doc.Blocks)-1]
	if last.Pos != at || last.End.Line != doc.LineCount() {
		return ""
	}

	line := doc.Line(at.Line)[at.Col-1:]
	run := line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	end := strings.TrimSpace(doc.Line(doc.LineCount()))
	if at.Line < doc.LineCount() && len(end) >= len(run) && strings.Trim(end, run[:1]) == "" {
		return ""
	}
	return "\n" + strings.Repeat(" ", last.Indent) + run
}
