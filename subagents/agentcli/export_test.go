package agentcli

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"tercet/formats"
	"tercet/internal/trace"
	"tercet/subagents/sandbox"
)

// Talk has a conversation with an agent of the Agent Client Protocol that is no process.
func Talk(ctx context.Context, stdin io.Writer, stdout io.ReadCloser, call Call) Reading {
	defer context.AfterFunc(ctx, func() { _ = stdout.Close() })() // as the end of a process does
	c := &acpClient{
		call: call,
		bound: func(*Reading) formats.Failure {
			return formats.Failure{}
		},
	}
	_ = c.talk("hello")(ctx, open{stdin}, stdout) // a failure is in the reading
	return c.reading
}

// open is a writer that stays open.
type open struct{ io.Writer }

func (open) Close() error {
	return nil
}

// Limit is limit.
func (f Fault) Limit(now time.Time) (until time.Time, reached bool) {
	return f.limit(now)
}

// Doing is what the program did last.
func (r Reading) Doing() Act {
	return r.act
}

// RoomOf is the room of the runner, or of the ACP agent, that is started by a program.
func RoomOf(program string, call Call) sandbox.Room {
	c := CLI{}
	var ok bool
	c.Driver, ok = ByName(program)
	if !ok {
		c.Driver = SpeakerOf([]string{program}).Driver
		c.Driver.Name = filepath.Base(c.Driver.Name)
	}
	return c.room(call)
}

// HomeEnv is homeEnv.
func HomeEnv(home string) []string {
	return homeEnv(home)
}

// Said gives the last sentences that a listener is told of while an agent prints some lines.
func Said(lines ...string) []string {
	var told []string
	ear := &teller{to: sinkFunc(func(e trace.Event) {
		said, _ := e.Attrs["said"].(string)
		told = append(told, said)
	})}
	for _, line := range lines {
		ear.listen([]byte(line))
		ear.flush()
	}
	return told
}

type sinkFunc func(trace.Event)

func (f sinkFunc) Emit(e trace.Event) {
	f(e)
}

// AccountOf names the account of an agent CLI.
func (c *CLI) AccountOf() string { return c.account() }
