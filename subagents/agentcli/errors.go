package agentcli

import (
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
)

// onFolder is the failure of a file operation on the delegation's folder. The cause names the path.
func onFolder(op string, err error) error {
	return &formats.Failure{
		Code:    formats.CodeIO,
		Message: op,
		Err:     err,
	}
}

// noReturnFailure is the failure of a program that ended without a return: how it did, and the last
// lines of its error output.
func noReturnFailure(agent, program string, res proc.Result, last []string) *formats.Failure {
	how := fmt.Sprintf("exit code %d", res.Exit)
	if res.Signal != "" {
		how = res.Signal
	}
	msg := fmt.Sprintf("%s: %s ended with %s and without a return", agent, program, how)
	if len(last) > 0 {
		msg += ": " + strings.Join(last, " | ")
	}
	return formats.Fail(formats.CodeUnknown,
		"run the program by hand with the request on its standard input", "%s", msg)
}

// limitFailure is the failure of a program that was ended for its time or its output, nil for any
// other.
func limitFailure(program string, res proc.Result, t formats.Timeout) *formats.Failure {
	switch {
	case res.TimedOut == proc.TimeoutIdle:
		return formats.Fail(formats.CodeTimeout, "", "%s printed nothing for %s", program, t.Idle)
	case res.TimedOut != proc.TimeoutNone:
		return formats.Fail(formats.CodeTimeout, "", "%s did not end within %s", program, t.Total)
	case res.Flooded:
		return formats.Fail(formats.CodeLimit, "",
			"%s printed more than %d MiB and was stopped", program, proc.DefaultLimit>>20)
	}
	return nil
}
