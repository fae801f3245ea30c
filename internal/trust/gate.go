package trust

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tercet/formats"
	"tercet/internal/merge3"
)

// Config is the input of a Gate. Root and Dir are required; Verdict needs the rest.
type Config struct {
	Root *os.Root // of the project
	Dir  string   // its path, absolute
	Home string   // tercet's folder outside projects; empty: no place for a record
	// RecordOf is another folder whose record counts here, because both are clones of one
	// repository that the same user prepared; empty: that of Dir.
	RecordOf string
	// Digests is the value of --trust: comma-separated digests.
	Digests string
	// Override says what replaces the user's answer: ByEnvironment, ByDemo or nothing.
	Override string
	// Agreed holds the digests approved in this process, in case no record can be stored.
	Agreed map[string]bool
	// Others lists the commands of the project, the agents of other tools in it, and the folders
	// that contain them.
	Others func() (files []Listed, folders []string, err error)
	// Argv returns the command line in a subagent file; nil if it has none.
	Argv func(name string, src []byte) []string
	// Settings are files of other tools that name programs; the name of a folder ends with a slash.
	Settings []string
	// Instructions lists the files of the project that tell agents how to work; nil: none.
	Instructions func() []string
	// ConfigArgv are the words of the command lines in the configuration.
	ConfigArgv []string
	Now        func() time.Time
}

// Gate decides which files of one project may start processes. It is safe for concurrent use and
// makes its verdict once.
type Gate struct {
	Config
	verdictMu sync.Mutex        // held while the verdict is computed
	mu        sync.Mutex        // guards the fields below
	verdict   *Verdict          // written under both locks
	readSums  map[string]string // by path: SHA-256 of what was read before the verdict
	// tampered is a subagent's change of what git runs. From then on git does not start. A worktree
	// shares configuration and hooks with its repository, so the next call of tercet itself could
	// run them.
	tampered error
}

// New returns the gate of a project; it reads nothing.
func New(c Config) *Gate {
	return &Gate{Config: c, readSums: map[string]string{}}
}

// The ways in which a project became trusted.
const (
	ByRecord      = "you"
	ByDigest      = "--trust"
	ByEnvironment = "environment"
	ByDemo        = "demo"
)

// Verdict is the trust in a project: where it comes from, and what still needs approval.
type Verdict struct {
	By       string // empty: not trusted
	Files    []Listed
	Manifest Manifest
	Changes  []Change
	Store    *Store // nil: no place for a record
	Note     error  // why there is no store
	// Unasked are files that need approval and that no line so far could reach.
	Unasked []Change
	// Needed are the changes that a question is about, because the line that asks can reach them;
	// nil: all.
	Needed []Change
	record Record
	dir    string
}

// Verdict compares the listed files with the approved ones, once. It never asks. The error is a
// formats.Failure: a file changed since it was read, or the list cannot be made.
func (g *Gate) Verdict() (*Verdict, error) {
	g.verdictMu.Lock()
	defer g.verdictMu.Unlock()
	if g.verdict != nil {
		return g.verdict, nil
	}

	files, err := g.collectFiles()
	if err != nil {
		return nil, err
	}
	v := &Verdict{Files: files, dir: g.Dir}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Path
		v.Files[i].Path = displayPath(f.Path)
	}

	v.Manifest, err = Read(g.Root, names)
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeIO,
			Message: "files that can start a program",
			Err:     err,
		}
	}

	v.Store, v.Note = Open(g.Home, cmp.Or(g.RecordOf, g.Dir))
	if v.Note == nil {
		v.record, v.Note = v.Store.Load()
	} else {
		v.Store = nil
	}

	v.Changes = v.record.Changes(v.Manifest)
	hash := v.Manifest.Hash()
	switch {
	case v.Note == nil && v.record.Covers(v.Manifest), g.Agreed[hash]:
		v.By = ByRecord
	case g.NamesDigest(hash):
		v.By = ByDigest
	default:
		v.By = g.Override
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(g.readSums)) {
		if err := v.checkContent(name, g.readSums[name]); err != nil {
			return nil, err
		}
	}

	g.verdict = v
	return v, nil
}

// Renew forgets the verdict and what was read before it, so that the next one is about the files as
// they are then. It is for a process that stays open while the user changes and trusts files.
func (g *Gate) Renew() {
	g.verdictMu.Lock()
	defer g.verdictMu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verdict = nil
	g.readSums = map[string]string{}
}

// checkRead compares a content with the manifest, or remembers it until there is one.
func (g *Gate) checkRead(name, sum string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.verdict == nil {
		if before, ok := g.readSums[name]; ok && before != sum {
			sum = "" // two reads differed, so no manifest can match both
		}
		g.readSums[name] = sum
		return nil
	}
	return g.verdict.checkContent(name, sum)
}

// checkContent refuses a content that differs from the manifest: the file changed between two
// reads.
func (v *Verdict) checkContent(name, sum string) error {
	if v.By == ByEnvironment {
		return nil
	}
	if f, ok := v.Manifest.File(name); !ok || f.SHA256 != sum {
		return formats.Fail(formats.CodeUntrusted, "look at it, and run the command again",
			"%s changed while it was read", name)
	}
	return nil
}

// Refused is the error that lists what still needs approval, and says how to give it.
func (v *Verdict) Refused() error {
	what := "run programs in " + v.dir
	if n := len(v.Changes); n > 0 {
		var names []string
		for _, c := range v.Changes[:min(n, 5)] {
			names = append(names, c.Path)
		}
		if n > 5 {
			names = append(names, fmt.Sprintf("%d more", n-5))
		}
		what = v.Pending() + " of " + v.dir + ": " + strings.Join(names, ", ")
	}

	help := "run 'tercet trust' on a terminal, or pass --trust=sha256:" + v.Manifest.Hash() +
		" to agree to exactly this"
	return &RefusedError{
		Failure: formats.Fail(formats.CodeUntrusted, help, "you have not agreed to %s", what),
		Verdict: v,
	}
}

// Pending counts the files that need approval, and all listed ones if these are more.
func (v *Verdict) Pending() string {
	all := formats.Count(len(v.Manifest.Files), "file")
	if len(v.Changes) == len(v.Manifest.Files) {
		return all
	}
	return fmt.Sprintf("%d of %s", len(v.Changes), all)
}

// All returns every listed file: those that need approval as in Changes, the others as trusted.
func (v *Verdict) All() []Change {
	out := make([]Change, len(v.Manifest.Files))
	for i, f := range v.Manifest.Files {
		out[i] = Change{File: f, Kind: "trusted"}
		at := slices.IndexFunc(v.Changes, func(c Change) bool {
			return c.Path == f.Path
		})
		if at >= 0 {
			out[i] = v.Changes[at]
		}
	}
	return out
}

// Difference shows the changes of a file since its approval; most limits the lines.
func (v *Verdict) Difference(c Change, most int) []string {
	if v.Store == nil || c.Before == "" {
		return nil
	}
	old, ok := v.Store.Content(c.Before)
	switch {
	case !ok:
		return []string{"(what was agreed to before was not kept: it is no text, or too long)"}
	case c.text == nil:
		return []string{"(what is there now cannot be shown: it is no text, or too long)"}
	}
	return merge3.Diff(string(old), string(c.text), most)
}

// Agree stores the user's approval: in this process, and in the record. It is about what the line
// that asked needs, and about all files where there is no record. The error says why it is not in
// the record.
func (g *Gate) Agree(v *Verdict) error {
	later := v.deferredChanges()

	g.mu.Lock()
	if g.Agreed != nil && later == nil {
		g.Agreed[v.Manifest.Hash()] = true
	}
	v.By = ByRecord
	v.Unasked = later
	g.mu.Unlock()

	if v.Store == nil {
		return v.Note
	}

	agreed := v.Manifest
	agreed.Files = slices.DeleteFunc(slices.Clone(agreed.Files), func(f File) bool {
		return slices.ContainsFunc(later, func(c Change) bool { return c.Path == f.Path })
	})
	v.record = v.record.Approve(agreed)
	v.Changes = later
	v.Needed = nil
	return v.Store.Save(v.record, v.Manifest, g.Now())
}

// deferredChanges are the changes that the question is not about.
func (v *Verdict) deferredChanges() []Change {
	if v.Needed == nil || v.Store == nil {
		return nil
	}
	var out []Change
	for _, c := range v.Changes {
		if !v.Needs(c) {
			out = append(out, c)
		}
	}
	return out
}

// Needs reports whether the question is about a change.
func (v *Verdict) Needs(c Change) bool {
	return v.Needed == nil || v.Store == nil ||
		slices.ContainsFunc(v.Needed, func(one Change) bool { return one.Path == c.Path })
}

// Known reports whether the user agreed to files of this project before.
func (v *Verdict) Known() bool {
	return len(v.record.Files) > 0
}

// Pass lets a line run that reaches none of the files that need approval. They stay unapproved.
func (g *Gate) Pass(v *Verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v.By = ByRecord
	v.Unasked = v.Changes
}

// Remember approves exactly the files that tercet itself has just written into a project, by path.
func Remember(home, dir string, written map[string][]byte, now time.Time) error {
	var m Manifest
	for _, name := range slices.Sorted(maps.Keys(written)) {
		m.Files = append(m.Files, NewFile(name, written[name]))
	}

	store, err := Open(home, dir)
	if err != nil {
		return err
	}
	r, err := store.Load()
	if err != nil {
		return err
	}
	return store.Save(r.Approve(m), m, now)
}

// Process is a process about to start.
type Process struct {
	Argv  []string
	Dir   string // its working folder
	Git   bool
	Agent bool // an agent CLI, or the program of a subagent
}

// Allow decides about every process. Nothing of a project starts before it is trusted. A program
// that is a file of the project starts only with its approved content, whichever path leads to it
// from Dir.
func (g *Gate) Allow(s Process) error {
	v, err := g.Verdict()
	switch {
	case err != nil:
		return err
	case v.By == "":
		return v.Refused()
	case s.Git:
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.tampered
	case !s.Agent || v.By == ByEnvironment:
		return nil
	}

	for _, word := range s.Argv {
		name, ok := projectPath(g.Dir, word)
		if !ok {
			continue
		}
		agreed, listed := v.Manifest.File(name)
		at := word
		if !filepath.IsAbs(at) {
			at = filepath.Join(s.Dir, filepath.FromSlash(word))
		}
		if !listed && (!strings.ContainsRune(word, '/') || isInternal(name)) {
			continue // not a path, or a file that tercet itself passes as argument
		}
		sum, there := hashAt(at)
		switch {
		case !there, listed && sum == agreed.SHA256 && agreed.Problem == "":
		case listed:
			return formats.Fail(formats.CodeUntrusted,
				"look at the change; the next command asks about it",
				"%s changed while the command ran", name)
		default:
			return formats.Fail(formats.CodeUntrusted,
				"add it to the project; the next command asks about it",
				"%s is not among the files that were agreed to", name)
		}
	}

	return nil
}

// isInternal reports whether a path is in the workspace or the repository: programs get such files
// as arguments.
func isInternal(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first == formats.Workspace || first == ".git"
}

// hashAt returns the SHA-256 of a file by its path, empty if it is unreadable; there is false if no
// file exists.
func hashAt(at string) (sum string, there bool) {
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENAMETOOLONG) &&
			!errors.Is(err, syscall.ENOTDIR)
	}
	root, err := os.OpenRoot(filepath.Dir(real))
	if err != nil {
		return "", true
	}
	f, there, err := readFile(root, filepath.Base(real))
	if err = errors.Join(err, root.Close()); err != nil || f.Problem != "" {
		return "", true
	}
	return f.SHA256, there
}

// Tamper records a subagent's change of what git runs, and returns the first such change.
func (g *Gate) Tamper(agent, what string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tampered == nil {
		g.tampered = formats.Fail(formats.CodeUntrusted,
			"look at these before you use git here: a hook or a setting of git runs programs "+
				"with your rights; "+
				"undo what you do not want, then run the command again",
			"while subagent %s worked, what git runs or reads in this repository changed: %s",
			agent, what)
	}
	return g.tampered
}

// Watch records the workspace files that start processes or answer gates; the returned function
// checks them after a subagent has ended. It applies even if the environment replaces the user's
// answer, because these files decide what runs next. It ignores files of other tools: writing them
// may be the task, and the next command asks about them.
func (g *Gate) Watch(agent string) (func() error, error) {
	before, err := g.ownFiles()
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeIO,
			Message: "files of the workspace that start programs",
			Err:     err,
		}
	}
	return func() error {
		now, err := g.ownFiles()
		what := before.changedPaths(now)
		if err != nil {
			what = []string{"something so that it cannot be read any more: " + err.Error()}
		}
		if len(what) == 0 {
			return nil
		}
		return formats.Fail(formats.CodeUntrusted,
			"if the change was not yours, undo it: these files decide what runs next; then run "+
				"the command again",
			"while subagent %s worked, files of the workspace that start programs changed: %s",
			agent, strings.Join(what, ", "))
	}, nil
}

func (g *Gate) ownFiles() (Manifest, error) {
	names := append([]string{configFile}, autoApproves...)
	for _, folder := range ownFolders {
		files, err := listFiles(g.Root, path.Join(formats.Workspace, folder))
		if err != nil {
			return Manifest{}, err
		}
		names = append(names, files...)
	}
	return Read(g.Root, names)
}

// changedPaths lists added, removed and changed files, sorted.
func (m Manifest) changedPaths(now Manifest) []string {
	var out []string
	for _, pair := range [][2]Manifest{{m, now}, {now, m}} {
		for _, f := range pair[1].Files {
			if other, ok := pair[0].File(f.Path); !ok || other.SHA256 != f.SHA256 {
				out = append(out, f.Path)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// NamesDigest reports whether --trust has this digest.
func (g *Gate) NamesDigest(digest string) bool {
	return digest != "" &&
		slices.ContainsFunc(strings.Split(g.Digests, ","), func(one string) bool {
			return strings.TrimPrefix(strings.TrimSpace(one), "sha256:") == digest
		})
}

// CheckDigests rejects malformed digests before anything else happens.
func CheckDigests(text string) error {
	if text == "" {
		return nil
	}
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); !isSum(strings.TrimPrefix(one, "sha256:")) {
			return formats.Fail(formats.CodeUsage,
				"'tercet trust --json' prints the hash of the files as they are",
				"expected sha256: and 64 hex digits for --trust, got %s", one)
		}
	}
	return nil
}
