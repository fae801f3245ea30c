package subagents

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/dialect"
)

//go:embed library/*.md
var libraryFiles embed.FS

// Library holds the shipped subagent files, at its top level.
func Library() fs.FS {
	files, _ := fs.Sub(libraryFiles, "library") //nolint:errcheck // reason: a valid name
	return files
}

// Source is a folder of subagent files.
type Source struct {
	Name   string // path in messages, before the file's name
	FS     fs.FS
	Facets fs.FS // holds {persona,knowledge,instruction,output,policy}/NAME.md; nil: no facets
	// Project holds the skills and the MCP servers that a file may name; nil: there are none.
	Project fs.FS
	// Builtin marks the shipped library: only its files may say `runner: builtin`, and no other
	// source can replace those.
	Builtin bool
	// Pack is the pack that the folder is a copy of; empty: none. Its files hide nothing, and its
	// facets come first.
	Pack string
}

// Shipped is a prefix that names the shipped worker where a project has its own.
const Shipped = "tercet:"

// LibrarySource is the shipped library.
func LibrarySource() Source {
	return Source{Name: formats.LibrarySubagents, FS: Library(), Builtin: true}
}

// Load makes a set of the files of all sources. A name in an earlier source hides later ones, even
// if its file is unusable; a built-in subagent is never hidden. A hidden shipped one has the prefix
// Shipped. The set has the readable files, also beside an error; that is a *formats.Diagnostics
// over all files if they are at fault.
//
// agent gives what does the work of a subagent. It is called once for each subagent that is looked
// up, by the goroutine that does so first. A shipped file is parsed at its first use as well.
func Load(agent func(Definition) Agent, sources ...Source) (*Set, error) {
	set := NewSet()
	diags := &formats.Diagnostics{Sources: map[string][]byte{}}
	for _, src := range slices.Backward(sources) {
		files, err := fs.Glob(src.FS, "*.md")
		if err != nil {
			return set, err
		}
		for _, file := range files {
			if src.Builtin {
				set.entries[stem(file)] = src.shipped(file, agent)
				continue
			}
			err := set.override(src, file, agent)
			if err != nil && !collect(diags, err) {
				return set, err
			}
		}
	}

	diags.Sort()
	if diags.HasErrors() {
		return set, diags
	}
	return set, nil
}

// shipped is the entry of a file of the library.
func (s Source) shipped(file string, agent func(Definition) Agent) entry {
	parse := sync.OnceValues(func() (Definition, error) {
		def, err := s.read(file)
		def.Shipped = true
		return def, err
	})
	return entry{
		shipped: true,
		definition: func() Definition {
			def, _ := parse() //nolint:errcheck // the agent has the error
			return def
		},
		agent: sync.OnceValue(func() Agent {
			def, err := parse()
			if err != nil {
				return failing(err)
			}
			return agent(def)
		}),
	}
}

// failing is the agent of a file of the library that cannot be parsed, which only a fault of tercet
// can bring about.
func failing(err error) Agent {
	return Func(func(context.Context, formats.Request) (formats.Return, error) {
		return formats.Return{}, err
	})
}

// override reads a file of the project or of a pack. A shipped subagent of its name steps aside,
// also where the file is unusable; a built-in one stays.
func (s *Set) override(src Source, file string, agent func(Definition) Agent) error {
	shipped := s.entries[base(stem(file))]
	builtin := shipped.shipped && shipped.definition().Info.Builtin
	def, err := src.read(file)
	if builtin {
		if err == nil {
			s.renameBesideManager(&def)
			s.entries[def.Info.Name] = newEntry(def, agent)
		}
		return err
	}

	name := stem(file)
	if src.Pack != "" {
		name = src.Pack + ":" + name
	}
	if old := s.entries[name]; old.shipped {
		s.renameShipped(name, agent)
	}
	delete(s.entries, name)
	if err != nil {
		return err
	}
	def.Info.Pack = src.Pack
	s.entries[name] = newEntry(def, agent)
	if src.Pack == "" {
		s.scoped[dialect.Project.String()+":"+name] = name
	}
	return nil
}

// renameBesideManager gives an agent with the name of a built-in manager a name of its own.
func (s *Set) renameBesideManager(def *Definition) {
	name := def.Info.Name
	def.Info.Name = dialect.Project.String() + ":" + name
	n := formats.AboutFile(dialect.CodeTaken, def.File,
		fmt.Sprintf("%s is built in and stays; this one is called %s", name, def.Info.Name), "")
	n.Severity = formats.SeverityWarning
	n.Subject = name
	n.Help = "write `delegate: " + def.Info.Name + "` to call it"
	s.notes = append(s.notes, n)
}

// renameShipped gives a shipped worker the name that it has beside one of the project.
func (s *Set) renameShipped(name string, agent func(Definition) Agent) {
	def := s.entries[name].definition()
	def.Info.Name = Shipped + name
	delete(s.entries, name)
	s.entries[def.Info.Name] = newEntry(def, agent)
}

// collect takes over the findings of an error and reports whether it had any.
func collect(into *formats.Diagnostics, err error) bool {
	d, ok := errors.AsType[*formats.Diagnostics](err)
	if !ok {
		return false
	}
	into.List = append(into.List, d.List...)
	maps.Copy(into.Sources, d.Sources)
	return true
}

// ownable are the built-in subagents whose file belongs to the project. Go does the work as long as
// the file says `runner: builtin`; another runner takes its place.
var ownable = []string{formats.AgentDocumentWriter, formats.AgentSandboxRunner}

// read reads one file with the facets it names.
func (s Source) read(file string) (Definition, error) {
	name := path.Join(s.Name, file)
	if !utf8.ValidString(file) {
		return Definition{}, unusable(
			codeName,
			name,
			fmt.Sprintf("expected a name of a file in UTF-8, got %q", file),
			"rename the file",
		)
	}

	src, err := fs.ReadFile(s.FS, file)
	if err != nil {
		return Definition{}, unusable(formats.CodeIO.String(), name, reason(err),
			"make it a file that can be read, or remove it")
	}

	def, err := ParseDefinition(name, src)
	if err != nil {
		return Definition{}, err
	}
	if !s.Builtin && def.Info.Builtin && !slices.Contains(ownable, base(stem(file))) {
		refused := unusable(
			codeBuiltin,
			name,
			"runner builtin is for the subagents that come with tercet",
			"use runner: exec with argv, or an agent",
		)
		refused.Sources = map[string][]byte{name: def.Src}
		return Definition{}, refused
	}

	err = def.Resolve(s.Facets, s.Pack)
	if err == nil {
		err = def.ResolveSkills(s.Project)
	}
	if err == nil {
		err = def.ResolveServers(s.Project)
	}
	def.Info.Sum = formats.Sum(src)
	return def, err
}

// unusable reports a file that cannot be looked into. It costs only what names it.
func unusable(code, name, msg, help string) *formats.Diagnostics {
	return &formats.Diagnostics{List: []formats.Diagnostic{atStart(code, name, msg, help)}}
}

// atStart is a finding about a file as a whole.
func atStart(code, name, msg, help string) formats.Diagnostic {
	return formats.Diagnostic{
		Code:     code,
		Severity: formats.SeverityError,
		File:     name,
		Pos:      formats.Pos{Line: 1, Col: 1},
		Message:  msg,
		Help:     help,
	}
}

// CheckProgram refuses a program that is a file of the project and not executable. A file that is
// not there may be made by a build.
func (d *Definition) CheckProgram(project fs.FS) error {
	if len(d.Argv) == 0 || !strings.Contains(d.Argv[0], "/") {
		return nil
	}
	file := d.Argv[0]
	info, err := fs.Stat(project, path.Clean(file))
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 != 0 {
		return nil //nolint:nilerr // what cannot be looked at is told when it is started
	}
	bad := atStart(codeRunner, d.File,
		fmt.Sprintf("file %q is not executable", file),
		fmt.Sprintf("run chmod +x %s, or name what reads it: argv: [sh, %s]", file, file))
	bad.Pos = d.ArgvPos
	return &formats.Diagnostics{
		List:    []formats.Diagnostic{bad},
		Sources: map[string][]byte{d.File: d.Src},
	}
}

// Resolve reads the facets that the file names and puts them before its own sections. A missing
// facet is an error. A pack's own facets come first.
func (d *Definition) Resolve(facets fs.FS, pack string) error {
	list := &formats.Diagnostics{Sources: map[string][]byte{d.File: d.Src}}

	text := func(kind, name string) string {
		file := kind + "/" + name + ".md"
		if facets != nil {
			own := path.Join(kind, pack, name+".md")
			if pack != "" {
				if _, err := fs.Stat(facets, own); err == nil {
					file = own
				}
			}
			src, err := fs.ReadFile(facets, file)
			if err == nil && strings.TrimSpace(string(src)) != "" {
				if d.Info.Facets == nil {
					d.Info.Facets = map[string]string{}
				}
				d.Info.Facets[formats.Workspace+"/facets/"+file] = formats.Sum(src)
				return strings.Trim(string(formats.WithoutBOM(src)), "\n")
			}
		}
		bad := atStart(
			codeMissing,
			d.File,
			fmt.Sprintf("facet %s of subagent %q has no text", file, d.Info.Name),
			"write facets/"+file,
		)
		bad.Pos = cmp.Or(d.Refs.Pos, bad.Pos)
		list.List = append(list.List, bad)
		return ""
	}

	one := func(kind, name, own string) string {
		if name == "" {
			return own
		}
		return strings.Trim(text(kind, name)+"\n\n"+own, "\n")
	}
	many := func(kind string, names, own []string) []string {
		var out []string
		for _, name := range names {
			out = append(out, text(kind, name))
		}
		return append(out, own...)
	}

	d.Facets = formats.Facets{
		Persona:     one("persona", d.Refs.Persona, d.Facets.Persona),
		Knowledge:   many("knowledge", d.Refs.Knowledge, d.Facets.Knowledge),
		Instruction: one("instruction", d.Refs.Instruction, d.Facets.Instruction),
		Output:      one("output", d.Refs.Output, d.Facets.Output),
		Policy:      many("policy", d.Refs.Policy, d.Facets.Policy),
	}

	if len(list.List) > 0 {
		return list
	}
	return nil
}
