package team

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/project"
	"tercet/subagents/worktree"
)

// Candidate is what a worker says of itself when it asks for a run.
type Candidate struct {
	Version string // of tercet
	Labels  []string
	// Files are the SHA-256 of the files of its clone that can start a program, by path, and Base
	// is the commit of the home that the clone was brought to.
	Files map[string]string
	Base  string
	// Refuses is why it takes no run; empty: it takes some.
	Refuses string
}

// Fit says whether a worker may have a run.
type Fit struct {
	Why string // it may not have it; empty: it may
	// Behind means that the clone has other files than the home, and may have the same ones once it
	// was brought to the home's commit.
	Behind bool
}

// Fit tells whether a worker may have a run: it has the labels that the run needs, the same tercet,
// and the files that the owner of the home agreed to.
func (k *Keeper) Fit(ctx context.Context, run string, c Candidate) (Fit, error) {
	r, err := k.findRun(run)
	if err != nil {
		return Fit{}, err
	}

	misses := slices.DeleteFunc(slices.Clone(r.record.Needs), func(one string) bool {
		return slices.Contains(c.Labels, one)
	})
	if len(misses) > 0 {
		return Fit{Why: "it lacks the labels " + strings.Join(misses, ", ")}, nil
	}

	if why := k.versionDiffers(run, r, c.Version); why != "" {
		return Fit{Why: why}, nil
	}
	if c.Refuses != "" {
		return Fit{Why: c.Refuses}, nil
	}

	files, err := k.decidingFiles(ctx, false)
	if err != nil {
		return Fit{}, err
	}
	if files.Pending != "" {
		return Fit{Why: describeError(notAgreed(files))}, nil
	}
	other := differingFiles(files.Sums, c.Files)
	if len(other) == 0 {
		return Fit{}, nil
	}

	const most = 3
	text := strings.Join(other[:min(len(other), most)], ", ")
	if over := len(other) - most; over > 0 {
		text += fmt.Sprintf(" and %d more", over)
	}
	return Fit{
		Why: "other files can start a program in its clone than at the home: " + text +
			"; commit and push them at the home, or remove them there",
		Behind: true,
	}, nil
}

// versionDiffers says why a worker's tercet is the wrong one; empty: it is not. A run that began
// with an earlier version may end where that one still is; a run that has not begun may not.
func (k *Keeper) versionDiffers(run string, r *teamRun, version string) string {
	home := k.project.Host.Version
	began := k.Lines(run) > 0
	switch {
	case version == home, began && version == r.record.Version:
		return ""
	case began && r.record.Version != home:
		return fmt.Sprintf("it has %s, and the run waits for a worker with %s or %s", version,
			r.record.Version, home)
	}
	return fmt.Sprintf("it has %s, and the home has %s: install the same version on both", version,
		home)
}

// differingFiles lists the files that two machines do not have alike.
func differingFiles(a, b map[string]string) (names []string) {
	for name, sum := range a {
		if b[name] != sum {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func describeError(err error) string {
	return err.Error() + formats.Prefixed("; ", formats.HelpOf(err))
}

func notAgreed(d project.DecidingFiles) error {
	return formats.Fail(formats.CodeUntrusted, "type at the home: tercet trust",
		"the owner of the home has not agreed to %s that can start programs", d.Pending)
}

// decidingCache are the files at the home that can start a program, as they were a moment ago.
type decidingCache struct {
	mu    sync.Mutex
	files project.DecidingFiles
	at    time.Time
}

// decidingFiles reads these files. What was read a moment ago is good enough for a worker that asks
// again and again, and not for a new line.
func (k *Keeper) decidingFiles(ctx context.Context, now bool) (project.DecidingFiles, error) {
	const moment = time.Second
	d := &k.deciding
	d.mu.Lock()
	defer d.mu.Unlock()

	clock := k.project.Host.Clock
	if !now && !d.at.IsZero() && clock.Now().Sub(d.at) < moment {
		return d.files, nil
	}

	files, err := k.project.DecidingFiles(ctx)
	if err != nil {
		return files, err
	}
	if files.Digest != d.files.Digest || files.Pending != d.files.Pending {
		k.project.Trust.Renew() // git starts at the home under what is agreed to now
	}

	d.files = files
	d.at = clock.Now()
	return files, nil
}

// Base pushes the commit of the home's checkout for the clones, and returns it; empty: there is
// none.
func (k *Keeper) Base(ctx context.Context) (string, error) {
	k.effects.Lock()
	defer k.effects.Unlock()
	return worktree.Repository{Trees: k.project.Trees}.PushBase(ctx)
}
