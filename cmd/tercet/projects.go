package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"tercet/project"
)

// host is what this process gives to the projects that it opens.
func (a *app) host() project.Host {
	return project.Host{
		Frontend:     a.term,
		Clock:        clock{},
		Version:      version,
		User:         userName(),
		Session:      a.sessionID(),
		CommandLine:  strings.Join(os.Args, " "),
		Supervisor:   selfCommand(childWord),
		ChildWord:    childWord,
		Detached:     selfCommand(detachedWord),
		InsideRun:    a.insideRun,
		Env:          a.env,
		LookupEnv:    os.LookupEnv,
		Environ:      os.Environ,
		AbortContext: a.signals.AbortContext,
		Strict:       a.flags.strict,
		LockTimeout:  a.flags.lockTimeout,
		Trust:        a.flags.trust,
		Agreed:       a.accepted,
		TrustedAs:    a.trustedAs,
	}
}

// options are what the flags say about a line.
func (a *app) options() project.Options {
	f := &a.flags
	return project.Options{
		Runner:        f.runner,
		Model:         f.model,
		DryRun:        f.dryRun,
		Stubs:         f.stubs,
		Record:        f.record,
		Replay:        f.replay,
		Yes:           f.yes,
		Await:         f.await,
		New:           f.fresh,
		IfNeeded:      f.ifNeeded,
		AcceptChanges: f.acceptChanges,
		Parallel:      f.parallel,
		Most:          f.max,
		Typed:         f.prompting,
		TellsBroken:   a.tellsBroken,
	}
}

// open opens the project once a process, with or without a workspace.
func (a *app) open(ctx context.Context) (*project.Project, error) {
	if a.project != nil {
		return a.project, nil
	}
	dir, has, err := a.projectDir()
	if err != nil {
		return nil, err
	}
	p, err := project.Open(ctx, dir, has, a.host())
	if err != nil {
		return nil, err
	}
	a.project = p
	a.term.Use(p)
	return p, nil
}

// openSession opens the project with its commands and subagents, once a process.
func (a *app) openSession(ctx context.Context) (*project.Session, error) {
	p, err := a.open(ctx)
	if err != nil || a.session != nil {
		return a.session, err
	}
	s, err := p.Session(a.options())
	if err != nil {
		return nil, errors.Join(err, a.closeProject())
	}
	a.session = s
	return s, nil
}

// needSession opens the project with its commands and subagents for a verb.
func (c *call) needSession() (err error) {
	c.s, err = c.app.openSession(c.ctx)
	if err == nil {
		c.p = c.s.Project
	}
	return err
}

// findProject finds the project and its command files alone.
func (a *app) findProject() (*project.Project, error) {
	dir, has, err := a.projectDir()
	if err != nil {
		return nil, err
	}
	return project.Find(dir, has, a.host())
}

// workspace is the project if it has a workspace.
func (a *app) workspace(ctx context.Context) (*project.Project, error) {
	p, err := a.open(ctx)
	if err == nil && p.Reader == nil {
		return nil, project.NoWorkspace()
	}
	return p, err
}

// workspaceSession is openSession for a project that must have a workspace.
func (a *app) workspaceSession(ctx context.Context) (*project.Session, error) {
	s, err := a.openSession(ctx)
	if err == nil && s.Project.Reader == nil {
		return nil, project.NoWorkspace()
	}
	return s, err
}

// closeProject closes the project, so that the next line reads the files anew: a command may have
// written a command.
func (a *app) closeProject() error {
	p := a.project
	a.project = nil
	a.session = nil
	a.term.Use(nil)
	if p == nil {
		return nil
	}
	return p.Close(context.Background()) // no run works in the background
}
