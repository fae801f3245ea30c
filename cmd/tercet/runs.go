package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/rs/zerolog"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/config"
	"tercet/internal/journal"
	"tercet/internal/trace"
	"tercet/router"
	"tercet/state"
)

// handle runs the command that a line was routed to.
func (w *world) handle(ctx context.Context, line router.Line, r router.Route) (formats.Return, error) {
	if w.reader == nil && r.Name != "help" {
		return formats.Return{}, noWorkspace()
	}
	o := router.Orchestrator{
		Runner: w.library, Trace: w.sink, NewRun: func() (string, string) { return w.app.sessionID(), newRunID() },
	}
	ret, err := o.Handle(ctx, line, r, w.app.flags.dryRun)
	if cerr := w.sink.end(); cerr != nil {
		w.app.term.note("warning: trace: %s", cerr)
	}
	return ret, err
}

// runConfig gives one run everything that it can reach. The run's folder is made with the first entry of its journal.
func (w *world) runConfig(_ context.Context, inv formats.Invocation) (interp.Config, error) {
	cfg := interp.Config{
		Agents: w.dispatcher, State: noState{}, Docs: noDocs{}, Problems: w.problemStore(), Approve: w.approver, Journal: noJournal{}, Clock: clock{},
		Trace: w.sink, Show: w.app.term.table, Dir: w.dir, Env: w.environment, Limits: w.cfg.Limits, AutoApprove: w.app.flags.yes, DryRun: inv.DryRun,
		IDs: interp.IDs{Run: inv.Run, Session: inv.Session, Command: inv.Line, Path: inv.Path}, Abort: w.app.signals.hardContext(),
		Diff: w.diff,
	}
	if !inv.DryRun && w.app.flags.stubs != "" {
		return cfg, usage("--stubs belongs to --dry-run: a run asks its subagents")
	}
	if inv.DryRun {
		var err error
		if cfg.Stubs, err = w.stubs(w.app.flags.stubs); err != nil {
			return cfg, err
		}
	}
	if w.reader == nil || w.readOnly {
		return cfg, nil
	}
	cfg.State, cfg.Docs, cfg.Discard = w.reader, w.docs, w.dispatcher.Discard
	if inv.DryRun {
		return cfg, nil
	}
	j := journal.New(func() (*os.Root, error) { return w.runFolder(inv.Run) }, journal.Options{Clock: clock{}.Now, Sync: true, Mask: w.mask})
	w.keep(j)
	cfg.Journal = j
	w.sink.begin(inv.Run)
	return cfg, nil
}

// runFolder makes and opens runs/{id}; the trace begins to be written with it.
func (w *world) runFolder(run string) (*os.Root, error) {
	dir := path.Join(formats.Workspace, "runs", run)
	if err := atomicfile.MkdirAll(w.root, dir, 0o700); err != nil {
		return nil, err
	}
	if err := w.sink.open(w.root, path.Join(dir, "trace.jsonl")); err != nil {
		return nil, err
	}
	return w.root.OpenRoot(dir)
}

// environment looks up a variable that a command file names under `env`. A dry run needs no trust, so that it sees none in a
// project that nobody has agreed to.
func (w *world) environment(name string) (string, bool) {
	if v, err := w.gate.Verdict(); err != nil || v.By == "" {
		return "", false
	}
	return os.LookupEnv(name)
}

// problemStore is errors.json, or nothing where there is no workspace.
func (w *world) problemStore() interp.Problems {
	if w.problems == nil {
		return noProblems{}
	}
	return maskedProblems{store: w.problems, mask: w.mask}
}

// What a run without a workspace, and a dry run, reach instead.
type (
	noState    struct{}
	noDocs     struct{}
	noJournal  struct{}
	noProblems struct{}
)

func (noState) Snapshot(context.Context) (any, uint64, error) {
	return map[string]any{"tasks": []any{}}, 0, nil
}

func (noDocs) Open(context.Context, string) ([]byte, error)       { return nil, noWorkspace() }
func (noDocs) Glob(context.Context, []string) ([]string, error)   { return nil, noWorkspace() }
func (noJournal) Append(context.Context, formats.Entry) error     { return nil }
func (noProblems) Record(context.Context, formats.Problem) error  { return nil }
func (noProblems) List(context.Context) ([]state.Recorded, error) { return nil, nil }

// config reads config.yaml; an unknown key is a warning.
func (a *app) config(tree fs.FS, has bool) (config.Config, error) {
	var layers []config.Layer
	if has {
		name := formats.Workspace + "/config.yaml"
		data, err := fs.ReadFile(tree, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return config.Config{}, &formats.Failure{Code: formats.CodeConfig, Message: name, Err: err}
		}
		if err == nil {
			layers = append(layers, config.Layer{Name: config.WorkspaceLayer, File: name, Data: data})
		}
	}
	own, err := a.personConfig()
	if err != nil {
		return config.Config{}, err
	}
	layers = append(layers, own...)
	cfg, found := config.Load(layers...)
	d := &formats.Diagnostics{List: found, Of: formats.CodeConfig, Sources: map[string][]byte{}}
	for _, l := range layers {
		d.Sources[l.File] = l.Data
	}
	if d.HasErrors() {
		return cfg, d
	}
	if len(found) > 0 && !a.flags.quiet {
		a.term.diagnostics(d)
	}
	return cfg, nil
}

// switchboard hands events to the trace file of the run, to the terminal, and to the log. It is safe for concurrent use.
type switchboard struct {
	w   *world
	log *zerolog.Logger

	mu    sync.Mutex
	files map[string]*trace.File // by run
}

func newSwitchboard(w *world) *switchboard {
	s := &switchboard{w: w, files: map[string]*trace.File{}}
	if w.app.flags.verbose > 0 {
		level := zerolog.DebugLevel
		if w.app.flags.verbose > 1 {
			level = zerolog.TraceLevel
		}
		log := zerolog.New(zerolog.ConsoleWriter{Out: cleaned{w.app.io.err}, NoColor: !w.app.term.color, TimeFormat: "15:04:05.000"}).Level(level).With().Timestamp().Logger()
		s.log = &log
	}
	return s
}

// cleaned keeps control characters of agents and tools out of the log; colour codes of the log itself are lost with them.
type cleaned struct{ w io.Writer }

func (c cleaned) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, wrapped(string(p))+"\n"); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Emit implements trace.Sink.
func (s *switchboard) Emit(e trace.Event) {
	if e.Time.IsZero() {
		e.Time = clock{}.Now()
	}
	s.mu.Lock()
	f := s.files[e.Run]
	if f == nil && e.Run != "" {
		f = &trace.File{Mask: s.w.mask.Line}
		s.files[e.Run] = f
	}
	s.mu.Unlock()
	if f != nil {
		f.Emit(e)
	}
	s.w.app.term.event(e)
	if s.w.app.flags.events {
		s.w.app.term.rawJSON(append(s.w.mask.Line(trace.Encode(e)), '\n'))
	}
	if s.log != nil {
		s.log.Debug().Str("run", e.Run).Str("kind", e.Kind.String()).Str("step", e.Step).Str("outcome", e.Outcome).Int("depth", e.ToDepth).
			Dur("took", e.Duration).Msg(s.w.mask.Text(e.Name + " " + e.Message))
		s.attempts(e)
	}
}

// attempts logs the runners of a chain that were tried before the one that answered.
func (s *switchboard) attempts(e trace.Event) {
	list, ok := e.Attrs["attempts"].([]formats.RunnerAttempt)
	if !ok {
		return
	}
	for _, a := range list {
		if a.Code != "" {
			s.log.Debug().Str("run", e.Run).Str("step", e.Step).Msgf("%s passed over %s: %s: %s", e.Name, a.Runner, a.Code, s.w.mask.Text(a.Message))
		}
	}
}

func (s *switchboard) begin(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[run] == nil {
		s.files[run] = &trace.File{Mask: s.w.mask.Line}
	}
}

func (s *switchboard) open(root *os.Root, name string) error {
	s.mu.Lock()
	f := s.files[path.Base(path.Dir(name))]
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.Open(func() (io.WriteCloser, error) {
		return root.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	})
}

// end closes the trace files of runs that are over.
func (s *switchboard) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for run, f := range s.files {
		if err := f.Close(); err != nil && first == nil {
			first = fmt.Errorf("%s: %w", run, err)
		}
		delete(s.files, run)
	}
	return first
}
