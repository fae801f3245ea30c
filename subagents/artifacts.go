package subagents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/secrets"
)

// maxDocument is the most bytes that a document may have.
const maxDocument = 4 << 20

// document is one artifact whose content was read: what is placed is what was judged, whatever
// happens to the file.
type document struct {
	index int // in Return.Artifacts
	data  []byte
}

// checkArtifacts checks every artifact against the disk and reads the documents. Paths are made
// clean in place. Artifacts that do not hold are left out of ret, and named among the violations.
func (g *delegation) checkArtifacts(
	ret *formats.Return,
) (docs []document, bad []string, err error) {
	var tree *os.Root
	defer func() {
		if tree != nil {
			err = errors.Join(err, tree.Close())
		}
	}()

	kept := ret.Artifacts[:0:0]
	seen := map[string]bool{}
	folded := map[string]bool{}
	for _, a := range ret.Artifacts {
		problem := PathProblem(a.Path)
		var data []byte
		switch {
		case problem != "":
		case seen[path.Clean(a.Path)]:
			problem = "is listed twice"
		case a.Type.IsDocument() && folded[strings.ToLower(path.Clean(a.Path))]:
			problem = "differs from another one in case only"
		case a.Type.IsDocument() && g.info.Workflow:
			problem = fileProblem(g.dispatcher.Root, a.Path, "the project") // its step placed it
		case a.Type.IsDocument():
			data, problem = g.readDocument(a)
		case g.req.NoTree:
			problem = "is a file of a tree, and this step works in none"
		case g.belongsInDocs(a):
			data, problem = g.readDocument(a)
		case a.Deleted:
		default:
			if tree == nil {
				tree, err = os.OpenRoot(g.req.Dir)
				if err != nil {
					return nil, nil, onFile("read", g.req.Dir, err)
				}
			}
			problem = fileProblem(tree, a.Path, "the tree that was worked on")
		}

		if problem != "" {
			// Return.Validate names paths that are none at all.
			named := !fs.ValidPath(a.Path) || a.Path == "." ||
				strings.ContainsAny(a.Path, "\x00\\\n")
			if !named {
				bad = append(bad, fmt.Sprintf("artifact %q %s", a.Path, problem))
			}
			continue
		}

		a.Path = path.Clean(a.Path)
		seen[a.Path] = true
		folded[strings.ToLower(a.Path)] = true
		if data != nil {
			docs = append(docs, document{index: len(kept), data: data})
		}
		kept = append(kept, a)
	}

	ret.Artifacts = kept
	return docs, bad, nil
}

// resolveTypes gives artifacts that came without a type theirs: where the file lies decides whether
// it is a document, and the contract which.
func (g *delegation) resolveTypes(list []formats.Artifact) {
	for i := range list {
		a := &list[i]
		if !a.Guessed || PathProblem(a.Path) != "" {
			continue
		}
		a.Guessed = false
		name := filepath.FromSlash(a.Path)
		if g.folder.out != nil {
			if _, err := g.folder.out.Lstat(name); err == nil {
				a.Type = g.documentOf(*a)
				continue
			}
		}

		_, err := os.Lstat(filepath.Join(g.req.Dir, name))
		if err == nil && a.Type.IsDocument() && !g.info.Workflow {
			a.Type = formats.ArtifactDocumentation
		}
	}
}

// documentOf is the type of a document. The contract's type for its name goes first, then the
// contract's only one, then what its own name says, then the role's.
func (g *delegation) documentOf(a formats.Artifact) (kind formats.ArtifactType) {
	several := false
	for _, spec := range g.info.Artifacts {
		document := spec.Type.IsDocument() || spec.Type == formats.ArtifactDocumentation
		if document && spec.Name == path.Base(a.Path) {
			return spec.Type
		}
		if document {
			several = several || kind != "" && kind != spec.Type
			kind = spec.Type
		}
	}

	for _, one := range []formats.ArtifactType{
		a.Type,
		g.info.Role.Artifact(),
		formats.ArtifactReport,
	} {
		if (kind == "" || several) && one.IsDocument() {
			return one
		}
	}
	return kind
}

// belongsInDocs tells whether an artifact is documentation that lies in the folder for documents
// and belongs into a folder docs of the tree. Only a contract that names documentation has such.
func (g *delegation) belongsInDocs(a formats.Artifact) bool {
	if a.Type != formats.ArtifactDocumentation || g.folder.out == nil || g.info.Workflow {
		return false
	}
	if PathProblem(a.Path) != "" || strings.HasPrefix(a.Path, ".") {
		return false
	}
	named := slices.ContainsFunc(g.info.Artifacts, func(s formats.ArtifactSpec) bool {
		return s.Type == a.Type
	})
	inDocs := !strings.Contains(a.Path, "/") || strings.Contains("/"+a.Path, "/"+docsFolder+"/")
	if !named || !inDocs {
		return false
	}
	_, err := g.folder.out.Lstat(filepath.FromSlash(a.Path))
	return err == nil
}

// docsFolder is where the documents of a project lie.
const docsFolder = "docs"

// dropSecretFiles takes the files of secrets out of a result, and gives an issue for each.
func (g *delegation) dropSecretFiles(ret *formats.Return) (found []formats.Issue) {
	ret.Artifacts = slices.DeleteFunc(ret.Artifacts, func(a formats.Artifact) bool {
		f, secret := secrets.Guarded(a.Path, func() string {
			return g.artifactText(a)
		})
		allowed := func(one secrets.Allowed) bool {
			return one.Allows(f) || one.Allows(secrets.Finding{File: a.Path})
		}
		if !secret || a.Deleted || slices.ContainsFunc(g.dispatcher.Allow, allowed) {
			return false
		}

		what := a.Path + " is a " + f.Class
		place := ".tercet/config.yaml: " + f.Allow()
		if f.Line > 0 {
			what = fmt.Sprintf("%s has a %s in line %d", a.Path, f.Class, f.Line)
		}
		found = append(found, formats.Issue{
			Level:       formats.LevelError,
			Files:       []string{a.Path},
			Line:        f.Line,
			Source:      "check",
			Description: what + ", and no result may hold one; if it is none, allow it in " + place,
		})
		return true
	})
	return found
}

// artifactText is the text of an artifact, empty where it is no regular file; what is wrong with it
// then is told elsewhere.
func (g *delegation) artifactText(a formats.Artifact) string {
	root := g.folder.out
	if !a.Type.IsDocument() && !g.belongsInDocs(a) {
		tree, err := os.OpenRoot(g.req.Dir)
		if err != nil {
			return ""
		}
		defer func() { _ = tree.Close() }() //nolint:errcheck // reason: it was only read
		root = tree
	}
	if root == nil || PathProblem(a.Path) != "" || fileProblem(root, a.Path, "") != "" {
		return ""
	}
	text, _, err := readRegular(root, a.Path)
	if err != nil {
		return ""
	}
	return string(text)
}

// readRegular reads a file up to one byte more than a document may have. It may have become a link
// or a pipe since it was looked at: what was opened decides.
func readRegular(root *os.Root, name string) (data []byte, regular bool, err error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		regular = true
		data, err = io.ReadAll(io.LimitReader(f, maxDocument+1))
	}
	return data, regular, errors.Join(err, f.Close())
}

// readDocument reads a document out of the delegation's folder. The problem is empty if it is a
// regular file with text.
func (g *delegation) readDocument(a formats.Artifact) (data []byte, problem string) {
	const where = "the folder for documents"
	out := g.folder.out
	switch {
	case out == nil:
		return nil, "is a document, and the contract has none"
	case a.Deleted:
		return nil, "is a document and cannot be deleted"
	}
	if problem := fileProblem(out, a.Path, where); problem != "" {
		return nil, problem
	}

	data, regular, err := readRegular(out, a.Path)
	switch {
	case err != nil:
		return nil, "cannot be read in " + where + ": " + reason(err)
	case !regular:
		return nil, "is not a regular file"
	case len(data) > maxDocument:
		return nil, fmt.Sprintf("is larger than %d bytes", maxDocument)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, "is empty"
	}
	return data, ""
}

// fileProblem says what keeps a path from being a regular file that is not empty; links are not
// followed.
func fileProblem(root *os.Root, name, where string) string {
	info, err := root.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not in " + where
	case err != nil:
		return "cannot be read in " + where + ": " + reason(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return "is a symbolic link"
	case !info.Mode().IsRegular():
		return "is not a regular file"
	case info.Size() == 0:
		return "is empty"
	}
	return ""
}

// PathProblem says what is wrong with the form of an artifact's path: it must be relative, with
// slashes, and stay inside. The problem is empty if nothing is.
func PathProblem(p string) string {
	const limit = 255
	switch {
	case p == "":
		return "has no path"
	case strings.HasPrefix(p, "/") || filepath.IsAbs(p):
		return "has an absolute path, expected one relative to its folder"
	case strings.ContainsRune(p, '\\'):
		return "has a backslash in its path, expected slashes"
	case strings.ContainsRune(p, ':'):
		return "has a colon in its path, which means a drive or a stream on Windows"
	case strings.ContainsFunc(p, unicode.IsControl):
		return "has a control character in its path"
	case !utf8.ValidString(p):
		return "has bytes in its path that are no UTF-8"
	}

	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "..":
			return "leads out of its folder"
		case len(part) > limit:
			return fmt.Sprintf("has a name of more than %d bytes in its path", limit)
		case part != "." && (strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ")):
			return "has a name that ends in a dot or a space in its path"
		case windowsName().MatchString(part):
			return "has a name in its path that Windows keeps for devices"
		}
	}

	if !filepath.IsLocal(filepath.FromSlash(p)) || path.Clean(p) == "." {
		return "is no file inside its folder"
	}
	return ""
}

// windowsName matches a name that means a device on Windows, where the tree may be checked out.
var windowsName = lazy.Regexp(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[1-9¹²³]) *(\.|$)`)

// ArtifactCheck gives a check of artifacts below a folder. The check says what is wrong with a
// file, and is empty for a non-empty or deleted one.
func ArtifactCheck(root *os.Root) func(formats.Artifact) string {
	return func(a formats.Artifact) string {
		if problem := PathProblem(a.Path); problem != "" || a.Deleted {
			return problem
		}
		return fileProblem(root, a.Path, "the folder")
	}
}

// reason is an error of the file system without the path, which the message has already.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
