package formats

import (
	"path"
	"slices"
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/md"
)

// Complete adds what a document's profile requires and the document lacks. It changes no existing
// text except the mark of a phase, which gets its brackets. It makes no change that would alter the
// phases or their commands, or that does not fix its finding.
func Complete(profile, file string, src []byte) (text []byte, made []Diagnostic) {
	doc, found := ParseDocument(profile, file, src)
	failed := map[string]bool{}
	for found != nil {
		var todo []Diagnostic
		for _, d := range found.List {
			if d.Fix != nil && !failed[d.Message] {
				todo = append(todo, d)
			}
		}
		if len(todo) == 0 {
			break
		}
		next, done := applyFixes(src, todo)
		after, left := ParseDocument(profile, file, next)
		if !resolved(done, left) || !samePhases(doc, after) {
			if len(todo) > 1 { // apply only the first
				next, done = applyFixes(src, todo[:1])
				after, left = ParseDocument(profile, file, next)
			}
			if !resolved(done, left) || !samePhases(doc, after) {
				failed[todo[0].Message] = true
				continue
			}
		}
		src = next
		doc = after
		found = left
		made = append(made, done...)
	}

	return src, made
}

// resolved reports whether none of the fixed findings is left.
func resolved(done []Diagnostic, left *Diagnostics) bool {
	return len(done) > 0 &&
		(left == nil || !slices.ContainsFunc(left.List, func(d Diagnostic) bool {
			return slices.ContainsFunc(done, func(o Diagnostic) bool {
				return o.Message == d.Message
			})
		}))
}

// samePhases reports whether two versions have the same phases with the same commands.
func samePhases(a, b *Document) bool {
	return a.CommandDigest() == b.CommandDigest() &&
		slices.EqualFunc(a.Phases, b.Phases, func(x, y Phase) bool {
			return x.Number == y.Number && x.Name == y.Name && x.Status == y.Status
		})
}

// addFix adds a fix to the last finding: the insertion of a text at a position.
func (r *docReader) addFix(at Pos, text string) {
	if r.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if !r.unclosed {
		r.list[len(r.list)-1].Fix = &Fix{
			Start: at,
			End:   at,
			Text:  text,
		}
	}
}

// afterLine is the position after the text of a line.
func (r *docReader) afterLine(line int) Pos {
	return Pos{Line: line, Col: len(strings.TrimSuffix(r.doc.Line(line), "\r")) + 1}
}

// lastTextLine is the last non-blank line from first to last.
func (r *docReader) lastTextLine(first, last int) int {
	for last > first && strings.TrimSpace(r.doc.Line(last)) == "" {
		last--
	}
	return last
}

// beforeLine appends a blank line to an insertion if a text line follows at once.
func (r *docReader) beforeLine(line int, text string) string {
	if strings.TrimSpace(r.doc.Line(line+1)) != "" {
		text += "\n"
	}
	return text
}

func (r *docReader) fixTitle() {
	r.addFix(
		r.bodyStart(),
		"# "+r.profile.label+strings.TrimSuffix(path.Base(r.file), path.Ext(r.file))+"\n\n",
	)
}

// fixField adds a metadata bullet after the line last, where the title or the last bullet ends. The
// first bullet is separated from the title.
func (r *docReader) fixField(name string, last int, first bool) {
	if r.out.Title == "" {
		return // fix that first
	}
	value := strings.TrimSuffix(emptyText, ".")
	switch name {
	case "Task":
		if n := folderNumber().FindStringSubmatch(path.Base(path.Dir(path.Dir(r.file)))); n != nil {
			value = n[1]
		}
	case "Status":
		value = "[" + r.planStatus().Mark() + "]"
	case "Effort":
		value = "not estimated"
	}
	line := "\n- **" + name + "**: " + value
	if first {
		line = "\n" + line
	}
	r.addFix(r.afterLine(last), line)
}

var folderNumber = lazy.Regexp(`^0*([0-9]+)_`)

// planStatus is the status of a plan according to the headings of its phases.
func (r *docReader) planStatus() PhaseStatus {
	done := 0
	begun := 0
	all := 0
	for i := range r.doc.Blocks {
		b := &r.doc.Blocks[i]
		if b.Kind == md.Heading && b.Depth == 0 && (b.Level == 3 || b.Level == 4) {
			if p, _ := phaseHeading(b.Text); p.Number >= 0 {
				all++
				if p.Status == PhaseCompleted {
					done++
				}
				if p.Status != PhaseNotStarted {
					begun++
				}
			}
		}
	}
	switch {
	case all > 0 && done == all:
		return PhaseCompleted
	case begun > 0:
		return PhaseInProgress
	}
	return PhaseNotStarted
}

// fixValue completes an empty metadata bullet.
func (r *docReader) fixValue(at Pos) {
	line := strings.TrimRight(r.doc.Line(at.Line), " \t\r")
	text := " " + strings.TrimSuffix(emptyText, ".")
	if !strings.Contains(line, ":") {
		text = ":" + text
	}
	r.addFix(Pos{Line: at.Line, Col: len(line) + 1}, text)
}

// fixSection adds a section in the order of the profile: after its existing predecessor. The
// section for phases gets its heading above the first phase.
func (r *docReader) fixSection(name string, places map[string]int) {
	if name == r.profile.phases && len(r.out.Phases) > 0 {
		r.addFix(Pos{Line: r.out.Phases[0].Line, Col: 1}, "## "+name+"\n\n")
		return
	}
	if name == r.profile.phases ||
		len(r.profile.phases) > 0 && places[r.profile.phases] == 0 && len(r.out.Phases) > 0 {
		// only the author can write a phase; other sections follow the section for phases
		return
	}

	at := 0
	for _, n := range r.profile.sections[:slices.Index(r.profile.sections, name)] {
		at = max(at, places[n])
	}
	if at == 0 {
		at = r.doc.LineCount() + 1
		for _, line := range places {
			at = min(at, line)
		}
		if at <= r.doc.LineCount() {
			r.addFix(Pos{Line: at, Col: 1}, "## "+name+"\n\n"+emptyText+"\n\n")
			return
		}
		at = 1
	}
	end := r.doc.LineCount()
	for _, s := range r.doc.Sections(2) {
		if s.Line() == at {
			end = s.EndLine
		}
	}

	end = r.lastTextLine(at, end)
	r.addFix(r.afterLine(end), r.beforeLine(end, "\n\n## "+name+"\n\n"+emptyText))
}

// fixMark adds the status mark to the heading of a phase.
func (r *docReader) fixMark(p *Phase, at Pos) {
	line := strings.TrimSuffix(r.doc.Line(at.Line), "\r")
	r.addFix(Pos{Line: at.Line, Col: 1}, setMark(line, p.Status))
	if d := &r.list[len(r.list)-1]; d.Fix != nil {
		d.Fix.End.Col = len(line) + 1
	}
}

// fixParts adds goal and checklist below the heading of a phase, named like the phase, and its
// timing at its end.
func (r *phaseReader) fixParts(goal, tasks, timing bool) {
	var text string
	if goal {
		text = "\n\n- **" + labelGoal + "**: " + r.phase.Name
	}
	if tasks {
		text += "\n\n**" + labelTasks + "**:\n\n" +
			strings.TrimSuffix(
				checklist([]ChecklistItem{{
					Text: r.phase.Name,
					Done: r.phase.Status == PhaseCompleted,
				}}),
				"\n",
			)
	}
	switch {
	case timing:
		end := r.lastTextLine(r.at.Line, r.stop)
		r.addFix(r.afterLine(end), r.beforeLine(end, "\n\n- **"+labelTiming+"**: not estimated"))
	default:
		r.addFix(r.afterLine(r.at.Line), r.beforeLine(r.at.Line, text))
	}
}
