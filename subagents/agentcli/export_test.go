package agentcli

import (
	"context"
	"io"

	"tercet/formats"
)

// Talk has a conversation with an agent of the Agent Client Protocol that is no process.
func Talk(ctx context.Context, stdin io.Writer, stdout io.Reader, call Call) Reading {
	c := &acpClient{call: call, over: func(*Reading) formats.Failure { return formats.Failure{} }}
	c.talk(ctx, stdin, stdout, "hello")
	r, _ := c.end()
	return r
}
