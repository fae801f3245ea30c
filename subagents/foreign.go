package subagents

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
)

// AddForeign adds other tools' agents to the set. An agent with the name of a shipped worker keeps
// its own text and an open contract, and has the plain name; of the worker it takes only the role,
// which plain sentences speak of. Shipped files call it only if it fits the worker's contract. A
// name in prefer, with the word of a scope or a tool, gives the plain name to the file there, in
// the place and under the contract of the shipped worker. Any other existing name stays. If
// several names become the same one, the agent written exactly so gets it, and the others get a
// number. Every agent also has a name behind the words of its scope and its tool. Unused, renamed
// and unreadable agents are notes.
func (s *Set) AddForeign(
	folders []dialect.Folder,
	prefer map[string]string,
	agent func(Definition) Agent,
) ([]formats.Diagnostic, error) {
	notes := slices.Clone(s.notes)
	var preferred, exact, later []foreignAgent
	for _, p := range folders {
		for _, name := range p.AgentFiles() {
			a, found := readForeign(p, name)
			notes = append(notes, found...)
			f := (foreignAgent{
				p:     p,
				file:  name,
				agent: a,
			})
			switch {
			case a == nil:
			case a.Hidden:
				notes = append(notes, f.note(dialect.CodeTaken,
					"agent "+a.Name+" is switched off or remote; this file is not used", ""))
			case f.isPreferredBy(prefer[a.Name]):
				f.preferred = true
				preferred = append(preferred, f)
			case a.Name != a.Declared:
				later = append(later, f)
			default:
				exact = append(exact, f)
			}
		}
	}

	for _, f := range slices.Concat(preferred, exact, later) {
		n, err := s.addNamed(f, prefer, agent)
		notes = append(notes, n...)
		if err != nil {
			return notes, err
		}
	}
	for name, word := range prefer {
		_, known := s.entries[name]
		if word == dialect.Tercet.String() && known {
			s.chosen[name] = true
		}
	}

	return notes, nil
}

// FollowsPreference reports whether a preference of the configuration is about a subagent.
func (s *Set) FollowsPreference(name string) bool {
	return s.chosen[name]
}

// foreignAgent is an agent of another tool with its place.
type foreignAgent struct {
	p         dialect.Folder
	file      string
	agent     *dialect.Agent
	preferred bool
	of        string // the subagent that has its name, empty: none
}

// words may stand before the agent's name, the most general ones first.
func (f foreignAgent) words() []string {
	scope := f.p.Scope.String()
	tool := f.p.Tool()
	return []string{scope, tool, scope + ":" + tool}
}

// isPreferredBy reports whether a preference leads to the agent.
func (f foreignAgent) isPreferredBy(word string) bool {
	return word != "" && slices.Contains(f.words(), word)
}

func (f foreignAgent) note(code, text, help string) formats.Diagnostic {
	n := note(code, f.p, f.file, text)
	n.Subject = f.of
	n.Help = help
	return n
}

// OfNames reports whether a note is about a conflict of agents' names.
func OfNames(d formats.Diagnostic) bool {
	return d.Code == dialect.CodeTaken ||
		d.Code == dialect.CodeName && d.Help != ""
}

// addNamed adds an agent of another tool under the names that are free for it.
func (s *Set) addNamed(
	f foreignAgent,
	prefer map[string]string,
	agent func(Definition) Agent,
) (notes []formats.Diagnostic, _ error) {
	def := definitionOf(f.agent)
	name := f.agent.Name
	written := f.agent.Declared
	old, taken := s.entries[name]

	again := s.declared[written] // the name of one that is written alike
	if again != "" {
		old = s.entries[again]
	}

	var there Definition
	if taken || again != "" {
		there = old.definition()
	}

	f.of = cmp.Or(there.Info.Name, name)
	project := f.p.Scope == dialect.Project
	shippedStays := taken && old.shipped && !project && !f.preferred ||
		prefer[name] == dialect.Tercet.String()
	switch {
	case taken && there.Info.Builtin:
		if other, twice := s.find(dialect.Project.String() + ":" + name); twice {
			return []formats.Diagnostic{s.addScoped(f, def, other.definition(), agent)}, nil
		}
		s.renameBesideManager(&def)
		return s.notes[len(s.notes)-1:], s.addForeign(f, def, false, agent)
	case again != "", taken && shippedStays, taken && name == written && !old.shipped:
		return []formats.Diagnostic{s.addScoped(f, def, there, agent)}, nil
	case taken && old.shipped:
		if f.preferred {
			def = def.withContractOf(there)
			s.chosen[name] = true
		} else if there.Info.Role != formats.RoleReviewer { // which would ask it for a verdict
			def.Info.Role = there.Info.Role
		}
		s.renameShipped(name, agent)
		s.declared[written] = name
		return nil, s.addForeign(f, def, !f.preferred && !canReplace(there.Info), agent)
	case taken:
		for n := 2; taken; n++ {
			def.Info.Name = fmt.Sprintf("%s-%d", name, n)
			_, taken = s.entries[def.Info.Name]
		}
		notes = append(notes, f.note(
			dialect.CodeName,
			fmt.Sprintf("agent %q is called %s here: %s is %s",
				written, def.Info.Name, name, there.File),
			"rename one of the two",
		))
	}

	s.chosen[name] = s.chosen[name] || f.preferred
	s.declared[written] = def.Info.Name
	return notes, s.addForeign(f, def, false, agent)
}

// addForeign adds an agent under its name and the names behind its words.
func (s *Set) addForeign(
	f foreignAgent,
	def Definition,
	apart bool,
	agent func(Definition) Agent,
) error {
	if err := s.add(def, agent); err != nil {
		return err
	}
	e := s.entries[def.Info.Name]
	e.passedOver = apart
	s.entries[def.Info.Name] = e
	for _, word := range f.words() {
		scoped := word + ":" + f.agent.Name
		s.scoped[scoped] = cmp.Or(s.scoped[scoped], def.Info.Name)
	}
	return nil
}

// addScoped adds an agent whose plain name another one has: by the first name behind one of its
// words that is free.
func (s *Set) addScoped(
	f foreignAgent,
	def, other Definition,
	agent func(Definition) Agent,
) formats.Diagnostic {
	stays := "subagent " + f.agent.Name + " is there already and stays; "
	for _, word := range f.words() {
		name := word + ":" + f.agent.Name
		if _, taken := s.find(name); taken || word == dialect.Project.String() {
			continue
		}
		def.Info.Name = name
		if err := s.addForeign(f, def, false, agent); err == nil {
			return f.note(dialect.CodeTaken, stays+"this one is called "+name,
				"it is "+other.File)
		}
	}
	return f.note(dialect.CodeTaken, stays+"this file is not used", "it is "+other.File)
}

// canReplace reports whether an agent with an open contract can stand in for a shipped worker: the
// steps that call the worker then read nothing of its return that an agent does not give.
func canReplace(shipped formats.AgentInfo) bool {
	role := shipped.Role == formats.RoleUtility || shipped.Role == formats.RoleWriter
	document := slices.ContainsFunc(shipped.Artifacts, func(a formats.ArtifactSpec) bool {
		return !a.Optional
	})
	return role && !document && len(shipped.Fields) == 0
}

// withContractOf gives an agent the contract of the shipped worker whose place a preference gives
// it: the role, its inputs, its return, and how that is written.
func (d Definition) withContractOf(shipped Definition) Definition {
	own := d
	d = shipped
	d.Shipped = false
	d.File = own.File
	d.Src = own.Src
	d.Warnings = own.Warnings
	d.Model = own.Model
	d.Limits = own.Limits
	d.Info.File = own.File
	d.Info.Description = own.Info.Description
	d.Info.Tools = own.Info.Tools
	d.Info.Sum = ""
	d.Info.Commands = own.Info.Commands
	d.Unfollowed = own.Unfollowed
	d.Info.Timeout = cmp.Or(own.Info.Timeout, d.Info.Timeout)
	d.Facets.Persona = ""
	d.Facets.Instruction = own.Facets.Instruction
	return d
}

func note(code string, p dialect.Folder, name, text string) formats.Diagnostic {
	n := formats.AboutFile(code, p.Label+"/"+name, text, "")
	n.Severity = formats.SeverityWarning
	return n
}

// readForeign reads one agent, nil if it cannot be read.
func readForeign(p dialect.Folder, name string) (*dialect.Agent, []formats.Diagnostic) {
	src, err := dialect.ReadFile(p.FS, name)
	if err != nil {
		return nil, []formats.Diagnostic{note(formats.CodeIO.String(), p, name, err.Error())}
	}
	a, err := dialect.ParseAgent(p.Place, name, src)
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		return nil, d.List
	}
	if err != nil {
		return nil, []formats.Diagnostic{note(formats.CodeOf(err).String(), p, name, err.Error())}
	}
	return a, a.Warnings
}

// asksForBlock matches the text of an agent that returns an AGENT_RESULT block.
var asksForBlock = lazy.Regexp(`(?m)^[ \t>]*AGENT_RESULT:`)

// definitionOf makes a subagent of an agent of another tool: any input, any return, any artifacts,
// and the tools that its file grants.
func definitionOf(a *dialect.Agent) Definition {
	def := Definition{
		Info: formats.AgentInfo{
			Open:        true,
			Name:        a.Name,
			Description: a.Description,
			Role:        formats.RoleUtility,
			Tools:       a.Tools,
			Commands:    a.Commands,
			File:        a.File,
			Timeout:     formats.Timeout{Total: a.Timeout},
			AgentResult: asksForBlock().MatchString(a.Text),
		},
		Facets:     formats.Facets{Instruction: a.Text},
		Limits:     Limits{Turns: a.Turns},
		File:       a.File,
		Src:        a.Src,
		Warnings:   a.Warnings,
		Unfollowed: a.Unfollowed,
	}

	hasModels := a.Dialect == dialect.Claude || a.Dialect == dialect.OpenCode ||
		a.Dialect == dialect.Gemini
	if hasModels && formats.IsModel(a.Model) && a.Model != "inherit" {
		def.Model = map[string]string{a.Dialect.String(): a.Model}
	}
	return def
}
