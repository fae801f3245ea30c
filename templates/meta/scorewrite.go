package meta

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/lazy"
	"tercet/templates"
)

// isScore tells whether a file is a workflow in YAML.
func isScore(file string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, path.Ext(file))
}

// adoptScore makes a workflow of states a command file, and its states subagents.
func (b *Builder) adoptScore(file string, name any) (*draft, error) {
	src, err := atomicfile.ReadFile(b.Root, file)
	if err != nil {
		return nil, formats.OnFile("read", file, err)
	}

	s, err := readScore(file, src)
	if err != nil {
		return nil, err
	}
	if name := formats.As[string](name); name != "" {
		s.name = name
	}

	d := &draft{source: file, lines: []Lines{}}
	d.Name = s.name
	if !templates.ValidName(d.Name) {
		return nil, formats.Fail(formats.CodeValidationFailed, "add 'name: NAME' to it",
			"%s: expected a name for the command, got %q", file, d.Name)
	}
	command, err := b.newPath(commandFolder, d.Name)
	if err != nil {
		return nil, err
	}

	p := s.orderStates()
	for _, one := range p.list {
		for _, who := range one.workers() {
			if err := b.addWorker(d, s, who, one.hasRejection() || who != one); err != nil {
				return nil, err
			}
		}
	}

	d.files = append(d.files, File{Name: command, Data: []byte(s.commandText(p))})
	d.warnings = append(s.notes, p.allTodos()...)
	if len(d.warnings) > 0 {
		d.addFollowUp("Finish /"+d.Name, strings.Join(d.warnings, "; "))
	}
	return d, nil
}

// workers are the states in which somebody works: the state, or those side by side in it.
func (s *state) workers() []*state {
	if len(s.parallel) > 0 {
		return s.parallel
	}
	return []*state{s}
}

// hasRejection tells whether something follows from what the worker of a state rejects.
func (s *state) hasRejection() bool {
	return slices.ContainsFunc(s.transitions, func(w transition) bool { return w.when == rejects })
}

// workerName is the name of the subagent of a state.
func (s *score) workerName(one *state) string {
	return cmp.Or(one.agent, s.name+"-"+kebabName(one.name))
}

// addWorker adds the subagent file of a state. A facet that the project has is named in it, the
// text of another one stands in it.
func (b *Builder) addWorker(d *draft, s *score, one *state, judge bool) error {
	name := s.workerName(one)
	if one.agent != "" {
		if _, ok := b.Agents.Agent(one.agent); !ok {
			return formats.Fail(formats.CodeValidationFailed,
				"add a file for it, or give it facets",
				"%s:%d:%d: no subagent is named '%s'", s.file, one.pos.Line, one.pos.Col, one.agent)
		}
		return nil
	}

	file, err := b.newPath(subagentFolder, name)
	if err != nil {
		return err
	}
	role := "utility"
	if judge {
		role = "reviewer"
	}

	names := map[string][]string{}
	var body strings.Builder
	for _, kind := range facetOrder {
		var texts []string
		for _, f := range one.facets[kind] {
			known, text, err := b.findFacet(s, kind, f)
			if err != nil {
				return err
			}
			if known != "" {
				names[kind] = append(names[kind], known)
				continue
			}
			texts = append(texts, lowerHeadings(text))
		}

		if kind == "instruction" && len(texts)+len(names[kind]) == 0 {
			texts = []string{
				"Do your part of the workflow: " + clipLine(cmp.Or(one.title, one.name)) + ".",
			}
		}
		if len(texts) > 0 {
			fmt.Fprintf(&body, "\n## %s\n\n%s\n", capitalize(kind), strings.Join(texts, "\n\n"))
		}
	}

	var head strings.Builder
	fmt.Fprintf(&head, "---\nname: %s\ndescription: %s\nrole: %s\n", name,
		quoteYAML(cmp.Or(one.title, "Works in state "+one.name)), role)
	if len(names) > 0 {
		head.WriteString("facets:\n")
		for _, kind := range facetOrder {
			list := names[kind]
			switch {
			case len(list) == 0:
			case kind == "policy" || kind == "knowledge":
				fmt.Fprintf(&head, "  %s: [%s]\n", kind, strings.Join(list, ", "))
			default:
				fmt.Fprintf(&head, "  %s: %s\n", kind, list[0])
			}
		}
	}

	head.WriteString("returns: {artifacts: none}\n---\n")
	d.files = append(d.files, File{Name: file, Data: []byte(head.String() + body.String())})
	d.newAgents = append(d.newAgents, name)
	return nil
}

// heading is a line that would begin a section of the file.
var heading = lazy.Regexp(`(?m)^(#{1,3}) `)

// lowerHeadings moves the headings of a text below those of the file.
func lowerHeadings(text string) string {
	return heading().ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "$1### ")
}

func capitalize(kind string) string {
	return strings.ToUpper(kind[:1]) + kind[1:]
}

func clipLine(text string) string {
	return formats.Clip(strings.Join(strings.Fields(text), " "), maxScoreLine)
}

// maxScoreLine bounds a description, in bytes.
const maxScoreLine = 110

// quoteYAML is a text as one line of YAML.
func quoteYAML(text string) string {
	data, err := json.Marshal(clipLine(text))
	if err != nil { // which a text never is
		return `""`
	}
	return string(data)
}

// plan is the order of the steps, and what each leads back to.
type plan struct {
	list            []*state
	onlyOnRejection map[*state]bool     // run only when something was rejected
	back            map[*state][]string // ids to run again
	maxRounds       map[*state]int
	todos           map[*state][]string // what is left to do, by state
	leftOut         []string            // what is left to do of states that are left out
}

// orderStates follows what passes from the first state on. A state that is reached only by a
// rejection stands before the one to which it leads.
func (s *score) orderStates() *plan {
	p := &plan{
		onlyOnRejection: map[*state]bool{},
		back:            map[*state][]string{},
		maxRounds:       map[*state]int{},
		todos:           map[*state][]string{},
	}

	var chain []*state
	for at := s.find(s.initial); at != nil && !slices.Contains(chain, at); {
		chain = append(chain, at)
		at = s.nextState(at, chain, p)
	}

	before := map[*state][]*state{}
	for _, one := range chain {
		for _, w := range one.transitions {
			s.addRejection(p, chain, before, one, w)
		}
	}

	for _, one := range chain {
		p.list = append(p.list, before[one]...)
		p.list = append(p.list, one)
	}

	for _, one := range s.states {
		if !slices.Contains(p.list, one) {
			p.leftOut = append(p.leftOut,
				fmt.Sprintf("%s:%d: state '%s' is left out: no way leads to it that "+
					"can be translated", s.file, one.pos.Line, one.name))
		}
	}
	return p
}

// nextState is the state that follows one that passes; nil: the end.
func (s *score) nextState(one *state, chain []*state, p *plan) *state {
	forward := ""
	for _, w := range one.transitions {
		if w.when != passes && w.when != always {
			continue
		}
		switch {
		case forward == "":
			forward = w.to
		case forward != w.to:
			p.addTodo(one, w, "another way for what passes stands above")
		}
	}

	next := s.find(forward)
	switch {
	case forward == "" && len(one.transitions) > 0: // only what it rejects leads somewhere
		i := slices.Index(s.states, one)
		if i+1 < len(s.states) && !slices.Contains(chain, s.states[i+1]) {
			return s.states[i+1]
		}
	case next != nil && slices.Contains(chain, next):
		p.todos[one] = append(p.todos[one], "what passes leads back to '"+forward+
			"': use until: with a bound")
	}
	return next
}

// addTodo notes a transition that is left to do.
func (p *plan) addTodo(one *state, w transition, why string) {
	p.todos[one] = append(p.todos[one], fmt.Sprintf("line %d: when %s, go to %s: %s", w.pos.Line,
		cmp.Or(clipLine(w.text), "nothing else fits"), w.to, why))
}

// addRejection translates a transition for what is rejected.
func (s *score) addRejection(
	p *plan, chain []*state, before map[*state][]*state, one *state, w transition,
) {
	at := slices.Index(chain, one)
	switch {
	case w.when == unclear:
		p.addTodo(one, w, "say it as a verdict, or set a value and use when:")
		return
	case w.when != rejects || s.find(w.to) == nil && slices.Contains(abortWords, snakeName(w.to)):
		return // what passes is the order, and a rejection that nothing takes up ends the run
	case p.back[one] != nil:
		p.addTodo(one, w, "another way for what is rejected stands above")
		return
	}

	to := s.find(w.to)
	var again []string
	if to != nil && !slices.Contains(chain, to) {
		target := s.find(s.passTarget(to))
		if target == nil || !slices.Contains(chain, target) {
			p.addTodo(one, w, "it does not lead back")
			return
		}
		if !p.onlyOnRejection[to] {
			before[target] = append(before[target], to)
		}
		p.onlyOnRejection[to] = true
		again = append(again, snakeName(to.name))
		to = target
	}

	from := slices.Index(chain, to)
	switch {
	case from < 0 || from > at:
		p.addTodo(one, w, "a rejection leads on: use goto")
		return
	case from == at && again == nil:
		again = []string{snakeName(one.name)}
	}

	for _, step := range chain[from:at] {
		again = append(again, snakeName(step.name))
	}
	p.back[one] = again
	p.maxRounds[one] = cmp.Or(w.max, usualRounds)
}

// usualRounds is how often a rejection leads back where the file does not say it.
const usualRounds = 3

// passTarget is where a state leads that passes.
func (s *score) passTarget(one *state) string {
	for _, w := range one.transitions {
		if w.when == passes || w.when == always {
			return w.to
		}
	}
	return ""
}

// allTodos is all that is left to do, for the report.
func (p *plan) allTodos() []string {
	out := slices.Clone(p.leftOut)
	for _, one := range p.list {
		for _, text := range p.todos[one] {
			out = append(out, "state '"+one.name+"': "+text)
		}
	}
	return out
}

// mergeExpr says who of those side by side must pass. One that rejects leads back, so all must
// approve; only where all have to reject is one approval enough.
func (s *state) mergeExpr(p *plan) string {
	everyone := false
	one := false
	for _, w := range s.transitions {
		everyone = everyone || w.all && w.when == passes || w.any && w.when == rejects
		one = one || w.any && w.when == passes || w.all && w.when == rejects
	}

	switch {
	case everyone && one:
		p.todos[s] = append(p.todos[s],
			"all and any disagree about what is between them: all must approve")
	case one:
		return "any(approved)"
	}
	return "all(approved)"
}

// commandText writes the command file.
func (s *score) commandText(p *plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ncommand: %s\ndescription: %s\n", s.name,
		quoteYAML(cmp.Or(s.purpose, "Adopted from "+s.file)))
	b.WriteString(
		"arguments:\n  - {name: request, type: text, required: true, description: what to do}\n",
	)
	if s.steps > 0 {
		fmt.Fprintf(&b, "limits: {steps: %d}\n", s.stepLimit())
	}
	fmt.Fprintf(&b,
		"---\n\nInput: `$ARGUMENTS` (`/%s <request>`)\n\n## Workflow Execution\n", s.name)
	previous := ""
	for i, one := range p.list {
		fmt.Fprintf(&b, "\n### Step %d: %s\n\n```yaml step\n", i+1, headingOf(one))
		merge := ""
		if len(one.parallel) > 0 {
			merge = one.mergeExpr(p)
		}

		for _, text := range p.todos[one] {
			b.WriteString(templates.TodoMark + clipLine(text) + "\n")
		}
		fmt.Fprintf(&b, "id: %s\n", snakeName(one.name))

		if p.onlyOnRejection[one] {
			b.WriteString("when: $feedback != null\n")
		}
		with := "{request: $args.request}"
		if previous != "" {
			with = "{request: $args.request, previous: $steps." + previous + ".summary}"
		}

		if merge == "" {
			fmt.Fprintf(&b, "delegate: %s\nwith: %s\n", s.workerName(one), with)
		} else {
			b.WriteString("parallel:\n")
			for _, inner := range one.parallel {
				fmt.Fprintf(&b,
					"  %s: {delegate: %s, with: %s}\n",
					snakeName(inner.name), s.workerName(inner), with)
			}
			fmt.Fprintf(&b, "merge: %s\n", merge)
		}

		if again := p.back[one]; again != nil {
			fmt.Fprintf(&b,
				"on: {rejected: {redo: [%s], max: %d}}\n",
				strings.Join(again, ", "), p.maxRounds[one])
		}

		b.WriteString("```\n")
		if !p.onlyOnRejection[one] {
			previous = snakeName(one.name)
		}
	}

	fmt.Fprintf(&b, "\n### Step %d: Return\n\n```yaml step\n", len(p.list)+1)
	for _, text := range p.leftOut {
		b.WriteString(templates.TodoMark + clipLine(text) + "\n")
	}
	fmt.Fprintf(&b, "return: ${{ $steps.%s.summary }}\n```\n", previous)
	return b.String()
}

// stepLimit is the bound of the workflow in steps of tercet, which counts those side by side too.
func (s *score) stepLimit() int {
	most := 0
	for _, one := range s.states {
		most = max(most, len(one.parallel))
	}
	return s.steps*(1+most) + 1 // the last one returns
}

// headingOf is the heading of a state's step.
func headingOf(one *state) string {
	title := strings.Join(strings.FieldsFunc(one.name, func(c rune) bool {
		return c == '_' || c == '-' || c == ' '
	}), " ")
	title = formats.Clip(strings.ToValidUTF8(title, ""), maxScoreWord)
	return strings.ToUpper(title[:1]) + title[1:]
}
