package meta

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/subagents"
)

// Agents looks up the known subagents.
type Agents interface {
	Agent(name string) (formats.AgentInfo, bool)
	Names() []string
}

// File is a file to write; Name is its path from the project root.
type File struct {
	Name string
	Data []byte
}

// Texts are the texts of files, by path.
func Texts(files []File) map[string][]byte {
	out := map[string][]byte{}
	for _, f := range files {
		out[f.Name] = f.Data
	}
	return out
}

const (
	commandFolder  = formats.Workspace + "/commands"
	subagentFolder = formats.Workspace + "/subagents"
)

// isSubagent reports whether the file is a subagent, by its folder.
func (f File) isSubagent() bool {
	return path.Dir(f.Name) == subagentFolder
}

// Commands lists the command files among the files.
func Commands(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), File.isSubagent)
}

// With adds the subagents among the files, so that a command compiles before its subagents are
// written. The findings are about unreadable subagent files.
func With(known Agents, files []File) (Agents, []formats.Diagnostic) {
	out := overlay{known: known, extra: map[string]formats.AgentInfo{}}
	var found []formats.Diagnostic
	for _, f := range files {
		if !f.isSubagent() {
			continue
		}
		def, err := subagents.ParseDefinition(f.Name, f.Data)
		found = append(found, def.Warnings...)
		if err == nil {
			out.extra[def.Info.Name] = def.Info
			continue
		}
		if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
			found = append(found, d.List...)
			continue
		}
		found = append(found, formats.Diagnostic{
			Severity: formats.SeverityError,
			File:     f.Name,
			Message:  err.Error(),
		})
	}
	return out, found
}

type overlay struct {
	known Agents
	extra map[string]formats.AgentInfo
}

func (o overlay) Agent(name string) (formats.AgentInfo, bool) {
	if info, ok := o.extra[name]; ok {
		return info, true
	}
	return o.known.Agent(name)
}

func (o overlay) Names() []string {
	names := slices.AppendSeq(slices.Clone(o.known.Names()), maps.Keys(o.extra))
	slices.Sort(names)
	return slices.Compact(names)
}

// contract returns the parts that a new subagent shares with the shipped worker of its role: the
// frontmatter after name, description and role, and the sections on output and policy.
func contract(role formats.Role) (lines, output, policy string, err error) {
	name := role.String() + ".md"
	src, err := fs.ReadFile(subagents.Library(), name)
	if err != nil {
		return "", "", "", formats.Unset("shipped subagent " + name)
	}
	def, err := subagents.ParseDefinition(name, src)
	if err != nil {
		return "", "", "", formats.Unset("a shipped subagent " + name + " that can be read")
	}

	front, _, _ := strings.Cut(strings.TrimPrefix(string(src), "---\n"), "\n---\n")
	var kept []string
	for line := range strings.SplitSeq(front, "\n") {
		key, _, _ := strings.Cut(line, ":")
		if key == "tools" && role == formats.RoleReviewer {
			line = "tools: [read, search]" // the shipped one also runs the project's checks
		}
		if !slices.Contains([]string{"name", "description", "role"}, key) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n"), def.Facets.Output, strings.Join(def.Facets.Policy, "\n\n"), nil
}
