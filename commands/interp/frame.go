package interp

import (
	"cmp"
	"context"

	"tercet/formats"
)

// frame is the context in which a step runs. It is passed by value: whoever needs another one for
// the steps below passes a changed copy.
type frame struct {
	ctx       context.Context // ends what is being done now
	run       *run
	journal   *cursor
	branch    *branch // that yields for an effect; nil: effects are done at once
	feedback  *formats.Feedback
	state     *stateCache
	collector *[]formats.Artifact // takes what the present element, child or run brought
	subtree   *subtree            // the worktree of the present child; nil: that of the run
	// shared tells that other branches work in the same tree at the same time.
	shared bool
	// concurrent tells that this branch is one of several that are under way at the same time.
	concurrent bool
	// freshReads observes the project instead of the journal; only while a gate is rechecked.
	freshReads bool
}

// stateCache holds $state from its first use in a step to the start of the next one.
type stateCache struct{ doc any }

// mainFrame is the frame of the run's own sequence.
func (r *run) mainFrame(ctx context.Context) frame {
	return frame{
		ctx:       ctx,
		run:       r,
		journal:   &cursor{log: &r.journal},
		feedback:  r.cfg.Feedback,
		state:     &stateCache{},
		collector: &[]formats.Artifact{},
	}
}

// withContext ends the steps below with another context.
func (fr frame) withContext(ctx context.Context) frame {
	fr.ctx = ctx
	return fr
}

// withFeedback gives the steps below some feedback, nil for none.
func (fr frame) withFeedback(fb *formats.Feedback) frame {
	fr.feedback = fb
	return fr
}

// withCollector collects what the steps below make in another list.
func (fr frame) withCollector(made *[]formats.Artifact) frame {
	fr.collector = made
	return fr
}

// withSubtree runs the steps below in the worktree of a child.
func (fr frame) withSubtree(t *subtree) frame {
	fr.subtree = t
	return fr
}

// withFreshReads reads files and state as they are now, not from the journal.
func (fr frame) withFreshReads() frame {
	fr.freshReads = true
	fr.state = &stateCache{}
	return fr
}

// addArtifact adds an artifact to the run and to the collector.
func (fr frame) addArtifact(a formats.Artifact) {
	fr.run.artifacts.add(a)
	*fr.collector = append(*fr.collector, a)
}

// dir is the worktree of the present child, or else that of the run; empty without one.
func (fr frame) dir() string {
	if fr.subtree != nil && fr.subtree.dir != "" {
		return fr.subtree.dir
	}
	return fr.run.tree.dir
}

// workDir is the folder in which the work of this frame is done.
func (fr frame) workDir() string {
	return cmp.Or(fr.dir(), fr.run.cfg.Dir)
}

// diff is what changed in that folder since the run began.
func (fr frame) diff() (patch, stat string, err error) {
	return fr.run.cfg.Diff(fr.ctx, fr.workDir())
}
