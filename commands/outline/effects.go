package outline

import (
	"cmp"
	"maps"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
)

// Effects is what a program reads and writes, each entry once, sorted.
type Effects struct {
	Reads  []string // $state.tasks, $task.status, documents and files
	Writes []string // changes of state by name: status planned, archive_tasks
}

// EffectsOf collects what every expression and every call of a program reads and writes.
func EffectsOf(p *compile.Program) Effects {
	shared := []string{"$state", "$task", "$env", "$board"}
	reads := map[string]bool{}
	writes := map[string]bool{}
	for code := range p.Codes() {
		for _, ref := range code.Refs() {
			if ref.Bound || !slices.Contains(shared, ref.Var) {
				continue
			}
			name := ref.Var
			if len(ref.Path) > 0 {
				name += "." + ref.Path[0]
			}
			reads[name] = true
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
		if a, ok := info.Step.Action.(*syntax.Check); ok && a.Document != nil {
			reads["document "+a.Document.Text] = true
		}
		collectWrites(info.Call, writes)
	}

	collectWrites(p.EngineCalls.Begin, writes)
	collectWrites(p.EngineCalls.Failed, writes)
	return Effects{
		Reads:  slices.Sorted(maps.Keys(reads)),
		Writes: slices.Sorted(maps.Keys(writes)),
	}
}

// collectWrites adds the changes of state that a call asks for.
func collectWrites(c *compile.Call, writes map[string]bool) {
	if c == nil || c.Agent != compile.StatusSync {
		return
	}
	switch operation := literal(c.With, "operation"); operation {
	case compile.OpSetPhase:
		writes["phase "+literal(c.With, "status")] = true
	case compile.OpUpdateStatus:
		writes["status "+literal(c.With, "status")] = true
	default:
		writes[cmp.Or(operation, "what the expression gives")] = true
	}
	if c.Link || literal(c.With, "artifacts") != "" {
		writes["artifacts of the task"] = true
	}
}
