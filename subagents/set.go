package subagents

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/nearest"
)

// Set is the known subagents. Its zero value is not usable: see NewSet.
type Set struct {
	entries  map[string]entry
	declared map[string]string // names as files of other tools write them, to those of the set
	scoped   map[string]string // names behind the word of a scope or a tool, to those of the set
	notes    []formats.Diagnostic
	chosen   map[string]bool // names for which a preference was followed
}

// entry is a subagent of a set. Both functions always give the same, to any goroutine.
type entry struct {
	shipped bool
	// apart means that shipped files do not call this agent of another tool: they call the shipped
	// subagent of its name, whose contract it does not fit.
	passedOver bool
	definition func() Definition
	agent      func() Agent
}

// newEntry is the entry of a definition. agent is called when its result is first needed.
func newEntry(def Definition, agent func(Definition) Agent) entry {
	return entry{
		shipped:    def.Shipped,
		definition: func() Definition { return def },
		agent:      sync.OnceValue(func() Agent { return agent(def) }),
	}
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{
		entries:  map[string]entry{},
		declared: map[string]string{},
		scoped:   map[string]string{},
		chosen:   map[string]bool{},
	}
}

// Add adds a subagent under the name of its definition, after its pack's name. A duplicate name is
// an error: Load decides which of several files wins.
func (s *Set) Add(def Definition, agent Agent) error {
	if agent == nil {
		return formats.Unset("an agent for " + def.Info.Name)
	}
	if def.Info.Name == "" {
		return formats.Unset("a name of a subagent")
	}
	return s.add(def, func(Definition) Agent { return agent })
}

func (s *Set) add(def Definition, agent func(Definition) Agent) error {
	name := def.Info.Name
	if def.Info.Pack != "" {
		name = def.Info.Pack + ":" + name
	}
	if first, ok := s.entries[name]; ok {
		return formats.Fail(formats.CodeConfig, "", "subagent %q is defined in %s and in %s",
			def.Info.Name, first.definition().File, def.File)
	}
	s.entries[name] = newEntry(def, agent)
	return nil
}

// Agent gives the contract of a name, for package compile.
func (s *Set) Agent(name string) (formats.AgentInfo, bool) {
	e, ok := s.find(name)
	if !ok {
		return formats.AgentInfo{}, false
	}
	return e.definition().Info, true
}

// ForLibrary implements compile.Workers.
func (s *Set) ForLibrary(name string) string {
	if s.entries[name].passedOver {
		return Shipped + name
	}
	return name
}

// PassedOver gives the file of the project that a shipped file passes over when it calls a shipped
// subagent by its plain name; empty: none.
func (s *Set) PassedOver(name string) string {
	if e := s.entries[name]; e.passedOver {
		return e.definition().File
	}
	return ""
}

// find looks a name up: that of the set, one behind the word of a scope or a tool, one that a file
// of another tool declares, or that of a shipped worker.
func (s *Set) find(name string) (entry, bool) {
	e, ok := s.entries[name]
	if rest, shipped := strings.CutPrefix(name, Shipped); !ok && shipped {
		if e = s.entries[rest]; !e.shipped {
			return entry{}, false
		}
		return e, true
	}

	if !ok {
		e, ok = s.entries[s.scoped[name]]
	}
	if !ok {
		e, ok = s.entries[s.declared[name]]
	}
	return e, ok
}

// Replaced lists the shipped workers that the project replaces.
func (s *Set) Replaced() (names []string) {
	for _, name := range s.Names() {
		if rest, ok := strings.CutPrefix(name, Shipped); ok {
			names = append(names, rest)
		}
	}
	return names
}

// Names lists the names in alphabetical order, language variants included.
func (s *Set) Names() []string {
	return slices.Sorted(maps.Keys(s.entries))
}

// Lookup finds the subagent for a name and the task's language: name@language first, then name.
func (s *Set) Lookup(name, language string) (Definition, Agent, bool) {
	e, ok := s.entries[name+"@"+language]
	if language == "" || !ok {
		e, ok = s.find(name)
	}
	if !ok {
		return Definition{}, nil, false
	}
	return e.definition(), e.agent(), true
}

// Find is Lookup for a request, whose pack comes first.
func (s *Set) Find(r formats.Request) (Definition, Agent, bool) {
	language := ""
	if r.Task != nil {
		language = r.Task.Language
	}
	if r.Pack != "" && r.Pack != formats.PackLibrary {
		if def, agent, ok := s.Lookup(r.Pack+":"+r.Agent, language); ok {
			return def, agent, true
		}
	}

	name := r.Agent
	if _, variant := s.entries[name+"@"+language]; r.Pack != "" && !variant {
		name = s.ForLibrary(name)
	}
	return s.Lookup(name, language)
}

// unknownError makes the error for a name that is not in the set.
func (s *Set) unknownError(name string) error {
	help := "'tercet /agent' lists the subagents; a new one is .tercet/subagents/" + name + ".md"
	if near := nearest.Names(name, s.Names()); len(near) > 0 {
		help = "did you mean '" + strings.Join(near, "' or '") + "'?"
	}
	return formats.Fail(formats.CodeNotFound, help, "unknown subagent %q", name)
}

// base cuts the language off a name: planner@go is the planner.
func base(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name
}
