package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
)

// Expand writes every plain sentence of a file out as the block that it was compiled to, and returns the new text; a file
// without plain steps comes back as it is. What the sentences add to the declarations (the preflight, the statuses from which
// the command starts, a lower bound of an argument) is written where it is declared. Sentences that only repeat what is
// declared stay as prose.
func Expand(f *syntax.File, p *Program) []byte {
	e := &expansion{file: f, prog: p, ops: map[syntax.Pos]*Op{}, lines: strings.Split(string(f.Src), "\n"), insert: map[int][]string{}, replace: map[int][]string{}}
	e.collect(p.Ops)
	e.collect(p.Always)
	found := false
	syntax.Walk(f, func(n any) bool {
		if s, ok := n.(*syntax.Step); ok && s.Sentence != nil {
			found = true
			e.step(s)
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
	file    *syntax.File
	prog    *Program
	ops     map[syntax.Pos]*Op
	lines   []string
	insert  map[int][]string // behind the line
	replace map[int][]string
}

func (e *expansion) collect(list []*Op) {
	for _, op := range list {
		e.ops[op.Pos] = op
		if loop, ok := op.Do.(*Foreach); ok {
			e.collect(loop.Body)
		}
	}
}

// step writes one sentence as a heading with its block; nothing for one that has no step of its own.
func (e *expansion) step(s *syntax.Step) {
	op := e.ops[s.Pos]
	if op == nil {
		return
	}
	block := append(append([]string{"```yaml step"}, e.keys(op)...), "```")
	if e.file.Literate {
		e.insert[s.Pos.Line] = append([]string{""}, block...)
		return
	}
	level := "###" + strings.Repeat("#", min(strings.Count(s.Number, "."), 3))
	e.replace[s.Pos.Line] = append([]string{"", level + " Step " + s.Number + ": " + s.Title, ""}, append(block, "")...)
}

// keys are the lines of the block of a step.
func (e *expansion) keys(op *Op) []string {
	var out []string
	if e.named(op.ID) {
		out = append(out, "id: "+op.ID)
	}
	switch a := op.Do.(type) {
	case *Delegate:
		if a.Sync {
			out = append(out, "status: "+a.To.String())
			break
		}
		out = append(out, "delegate: "+a.Agent)
		if with := inputs(a.With); with != "" {
			out = append(out, "with: "+with)
		}
	case *Check:
		out = append(out, "check: {document: "+a.Document+"}")
	case *Foreach:
		out = append(out, "foreach: "+scalar(a.In.Src, true), "as: "+a.As)
	}
	for _, r := range op.On {
		for _, t := range r.Targets {
			out = append(out, fmt.Sprintf("on: {%s: {redo: [%s], max: %d}}", r.Outcome, strings.Join(t.Redo, ", "), t.Max))
		}
	}
	if op.Return != nil {
		out = append(out, "return: "+message(op.Return.Message))
	}
	return out
}

// named tells whether another step refers to an id.
func (e *expansion) named(id string) bool {
	for _, op := range e.ops {
		for _, r := range op.On {
			for _, t := range r.Targets {
				if slices.Contains(t.Redo, id) {
					return true
				}
			}
		}
		if op.Return == nil || op.Return.Message == nil {
			continue
		}
		for _, part := range op.Return.Message.Parts {
			if part.Expr != nil && slices.Contains(part.Expr.Reads().Steps, id) {
				return true
			}
		}
	}
	return false
}

func inputs(v *Value) string {
	if v == nil || len(v.Fields) == 0 {
		return ""
	}
	parts := make([]string, 0, len(v.Fields))
	for _, f := range v.Fields {
		if f.Value.Expr != nil {
			parts = append(parts, f.Key+": "+f.Value.Expr.Src)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func message(t *Text) string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Expr != nil {
			b.WriteString("${{ " + p.Expr.Src + " }}")
			continue
		}
		b.WriteString(p.Lit)
	}
	return scalar(b.String(), false)
}

// scalar writes a text so that YAML reads it as one; jq may stand bare when it begins with $ and means nothing to YAML.
func scalar(s string, jq bool) string {
	plain := s != "" && !strings.ContainsAny(s, ":#{}[],&*!|>'\"%@`") && strings.TrimSpace(s) == s
	if first := s[:min(1, len(s))]; plain && (jq || first >= "A" && first <= "Z" || first >= "a" && first <= "z") {
		return s
	}
	return strconv.Quote(s)
}

// declarations writes what the sentences of the plain form add to the frontmatter and to the block `yaml args`.
func (e *expansion) declarations() {
	front := &e.file.Front
	if d := e.prog.During; d != nil && front.During == nil {
		at := front.Description.Pos.Line
		if front.Description.Pos.IsZero() {
			at = front.Pos.Line
		}
		e.insert[at] = append(e.insert[at], "during: "+d.Status.String())
	}
	for i, a := range front.Arguments {
		if i < len(e.prog.Args) && a.Min == nil && e.prog.Args[i].Min != nil {
			e.lowest(a, *e.prog.Args[i].Min)
		}
	}
	e.allows()
}

// allows writes the statuses from which the command starts into the block `yaml args`, where `during` does not say the same.
func (e *expansion) allows() {
	args := &e.file.Args
	if e.prog.Allow == nil || args.Allow != nil {
		return
	}
	if d := e.prog.During; d != nil && slices.Equal(e.prog.Allow, formats.MovesInto(d.Status)) {
		return
	}
	allow := "allow: [" + joinStatuses(e.prog.Allow) + "]"
	block := []string{"", "```yaml args", allow, "```", ""}
	title, workflow := e.heading("argument parsing"), e.heading("workflow execution")
	switch say := e.sentenceLine(); {
	case !args.Pos.IsZero():
		e.insert[args.Pos.Line] = append(e.insert[args.Pos.Line], allow)
	case say > 0:
		e.insert[say] = append(e.insert[say], block...)
	case title > 0:
		e.insert[title] = append(e.insert[title], block...)
	default:
		e.insert[workflow-1] = append(append(e.insert[workflow-1], "", "## Argument Parsing"), block...)
	}
}

// heading is the line of the section of this name, 0 without one.
func (e *expansion) heading(name string) int {
	for i, line := range e.lines {
		if rest, ok := strings.CutPrefix(line, "## "); ok && strings.EqualFold(strings.TrimSpace(rest), name) {
			return i + 1
		}
	}
	return 0
}

// sentenceLine is the last line of the sentences of Argument Parsing.
func (e *expansion) sentenceLine() int {
	line := 0
	for _, s := range e.file.Sentences {
		line = max(line, s.Pos.Line)
	}
	return line
}

// lowest adds min to the declaration of an argument.
func (e *expansion) lowest(a syntax.Argument, low float64) {
	n := a.Name.Pos.Line
	key := "min: " + strconv.FormatFloat(low, 'f', -1, 64)
	line := e.lines[n-1]
	if a.Pos.Line == n && a.Pos.Col <= len(line) && line[a.Pos.Col-1] == '{' {
		e.replace[n] = []string{line[:a.Pos.Col] + key + ", " + line[a.Pos.Col:]}
		return
	}
	e.insert[n] = append(e.insert[n], strings.Repeat(" ", max(a.Pos.Col-1, 0))+key)
}

// text puts the changes together. Blank lines that come to stand beside each other become one.
func (e *expansion) text() []byte {
	var out []string
	add := func(lines []string) {
		for _, line := range lines {
			if strings.TrimSpace(line) == "" && len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
				continue
			}
			out = append(out, line)
		}
	}
	for i, line := range e.lines {
		changed, isChanged := e.replace[i+1]
		before := len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" && strings.TrimSpace(line) == ""
		switch {
		case isChanged:
			add(changed)
		case before && e.replace[i] != nil:
		default:
			out = append(out, line)
		}
		add(e.insert[i+1])
	}
	return []byte(strings.Join(out, "\n"))
}
