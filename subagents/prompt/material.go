package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// knowledge is the instructions of the project, the task, what the step passes on, and the
// knowledge of the subagent's file and of the boards.
func knowledge(in Input) string {
	r := in.Request
	var s paragraphs
	for _, one := range in.Instructions {
		if r.Question == "" {
			where := "it"
			if one.Folder != "" {
				where = "the folder " + code(one.Folder)
			}
			s.add("The project's instructions for everyone who works in " + where + ", from " +
				code(one.From) + ". They hold where nothing else in this prompt differs:\n\n" +
				blockQuote(one.Text))
		}
	}

	if r.Task != nil {
		s.add(fencedMaterial(
			fmt.Sprintf("Task %d, from the list of tasks:", r.Task.Number),
			"json",
			taskJSON(r.Task),
		))
	}

	for _, name := range slices.Sorted(maps.Keys(r.Input)) {
		value := r.Input[name]
		if value == nil || r.Task != nil && isSameTask(value, r.Task.Number) {
			continue
		}
		from := "Input `" + inline(name) + "`, from the step that calls you:"
		if text, ok := value.(string); ok {
			s.add(fencedMaterial(from, "text", text))
			continue
		}
		s.add(fencedMaterial(from, "json", asJSON(value)))
	}

	for i, one := range r.Facets.Knowledge {
		s.add(fencedMaterial(
			fmt.Sprintf("Knowledge %d of %d, from files of knowledge and boards:",
				i+1, len(r.Facets.Knowledge)),
			"text",
			one,
		))
	}

	if s.Len() == 0 {
		s.add("Nothing is given beyond the instruction.")
	}
	return s.String()
}

// taskJSON is what a model needs of a task. Times, leases and sessions are not in it: they differ
// from run to run.
func taskJSON(t *formats.Task) string {
	type artifact struct {
		Type    formats.ArtifactType `json:"type"`
		Path    string               `json:"path"`
		Summary string               `json:"summary,omitempty"`
	}
	short := struct {
		Number        int                `json:"number"`
		Title         string             `json:"title"`
		Status        formats.TaskStatus `json:"status"`
		Language      string             `json:"language,omitempty"`
		Priority      string             `json:"priority,omitempty"`
		Effort        string             `json:"effort,omitempty"`
		Description   string             `json:"description"`
		Dependencies  []int              `json:"dependencies,omitempty"`
		Parent        *int               `json:"parent,omitempty"`
		BlockedReason string             `json:"blocked_reason,omitempty"`
		Artifacts     []artifact         `json:"artifacts,omitempty"`
	}{
		t.Number, t.Title, t.Status, t.Language, t.Priority, t.Effort, t.Description,
		t.Dependencies, t.Parent, t.BlockedReason, nil,
	}
	for _, a := range t.Artifacts {
		short.Artifacts = append(short.Artifacts, artifact{a.Type, a.Path, a.Summary})
	}
	return asJSON(short)
}

// isSameTask tells whether an input is the task that stands above already.
func isSameTask(value any, number int) bool {
	switch v := value.(type) {
	case *formats.Task:
		return v != nil && v.Number == number
	case map[string]any:
		_, titled := v["title"]
		return titled && fmt.Sprint(v["number"]) == fmt.Sprint(number)
	}
	return false
}

// asJSON is a value as JSON with its keys in order; a value that JSON cannot hold is said to be
// one.
func asJSON(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Sprintf("(a value that JSON cannot hold: %v)", err)
	}
	return strings.TrimRight(b.String(), "\n")
}

// instruction is what to do, and in later rounds what became of it.
func instruction(r formats.Request) string {
	var s paragraphs
	for _, m := range r.Facets.Messages {
		from := "The person for whom you work sent this while the run was under way."
		if m.Channel != "" {
			from = "This was sent through " + m.Channel +
				", in the name of the person for whom you " +
				"work, while the run was under way."
		}
		s.add(from + " It goes before what follows:\n\n" + blockQuote(m.Text))
	}

	if r.Question != "" {
		s.add(
			"Answer one question of another agent, and do nothing else. Change no file and make " +
				"no document: the answer " +
				"stands in\n`text` or, if it is short, in `summary`.",
		)
		s.add(fencedMaterial("The question:", "text", r.Question))
	} else {
		s.add(containFacet(r.Facets.Instruction))
	}

	if r.Dir != "" {
		s.add("Work in the folder `" + inline(r.Dir) + "`.")
	}

	if r.Feedback != nil && r.Question == "" {
		s.add(revision(*r.Feedback))
	}

	if len(r.Repair) > 0 {
		s.add("## Repair")
		s.add(
			"Your last return was refused. The work is not asked for again: put right what is " +
				"listed, and return anew.",
		)
		var list strings.Builder
		for i, one := range r.Repair {
			fmt.Fprintf(&list, "%d. %s\n", i+1, one)
		}
		s.add(fencedMaterial("What tercet found in it, quoting it:", "text", list.String()))
		if r.Refused != "" {
			s.add(fencedMaterial(
				"What was returned, without the nonce of that call:",
				"text",
				withoutNonce(r.Refused),
			))
		}
	}

	if s.Len() == 0 {
		s.add("No instruction is given: do what your description and the input say.")
	}
	return s.String()
}

// revision is what a step learns when it is run again, in one block. First come the user's words,
// which are an instruction, then those of others, which are material. Then comes what is open,
// without repeats and numbered anew.
func revision(f formats.Feedback) string {
	if f.Note == "" && f.Answer == "" && f.Choice == "" && len(f.Issues) == 0 && f.Last == nil {
		return ""
	}
	var s paragraphs
	open := openIssues(f.Issues)
	if f.Last != nil && f.Last.Status == formats.OutcomeSuspended {
		s.add("## Resume")
	} else {
		s.add(fmt.Sprintf("## Revision %d", f.Attempt))
	}

	s.add(rerunReason(f, open))
	if f.Note != "" {
		s.add("The person for whom you work says:\n\n" + blockQuote(f.Note))
	}
	if f.Last != nil {
		s.add(fencedMaterial("What you returned when you stopped:", "json", asJSON(f.Last)))
	}
	if f.Answer != "" && f.Answer != f.Note {
		from := "The answer to your question:"
		if f.Question != "" {
			s.add(fencedMaterial("Your question to `"+inline(f.Target)+"`:", "text", f.Question))
			from = "The answer of `" + inline(f.Target) + "`:"
		}
		s.add(fencedMaterial(from, "text", f.Answer))
	}
	if open != "" {
		from := "What was found in your work, from `" + inline(f.From) + "`:"
		s.add(fencedMaterial(from, "text", open))
	}
	return s.String()
}

// rerunReason says why the step is run again. open is what it has to change, empty if there is
// nothing.
func rerunReason(f formats.Feedback, open string) string {
	from := "`" + inline(f.From) + "`"
	answered := f.Answer != "" && f.Note == "" && open == ""
	switch {
	case answered:
		return "Your question was answered. Go on where it stopped you."
	case f.Last != nil && f.Last.Status == formats.OutcomeSuspended:
		return "You suspended this work, and now it goes on. What you have done is kept: do not " +
			"begin anew, go on with what " +
			"you left open."
	case f.Last != nil && f.Last.Status == formats.OutcomeFailed:
		return "Your last attempt failed. Do the work again, and put right what made it fail."
	case f.Own:
		return "You sent this work back with what is listed here. It was done again: judge " +
			"whether that is resolved, and " +
			"what is new."
	case open == "" && f.Note == "":
		return "Your earlier work was sent back by " + from +
			" without a reason. Look through it again."
	}
	return "Your earlier work was sent back by " + from +
		". Change what is listed here and nothing else."
}

// openIssues lists what is open, without repeats and numbered anew.
func openIssues(all []formats.Issue) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, i := range all {
		where := strings.Join(i.Files, ", ")
		if where != "" && i.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, i.Line)
		}
		key := where + "\x00" + i.Description
		if seen[key] {
			continue
		}
		seen[key] = true
		fmt.Fprintf(&b, "%d. [%s] %s", len(seen), i.Level, i.Description)
		if where != "" && !strings.Contains(i.Description, where) {
			fmt.Fprintf(&b, " (%s)", where)
		}
		if i.SuggestedFix != "" {
			fmt.Fprintf(&b, "; %s", i.SuggestedFix)
		}
		b.WriteString("\n")
	}
	return b.String()
}

var nonceMember = lazy.Regexp(`"nonce"\s*:\s*"[^"\n]*"\s*,?`)

// withoutNonce takes the nonce of an earlier call out of a return, so that it is not copied into
// the next one.
func withoutNonce(text string) string {
	return nonceMember().ReplaceAllString(text, "")
}
