package dialect

import (
	"fmt"
	"strings"
)

// script makes the text for sh of a shell mark. Arguments stand in it as references to variables, in quotes that fit the
// place, so that a shell reads their text as text. A second shell or an interpreter would read it as a program; such a
// script is refused.
func (e *expansion) script(p Part) *Script {
	s := &Script{Source: p.Text, Pos: p.Pos}
	if sh := e.command.Shell; sh != "" && sh != "sh" && sh != "bash" {
		s.Refused = "it is written for " + oneLine(sh)
	}
	w := &shellWriter{expansion: e, script: s}
	for _, part := range p.Parts {
		w.part(part)
	}
	s.Text = w.out.String()
	if w.runsText && w.used > 0 && s.Refused == "" {
		s.Refused = "an argument could become the name of the program, which the script takes from a variable or from an output"
	}
	return s
}

// shellWriter writes a script and follows its quotes.
type shellWriter struct {
	*expansion
	script  *Script
	out     strings.Builder
	stack   []byte // what is open: ' " ` ( and # for a comment
	escaped bool   // a backslash stands before the next character
	command []byte // the simple command so far
	word    int    // where its last word begins
	outer   []around
	used    int // references to arguments written
	// runsText tells that the script takes the name of a program from a variable or from an output.
	runsText bool
}

// around is a simple command that goes on behind a nested one.
type around struct {
	command []byte
	word    int
}

// maxUsed is how many references to arguments a script may hold.
const maxUsed = 1000

func (w *shellWriter) top() byte {
	if len(w.stack) == 0 {
		return 0
	}
	return w.stack[len(w.stack)-1]
}

func (w *shellWriter) push(c byte) { w.stack = append(w.stack, c) }

func (w *shellWriter) pop() { w.stack = w.stack[:len(w.stack)-1] }

// reset begins a simple command.
func (w *shellWriter) reset() { w.command, w.word = nil, 0 }

// enter begins a nested command, after which the present one goes on.
func (w *shellWriter) enter(c byte) {
	w.push(c)
	w.outer = append(w.outer, around{w.command, w.word})
	w.reset()
}

// leave ends a nested command, whose output is a part of the one around it.
func (w *shellWriter) leave() {
	w.pop()
	last := len(w.outer) - 1
	w.command, w.word = append(w.outer[last].command, 'x'), w.outer[last].word
	w.outer = w.outer[:last]
}

func (w *shellWriter) part(p Part) {
	if p.Kind == Literal {
		w.literal(p.Text)
		return
	}
	// $1 in single quotes is a column of awk's, never an argument.
	if w.escaped || p.Kind == Nth && p.Name == "" && strings.HasPrefix(p.Text, "$") && !strings.HasPrefix(p.Text, "$A") && w.top() == '\'' {
		w.literal(p.Text)
		return
	}
	v, ok := w.value(p)
	switch {
	case !ok && w.tool.missing != empty || p.Kind == Variable && p.Name == "$":
		w.literal(w.text(p))
		return
	case w.top() == '#':
		return // it would be a comment, whatever it is
	case w.script.Refused != "":
		return // it is not run
	case p.Kind == Variable && strings.Trim(v, nameBytes+"/.-") == "":
		w.insert(p, v) // a folder, which no reader takes for a program
		return
	}
	if w.script.Refused = w.danger(); w.script.Refused == "" {
		w.insert(p, v)
	}
}

// insert writes the references for one value. Outside of quotes a text of several words is as many words, as it was for the
// tool, and an empty one is none.
func (w *shellWriter) insert(p Part, v string) {
	values := []string{v}
	several := p.Kind == All && !p.Whole || p.Rest
	if quote := w.top(); quote != '"' && quote != '\'' {
		switch {
		case several && p.Rest:
			values = w.words[p.Index:]
		case several:
			values = w.words
			if len(values) == 0 {
				values = shellWords(v)
			}
		}
		if v == "" {
			values = nil
		}
	}
	if p.Kind != Variable {
		w.used += len(values)
	}
	switch {
	case strings.IndexByte(v, 0) >= 0:
		w.script.Refused = "an argument holds a NUL byte"
		return
	case w.used > maxUsed:
		w.script.Refused = fmt.Sprintf("it holds more than %d arguments", maxUsed)
		return
	}
	for i, one := range values {
		if i > 0 {
			w.out.WriteByte(' ')
		}
		ref := "${" + w.variable(one) + "}"
		switch w.top() {
		case '"':
			w.out.WriteString(ref)
		case '\'':
			w.out.WriteString(`'"` + ref + `"'`)
		default:
			w.out.WriteString(`"` + ref + `"`)
		}
	}
	w.add('x')
}

// variable gives the name of the variable with that value.
func (w *shellWriter) variable(value string) string {
	for _, kv := range w.script.Env {
		if name, v, _ := strings.Cut(kv, "="); v == value {
			return name
		}
	}
	name := fmt.Sprintf("TERCET_ARG_%d", len(w.script.Env)+1)
	w.script.Env = append(w.script.Env, name+"="+value)
	return name
}

// literal writes text of the file.
func (w *shellWriter) literal(text string) {
	w.out.WriteString(text)
	for i := 0; i < len(text); i++ {
		w.step(text, i)
	}
}

// step follows one character.
func (w *shellWriter) step(text string, i int) {
	c := text[i]
	if w.escaped {
		w.escaped = false
		w.add(c)
		return
	}
	switch w.top() {
	case '\'':
		if c == '\'' {
			w.pop()
		}
	case '#':
		if c == '\n' {
			w.pop()
			w.reset()
		}
		return
	case '"':
		switch {
		case c == '\\':
			w.escaped = true
		case c == '"':
			w.pop()
		case c == '(' && i > 0 && text[i-1] == '$', c == '`':
			w.runsText = w.runsText || c == '`' && w.first()
			w.enter(c)
			return
		case c == '$':
			w.runsText = w.runsText || w.first()
		}
	default:
		w.bare(text, i)
		return
	}
	w.add(c)
}

// bare follows a character outside of quotes.
func (w *shellWriter) bare(text string, i int) {
	c := text[i]
	switch c {
	case '\\':
		w.escaped = true
	case '\'', '"':
		w.push(c)
	case '#':
		// In a here document the sign is text; there a script without comments is read wrongly at worst in its quotes.
		if (i == 0 || strings.IndexByte(" \t\n;&|(", text[i-1]) >= 0) && !strings.Contains(w.script.Source, "<<") {
			w.push(c)
			return
		}
	case '`':
		if w.top() == '`' {
			w.leave()
			return
		}
		w.runsText = w.runsText || w.first()
		w.enter(c)
		return
	case '$':
		w.runsText = w.runsText || w.first()
	case '(':
		w.enter(c)
		return
	case ')':
		if w.top() == '(' {
			w.leave()
		} else {
			w.reset() // of a pattern
		}
		return
	case '|', '&', ';', '\n':
		w.reset()
		return
	case ' ', '\t':
		w.add(c)
		w.word = len(w.command)
		return
	}
	w.add(c)
}

func (w *shellWriter) add(c byte) { w.command = append(w.command, c) }
