package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
)

// folder has the records inside tercet's own folder.
const folder = "trust"

const schema = "tercet.trust-record/1"

// Store is the folder of the records.
type Store struct {
	dir     string // the program's folder, absolute; need not exist
	project string // real path of the project root
}

// Open returns the store for one project root in dir, tercet's folder in the user's state folder.
// It writes nothing. The error says why the store cannot be used.
func Open(dir, project string) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, unusableError(dir, "expected an absolute path")
	}

	real, err := filepath.EvalSymlinks(project)
	if err != nil {
		return nil, err
	}
	real, err = filepath.Abs(real)
	if err != nil {
		return nil, err
	}

	s := &Store{dir: filepath.Clean(dir), project: real}
	return s, s.checkUsable()
}

// unusableError is the error for a folder that cannot hold the records.
func unusableError(dir, why string) error {
	return formats.Fail(formats.CodeIO, "", "trust store %s is not used: %s", dir, why)
}

// checkUsable checks the location and every existing folder of the store.
func (s *Store) checkUsable() error {
	at := resolveExisting(filepath.Dir(s.dir))
	if isBelow(s.project, filepath.Join(at, filepath.Base(s.dir))) {
		return unusableError(s.dir, "it lies inside the project")
	}

	for _, name := range []string{s.dir, filepath.Join(s.dir, folder), s.recordPath("")} {
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return unusableError(name, err.Error())
		case info.Mode()&fs.ModeSymlink != 0:
			return unusableError(name, "it is a symbolic link")
		case !info.IsDir():
			return unusableError(name, "it is no folder")
		case info.Mode().Perm()&0o022 != 0:
			return unusableError(name,
				fmt.Sprintf("others may write there; run chmod 700 %s", name))
		}
	}
	return nil
}

// resolveExisting resolves the links of the existing part of a path.
func resolveExisting(dir string) string {
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return filepath.Join(dir, rest)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = up
	}
}

// isBelow reports whether a path is the folder or below it.
func isBelow(dir, inner string) bool {
	rel, err := filepath.Rel(dir, inner)
	return err == nil && filepath.IsLocal(rel)
}

// recordPath is a file in the project's part of the store.
func (s *Store) recordPath(name string) string {
	return filepath.Join(s.dir, folder, formats.Sum([]byte(s.project)), filepath.FromSlash(name))
}

// openProject opens the project's part; fs.ErrNotExist if there is none.
func (s *Store) openProject() (*os.Root, error) {
	if err := s.checkUsable(); err != nil {
		return nil, err
	}
	return os.OpenRoot(s.recordPath(""))
}

const recordFile = "record.json"

// Load returns the record of the project; without one, Known is false. The error says why the
// record or the store cannot be used; there is then no approval.
func (s *Store) Load() (Record, error) {
	root, err := s.openProject()
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	if err != nil {
		return Record{}, err
	}

	var r Record
	info, err := root.Lstat(recordFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is no regular file")
	case err == nil:
		var data []byte
		data, err = root.ReadFile(recordFile)
		if err == nil {
			if newer := s.checkSchema(data); newer != nil {
				return Record{}, errors.Join(newer, root.Close())
			}
			r, err = parseRecord(data, s.project)
		}
	}

	if err = errors.Join(err, root.Close()); err != nil {
		return Record{}, formats.Fail(formats.CodeIO, "",
			"trust record %s is not used: %v", s.recordPath(recordFile), err)
	}
	return r, nil
}

// Save replaces the record of the project, and stores the files' texts next to it, so that a later
// change can be shown.
func (s *Store) Save(r Record, m Manifest, now time.Time) (err error) {
	if err := s.checkUsable(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o700); err != nil {
		return err
	}

	base, err := os.OpenRoot(filepath.Dir(s.dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	projectFolder := path.Join(filepath.Base(s.dir), folder, formats.Sum([]byte(s.project)))
	if err := atomicfile.MkdirAll(base, path.Join(projectFolder, "files"), 0o700); err != nil {
		return err
	}

	root, err := s.openProject()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if old, err := root.ReadFile(recordFile); err == nil {
		if err := s.checkSchema(old); err != nil {
			return err
		}
	}
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	keep := map[string]bool{}
	for _, f := range r.Files {
		keep[f] = true
	}

	options := atomicfile.Options{Mode: 0o600}
	for _, f := range m.Files {
		if f.text != nil && keep[f.SHA256] {
			err := atomicfile.WriteIn(root, "files/"+f.SHA256, f.text, options)
			if err != nil {
				return err
			}
		}
	}

	r.Schema = schema
	r.Root = s.project
	r.Manifest = m.Hash()
	r.Time = now.UTC().Truncate(time.Second)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}

	data = append(data, '\n')
	if err := atomicfile.WriteIn(root, recordFile, data, options); err != nil {
		return err
	}
	return sweep(root, keep)
}

// sweep removes texts that the record no longer refers to.
func sweep(root *os.Root, keep map[string]bool) error {
	entries, err := fs.ReadDir(root.FS(), "files")
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !keep[e.Name()] {
			errs = append(errs, root.Remove("files/"+e.Name()))
		}
	}
	return errors.Join(errs...)
}

// Content returns an approved content, if it was stored.
func (s *Store) Content(sum string) ([]byte, bool) {
	root, err := s.openProject()
	if err != nil || !isSum(sum) {
		return nil, false
	}
	data, err := root.ReadFile("files/" + sum)
	if err = errors.Join(err, root.Close()); err != nil || formats.Sum(data) != sum {
		return nil, false
	}
	return data, true
}

// Revoke removes everything about the project; it reports whether there was anything.
func (s *Store) Revoke() (bool, error) {
	root, err := s.openProject()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}

	err = atomicfile.Remove(root, recordFile)
	had := err == nil
	if had || errors.Is(err, fs.ErrNotExist) {
		err = sweep(root, nil)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return had, errors.Join(err, root.Close())
}

// Record is what the user approved in one project.
type Record struct {
	Known    bool      `json:"-"` // a record exists
	Schema   string    `json:"schema"`
	Root     string    `json:"root"`     // real path of the project root
	Manifest string    `json:"manifest"` // hash of the last approved manifest
	Time     time.Time `json:"time"`
	// path to approved SHA-256; a deleted file stays, so that its return needs no approval
	Files map[string]string `json:"files"`
}

// Change is a file that differs from the record.
type Change struct {
	File
	Kind   string // new or changed
	Before string // the approved SHA-256 of a changed file
}

// Changes lists the files of the manifest that need approval.
func (r Record) Changes(m Manifest) []Change {
	var out []Change
	for _, f := range m.Files {
		before, ok := r.Files[f.Path]
		switch {
		case !ok:
			out = append(out, Change{File: f, Kind: "new"})
		case before != f.SHA256:
			out = append(out, Change{
				File:   f,
				Kind:   "changed",
				Before: before,
			})
		}
	}
	return out
}

// Covers reports whether there is a record and nothing of the manifest needs approval.
func (r Record) Covers(m Manifest) bool {
	return r.Known && len(r.Changes(m)) == 0
}

// Approve is the record with the current files of the manifest.
func (r Record) Approve(m Manifest) Record {
	files := map[string]string{}
	maps.Copy(files, r.Files)
	for _, f := range m.Files {
		files[f.Path] = f.SHA256
	}
	r.Files = files
	r.Known = true
	return r
}

// checkSchema is the error for a record that a newer version of tercet wrote.
func (s *Store) checkSchema(data []byte) error {
	var r struct{ Schema string }
	if json.Unmarshal(data, &r) != nil {
		return nil //nolint:nilerr // parse says what is wrong with it
	}
	what := "trust record " + s.recordPath(recordFile)
	f := formats.Newer(formats.CodeUntrusted, what, r.Schema, schema)
	if f != nil {
		return f
	}
	return nil
}

// parseRecord parses a record strictly: a record that is not understood counts as none.
func parseRecord(data []byte, project string) (r Record, err error) {
	if _, err := jsonx.Parse(data, jsonx.Limits{Depth: 4, Bytes: 16 << 20}); err != nil {
		return Record{}, err // for example a duplicate key
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, err
	}

	switch {
	case r.Schema != schema:
		err = fmt.Errorf("expected schema %q, got %q", schema, r.Schema)
	case r.Root != project:
		err = fmt.Errorf("expected a record of %s, got one of %s", project, r.Root)
	case !isSum(r.Manifest) || r.Files == nil || r.Time.IsZero():
		err = errors.New("expected a manifest, a time and files")
	}

	for name, sum := range r.Files {
		if !isSum(sum) {
			err = fmt.Errorf("expected a sha256 for %q", name)
		}
	}

	r.Known = true
	return r, err
}

// isSum reports whether a text has the form of a sha256: 64 lower hexadecimal digits.
func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
