package outline

import (
	"maps"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
)

// Effects is what a program reads and writes, each entry once, sorted.
type Effects struct {
	Reads  []string `json:"reads"`  // $state.tasks, $task.status, documents and files
	Writes []string `json:"writes"` // changes of state by name: status planned, archive_tasks
}

// EffectsOf finds what every expression and every call of a program reads and writes.
func EffectsOf(p *compile.Program) Effects {
	reads, writes := map[string]bool{}, map[string]bool{}
	for code := range p.Codes() {
		for _, ref := range code.Refs() {
			if !ref.Bound && slices.Contains([]string{"$state", "$task", "$env", "$board"}, ref.Var) {
				reads[strings.Join(append([]string{ref.Var}, ref.Path[:min(1, len(ref.Path))]...), ".")] = true
			}
		}
	}
	for _, l := range p.File.Args.Load {
		if l.Document != nil {
			reads["document "+l.Document.Profile.Text] = true
		}
		if len(l.Files) > 0 {
			reads["files $"+l.Name.Text] = true
		}
	}
	for info := range p.Infos() {
		if a, ok := info.Action.(*syntax.Check); ok && a.Document != nil {
			reads["document "+a.Document.Text] = true
		}
		for _, w := range written(info.Call) {
			writes[w] = true
		}
	}
	for _, c := range []*compile.Call{p.Own.Begin, p.Own.Failed} {
		for _, w := range written(c) {
			writes[w] = true
		}
	}
	return Effects{Reads: sorted(reads), Writes: sorted(writes)}
}

func sorted(set map[string]bool) []string {
	return slices.AppendSeq(make([]string, 0, len(set)), slices.Values(slices.Sorted(maps.Keys(set))))
}

// written names the changes of state that a call asks for.
func written(c *compile.Call) []string {
	if c == nil || c.Agent != compile.StatusSync {
		return nil
	}
	operation := literal(c.With, "operation")
	var out []string
	switch operation {
	case compile.OpSetPhase:
		out = append(out, "phase "+literal(c.With, "status"))
	case compile.OpUpdateStatus:
		out = append(out, "status "+literal(c.With, "status"))
	case "":
		out = append(out, "what the expression gives")
	default:
		out = append(out, operation)
	}
	if c.Link || literal(c.With, "artifacts") != "" {
		out = append(out, "artifacts of the task")
	}
	return out
}
