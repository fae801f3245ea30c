package compile

import (
	"cmp"
	"encoding/json"
	"fmt"
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
		c.checkArgSentence(s)
	}
	if d != nil || !c.scope.task {
		return d
	}

	for _, k := range c.index.all {
		say := k.step.Sentence
		if say == nil || say.Kind != syntax.SayDelegate && say.Kind != syntax.SayDelegateWith {
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

// sentenceWriter writes the plain sentences of a file out as the steps that they mean, before
// anything is checked.
type sentenceWriter struct {
	c         *compiler
	last      *worker            // nil before the first one
	summary   string             // id of the step whose summary a return gives
	judged    *syntax.Step       // whose outcome "If valid" asks for; nil before the first one
	checked   syntax.Word        // the argument that "Check mode" names
	loops     []string           // variables of the loops around, outermost first
	redundant []*syntax.Sentence // those that only repeat what is declared
}

// worker is the one that the sentence before delegated to: "update task status" and "validate plan
// format" speak of its role and its artifact.
type worker struct {
	info *formats.AgentInfo
	step string // id of the step that called it
}

// writeSentences writes out those of the file, and gives those that have no step.
func (c *compiler) writeSentences() []*syntax.Sentence {
	s := &sentenceWriter{c: c}
	c.file.Steps = s.writeSequence(c.file.Steps)
	return s.redundant
}

func (s *sentenceWriter) writeSequence(list []*syntax.Step) []*syntax.Step {
	return slices.DeleteFunc(list, func(step *syntax.Step) bool {
		if step.Sentence != nil && !s.writeSentence(step) {
			s.redundant = append(s.redundant, step.Sentence)
			return true
		}
		switch step.Kind().Body {
		case syntax.NoBody:
			s.noteCall(step)
		case syntax.Concurrent:
			for _, child := range step.Body {
				if child.Sentence != nil {
					s.writeSentence(child)
				}
			}
			if step.Sentence != nil {
				s.last = &worker{
					&formats.AgentInfo{Name: step.ID.Text, NoArtifacts: true}, step.ID.Text,
				}
				s.summary = step.ID.Text
			}
		case syntax.Inline:
			step.Body = s.writeSequence(step.Body)
		case syntax.Repeated:
			s.writeLoop(step)
		}
		return false
	})
}

// writeLoop writes out the body of a loop, which knows no subagent before it.
func (s *sentenceWriter) writeLoop(step *syntax.Step) {
	before := *s
	s.last = nil
	s.judged = nil

	each, ok := step.Action.(*syntax.Foreach)
	if ok {
		s.loops = append(slices.Clip(s.loops), each.As.Text)
	}
	if ok && step.Sentence != nil && each.Delegate != nil {
		s.writeEach(step, each)
	} else {
		step.Body = s.writeSequence(step.Body)
	}

	s.last = before.last
	s.judged = before.judged
	s.loops = before.loops
	s.summary = step.ID.Text
}

// writeEach gives the subagent of a loop its input for one element.
func (s *sentenceWriter) writeEach(step *syntax.Step, loop *syntax.Foreach) {
	say := step.Sentence
	one := step.Body[0]
	one.Action = loop.Delegate
	switch {
	case say.Agent.Text != StatusSync:
		step.With = s.workerInputs(say.Pos, say.Agent)
	case loop.As.Text != eachTask:
		one.Action = &syntax.Set{Pos: say.Pos}
		s.c.report(say.Agent.Pos, CodeSentence, "write: For each task: "+StatusSync+" to completed",
			"'%s' updates each task, and %s is none", StatusSync, say.Name.Text)
	case say.To.Text == "":
		one.Action = &syntax.Set{Pos: say.Pos}
		s.c.report(say.Agent.Pos, CodeSentence, "say which: "+StatusSync+" to completed",
			"the status of each task is missing")
	default:
		step.With = []syntax.Field{
			newField("operation", &syntax.Value{Pos: say.Pos, Lit: OpUpdateStatus}),
			exprField("task_number", say.Pos, "$"+eachTask+".number"),
			newField("status", &syntax.Value{Pos: say.To.Pos, Lit: say.To.Text}),
		}
	}
	one.With = step.With
}

// eachTask is the variable of a loop over tasks: $task is the task of the command.
const eachTask = "each_task"

// noteCall keeps the worker that a step calls, for the sentences behind it.
func (s *sentenceWriter) noteCall(step *syntax.Step) {
	d := step.Delegation()
	if d == nil || d.Pick != nil {
		return
	}
	if info, ok := s.c.contract(d.Agent.Text); ok && !info.Builtin {
		s.last = &worker{info, step.ID.Text}
		s.summary = step.ID.Text
		s.judged = step
	}
}

// writeSentence writes a plain sentence out; false for one that the declarations already say. What
// cannot be written out is reported, and the step then does nothing.
func (s *sentenceWriter) writeSentence(step *syntax.Step) bool {
	say := step.Sentence
	switch say.Kind {
	case syntax.SayDelegate:
		step.Action = &syntax.Delegate{Pos: say.Pos, Agent: say.Name}
		step.With = s.workerInputs(say.Pos, say.Name)
	case syntax.SayDelegateWith:
		step.Action = &syntax.Delegate{Pos: say.Pos, Agent: say.Name}
		step.With = say.With
	case syntax.SayUpdateStatus:
		step.Action = s.statusAction(say)
	case syntax.SayValidateFormat:
		s.writeFormatCheck(say, step)
	case syntax.SayForEach:
		s.writeForEach(say, step)
	case syntax.SayReturn:
		message := &syntax.Text{Pos: say.Pos, Parts: s.returnMessage(say)}
		step.Return = &syntax.Return{Message: message}
	case syntax.SayCommit:
		s.writeCommit(say, step)
	case syntax.SayParallel:
		// its steps are the sentences in its body
	case syntax.SayEither:
		s.writeEither(say, step)
	case syntax.SayIfValid:
		s.writeIfValid(say, step)
	case syntax.SayFail:
		text := cmp.Or(say.Rest, "the command ended with an error")
		step.Action = &syntax.Fail{
			Pos:     say.Pos,
			Message: &syntax.Text{Pos: say.Pos, Parts: []syntax.Part{{Lit: text}}},
		}
	case syntax.SayValidateArgument:
		s.checked = say.Name
		return false
	case syntax.SayExtract, syntax.SayPositive, syntax.SayTaskExists, syntax.SayTaskReady,
		syntax.SayLoadTask,
		syntax.SayNothing:
		return false
	}

	return true
}

// returnMessage is what a return says: where the artifact is that it names, else the summary of the
// subagent before, else its own words.
func (s *sentenceWriter) returnMessage(say *syntax.Sentence) []syntax.Part {
	if s.summary == "" {
		return []syntax.Part{{Lit: cmp.Or(say.Rest, "Done.")}}
	}
	expr := func(src string) syntax.Part {
		return syntax.Part{Expr: &syntax.Expr{Pos: say.Pos, Src: src}}
	}

	noun, artifact := strings.CutSuffix(strings.ToLower(say.Rest), " artifact")
	if !artifact {
		noun, artifact = strings.CutSuffix(noun, " path")
	}
	noun = strings.TrimPrefix(noun, "the ")
	kind := documentType(noun)
	promised := s.last != nil &&
		slices.ContainsFunc(s.last.info.Artifacts, func(a formats.ArtifactSpec) bool {
			return a.Type == kind && !a.Optional
		})

	if artifact && kind != "" && promised {
		return []syntax.Part{
			{Lit: strings.ToUpper(noun[:1]) + noun[1:] + " created: "},
			expr("$steps." + s.last.step + ".artifacts[0].path"),
		}
	}
	return []syntax.Part{expr("$steps." + s.summary + ".summary")}
}

// writeCommit commits the artifacts of the subagent before, where there is a repository.
func (s *sentenceWriter) writeCommit(say *syntax.Sentence, step *syntax.Step) {
	step.Action = &syntax.Set{Pos: say.Pos}
	if s.last == nil {
		s.c.report(say.Pos, CodeSentence, "delegate to a subagent first",
			"no delegation before this step makes something to commit")
		return
	}
	step.Action = &syntax.Delegate{Pos: say.Pos, Agent: say.Name}
	step.When = &syntax.Expr{Pos: say.Pos, Src: `$run.repo_state != "none"`}
	unquoted := strings.NewReplacer(`\`, "", `"`, "")

	message := `$run.command | "` + unquoted.Replace(say.Rest) + ` (\(.))"`
	if s.c.scope.task {
		what := unquoted.Replace(strings.TrimPrefix(say.Rest, "the "))
		message = `$task | "task \(.number): add ` + what + `"`
	}

	step.With = []syntax.Field{
		newField("action", &syntax.Value{Pos: say.Pos, Lit: "commit"}),
		exprField("files", say.Pos, "$steps."+s.last.step+".artifacts"),
		exprField("message", say.Pos, message),
	}
}

// writeForEach goes over what the sentence names.
func (s *sentenceWriter) writeForEach(say *syntax.Sentence, step *syntax.Step) {
	loop := &syntax.Foreach{
		Pos:      say.Pos,
		In:       say.Expr,
		As:       say.Name,
		Parallel: say.Index,
		Delegate: step.Delegation(),
	}
	if say.Expr == nil {
		loop.In = &syntax.Expr{Pos: say.Pos, Src: s.listFor(say)}
	}
	if loop.As.Text == "task" {
		loop.As.Text = eachTask
	}

	step.Action = loop
}

// listFor is the list of what a sentence says "for each" of.
func (s *sentenceWriter) listFor(say *syntax.Sentence) string {
	one := say.Name.Text
	many := one + "s"
	for _, a := range s.c.prog.Args {
		switch {
		case a.Name != one && a.Name != many:
		case a.Type == argspec.Tasks:
			return "$args." + a.Name + " as $numbers | $state.tasks | " +
				"map(select(.number as $n | $numbers | index($n)))"
		case a.Repeat || a.Type == argspec.JSON:
			return "$args." + a.Name
		}
	}

	for _, load := range s.c.file.Args.Load {
		switch {
		case load.Name.Text == many:
			return "$" + many
		case one == "phase" && load.Document != nil && load.Name.Text == "plan":
			return "$plan.phases"
		}
	}
	if s.last != nil {
		field, ok := s.last.info.Fields[many]
		if ok && (field.Type == formats.TypeArray || field.Type == formats.TypeList) {
			return "$steps." + s.last.step + ".fields." + many
		}
	}
	if one == "task" {
		return "$state.tasks"
	}

	s.c.report(say.Name.Pos, CodeSentence,
		"say where they are: For each "+one+" in $args."+many+":",
		"nothing before this step is a list of %s", many)
	return "[]"
}

// writeEither delegates to one of two subagents, by the value of an argument.
func (s *sentenceWriter) writeEither(say *syntax.Sentence, step *syntax.Step) {
	step.Action = &syntax.Set{Pos: say.Pos}
	name := say.Name
	if name.Text == "" {
		name = s.checked
	}
	names := s.c.argNames()
	switch {
	case name.Text == "":
		s.c.report(say.Pos, CodeSentence,
			"say which: If mode is "+say.Value.Text+": ...; or check it before: Check mode",
			"no sentence before this one names the argument that may be '%s'", say.Value.Text)
		return
	case !slices.Contains(names, name.Text):
		s.c.reportUnknown(name, CodeArgument, names, "declare it under arguments:",
			"no argument is named '%s'")
		return
	}
	value, _ := json.Marshal(say.Value.Text) //nolint:errcheck // a text is always JSON
	s.writeChoice(say, step, fmt.Sprintf("($args.%s | tostring) == %s", name.Text, value))
}

// writeIfValid delegates to one of two subagents, by the outcome of the check or the subagent
// before, which then leads on whatever its outcome is.
func (s *sentenceWriter) writeIfValid(say *syntax.Sentence, step *syntax.Step) {
	step.Action = &syntax.Set{Pos: say.Pos}
	if s.judged == nil {
		s.c.report(say.Pos, CodeSentence, "validate something first: Validate plan format",
			"no subagent and no check before this step can be valid")
		return
	}

	judged := s.judged
	var statuses []formats.Outcome
	if s.last != nil && judged.ID.Text == s.last.step {
		statuses = s.last.info.Statuses
	}
	_, isCheck := judged.Action.(*syntax.Check)
	for _, outcome := range []formats.Outcome{
		formats.OutcomeRejected, formats.OutcomePartial, formats.OutcomeFailed,
	} {
		possible := statuses == nil || slices.Contains(statuses, outcome)
		if isCheck {
			possible = outcome == formats.OutcomeRejected
		}
		if possible {
			addNext(judged, outcome, say.Pos)
		}
	}
	passed := fmt.Sprintf("($steps.%s.status | IN(%q, %q, %q))", judged.ID.Text,
		formats.OutcomeCompleted, formats.OutcomeApproved, formats.OutcomeConditional)
	s.writeChoice(say, step, passed)
}

// addNext adds that an outcome of a step leads to the next one, after what the step says already.
func addNext(step *syntax.Step, outcome formats.Outcome, pos syntax.Pos) {
	next := &syntax.Target{Pos: pos, Kind: syntax.ToNext}
	for i, rule := range step.On {
		if rule.Status.Text == outcome.String() {
			step.On = slices.Clone(step.On)
			step.On[i].Targets = append(slices.Clip(rule.Targets), next)
			return
		}
	}
	step.On = append(slices.Clip(step.On), syntax.Rule{
		Status:  syntax.Word{Pos: pos, Text: outcome.String()},
		Targets: []*syntax.Target{next},
	})
}

// writeChoice delegates to the first subagent of a sentence if a condition holds, else to the
// second.
func (s *sentenceWriter) writeChoice(say *syntax.Sentence, step *syntax.Step, condition string) {
	first := say.Among[0]
	second := say.Among[1]
	step.Action = &syntax.Delegate{
		Pos:   say.Pos,
		Among: []syntax.Word{first, second},
		Pick: &syntax.Text{Pos: say.Pos, Whole: true, Parts: []syntax.Part{{Expr: &syntax.Expr{
			Pos: say.Pos,
			Src: fmt.Sprintf("if %s then %q else %q end", condition, first.Text, second.Text),
		}}}},
	}

	inputs := s.workerInputs(say.Pos, first)
	other := s.workerInputs(say.Pos, second)
	step.With = slices.DeleteFunc(inputs, func(f syntax.Field) bool {
		return !hasField(other, f.Key.Text)
	})

	s.last = &worker{&formats.AgentInfo{Name: "of step " + step.Number}, step.ID.Text}
	s.summary = step.ID.Text
	s.judged = step
}

// workerInputs gives the worker {args, task}, and each argument and variable of a loop that it
// takes under its own name.
func (s *sentenceWriter) workerInputs(pos syntax.Pos, name syntax.Word) []syntax.Field {
	agent, ok := s.c.contract(name.Text)
	if !ok {
		return nil
	}
	with := []syntax.Field{exprField("args", pos, "$args")}

	for _, loop := range slices.Backward(s.loops) {
		key := loop
		if loop == eachTask {
			key = "task"
		}
		if !hasField(with, key) {
			with = append(with, exprField(key, pos, "$"+loop))
		}
	}

	if s.c.scope.task && !hasField(with, "task") {
		with = append(with, exprField("task", pos, "$task"))
	}

	if agent.Inputs == nil {
		return with
	}
	for _, a := range s.c.prog.Args {
		if !hasField(with, a.Name) {
			with = append(with, exprField(a.Name, pos, "$args."+a.Name))
		}
	}
	return slices.DeleteFunc(with, func(f syntax.Field) bool {
		_, listed := agent.Inputs[f.Key.Text]
		return !listed
	})
}

func (s *sentenceWriter) statusAction(say *syntax.Sentence) syntax.Action {
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

// writeFormatCheck checks the document of the worker before, with one repair round.
func (s *sentenceWriter) writeFormatCheck(say *syntax.Sentence, step *syntax.Step) {
	step.Action = &syntax.Set{Pos: say.Pos}
	noun := strings.ToLower(say.Name.Text)
	if !s.c.checkProfile(syntax.Word{Pos: say.Name.Pos, Text: noun}) {
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
		s.judged = step
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

// checkArgSentence checks what a sentence says of the arguments against the declarations, and takes
// what it adds.
func (c *compiler) checkArgSentence(say *syntax.Sentence) {
	names := c.argNames()
	at := slices.Index(names, say.Name.Text)
	switch say.Kind {
	case syntax.SayExtract, syntax.SayPositive, syntax.SayValidateArgument:
		switch {
		case at < 0:
			c.reportUnknown(
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
			c.allowReady(say)
		}
	case syntax.SayNothing:
	case syntax.SayDelegate, syntax.SayUpdateStatus, syntax.SayValidateFormat, syntax.SayForEach,
		syntax.SayReturn, syntax.SayCommit, syntax.SayParallel, syntax.SayEither,
		syntax.SayDelegateWith, syntax.SayIfValid, syntax.SayFail:
		c.report(say.Pos, CodeSentence, "move it below '## Workflow Execution'",
			"a sentence of the workflow stands in Argument Parsing")
	}
}

// allowReady: "is ready for planning" allows the statuses from which the table lets that work
// start.
func (c *compiler) allowReady(say *syntax.Sentence) {
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
