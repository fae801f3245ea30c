package compile

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
)

// lastWorker is the worker that the sentence before delegated to: "update task status" and "validate plan format" speak of
// its role and its artifact.
type lastWorker struct {
	id    string
	agent formats.AgentInfo
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
	for _, s := range c.file.Steps {
		if s.Sentence == nil || s.Sentence.Kind != syntax.SayDelegate {
			continue
		}
		info, ok := c.env.Agent(s.Sentence.Name.Text)
		if during, _ := info.Role.Statuses(); ok && during != "" {
			return &syntax.During{Pos: s.Sentence.Pos, Status: syntax.Word{Pos: s.Sentence.Pos, Text: during.String()}}
		}
	}
	return nil
}

// sentence lowers a plain sentence to a step; nil for one that the declarations already say.
func (c *compiler) sentence(s *syntax.Step, id string) *Op {
	say := s.Sentence
	op := &Op{Pos: s.Pos, ID: id, Title: s.Title}
	info := &stepInfo{id: id, kind: resultReturn}
	switch say.Kind {
	case syntax.SayDelegate:
		op.Do = c.sayDelegate(say, info)
	case syntax.SayUpdateStatus:
		op.Do = c.sayStatus(say)
	case syntax.SayValidateFormat:
		c.sayFormat(say, op)
	case syntax.SayForEach:
		inner := &syntax.Foreach{Pos: say.Pos, In: say.Expr, As: say.Name}
		info.kind = resultLoop
		op.Do = c.foreach(inner, s, info)
	case syntax.SayReturn:
		op.Return = c.sayReturn(say)
	case syntax.SayTaskReady, syntax.SayTaskExists, syntax.SayExtract, syntax.SayPositive, syntax.SayValidateArgument, syntax.SayLoadTask:
		c.argSentence(say)
		return nil
	}
	c.scope.steps[id] = info
	return op
}

// sayDelegate gives the worker {args, task}, and each argument that it takes under its own name.
func (c *compiler) sayDelegate(say *syntax.Sentence, info *stepInfo) Action {
	agent, ok := c.agent(say.Name)
	d := &Delegate{Agent: say.Name.Text, Info: agent, With: &Value{IsMap: true}}
	if !ok {
		return d
	}
	info.agent = &agent
	c.last = &lastWorker{id: info.id, agent: agent}
	takes := func(name string) bool { _, listed := agent.Inputs[name]; return agent.Inputs == nil || listed }
	add := func(name, src string) {
		if takes(name) {
			d.With.Fields = append(d.With.Fields, Field{Key: name, Value: c.source(say.Pos, src)})
		}
	}
	add("args", "$args")
	if c.scope.task {
		add("task", "$task")
	}
	for _, a := range c.prog.Args {
		if _, listed := agent.Inputs[a.Name]; listed && a.Name != "task" && a.Name != "args" {
			add(a.Name, "$args."+a.Name)
		}
	}
	return d
}

func (c *compiler) sayStatus(say *syntax.Sentence) Action {
	to := say.To.Text
	if to == "" {
		if c.last == nil {
			c.report(say.Pos, CodeSentence, `write: to "planned"`, "no delegation before this step implies a status")
			return &Delegate{}
		}
		_, after := c.last.agent.Role.Statuses()
		if d := c.prog.During; d != nil && d.Status == formats.Revising {
			after = formats.Revised
		}
		if after == "" {
			c.report(say.Pos, CodeSentence, `write: to "planned"`, "the role of %s implies no status", c.last.agent.Name)
			return &Delegate{}
		}
		to = after.String()
	}
	return c.status(&syntax.Status{Pos: say.Pos, To: &syntax.Value{Pos: say.Pos, Lit: to}})
}

// sayFormat checks the document of the worker before, with one repair round.
func (c *compiler) sayFormat(say *syntax.Sentence, op *Op) {
	noun := strings.ToLower(say.Name.Text)
	if !slices.Contains(formats.Profiles(), noun) {
		c.profile(syntax.Word{Pos: say.Name.Pos, Text: noun})
		return
	}
	if c.last == nil {
		c.report(say.Pos, CodeSentence, "delegate to a subagent first", "no delegation before this step makes a %s", noun)
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
	switch say.Kind {
	case syntax.SayExtract:
		i := slices.Index(names, say.Name.Text)
		switch {
		case i < 0:
			c.report(say.Name.Pos, CodeArgument, "declare it under arguments:", "no argument is named '%s'", say.Name.Text)
		case i != say.Index:
			c.report(say.Pos, CodeArgument, "", "expected args[%d] for '%s', got args[%d]", i, say.Name.Text, say.Index)
		}
	case syntax.SayPositive:
		if i := slices.Index(names, say.Name.Text); i >= 0 {
			c.prog.Args[i].AtLeast(1)
			return
		}
		c.report(say.Name.Pos, CodeArgument, "declare it under arguments:", "no argument is named '%s'", say.Name.Text)
	case syntax.SayValidateArgument:
		if !slices.Contains(names, say.Name.Text) {
			c.report(say.Name.Pos, CodeArgument, "declare it under arguments:", "no argument is named '%s'", say.Name.Text)
		}
	case syntax.SayTaskExists, syntax.SayLoadTask:
		c.needTask(say)
	case syntax.SayTaskReady:
		c.needTask(say)
		c.ready(say)
	case syntax.SayDelegate, syntax.SayUpdateStatus, syntax.SayValidateFormat, syntax.SayForEach, syntax.SayReturn:
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
		c.report(say.Verb.Pos, CodeStatus, "use researching, planning, revising or implementing", "expected an in-progress status, got %q", say.Verb.Text)
		return
	}
	c.prog.Allow = formats.MovesInto(status)
}
