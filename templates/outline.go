package templates

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tercet/internal/parts"
)

// Outline is a long prompt as a short workflow: its steps say where in the prompt their text is,
// instead of repeating it.
type Outline struct {
	Name, Purpose, Source string
	Args                  []Arg
	During                string // status of the task while it runs; empty: none
	Plan                  bool   // a loop goes over the phases of the task's plan
	// Needs are the inputs, task and prompt, without which an agent cannot be called, by its name.
	Needs  map[string][]string
	Stages []Stage
}

// Stage is one part of a long prompt.
type Stage struct {
	From, To int // lines of the prompt
	Title    string
	Agents   []string // that it delegates to, in order
	Parallel bool     // side by side
	Gate     bool     // it asks the user
	Document string   // profile of the document that it checks; empty: none
	Status   string   // to which it sets the task; empty: none
	During   string   // status of the task while the whole command runs; empty: not said here
	Commit   bool     // it commits
	Skip     bool     // tercet does it anyway, such as reading the arguments
	Loop     Loop
	// EndOutcomes are the outcomes with which the last subagent of a loop that repeats leads to its
	// end.
	EndOutcomes []string
	// Steps are what became of it: the number of each step, and what it does.
	Steps []string
	// Todo says what was not understood, a text each.
	Todo []string
}

// Loop is how often a stage is done; once, if it is zero.
type Loop struct {
	Each, As string // a list as jq, and the name of an element
	Max      int    // rounds at most, until the last subagent passes
}

// TodoMark begins a comment of a draft about what is left to do. lint reports it.
const TodoMark = "# TODO: "

// MaxOutline bounds the lines of an outline.
const MaxOutline = 150

// Workflow writes the outline as a command file.
func (o Outline) Workflow() ([]byte, error) {
	purpose := shorten(cmp.Or(cleanLine(o.Purpose), "Adopted from "+o.Source), maxDescription)
	purpose, err := checkText(o.Name, purpose)
	if err != nil {
		return nil, err
	}

	w := outlineWriter{Outline: o, loopStep: -1}
	for i := range o.Stages {
		w.writeStage(&o.Stages[i])
	}
	w.writeReturn()

	more := parts.Values{}
	if o.During != "" {
		more["during"] = o.During
	}

	out := commandHead(o.Name, yamlScalar(purpose), o.Args, more) + "\n\n" +
		"A draft of " + escapeMarkdown(cleanLine(o.Source)) +
		". A step that names lines of it has its text there.\n\n" +
		o.loads() + "## Workflow Execution\n" + strings.Join(w.lines, "\n") + "\n"
	if n := strings.Count(out, "\n"); n > MaxOutline {
		return nil, refuse("adopt it in parts: split the prompt, or write its stages into fewer",
			"expected a draft of at most %d lines, got %d", MaxOutline, n)
	}
	return []byte(out), nil
}

// loads is what is read before the first step.
func (o Outline) loads() string {
	if !o.Plan {
		return ""
	}
	return "## Argument Parsing\n\n```yaml args\nload:\n  plan: {document: plan, path: " +
		"'$task.artifacts | map(select(.type == \"plan\")) | last | .path'}\n```\n\n"
}

// outlineWriter writes the steps of an outline.
type outlineWriter struct {
	Outline

	lines       []string
	current     *Stage // whose steps are written; nil behind the last one
	number      int
	loopStep    int    // number of the last step of the loop that is written; -1 outside of loops
	last        string // id of the last step that a subagent did; empty: none
	uncommitted string // id of the last step whose documents are not committed yet
}

// writeStep writes one step with the lines of its block.
func (w *outlineWriter) writeStep(title string, block ...string) {
	var number string
	mark := "###"
	if w.loopStep < 0 {
		w.number++
		number = strconv.Itoa(w.number)
	} else {
		w.loopStep++
		number = fmt.Sprintf("%d.%d", w.number, w.loopStep)
		mark = "####"
	}

	title = shorten(plainLine(cleanLine(title), "&<>`*[]\\~{}$@#|!:."), 80)
	title = cmp.Or(title, "Go on")
	w.lines = append(w.lines, "", mark+" Step "+number+": "+title, "", "```yaml step")

	if w.current != nil {
		w.current.Steps = append(w.current.Steps, "step "+number+", "+actionLine(block))
	}
	w.lines = append(w.lines, block...)
	w.lines = append(w.lines, "```")
}

// actionLine is the line of a block that says what the step does.
func actionLine(block []string) string {
	for _, line := range block {
		key, _, _ := strings.Cut(line, ":")
		switch key {
		case "delegate", "parallel", "check", "gate", "status", "foreach", "until", "return":
			return strings.TrimSuffix(line, ":")
		}
	}
	return ""
}

// writeStage writes the steps of one stage.
func (w *outlineWriter) writeStage(s *Stage) {
	s.Steps = nil
	if s.Skip {
		return
	}

	w.current = s
	var todo []string
	for _, one := range s.Todo {
		todo = append(todo, TodoMark+plainLine(one, "`!@$"))
	}

	before := w.number
	w.writeWork(s, todo)
	if w.number > before {
		todo = nil
	}
	w.writeEffects(s, todo)
}

// writeWork writes the steps whose work subagents do, in a loop if the stage has one. todo goes to
// the first step.
func (w *outlineWriter) writeWork(s *Stage, todo []string) {
	loops := s.Loop != Loop{}
	if loops {
		w.writeLoop(s, todo)
		todo = nil
	}

	switch {
	case len(s.Agents) > 1 && s.Parallel:
		w.writeParallel(s, todo)
	case len(s.Agents) > 0:
		for i, agent := range s.Agents {
			title := s.Title
			if i > 0 {
				title = "Run " + agent
			}
			w.writeDelegate(s, title, agent, i == len(s.Agents)-1, todo)
			todo = nil
		}
	case s.Document == "" && s.Status == "" && !s.Commit && !s.Gate:
		w.writeDelegate(s, s.Title, "general", true, todo)
	}

	if loops {
		w.loopStep = -1
		w.last = fmt.Sprintf("step_%d", w.number)
		w.uncommitted = w.last
	}
}

// writeEffects writes the steps after the work: the check, the gate, the status and the commit.
// todo goes to the first of them.
func (w *outlineWriter) writeEffects(s *Stage, todo []string) {
	if s.Document != "" && w.last != "" {
		w.writeStep("Check the "+s.Document, append(todo, "check: {document: "+s.Document+"}",
			"on: {rejected: {redo: ["+w.last+"], max: 1}}")...)
		todo = nil
	}

	if s.Gate {
		w.writeStep("Ask about "+s.Title, append(todo,
			fmt.Sprintf("id: step_%d", w.number+1),
			fmt.Sprintf("gate: %q", plainLine(shorten(cleanLine(s.Title), 80), "`!@$\"\\{}")+"?"),
			"choices: {approve: next, reject: fail}")...)
		todo = nil
	}

	if s.Status != "" {
		w.writeStep("Mark the task as "+s.Status, append(todo, "status: "+s.Status)...)
		todo = nil
	}

	if s.Commit && w.uncommitted != "" {
		w.writeStep("Commit", append(todo,
			`when: $run.repo_state != "none"`, "delegate: git-workflow-manager",
			"with: {action: commit, files: $steps."+w.uncommitted+".artifacts, message: "+
				fmt.Sprintf("%q", w.Name+": ${{ $steps."+w.uncommitted+".summary }}")+"}")...)
		w.uncommitted = ""
	}
}

// linesPrompt says which lines of the prompt a step does.
func (w *outlineWriter) linesPrompt(s *Stage) string {
	text := fmt.Sprintf("Do lines %d to %d of %s, and nothing else of it.", s.From, s.To, w.Source)
	if s.Loop.Each != "" {
		text += " Do them for this " + strings.ReplaceAll(s.Loop.As, "_", " ") + ": ${{ $" +
			s.Loop.As + " }}"
	}
	return text
}

// nextID is the id of the next step.
func (w *outlineWriter) nextID() string {
	if w.loopStep < 0 {
		return fmt.Sprintf("step_%d", w.number+1)
	}
	return fmt.Sprintf("step_%d_%d", w.number, w.loopStep+1)
}

// writeLoop writes the step whose body the subagents of the stage are.
func (w *outlineWriter) writeLoop(s *Stage, todo []string) {
	block := append(todo, "id: "+w.nextID())
	if s.Loop.Each != "" {
		block = append(block, "foreach: "+quoteJQ(s.Loop.Each), "as: "+s.Loop.As)
	} else {
		last := max(len(s.Agents), 1)
		if s.Parallel {
			last = 1
		}
		block = append(block, fmt.Sprintf(
			"until: $steps.step_%d_%d.status | IN(\"completed\", \"approved\", \"conditional\")",
			w.number+1, last), fmt.Sprintf("max: %d", s.Loop.Max))
	}
	w.writeStep(s.Title, block...)
	w.loopStep = 0
}

// endRules are the lines by which the last step of a loop that repeats leads to its end.
func (w *outlineWriter) endRules(s *Stage) []string {
	if s.Loop.Max == 0 || len(s.EndOutcomes) == 0 {
		return nil
	}
	var rules []string
	for _, outcome := range s.EndOutcomes {
		rules = append(rules, outcome+": next")
	}
	return []string{"on: {" + strings.Join(rules, ", ") + "}"}
}

func (w *outlineWriter) writeDelegate(s *Stage, title, agent string, last bool, todo []string) {
	id := w.nextID()
	block := append(todo, "id: "+id, "delegate: "+agent)
	if agent == "general" {
		prompt := w.linesPrompt(s) + " The line was /" + w.Name + " ${{ $args._raw }}"
		block = append(block, fmt.Sprintf("with: {prompt: %q}", prompt))
	} else {
		block = append(block, w.promptKeys(s, agent)...)
	}
	if last {
		block = append(block, w.endRules(s)...)
	}
	w.writeStep(title, block...)
	w.last = id
	w.uncommitted = id
}

// promptKeys are the keys of a step that tell an agent what to do.
func (w *outlineWriter) promptKeys(s *Stage, agent string) []string {
	prompt := fmt.Sprintf("prompt: %q", w.linesPrompt(s))
	var keys, with []string
	for _, input := range w.Needs[agent] {
		if input == "task" {
			with = append(with, "task: $task")
		} else {
			with = append(with, prompt)
			prompt = ""
		}
	}
	if prompt != "" {
		keys = append(keys, prompt)
	}
	if with != nil {
		keys = append(keys, "with: {"+strings.Join(with, ", ")+"}")
	}
	return keys
}

// writeParallel writes a step whose subagents work side by side.
func (w *outlineWriter) writeParallel(s *Stage, todo []string) {
	id := w.nextID()
	block := append(todo, "id: "+id, "parallel:")
	for _, agent := range s.Agents {
		name := strings.NewReplacer("-", "_", ":", "_").Replace(agent)
		block = append(block, fmt.Sprintf("  %s: {delegate: %s, %s}",
			name, agent, strings.Join(w.promptKeys(s, agent), ", ")))
	}
	block = append(block, w.endRules(s)...)
	w.writeStep(s.Title, block...)
	w.last = id
	w.uncommitted = id
}

// writeReturn returns what the last subagent said.
func (w *outlineWriter) writeReturn() {
	w.current = nil
	message := "/" + w.Name + " is done"
	if w.last != "" {
		message = "${{ $steps." + w.last + ".summary }}"
	}
	w.writeStep("Return", fmt.Sprintf("return: {message: %q}", message))
}
