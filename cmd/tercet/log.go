package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/plain"
	"tercet/internal/trace"
)

// switchboard hands events to the trace file of the run, to the terminal, and to the log. It is
// safe for concurrent use.
type switchboard struct {
	term   *terminal
	mask   *journal.Masker
	events bool // each is printed as JSON
	log    *zerolog.Logger

	mu    sync.Mutex
	files map[string]*trace.File // by run
}

func newSwitchboard(a *app, mask *journal.Masker) *switchboard {
	s := &switchboard{
		term:   a.term,
		mask:   mask,
		events: a.flags.events,
		files:  map[string]*trace.File{},
	}
	if a.flags.verbose > 1 {
		// an event's own is cut to seconds
		now := func(any) string { return clock{}.Now().Format("15:04:05.000") }
		to := zerolog.ConsoleWriter{
			Out:             cleaned{a.io.err},
			NoColor:         true,
			FormatTimestamp: now,
		}
		log := zerolog.New(to).With().Timestamp().Logger()
		s.log = &log
	}
	return s
}

// cleaned keeps control characters of agents and tools out of the log.
type cleaned struct{ w io.Writer }

func (c cleaned) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, plain.Message(string(p))+"\n"); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Emit implements trace.Sink.
func (s *switchboard) Emit(e trace.Event) {
	if e.Time.IsZero() {
		e.Time = clock{}.Now()
	}
	line := append(s.mask.Line(trace.Encode(e)), '\n')
	if e.Run != "" {
		s.begin(e.Run).Add(line)
	}
	if t := s.term; t.tells() && !t.still {
		if shown, err := trace.Decode(line); err == nil { // as the file has it
			t.stage.Emit(shown)
		}
	}
	if s.events {
		s.term.rawJSON(line)
	}
	if s.log == nil {
		return
	}

	entry := s.log.Debug().Str("run", e.Run).Str("kind", e.Kind.String()).Int("depth", e.ToDepth)
	if e.Duration > 0 {
		// not 0s
		entry = entry.Stringer("took", max(e.Duration.Round(time.Millisecond), time.Millisecond))
	}
	for _, f := range [][2]string{{"step", e.Step}, {"outcome", e.Outcome}} {
		if f[1] != "" {
			entry = entry.Str(f[0], f[1])
		}
	}

	entry.Msg(s.mask.Text(strings.TrimSpace(e.Name + " " + e.Message)))
	attempts, _ := e.Attrs["attempts"].([]formats.RunnerAttempt) //nolint:errcheck // any other value has no attempts
	for _, a := range attempts {
		if a.Code != "" { // of a chain of runners: tried before the one that answered
			s.log.Debug().Str("run", e.Run).Str("step", e.Step).
				Msgf("%s passed over %s: %s: %s", e.Name, a.Runner, a.Code, s.mask.Text(a.Message))
		}
	}
}

// begin gives the trace file of a run. Its events are kept until it is opened.
func (s *switchboard) begin(run string) *trace.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[run]
	if f == nil {
		f = &trace.File{}
		s.files[run] = f
	}
	return f
}

// open opens the trace file in the folder of a run.
func (s *switchboard) open(root *os.Root, dir string) error {
	return s.begin(path.Base(dir)).Open(func() (io.WriteCloser, error) {
		return root.OpenFile(
			path.Join(dir, "trace.jsonl"),
			os.O_CREATE|os.O_APPEND|os.O_WRONLY,
			0o600,
		)
	})
}

// end closes the trace files of runs that are over.
func (s *switchboard) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for run, f := range s.files {
		if err := f.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", run, err))
		}
	}
	clear(s.files)
	return errors.Join(errs...)
}
