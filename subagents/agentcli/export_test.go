package agentcli

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"tercet/formats"
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
	if c.Driver, ok = ByName(program); !ok {
		c.Driver = SpeakerOf([]string{program}).Driver
		c.Driver.Name = filepath.Base(c.Driver.Name)
	}
	return c.room(call)
}

// HomeEnv is homeEnv.
func HomeEnv(home string) []string {
	return homeEnv(home)
}
