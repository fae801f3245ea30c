package project

import (
	"context"
	"crypto/sha1" //nolint:gosec // it names objects of git and protects nothing
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/instructions"
	"tercet/internal/journal"
	"tercet/subagents/prompt"
)

// instructionsFile keeps the instructions of a run in its folder.
const instructionsFile = "instructions.json"

// runInstructions are the project's instructions of the runs of this process, by run.
type runInstructions struct {
	mu    sync.Mutex
	byRun map[string][]instructions.File
}

func (r *runInstructions) set(run string, list []instructions.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byRun == nil {
		r.byRun = map[string][]instructions.File{}
	}
	r.byRun[run] = list
}

// forPrompt are the instructions for one runner in one run.
func (r *runInstructions) forPrompt(run, runner string) []prompt.Text {
	r.mu.Lock()
	defer r.mu.Unlock()
	return promptTexts(r.byRun[run], runner)
}

func promptTexts(list []instructions.File, runner string) []prompt.Text {
	var out []prompt.Text
	for _, f := range instructions.Select(list, runner) {
		out = append(out, prompt.Text{
			From:   f.Path,
			Text:   f.Text,
			Folder: f.Folder,
		})
	}
	return out
}

// instructionNames lists the files of instructions for the list of what a user trusts.
func (p *Project) instructionNames() []string {
	if p.Config.NoInstructions || p.Root == nil {
		return nil
	}
	var out []string
	list, _ := instructions.Read(atomicfile.FS(p.Root))
	for _, f := range list {
		out = append(out, f.Path)
	}
	return out
}

// readInstructions reads the instructions of the project as a run gets them that begins now: the
// bytes that the user trusts and the last commit has. Without a repository there is no commit.
func (p *Project) readInstructions(ctx context.Context) ([]instructions.File, error) {
	if p.Config.NoInstructions || p.Root == nil {
		return nil, nil
	}

	list, leftOut := instructions.Read(p.Trust.FS("."))
	for _, one := range leftOut {
		p.note("%s is no part of the instructions: %s", one.Path, one.Why)
	}

	repo := p.Git(p.Dir)
	if len(list) == 0 || !repo.Exists() || p.TrustedBy() == "" { // git starts where it is trusted
		return list, nil
	}
	committed, err := committedFiles(ctx, repo, list)
	if err != nil {
		return nil, err
	}

	reported := map[string]bool{}
	for _, f := range list {
		if !isCommitted(f, list, committed) && !reported[f.Path] {
			reported[f.Path] = true
			p.note("%s is not as the last commit has it: agents do not get it until it is "+
				"committed", f.Path)
		}
	}

	// A file that a left-out one imports goes with it.
	return slices.DeleteFunc(list, func(f instructions.File) bool {
		return reported[f.Path] || reported[f.Candidate]
	}), nil
}

// committedFiles gives the mode and the object of each file in the last commit, by its path in the
// project. Before the first commit there are none.
func committedFiles(
	ctx context.Context, repo *git.Repo, list []instructions.File,
) (map[string]string, error) {
	_, folder, err := repo.Locate(ctx)
	if err != nil {
		return nil, err
	}

	var names []string
	for _, f := range list {
		names = append(names, path.Join(folder, f.Path))
	}

	out := map[string]string{}
	found, err := repo.Files(ctx, "HEAD", names...)
	if err != nil {
		return out, nil //nolint:nilerr // no commit yet: every file is noted and left out
	}

	for _, f := range list {
		out[f.Path] = found[path.Join(folder, f.Path)]
	}
	return out, nil
}

// isCommitted tells whether a file is as the last commit has it. A link is, if the file that it
// names is: it has the text of that file.
func isCommitted(
	f instructions.File, list []instructions.File, committed map[string]string,
) bool {
	if hasObject(committed[f.Path], f.Text) {
		return true
	}
	return strings.HasPrefix(committed[f.Path], symlink) &&
		slices.ContainsFunc(list, func(one instructions.File) bool {
			return one.Text == f.Text && hasObject(committed[one.Path], one.Text)
		})
}

// hasObject tells whether an entry of a commit has a text, also with other line ends.
func hasObject(entry, text string) bool {
	_, object, _ := strings.Cut(entry, " ")
	unix := strings.ReplaceAll(text, "\r\n", "\n")
	return object != "" && (object == blobHash(text) || object == blobHash(unix))
}

// symlink is the mode of a symbolic link in git.
const symlink = "120000"

// blobHash is the id of a text as a blob of git.
func blobHash(text string) string {
	object := fmt.Sprintf("blob %d\x00%s", len(text), text)
	sum := sha1.Sum([]byte(object)) //nolint:gosec // git names objects by SHA-1
	return hex.EncodeToString(sum[:])
}

// recordedInstructions reads what a run keeps, which must be what its journal names.
func (p *Project) recordedInstructions(run, sum string) ([]instructions.File, error) {
	if sum == "" {
		return nil, nil
	}

	name := path.Join(journal.Folder, run, instructionsFile)
	data, err := fs.ReadFile(atomicfile.FS(p.Root), name)
	if err != nil {
		return nil, formats.OnFile("reading", name, err)
	}

	var list []instructions.File
	if formats.Sum(data) != sum || json.Unmarshal(data, &list) != nil {
		return nil, formats.Fail(formats.CodeInvalidState,
			"type the line with --new to begin afresh",
			"%s is not what the run began with", name)
	}
	return list, nil
}

// loadInstructions gives a run its instructions: those that it began with, or for a new run those
// of now. It returns them as JSON for the run's folder; nil: there are none.
func (s *Session) loadInstructions(
	ctx context.Context, run string, past []journal.Record,
) ([]byte, error) {
	if s.givingUp { // it only ends, also where they were changed
		return nil, nil
	}

	var list []instructions.File
	var err error
	if len(past) > 0 {
		var started formats.Started
		started, err = journal.Started(past)
		if err == nil {
			list, err = s.Project.recordedInstructions(run, started.Instructions)
		}
	} else {
		list, err = s.Project.readInstructions(ctx)
	}
	if err != nil {
		return nil, err
	}

	s.Project.instructions.set(run, list)
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(list)
}
