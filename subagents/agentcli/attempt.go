package agentcli

import (
	"context"
	"errors"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents"
)

// attempt is one start of the program: what it is asked to do, and what is heard of it.
type attempt struct {
	cli     *CLI
	request formats.Request
	call    Call
	box     *box
	nonce   string
	used    *subagents.Measured

	output  outputWatch
	session sessionNamer
	lines   lineReader
}

// listen has each line of the output kept, told, and read for the bounds of the call.
func (a *attempt) listen(out *transcript, bound bounds) {
	c := a.cli
	ear := &teller{
		to:   c.Trace,
		r:    a.request,
		name: c.Runner,
	}

	a.output = outputWatch{
		driver:  c.Driver,
		private: a.box.dir,
		over: func(reading *Reading) formats.Failure {
			ear.update(reading)
			return c.boundPassed(bound, reading)
		},
	}

	a.session = sessionNamer{
		runner:  c.Runner,
		session: a.call.Session,
		keeper:  a.request.Terms.Kept,
	}

	a.lines = lineReader{each: func(line []byte) bool {
		out.line(line)
		ear.listen(line)
		defer ear.flush()
		more := a.output.line(line)
		a.session.journalID(&a.output.reading)
		return more && a.session.err == nil
	}}
}

// command is the program with its prompt: on standard input, or as the first turn of a
// conversation.
func (a *attempt) command(prompt string, env []string) proc.Command {
	c := a.cli
	r := a.request
	program := proc.Command{
		Argv:    append([]string{c.program()}, c.Driver.Argv(a.call)...),
		Dir:     r.Dir,
		Env:     env,
		Private: true,
		Purpose: proc.PurposeAgent,
		Timeout: proc.Timeout{Total: r.Timeout.Total, Idle: r.Timeout.Idle},
		Watch:   a.lines.take,
	}

	if c.Speaker == nil {
		program.Stdin = []byte(prompt)
		return program
	}

	a.output.client = &acpClient{
		call:    a.call,
		speaker: *c.Speaker,
		bound:   a.output.over,
	}
	program.Talk = a.output.client.talk(prompt)
	return program
}

// confine puts the program into the sandbox, if there is one.
func (a *attempt) confine(ctx context.Context, program proc.Command) (proc.Command, error) {
	c := a.cli
	if c.Confine == nil {
		return program, nil
	}
	room := c.room(a.call)
	room.Asks = c.Speaker != nil
	program, tier, err := c.Confine(ctx, a.request, program, room)
	a.used.Sandbox = tier
	return program, err
}

// end measures what was used, and judges how the program ended.
func (a *attempt) end(
	ctx context.Context, res proc.Result, runErr error,
) (formats.Return, error) {
	c := a.cli
	reading := &a.output.reading
	a.lines.end()
	if err := keepErrors(a.box.dir+errSuffix, res.Stderr, c.Mask); err != nil {
		runErr = errors.Join(runErr, err)
	}
	a.output.end(&res)
	c.measure(a.used, reading)
	a.used.AgentSession = a.session.endSession(reading)

	switch {
	case runErr == nil && c.sessionGone(a.call.Session, res, reading):
		return formats.Return{}, errSessionGone
	case runErr == nil && c.lostRace(res, reading):
		return formats.Return{}, errRaced
	}
	if a.changedModel() && c.Models.Unused != nil {
		c.Models.Unused(c.Runner, a.used.Asked)
	}
	if err := errors.Join(runErr, a.session.err); err != nil {
		return formats.Return{}, a.startFailure(ctx, err)
	}
	return c.judge(a.request, ending{
		res:     res,
		over:    a.output.passed,
		reading: reading,
		box:     a.box,
		nonce:   a.nonce,
	})
}

// changedModel tells whether an agent of the protocol did not take the model that was asked for.
func (a *attempt) changedModel() bool {
	return a.output.client != nil && a.output.client.call.Model != a.used.Asked
}

// startFailure is the failure of a program that could not be started or followed.
func (a *attempt) startFailure(ctx context.Context, err error) error {
	install := "run tercet doctor"
	if a.cli.Speaker != nil {
		install = a.cli.Driver.help(formats.CodeToolUnavailable)
	}
	return startFailure(ctx, err, a.cli.Runner, install)
}
