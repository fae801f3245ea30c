package compile

import (
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
)

// preflight is the file's during, or what the plain form implies: the first worker's in-progress
// status is written before it is called.
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
	for _, k := range c.index.all {
		say := k.step.Sentence
		if say == nil || say.Kind != syntax.SayDelegate {
			continue
		}
		info, _ := c.contract(say.Name.Text) // an unknown one has no role
		if during, _ := info.Role.Statuses(); during != "" {
			return &syntax.During{
				Pos:    say.Pos,
				Status: syntax.Word{Pos: say.Pos, Text: during.String()},
			}
		}
	}
	return nil
}

// speech writes the plain sentences of a file out as the steps that they mean, before anything is
// checked.
type speech struct {
	c    *compiler
	last *worker            // nil before the first one
	said []*syntax.Sentence // those that only repeat what is declared
}

// worker is the one that the sentence before delegated to: "update task status" and "validate plan
// format" speak of its role and its artifact.
type worker struct {
	info *formats.AgentInfo
	step string // id of the step that called it
}

// sentences writes out those of the file, and gives those that have no step.
func (c *compiler) sentences() []*syntax.Sentence {
	s := &speech{c: c}
	c.file.Steps = s.sequence(c.file.Steps)
	return s.said
}

func (s *speech) sequence(list []*syntax.Step) []*syntax.Step {
	return slices.DeleteFunc(list, func(step *syntax.Step) bool {
		if step.Sentence != nil && !s.sentence(step) {
			s.said = append(s.said, step.Sentence)
			return true
		}
		switch step.Kind().Body {
		case syntax.NoBody, syntax.Concurrent: // a child cannot be a sentence
			s.called(step)
		case syntax.Inline:
			step.Body = s.sequence(step.Body)
		case syntax.Repeated:
			last := s.last
			s.last = nil
			step.Body = s.sequence(step.Body)
			s.last = last
		}
		return false
	})
}

// called keeps the worker that a step calls, for the sentences behind it.
func (s *speech) called(step *syntax.Step) {
	d := step.Delegation()
	if d == nil || d.Pick != nil {
		return
	}
	if info, ok := s.c.contract(d.Agent.Text); ok && !info.Builtin {
		s.last = &worker{info, step.ID.Text}
	}
}

// sentence writes a plain sentence out; false for one that the declarations already say. What
// cannot be written out is reported, and the step then does nothing.
func (s *speech) sentence(step *syntax.Step) bool {
	say := step.Sentence
	switch say.Kind {
	case syntax.SayDelegate:
		step.Action = &syntax.Delegate{Pos: say.Pos, Agent: say.Name}
		step.With = s.inputs(say)
	case syntax.SayUpdateStatus:
		step.Action = s.status(say)
	case syntax.SayValidateFormat:
		s.format(say, step)
	case syntax.SayForEach:
		step.Action = &syntax.Foreach{
			Pos: say.Pos,
			In:  say.Expr,
			As:  say.Name,
		}
	case syntax.SayReturn:
		message := syntax.Part{Lit: say.Rest}
		if s.last != nil {
			message = syntax.Part{Expr: &syntax.Expr{
				Pos: say.Pos,
				Src: "$steps." + s.last.step + ".summary",
			}}
		}
		step.Return = &syntax.Return{Message: &syntax.Text{
			Pos:   say.Pos,
			Parts: []syntax.Part{message},
		}}
	case syntax.SayExtract, syntax.SayPositive, syntax.SayValidateArgument, syntax.SayTaskExists,
		syntax.SayTaskReady,
		syntax.SayLoadTask:
		return false
	}

	return true
}

// inputs gives the worker {args, task}, and each argument that it takes under its own name.
func (s *speech) inputs(say *syntax.Sentence) []syntax.Field {
	agent, ok := s.c.contract(say.Name.Text)
	if !ok {
		return nil
	}
	with := []syntax.Field{source("args", say.Pos, "$args")}
	if s.c.scope.task {
		with = append(with, source("task", say.Pos, "$task"))
	}
	if agent.Inputs == nil {
		return with
	}
	for _, a := range s.c.prog.Args {
		if !given(with, a.Name) {
			with = append(with, source(a.Name, say.Pos, "$args."+a.Name))
		}
	}
	return slices.DeleteFunc(with, func(f syntax.Field) bool {
		_, listed := agent.Inputs[f.Key.Text]
		return !listed
	})
}

func (s *speech) status(say *syntax.Sentence) syntax.Action {
	to := say.To.Text
	pos := say.To.Pos
	if pos.IsZero() {
		pos = say.Pos
	}
	if to == "" {
		why := "no delegation before this step implies a status"
		if s.last != nil {
			_, after := s.last.info.Role.Statuses()
			if during, _ := s.c.prog.During(); during == formats.Revising {
				after = formats.Revised
			}
			to = after.String()
			why = "the role of subagent " + s.last.info.Name + " implies no status"
		}
		if to == "" {
			s.c.report(say.Pos, CodeSentence, `say which: to "planned"`, "%s", why)
			return &syntax.Set{Pos: say.Pos}
		}
	}
	return &syntax.Status{Pos: say.Pos, To: &syntax.Value{Pos: pos, Lit: to}}
}

// format checks the document of the worker before, with one repair round.
func (s *speech) format(say *syntax.Sentence, step *syntax.Step) {
	step.Action = &syntax.Set{Pos: say.Pos}
	noun := strings.ToLower(say.Name.Text)
	if !s.c.profile(syntax.Word{Pos: say.Name.Pos, Text: noun}) {
		return
	}

	kind := documentType(noun)
	makes := func(a formats.ArtifactSpec) bool { return a.Type == kind }
	switch {
	case kind == "":
		help := "write a block with check: {document: " + noun + ", path: ...}"
		s.c.report(say.Pos, CodeSentence, help,
			"'%s' is no type of artifact, so its file must be named", noun)
	case s.last == nil:
		s.c.report(say.Pos, CodeSentence, "delegate to a subagent first",
			"no delegation before this step makes a %s", noun)
	case s.last.info.NoArtifacts,
		s.last.info.Artifacts != nil && !slices.ContainsFunc(s.last.info.Artifacts, makes):
		s.c.report(say.Pos, CodeSentence, "", "subagent %s makes no %s", s.last.info.Name, noun)
	default:
		word := func(text string) syntax.Word {
			return syntax.Word{Pos: say.Pos, Text: text}
		}
		step.Action = &syntax.Check{
			Pos:      say.Pos,
			Document: &syntax.Word{Pos: say.Name.Pos, Text: noun},
		}
		step.On = []syntax.Rule{{
			Status: word(formats.OutcomeRejected.String()),
			Targets: []*syntax.Target{{
				Pos:   say.Pos,
				Kind:  syntax.ToRedo,
				Max:   1,
				Steps: []syntax.Word{word(s.last.step)},
			}},
		}}
	}
}

// argSentence checks what a sentence says of the arguments against the declarations, and takes what
// it adds.
func (c *compiler) argSentence(say *syntax.Sentence) {
	names := c.argNames()
	at := slices.Index(names, say.Name.Text)
	switch say.Kind {
	case syntax.SayExtract, syntax.SayPositive, syntax.SayValidateArgument:
		switch {
		case at < 0:
			c.unknown(
				say.Name,
				CodeArgument,
				names,
				"declare it under arguments:",
				"no argument is named '%s'",
			)
		case say.Kind == syntax.SayExtract && at != say.Index:
			c.report(say.Pos, CodeArgument, "",
				"expected args[%d] for '%s', got args[%d]", at, say.Name.Text, say.Index)
		case say.Kind == syntax.SayPositive:
			kind := c.prog.Args[at].Type // an unknown one was reported
			c.prog.Args[at].AtLeast(1)
			if !slices.Contains(
				[]argspec.Type{argspec.Integer, argspec.Number, argspec.Task, ""},
				kind,
			) {
				help := "give it the type integer, or leave the sentence out"
				c.report(say.Name.Pos, CodeArgument, help, "argument '%s' is a %s and no integer",
					say.Name.Text, kind)
			}
		}
	case syntax.SayTaskExists, syntax.SayLoadTask, syntax.SayTaskReady:
		if !c.scope.task {
			c.report(
				say.Pos,
				CodeNoTask,
				"declare an argument of type task",
				"no argument binds a task",
			)
		}
		if say.Kind == syntax.SayTaskReady {
			c.ready(say)
		}
	case syntax.SayDelegate, syntax.SayUpdateStatus, syntax.SayValidateFormat, syntax.SayForEach,
		syntax.SayReturn:
		c.report(say.Pos, CodeSentence, "move it below '## Workflow Execution'",
			"a sentence of the workflow stands in Argument Parsing")
	}
}

// ready: "is ready for planning" allows the statuses from which the table lets that work start.
func (c *compiler) ready(say *syntax.Sentence) {
	status, err := formats.ParseTaskStatus(strings.ToLower(say.Verb.Text))
	if err != nil || !status.InProgress() {
		c.report(say.Verb.Pos, CodeStatus, inProgressHelp(),
			"expected a status that is in progress, got %q", say.Verb.Text)
		return
	}
	if c.prog.Allow == nil {
		c.prog.Allow = formats.MovesInto(status)
	}
}
