package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
)

// Expand rewrites every plain sentence of a file as the block that it means, and returns the new
// text. Without plain steps the text stays as it is. What a sentence adds to a declaration (the
// preflight, allowed statuses, a lower bound) goes into that declaration. A sentence that only
// repeats a declaration stays as prose.
func Expand(f *syntax.File, p *Program) []byte {
	e := &expansion{
		file:    f,
		prog:    p,
		steps:   map[syntax.Pos]*syntax.Step{},
		number:  map[*syntax.Step]string{},
		lines:   strings.Split(string(f.Src), "\n"),
		insert:  map[int][]string{},
		replace: map[int][]string{},
	}
	e.collect(p.File.Steps)
	e.collect(p.File.Errors)
	e.assignNumbers(p.File.Steps, "")

	found := false
	syntax.Walk(f, func(n any) bool {
		if s, ok := n.(*syntax.Step); ok && s.Sentence != nil && s.Number != "" {
			found = true
			e.writeStep(e.steps[s.Pos])
		}
		return true
	})

	if !found {
		return f.Src
	}
	if !f.Literate {
		e.writeDeclarations()
	}
	return e.text()
}

// expansion gathers changes by line, counted from 1.
type expansion struct {
	file    *syntax.File // as it was parsed
	prog    *Program
	steps   map[syntax.Pos]*syntax.Step // as they run
	number  map[*syntax.Step]string     // without those that need no block
	lines   []string
	insert  map[int][]string // insertAfter the line
	replace map[int][]string
}

func (e *expansion) collect(list []*syntax.Step) {
	for _, s := range list {
		e.steps[s.Pos] = s
		if loop, ok := s.Action.(*syntax.Foreach); ok && loop.Delegate == nil {
			e.collect(s.Body)
		}
	}
}

// assignNumbers counts the steps that are left, each below the one around it.
func (e *expansion) assignNumbers(list []*syntax.Step, above string) {
	for i, s := range list {
		e.number[s] = above + strconv.Itoa(i+1)
		e.assignNumbers(s.Body, e.number[s]+".")
	}
}

// writeStep writes one sentence as a heading with its block; nothing for one that has no step of
// its own.
func (e *expansion) writeStep(s *syntax.Step) {
	if s == nil {
		return
	}
	block := append(append([]string{"```yaml step"}, e.blockKeys(s)...), "```")
	if e.file.Literate {
		e.insert[s.Pos.Line] = append([]string{""}, block...)
		return
	}
	level := "###" + strings.Repeat("#", min(strings.Count(s.Number, "."), 3))
	e.replace[s.Pos.Line] = append(
		[]string{"", level + " Step " + e.number[s] + ": " + s.Title, ""},
		append(block, "")...,
	)
}

// blockKeys are the lines of the block of a step.
func (e *expansion) blockKeys(s *syntax.Step) []string {
	var out []string
	if e.isReferred(s.ID.Text) {
		out = append(out, "id: "+s.ID.Text)
	}
	if s.When != nil {
		out = append(out, "when: "+scalar(s.When.Src, true))
	}

	switch a := s.Action.(type) {
	case *syntax.Delegate:
		out = append(out, delegationKeys(a, s.With)...)
	case *syntax.Parallel:
		out = append(out, "parallel:")
		for _, child := range s.Body {
			one := delegationKeys(child.Delegation(), child.With)
			out = append(out, "  "+child.ID.Text+": {"+strings.Join(one, ", ")+"}")
		}
	case *syntax.Status:
		out = append(out, "status: "+literalText(a.To))
	case *syntax.Check:
		out = append(out, "check: {document: "+a.Document.Text+"}")
	case *syntax.Foreach:
		out = append(out, "foreach: "+scalar(a.In.Src, true), "as: "+a.As.Text)
		if a.Parallel > 0 {
			out = append(out, "max_parallel: "+strconv.Itoa(a.Parallel))
		}
		if s.Sentence.Agent.Text != "" {
			out = append(out, delegationKeys(s.Body[0].Delegation(), s.Body[0].With)...)
		}
	case *syntax.Fail:
		out = append(out, "fail: "+scalar(a.Message.String(), false))
	}

	if len(s.On) > 0 {
		out = append(out, "on: "+rulesText(s.On))
	}

	if s.Return != nil {
		out = append(out, "return: "+scalar(s.Return.Message.String(), false))
	}
	return out
}

// rulesText are those that sentences give: what is done again, and what leads on.
func rulesText(list []syntax.Rule) string {
	var out []string
	for _, r := range list {
		var targets []string
		for _, t := range r.Targets {
			if t.Kind == syntax.ToNext {
				targets = append(targets, "next")
				continue
			}
			targets = append(targets, fmt.Sprintf("{redo: [%s], max: %d}", t.Steps[0].Text, t.Max))
		}
		text := strings.Join(targets, ", ")
		if len(targets) > 1 {
			text = "[" + text + "]"
		}
		out = append(out, r.Status.Text+": "+text)
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// delegationKeys are the keys of a call of a subagent.
func delegationKeys(d *syntax.Delegate, input []syntax.Field) []string {
	out := []string{"delegate: " + d.Agent.Text}
	if d.Pick != nil && d.Agent.Text == "" { // else 'routing' chooses
		var names []string
		for _, one := range d.Among {
			names = append(names, one.Text)
		}
		out = []string{
			"delegate: " + strconv.Quote("${{ "+d.Pick.Parts[0].Expr.Src+" }}"),
			"among: [" + strings.Join(names, ", ") + "]",
		}
	}

	var with []string
	for _, f := range input {
		value := fmt.Sprint(f.Value.Lit)
		if f.Value.Expr != nil {
			value = scalar(f.Value.Expr.Src, true)
		}
		with = append(with, f.Key.Text+": "+value)
	}
	if with != nil {
		out = append(out, "with: {"+strings.Join(with, ", ")+"}")
	}
	return out
}

// isReferred reports whether another step refers to an id.
func (e *expansion) isReferred(id string) bool {
	found := false
	for _, s := range e.steps {
		syntax.Walk([]any{s.On, s.Return}, func(n any) bool {
			switch n := n.(type) {
			case *syntax.Target:
				found = found ||
					slices.ContainsFunc(n.Steps, func(w syntax.Word) bool {
						return w.Text == id
					})
			case *syntax.Expr:
				found = found || slices.Contains(e.prog.Reads(n).Steps, id)
			}
			return true
		})
	}
	return found
}

// scalar writes a text so that YAML reads it as one; jq may stand bare when it begins with $ and
// means nothing to YAML.
func scalar(s string, jq bool) string {
	plain := s != "" && !strings.ContainsAny(s, ":#{}[],&*!|>'\"%@`") && strings.TrimSpace(s) == s
	first := s[:min(1, len(s))]
	if plain && (jq || first >= "A" && first <= "Z" || first >= "a" && first <= "z") {
		return s
	}
	return strconv.Quote(s)
}

// writeDeclarations writes what the sentences of the plain form add to the frontmatter and to the
// block `yaml args`.
func (e *expansion) writeDeclarations() {
	front := &e.file.Front
	if during, _ := e.prog.During(); during != "" && front.During == nil {
		e.insertAfter(
			cmp.Or(front.Description.Pos.Line, front.Pos.Line), "during: "+during.String(),
		)
	}
	for i, a := range front.Arguments {
		if i < len(e.prog.Args) && a.Min == nil && e.prog.Args[i].Min != nil {
			e.addMinimum(a, *e.prog.Args[i].Min)
		}
	}
	e.addAllow()
}

// addAllow writes the statuses from which the command starts into the block `yaml args`, where
// `during` does not say the same.
func (e *expansion) addAllow() {
	args := &e.file.Args
	if e.prog.Allow == nil || args.Allow != nil {
		return
	}

	during, _ := e.prog.During()
	if during != "" && slices.Equal(e.prog.Allow, formats.MovesInto(during)) {
		return
	}
	allow := "allow: [" + joinWords(e.prog.Allow) + "]"
	block := []string{"", "```yaml args", allow, "```", ""}
	at := 0
	for _, s := range e.file.Sentences { // those of Argument Parsing
		at = max(at, s.Pos.Line)
	}

	at = cmp.Or(at, e.headingLine("argument parsing"))
	switch {
	case !args.Pos.IsZero():
		e.insertAfter(args.Pos.Line, allow)
	case at > 0:
		e.insertAfter(at, block...)
	default:
		e.insertAfter(
			e.headingLine("workflow execution")-1,
			append([]string{"", "## Argument Parsing"}, block...)...,
		)
	}
}

// insertAfter puts lines after line n.
func (e *expansion) insertAfter(n int, lines ...string) {
	e.insert[n] = append(e.insert[n], lines...)
}

// headingLine is the line of the section of this name, 0 without one.
func (e *expansion) headingLine(name string) int {
	return 1 + slices.IndexFunc(e.lines, func(line string) bool {
		rest, ok := strings.CutPrefix(line, "## ")
		return ok && strings.EqualFold(strings.TrimSpace(rest), name)
	})
}

// addMinimum adds min to the declaration of an argument.
func (e *expansion) addMinimum(a syntax.Argument, low float64) {
	n := a.Name.Pos.Line
	key := "min: " + strconv.FormatFloat(low, 'f', -1, 64)
	line := e.lines[n-1]
	col := a.Pos.Col
	if a.Pos.Line == n && col <= len(line) && line[col-1] == '{' {
		e.replace[n] = []string{line[:col] + key + ", " + line[col:]}
		return
	}
	e.insertAfter(n, strings.Repeat(" ", max(col-1, 0))+key)
}

// text puts the changes together. Where changes meet, several blank lines become one.
func (e *expansion) text() []byte {
	var out []string
	add := func(merge bool, lines ...string) {
		for _, line := range lines {
			if !merge || strings.TrimSpace(line) != "" || len(out) == 0 ||
				strings.TrimSpace(out[len(out)-1]) != "" {
				out = append(out, line)
			}
		}
	}

	for i, line := range e.lines {
		if changed, ok := e.replace[i+1]; ok {
			add(true, changed...)
		} else {
			add(e.replace[i] != nil, line)
		}
		add(true, e.insert[i+1]...)
	}
	return []byte(strings.Join(out, "\n"))
}
