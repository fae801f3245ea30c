package agentcli

import (
	"context"
	"io"

	"tercet/formats"
)

// Talk has a conversation with an agent of the Agent Client Protocol that is no process.
func Talk(ctx context.Context, stdin io.Writer, stdout io.Reader, call Call) Reading {
	c := &acpClient{call: call, over: func(*Reading) formats.Failure { return formats.Failure{} }}
	_ = c.talk("hello")(ctx, open{stdin}, stdout) // a failure is in the reading
	r, _ := c.end()
	return r
}

// open is a writer that stays open.
type open struct{ io.Writer }

func (open) Close() error { return nil }
