package meta

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/lazy"
	"tercet/templates"
)

// needsOutline reports whether the prompt becomes an outline: it has stages, is long, or names
// subagents of the project.
func (t *translation) needsOutline(agents Agents) bool {
	const long = 120 // lines
	text := t.command.Text()
	return t.steps == staged || strings.Count(text, "\n") > long ||
		slices.ContainsFunc(t.parts, func(p templates.Part) bool {
			return len(agentsIn(partText(p), agents)) > 0
		})
}

// composeOutline makes the draft of an outline. A status, a check or a commit that does not compile
// here, such as a status that the table of transitions does not allow, becomes a step that names
// its lines.
func (b *Builder) composeOutline(d *draft, t *translation, out string) error {
	o := t.readOutline(b.Agents, d.Name)
	d.Args = o.Args
	if err := d.writeOutline(o, out); err != nil {
		return err
	}

	if why := firstError(b.Lint(d.files)); why != "" {
		dropEffects(&o, why)
		if err := d.writeOutline(o, out); err != nil {
			return err
		}
	}

	for _, s := range o.Stages {
		d.warnings = append(d.warnings, s.Todo...)
	}
	d.lines = t.describeLines(o)
	for _, w := range t.command.Warnings {
		d.warnings = append(d.warnings, w.Error())
	}
	if len(d.warnings) > 0 {
		d.addFollowUp("Finish /"+d.Name, strings.Join(d.warnings, "; "))
	}
	return nil
}

// writeOutline makes an outline the file of the draft.
func (d *draft) writeOutline(o templates.Outline, name string) error {
	src, err := o.Workflow()
	d.files = []File{{Name: name, Data: src}}
	return err
}

// firstError is the message of the first error; empty: there is none.
func firstError(list []formats.Diagnostic) string {
	for _, one := range list {
		if one.Severity == formats.SeverityError {
			return one.Message
		}
	}
	return ""
}

// dropEffects takes statuses, checks and commits out of an outline, and notes why at their stages.
func dropEffects(o *templates.Outline, why string) {
	o.During = ""
	for i := range o.Stages {
		s := &o.Stages[i]
		if s.Status != "" || s.Document != "" || s.Commit {
			s.Todo = append(s.Todo, "write the status, the check or the commit of this stage: "+why)
		}
		s.Status = ""
		s.Document = ""
		s.Commit = false
	}
}

// partText is the text of a part, title included.
func partText(p templates.Part) string {
	var b strings.Builder
	b.WriteString(p.Title + "\n")
	for _, one := range p.Pieces {
		b.WriteString(one.Text)
	}
	return b.String()
}

var (
	// callPhrase is what stands before the name of a subagent that a text calls.
	callPhrase = lazy.Regexp(
		`(?i)(?:\b(?:delegates?|delegating|routes?|hand(?:s|ed)?(?: (?:over|off|it))?) to|` +
			`\b(?:invokes?|calls?|spawns?|launch(?:es)?|dispatch(?:es)?|use|run|` +
			`subagents?|agents?)\b|subagent_type|subagent:|@)[^\n]{0,80}`)
	nameWord   = lazy.Regexp(`[a-z][a-z0-9]*(?:-[a-z0-9]+)+|[a-z][a-z0-9]{3,}`)
	sideBySide = lazy.Regexp(
		`(?i)\b(in parallel|simultaneously|concurrently|side by side|at the same time)\b`,
	)
	approvalPhrase = lazy.Regexp(
		`(?i)\b(approval gate|wait for (?:the )?(?:user|human|approval|confirmation)|` +
			`user approval|ask the user|get (?:an )?approval|human approval|` +
			`confirm with the user|checkpoint: approval)\b`)
	statusSet = lazy.Regexp(
		`(?i)status[^\n.;]{0,60}?(?:\bto\b|:|=|→|->)\s*["'` + "`" +
			`\[*]*([a-z][a-z _]{3,14}[a-z])`)
	bracketed    = lazy.Regexp(`\[([A-Z][A-Z _]{3,14})\]`)
	commitPhrase = lazy.Regexp(`(?i)\b(git[- ]workflow[- ]manager|git commit|` +
		`create (?:a )?(?:git )?commit|commit (?:the|all|changes))\b`)
	validatePhrase = lazy.Regexp(`(?i)\bvalidat\w*[^\n]{0,60}\b(plan|report|summary|review)\b`)
	argumentPhrase = lazy.Regexp(
		`(?i)^\s*(parse|extract|read)?\s*(the )?(arguments?|inputs?)\b|argument[ _]?pars`,
	)
	taskWord = lazy.Regexp(`(?i)\btask[ _-]?(number|id|n)\b|\bTASK_NUMBER\b`)
	hintWord = lazy.Regexp(`[<\[]([A-Za-z][A-Za-z0-9_ -]*?)[>\]]|\b([A-Z][A-Z_]{2,})\b`)
)

// agentsIn are the subagents that a text calls, in the order of the text. A built-in manager is not
// among them: tercet has steps for what it does.
func agentsIn(text string, agents Agents) []string {
	var out []string
	for _, called := range callPhrase().FindAllString(text, -1) {
		for _, name := range nameWord().FindAllString(called, -1) {
			info, ok := agents.Agent(name)
			if ok && !info.Builtin && !info.Workflow && name != "general" &&
				!slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// readOutline reads the parts as the stages of an outline.
func (t *translation) readOutline(agents Agents, name string) templates.Outline {
	text := t.command.Text()
	o := templates.Outline{
		Name:    name,
		Purpose: t.command.Description,
		Source:  t.file,
	}

	task := taskWord().MatchString(text) || taskWord().MatchString(t.command.Hint)
	o.Args = t.outlineArgs(task)
	t.setPartEnds(text)
	o.Needs = map[string][]string{}
	for i := range t.parts {
		s := t.readStage(i, agents, task)
		called := len(s.Agents)
		s.Agents = slices.DeleteFunc(s.Agents, func(name string) bool {
			needs, lacks := neededBy(name, agents, task)
			o.Needs[name] = needs
			if lacks != "" {
				s.Todo = append(s.Todo, name+" needs the input "+lacks+": call it with that")
			}
			return lacks != ""
		})

		if called > 0 && len(s.Agents) == 0 {
			s.Agents = []string{"general"}
		}

		if status, err := formats.ParseTaskStatus(s.Status); err == nil && status.InProgress() {
			if o.During == "" {
				o.During = s.Status
				s.During = s.Status
			}
			s.Status = ""
			s.Skip = s.Skip || len(s.Agents) == 0 && !s.Commit && !s.Gate && s.Document == ""
		}

		o.Plan = o.Plan || s.Loop.Each == planPhases
		o.Stages = append(o.Stages, s)
	}
	return o
}

// neededBy are the inputs without which an agent cannot be called, and the one that a draft cannot
// give: it gives a text, and the task if the prompt has one.
func neededBy(name string, agents Agents, task bool) (needs []string, lacks string) {
	info, _ := agents.Agent(name)
	for _, input := range slices.Sorted(maps.Keys(info.Inputs)) {
		switch {
		case !info.Inputs[input].Required:
		case input == "prompt" || input == "task" && task:
			needs = append(needs, input)
		default:
			return nil, input
		}
	}
	return needs, ""
}

// outlineArgs are the arguments of an outline: the task, and the rest of the line as a text.
func (t *translation) outlineArgs(task bool) []templates.Arg {
	var out []templates.Arg
	if task {
		out = append(out, templates.Arg{Name: "task_number", Type: "task", Positional: true})
	}

	known := map[string]bool{"task": true, "task_number": true, "task_id": true, "number": true}
	rest := ""
	for _, m := range hintWord().FindAllStringSubmatch(t.command.Hint, -1) {
		word := strings.ToLower(strings.TrimSpace(m[1] + m[2]))
		word = strings.Trim(notIdentifier().ReplaceAllString(word, "_"), "_")
		if word != "" && !known[word] && rest == "" {
			rest = word
		}
	}

	if rest == "" && (!task || t.wholeLine || t.positional > 1) {
		rest = "arguments"
	}
	if rest != "" && rest[0] >= 'a' && rest != "help" {
		out = append(out, templates.Arg{Name: rest, Type: "text", Optional: true})
	}
	return out
}

// setPartEnds notes at which line each part ends.
func (t *translation) setPartEnds(text string) {
	t.last = make([]int, len(t.parts))
	for i := range t.parts {
		t.last[i] = t.command.Line + strings.Count(strings.TrimRight(text, "\n"), "\n")
		if i+1 < len(t.parts) {
			t.last[i] = t.parts[i+1].Line - 1
		}

		most := t.parts[i].Line + strings.Count(partText(t.parts[i]), "\n")
		t.last[i] = max(t.parts[i].Line, min(t.last[i], most))
	}
}

// readStage reads one part by the patterns that real files use.
func (t *translation) readStage(i int, agents Agents, task bool) templates.Stage {
	p := t.parts[i]
	raw := partText(p)
	s := templates.Stage{
		From:     p.Line,
		To:       t.last[i],
		Title:    p.Title,
		Agents:   agentsIn(raw, agents),
		Parallel: sideBySide().MatchString(raw),
		Gate:     p.Gate || approvalPhrase().MatchString(raw),
		Commit:   commitPhrase().MatchString(raw),
	}

	if m := validatePhrase().FindStringSubmatch(raw); m != nil {
		noun := strings.ToLower(m[1])
		if slices.Contains(documents.Profiles(), noun) && t.makesDocument(noun, i, agents) {
			s.Document = noun
		}
	}

	if task {
		s.Status = statusIn(raw)
	}

	t.readLoop(&s, raw, i, agents, task)
	idle := s.Loop == templates.Loop{} && len(s.Agents) == 0 && !s.Gate && !s.Commit &&
		s.Status == "" && s.Document == ""
	saysNothing := argumentPhrase().MatchString(p.Title) || returnPhrase().MatchString(p.Title)
	s.Skip = idle && saysNothing
	s.Todo = append(s.Todo, p.Untranslated...)

	for _, name := range unknownAgents(raw, agents) {
		s.Todo = append(s.Todo,
			"no subagent is named "+name+"; add a file for it, or name another one")
	}

	if len(s.Agents) == 0 && !s.Skip && s.Status == "" && s.Document == "" &&
		!s.Commit && !s.Gate {
		s.Todo = append(s.Todo, "general does this step: name the subagent that it needs")
	}
	return s
}

var (
	// repeatPhrase is a text that is done until something holds.
	repeatPhrase = lazy.Regexp(
		`(?i)\b(?:repeat|loop|iterate|retry|try again|continue|go back|keep \w+ing)\b` +
			`[^\n]{0,120}?\buntil\b[^\n]*`)
	// boundPhrase is how often at most.
	boundPhrase = lazy.Regexp(`(?i)\b(?:at most|max(?:imum)?(?: of)?|up to|no more than|not more than|` +
		`limit(?:ed)?(?: of| to)?)[ :*=]*([0-9]{1,3})\b`)
	// forEachPhrase is a text that is done for each of some, which may be listed in brackets or
	// marks.
	forEachPhrase = lazy.Regexp(
		`(?i)\b(?:for|repeat for) (?:each|every)(?: of(?: the)?)?((?: [a-z][a-z-]*)?)` +
			`((?: in| of| from)?:? *(?:the arguments\b|[\[({]?\$ARGUMENTS\b|` +
			`[\[(][^\])\n]+[\])]|` +
			"`[^`\\n]+`(?:(?:,| and|, and) `[^`\\n]+`)+)|)",
	)
)

// planPhases is the list of a loop over the phases of a plan.
const planPhases = `$plan.phases | map(select(.status != "completed"))`

// readLoop reads how often a part is done. A loop without a bound or without a list is noted: what
// is not known is not guessed.
func (t *translation) readLoop(s *templates.Stage, raw string, i int, agents Agents, task bool) {
	if m := repeatPhrase().FindString(raw); m != "" {
		most := 0
		if n := boundPhrase().FindStringSubmatch(m); n != nil {
			most, _ = strconv.Atoi(n[1]) //nolint:errcheck // it is a number
		} else if n := boundPhrase().FindStringSubmatch(raw); n != nil {
			most, _ = strconv.Atoi(n[1]) //nolint:errcheck // it is a number
		}

		if most > 0 {
			s.Loop.Max = most
			s.EndOutcomes = repeatOutcomes(s, agents)
			return
		}
		s.Todo = append(s.Todo, "say how often at most, with until: and max:, where it says: "+
			formats.Clip(strings.TrimSpace(m), 80))
		return
	}

	m := forEachPhrase().FindStringSubmatch(raw)
	if m == nil {
		return
	}

	as := strings.Trim(
		notIdentifier().ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "_"), "_",
	)
	if as == "" || as == "task" || as == "state" || as == "run" || as == "index" || as == "args" {
		as = "item"
	}
	list := listIn(m[2], t.outlineArgs(task))
	switch {
	case list != "":
		s.Loop = templates.Loop{Each: list, As: as}
	case as == "phase" && task && !t.makesPlanBefore(i, agents):
		s.Loop = templates.Loop{Each: planPhases, As: as}
	default:
		s.Todo = append(s.Todo, "say over which list it goes, with foreach:, where it says: "+
			formats.Clip(strings.TrimSpace(m[0]), 80))
	}
}

// makesPlanBefore reports whether a subagent that was called before a part makes the plan.
func (t *translation) makesPlanBefore(before int, agents Agents) bool {
	for _, p := range t.parts[:before] {
		for _, name := range agentsIn(partText(p), agents) {
			info, _ := agents.Agent(name)
			if info.Role == formats.RolePlanner ||
				info.Artifacts != nil && info.MayGive(formats.ArtifactPlan) {
				return true
			}
		}
	}
	return false
}

// listIn is a list of a text as jq; empty: it names none.
func listIn(text string, args []templates.Arg) string {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "ARGUMENTS") || strings.Contains(text, "the arguments") {
		all := "$args._raw"
		if last := len(args) - 1; last >= 0 && args[last].Type == "text" {
			all = "$args." + args[last].Name + ` // ""`
		}
		return all + ` | split(" ") | map(select(. != ""))`
	}

	var words []string
	at := strings.IndexAny(text, "[(`")
	if at < 0 {
		return ""
	}

	separates := func(r rune) bool { return strings.ContainsRune("[]()`,", r) }
	for _, one := range strings.FieldsFunc(text[at:], separates) {
		one = strings.Trim(strings.TrimPrefix(strings.TrimSpace(one), "and "), " \"'")
		if one != "" && one != "and" {
			words = append(words, one)
		}
	}

	if len(words) < 2 {
		return ""
	}
	out, _ := json.Marshal(words) //nolint:errcheck // texts are always JSON
	return string(out)
}

// repeatOutcomes are the outcomes of the last subagent of a stage after which a loop goes round
// again.
func repeatOutcomes(s *templates.Stage, agents Agents) []string {
	name := "general"
	if len(s.Agents) > 0 {
		name = s.Agents[len(s.Agents)-1]
	}

	info, _ := agents.Agent(name)
	var out []string
	for _, outcome := range []formats.Outcome{formats.OutcomeRejected, formats.OutcomePartial} {
		if s.Parallel && len(s.Agents) > 1 || info.Statuses == nil ||
			slices.Contains(info.Statuses, outcome) {
			out = append(out, outcome.String())
		}
	}
	return out
}

// describeLines says what became of the lines of a prompt.
func (t *translation) describeLines(o templates.Outline) []Lines {
	var out []Lines
	end := t.command.Line + strings.Count(strings.TrimRight(t.command.Text(), "\n"), "\n")
	at := t.command.Line

	left := func(to int) {
		if at <= to {
			out = append(out,
				Lines{From: at, To: to, Becomes: []string{"left in the prompt: no step reads it"}})
		}
	}

	for _, s := range o.Stages {
		left(s.From - 1)
		became := s.Steps
		status, err := formats.ParseTaskStatus(s.During)
		switch {
		case err == nil && status.InProgress():
			became = append([]string{"during: " + s.During}, became...)
		case len(became) == 0:
			became = []string{"no step: tercet does it by itself"}
		}

		out = append(out, Lines{From: s.From, To: s.To, Title: s.Title, Becomes: became})
		at = s.To + 1
	}
	left(end)
	return out
}

var returnPhrase = lazy.Regexp(`(?i)^\s*(return|report|present|respond|output)`)

// makesDocument reports whether a subagent that was called up to a part makes a document of a
// profile.
func (t *translation) makesDocument(profile string, upTo int, agents Agents) bool {
	for _, p := range t.parts[:upTo+1] {
		for _, name := range agentsIn(partText(p), agents) {
			info, _ := agents.Agent(name)
			if info.MayGive(formats.ArtifactType(profile)) {
				return true
			}
		}
	}
	return false
}

// statusIn is the last status to which a text sets a task; empty: none.
func statusIn(text string) string {
	found := ""

	for _, form := range []*regexp.Regexp{statusSet(), bracketed()} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			word := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(m[1])), " ", "_")
			status, err := formats.ParseTaskStatus(word)
			if err == nil && !strings.Contains(text, "must be ["+m[1]) {
				found = status.String()
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// specialist matches names that are plainly meant as those of subagents.
var specialist = lazy.Regexp("`([a-z][a-z0-9]*(?:-[a-z0-9]+)*-" +
	"(?:agent|specialist|researcher|planner|implementer|reviewer|writer|designer|tester|" +
	"analyst|executor|coordinator))`")

// unknownAgents are the subagents that a text calls and that are not there.
func unknownAgents(text string, agents Agents) []string {
	var out []string
	for _, called := range callPhrase().FindAllString(text, -1) {
		for _, m := range specialist().FindAllStringSubmatch(called, -1) {
			if _, ok := agents.Agent(m[1]); !ok && !slices.Contains(out, m[1]) {
				out = append(out, m[1])
			}
		}
	}
	return out
}
