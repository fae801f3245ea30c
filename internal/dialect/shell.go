package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/internal/lazy"
)

// script makes the text for sh of a shell mark. Arguments stand in it as references to variables, in quotes that fit
// the place, so that a shell reads their text as text. A second shell or an interpreter would read it as a program;
// such a script is refused.
func (e *expansion) script(p Part) *Script {
	s := &Script{Source: p.Text, Pos: p.Pos}
	if sh := e.command.Shell; sh != "" && sh != "sh" && sh != "bash" {
		s.Refused = "it is written for " + oneLine(sh)
	}
	w := &shellWriter{expansion: e, script: s}
	spots := w.read(p.Parts)
	used := 0
	for i, part := range p.Parts {
		spot, ok := spots[i]
		if !ok {
			w.out.WriteString(w.fixed(part))
			continue
		}
		v, _ := w.value(part)
		folder := part.Kind == Variable && strings.Trim(v, nameBytes+"/.-") == "" // no reader takes it for a program
		switch {
		case spot.quote == '\'' && strings.HasPrefix(part.Text, "$") && part.Kind == Nth && part.Name == "" &&
			!strings.HasPrefix(part.Text, "$A"),
			spot.escaped:
			w.out.WriteString(part.Text) // $1 in single quotes is a column of awk's, never an argument
			continue
		case spot.quote == '#', s.Refused != "":
			continue // it would be a comment, or is not run
		case !folder:
			if s.Refused = w.danger(spot); s.Refused != "" {
				continue
			}
		}
		if part.Kind != Variable {
			used++
		}
		w.insert(part, v, spot.quote)
	}
	s.Text = w.out.String()
	if w.runsText && used > 0 && s.Refused == "" {
		s.Refused = "an argument could become the name of the program, " +
			"which the script takes from a variable or from an output"
	}
	return s
}

// shellWriter writes a script.
type shellWriter struct {
	*expansion
	script *Script
	out    strings.Builder
	src    string // the script with a word in the place of each argument
	broken bool   // src is no script that a shell takes
	used   int    // references to arguments written
	// reached is a word that reads programs from its input, its words or its variables; empty: there is none.
	reached string
	// computed is a sign of what a shell computes or expands once more; empty: there is none.
	computed string
	// runsText tells that the script takes the name of a program from a variable or from an output.
	runsText bool
}

// spot is where an argument stands in a script.
type spot struct {
	at      int  // offset in src
	quote   byte // ' " or # for a comment; 0: none
	escaped bool // a backslash stands before it
	name    bool // it would be a part of a name
	stmt    *syntax.Stmt
	assign  *syntax.Assign
}

// Limits of a script that takes arguments.
const (
	maxUsed = 1000     // references to them
	maxRead = 64 << 10 // bytes
)

// fixed is the text of a piece that is no argument, or one that has no value and stays as it is written.
func (w *shellWriter) fixed(p Part) string {
	if p.Kind == Literal {
		return p.Text
	}
	return w.text(p)
}

// read finds where the arguments of a script stand, by the index of their piece.
func (w *shellWriter) read(parts []Part) map[int]*spot {
	word := "tercetArg"
	for i := 0; strings.Contains(w.script.Source, word); i++ {
		word = fmt.Sprintf("tercetArg%d", i)
	}
	spots := map[int]*spot{}
	var order []*spot
	var src strings.Builder
	for i, p := range parts {
		_, ok := w.value(p)
		if p.Kind == Literal || !ok && !w.tool.empty || p.Kind == Variable && p.Name == "$" {
			src.WriteString(w.fixed(p))
			continue
		}
		spots[i] = &spot{at: src.Len()}
		order = append(order, spots[i])
		src.WriteString(word)
	}
	if w.src = src.String(); len(order) == 0 {
		return spots
	}
	if len(w.src) > maxRead {
		w.broken = true
		return spots
	}
	w.reached = firstOf(w.script.Source, anywhere)
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash),
		syntax.KeepComments(true)).Parse(strings.NewReader(w.src), "")
	if err != nil {
		w.broken = true
		return spots
	}
	var around []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		w.look(n)
		around = append(around, n)
		from, _ := slices.BinarySearchFunc(order, int(n.Pos().Offset()), func(s *spot, at int) int { return s.at - at })
		switch n.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.Comment:
			for _, s := range order[from:] {
				if s.at >= int(n.End().Offset()) {
					break
				}
				s.place(around, w.src)
			}
		}
		return true
	})
	return spots
}

// place tells from the nodes around an argument what it stands in, the innermost last.
func (s *spot) place(around []syntax.Node, src string) {
	last := len(around) - 1
	switch n := around[last].(type) {
	case *syntax.Comment:
		s.quote = '#'
		return
	case *syntax.SglQuoted:
		s.quote, s.name = '\'', n.Dollar // what $'...' means differs by shell
	case *syntax.Lit:
		before := src[:s.at]
		s.escaped = (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
		switch parent := around[last-1].(type) {
		case *syntax.Word, *syntax.DblQuoted:
		case *syntax.Assign:
			s.name = n == parent.Name
		default:
			s.name = true
		}
	}
	for i := last - 1; i >= 0; i-- {
		switch n := around[i].(type) {
		case *syntax.DblQuoted:
			s.quote = cmp.Or(s.quote, '"')
		case *syntax.Redirect:
			if n.Hdoc == nil || n.Hdoc != around[i+1] {
				s.name = s.name || n.Hdoc != nil // the word that ends a here document
			}
		case *syntax.Assign:
			s.assign = cmp.Or(s.assign, n)
		case *syntax.Stmt:
			s.stmt = n
			return
		}
		if _, nested := around[i].(*syntax.CmdSubst); nested {
			return
		}
	}
}

// look notes what a node would do with arguments anywhere in the script.
func (w *shellWriter) look(n syntax.Node) {
	sign := ""
	switch n := n.(type) {
	case *syntax.ArithmExp:
		sign = "(("
		if n.Bracket {
			sign = "$["
		}
	case *syntax.ArithmCmd:
		sign = "(("
	case *syntax.TestClause:
		sign = "[["
	case *syntax.ProcSubst:
		sign = n.Op.String()
	case *syntax.Assign:
		if n.Index != nil && n.Name != nil {
			sign = n.Name.Value + "["
		}
	case *syntax.ParamExp:
		switch {
		case n.Excl:
			sign = "${!"
		case n.Index != nil && !isNumber().MatchString(w.source(n.Index)):
			sign = "${...["
		case n.Slice != nil && !isNumber().MatchString(w.source(n.Slice.Offset)+w.source(n.Slice.Length)):
			sign = "${...:"
		case n.Exp != nil && n.Exp.Op == syntax.OtherParamOps:
			sign = "${...@P}"
		}
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			break
		}
		name := n.Args[0].Lit()
		if slices.Contains([]string{"[", "test", "printf"}, name) &&
			slices.ContainsFunc(n.Args[1:], func(a *syntax.Word) bool { return a.Lit() == "-v" }) {
			sign = name + " -v"
		}
		syntax.Walk(n.Args[0], func(part syntax.Node) bool {
			switch part.(type) {
			case *syntax.ParamExp, *syntax.CmdSubst:
				w.runsText = true
			}
			return true
		})
	}
	w.computed = cmp.Or(w.computed, sign)
}

// isNumber is an index or a part of a text that is not computed, as in ${x:0:7} and ${x[@]}.
var isNumber = lazy.Regexp(`^(?:[0-9: -]*|[@*])$`)

func (w *shellWriter) source(n syntax.ArithmExpr) string {
	if n == nil {
		return ""
	}
	return w.src[n.Pos().Offset():n.End().Offset()]
}

// insert writes the references for one value. Outside of quotes a text of several words is as many words, as it was for
// the tool, and an empty one is none.
func (w *shellWriter) insert(p Part, v string, quote byte) {
	values := []string{v}
	if quote == 0 {
		switch {
		case v == "":
			values = nil
		case p.Rest:
			values = w.words[p.Index:]
		case p.Kind == All && !p.Whole:
			if values = w.words; len(values) == 0 {
				values = shellWords(v)
			}
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
	form := map[byte]string{'"': "${%s}", '\'': `'"${%s}"'`, 0: `"${%s}"`}[quote]
	for i, one := range values {
		if i > 0 {
			w.out.WriteByte(' ')
		}
		fmt.Fprintf(&w.out, form, w.variable(one))
	}
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

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// anywhere lists what reads programs from its input, its words or its variables.
const anywhere = "eval sh bash dash ksh zsh fish csh tcsh ash busybox ssh su xargs parallel watch source python perl " +
	"ruby node deno bun php lua tclsh osascript pwsh powershell trap let declare typeset unset read mapfile psql sqlite " +
	"mysql gdb vim vi ex ed emacs tmux screen at batch crontab socat expect entr alias PS4 PROMPT_COMMAND BASH_ENV " +
	"SHELLOPTS BASHOPTS systemd-run start-stop-daemon"

// here lists what has a language of its own in its words, or takes them for a command.
const here = "awk gawk mawk nawk sed gsed find docker podman kubectl npm npx pnpm yarn bc dc m4 make gmake sudo doas " +
	"time env exec command builtin nohup setsid stdbuf timeout nice ionice chroot strace ltrace unshare nsenter flock ."

// startsPrograms are variables by which programs are found or started.
var startsPrograms = lazy.Regexp(`^(?:PATH|ENV|SHELL|BROWSER|NODE_OPTIONS|PERL5OPT|RUBYOPT|PYTHONSTARTUP|` +
	`LESSOPEN|LESSCLOSE|IFS|.*(?:PAGER|EDITOR|VISUAL|ASKPASS|_COMMAND|_DIFF|_SSH|_EXEC_PATH)|(?:LD_|DYLD_|GIT_CONFIG).*)$`)

// assignment is the start of a word that gives a variable a value.
var assignment = lazy.Regexp(`^(\w+)\+?=`)

// danger says what would read an argument as a program: anywhere in the script, or in the command that it stands in.
func (w *shellWriter) danger(s *spot) string {
	if w.broken {
		return "an argument would stand in a script that cannot be read"
	}
	if w.computed != "" {
		return "an argument could be computed by " + w.computed
	}
	if w.reached != "" {
		return fmt.Sprintf("an argument could reach %s, which would read it as a program", w.reached)
	}
	if s.stmt == nil || s.name {
		return "an argument would be a part of a name"
	}
	var words []string // of the command, up to the argument
	first := false
	if call, ok := s.stmt.Cmd.(*syntax.CallExpr); ok {
		first = len(call.Args) > 0 && int(call.Args[0].Pos().Offset()) <= s.at && s.at < int(call.Args[0].End().Offset()) ||
			s.at-int(call.Pos().Offset()) > maxScript // not looked through again and again
		for _, arg := range call.Args {
			if !first && int(arg.Pos().Offset()) <= s.at {
				words = append(words, literal(arg, s.at))
			}
		}
	}
	name := ""
	if s.assign != nil && s.assign.Name != nil {
		name = s.assign.Name.Value
	} else if len(words) > 0 {
		if found := assignment().FindStringSubmatch(words[len(words)-1]); found != nil {
			name = found[1]
		}
	}
	switch word := firstOf(strings.Join(words, " "), here); {
	case startsPrograms().MatchString(name):
		return fmt.Sprintf("an argument would be the value of %s, which names programs", name)
	case s.assign == nil && !first && beforeVerb(words):
		return "an argument could be an option of git itself, which can name programs"
	case word != "":
		return fmt.Sprintf("an argument would be part of a program for %s", word)
	case first:
		return "an argument would be the name of the program"
	}
	return ""
}

// literal gives the text of a word up to an offset, with x for what is put in its place when it runs.
func literal(word *syntax.Word, end int) string {
	var b strings.Builder
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			text := n.Value
			if over := int(n.End().Offset()) - end; over > 0 {
				text = text[:max(0, len(text)-over)]
			}
			b.WriteString(text)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
			b.WriteByte('x')
			return false
		}
		return true
	})
	return b.String()
}

// firstOf gives the first word of a text that is in the list, by the last part of its path and without a version.
// Quotes do not matter: what stands in them may be a script.
func firstOf(text, names string) string {
	list := strings.Fields(names)
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n|;&()<>\"'`{}$=!", r) })
	for _, w := range words {
		base := strings.TrimLeft(w[strings.LastIndexByte(w, '/')+1:], `\`)
		if slices.Contains(list, base) || base != "." && slices.Contains(list, strings.TrimRight(base, ".0123456789")) {
			return w
		}
	}
	return ""
}

// beforeVerb tells whether the last of the words stands among git's own options: behind its name, and before
// what it is to do.
func beforeVerb(words []string) bool {
	if len(words) == 0 || words[0] != "git" && !strings.HasSuffix(words[0], "/git") {
		return false
	}
	takes := []string{"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case slices.Contains(takes, word):
			i++
		case word != "" && word[0] != '-':
			return false
		}
	}
	return true
}
