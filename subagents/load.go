package subagents

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
)

//go:embed library/*.md
var libraryFiles embed.FS

// Library holds the shipped subagent files, at its top level.
func Library() fs.FS {
	files, _ := fs.Sub(libraryFiles, "library") //nolint:errcheck // reason: the folder's name is a valid one
	return files
}

// Source is a folder of subagent files.
type Source struct {
	Name   string // path in messages, before the file's name
	FS     fs.FS
	Facets fs.FS // holds {persona,knowledge,instruction,output,policy}/NAME.md; nil: no facets
	// Builtin marks the shipped library: only its files may say `runner: builtin`, and no other
	// source can replace those.
	Builtin bool
	// Pack is the pack that the folder is a copy of; empty: none. Its files hide nothing, and its
	// facets come first.
	Pack string
}

// Shipped is a prefix that names the shipped worker where a project has its own.
const Shipped = "tercet:"

// Load reads the files of all sources. A name in an earlier source hides later ones, even if its
// file is unusable; a built-in subagent is never hidden. A hidden shipped one has the prefix
// Shipped. The readable definitions come sorted by name, also beside an error, a
// *formats.Diagnostics over all files.
func Load(sources ...Source) ([]Definition, error) {
	diags := &formats.Diagnostics{Sources: map[string][]byte{}}
	defs := map[string]Definition{}
	builtins := map[string]bool{}
	for _, s := range slices.Backward(sources) {
		files, err := fs.Glob(s.FS, "*.md")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name := stem(file)
			if s.Pack != "" {
				name = s.Pack + ":" + name
			}
			old, hidden := defs[name]
			delete(defs, name)
			def, err := s.read(file, builtins[base(stem(file))])
			if hidden && old.Info.Builtin {
				defs[name] = old
			} else if hidden && old.Shipped {
				old = old.renamed()
				defs[old.Info.Name] = old
			}
			switch {
			case err == nil:
				def.Shipped = s.Builtin
				def.Info.Pack = s.Pack
				defs[name] = def
				builtins[name] = s.Builtin && def.Info.Builtin
			case !collect(diags, err):
				return nil, err
			}
		}
	}

	out := slices.SortedFunc(maps.Values(defs), func(a, b Definition) int {
		return cmp.Or(
			strings.Compare(a.Info.Pack, b.Info.Pack),
			strings.Compare(a.Info.Name, b.Info.Name),
		)
	})
	diags.Sort()
	if diags.HasErrors() {
		return out, diags
	}
	return out, nil
}

// renamed is a shipped worker under the name that it has beside one of the project.
func (d Definition) renamed() Definition {
	d.Info.Name = Shipped + d.Info.Name
	return d
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
func (s Source) read(file string, shippedBuiltin bool) (Definition, error) {
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
	var refused *formats.Diagnostics
	switch {
	case s.Builtin:
	case def.Info.Builtin && !slices.Contains(ownable, base(stem(file))):
		refused = unusable(
			codeBuiltin,
			name,
			"runner builtin is for the subagents that come with tercet",
			"use runner: exec with argv, or an agent",
		)
	case shippedBuiltin:
		refused = unusable(
			codeBuiltin,
			name,
			fmt.Sprintf("subagent %q is built in and cannot be replaced", base(def.Info.Name)),
			"give the file another name",
		)
	}

	if refused != nil {
		refused.Sources = map[string][]byte{name: def.Src}
		return Definition{}, refused
	}
	err = def.Resolve(s.Facets, s.Pack)
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
