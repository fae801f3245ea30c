package formats

import "slices"

// Exit is one row of the table of exit codes.
type Exit struct {
	Number  int
	Name    string
	Codes   []Code // the codes that end with it
	Meaning string
}

// exits is the table of exit codes, ascending.
var exits = []Exit{
	{0, "ok", nil, "completed, or an empty list"},
	{1, "failed", nil, "every failure that no other row names"},
	{2, "usage", []Code{CodeUsage}, "unknown slash command, unknown flag, bad or missing argument"},
	{3, "partial", nil, "the command did a part of its work"},
	{4, "auth", []Code{CodeAuth}, "the agent CLI is there but not logged in"},
	{5, "rejected", []Code{CodeRejected}, "a gate or a review said no"},
	{6, "not-found", []Code{CodeNotFound}, "no such task, run or subagent"},
	{
		7, "limit", []Code{CodeLimit, CodeMaxDepth, CodeCycle},
		"a limit was reached: rollbacks, depth, visits, turns, budget",
	},
	{
		65, "data", []Code{CodeInvalidReturn, CodeInvalidCommand, CodeInvalidState, CodeSecretFound},
		"a file or a return breaks its format, or a commit would hold a secret",
	},
	{69, "unavailable", []Code{CodeToolUnavailable}, "an agent CLI or a tool is not installed"},
	{70, "bug", []Code{CodeBug}, "a defect of tercet itself"},
	{74, "io", []Code{CodeIO}, "reading or writing a file did not work"},
	{
		75, "suspended", []Code{CodeSuspended, CodeLocked, CodeLeaseHeld},
		"blocked or suspended: waiting for a person or a lock",
	},
	{76, "not-durable", []Code{CodeNotDurable}, "written, durability unknown"},
	{77, "denied", []Code{CodeDenied, CodeUntrusted}, "not allowed here"},
	{78, "config", []Code{CodeConfig, CodeNoWorkspace}, "the configuration or the workspace is missing or wrong"},
	{124, "timeout", []Code{CodeTimeout}, "a step or the run took too long"},
	{130, "interrupted", []Code{CodeCancelled}, "cancelled by SIGINT"},
	{143, "terminated", nil, "cancelled by SIGTERM or SIGHUP"},
}

// failures are the codes of no row, which end with 1.
var failures = []Code{
	CodeTransient, CodePrecondition, CodePhasesOpen, CodeIllegalTransition, CodeValidationFailed, CodeBuildError,
	CodeFileNotFound, CodeStatusSyncFailed, CodeGitCommitFailed, CodeUnknown,
}

// Exits gives the table of exit codes, ascending.
func Exits() []Exit { return slices.Clone(exits) }

// ExitFor gives the exit number of a failure code, 1 for codes that no row names.
func ExitFor(c Code) int {
	for _, e := range exits {
		if slices.Contains(e.Codes, c) {
			return e.Number
		}
	}
	return 1
}

// ExitCode is the exit number of a command's return.
func ExitCode(r Return) int {
	switch r.Outcome() {
	case OutcomeCompleted, OutcomeApproved, OutcomeConditional, OutcomeSkipped:
		return 0
	case OutcomePartial:
		return 3
	case OutcomeRejected:
		return 5
	case OutcomeBlocked, OutcomeSuspended:
		return 75
	case OutcomeFailed:
		if len(r.Errors) > 0 {
			return ExitFor(r.Errors[0].Code)
		}
		return 1
	}
	return 1
}
