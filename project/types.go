package project

import (
	"tercet/commands"
	"tercet/commands/outline"
	"tercet/formats/returns"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/internal/trace"
	"tercet/internal/trust"
	"tercet/router"
)

// What frontends handle and the layers below define. A frontend names these here, so that it
// imports no other package of ours.
type (
	// Event is one event of a run, as in its trace.
	Event = trace.Event
	// RunInfo is the summary of a run.
	RunInfo = journal.Run
	// StepInfo is the summary of one step of a run.
	StepInfo = journal.Step
	// LogLine is an entry of a run's journal, or a line of an agent's output.
	LogLine = journal.Event
	// Masker masks the secrets of a project in a text.
	Masker = journal.Masker
	// Topic is a topic of a board, with what was posted on it.
	Topic = journal.Topic
	// Difference is the first place in which two runs differ.
	Difference = journal.Difference
	// OpenGate is a gate that waits for an answer, and its run.
	OpenGate = control.OpenGate
	// AnswerEffect is what an answer led to.
	AnswerEffect = control.AnswerEffect
	// Spent is the use of workers by task, agent or day.
	Spent = control.Sum
	// MissingArguments is what a line lacks.
	MissingArguments = commands.MissingArguments
	// Ceiling is the most that a command may use.
	Ceiling = outline.Ceiling
	// AgentOutput is the output of a subagent as it is read, whether accepted or refused.
	AgentOutput = returns.Result
	// Line is a line as it was typed, or its words as a shell gave them.
	Line = router.Line
	// Route is where a line leads.
	Route = router.Route
	// Table is the commands of a project by name.
	Table = router.Table
	// UnknownCommandError says that a line names no command.
	UnknownCommandError = router.UnknownCommandError
	// AmbiguousCommandError says that a line names several commands.
	AmbiguousCommandError = router.AmbiguousCommandError
	// TrustChange is a file that can start programs, and how it differs from what was agreed to.
	TrustChange = trust.Change
	// TrustVerdict tells which files of a project need the user's agreement.
	TrustVerdict = trust.Verdict
)

// LogOutput is the type of a LogLine that an agent printed.
const LogOutput = journal.Output

// RunOpen is the status of a run that has neither ended nor is suspended.
const RunOpen = journal.Open

// Values of TrustVerdict.By.
const (
	TrustedByRecord      = trust.ByRecord      // the user agreed to the files before
	TrustedByEnvironment = trust.ByEnvironment // TERCET_TRUST is set
)
