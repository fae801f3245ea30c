package project

import (
	"context"

	"tercet/formats"
)

// Team is what the members of a team do with its runs, wherever these work. Its methods may be
// called at the same time.
type Team interface {
	// Watch calls see with the state of the team, and again whenever it changes, until the context
	// ends. An error says why there is no state, or no longer.
	Watch(ctx context.Context, see func(TeamState)) error
	// Gates are the open questions of the runs of the team.
	Gates(ctx context.Context) ([]TeamGate, error)
	// Show is a run as text, with its steps.
	Show(ctx context.Context, run string) (string, error)
	// Answer answers a gate by this member, and says what came of it. Another gate than the one
	// that was shown is not answered.
	Answer(ctx context.Context, run, gate string, r Reply) (string, error)
	// Order pauses, resumes or cancels a run.
	Order(ctx context.Context, run, do string) error
}

// TeamState is what a team does.
type TeamState struct {
	Runs    []TeamRun    `json:"runs"`
	Workers []TeamWorker `json:"workers"`
}

// TeamRun is a run of a team.
type TeamRun struct {
	Run    string       `json:"run"`
	Line   string       `json:"line"`
	State  TeamRunState `json:"state"`
	Worker string       `json:"worker"`
	Why    string       `json:"why"`   // of a run that waits, or how it ended
	Lines  int          `json:"lines"` // of its journal: more of them mean that it went on
	Code   int          `json:"code"`
}

// TeamRunState is what a run of a team does.
type TeamRunState string

// The states of a run of a team.
const (
	TeamQueued  TeamRunState = "queued"
	TeamRunning TeamRunState = "running"
	TeamWaiting TeamRunState = "waiting" // for an answer or a time
	TeamPaused  TeamRunState = "paused"
	TeamStuck   TeamRunState = "stuck" // no worker gets on with it
	TeamEnded   TeamRunState = "ended"
	TeamBroken  TeamRunState = "broken" // its journal cannot be read
)

// TeamWorker is a worker of a team.
type TeamWorker struct {
	Name    string   `json:"name"`
	Run     string   `json:"run"`         // empty: it is free
	Ago     float64  `json:"seconds_ago"` // since the hub heard of it
	Labels  []string `json:"labels"`
	Refuses string   `json:"refuses"` // why it takes no run now; empty: it takes some
}

// TeamGate is an open question of a run of a team.
type TeamGate struct {
	Run     string       `json:"run"`
	Command string       `json:"command"`
	Gate    formats.Gate `json:"gate"`
}
