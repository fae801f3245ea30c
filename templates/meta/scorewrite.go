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
	command, err := b.place(commandFolder, d.Name)
	if err != nil {
		return nil, err
	}

	p := s.order()
	for _, one := range p.list {
		for _, who := range one.workers() {
			if err := b.addWorker(d, s, who, one.judges() || who != one); err != nil {
				return nil, err
			}
		}
	}

	d.files = append(d.files, File{Name: command, Data: []byte(s.command(p))})
	d.warnings = append(s.notes, p.todo()...)
	if len(d.warnings) > 0 {
		d.addFollowUp("Finish /"+d.Name, strings.Join(d.warnings, "; "))
	}
	return d, nil
}

// workers are the states in which somebody works: the state, or those side by side in it.
func (s *state) workers() []*state {
	if len(s.beside) > 0 {
		return s.beside
	}
	return []*state{s}
}

// judges tells whether something follows from what the worker of a state rejects.
func (s *state) judges() bool {
	return slices.ContainsFunc(s.ways, func(w way) bool { return w.when == rejects })
}

// worker is the name of the subagent of a state.
func (s *score) worker(one *state) string {
	return cmp.Or(one.agent, s.name+"-"+dashed(one.name))
}

// addWorker adds the subagent file of a state. A facet that the project has is named in it, the
// text of another one stands in it.
func (b *Builder) addWorker(d *draft, s *score, one *state, judge bool) error {
	name := s.worker(one)
	if one.agent != "" {
		if _, ok := b.Agents.Agent(one.agent); !ok {
			return formats.Fail(formats.CodeValidationFailed,
				"add a file for it, or give it facets",
				"%s:%d:%d: no subagent is named '%s'", s.file, one.pos.Line, one.pos.Col, one.agent)
		}
		return nil
	}

	file, err := b.place(subagentFolder, name)
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
			known, text, err := b.facet(s, kind, f)
			if err != nil {
				return err
			}
			if known != "" {
				names[kind] = append(names[kind], known)
				continue
			}
			texts = append(texts, lowered(text))
		}

		if kind == "instruction" && len(texts)+len(names[kind]) == 0 {
			texts = []string{
				"Do your part of the workflow: " + oneLineOf(cmp.Or(one.title, one.name)) + ".",
			}
		}
		if len(texts) > 0 {
			fmt.Fprintf(&body, "\n## %s\n\n%s\n", titled1(kind), strings.Join(texts, "\n\n"))
		}
	}

	var head strings.Builder
	fmt.Fprintf(&head, "---\nname: %s\ndescription: %s\nrole: %s\n", name,
		quotedYAML(cmp.Or(one.title, "Works in state "+one.name)), role)
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
	d.fresh = append(d.fresh, name)
	return nil
}

// heading is a line that would begin a section of the file.
var heading = lazy.Regexp(`(?m)^(#{1,3}) `)

// lowered moves the headings of a text below those of the file.
func lowered(text string) string {
	return heading().ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "$1### ")
}

func titled1(kind string) string {
	return strings.ToUpper(kind[:1]) + kind[1:]
}

func oneLineOf(text string) string {
	return formats.Clip(strings.Join(strings.Fields(text), " "), maxScoreLine)
}

// maxScoreLine bounds a description, in bytes.
const maxScoreLine = 110

// quotedYAML is a text as one line of YAML.
func quotedYAML(text string) string {
	data, err := json.Marshal(oneLineOf(text))
	if err != nil { // which a text never is
		return `""`
	}
	return string(data)
}

// plan is the order of the steps, and what each leads back to.
type plan struct {
	list  []*state
	fixes map[*state]bool     // run only when something was rejected
	back  map[*state][]string // ids to run again
	most  map[*state]int
	left  map[*state][]string // what is left to do, by state
	rest  []string            // what is left to do of states that are left out
}

// order follows what passes from the first state on. A state that is reached only by a rejection
// stands before the one to which it leads.
func (s *score) order() *plan {
	p := &plan{
		fixes: map[*state]bool{},
		back:  map[*state][]string{},
		most:  map[*state]int{},
		left:  map[*state][]string{},
	}

	var chain []*state
	for at := s.find(s.initial); at != nil && !slices.Contains(chain, at); {
		chain = append(chain, at)
		at = s.after(at, chain, p)
	}

	before := map[*state][]*state{}
	for _, one := range chain {
		for _, w := range one.ways {
			s.backWay(p, chain, before, one, w)
		}
	}

	for _, one := range chain {
		p.list = append(p.list, before[one]...)
		p.list = append(p.list, one)
	}

	for _, one := range s.states {
		if !slices.Contains(p.list, one) {
			p.rest = append(p.rest,
				fmt.Sprintf("%s:%d: state '%s' is left out: no way leads to it that "+
					"can be translated", s.file, one.pos.Line, one.name))
		}
	}
	return p
}

// after is the state that follows one that passes; nil: the end.
func (s *score) after(one *state, chain []*state, p *plan) *state {
	forward := ""
	for _, w := range one.ways {
		if w.when != passes && w.when != always {
			continue
		}
		switch {
		case forward == "":
			forward = w.to
		case forward != w.to:
			p.add(one, w, "another way for what passes stands above")
		}
	}

	next := s.find(forward)
	switch {
	case forward == "" && len(one.ways) > 0: // only what it rejects leads somewhere
		i := slices.Index(s.states, one)
		if i+1 < len(s.states) && !slices.Contains(chain, s.states[i+1]) {
			return s.states[i+1]
		}
	case next != nil && slices.Contains(chain, next):
		p.left[one] = append(p.left[one], "what passes leads back to '"+forward+
			"': use until: with a bound")
	}
	return next
}

// add notes a transition that is left to do.
func (p *plan) add(one *state, w way, why string) {
	p.left[one] = append(p.left[one], fmt.Sprintf("line %d: when %s, go to %s: %s", w.pos.Line,
		cmp.Or(oneLineOf(w.text), "nothing else fits"), w.to, why))
}

// backWay translates a transition for what is rejected.
func (s *score) backWay(p *plan, chain []*state, before map[*state][]*state, one *state, w way) {
	at := slices.Index(chain, one)
	switch {
	case w.when == unclear:
		p.add(one, w, "say it as a verdict, or set a value and use when:")
		return
	case w.when != rejects || s.find(w.to) == nil && slices.Contains(aborting, ident(w.to)):
		return // what passes is the order, and a rejection that nothing takes up ends the run
	case p.back[one] != nil:
		p.add(one, w, "another way for what is rejected stands above")
		return
	}

	to := s.find(w.to)
	var again []string
	if to != nil && !slices.Contains(chain, to) {
		target := s.find(s.forward(to))
		if target == nil || !slices.Contains(chain, target) {
			p.add(one, w, "it does not lead back")
			return
		}
		if !p.fixes[to] {
			before[target] = append(before[target], to)
		}
		p.fixes[to] = true
		again = append(again, ident(to.name))
		to = target
	}

	from := slices.Index(chain, to)
	switch {
	case from < 0 || from > at:
		p.add(one, w, "a rejection leads on: use goto")
		return
	case from == at && again == nil:
		again = []string{ident(one.name)}
	}

	for _, step := range chain[from:at] {
		again = append(again, ident(step.name))
	}
	p.back[one] = again
	p.most[one] = cmp.Or(w.max, usualRounds)
}

// usualRounds is how often a rejection leads back where the file does not say it.
const usualRounds = 3

// forward is where a state leads that passes.
func (s *score) forward(one *state) string {
	for _, w := range one.ways {
		if w.when == passes || w.when == always {
			return w.to
		}
	}
	return ""
}

// todo is all that is left to do, for the report.
func (p *plan) todo() []string {
	out := slices.Clone(p.rest)
	for _, one := range p.list {
		for _, text := range p.left[one] {
			out = append(out, "state '"+one.name+"': "+text)
		}
	}
	return out
}

// merge says who of those side by side must pass. One that rejects leads back, so all must approve;
// only where all have to reject is one approval enough.
func (s *state) merge(p *plan) string {
	everyone := false
	one := false
	for _, w := range s.ways {
		everyone = everyone || w.all && w.when == passes || w.any && w.when == rejects
		one = one || w.any && w.when == passes || w.all && w.when == rejects
	}

	switch {
	case everyone && one:
		p.left[s] = append(p.left[s],
			"all and any disagree about what is between them: all must approve")
	case one:
		return "any(approved)"
	}
	return "all(approved)"
}

// command writes the command file.
func (s *score) command(p *plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ncommand: %s\ndescription: %s\n", s.name,
		quotedYAML(cmp.Or(s.purpose, "Adopted from "+s.file)))
	b.WriteString(
		"arguments:\n  - {name: request, type: text, required: true, description: what to do}\n",
	)
	if s.steps > 0 {
		fmt.Fprintf(&b, "limits: {steps: %d}\n", s.bound())
	}
	fmt.Fprintf(&b,
		"---\n\nInput: `$ARGUMENTS` (`/%s <request>`)\n\n## Workflow Execution\n", s.name)
	previous := ""
	for i, one := range p.list {
		fmt.Fprintf(&b, "\n### Step %d: %s\n\n```yaml step\n", i+1, headingOf(one))
		merge := ""
		if len(one.beside) > 0 {
			merge = one.merge(p)
		}

		for _, text := range p.left[one] {
			b.WriteString(templates.TodoMark + oneLineOf(text) + "\n")
		}
		fmt.Fprintf(&b, "id: %s\n", ident(one.name))

		if p.fixes[one] {
			b.WriteString("when: $feedback != null\n")
		}
		with := "{request: $args.request}"
		if previous != "" {
			with = "{request: $args.request, previous: $steps." + previous + ".summary}"
		}

		if merge == "" {
			fmt.Fprintf(&b, "delegate: %s\nwith: %s\n", s.worker(one), with)
		} else {
			b.WriteString("parallel:\n")
			for _, inner := range one.beside {
				fmt.Fprintf(&b,
					"  %s: {delegate: %s, with: %s}\n", ident(inner.name), s.worker(inner), with)
			}
			fmt.Fprintf(&b, "merge: %s\n", merge)
		}

		if again := p.back[one]; again != nil {
			fmt.Fprintf(&b,
				"on: {rejected: {redo: [%s], max: %d}}\n", strings.Join(again, ", "), p.most[one])
		}

		b.WriteString("```\n")
		if !p.fixes[one] {
			previous = ident(one.name)
		}
	}

	fmt.Fprintf(&b, "\n### Step %d: Return\n\n```yaml step\n", len(p.list)+1)
	for _, text := range p.rest {
		b.WriteString(templates.TodoMark + oneLineOf(text) + "\n")
	}
	fmt.Fprintf(&b, "return: ${{ $steps.%s.summary }}\n```\n", previous)
	return b.String()
}

// bound is the bound of the workflow in steps of tercet, which counts those side by side too.
func (s *score) bound() int {
	most := 0
	for _, one := range s.states {
		most = max(most, len(one.beside))
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
