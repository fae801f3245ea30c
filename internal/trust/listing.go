package trust

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/order"
)

// Listed is a project file that can start a process, with its kind.
type Listed struct {
	Path, Kind   string
	Source, File string // of a command: its source in the table of commands
}

// The kinds of listed files.
const (
	KindConfig       = "configuration"
	KindApproval     = "auto-approve file"
	KindCommand      = "command"
	KindSubagent     = "subagent"
	KindProgram      = "program of a subagent"
	KindSpeaker      = "program of a runner"
	KindAgent        = "agent of another tool"
	KindSettings     = "settings of another tool"
	KindInstructions = "instructions for agents"
	kindUnnamed      = "file whose name is not UTF-8"
)

const (
	configFile = formats.Workspace + "/config.yaml"
	subagents  = formats.Workspace + "/subagents"
)

// autoApproves are the files of a project root that answer its gates; the first existing one
// counts.
var autoApproves = []string{
	formats.Workspace + "/auto-approve",
	".aphelion-auto-approve",
	".telescope-auto-approve",
}

// editorSettings are files with programs that editors, and agents in them, start.
var editorSettings = []string{".cursor/mcp.json", ".cursor/hooks.json", ".vscode/mcp.json"}

// wholeFolders are the folders whose files are all listed, and the kind of these files.
var wholeFolders = []Listed{
	{Path: formats.Workspace + "/facets", Kind: "facet"},
	{Path: formats.Workspace + "/templates", Kind: "template"},
	{Path: formats.Workspace + "/profiles", Kind: "profile"},
	{Path: formats.Workspace + "/hooks", Kind: "hook"},
	{Path: formats.Workspace + "/tests", Kind: "test"},
}

// ownFolders are the workspace folders that decide what runs next.
var ownFolders = []string{
	"commands", "subagents", "facets", "templates", "profiles", "hooks", "tests",
}

// collectFiles returns every file of the project that can start a program, sorted by path. It does
// not read .git.
func (g *Gate) collectFiles() (_ []Listed, err error) {
	out := []Listed{{Path: configFile, Kind: KindConfig}}
	for _, name := range autoApproves {
		out = append(out, Listed{Path: name, Kind: KindApproval})
	}

	var settingsFolders []string
	for _, name := range slices.Concat(editorSettings, g.Settings) {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			settingsFolders = append(settingsFolders, dir)
			continue
		}
		out = append(out, Listed{Path: name, Kind: KindSettings})
	}

	walk := func(dir, kind string, want func(name string) bool) {
		names, failed := listFiles(g.Root, dir)
		err = errors.Join(err, failed)
		for _, name := range names {
			if want == nil || want(name) {
				out = append(out, Listed{Path: name, Kind: kind})
			}
		}
	}
	for _, folder := range wholeFolders {
		walk(folder.Path, folder.Kind, nil)
	}

	others, folders, failed := g.Others()
	if failed != nil {
		return nil, failed
	}
	out = append(out, others...)
	// A name that is not UTF-8 is no command or agent here, but may be one for another tool.
	for _, dir := range folders {
		walk(dir, kindUnnamed, func(name string) bool {
			return !utf8.ValidString(name)
		})
	}

	out = append(out, g.listSubagents()...)
	for _, word := range g.ConfigArgv {
		if name, ok := projectPath(g.Dir, word); ok {
			out = append(out, Listed{Path: name, Kind: KindSpeaker})
		}
	}

	if g.Instructions != nil {
		for _, name := range g.Instructions() {
			out = append(out, Listed{Path: name, Kind: KindInstructions})
		}
	}

	// Last, so that a command in such a folder is listed as a command.
	for _, dir := range settingsFolders {
		walk(dir, KindSettings, nil)
	}
	order.Stable(out, func(x, y Listed) int {
		return cmp.Compare(x.Path, y.Path)
	})
	return slices.CompactFunc(out, func(x, y Listed) bool { return x.Path == y.Path }), err
}

// listSubagents lists the project's subagent files, and the files of the project that they name as
// programs.
func (g *Gate) listSubagents() []Listed {
	tree := g.FS(subagents)
	files, err := fs.Glob(tree, "*.md")
	entries, failed := fs.ReadDir(tree, ".")
	if errors.Join(err, failed) != nil {
		return nil
	}

	for _, e := range entries { // a glob over both levels would open a pipe, and block
		if !e.IsDir() {
			continue
		}
		pack, _ := fs.ReadDir(tree, e.Name()) //nolint:errcheck // unreadable: starts nothing
		for _, file := range pack {
			if path.Ext(file.Name()) == ".md" {
				files = append(files, path.Join(e.Name(), file.Name()))
			}
		}
	}

	var out []Listed
	for _, file := range files {
		name := path.Join(subagents, file)
		out = append(out, Listed{Path: name, Kind: KindSubagent})
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			continue // a file that cannot be read starts nothing
		}
		for _, word := range g.Argv(name, src) {
			if program, ok := projectPath(g.Dir, word); ok {
				out = append(out, Listed{Path: program, Kind: KindProgram})
			}
		}
	}

	return out
}

// listFiles lists the files of a folder, including hidden ones and unreadable folders. Names are
// raw bytes.
func listFiles(root *os.Root, dir string) ([]string, error) {
	var out []string
	var walk func(dir string, around []fs.FileInfo) error
	walk = func(dir string, around []fs.FileInfo) error {
		f, err := atomicfile.Open(root, dir)
		if errors.Is(err, fs.ErrNotExist) && len(around) == 0 {
			return nil
		}
		if err != nil || len(out) > MaxFiles { // such a manifest is refused
			out = append(out, dir)
			return nil //nolint:nilerr // listed, and the manifest says that it is unreadable
		}

		info, err := f.Stat()
		if err == nil && !info.IsDir() {
			out = append(out, dir)
			return f.Close()
		}

		entries, failed := f.ReadDir(-1)
		if err = errors.Join(err, failed, f.Close()); err != nil {
			return err
		}
		if slices.ContainsFunc(around, func(one fs.FileInfo) bool {
			return os.SameFile(one, info)
		}) {
			return nil // a symbolic link cycle
		}

		around = append(slices.Clip(around), info)
		for _, e := range entries {
			name := dir + "/" + e.Name()
			folder := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				info, err := root.Stat(filepath.FromSlash(name))
				folder = err == nil && info.IsDir()
			}
			if !folder {
				out = append(out, name)
			} else if err := walk(name, around); err != nil {
				return err
			}
		}

		return nil
	}
	err := walk(dir, nil)
	return out, err
}

// projectPath returns the path in the project that a word of a command line refers to, if any.
func projectPath(dir, word string) (string, bool) {
	if filepath.IsAbs(word) {
		rel, err := filepath.Rel(dir, word)
		if err != nil {
			return "", false
		}
		word = rel
	}
	word = path.Clean(filepath.ToSlash(word))
	return word, word != "." && filepath.IsLocal(filepath.FromSlash(word)) && fs.ValidPath(word)
}
