package packs

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/strict"
)

// CodePack is the code of findings in a pack's files.
const CodePack = "E470"

// The limits of a pack.
const (
	MaxBytes = 16 << 20
	MaxFiles = 500
	// bytes of a file's name: what is being written, and .new, have longer ones, and 255 are
	// possible
	maxName = 200
)

// Pack is a pack as its author published it.
type Pack struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Needs       string `json:"needs,omitempty"` // lowest version of tercet
	Files       []File `json:"-"`               // by path in the pack
}

// File is the content of a file, and its path in the pack or the project.
type File struct {
	Path string
	Data []byte
}

var (
	nameForm = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}$`)
	semVer   = lazy.Regexp(
		`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`,
	)
	entryForm = lazy.Regexp(
		`^(pack\.yaml|README\.md|LICENSE|commands/[^/]+\.md|subagents/[^/]+\.md|` +
			`facets/(persona|knowledge|instruction|output|policy)/[^/]+\.md|` +
			`templates/[^/]+|tests/[^/]+\.json)$`,
	)
)

// reservedNames are the words that stand before a colon in names of commands and subagents and mean
// something else.
var reservedNames = []string{
	"tercet", "project", "user", "claude", "opencode", "gemini", "codex", "copilot", "cursor",
	"vscode", "base", "new",
}

// IsName reports whether a pack may have this name.
func IsName(name string) bool {
	return nameForm().MatchString(name) && !slices.Contains(reservedNames, name)
}

// Read reads a pack; shown is its name in messages. The error is a *formats.Diagnostics with all
// findings.
func Read(shown string, tree fs.FS) (Pack, error) {
	r := &reader{shown: shown, sources: map[string][]byte{}}
	var p Pack
	size := 0
	isTooLarge := false
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git" && name == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			r.addFileFinding(
				name,
				"expected a regular file, got a link or a device",
				"put the file itself into the pack",
			)
			return nil
		case nameProblem(name) != "":
			r.addFileFinding(name, "got "+nameProblem(name), fmt.Sprintf(
				"rename it: a name has at most %d bytes, and no control characters, "+
					"backslashes or colons",
				maxName,
			))
			return nil
		case !entryForm().MatchString(name):
			r.addFileFinding(
				name,
				"a pack has no such entry",
				"it has pack.yaml, commands/*.md, subagents/*.md, facets/KIND/*.md, templates/*, "+
					"tests/*.json",
			)
			return nil
		}

		info, err := d.Info()
		if err != nil {
			return err
		}
		size += int(min(info.Size(), MaxBytes+1))
		if size > MaxBytes || len(p.Files) >= MaxFiles {
			isTooLarge = true
			return fs.SkipAll
		}

		data, err := fs.ReadFile(tree, name)
		p.Files = append(p.Files, File{name, data})
		return err
	})
	if err != nil {
		return p, formats.Broken(formats.CodeIO, "pack "+shown, err)
	}
	if isTooLarge {
		r.list = append(r.list, tooLarge(shown))
	}

	r.manifest(&p)
	for i, f := range p.Files {
		if rest, ok := strings.CutPrefix(f.Path, "commands/"); ok && r.list == nil {
			p.Files[i].Data = r.addPackKey(p.Name, f, rest)
		}
	}

	if len(r.list) > 0 {
		d := &formats.Diagnostics{List: r.list, Sources: r.sources}
		d.Sort()
		return p, d
	}
	return p, nil
}

// TooLarge is the error of a pack that passes the limits.
func TooLarge(shown string) error {
	return &formats.Diagnostics{List: []formats.Diagnostic{tooLarge(shown)}}
}

func tooLarge(shown string) formats.Diagnostic {
	return formats.AboutFile(CodePack, shown+"/pack.yaml",
		fmt.Sprintf("expected at most %d files and %d bytes, got more", MaxFiles, MaxBytes), "")
}

// nameProblem says why no workspace can have a file of this name, empty if it can.
func nameProblem(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case !utf8.ValidString(part) || strings.ContainsFunc(part, unicode.IsControl):
			return "a name with control characters, or that is no UTF-8"
		case strings.ContainsAny(part, `\:`):
			return "a name with a backslash or a colon"
		case len(part) > maxName:
			return fmt.Sprintf("a name of %d bytes", len(part))
		}
	}
	return ""
}

type reader struct {
	strict.Decoder

	shown       string
	currentFile string
	list        []formats.Diagnostic
	sources     map[string][]byte
}

func (r *reader) addFileFinding(name, text, help string) {
	r.list = append(r.list, formats.AboutFile(CodePack, r.shown+"/"+name, text, help))
}

func (r *reader) report(f strict.Finding) {
	d := formats.Found(f.Code, f.Pos, f.Help, "%s", f.Message)
	d.File = r.currentFile
	d.End = f.End
	r.list = append(r.list, d)
}

var packForm = strict.Form{
	Unknown: "unknown key %q in pack.yaml",
	Keys:    []string{"name", "version", "description", "needs"},
}

// manifest reads pack.yaml.
func (r *reader) manifest(p *Pack) {
	i := slices.IndexFunc(p.Files, func(f File) bool {
		return f.Path == "pack.yaml"
	})
	if i < 0 {
		r.addFileFinding(
			"pack.yaml",
			"expected a pack.yaml, got none",
			"write name, version and description into it",
		)
		return
	}

	r.currentFile = r.shown + "/pack.yaml"
	r.sources[r.currentFile] = p.Files[i].Data
	r.Decoder = strict.Decoder{
		Report: r.report,
		Value:  CodePack,
		Key:    CodePack,
		Absent: CodePack,
		All:    "one of ",
	}
	root, problems := md.ParseYAML(p.Files[i].Data, md.Pos{Line: 1, Col: 1})
	for _, one := range problems {
		r.report(strict.Finding{
			Code:    CodePack,
			Pos:     one.Pos,
			Message: one.Msg,
		})
	}

	if len(problems) > 0 {
		return
	}
	if root == nil {
		r.addFileFinding(
			"pack.yaml",
			"expected name, version and description, got an empty file",
			"write the three keys into it",
		)
		return
	}

	isVersion := semVer().MatchString
	for key, n := range r.Map(root, "a map", packForm) {
		switch key.Value {
		case "name":
			const want = "a name of small letters, digits and hyphens that is not reserved"
			p.Name = r.text(n, want, IsName)
		case "version":
			p.Version = r.text(n, "a version such as 1.2.0", isVersion)
		case "needs":
			p.Needs = r.text(n, "a version such as 1.2.0", isVersion)
		case "description":
			p.Description = r.text(n, "one line of at most 120 characters", isLine)
		}
	}

	for _, key := range packForm.Keys[:3] {
		if root.Kind == md.Map && root.Get(key) == nil {
			r.Refuse(CodePack, root, "write "+key+": ...", "expected a "+key+", got none")
		}
	}
}

// isLine reports whether a text can be a description.
func isLine(s string) bool {
	return s != "" && len([]rune(s)) <= 120 && !strings.Contains(s, "\n")
}

// text reads a text, and reports one that does not fit as not being what want says.
func (r *reader) text(n *md.Node, want string, fits func(string) bool) string {
	text, _ := strict.As(&r.Decoder, n, want, strict.Text(fits))
	return text
}

// addPackKey gives a command of a pack the key that names it.
func (r *reader) addPackKey(pack string, f File, name string) []byte {
	doc, _ := md.Parse(f.Data)
	at := r.shown + "/" + f.Path
	if !doc.HasFront {
		r.addFileFinding(f.Path, "expected frontmatter, got none",
			"begin the file with --- and command: "+strings.TrimSuffix(name, ".md"))
		return f.Data
	}
	if n := doc.Front.Get("subagents"); n != nil {
		if n.Value != pack {
			r.currentFile = at
			r.sources[at] = f.Data
			r.Refuse(CodePack, n, "write "+pack+", or leave the key out",
				fmt.Sprintf("expected the pack's own name, got %q", n.Value))
		}
		return f.Data
	}
	end := bytes.IndexByte(f.Data, '\n') + 1
	key := "subagents: " + pack + "\n"
	if bytes.HasSuffix(f.Data[:end], []byte("\r\n")) {
		key = "subagents: " + pack + "\r\n"
	}
	return slices.Concat(f.Data[:end], []byte(key), f.Data[end:])
}

// WorkspaceFiles are the files that a workspace gets, by their paths in the project.
func (p Pack) WorkspaceFiles() []File {
	var out []File
	for _, f := range p.Files {
		dir, name := path.Split(f.Path)
		switch dir, _, _ := strings.Cut(dir, "/"); dir {
		case "commands":
			out = append(out, File{path.Join(formats.Workspace, dir, name), f.Data})
		case "subagents", "templates":
			out = append(out, File{path.Join(formats.Workspace, dir, p.Name, name), f.Data})
		case "facets":
			out = append(out, File{
				path.Join(formats.Workspace, path.Dir(f.Path), p.Name, name),
				f.Data,
			})
		}
	}
	return out
}

// Tests are the test files of the pack.
func (p Pack) Tests() []File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f File) bool {
		return !strings.HasPrefix(f.Path, "tests/")
	})
}

// IsNewer reports whether a version is above another one. Versions are as in pack.yaml;
// pre-releases come before the release.
func IsNewer(version, than string) bool {
	number := func(s string) (out [3]int, pre string) {
		s, _, _ = strings.Cut(s, "+")
		s, pre, _ = strings.Cut(s, "-")
		for i, part := range strings.SplitN(s, ".", 3) {
			out[i], _ = strconv.Atoi(part) //nolint:errcheck // what is no number counts as 0
		}
		return out, pre
	}
	a, preA := number(version)
	b, preB := number(than)
	if c := slices.Compare(a[:], b[:]); c != 0 {
		return c > 0
	}
	return preA != preB && (preA == "" || preB != "" && cmp.Compare(preA, preB) > 0)
}
