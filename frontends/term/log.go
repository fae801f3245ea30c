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
		Out:             cleaned{err},
		NoColor:         true,
		FormatTimestamp: now,
	}
	log := zerolog.New(to).With().Timestamp().Logger()
	return &log
}

// cleaned keeps control characters of agents and tools out of the log.
type cleaned struct{ w io.Writer }

func (c cleaned) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, plain.Message(string(p))+"\n"); err != nil {
		return 0, err
	}
	return len(p), nil
}

// logEvent writes what there is of an event.
func logEvent(log *zerolog.Logger, e project.Event, mask func(string) string) {
	entry := log.Debug().Str("run", e.Run).Str("kind", e.Kind.String()).Int("depth", e.ToDepth)
	if e.Duration > 0 {
		// not 0s
		entry = entry.Stringer("took", max(e.Duration.Round(time.Millisecond), time.Millisecond))
	}
	for _, f := range [][2]string{{"step", e.Step}, {"outcome", e.Outcome}} {
		if f[1] != "" {
			entry = entry.Str(f[0], f[1])
		}
	}

	entry.Msg(mask(strings.TrimSpace(e.Name + " " + e.Message)))
	attempts, _ := e.Attrs["attempts"].([]formats.RunnerAttempt) //nolint:errcheck // any other value has no attempts
	for _, a := range attempts {
		if a.Code != "" { // of a chain of runners: tried before the one that answered
			log.Debug().Str("run", e.Run).Str("step", e.Step).
				Msgf("%s passed over %s: %s: %s", e.Name, a.Runner, a.Code, mask(a.Message))
		}
	}
}
