package term

import (
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
)

// newLog logs events on standard error.
func newLog(err io.Writer, clock project.Clock) *zerolog.Logger {
	// an event's own time is cut to seconds
	now := func(any) string { return clock.Now().Format("15:04:05.000") }
	to := zerolog.ConsoleWriter{
		Out:             cleanWriter{err},
		NoColor:         true,
		FormatTimestamp: now,
	}
	log := zerolog.New(to).With().Timestamp().Logger()
	return &log
}

// cleanWriter keeps control characters of agents and tools out of the log.
type cleanWriter struct{ w io.Writer }

func (c cleanWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, plain.Message(string(p))+"\n"); err != nil {
		return 0, err
	}
	return len(p), nil
}

// logEvent writes what there is of an event.
func logEvent(log *zerolog.Logger, e project.Event, mask func(string) string) {
	entry := log.Debug().Str("run", e.Run).Str("kind", e.Kind.String()).Int("depth", e.ToDepth)
	if e.Duration > 0 {
		took := max(e.Duration.Round(time.Millisecond), time.Millisecond) // not 0s
		entry = entry.Stringer("took", took)
	}
	if e.Step != "" {
		entry = entry.Str("step", e.Step)
	}
	if e.Outcome != "" {
		entry = entry.Str("outcome", e.Outcome)
	}
	entry.Msg(mask(strings.TrimSpace(e.Name + " " + e.Message)))

	// Of a chain of runners: those that were tried before the one that answered.
	for _, a := range formats.As[[]formats.RunnerAttempt](e.Attrs["attempts"]) {
		if a.Code != "" {
			log.Debug().Str("run", e.Run).Str("step", e.Step).
				Msgf("%s passed over %s: %s: %s", e.Name, a.Runner, a.Code, mask(a.Message))
		}
	}
}
