package syntax

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/md"
)

// readPlainWorkflow reads the plain form: lines "Step N: sentence", wherever they stand.
func (p *parser) readPlainWorkflow(s md.Section, list []draft) {
	for _, d := range list {
		for _, b := range d.fences {
			p.report(CodeFencePlace, b.Pos, "put a heading '### Step <n>: <title>' before it",
				"block 'yaml step' without a step heading")
			p.stepBlock(&Step{}, b)
		}
	}

	seen := map[string]int{}
	var stack []openStep
	stage := ""
	for n := s.Line() + 1; n <= s.EndLine; n++ {
		line := p.doc.Line(n)
		text := strings.TrimLeft(line, " \t")
		number, rest, ok := stepLine(cleanTitle(text))
		if p.doc.InCode(n) {
			continue
		}
		if m := stageTag().FindStringSubmatch(text); m != nil {
			stage = m[1] + m[2]
			text = text[len(m[0]):]
		}
		if m := actionTag().FindStringSubmatch(text); m != nil && stage != "" {
			number = stage
			rest = m[1]
			ok = true
			stage = "" // one action is one step
		}

		pos := Pos{Line: n, Col: len(line) - len(text) + 1}
		if !ok {
			if isAlmostStep(text) {
				p.report(CodeStepHeading, pos,
					"write it like 'Step 3: Return the plan', at the start of the line",
					"expected 'Step <n>: <title>', got %q", text)
			}
			continue
		}

		p.checkNumber(seen, number, pos)

		step := &Step{
			Pos:    pos,
			Number: number,
			Title:  rest,
		}
		p.readSentence(step, rest, posIn(line, n, rest))
		stack = p.attach(stack, openStep{step: step, level: strings.Count(number, ".")})
	}
}

// stageTag opens a step in the anatomies with tags, and actionTag says what the step does. The
// number of a stage is its id.
var (
	stageTag  = lazy.Regexp(`^<(?:step_([0-9]+)|stage\b[^>]*\bid="([0-9]+(?:\.[0-9]+)*)")[^>]*>\s*`)
	actionTag = lazy.Regexp(`^\s*<action>\s*(.*?\S)\s*</action>`)
)

// readSentence reads the sentence of a step.
func (p *parser) readSentence(step *Step, text string, pos Pos) {
	step.Sentence = p.sentence(text, pos)
	if step.Sentence == nil {
		p.invalid[step] = true
		return
	}
	say := step.Sentence

	switch say.Kind { //nolint:exhaustive // the others have nothing below them
	case SayParallel:
		step.Action = &Parallel{Pos: pos}
		for _, agent := range say.Among {
			id := strings.NewReplacer("-", "_", ":", "_").Replace(agent.Text)
			p.parallelIDs[id]++
			if n := p.parallelIDs[id]; n > 1 {
				id += "_" + strconv.Itoa(n)
			}
			step.Body = append(step.Body, &Step{
				Pos:      agent.Pos,
				ID:       Word{Pos: agent.Pos, Text: id},
				Title:    "Delegate to " + agent.Text,
				Sentence: &Sentence{Pos: agent.Pos, Kind: SayDelegate, Name: agent},
			})
		}
	case SayForEach:
		if say.Agent.Text != "" {
			step.Action = &Foreach{
				Pos:      pos,
				In:       say.Expr,
				As:       say.Name,
				Parallel: say.Index,
				Delegate: &Delegate{Pos: say.Agent.Pos, Agent: say.Agent},
			}
		}
	case SayDelegateWith:
		say.With = p.inputsBelow(pos.Line)
		if say.With == nil {
			p.report(CodeSentence, pos, "write them below it, such as '- task: $task'",
				"expected lines '- NAME: VALUE' below a sentence that ends in 'with:'")
		}
	}
}

// inputLine is a line of the input of a subagent below its sentence.
var inputLine = lazy.Regexp(`^\s*[-*]\s+([a-z][a-z0-9_]*)\s*:\s*(.*?)\s*$`)

// placeholder is a name in braces, which stands for an argument.
var placeholder = lazy.Regexp(`^\{([a-z][a-z0-9_]*)\}$`)

// inputsBelow reads the lines '- NAME: VALUE' below a sentence. A value that begins with $ is jq.
func (p *parser) inputsBelow(at int) []Field {
	var out []Field
	for n := at + 1; ; n++ {
		line := p.doc.Line(n)
		if strings.TrimSpace(line) == "" && out == nil && n == at+1 {
			continue // below a heading
		}
		m := inputLine().FindStringSubmatchIndex(line)
		if m == nil || p.doc.InCode(n) {
			return out
		}

		pos := Pos{Line: n, Col: m[4] + 1}
		text := line[m[4]:m[5]]
		value := &Value{Pos: pos}
		name := placeholder().FindStringSubmatch(text)
		number, err := strconv.Atoi(text)
		switch {
		case name != nil:
			value.Kind = Jq
			value.Expr = &Expr{Pos: pos, Src: "$args." + name[1]}
		case strings.HasPrefix(text, "$"):
			value.Kind = Jq
			value.Expr = &Expr{Pos: pos, Src: text}
		case err == nil:
			value.Lit = number
		case text == "true" || text == "false":
			value.Lit = text == "true"
		default:
			value.Lit = strings.Trim(text, "\"'`")
		}

		key := Word{Pos: Pos{Line: n, Col: m[2] + 1}, Text: line[m[2]:m[3]]}
		out = append(out, Field{Key: key, Value: value})
	}
}

// isAlmostStep reports a line that was meant as a plain step and is none. It is a list item, has
// another mark than the colon or none before a sentence of the list, or another case. Prose such as
// "Step 2 writes the plan" is not meant.
func isAlmostStep(text string) bool {
	bare := cleanTitle(strings.TrimLeft(text, "-*+ \t"))
	if _, _, ok := stepLine(bare); ok {
		return true
	}
	return almostStepForm().MatchString(bare)
}

// almostStepForm is a number behind "step", and a mark other than the colon or the beginning of a
// sentence of the list.
var almostStepForm = lazy.Regexp(
	`(?i)^step +[0-9][0-9.]*` +
		`(?:[:;)-]| *(?:delegate +to|extract|validate|load|for +each|return)(?: |$))`,
)

// argSentences reads the lines of Argument Parsing in the plain form.
func (p *parser) argSentences(s md.Section) {
	for n := s.Line() + 1; n <= s.EndLine; n++ {
		line := p.doc.Line(n)
		text := cleanTitle(strings.TrimLeft(line, " \t-*"))
		_, isTag := tagLine(text)
		if text == "" || isTag || p.doc.InCode(n) || strings.HasPrefix(text, "#") {
			continue
		}
		if say := p.sentence(text, posIn(line, n, text)); say != nil {
			p.file.Sentences = append(p.file.Sentences, say)
		}
	}
}

// sentenceForm is one sentence of the closed list.
type sentenceForm struct {
	kind     SentenceKind
	excludes bool
	form     string
	example  string // an example
	does     string // the step that it means
}

// The forms that fit much of what prose says. They count where the file declares the argument.
const (
	parseArg = "parse ARG(?: *= *[0-9]+)?"
	checkArg = "check ARG"
)

// timesForm is one subagent several times, as diagrams write it. The x stands alone, because names
// end with it too.
const timesForm = `(?:delegate (?:in parallel )?(?:to )?)?` +
	`\[?ARM(?: *× *| [x*] )(?P<index>[0-9]{1,4}|N)\]?`

// isDeclared tells whether the file declares an argument, or a sentence before takes it from the
// line.
func (p *parser) isDeclared(name string) bool {
	return slices.ContainsFunc(p.file.Front.Arguments, func(a Argument) bool {
		return a.Name.Text == name
	}) || slices.ContainsFunc(p.file.Sentences, func(say *Sentence) bool {
		return say.Kind == SayExtract && say.Name.Text == name
	})
}

// sentenceForms are the sentences of the closed list; the first that fits counts. The case of
// letters does not matter but in names, a space stands for one or more. With none, no later form
// may fit either.
var sentenceForms = []sentenceForm{
	{
		SayUpdateStatus, false,
		"delegate to (?P<name>(?-i:status-sync-manager))( subagent)?( to update task status( to " +
			"(?P<to>[^ ]+))?)?",
		"Delegate to status-sync-manager to update task status",
		"`status:` of the role of the subagent before; `to planned` at the end says another one",
	},
	{
		SayCommit, false,
		"delegate to (?P<name>(?-i:git-workflow-manager))( subagent)? to commit REST",
		"Delegate to git-workflow-manager to commit the plan",
		"`delegate: git-workflow-manager` with `action: commit` for the artifacts of the " +
			"subagent before",
	},
	{
		SayParallel, false, "delegate in parallel to LIST",
		"Delegate in parallel to reviewer, security-auditor and tester",
		"`parallel:` with one `delegate` for each",
	},
	{
		SayForEach, false,
		timesForm + `,? \(?(?:for each|one per|one for each) ARG(?: in (?P<expr>\$[^ )]+))?\)?`,
		"[implementer × N] for each phase in $plan.phases",
		"`foreach: $plan.phases` with `delegate: implementer`, side by side",
	},
	{
		SayParallel, false, timesForm + `(?:,? \(?N *= *(?P<most>[0-9]{1,4})\)?)?(?: in parallel)?`,
		"[implementer × 3]", "`parallel:` with that many `delegate`s to one subagent",
	},
	{
		SayParallel, false, `(?:delegate to )?\[LIST\]`,
		"[reviewer, security-auditor, tester]", "`parallel:` with one `delegate` for each",
	},
	{
		SayDelegateWith, false, "delegate to ARM with *:",
		"Delegate to reviewer with:",
		"`delegate: reviewer` with the lines `- NAME: VALUE` below it as `with:`; " +
			"`{name}` is an argument",
	},
	{
		SayDelegate, false, "delegate to ARM( with REST)?",
		"Delegate to planner subagent",
		"`delegate: planner` with the arguments and the task that it takes; " +
			"`Subagent A` is `subagent-a`",
	},
	{
		SayDelegate, false, "if depth (?:is )?ok *:? delegate to ARM( with REST)?",
		"If depth OK: delegate to tester",
		"`delegate: tester`: tercet refuses a fourth level by itself",
	},
	{
		SayExtract, false,
		`extract (?P<opt>optional )?ARG from (?-i:args\[(?P<index>[0-9]{1,4})\])`,
		"Extract optional research_report from args[1]",
		"what `arguments:` declares",
	},
	{
		SayExtract, false,
		`parse (?P<opt>optional )?ARG from (?-i:args\[(?P<index>[0-9]{1,4})\])`,
		"Parse task_number from args[0]",
		"what `arguments:` declares",
	},
	{
		SayNothing, false,
		"(?:parse|validate|parse and validate) (?:the |command |user )*(?:arguments?|inputs?)",
		"Parse arguments", "nothing: tercet checks the line against `arguments:`",
	},
	{
		SayValidateArgument, false, parseArg, "Parse task_number",
		"what `arguments:` declares; `= 196` behind it is an example",
	},
	{
		SayTaskReady, false, "validate task exists and is ready for (?P<verb>[^ ]+)",
		"Validate task exists and is ready for planning",
		"`allow:` with the statuses from which that work starts",
	},
	{
		SayTaskExists, false, "validate task exists(?: in (?-i:state\\.json))?",
		"Validate task exists",
		"what an argument of type task does",
	},
	{
		SayValidateFormat, false, "validate (?P<name>[^ ]+) format", "Validate plan format",
		"`check: {document: plan}`, which sends the work back once",
	},
	{
		SayPositive, false, "validate ARG is( a)? positive integer",
		"Validate task_number is positive integer", "`min: 1` of the argument",
	},
	{
		SayNothing, false,
		"validate( (?:the |subagent )*(?:results?|returns?|responses?))?",
		"Validate result", "nothing: tercet checks each return against its contract",
	},
	{
		SayNothing, false,
		"(?:aggregate|collect|combine|format)" +
			"( (?:the |subagent )*(?:results?|responses?|outputs?))?(?: for orchestrator)?",
		"Aggregate results", "nothing: the return of the step before has them",
	},
	{0, true, "validate (task exists|[^ ]+ (format|is( a)? positive integer)) .*", "", ""},
	{
		SayValidateArgument, false, "validate ARG .+", "Validate task_number with care",
		"what `arguments:` declares",
	},
	{
		SayValidateArgument, false, checkArg, "Check mode",
		"what `arguments:` declares; `If plan: ...` behind it is about that argument",
	},
	{
		SayNothing, false,
		"(?:check (?-i:delegation_depth) *< *3|" +
			"else *: return error \"?max delegation depth exceeded\"?)",
		"Check delegation_depth < 3", "nothing: tercet refuses a fourth level by itself",
	},
	{
		SayLoadTask, false, "load task context( .*)?", "Load task context from state.json",
		"what an argument of type task does",
	},
	{
		SayForEach, false, "for each (?P<name>[a-z_][a-z0-9_]*) in (?P<expr>[^ ].*?) *:",
		"For each phase in $plan.phases:",
		"`foreach: $plan.phases` and `as: phase` over the steps below with a longer number",
	},
	{
		SayForEach, false, "for each (?P<name>[a-z_][a-z0-9_]*) in (?P<expr>[^ ].*?) *: EACH",
		"For each phase in $plan.phases: implementer",
		"`foreach: $plan.phases` and `as: phase` with `delegate: implementer`",
	},
	{
		SayForEach, false, "for each (?P<name>[a-z_][a-z0-9_]*) *:( EACH)?",
		"For each task: reviewer",
		"`foreach:` over what has that name: the argument `tasks`, what `load` calls `tasks`, " +
			"`$plan.phases` for `phase`, or all tasks of the project",
	},
	{
		SayIfValid, false, "if (?:the (?:result|return|plan|report) is )?valid *:? ARM,? " +
			"(?:otherwise|else) *:? OTHER",
		"If valid: planner, Else: researcher",
		"`delegate:` with an expression over the outcome of the subagent or the check before, " +
			"and `among:`",
	},
	{
		SayEither, false, "if( ARG is)? (?P<value>[^ :]+) *:? ARM,? (?:otherwise|else) *:? OTHER",
		"If mode is plan: delegate to planner, otherwise to implementer",
		"`delegate:` with an expression over `$args.mode`, and `among:`",
	},
	{
		SayFail, false,
		"return (?:an )?error(?: *:? *[\"“](?P<rest>[^\"”]+)[\"”])?(?: to orchestrator)?",
		`Return error "There is nothing to plan"`, "`fail:` with that text",
	},
	{
		SayReturn, false, "return( REST)?", "Return plan artifact to orchestrator",
		"`return:` with the summary of the subagent before; for an artifact or its path, the path",
	},
}

// agentWord is the name of a subagent; a single capital stands for one: Subagent A is
// subagent-a.
const agentWord = "(?-i:(?:[a-z][a-z0-9-]*:)?[a-z][a-z0-9-]*|[A-Z]\\b)"

// sentenceWords are the words of the forms that stand for more.
var sentenceWords = strings.NewReplacer(
	"ARM", "(?:delegate +to +)?(?:subagent +)?(?P<agent>"+agentWord+")(?: +subagent)?",
	"EACH", "(?:delegate +to +)?(?:subagent +)?(?P<agent>"+agentWord+")(?: +subagent)?"+
		"(?: +to +update +task +status)?(?: +to +(?P<to>[^ ]+))?",
	"OTHER", "(?:delegate +)?(?:to +)?(?:subagent +)?(?P<other>"+agentWord+")(?: +subagent)?",
	"LIST", "(?P<list>(?:subagent +)?"+agentWord+"(?:(?:,? and|,) +(?:subagent +)?"+agentWord+")+)",
	"ARG", "(?P<name>(?-i:[a-z][a-z0-9_]*))", "REST", "(?P<rest>.+)", "[^ ]", "[^ ]", " *", " *",
	"[^ :]", "[^ :]", " ", " +",
)

// SentenceInfo describes a sentence of the plain form for the reference.
type SentenceInfo struct{ Example, Does string }

// Sentences lists the sentences of the plain form.
func Sentences() []SentenceInfo {
	var out []SentenceInfo
	for _, s := range sentenceForms {
		if !s.excludes {
			out = append(out, SentenceInfo{s.example, s.does})
		}
	}
	return out
}

// nearestSentence is the help for a line that is none of the sentences.
func nearestSentence(line string) string {
	const all = "docs/reference/plain-form.md lists the sentences; or write a block 'yaml step' " +
		"below a heading '### Step <n>: ...'"
	words := strings.Fields(strings.ToLower(line))
	best := ""
	most := 1

	for _, s := range sentenceForms {
		same := 0
		for i, w := range strings.Fields(strings.ToLower(s.example)) {
			switch {
			case i < len(words) && words[i] == w:
				same += 2
			case slices.Contains(words, w):
				same++
			}
		}
		if same > most {
			most = same
			best = s.example
		}
	}

	if best == "" {
		return all
	}
	return "write it like '" + best + "'; " + all
}

// sentence reads one sentence of the closed list; nil for any other, which is reported.
func (p *parser) sentence(text string, pos Pos) *Sentence {
	line := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "."))
	for _, s := range sentenceForms {
		first, _, _ := strings.Cut(s.form, " ")
		literal := !strings.Contains(first, "(")
		if literal && (len(line) < len(first) || !strings.EqualFold(line[:len(first)], first)) {
			continue
		}

		form := p.forms[s.form]
		if form == nil {
			form = regexp.MustCompile("(?i)^" + sentenceWords.Replace(s.form) + " *$")
			p.forms[s.form] = form
		}

		found := form.FindStringSubmatchIndex(line)
		if found == nil {
			continue
		}
		if s.excludes {
			break
		}
		word := func(name string) (w Word) {
			i := 2 * form.SubexpIndex(name)
			if i < 0 || found[i] < 0 {
				return w
			}
			w.Pos = Pos{Line: pos.Line, Col: pos.Col + found[i]}
			w.Text = line[found[i]:found[i+1]]
			return w
		}

		say := &Sentence{
			Pos:  pos,
			Kind: s.kind,
			Name: word("name"),
			Verb: word("verb"),
			To:   word("to"),
		}

		if (s.form == parseArg || s.form == checkArg) && !p.isDeclared(word("name").Text) {
			continue
		}

		agent := expandLetter(word("agent"))
		switch s.kind { //nolint:exhaustive // no other sentence names one subagent
		case SayDelegate, SayDelegateWith:
			say.Name = agent
		case SayForEach:
			say.Agent = agent
		}
		say.Opt = word("opt").Text != ""
		say.Rest = strings.TrimSpace(word("rest").Text)

		n, err := strconv.Atoi(word("index").Text)
		if s.kind == SayParallel && word("list").Text == "" {
			if !p.repeatAgent(say, agent, cmp.Or(word("most").Text, word("index").Text)) {
				return nil
			}
		} else if s.kind == SayForEach && word("index").Text != "" {
			err = strconv.ErrSyntax // the list says how many
			say.Index = formats.DefaultParallel
		}

		switch {
		case err == nil && s.kind == SayExtract:
			say.Index = n
		case s.kind == SayUpdateStatus:
			say.To = unquoted(say.To)
		case s.kind == SayParallel && word("list").Text != "":
			say.Among = splitNames(word("list"))
		case s.kind == SayEither, s.kind == SayIfValid:
			say.Value = word("value")
			say.Value.Text = strings.Trim(say.Value.Text, "\"'`")
			say.Among = []Word{agent, expandLetter(word("other"))}
		case s.kind == SayForEach:
			say.To = unquoted(say.To)
			if w := word("expr"); w.Text != "" {
				say.Expr = &Expr{Pos: w.Pos, Src: w.Text}
			}
		case s.kind == SayReturn:
			say.Rest = strings.TrimSpace(strings.TrimSuffix(say.Rest, "to orchestrator"))
		}

		p.reportStrict(
			CodeSugar,
			pos,
			"run 'tercet lint --fix --expand'",
			"plain sentence where a block could stand",
		)
		return say
	}

	p.report(CodeSentence, pos, nearestSentence(line),
		"sentence is not in the list of plain steps: %q", text)
	return nil
}

// repeatAgent makes a sentence one of several calls of a subagent side by side, and reports a
// number that is none, such as the N of a diagram.
func (p *parser) repeatAgent(say *Sentence, agent Word, count string) bool {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > formats.MaxParallel {
		p.report(
			CodeSentence,
			agent.Pos,
			"write '["+agent.Text+" × 3]', or '["+agent.Text+" × N] "+
				"for each phase in $plan.phases' with the list that it is about",
			"expected how many of %s work side by side, from 1 to %d, got %s",
			agent.Text, formats.MaxParallel, count,
		)
		return false
	}
	for range n {
		say.Among = append(say.Among, agent)
	}
	return true
}

// expandLetter is the name of a subagent; the A of "Subagent A" is subagent-a.
func expandLetter(w Word) Word {
	if len(w.Text) == 1 && w.Text[0] >= 'A' && w.Text[0] <= 'Z' {
		w.Text = "subagent-" + strings.ToLower(w.Text)
	}
	return w
}

// unquoted is a word without its quotes or brackets.
func unquoted(w Word) Word {
	text := strings.Trim(w.Text, "\"'`[]")
	if len(text) < len(w.Text) {
		w.Pos.Col++
	}
	w.Text = text
	return w
}

// splitNames are the names of a list such as "a, b and c".
func splitNames(list Word) []Word {
	var out []Word
	col := list.Pos.Col
	for word := range strings.SplitSeq(list.Text, " ") {
		name := strings.TrimSuffix(word, ",")
		if name != "" && name != "and" && !strings.EqualFold(name, "subagent") {
			agent := Word{Pos: Pos{Line: list.Pos.Line, Col: col}, Text: name}
			out = append(out, expandLetter(agent))
		}
		col += len(word) + 1
	}
	return out
}

// posIn is the place of a part of a line.
func posIn(line string, n int, part string) Pos {
	return Pos{Line: n, Col: strings.Index(line, part) + 1}
}
