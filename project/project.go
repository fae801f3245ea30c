package project

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/config"
	"tercet/internal/control"
	"tercet/internal/dialect"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/router"
	"tercet/state"
	"tercet/state/files"
	"tercet/subagents/sandbox"
	"tercet/subagents/worktree"
)

// Project is one project root: its configuration, its state and its runs. It may be used by several
// goroutines; Close releases what it holds.
type Project struct {
	Host         Host
	Dir          string // the project root, absolute; the current folder without a workspace
	HasWorkspace bool
	Root         *os.Root
	Config       config.Config
	instructions runInstructions            // of the runs of this process
	Trust        *trust.Gate                // decides what of the project may start a program
	Profiles     *documents.ProjectProfiles // of documents; nil: the shipped ones

	Starter  *proc.Starter
	Keeper   *sandbox.Keeper
	Mask     *journal.Masker // of everything that is logged
	Trees    *worktree.Manager
	Control  *control.Controller // of the runs
	team     *team               // nil: all runs are this machine's own
	homeTime *homeClock          // of the team's home; nil without a team

	// The state of a workspace; nil without one.
	Reader   *state.Reader
	Manager  *state.Manager
	Docs     *files.Docs
	Problems *state.Errors

	// The command files.
	Table *router.Table
	// Exported are files that tercet export wrote, which are no commands, by the name that they
	// would have.
	Exported      map[string][]string
	sources       map[string]fs.FS         // by the name of the source
	foreignPlaces map[string]dialect.Place // of the sources of other tools
	isOwnSource   map[string]bool          // by name: the source came with the project
	folders       []string                 // of these sources, where commands are files
	// commandFolders are the folders of other tools with commands, as of the last scan.
	commandFolders []dialect.Folder
	// agentFolders searches for the folders of other tools with agents, once.
	agentFolders func() []dialect.Folder
	// deciding are the hashes of files that decide and that no command or subagent file names.
	decidingSums map[string]string

	runIDs      sync.Map          // ids of runs that NewRunID has given, as strings
	networkEnv  []string          // variables for what goes over the network
	notifier    *control.Notifier // tells what waits; nil: no notice
	askSlot     chan struct{}     // has one place: one question is asked at a time
	gitSettings git.Cache         // of the repositories of the project and its worktrees

	mu             sync.Mutex        // guards what follows: subagents with steps run side by side
	backgroundRuns map[*Run]struct{} // runs that were started or resumed in the background
	closing        bool              // no run starts in the background
	closers        []io.Closer
}

// Find finds the project and the command files in it, which is all that a route needs: no state, no
// subagent and no process. has tells whether dir has a workspace.
func Find(dir string, hasWorkspace bool, h Host) (_ *Project, err error) {
	p := &Project{
		Host:         h,
		Dir:          dir,
		HasWorkspace: hasWorkspace,
		askSlot:      make(chan struct{}, 1),
	}
	if h.Home != nil {
		p.homeTime = &homeClock{Clock: h.Clock}
		p.Host.Clock = p.homeTime
	}

	p.Root, err = os.OpenRoot(p.Dir)
	if err != nil {
		return p, formats.Broken(formats.CodeIO, "project root", err)
	}
	p.onClose(p.Root)
	p.Trust = p.newTrustGate()
	p.agentFolders = sync.OnceValue(p.finder().Agents)

	if err = p.readConfig(); err != nil {
		return p, err
	}
	p.readProfiles()
	return p, p.scan()
}

// profilesFolder holds the project's own profiles of documents.
const profilesFolder = formats.Workspace + "/profiles"

// readProfiles reads the project's own profiles. They decide what passes a check, so a run that is
// resumed asks before it goes on with changed ones.
func (p *Project) readProfiles() {
	if !p.HasWorkspace {
		return
	}
	p.Profiles = documents.ReadProjectProfiles(p.Trust.FS(profilesFolder))
	for name, sum := range p.Profiles.Sums() {
		if p.decidingSums == nil {
			p.decidingSums = map[string]string{}
		}
		p.decidingSums[profilesFolder+"/"+name] = sum
	}
}

// Open opens a project for everything but the commands and the subagents, which a Session has.
func Open(ctx context.Context, dir string, hasWorkspace bool, h Host) (*Project, error) {
	p, err := Find(dir, hasWorkspace, h)
	if err == nil {
		err = p.build(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

// Close suspends the runs that were started or resumed in the background, and releases what the
// project holds. A run is suspended as soon as what it began is done; when ctx ends, what is not
// done is interrupted, and begins again when the run is resumed. Runs(Filter{Closed: true}) lists
// the runs, and ResumeClosed resumes them.
func (p *Project) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.suspendBackgroundRuns(ctx)
	return p.release()
}

// release closes what the project holds.
func (p *Project) release() error {
	p.mu.Lock()
	closers := p.closers
	p.closers = nil
	p.mu.Unlock()

	var errs []error
	for _, c := range slices.Backward(closers) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// onClose closes what was opened when the project is closed.
func (p *Project) onClose(c io.Closer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closers = append(p.closers, c)
}

// note tells one line about what happens, without the secrets of the project.
func (p *Project) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.Mask != nil { // nil before the configuration is read
		text = p.Mask.Values(text)
	}
	p.Host.Frontend.Note("%s", text)
}

// NewRunID makes the id of a run. No run of the project has it, and no other run of this process
// will get it: a line about many tasks makes many ids in one second, before the first run begins.
func (p *Project) NewRunID() string {
	for {
		id := formats.NewRunID(p.Host.Clock.Now(), randomBytes())
		if _, given := p.runIDs.LoadOrStore(id, true); given {
			continue
		}
		if _, err := p.Root.Lstat(path.Join(journal.Folder, id)); err != nil {
			return id
		}
	}
}

// NewSessionID makes the id of a session.
func NewSessionID(now time.Time) string {
	return formats.NewSessionID(now, randomBytes())
}

func randomBytes() [6]byte {
	var b [6]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return b
}

// folderOf is the program's folder in one of the user's base folders. A variable names the base, or
// it lies below the home folder. Empty: there is no place for it.
func (h *Host) folderOf(variable string, below ...string) string {
	base := h.Env(variable)
	if !filepath.IsAbs(base) {
		home := h.Env("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		base = filepath.Join(home, filepath.Join(below...))
	}
	return filepath.Join(base, "tercet")
}

// StateHome is the program's folder for what outlives a project; empty where there is no place for
// it.
func (h *Host) StateHome() string {
	return h.folderOf("XDG_STATE_HOME", ".local", "state")
}
