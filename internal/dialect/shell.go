package dialect

import (
	"fmt"
	"slices"
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
	return s
}

// shellWriter writes a script and follows its quotes.
type shellWriter struct {
	*expansion
	script  *Script
	out     strings.Builder
	stack   []byte // what is open: ' " ` ( and # for a comment
	escaped bool   // a backslash stands before the next character
	command strings.Builder
	used    int // references written
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
	w.used += len(values)
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
	w.command.WriteByte('x')
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
		w.command.WriteByte(c)
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
			w.command.Reset()
		}
		return
	case '"':
		switch {
		case c == '\\':
			w.escaped = true
		case c == '"':
			w.pop()
		case c == '(' && i > 0 && text[i-1] == '$', c == '`':
			w.push(c)
			w.command.Reset()
		}
	default:
		w.bare(text, i)
		return
	}
	w.command.WriteByte(c)
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
			w.pop()
		} else {
			w.push(c)
		}
		w.command.Reset()
		return
	case '(':
		w.push(c)
		w.command.Reset()
	case ')':
		if w.top() == '(' {
			w.pop()
		}
	case '|', '&', ';', '\n':
		w.command.Reset()
		return
	}
	w.command.WriteByte(c)
}

// danger says what would read an argument as a program: anywhere in the script, or in the command that it stands in.
func (w *shellWriter) danger() string {
	text := w.script.Source
	if w.used > 0 {
		text = "" // it was looked through at the first argument
	}
	for _, sign := range []string{"((", "[[", "$[", "<(", ">(", "[ -v", "test -v", "printf -v"} {
		if strings.Contains(text, sign) {
			return fmt.Sprintf("an argument could be computed by %s", sign)
		}
	}
	if word := firstOf(text, anywhere()); word != "" {
		return fmt.Sprintf("an argument could reach %s, which would read it as a program", word)
	}
	if word := firstOf(w.command.String(), here()); word != "" {
		return fmt.Sprintf("an argument would be part of a program for %s", word)
	}
	if w.first() {
		return "an argument would be the name of the program"
	}
	return ""
}

// first tells whether the present place is that of a command's name: nothing but keywords and assignments stands before it.
func (w *shellWriter) first() bool {
	before := w.command.String()
	words := strings.Fields(before)
	whole := before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t")
	keywords := []string{"if", "then", "else", "elif", "while", "until", "do", "!", "{", "(", "\"", "'"}
	for i, word := range words {
		name, _, assigns := strings.Cut(word, "=")
		switch {
		case slices.Contains(keywords, word):
		case assigns && strings.Trim(name, nameBytes) == "" && (whole || i < len(words)-1):
		case assigns && strings.Trim(name, nameBytes) == "":
			return false // it is the value
		default:
			return false
		}
	}
	return true
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// anywhere lists what reads programs from its input, its words or its variables.
func anywhere() []string {
	return []string{
		"eval", "sh", "bash", "dash", "ksh", "zsh", "fish", "csh", "tcsh", "ash", "busybox", "ssh", "su", "xargs", "parallel", "watch", "source", "python", "perl",
		"ruby", "node", "deno", "bun", "php", "lua", "tclsh", "osascript", "pwsh", "powershell", "trap", "let", "declare", "typeset", "unset", "read", "mapfile",
		"psql", "sqlite", "mysql", "gdb", "vim", "vi", "ex", "ed", "emacs", "tmux", "screen", "at", "batch", "crontab", "socat", "expect", "entr",
	}
}

// here lists what has a language of its own in its words, or takes them for a command.
func here() []string {
	return []string{
		"awk", "gawk", "mawk", "nawk", "sed", "gsed", "find", "docker", "podman", "kubectl", "npm", "npx", "pnpm", "yarn", "bc", "dc", "m4", "make", "gmake", "sudo",
		"doas", "time", "env", "exec", "command", "builtin", "nohup", "setsid", "stdbuf", "timeout", "nice", "ionice", "chroot", "strace", "ltrace", "unshare",
		"nsenter", "flock", ".",
	}
}

// firstOf gives the first word of a script that is in the list, by the last part of its path and without a version.
func firstOf(script string, list []string) string {
	words := strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(" \t\n|;&()<>\"'`{}$=!", r) })
	for _, w := range words {
		base := w[strings.LastIndexByte(w, '/')+1:]
		if base = strings.TrimLeft(base, "\\"); slices.Contains(list, base) || base != "." && slices.Contains(list, strings.TrimRight(base, ".0123456789")) {
			return w
		}
	}
	return ""
}
