package project

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/nearest"
	"tercet/subagents"
)

// OwnDialect is the name of the rules that tercet's own files follow.
const OwnDialect = string(dialect.Tercet)

// FoundAgent is the subagent that a name leads to, and what else has the name.
type FoundAgent struct {
	subagents.Definition
	Name     string            // with the pack in front if it is of one
	Dialect  string            // of its file
	Packs    map[string]string // the files of this name in packs, by pack
	Hides    string            // the shipped subagent in whose place it stands; empty: none
	Apart    bool              // only the user's own workflows call it; shipped ones call Hides
	Order    []AgentLookup     // where the name is looked up, the first place first
	Findings *formats.Diagnostics
}

// AgentLookup is a place in which the name of a subagent is looked up.
type AgentLookup struct {
	In     string `json:"in"`
	File   string `json:"file"`   // empty: it has none
	Called bool   `json:"called"` // outside of the commands of packs
}

// WhichAgent says which file the name of a subagent leads to. As for /agent, that of a pack has its
// plain name where nothing else does.
func (s *Session) WhichAgent(name string) (FoundAgent, error) {
	def, _, ok := s.Set.Lookup(name, "")
	if packed := commands.OfPack(name, s.Set.Names()); !ok && packed != "" {
		def, _, ok = s.Set.Lookup(packed, "")
	}
	if !ok {
		return FoundAgent{}, formats.Fail(formats.CodeNotFound,
			nearest.Help(name, s.Set.Names()), "unknown subagent %s", name)
	}

	of := dialect.Tercet
	file := filepath.Join(s.Project.Dir, filepath.FromSlash(def.File))
	if place, _, ok := s.Library.PlaceOf(file); ok && place.Agents {
		of = place.Dialect
	}
	found := FoundAgent{
		Definition: def,
		Name:       def.Info.Name,
		Dialect:    of.String(),
		Packs:      map[string]string{},
		Findings:   &formats.Diagnostics{},
	}

	for _, d := range s.AgentNotes {
		if d.File == def.File || d.Subject == found.Name {
			found.Findings.List = append(found.Findings.List, d)
		}
	}
	if slices.Contains(s.Set.Replaced(), found.Name) {
		found.Hides = subagents.Shipped + found.Name
	}

	if def.Info.Pack != "" {
		found.Name = def.Info.Pack + ":" + found.Name
	}
	found.Apart = s.Set.PassedOver(found.Name) != ""

	for _, other := range s.Set.Names() {
		one, _, _ := s.Set.Lookup(other, "")
		if one.Info.Pack != "" && other == one.Info.Pack+":"+found.Name {
			found.Packs[one.Info.Pack] = one.File
		}
	}
	found.Order = s.lookups(def, of, found.Packs)
	return found, nil
}

// lookups are the places in which a name is looked up, the first ones first, and what they have.
func (s *Session) lookups(
	def subagents.Definition,
	of dialect.Dialect,
	packed map[string]string,
) []AgentLookup {
	var out []AgentLookup
	for _, pack := range slices.Sorted(maps.Keys(packed)) {
		out = append(out, AgentLookup{In: "commands of pack " + pack, File: packed[pack]})
	}
	if def.Info.Pack != "" {
		return append(out, AgentLookup{"the pack of its name", def.File, true})
	}
	if strings.HasPrefix(def.Info.Name, subagents.Shipped) {
		return append(out, AgentLookup{"the library", def.File, true})
	}

	own := AgentLookup{In: formats.Workspace + "/subagents"}
	others := AgentLookup{In: "folders of other tools"}
	library := AgentLookup{In: "the library"}
	place := &own
	if def.Shipped {
		place = &library
	} else if of != dialect.Tercet {
		place = &others
	}
	place.File = def.File
	place.Called = true
	if shipped, _, ok := s.Set.Lookup(subagents.Shipped+def.Info.Name, ""); ok {
		library.File = shipped.File
	}
	return append(out, own, others, library)
}
