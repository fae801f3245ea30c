package formats

// Exit is one row of the table of exit codes.
type Exit struct {
	Number  int
	Name    string
	Codes   []Code // the codes that end with it
	Meaning string
}

// Exits gives the table of exit codes, ascending.
func Exits() []Exit {
	out := []Exit{
		{0, "ok", nil, "completed, or an empty list"},
		{1, "failed", nil, "every failure that no other row names"},
		{2, "usage", nil, "unknown slash command, unknown flag, bad or missing argument"},
		{3, "partial", nil, "the command did a part of its work"},
		{4, "auth", nil, "the agent CLI is there but not logged in"},
		{5, "rejected", nil, "a gate or a review said no"},
		{6, "not-found", nil, "no such task, run or subagent"},
		{7, "limit", nil, "a limit was reached: rollbacks, depth, visits, turns, budget"},
		{65, "data", nil, "a file or a return breaks its format, or a commit would hold a secret"},
		{69, "unavailable", nil, "an agent CLI or a tool is not installed"},
		{70, "bug", nil, "a defect of tercet itself"},
		{74, "io", nil, "reading or writing a file did not work"},
		{75, "suspended", nil, "blocked or suspended: waiting for a person or a lock"},
		{76, "not-durable", nil, "written, durability unknown"},
		{77, "denied", nil, "not allowed here"},
		{78, "config", nil, "the configuration or the workspace is missing or wrong"},
		{124, "timeout", nil, "a step or the run took too long"},
		{130, "interrupted", nil, "cancelled by SIGINT"},
		{143, "terminated", nil, "cancelled by SIGTERM or SIGHUP"},
	}
	for i := range out {
		for _, r := range codes {
			if r.exit == out[i].Number && r.exit != 1 {
				out[i].Codes = append(out[i].Codes, r.code)
			}
		}
	}
	return out
}

// ExitFor gives the exit number of a failure code, 1 for codes that no row names.
func ExitFor(c Code) int { return c.row().exit }

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
