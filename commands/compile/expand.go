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
		lines:   strings.Split(string(f.Src), "\n"),
		insert:  map[int][]string{},
		replace: map[int][]string{},
	}
	e.collect(p.File.Steps)
	e.collect(p.File.Errors)
	found := false
	syntax.Walk(f, func(n any) bool {
		if s, ok := n.(*syntax.Step); ok && s.Sentence != nil {
			found = true
			e.step(e.steps[s.Pos])
		}
		return true
	})
	if !found {
		return f.Src
	}
	if !f.Literate {
		e.declarations()
	}
	return e.text()
}

// expansion gathers changes by line, counted from 1.
type expansion struct {
	file    *syntax.File // as it was parsed
	prog    *Program
	steps   map[syntax.Pos]*syntax.Step // as they run
	lines   []string
	insert  map[int][]string // behind the line
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

// step writes one sentence as a heading with its block; nothing for one that has no step of its
// own.
func (e *expansion) step(s *syntax.Step) {
	if s == nil {
		return
	}
	block := append(append([]string{"```yaml step"}, e.keys(s)...), "```")
	if e.file.Literate {
		e.insert[s.Pos.Line] = append([]string{""}, block...)
		return
	}
	level := "###" + strings.Repeat("#", min(strings.Count(s.Number, "."), 3))
	e.replace[s.Pos.Line] = append(
		[]string{"", level + " Step " + s.Number + ": " + s.Title, ""},
		append(block, "")...,
	)
}

// keys are the lines of the block of a step.
func (e *expansion) keys(s *syntax.Step) []string {
	var out []string
	if e.named(s.ID.Text) {
		out = append(out, "id: "+s.ID.Text)
	}
	switch a := s.Action.(type) {
	case *syntax.Delegate:
		var with []string
		for _, f := range s.With {
			with = append(with, f.Key.Text+": "+f.Value.Expr.Src)
		}
		out = append(out, "delegate: "+a.Agent.Text)
		if with != nil {
			out = append(out, "with: {"+strings.Join(with, ", ")+"}")
		}
	case *syntax.Status:
		out = append(out, "status: "+literal(a.To))
	case *syntax.Check:
		out = append(out, "check: {document: "+a.Document.Text+"}")
	case *syntax.Foreach:
		out = append(out, "foreach: "+scalar(a.In.Src, true), "as: "+a.As.Text)
	}

	for _, r := range s.On {
		for _, t := range r.Targets {
			out = append(
				out,
				fmt.Sprintf("on: {%s: {redo: [%s], max: %d}}",
					r.Status.Text, t.Steps[0].Text, t.Max),
			)
		}
	}

	if s.Return != nil {
		out = append(out, "return: "+scalar(s.Return.Message.String(), false))
	}
	return out
}

// named tells whether another step refers to an id.
func (e *expansion) named(id string) bool {
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

// declarations writes what the sentences of the plain form add to the frontmatter and to the block
// `yaml args`.
func (e *expansion) declarations() {
	front := &e.file.Front
	if during, _ := e.prog.During(); during != "" && front.During == nil {
		e.behind(cmp.Or(front.Description.Pos.Line, front.Pos.Line), "during: "+during.String())
	}
	for i, a := range front.Arguments {
		if i < len(e.prog.Args) && a.Min == nil && e.prog.Args[i].Min != nil {
			e.lowest(a, *e.prog.Args[i].Min)
		}
	}
	e.allows()
}

// allows writes the statuses from which the command starts into the block `yaml args`, where
// `during` does not say the same.
func (e *expansion) allows() {
	args := &e.file.Args
	if e.prog.Allow == nil || args.Allow != nil {
		return
	}

	during, _ := e.prog.During()
	if during != "" && slices.Equal(e.prog.Allow, formats.MovesInto(during)) {
		return
	}
	allow := "allow: [" + joined(e.prog.Allow) + "]"
	block := []string{"", "```yaml args", allow, "```", ""}
	at := 0
	for _, s := range e.file.Sentences { // those of Argument Parsing
		at = max(at, s.Pos.Line)
	}

	at = cmp.Or(at, e.heading("argument parsing"))
	switch {
	case !args.Pos.IsZero():
		e.behind(args.Pos.Line, allow)
	case at > 0:
		e.behind(at, block...)
	default:
		e.behind(
			e.heading("workflow execution")-1,
			append([]string{"", "## Argument Parsing"}, block...)...,
		)
	}
}

// behind writes lines behind one.
func (e *expansion) behind(n int, lines ...string) {
	e.insert[n] = append(e.insert[n], lines...)
}

// heading is the line of the section of this name, 0 without one.
func (e *expansion) heading(name string) int {
	return 1 + slices.IndexFunc(e.lines, func(line string) bool {
		rest, ok := strings.CutPrefix(line, "## ")
		return ok && strings.EqualFold(strings.TrimSpace(rest), name)
	})
}

// lowest adds min to the declaration of an argument.
func (e *expansion) lowest(a syntax.Argument, low float64) {
	n := a.Name.Pos.Line
	key := "min: " + strconv.FormatFloat(low, 'f', -1, 64)
	line := e.lines[n-1]
	col := a.Pos.Col
	if a.Pos.Line == n && col <= len(line) && line[col-1] == '{' {
		e.replace[n] = []string{line[:col] + key + ", " + line[col:]}
		return
	}
	e.behind(n, strings.Repeat(" ", max(col-1, 0))+key)
}

// text puts the changes together. Blank lines that come to stand beside each other become one.
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
