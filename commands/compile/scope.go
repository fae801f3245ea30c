package compile

import (
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
)

// scope is what an expression may refer to at one place of the file.
type scope struct {
	vars  []string
	task  bool
	steps map[string]*stepInfo // by id, those of this sequence and of the ones around it
	self  string               // id of the step being compiled
	outer *scope
}

// stepInfo is what is known of a step's result.
type stepInfo struct {
	id     string
	agent  *formats.AgentInfo
	kind   resultKind
	names  []string // members of a set's result
	inside []string // ids of the body's steps
}

type resultKind uint8

const (
	resultOther resultKind = iota
	resultReturn
	resultLoop
	resultGate
	resultSet
)

func baseVars() []string {
	return []string{"$args", "$state", "$task", "$env", "$steps", "$feedback", "$run"}
}

// laterVars are variables of the grammar that need words which are refused by name.
func laterVars() []string { return []string{"$it", "$tier", "$board", "$input"} }

func reserved(name string) bool {
	return slices.Contains(baseVars(), "$"+name) || slices.Contains(laterVars(), "$"+name) || name == "index" || name == "__loc__"
}

func newScope(task bool) *scope {
	return &scope{vars: baseVars(), task: task, steps: map[string]*stepInfo{}}
}

func (s *scope) add(name string) {
	if !slices.Contains(s.vars, name) {
		s.vars = append(s.vars, name)
	}
}

// enter opens the scope of a loop's body.
func (s *scope) enter(as string) *scope {
	in := &scope{vars: slices.Clone(s.vars), task: s.task, steps: map[string]*stepInfo{}, outer: s}
	in.add("$" + as)
	in.add("$index")
	return in
}

// inErrors is the scope of Error Handling: every step may have run.
func (s *scope) inErrors() *scope {
	return &scope{vars: slices.Clone(s.vars), task: s.task, steps: map[string]*stepInfo{}, outer: s}
}

func (s *scope) find(id string) *stepInfo {
	for at := s; at != nil; at = at.outer {
		if info := at.steps[id]; info != nil {
			return info
		}
	}
	return nil
}

func (s *scope) ids() []string {
	var out []string
	for at := s; at != nil; at = at.outer {
		for id := range at.steps {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// redoable collects the ids that some step sends back to: their expressions may read steps that stand behind them.
func redoable(steps []*syntax.Step) map[string]bool {
	out := map[string]bool{}
	var walk func([]*syntax.Step)
	walk = func(list []*syntax.Step) {
		for _, s := range list {
			for _, r := range s.On {
				for _, t := range r.Targets {
					for _, id := range t.Steps {
						out[id.Text] = true
					}
				}
			}
			if g, ok := s.Action.(*syntax.Gate); ok {
				for _, ch := range g.Choices {
					if ch.Target != nil {
						for _, id := range ch.Target.Steps {
							out[id.Text] = true
						}
					}
				}
			}
			walk(s.Body)
		}
	}
	walk(steps)
	return out
}

// allIDs collects every id that the steps of the file have or are given.
func allIDs(steps []*syntax.Step) map[string]bool {
	out := map[string]bool{}
	for _, s := range steps {
		if id := stepID(s); id != "" {
			out[id] = true
		}
		for id := range allIDs(s.Body) {
			out[id] = true
		}
	}
	return out
}

// stepID is the id as written, else the slug of the title.
func stepID(s *syntax.Step) string {
	if s.ID.Text != "" {
		return s.ID.Text
	}
	return slug(s.Title)
}

func slug(title string) string {
	out := make([]byte, 0, len(title))
	for i := range len(title) {
		ch := title[i]
		switch {
		case ch >= 'A' && ch <= 'Z':
			out = append(out, ch+'a'-'A')
		case ch >= 'a' && ch <= 'z', ch >= '0' && ch <= '9':
			out = append(out, ch)
		case len(out) > 0 && out[len(out)-1] != '_':
			out = append(out, '_')
		}
		if len(out) >= 40 {
			break
		}
	}
	for len(out) > 0 && out[len(out)-1] == '_' {
		out = out[:len(out)-1]
	}
	return string(out)
}
