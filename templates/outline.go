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
	Beside   bool     // side by side
	Gate     bool     // it asks the user
	Document string   // profile of the document that it checks; empty: none
	Status   string   // to which it sets the task; empty: none
	During   string   // status of the task while the whole command runs; empty: not said here
	Commit   bool     // it commits
	Nothing  bool     // tercet does it anyway, such as reading the arguments
	Loop     Loop
	// Goes are the outcomes with which the last subagent of a loop that repeats leads to its end.
	Goes []string
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
	w := outlineWriter{Outline: o, inner: -1}
	for i := range o.Stages {
		w.stage(&o.Stages[i])
	}
	w.finish()
	more := parts.Values{}
	if o.During != "" {
		more["during"] = o.During
	}
	out := head(o.Name, scalar(purpose), o.Args, more) + "\n\n" +
		"A draft of " + prose(cleanLine(o.Source)) +
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

	lines   []string
	stageOf *Stage // whose steps are written; nil behind the last one
	number  int
	inner   int    // number of the last step of the loop that is written; -1 outside of loops
	last    string // id of the last step that a subagent did; empty: none
	made    string // id of the last step whose documents are not committed yet
}

// step writes one step with the lines of its block.
func (w *outlineWriter) step(title string, block ...string) {
	var number string
	mark := "###"
	if w.inner < 0 {
		w.number++
		number = strconv.Itoa(w.number)
	} else {
		w.inner++
		number = fmt.Sprintf("%d.%d", w.number, w.inner)
		mark = "####"
	}
	title = shorten(plainLine(cleanLine(title), "&<>`*[]\\~{}$@#|!:."), 80)
	title = cmp.Or(title, "Go on")
	w.lines = append(w.lines, "", mark+" Step "+number+": "+title, "", "```yaml step")
	if w.stageOf != nil {
		w.stageOf.Steps = append(w.stageOf.Steps, "step "+number+", "+does(block))
	}
	w.lines = append(w.lines, block...)
	w.lines = append(w.lines, "```")
}

// does is the line of a block that says what the step does.
func does(block []string) string {
	for _, line := range block {
		key, _, _ := strings.Cut(line, ":")
		switch key {
		case "delegate", "parallel", "check", "gate", "status", "foreach", "until", "return":
			return strings.TrimSuffix(line, ":")
		}
	}
	return ""
}

// stage writes the steps of one stage.
func (w *outlineWriter) stage(s *Stage) {
	s.Steps = nil
	if s.Nothing {
		return
	}
	w.stageOf = s
	var todo []string
	for _, one := range s.Todo {
		todo = append(todo, TodoMark+plainLine(one, "`!@$"))
	}
	before := w.number
	loops := s.Loop != Loop{}
	if loops {
		w.loop(s, todo)
		todo = nil
	}
	switch {
	case len(s.Agents) > 1 && s.Beside:
		w.beside(s, todo)
	case len(s.Agents) > 0:
		for i, agent := range s.Agents {
			title := s.Title
			if i > 0 {
				title = "Run " + agent
			}
			w.delegate(s, title, agent, i == len(s.Agents)-1, todo)
			todo = nil
		}
	case s.Document == "" && s.Status == "" && !s.Commit && !s.Gate:
		w.delegate(s, s.Title, "general", true, todo)
	}
	if w.number > before {
		todo = nil
	}
	if loops {
		w.inner = -1
		w.last = fmt.Sprintf("step_%d", w.number)
		w.made = w.last
	}
	if s.Document != "" && w.last != "" {
		w.step("Check the "+s.Document, append(todo, "check: {document: "+s.Document+"}",
			"on: {rejected: {redo: ["+w.last+"], max: 1}}")...)
		todo = nil
	}
	if s.Gate {
		w.step("Ask about "+s.Title, append(todo,
			fmt.Sprintf("id: step_%d", w.number+1),
			fmt.Sprintf("gate: %q", plainLine(shorten(cleanLine(s.Title), 80), "`!@$\"\\{}")+"?"),
			"choices: {approve: next, reject: fail}")...)
		todo = nil
	}
	if s.Status != "" {
		w.step("Mark the task as "+s.Status, append(todo, "status: "+s.Status)...)
		todo = nil
	}
	if s.Commit && w.made != "" {
		w.step("Commit", append(todo,
			`when: $run.repo_state != "none"`, "delegate: git-workflow-manager",
			"with: {action: commit, files: $steps."+w.made+".artifacts, message: "+
				fmt.Sprintf("%q", w.Name+": ${{ $steps."+w.made+".summary }}")+"}")...)
		w.made = ""
	}
}

// where says which lines of the prompt a step does.
func (w *outlineWriter) where(s *Stage) string {
	text := fmt.Sprintf("Do lines %d to %d of %s, and nothing else of it.", s.From, s.To, w.Source)
	if s.Loop.Each != "" {
		text += " Do them for this " + strings.ReplaceAll(s.Loop.As, "_", " ") + ": ${{ $" +
			s.Loop.As + " }}"
	}
	return text
}

// next is the id of the next step.
func (w *outlineWriter) next() string {
	if w.inner < 0 {
		return fmt.Sprintf("step_%d", w.number+1)
	}
	return fmt.Sprintf("step_%d_%d", w.number, w.inner+1)
}

// loop writes the step whose body the subagents of the stage are.
func (w *outlineWriter) loop(s *Stage, todo []string) {
	block := append(todo, "id: "+w.next())
	if s.Loop.Each != "" {
		block = append(block, "foreach: "+quoted(s.Loop.Each), "as: "+s.Loop.As)
	} else {
		last := max(len(s.Agents), 1)
		if s.Beside {
			last = 1
		}
		block = append(block, fmt.Sprintf(
			"until: $steps.step_%d_%d.status | IN(\"completed\", \"approved\", \"conditional\")",
			w.number+1, last), fmt.Sprintf("max: %d", s.Loop.Max))
	}
	w.step(s.Title, block...)
	w.inner = 0
}

// goesOn are the lines by which the last step of a loop that repeats leads to its end.
func (w *outlineWriter) goesOn(s *Stage) []string {
	if s.Loop.Max == 0 || len(s.Goes) == 0 {
		return nil
	}
	var rules []string
	for _, outcome := range s.Goes {
		rules = append(rules, outcome+": next")
	}
	return []string{"on: {" + strings.Join(rules, ", ") + "}"}
}

func (w *outlineWriter) delegate(s *Stage, title, agent string, last bool, todo []string) {
	id := w.next()
	block := append(todo, "id: "+id, "delegate: "+agent)
	if agent == "general" {
		prompt := w.where(s) + " The line was /" + w.Name + " ${{ $args._raw }}"
		block = append(block, fmt.Sprintf("with: {prompt: %q}", prompt))
	} else {
		block = append(block, w.told(s, agent)...)
	}
	if last {
		block = append(block, w.goesOn(s)...)
	}
	w.step(title, block...)
	w.last = id
	w.made = id
}

// told are the keys of a step that tell an agent what to do.
func (w *outlineWriter) told(s *Stage, agent string) []string {
	prompt := fmt.Sprintf("prompt: %q", w.where(s))
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

// beside writes a step whose subagents work side by side.
func (w *outlineWriter) beside(s *Stage, todo []string) {
	id := w.next()
	block := append(todo, "id: "+id, "parallel:")
	for _, agent := range s.Agents {
		name := strings.NewReplacer("-", "_", ":", "_").Replace(agent)
		block = append(block, fmt.Sprintf("  %s: {delegate: %s, %s}",
			name, agent, strings.Join(w.told(s, agent), ", ")))
	}
	block = append(block, w.goesOn(s)...)
	w.step(s.Title, block...)
	w.last = id
	w.made = id
}

// finish returns what the last subagent said.
func (w *outlineWriter) finish() {
	w.stageOf = nil
	message := "/" + w.Name + " is done"
	if w.last != "" {
		message = "${{ $steps." + w.last + ".summary }}"
	}
	w.step("Return", fmt.Sprintf("return: {message: %q}", message))
}
