package compile

import (
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// worker notes that a step delegates to a subagent that is no built-in.
func (c *compiler) worker(id string, agent *formats.AgentInfo) {
	if !agent.Builtin {
		c.last = c.made.workers.New()
		c.last.id, c.last.agent = id, agent
	}
}

// lastWorker is the worker that the sentence before delegated to: "update task status" and "validate plan format" speak of
// its role and its artifact.
type lastWorker struct {
	id    string
	agent *formats.AgentInfo
}

// preflight is the file's during, or what the plain form implies: the first worker's in-progress status is written before
// it is called.
func (c *compiler) preflight() *syntax.During {
	d := c.file.Front.During
	if c.file.Literate {
		return d
	}
	for _, s := range c.file.Sentences {
		c.argSentence(s)
	}
	if d != nil || !c.scope.task {
		return d
	}
	var implied *syntax.During
	c.walk(func(s *syntax.Step) {
		if implied != nil || s.Sentence == nil || s.Sentence.Kind != syntax.SayDelegate {
			return
		}
		info, ok := c.contract(s.Sentence.Name.Text)
		if during, _ := info.Role.Statuses(); ok && during != "" {
			implied = &syntax.During{Pos: s.Sentence.Pos, Status: syntax.Word{Pos: s.Sentence.Pos, Text: during.String()}}
		}
	})
	return implied
}

// sentence lowers a plain sentence to a step; nil for one that the declarations already say.
func (c *compiler) sentence(s *syntax.Step, id string) *Op {
	say := s.Sentence
	op := &Op{Pos: s.Pos, ID: id, Title: s.Title}
	info := &stepInfo{kind: resultReturn}
	switch say.Kind {
	case syntax.SayDelegate:
		op.Do = c.sayDelegate(say, id, info)
	case syntax.SayUpdateStatus:
		op.Do = c.sayStatus(say)
	case syntax.SayValidateFormat:
		c.sayFormat(say, op)
	case syntax.SayForEach:
		info.kind = resultLoop
		op.Do = c.foreach(&syntax.Foreach{Pos: say.Pos, In: say.Expr, As: say.Name}, s, id)
	case syntax.SayReturn:
		info.kind = resultPlain
		op.Return = c.sayReturn(say)
	case syntax.SayTaskReady, syntax.SayTaskExists, syntax.SayExtract, syntax.SayPositive, syntax.SayValidateArgument, syntax.SayLoadTask:
		c.argSentence(say)
		return nil
	}
	c.scope.steps.add(id, info)
	return op
}

// sayDelegate gives the worker {args, task}, and each argument that it takes under its own name.
func (c *compiler) sayDelegate(say *syntax.Sentence, id string, info *stepInfo) Action {
	agent, ok := c.agent(say.Name)
	d := &Delegate{Agent: say.Name.Text, Info: agent, With: &Value{IsMap: true}}
	if !ok {
		return d
	}
	info.agent = agent
	c.worker(id, agent)
	given := map[string]bool{}
	add := func(name, src string) {
		if _, listed := agent.Inputs[name]; (listed || agent.Inputs == nil) && !given[name] {
			given[name] = true
			d.With.Fields = append(d.With.Fields, Field{Key: name, Value: c.source(say.Pos, src)})
		}
	}
	add("args", "$args")
	if c.scope.task {
		add("task", "$task")
	}
	for _, a := range c.prog.Args {
		if agent.Inputs != nil {
			add(a.Name, "$args."+a.Name)
		}
	}
	c.required(agent, func(name string) bool { return given[name] }, say.Pos)
	return d
}

func (c *compiler) sayStatus(say *syntax.Sentence) Action {
	to := say.To.Text
	if to == "" {
		if c.last == nil {
			c.report(say.Pos, CodeSentence, `say which: to "planned"`, "no delegation before this step implies a status")
			return &Delegate{Info: noAgent()}
		}
		_, after := c.last.agent.Role.Statuses()
		if d := c.prog.During; d != nil && d.Status == formats.Revising {
			after = formats.Revised
		}
		if after == "" {
			c.report(say.Pos, CodeSentence, `say which: to "planned"`, "the role of subagent %s implies no status", c.last.agent.Name)
			return &Delegate{Info: noAgent()}
		}
		to = after.String()
	}
	pos := say.To.Pos
	if pos.IsZero() {
		pos = say.Pos
	}
	return c.statusStep(&syntax.Status{Pos: say.Pos, To: &syntax.Value{Pos: pos, Lit: to}}, true)
}

// sayFormat checks the document of the worker before, with one repair round.
func (c *compiler) sayFormat(say *syntax.Sentence, op *Op) {
	noun := strings.ToLower(say.Name.Text)
	if !c.profile(syntax.Word{Pos: say.Name.Pos, Text: noun}) {
		return
	}
	kind := documentType(noun)
	switch {
	case kind == "":
		c.report(say.Pos, CodeSentence, "write a block with check: {document: "+noun+", path: ...}", "'%s' is no type of artifact, so its file must be named", noun)
		return
	case c.last == nil:
		c.report(say.Pos, CodeSentence, "delegate to a subagent first", "no delegation before this step makes a %s", noun)
		return
	case c.last.agent.NoArtifacts, c.last.agent.Artifacts != nil && !slices.ContainsFunc(c.last.agent.Artifacts, func(a formats.ArtifactSpec) bool { return a.Type == kind }):
		c.report(say.Pos, CodeSentence, "", "subagent %s makes no %s", c.last.agent.Name, noun)
		return
	}
	op.Do = &Check{Document: noun}
	op.On = []Rule{{Outcome: formats.OutcomeRejected, Targets: []*Target{{Pos: say.Pos, Kind: ToRedo, Max: 1, Redo: []string{c.last.id}}}}}
}

func (c *compiler) sayReturn(say *syntax.Sentence) *Return {
	if c.last == nil {
		return &Return{Message: &Text{Pos: say.Pos, Parts: []Part{{Lit: say.Rest}}}}
	}
	return &Return{Message: c.text(&syntax.Text{Pos: say.Pos, Parts: []syntax.Part{{Expr: &syntax.Expr{Pos: say.Pos, Src: "$steps." + c.last.id + ".summary"}}}})}
}

// argSentence checks what a sentence says of the arguments against the declarations, and takes what it adds.
func (c *compiler) argSentence(say *syntax.Sentence) {
	names := c.prog.argNames()
	at := slices.Index(names, say.Name.Text)
	switch say.Kind {
	case syntax.SayExtract, syntax.SayPositive, syntax.SayValidateArgument:
		switch {
		case at < 0:
			help := nearest.Help(say.Name.Text, names)
			if help == "" {
				help = "declare it under arguments:"
			}
			c.report(say.Name.Pos, CodeArgument, help, "no argument is named '%s'", say.Name.Text)
		case say.Kind == syntax.SayExtract && at != say.Index:
			c.report(say.Pos, CodeArgument, "", "expected args[%d] for '%s', got args[%d]", at, say.Name.Text, say.Index)
		case say.Kind == syntax.SayPositive:
			kind := c.prog.Args[at].Type // an unknown one was reported
			c.prog.Args[at].AtLeast(1)
			if !slices.Contains([]argspec.Type{argspec.Integer, argspec.Number, argspec.Task, ""}, kind) {
				c.report(say.Name.Pos, CodeArgument, "give it the type integer, or leave the sentence out", "argument '%s' is a %s and no integer", say.Name.Text, kind)
			}
		}
	case syntax.SayTaskExists, syntax.SayLoadTask:
		c.needTask(say)
	case syntax.SayTaskReady:
		c.needTask(say)
		c.ready(say)
	case syntax.SayDelegate, syntax.SayUpdateStatus, syntax.SayValidateFormat, syntax.SayForEach, syntax.SayReturn:
		c.report(say.Pos, CodeSentence, "move it below '## Workflow Execution'", "a sentence of the workflow stands in Argument Parsing")
	}
}

func (c *compiler) needTask(say *syntax.Sentence) {
	if !c.scope.task {
		c.report(say.Pos, CodeNoTask, "declare an argument of type task", "no argument binds a task")
	}
}

// ready: "is ready for planning" allows the statuses from which the table lets that work start.
func (c *compiler) ready(say *syntax.Sentence) {
	status, err := formats.ParseTaskStatus(strings.ToLower(say.Verb.Text))
	if err != nil || !status.InProgress() {
		c.report(say.Verb.Pos, CodeStatus, inProgressHelp(), "expected a status that is in progress, got %q", say.Verb.Text)
		return
	}
	if c.prog.Allow == nil {
		c.prog.Allow = formats.MovesInto(status)
	}
}
