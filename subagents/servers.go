package subagents

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tercet/formats"
)

// ServersFile names the MCP servers of a project.
const ServersFile = ".mcp.json"

// maxServers bounds that file, in bytes.
const maxServers = 256 << 10

// Server is an MCP server of the project that a subagent may use. The program comes from
// ServersFile.
type Server struct {
	Name  string
	Tools []string // that may be called
	Pos   formats.Pos

	Command string
	Args    []string
	Env     map[string]string // with the values that stand there
	Vars    []string          // variables that the server gets from the user's env
}

// Words are the words of its command line.
func (s Server) Words() []string {
	return append([]string{s.Command}, s.Args...)
}

// ResolveServers looks the servers up that the file names. One that is not there, or is no program
// that tercet can hold to its tools, is an error.
func (d *Definition) ResolveServers(project fs.FS) error {
	if len(d.Servers) == 0 {
		return nil
	}
	list := &formats.Diagnostics{Sources: map[string][]byte{d.File: d.Src}}
	src, all, why := readServers(project)
	for i := range d.Servers {
		s := &d.Servers[i]
		one := why
		if one == "" {
			one = s.readEntry(all)
		}
		if one != "" {
			bad := atStart(codeMissing, d.File,
				fmt.Sprintf("server %q of subagent %q: %s", s.Name, d.Info.Name, one),
				`write {"mcpServers": {"`+s.Name+`": {"command": ..., "args": [...]}}} into `+
					ServersFile)
			bad.Pos = s.Pos
			list.List = append(list.List, bad)
		}
	}

	if len(list.List) > 0 {
		return list
	}
	for _, s := range d.Servers {
		if word := unpinnedPackage(s); word != "" {
			found := atStart(warnFloating, d.File,
				fmt.Sprintf(
					"server %q: %s may be another program tomorrow, which trust does not see",
					s.Name, word,
				),
				"name one version, such as "+fixedVersion(word)+", in "+ServersFile)
			found.Pos = s.Pos
			found.Severity = formats.SeverityWarning
			if !slices.Contains(d.Warnings, found) {
				d.Warnings = append(d.Warnings, found)
			}
		}
	}

	if d.Info.Facets == nil {
		d.Info.Facets = map[string]string{}
	}
	d.Info.Facets[ServersFile] = formats.Sum(src)
	return nil
}

// unpinnedPackage is the package of a server that a package runner fetches in its newest version;
// empty: there is none.
func unpinnedPackage(s Server) string {
	runner := path.Base(s.Command)
	words := s.Args
	switch runner {
	case "npx", "bunx", "uvx", "pnpx":
	case "npm", "pnpm", "yarn", "bun", "pipx", "uv":
		if len(words) == 0 ||
			!slices.Contains([]string{"exec", "dlx", "x", "run", "tool"}, words[0]) {
			return ""
		}
		words = words[1:]
		if len(words) > 0 && words[0] == "run" { // uv tool run
			words = words[1:]
		}
	default:
		return ""
	}

	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			continue
		}
		at := strings.LastIndexByte(word, '@')
		_, python, hasPython := strings.Cut(word, "==")
		switch {
		case strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/"):
			return ""
		case hasPython && python != "":
			return ""
		case at > 0 && word[at+1:] != "" && word[at+1] >= '0' && word[at+1] <= '9':
			return ""
		}
		return word
	}
	return ""
}

// fixedVersion is a package with a version, as an example.
func fixedVersion(word string) string {
	if at := strings.LastIndexByte(word, '@'); at > 0 {
		word = word[:at]
	}
	return word + "@1.2.3"
}

// wireServer is an entry of ServersFile.
type wireServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
}

func readServers(project fs.FS) (src []byte, all map[string]wireServer, why string) {
	if project == nil {
		return nil, nil, "there is no project"
	}
	src, err := fs.ReadFile(project, ServersFile)

	var file struct {
		Servers map[string]wireServer `json:"mcpServers"`
	}
	switch {
	case err != nil:
		return nil, nil, "expected " + ServersFile + " in the project, got none"
	case len(src) > maxServers:
		return nil, nil, ServersFile + " has more than 256 KiB"
	}
	if err := json.Unmarshal(src, &file); err != nil {
		return nil, nil, ServersFile + ": " + err.Error()
	}
	return src, file.Servers, ""
}

// readEntry reads what starts the server, else it says why it cannot be used.
func (s *Server) readEntry(all map[string]wireServer) (why string) {
	w, ok := all[s.Name]
	switch {
	case !ok:
		return ServersFile + " has no server of that name, but " +
			strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	case w.URL != "" || w.Type != "" && w.Type != "stdio":
		return "expected a program, got a server at an address, which tercet does not grant"
	case w.Command == "" || strings.ContainsRune(w.Command, 0):
		return "expected a command, got none"
	case path.Base(w.Command) == "tercet":
		return "a subagent may not start commands: tercet cannot be granted"
	}

	s.Command = w.Command
	s.Args = w.Args
	s.Env = map[string]string{}
	for _, word := range s.Words() {
		if strings.Contains(word, "${") {
			return "a variable in the words of its command is not filled in: " + word
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		value := w.Env[name]
		switch {
		case value == "${"+name+"}":
			s.Vars = append(s.Vars, name)
		case strings.Contains(value, "${"):
			return fmt.Sprintf(
				"expected a text or ${%s} for variable %s, got %q", name, name, value,
			)
		default:
			s.Env[name] = value
		}
	}
	return ""
}
