package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tercet/formats"
	"tercet/project"
)

// InspectClone has tercet look at a clone, after it was brought to a commit of the home unless that
// is empty. What the user agreed to in the clone main counts here.
func InspectClone(
	ctx context.Context, program, dir, main, base string,
) (s project.CloneState, err error) {
	//nolint:gosec // tercet itself
	cmd := exec.CommandContext(ctx, program, "__team", "prepare", base, main)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir = dir
	cmd.Env = append(withoutJoinWord(os.Environ()), "TERCET_NO_INPUT=1")

	var out, said bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		text := parseReport(out.Bytes(), said.String()).Said
		return s, formats.Fail(formats.CodePrecondition, "look at the clone: tercet doctor",
			"the clone %s cannot be used: %s", dir, text)
	}

	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		return s, formats.Broken(formats.CodeToolUnavailable, "the answer of "+program, err,
			"install the same version of tercet, tercet-hub and tercet-worker")
	}
	return s, nil
}

// How long a clone that refuses runs is left alone, and one whose setup failed.
const (
	recheckAfter    = 5 * time.Second
	retrySetupAfter = 5 * time.Minute
)

// refreshClone looks at the clone where it may have changed: after a run, and while it refuses
// runs.
func (w *Worker) refreshClone(ctx context.Context) error {
	after := recheckAfter
	if w.clone.SetupFailed {
		after = retrySetupAfter
	}
	if !w.prepared.IsZero() && (w.clone.Refuses == "" || time.Since(w.prepared) < after) {
		return nil
	}
	return w.prepareClone(ctx, "")
}

// prepareClone brings the clone to a commit of the home, or only looks at it.
func (w *Worker) prepareClone(ctx context.Context, base string) error {
	before := w.clone
	now, err := InspectClone(ctx, w.cfg.Program, w.cfg.Dir, w.cfg.Main, base)
	if err != nil {
		return err
	}

	if now.Base == "" && now.Refuses == "" {
		now.Base = before.Base
	}

	w.clone = now
	w.prepared = time.Now()
	if now.Refuses != "" && now.Refuses != before.Refuses {
		w.cfg.Tell("worker %s: takes no run: %s", w.cfg.name(), now.Refuses)
	}
	return nil
}

// RunAll works in several clones side by side. The first error ends all of them.
func RunAll(ctx context.Context, list []Config) error {
	within, stop := context.WithCancel(ctx)
	defer stop()

	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, cfg := range list {
		all.Go(func() {
			errs[i] = Run(within, cfg)
			if errs[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Slots gives the folders of the project in the clones of a worker with several slots. The first is
// the clone in which it was started; the others lie beside it in CLONE.slots and are made from its
// remote of that name where they are missing; empty: origin, or the only one.
func Slots(ctx context.Context, dir, remote string, slots int) ([]string, error) {
	list := []string{dir}
	if slots <= 1 {
		return list, nil
	}

	top, err := gitText(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, dir, err)
	}
	rel, err := filepath.Rel(top, real)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, dir, err)
	}

	folder := top + ".slots"
	for n := 2; n <= slots; n++ {
		clone := filepath.Join(folder, strconv.Itoa(n))
		if err := makeClone(ctx, top, remote, clone); err != nil {
			return nil, err
		}

		place := filepath.Join(clone, rel)
		info, err := os.Stat(filepath.Join(place, formats.Workspace))
		if err != nil || !info.IsDir() {
			return nil, formats.Fail(formats.CodeNoWorkspace,
				"commit and push what 'tercet init' made, and remove "+clone,
				"the clone for slot %d has no workspace: %s", n, place)
		}
		list = append(list, place)
	}
	return list, nil
}

// makeClone clones the remote of a clone, unless the folder is there. A clone that was not finished
// begins anew.
func makeClone(ctx context.Context, from, remote, to string) error {
	_, err := os.Stat(to)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return formats.Broken(formats.CodeIO, to, err)
	}

	if remote == "" {
		if remote, err = remoteOf(ctx, from); err != nil {
			return err
		}
	}
	url, err := gitText(ctx, from, "remote", "get-url", remote)
	if err != nil {
		return err
	}
	branch, err := gitText(ctx, from, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		return err
	}

	half := to + ".unfinished"
	if err := os.RemoveAll(half); err != nil {
		return formats.Broken(formats.CodeIO, half, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return formats.Broken(formats.CodeIO, filepath.Dir(to), err,
			"make it, or start the worker in a clone beside which you may write")
	}

	_, err = gitText(ctx, from,
		"clone", "-q", "--origin", remote, "--branch", branch, "--", url, half)
	if err != nil {
		return err
	}

	for _, key := range []string{"user.name", "user.email"} {
		value, err := gitText(ctx, from, "config", "--local", "--default", "", "--get", key)
		if err == nil && value != "" {
			_, err = gitText(ctx, half, "config", "--local", key, value)
		}
		if err != nil {
			return err
		}
	}

	if err := os.Rename(half, to); err != nil {
		return formats.Broken(formats.CodeIO, to, err)
	}
	return nil
}

// remoteOf is the remote that a clone works with: origin, or the only one.
func remoteOf(ctx context.Context, dir string) (string, error) {
	text, err := gitText(ctx, dir, "remote")
	names := strings.Fields(text)
	switch {
	case err != nil:
		return "", err
	case len(names) == 1:
		return names[0], nil
	}
	for _, name := range names {
		if name == "origin" {
			return name, nil
		}
	}
	return "", formats.Fail(formats.CodePrecondition, "name one of them origin: git remote rename",
		"expected one remote or one with the name origin in %s, got %d", dir, len(names))
}

// gitText runs git and gives what it printed.
func gitText(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")

	var out, said bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		text := strings.Join(strings.Fields(said.String()), " ")
		return "", formats.Broken(formats.CodePrecondition, "git "+args[0],
			fmt.Errorf("%w: %s", err, text), "look at the clone: git -C "+dir+" status")
	}
	return strings.TrimSpace(out.String()), nil
}
