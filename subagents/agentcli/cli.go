package agentcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/proc"
	"tercet/internal/trace"
	"tercet/subagents"
	"tercet/subagents/prompt"
)

// CLI is the Agent of one subagent file on one agent CLI or ACP agent.
type CLI struct {
	// Driver describes the agent CLI; with a Speaker, its Driver counts instead.
	Driver Driver
	// Speaker, if not nil, is an ACP agent, which speaks on its standard input and output. It gets
	// no file system and no terminal from tercet, and `tools` answers its requests for permission.
	// A Speaker without a program is a configuration failure.
	Speaker *Speaker
	// Runner is the runner's name; empty: that of Driver, or RunnerACP.
	Runner     string
	Definition subagents.Definition
	Models     subagents.Models // the requested models besides Definition's
	Starter    *proc.Starter
	// Root is the project root. An ACP agent's program with a slash is looked up there.
	Root string
	// Tercet is what starts this program in a shell: its path, quoted.
	Tercet string
	// Nonce makes the nonce that authenticates a return in text. Required.
	Nonce func() string
	// NewSession makes the id of a session, a UUID; nil: none is kept.
	NewSession func() string
	// IsolatedHome gives every call its own home folder.
	IsolatedHome bool
	// Heard handles the output.
	Heard
	// Getenv gives a variable of the user, for advice; nil: they are not known.
	Getenv func(name string) string
	// Instructions, if not nil, gives the project's instructions for this runner in a run.
	Instructions func(run, runner string) []prompt.Text
	// Allow, if not nil, is called before a start. Its *formats.LaterError suspends the run.
	Allow func() error
	// Accounts, if not nil, shares usage limits with other machines. Account is the user's own name
	// for the account of this machine's agents; empty: it is found out.
	Accounts Accounts
	Account  string
	// Confine, if not nil, puts the agent CLI into a sandbox.
	Confine Confine

	raced bool // in the copy of one call: errRaced came, and does not come again
}

// errRaced means that the agent CLI did nothing, because another start of it was making its
// database at the same time.
var errRaced = errors.New("another start made the database")

// Heard handles the output of an agent CLI.
type Heard struct {
	// Mask masks secrets in stored output, line by line; nil changes nothing.
	Mask func([]byte) []byte
	// Trace, if not nil, gets the actions of the agent CLI while it runs.
	Trace trace.Sink
}

// Run does what RunMetered does.
func (c *CLI) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := c.RunMetered(ctx, r)
	return ret, err
}

// RunMetered starts the agent CLI once and reads its return and its use. With an ACP agent it has
// one conversation.
func (c *CLI) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	own := *c
	if own.Speaker != nil {
		own.Driver = own.Speaker.Driver
		own.Runner = cmp.Or(own.Runner, RunnerACP)
		if own.Driver.Name != "" {
			own.Driver.Name = filepath.Base(own.Driver.Name)
		}
	}
	own.Runner = cmp.Or(own.Runner, own.Driver.Name)
	return own.run(ctx, r)
}

func (c *CLI) run(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	model, from := c.Models.For(c.Definition, c.Runner, r.Terms.Wishes)
	used := subagents.Measured{Runner: c.Runner, Asked: model}
	failed := func(f *formats.Failure) (formats.Return, subagents.Measured, error) {
		return formats.Failed(f), used, nil
	}
	switch {
	case c.Starter == nil:
		return formats.Return{}, used, formats.Unset("a starter of processes")
	case c.Nonce == nil:
		return formats.Return{}, used, formats.Unset("a source of nonces")
	case c.Root == "" || r.Out == "":
		return formats.Return{}, used, formats.Unset("a project root and a folder for documents")
	case c.Driver.Name == "":
		return failed(formats.Fail(
			formats.CodeConfig,
			"name one in config.yaml, such as `acp: "+SpeakerNames()[0]+
				"` or `acp: [program, argument]`, or add argv: [program, argument] to "+
				c.Definition.File,
			"runner %s: expected an agent of the Agent Client Protocol, got none",
			c.Runner,
		))
	case model != "" && !formats.IsModel(model):
		return failed(formats.Fail(formats.CodeConfig, "change what "+from+" names",
			"expected the name of a model, got %q", model))
	}

	if f := c.refusesServers(); f != nil {
		return failed(f)
	}
	_, err := c.Starter.LookPath(c.program())
	if errors.As(err, new(*proc.NotFoundError)) {
		what := c.Runner
		if c.Speaker != nil {
			what += ": " + c.Driver.Name
		}
		return failed(c.failure(formats.CodeToolUnavailable, "runner "+what+" is not installed"))
	}
	if err == nil && c.Allow != nil {
		err = c.Allow()
	}
	if err == nil && c.Accounts != nil {
		err = c.Accounts.Wait(ctx, r.Run, c.account())
	}
	if err == nil && c.Driver.Unpacks && c.Confine != nil && !c.IsolatedHome {
		_, err = Probe(ctx, c.Starter, c.Driver)
		if gone, ok := errors.AsType[*formats.Failure](err); ok {
			return failed(gone)
		}
	}
	if err != nil {
		return formats.Return{}, used, err
	}

	ret, err := c.callInBox(ctx, r, false, &used)
	if errors.Is(err, errRaced) {
		c.raced = true
		ret, err = c.callInBox(ctx, r, false, &used)
	}
	if errors.Is(err, errSessionGone) {
		ret, err = c.callInBox(ctx, r, true, &used)
	}
	return ret, used, err
}

// refusesServers is the failure of an agent CLI that cannot be held to the MCP servers that the
// subagent's file grants; nil if it can.
func (c *CLI) refusesServers() *formats.Failure {
	if len(c.Definition.Servers) > 0 && (c.Speaker != nil || !c.Driver.Servers) {
		return formats.Fail(
			formats.CodeToolUnavailable,
			"use runner claude, codex or opencode, or remove `mcp` from "+c.Definition.File,
			"runner %s cannot be held to the named tools of MCP servers",
			c.Runner,
		)
	}
	for _, s := range c.Definition.Servers {
		if c.Driver.Unfit == nil {
			break
		}
		if why := c.Driver.Unfit(s); why != "" {
			return formats.Fail(
				formats.CodeToolUnavailable,
				"change it in "+subagents.ServersFile+", or use another runner",
				"runner %s cannot be given the server %s: %s", c.Runner, s.Name, why,
			)
		}
	}
	return nil
}

// callInBox makes a call in a folder of its own; lost means that the session of the step is gone.
func (c *CLI) callInBox(
	ctx context.Context, r formats.Request, lost bool, used *subagents.Measured,
) (formats.Return, error) {
	b, err := newBox(r.Out)
	if err != nil {
		return formats.Return{}, err
	}
	ret, err := c.call(ctx, r, b, lost, used)
	if limit, ok := errors.AsType[*usageLimitError](err); ok && c.Accounts != nil {
		err = errors.Join(c.Accounts.Reached(ctx, r.Run, c.account(), limit.later), limit)
	}
	return ret, errors.Join(err, b.close())
}

// program is what is started.
func (c *CLI) program() string {
	if c.Speaker != nil {
		return c.Speaker.Program(c.Root)
	}
	return c.Driver.Name
}

func (c *CLI) failure(code formats.Code, message string) *formats.Failure {
	help := c.Driver.help(code)
	if code == formats.CodeAuth {
		child := func(name string) string { return variable(c.Starter.Env, name) }
		help = c.Driver.LoginHelp(c.Getenv, child)
	}
	return &formats.Failure{
		Code:    code,
		Message: message,
		Help:    help,
	}
}

// call starts the program, watches it or talks to it, and judges how it ended.
func (c *CLI) call(
	ctx context.Context, r formats.Request, b *box, lost bool, used *subagents.Measured,
) (ret formats.Return, err error) {
	nonce := c.Nonce()
	in := c.promptInput(r, b, nonce)
	call, env, err := c.prepare(r, b, nonce)
	if err != nil {
		return formats.Return{}, err
	}
	call.Session, in.News, err = c.session(r, lost)
	if err != nil {
		return formats.Return{}, err
	}
	text := c.compose(in, call, used)

	desk, err := b.serveBoard(r.Terms.Board)
	if err != nil {
		return formats.Return{}, err
	}
	defer desk.close()
	env = append(env, desk.env()...)

	call.Model = used.Asked
	bound := c.bounds(r)
	call.Turns = bound.turns
	call.Cost = bound.cost
	if err := c.writeFiles(call); err != nil {
		return formats.Return{}, err
	}
	if err := writeNew(b.dir+promptSuffix, []byte(c.mask(text))); err != nil {
		return formats.Return{}, err
	}
	out, err := newTranscript(b.dir+outSuffix, c.Mask)
	if err != nil {
		return formats.Return{}, err
	}
	defer func() { err = errors.Join(err, out.close()) }()

	a := &attempt{
		cli:     c,
		request: r,
		call:    call,
		box:     b,
		nonce:   nonce,
		used:    used,
	}
	a.listen(out, bound)
	program, err := a.confine(ctx, a.command(text, env))
	if err != nil {
		return formats.Return{}, a.startFailure(ctx, err)
	}
	res, runErr := c.Starter.Run(ctx, program)
	return a.end(ctx, res, runErr)
}

// promptInput is what the prompt of a call is made of, without the news of a session.
func (c *CLI) promptInput(r formats.Request, b *box, nonce string) prompt.Input {
	in := prompt.Input{
		Request: r,
		Info:    c.Definition.Info,
		Channel: prompt.Channel{File: b.file, Nonce: nonce},
	}
	if c.Instructions != nil {
		in.Instructions = c.Instructions(r.Run, c.Runner)
	}
	return in
}

// compose gives the text of the prompt, and records its digests.
func (c *CLI) compose(in prompt.Input, call Call, used *subagents.Measured) string {
	// The same on every machine, which have tercet in different places.
	used.Told = prompt.StableSum(in)
	if in.Request.Terms.Live && call.Grant.Shell {
		tellBoard(&in.Request, c.Tercet)
	}
	p := prompt.Compose(in)
	used.Prompt = p.SHA256
	return p.Text
}

// lostRace tells whether the first start of a call ended by errRaced.
func (c *CLI) lostRace(res proc.Result, r *Reading) bool {
	mayRepeat := !c.raced && c.Speaker == nil && c.Driver.Raced != nil
	didNothing := !res.Success() && !res.Killed && r.Turns == 0 && !r.worked
	return mayRepeat && didNothing && c.Driver.Raced(string(res.Stderr))
}

// outputWatch reads what a program reports while it runs, by its lines or by a conversation.
type outputWatch struct {
	driver  Driver
	private string // folder of the call
	over    func(*Reading) formats.Failure
	client  *acpClient // nil without a conversation
	reading Reading
	passed  formats.Failure // the bound that was passed
}

// line takes a line of standard output; false ends the program.
func (h *outputWatch) line(line []byte) bool {
	if h.client == nil {
		h.driver.Line(&h.reading, line)
		h.passed = h.over(&h.reading)
	}
	return h.passed.Code == "" && !h.reading.Again
}

// end takes in how the program ended.
func (h *outputWatch) end(res *proc.Result) {
	if h.client == nil {
		if h.driver.End != nil && !res.Killed {
			h.driver.End(&h.reading, Ending{
				Exit:    res.Exit,
				Stderr:  res.Stderr,
				Private: h.private,
			})
		}
		if h.passed.Code == "" {
			h.passed = h.over(&h.reading)
		}
		return
	}

	h.reading = h.client.reading
	h.passed = h.client.passed
	if h.reading.Ended && res.Stopped {
		// It did its turn and stayed when its input was closed: how it was ended says nothing of
		// its work.
		res.Exit = 0
		res.Signal = ""
		res.Killed = false
	}
	if !res.Killed {
		h.client.judge(&h.reading, *res)
	}
}

func (c *CLI) measure(used *subagents.Measured, reading *Reading) {
	used.Model = reading.Model
	used.Tokens = reading.Tokens
	used.Cost = reading.Cost
	if used.Tokens.Total() > 0 {
		used.Metered = c.Driver.Metered
	}
}

// prepare says where everything is, and what the child's environment has besides the Starter's.
func (c *CLI) prepare(r formats.Request, b *box, nonce string) (Call, []string, error) {
	call := Call{
		Dir:     r.Dir,
		Root:    c.Root,
		Out:     r.Out,
		Return:  b.file,
		Private: b.dir,
		Grant:   c.grants(r),
		Servers: c.Definition.Servers,
	}

	var env []string
	if c.IsolatedHome {
		call.Home = filepath.Join(b.dir, "home")
		env = append(env, homeEnv(call.Home)...)
		if err := os.Mkdir(call.Home, 0o700); err != nil {
			return Call{}, nil, onFolder("make a private home", err)
		}
	}

	if c.Driver.Schema && len(r.Repair) > 0 && r.Question == "" {
		// In the first round it would only cost a turn: the file is the channel.
		call.Schema = schemaOf(c.Definition.Info, nonce)
		if len(r.Schema) > 0 {
			// what the step asks of the fields is told in the prompt: not every CLI takes every
			// schema
			call.Schema = nil
		}
	}

	call.Lookup = func(name string) string {
		return variable(slices.Concat(c.Starter.Env, env), name)
	}
	if c.Driver.Env != nil {
		env = append(env, c.Driver.Env(call)...)
	}

	env = append(
		env,
		"TERCET_ROOT="+c.Root,
		"TERCET_RUN="+r.Run,
		"TERCET_OUT="+r.Out,
		"TERCET_RETURN="+b.file,
		"NO_COLOR=1",
	)
	return call, env, nil
}

// variable gives the value of a variable in a list of KEY=VALUE, of which the last counts.
func variable(env []string, name string) (value string) {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// homeEnv moves everything that a CLI stores of the user into a folder. It does so for all of them,
// because the CLI may start another one.
func homeEnv(home string) []string {
	at := func(name string) string { return filepath.Join(home, filepath.FromSlash(name)) }
	env := []string{
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + at(".config"),
		"XDG_DATA_HOME=" + at(".local/share"),
		"XDG_STATE_HOME=" + at(".local/state"),
		"XDG_CACHE_HOME=" + at(".cache"),
	}
	for _, s := range allStores() {
		if s.Var == "" || s.Home == "" || strings.HasPrefix(s.Var, "XDG_") {
			continue
		}
		env = append(env, s.Var+"="+at(s.Home))
	}
	return env
}

// allStores are those of all drivers.
func allStores() []Store {
	var out []Store
	for _, d := range Drivers() {
		out = append(out, d.Footprint.Stores...)
	}
	return out
}

func (c *CLI) writeFiles(call Call) error {
	if call.Home != "" {
		for _, s := range allStores() {
			if !s.Required {
				continue
			}
			dir := filepath.Join(call.Home, filepath.FromSlash(s.Home))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return onFolder("make a private home", err)
			}
		}
	}

	place := func(name string) (string, error) {
		at := filepath.Join(call.Private, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return "", onFolder("make a folder of the call", err)
		}
		return at, nil
	}

	if c.Driver.Files != nil {
		for name, data := range c.Driver.Files(call) {
			at, err := place(name)
			if err == nil {
				err = writeNew(at, data)
			}
			if err != nil {
				return err
			}
		}
	}
	if c.Driver.Links == nil {
		return nil
	}

	for name, to := range c.Driver.Links(call) {
		at, err := place(name)
		if err != nil {
			return err
		}
		if err := os.Symlink(to, at); err != nil {
			return onFolder("link the login", err)
		}
	}

	return nil
}

// bounds are what ends a program before its time; zero means no bound.
type bounds struct {
	tokens int64
	cost   float64
	turns  int
}

func (c *CLI) bounds(r formats.Request) bounds {
	limits := c.Definition.Limits
	b := bounds{
		tokens: int64(limits.Tokens),
		cost:   limits.Cost,
		turns:  limits.Turns,
	}
	if n := r.Budget.Tokens; n > 0 && (b.tokens == 0 || n < b.tokens) {
		b.tokens = n
	}
	if n := r.Budget.Cost; n > 0 && (b.cost == 0 || n < b.cost) {
		b.cost = n
	}
	return b
}

// boundPassed tells which bound is passed, by a failure without a code if none is.
func (c *CLI) boundPassed(b bounds, r *Reading) formats.Failure {
	var msg string
	total := r.Tokens.Total()
	switch {
	case b.tokens > 0 && total > b.tokens:
		msg = fmt.Sprintf("expected at most %d tokens, got %d", b.tokens, total)
	case b.cost > 0 && r.Cost > b.cost:
		msg = fmt.Sprintf("expected a cost of at most $%.4g, got $%.4g", b.cost, r.Cost)
	case b.turns > 0 && r.Turns > b.turns:
		msg = fmt.Sprintf("expected at most %d turns, got %d", b.turns, r.Turns)
	case r.Empty >= maxEmpty:
		return *formats.Fail(formats.CodeTransient, "check the address of the model's server",
			"%s went on asking a model that gave no answer", c.Driver.Name)
	default:
		return formats.Failure{}
	}
	return *c.failure(formats.CodeLimit, c.Driver.Name+": "+msg)
}

// ending is all that is known when the program has ended.
type ending struct {
	res     proc.Result
	over    formats.Failure
	reading *Reading
	box     *box
	nonce   string
}

// judge reads the program's own fields first, then the return. The exit code alone decides nothing.
func (c *CLI) judge(r formats.Request, e ending) (formats.Return, error) {
	name := c.Driver.Name
	stopped := limitFailure(name, e.res, r.Timeout)
	switch {
	case e.over.Code != "":
		return formats.Failed(&e.over), nil
	case stopped != nil && !e.reading.Again:
		stopped.Help = "give the step a longer `timeout`"
		if stopped.Code == formats.CodeLimit {
			stopped.Help = c.Driver.help(stopped.Code)
		}
		return formats.Failed(stopped), nil
	case e.reading.Fault != nil:
		return c.faultReturn(*e.reading.Fault)
	}

	ret, raw, bad, err := c.findReturn(r, e)
	late := e.reading.Late
	switch {
	case err != nil:
		return formats.Return{}, err
	case raw == nil && late != nil:
		return c.faultReturn(*late)
	case len(bad) == 0:
		for _, tool := range e.reading.Denied {
			ret.Warnings = append(ret.Warnings, fmt.Sprintf("the tool %s was refused", tool))
		}
		if late != nil {
			why := c.mask(firstLine(late.Message))
			ret.Warnings = append(
				ret.Warnings,
				fmt.Sprintf("%s failed after its answer: %s", name, why),
			)
		}
		if e.res.Exit != 0 {
			ret.Warnings = append(
				ret.Warnings,
				fmt.Sprintf("%s ended with exit code %d", name, e.res.Exit),
			)
		}
		return ret, nil
	case raw == nil && len(e.reading.Denied) > 0:
		return formats.Failed(formats.Fail(formats.CodeDenied,
			"add what it needs to `tools` in "+c.Definition.File,
			"%s was refused the tool %s and gave no return", name,
			strings.Join(e.reading.Denied, ", "))), nil
	case raw == nil && !e.res.Success():
		last := lastLines(e.res.Stderr)
		for i, line := range last {
			last[i] = c.mask(line)
		}
		f := noReturnFailure(r.Agent, name, e.res, last)
		f.Code = Fault{Message: strings.Join(last, " ")}.code()
		f.Help = c.Driver.help(f.Code)
		return formats.Failed(f), nil
	}

	if raw == nil {
		raw = []byte(e.reading.Text)
	}
	return formats.Return{}, &subagents.ReturnError{
		Agent:    r.Agent,
		Raw:      []byte(c.mask(string(raw))),
		Problems: bad,
	}
}

// faultReturn is the return of a program that reports a failure, or the error of a usage limit that
// it reached.
func (c *CLI) faultReturn(f Fault) (formats.Return, error) {
	message := c.Driver.Name + ": " + c.mask(firstLine(f.Message))
	if until, reached := f.limit(c.Starter.Now()); reached {
		return formats.Return{}, &usageLimitError{&formats.LaterError{Why: message, Until: until}}
	}
	return formats.Failed(c.failure(f.code(), message)), nil
}

// findReturn reads the return: the private file first, then the final messages, the last one first.
// Of a message it takes what obeys the schema, else the text, which must carry the nonce. raw is
// what was taken for the return, nil if nothing was.
func (c *CLI) findReturn(
	r formats.Request,
	e ending,
) (ret formats.Return, raw []byte, bad []string, err error) {
	opt := returns.ParseOptions{Agent: r.Agent, Nonce: e.nonce}
	raw, bad, err = e.box.read()
	if err != nil || len(bad) > 0 {
		return ret, raw, bad, err
	}

	var broken error
	if raw != nil {
		ret, broken = returns.ParseForm(raw, c.Definition.Info.AgentResult, opt)
	} else {
		ret, raw, broken = c.returnInMessages(e.reading.answers(), opt)
	}
	if broken != nil {
		return ret, raw, strings.Split(broken.Error(), "\n"), nil
	}
	return returns.Typed(ret, c.Definition.Info.Fields), raw, nil, nil
}

// returnInMessages reads the return out of the first message that holds one. If none does, the
// error is about the first message.
func (c *CLI) returnInMessages(
	messages []answer, opt returns.ParseOptions,
) (formats.Return, []byte, error) {
	var first error
	for i, m := range messages {
		if m.structured != nil {
			ret, err := returns.ParseForm(m.structured, c.Definition.Info.AgentResult, opt)
			return ret, m.structured, err
		}
		opt.Block = c.Definition.Info.Open && c.Definition.Info.AgentResult && i == 0
		ret, raw, err := returns.FinalMessage([]byte(m.text), opt)
		if raw != nil {
			return ret, raw, err
		}
		if i == 0 {
			first = err
		}
	}
	return formats.Return{}, nil, first
}

func (c *CLI) mask(s string) string {
	if c.Mask == nil {
		return s
	}
	return string(c.Mask([]byte(s)))
}

// returnMembers are the members of a return without those that the contract adds, as a schema of
// JSON. Every one is required, and one that is not needed is null.
const returnMembers = `{
	"status": {"type": "string", "enum": ["completed", "partial", "failed", "blocked"]}, "summary": {"type": "string"},
	"text": {"type": ["string", "null"]}, "blocked_reason": {"type": ["string", "null"]},
	"next_steps": {"type": ["string", "null"]},
	"artifacts": {"type": "array", "items": {"type": "object", "properties": {
		"type": {"type": "string"}, "path": {"type": "string"}, "summary": {"type": ["string", "null"]}},
		"required": ["path", "summary", "type"], "additionalProperties": false}},
	"issues": {"type": "array", "items": {"type": "object", "properties": {
		"level": {"type": "string"}, "description": {"type": "string"}},
		"required": ["description", "level"], "additionalProperties": false}},
	"errors": {"type": "array", "items": {"type": "object", "properties": {
		"type": {"type": "string"}, "code": {"type": "string"}, "message": {"type": "string"}},
		"required": ["code", "message", "type"], "additionalProperties": false}}}`

// schemaOf gives a schema of the return, or nil if it is a block, or the contract has fields that
// no such schema holds.
func schemaOf(info formats.AgentInfo, nonce string) json.RawMessage {
	if info.AgentResult {
		return nil
	}
	type object = map[string]any
	whole := func(members object) object {
		return object{
			"type":                 "object",
			"properties":           members,
			"required":             sortedKeys(members),
			"additionalProperties": false,
		}
	}

	members := object{"nonce": object{"type": "string", "enum": []string{nonce}}}
	if json.Unmarshal([]byte(returnMembers), &members) != nil {
		return nil
	}
	if info.Role == formats.RoleReviewer && info.StatusQuery == "" {
		members["verdict"] = object{"type": []string{"string", "null"}}
	}

	fields := object{}
	for name, f := range info.Fields {
		kind := object{"type": string(f.Type)}
		switch f.Type {
		case formats.TypeString, formats.TypeInteger, formats.TypeNumber, formats.TypeBoolean:
		case formats.TypeList:
			kind = object{"type": "array", "items": object{"type": "string"}}
		case formats.TypeArray, formats.TypeObject, formats.TypeAny:
			return nil
		}
		if f.Optional {
			kind["type"] = []any{kind["type"], "null"}
		}
		fields[name] = kind
	}

	if len(fields) > 0 {
		members["fields"] = whole(fields)
	}
	return toJSON(whole(members))
}
