package project

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/config"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/subagents/worktree"
)

// CloneState is what a worker of a team tells of its clone before it takes a run.
type CloneState struct {
	// Files are the SHA-256 of the files that can start a program, by path.
	Files map[string]string `json:"files"`
	// Base is the commit of the home that the checkout was brought to; empty: none was asked for.
	Base string `json:"base,omitempty"`
	// Refuses says why no run can be taken; empty: some can.
	Refuses string `json:"refuses,omitempty"`
	// SetupFailed means that the project's own setup command is the reason.
	SetupFailed bool          `json:"setup_failed,omitempty"`
	Worker      config.Worker `json:"worker"`
	Team        config.Team   `json:"team"`
}

// PrepareClone brings the clone of a worker to a commit of the home, unless that is empty, and
// prepares it by the project's setup command, once. What keeps it from taking runs is no error: the
// state says it.
func (h Host) PrepareClone(ctx context.Context, dir, base string) (s CloneState, err error) {
	p, err := Open(ctx, dir, true, h)
	if err != nil {
		return s, err
	}

	s, err = p.cloneState()
	if err == nil && s.Refuses == "" && base != "" {
		trees := worktree.Repository{Trees: p.Trees}
		refused := trees.FollowBase(ctx, base)
		if err = errors.Join(err, p.Close(ctx)); err != nil {
			return s, err
		}

		p, err = Open(ctx, dir, true, h)
		if err != nil {
			return s, err
		}
		s, err = p.cloneState()
		s.Base = base
		if refused != nil {
			s.Refuses = withHelp(refused)
		}
	}

	if err == nil && s.Refuses == "" {
		if failed := p.runSetup(ctx); failed != nil {
			s.Refuses = withHelp(failed)
			s.SetupFailed = true
		}
	}
	return s, errors.Join(err, p.Close(ctx))
}

// withHelp is an error and what to do about it, in one line.
func withHelp(err error) string {
	text := err.Error() + formats.Prefixed("; ", formats.HelpOf(err))
	return strings.Join(strings.Fields(text), " ")
}

// cloneState lists the files that can start a program, and says whether the user agreed to them.
func (p *Project) cloneState() (CloneState, error) {
	v, err := p.Trust.Verdict()
	if err != nil {
		return CloneState{}, err
	}

	s := CloneState{Files: manifestSums(v.Manifest), Worker: p.Config.Worker, Team: p.Config.Team}
	if v.By == "" {
		s.Refuses = withHelp(formats.Fail(formats.CodeUntrusted,
			"type there: tercet trust",
			"nobody has agreed to %s in %s", v.Pending(), p.trustFolder()))
	}
	return s, nil
}

// trustFolder is where the user agrees to the files of this project.
func (p *Project) trustFolder() string {
	if p.Host.TrustedAs != "" {
		return p.Host.TrustedAs
	}
	return p.Dir
}

func manifestSums(m trust.Manifest) map[string]string {
	files := map[string]string{}
	for _, f := range m.Files {
		files[f.Path] = f.SHA256
	}
	return files
}

// DecidingFiles are the files of a project that can start a program, as they are now.
type DecidingFiles struct {
	Sums   map[string]string // SHA-256, by path
	Digest string            // of all of them
	// Pending names those that the user has not agreed to, such as "2 of 9 files"; empty: none.
	Pending string
}

// DecidingFiles reads the files that can start a program.
func (p *Project) DecidingFiles(ctx context.Context) (d DecidingFiles, err error) {
	err = p.withFreshSession(ctx, Options{TellsBroken: true}, func(s *Session) error {
		v, err := s.Project.Trust.Verdict()
		if err != nil {
			return err
		}
		d.Sums = manifestSums(v.Manifest)
		d.Digest = v.Manifest.Hash()
		if v.By == "" {
			d.Pending = v.Pending()
		}
		return nil
	})
	return d, err
}

// setupDone is the file of a clone that says which setup command has prepared it.
const setupDone = formats.Workspace + "/setup.done"

// setupTime bounds the setup command.
const setupTime = time.Hour

// runSetup runs the project's setup command, unless it has prepared this clone before. Another
// command line prepares the clone again.
func (p *Project) runSetup(ctx context.Context) error {
	argv := p.Config.Setup
	if len(argv) == 0 {
		return nil
	}

	line := strings.Join(argv, "\x00")
	done, err := atomicfile.ReadFile(p.Root, setupDone)
	if err == nil && string(done) == line {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return formats.OnFile("read", setupDone, err)
	}

	p.note("setup: %s", strings.Join(argv, " "))
	res, err := p.Starter.Run(ctx, proc.Command{
		Argv:    argv,
		Dir:     p.Dir,
		Purpose: proc.PurposeAgent, // a file of the project starts only as it was agreed to
		Timeout: proc.Timeout{Total: setupTime},
	})

	const help = "mend it, and let it run by hand in the clone"
	switch {
	case err != nil:
		return formats.Broken(formats.CodeOf(err), "setup: "+path.Base(argv[0]), err)
	case res.TimedOut != "":
		return formats.Fail(formats.CodeTimeout, help, "setup: %s took longer than %s", argv[0],
			setupTime)
	case !res.Success():
		const most = 400
		said := strings.Join(strings.Fields(string(res.Stdout)+" "+string(res.Stderr)), " ")
		if over := len(said) - most; over > 0 {
			said = "..." + strings.ToValidUTF8(said[over:], "")
		}
		return formats.Fail(formats.CodePrecondition, help, "setup: %s ended with %d: %s",
			strings.Join(argv, " "), res.Exit, p.Mask.Values(said))
	}

	err = atomicfile.WriteIn(p.Root, setupDone, []byte(line), atomicfile.Options{Mode: 0o644})
	if err != nil {
		return formats.OnFile("write", setupDone, err)
	}
	return nil
}
