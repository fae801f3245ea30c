// Package instructions finds the files in which a project tells agents how to work in it, such as
// CLAUDE.md and AGENTS.md, and the files of the project that they import.
//
// It promises the same list for the same files: names in the order of reading, each once, at most
// MaxFile bytes each, none with the name of a secret, none outside the project.
//
// It will not decide whether a project is trusted, ask git, or compose a prompt.
//
// Its functions are safe for concurrent use.
package instructions

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/internal/md"
	"tercet/internal/secrets"
)

// Bounds: MaxFile of one file in bytes, maxFiles of all of them, maxDepth of imports in imports,
// maxFolders that are searched for files of their own.
const (
	MaxFile    = 64 << 10
	maxFiles   = 64
	maxDepth   = 5
	maxFolders = 500
)

// File is one file of instructions.
type File struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// Candidate names the candidate that it is, or that imports it.
	Candidate string `json:"for"`
	// Folder is the one below which the file holds; empty: everywhere.
	Folder string `json:"folder,omitempty"`
}

// rootFiles are the files that each agent CLI looks up itself, in its order.
var rootFiles = map[string][]string{
	"claude":   {"CLAUDE.md", ".claude/CLAUDE.md"},
	"codex":    {"AGENTS.md"},
	"opencode": {"AGENTS.md"},
	"gemini":   {"GEMINI.md"},
	"copilot":  {".github/copilot-instructions.md", "AGENTS.md"},
}

// folderFiles is the file that an agent CLI looks up in the folders of the files that it works on.
// codex has none below its own folder. opencode looks up AGENTS.md whatever it is told, so it gets
// none from here.
var folderFiles = map[string]string{
	"claude": "CLAUDE.md",
	"gemini": "GEMINI.md",
}

// candidates are the files of all tools, in the order in which one stands in for another tool's.
var candidates = []string{
	"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md",
}

// Skipped is a file that was left out, and why.
type Skipped struct{ Path, Why string }

// Read reads the candidates of a project and what they import.
func Read(tree fs.FS) (files []File, left []Skipped) {
	r := reader{tree: tree}
	for _, name := range candidates {
		r.read(name, name, 0)
	}
	all := len(r.files)
	if cut := r.readFolders(); cut && len(r.files) > all {
		r.skipped = append(r.skipped, Skipped{
			Path: "CLAUDE.md or GEMINI.md of a folder beyond the first 500",
			Why:  "no more folders are searched",
		})
	}
	return r.files, r.skipped
}

// readFolders reads what folders have for the work in them, the upper ones first. It tells whether
// it looked into no more folders because there are too many.
func (r *reader) readFolders() (cut bool) {
	queue := []string{"."}
	for searched := 0; len(queue) > 0; searched++ {
		if searched == maxFolders {
			return true
		}
		folder := queue[0]
		queue = queue[1:]

		entries, err := fs.ReadDir(r.tree, folder)
		if err != nil {
			continue // others may not read it either
		}

		for _, e := range entries {
			name := path.Join(folder, e.Name())
			switch {
			case e.IsDir() && !isForeignFolder(e.Name()):
				queue = append(queue, name)
			case folder != "." && (e.Name() == "CLAUDE.md" || e.Name() == "GEMINI.md"):
				r.folder = folder
				r.read(name, name, 0)
				r.folder = ""
			}
		}
	}
	return false
}

// isForeignFolder tells whether a folder holds what tools made or fetched, by its name.
func isForeignFolder(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

// Select picks what an agent gets: the files that its tool looks up itself, or else the first of
// another tool. Equal texts stand once.
func Select(files []File, runner string) []File {
	has := func(name string) bool {
		return slices.ContainsFunc(files, func(f File) bool { return f.Candidate == name })
	}

	wanted := slices.DeleteFunc(slices.Clone(rootFiles[runner]), func(name string) bool {
		return !has(name)
	})
	if len(wanted) == 0 {
		if at := slices.IndexFunc(candidates, has); at >= 0 {
			wanted = slices.Clone(candidates[at : at+1])
		}
	}

	for _, f := range files {
		isOfFolder := f.Path == f.Candidate && f.Folder != ""
		if isOfFolder && path.Base(f.Candidate) == folderFiles[runner] {
			wanted = append(wanted, f.Candidate)
		}
	}

	var out []File
	for _, name := range wanted {
		for _, f := range files {
			same := func(one File) bool { return one.Path == f.Path || one.Text == f.Text }
			if f.Candidate == name && !slices.ContainsFunc(out, same) {
				out = append(out, f)
			}
		}
	}
	return out
}

type reader struct {
	tree    fs.FS
	files   []File
	skipped []Skipped
	// folder is the one below which what is read now holds; empty: everywhere.
	folder string
}

// read reads a file for a candidate, and then what it imports.
func (r *reader) read(name, candidate string, depth int) {
	known := func(f File) bool { return f.Path == name && f.Candidate == candidate }
	if slices.ContainsFunc(r.files, known) {
		return
	}

	info, err := fs.Stat(r.tree, name)
	if err != nil || info.IsDir() {
		return // a word with @ that names no file is text
	}

	data, why := r.readText(name, info, depth)
	if why != "" {
		r.skipped = append(r.skipped, Skipped{name, why})
		return
	}

	if strings.TrimSpace(string(data)) != "" {
		r.files = append(r.files, File{
			Path:      name,
			Text:      string(data),
			Candidate: candidate,
			Folder:    r.folder,
		})
	}

	if base := path.Base(candidate); base == "CLAUDE.md" || base == "GEMINI.md" {
		for _, target := range imports(string(data)) {
			target = path.Join(path.Dir(name), target)
			if fs.ValidPath(target) { // else it lies outside the project
				r.read(target, candidate, depth+1)
			}
		}
	}
}

// readText reads a file, or says why it is left out.
func (r *reader) readText(name string, info fs.FileInfo, depth int) (data []byte, why string) {
	_, secret := secrets.Name(name)
	switch {
	case secret:
		return nil, "its name is that of a file with secrets"
	case !info.Mode().IsRegular():
		return nil, "it is no regular file"
	case info.Size() > MaxFile:
		return nil, "it has more than 64 KiB"
	case depth > maxDepth:
		return nil, "it is imported over more than 5 files"
	case len(r.files) >= maxFiles:
		return nil, "there are more than 64 files"
	}

	data, err := fs.ReadFile(r.tree, name)
	switch {
	case err != nil:
		return nil, err.Error()
	case len(data) > MaxFile:
		return nil, "it has more than 64 KiB"
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, "it is no text in UTF-8"
	}
	return data, ""
}

// imports are the words @path of a text outside of code, in their order.
func imports(text string) []string {
	var out []string
	doc, _ := md.Parse([]byte(text)) // what cannot be read imports nothing
	for _, block := range doc.Blocks {
		if !slices.Contains([]md.BlockKind{md.Heading, md.Paragraph, md.Item}, block.Kind) {
			continue
		}
		for i, part := range strings.Split(block.Raw, "`") {
			if i%2 == 1 { // code
				continue
			}
			for word := range strings.FieldsSeq(part) {
				target, ok := strings.CutPrefix(word, "@")
				target = strings.TrimRight(target, ".,;:)")
				absolute := strings.HasPrefix(target, "~") || strings.HasPrefix(target, "/")
				if ok && target != "" && !absolute && !slices.Contains(out, target) {
					out = append(out, target)
				}
			}
		}
	}
	return out
}
