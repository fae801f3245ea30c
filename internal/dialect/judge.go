package dialect

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/internal/lazy"
)

// origin says where a piece of a script comes from, the least trusted last.
type origin uint8

const (
	fixed  origin = iota // text of the file
	unsure               // what the script itself computes: a variable, an output, a pattern
	number               // an argument that is a number
	folder               // the path of one of tercet's own folders
	given                // any other argument, and what is made of one
)

// value is what a piece of a word stands for.
type value struct {
	origin origin
	texts  []string // what it can be; nil: anything
}

// known tells whether a value is from outside of the file.
func (v value) known() bool { return v.origin >= number }

// join gives the value of something that is one or the other. What the script itself computes is no danger.
func (v value) join(o value) value {
	switch {
	case !o.known():
		return v
	case !v.known():
		return o
	case v.texts == nil || o.texts == nil || len(v.texts)+len(o.texts) > maxTexts:
		return value{origin: max(v.origin, o.origin)}
	}
	out := value{origin: max(v.origin, o.origin), texts: slices.Clone(v.texts)}
	for _, text := range o.texts {
		if !slices.Contains(out.texts, text) {
			out.texts = append(out.texts, text)
		}
	}
	return out
}

// maxTexts bounds how many texts of a value are told apart.
const maxTexts = 64

// judge decides whether the arguments in a script may stand where they do. It reads the script as a shell would and
// knows the values, so that the same script may run with one argument and be refused with another.
type judge struct {
	spots  map[string]*spot // by the word that stands in the place of the argument
	tokens tokens
	vars   map[string]value
	given  bool // an argument that is no number is used
	splits bool // the script changes how a shell splits words
	loops  bool
	moved  bool // the folder comes from an argument
	input  bool // the command that is judged reads what came from an argument
	wrote  []string
	ran    []string // files with programs; an empty name is not known
	depth  int
	reason string
}

// tokens finds the words that stand for arguments, by what they all begin with.
type tokens string

// next cuts a text at the first argument. found is empty if there is none.
func (t tokens) next(text string) (before, found, after string) {
	at := strings.Index(text, string(t))
	if at < 0 {
		return text, "", ""
	}
	end := at + len(string(t))
	for end < len(text) && text[end] != '_' {
		end++
	}
	end = min(end+1, len(text))
	return text[:at], text[at:end], text[end:]
}

func (j *judge) refuse(format string, args ...any) {
	if j.reason == "" {
		j.reason = fmt.Sprintf(format, args...)
	}
}

// script judges a whole script.
func (j *judge) script(file *syntax.File) string {
	j.collect(file)
	j.constructs(file)
	j.stmts(file.Stmts)
	for _, wrote := range j.wrote {
		for _, ran := range j.ran {
			if wrote == "" || ran == "" || path.Clean(wrote) == path.Clean(ran) {
				j.refuse("an argument could be written into a file that the script runs")
			}
		}
	}
	return j.reason
}

// inside gives the least trusted origin of what stands in a node.
func (j *judge) inside(n syntax.Node) origin {
	most := fixed
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			most = max(most, j.inText(n.Value))
		case *syntax.SglQuoted:
			most = max(most, j.inText(n.Value))
		case *syntax.ParamExp:
			if n.Param != nil {
				most = max(most, j.variable(n.Param.Value).origin)
			}
		}
		return true
	})
	return most
}

func (j *judge) inText(text string) origin {
	most := fixed
	for text != "" {
		_, token, rest := j.tokens.next(text)
		if s := j.spots[token]; s != nil {
			most = max(most, s.value().origin)
		}
		text = rest
	}
	return most
}

func (j *judge) variable(name string) value {
	if v, ok := j.vars[name]; ok {
		return v
	}
	if j.given && (name == "_" || strings.HasPrefix(name, variablePrefix)) {
		return value{origin: given}
	}
	return value{origin: unsure}
}

// collect follows arguments into variables. A variable that is ever given one can hold it anywhere.
func (j *judge) collect(file *syntax.File) {
	for round := range 8 {
		before := maps.Clone(j.vars)
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				j.assigned(n)
			case *syntax.ForClause:
				j.loops = true
				if iter, ok := n.Loop.(*syntax.WordIter); ok {
					v := value{}
					for _, f := range j.expand(iter.Items) {
						v = v.join(f.value())
					}
					j.set(iter.Name.Value, v)
				}
			case *syntax.WhileClause:
				j.loops = true
			case *syntax.CallExpr:
				j.filled(n)
			case *syntax.ParamExp: // ${x:=...} assigns
				if n.Exp != nil && n.Param != nil && n.Exp.Word != nil {
					j.set(n.Param.Value, value{origin: j.inside(n.Exp.Word)})
				}
			}
			return true
		})
		if maps.EqualFunc(before, j.vars, func(a, b value) bool {
			return a.origin == b.origin && slices.Equal(a.texts, b.texts) && (a.texts == nil) == (b.texts == nil)
		}) {
			return
		}
		if round == 6 { // a variable that grows from itself
			for name, v := range j.vars {
				j.vars[name] = value{origin: v.origin}
			}
		}
	}
}

func (j *judge) set(name string, v value) {
	if !v.known() {
		return
	}
	if old, ok := j.vars[name]; ok {
		v = old.join(v)
	}
	j.vars[name] = v
}

func (j *judge) assigned(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	if name == "IFS" {
		j.splits = true
	}
	switch {
	case a.Array != nil:
		if from := j.inside(a.Array); from >= number {
			j.set(name, value{origin: from})
		}
	case a.Value != nil && a.Append:
		j.set(name, value{origin: j.inside(a.Value)})
	case a.Value != nil:
		j.set(name, j.whole(a.Value).value())
	}
}

// filled notes the variables that a command fills with what it reads.
func (j *judge) filled(call *syntax.CallExpr) {
	if !j.given || len(call.Args) == 0 {
		return
	}
	switch name := call.Args[0].Lit(); name {
	case "read", "mapfile", "readarray", "getopts":
		for _, arg := range call.Args[1:] {
			j.set(arg.Lit(), value{origin: given})
		}
		for _, own := range []string{"REPLY", "MAPFILE", "OPTARG"} {
			j.set(own, value{origin: given})
		}
	case "cd", "pushd":
		for _, own := range []string{"PWD", "OLDPWD", "DIRSTACK"} {
			j.set(own, value{origin: j.inside(call)})
		}
	case "printf":
		if len(call.Args) > 2 && call.Args[1].Lit() == "-v" {
			j.set(call.Args[2].Lit(), value{origin: j.inside(call)})
		}
	}
}

// constructs finds what computes or expands arguments once more, anywhere in the script.
func (j *judge) constructs(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			j.computed("((", n)
		case *syntax.ArithmCmd:
			j.computed("((", n)
		case *syntax.CStyleLoop:
			j.computed("((", n)
		case *syntax.LetClause:
			j.computed("let", n)
		case *syntax.TestClause:
			j.tested(n)
		case *syntax.ProcSubst:
			if j.inside(n) >= folder || n.Op == syntax.CmdOut && j.given {
				j.refuse("an argument could be computed by %s", n.Op)
			}
		case *syntax.Assign:
			if n.Index != nil && n.Name != nil {
				j.computed(n.Name.Value+"[", n.Index)
			}
		case *syntax.ArrayElem:
			if n.Index != nil {
				j.computed("[", n.Index)
			}
		case *syntax.ParamExp:
			j.expanded(n)
		case *syntax.FuncDecl:
			if j.given {
				j.refuse("an argument could be computed by a function")
			}
		case *syntax.CoprocClause:
			if j.given {
				j.refuse("an argument could be computed by coproc")
			}
		case *syntax.DeclClause:
			j.declared(n)
		}
		return true
	})
}

// computed refuses arithmetic that reaches an argument, also through the name of a variable.
func (j *judge) computed(sign string, n syntax.Node) {
	if j.inside(n) >= folder {
		j.refuse("an argument could be computed by %s", sign)
	}
	if !j.given || len(j.vars) == 0 {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok && !isNumber().MatchString(lit.Value) {
			j.refuse("an argument could be computed by %s", sign)
		}
		return true
	})
}

func (j *judge) tested(n *syntax.TestClause) {
	if j.inside(n) == given {
		j.refuse("an argument could be computed by [[")
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				j.computed("[[", n)
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				j.computed("[[", n)
			}
		}
		return true
	})
}

// isNumber is an index or a part of a text that is not computed, as in ${x:0:7} and ${x[@]}.
var isNumber = lazy.Regexp(`^(?:[0-9: -]*|[@*])$`)

func (j *judge) expanded(n *syntax.ParamExp) {
	switch {
	case n.Excl && j.given:
		j.refuse("an argument could be computed by ${!")
	case n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && j.given:
		j.refuse("an argument could be computed by ${...@P}")
	}
	if n.Index != nil {
		j.computed("${...[", n.Index)
	}
	if n.Slice != nil {
		for _, part := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
			if part != nil {
				j.computed("${...:", part)
			}
		}
	}
}

// declared judges export and its like: names are no arguments, and no attribute may change how a value is read.
func (j *judge) declared(n *syntax.DeclClause) {
	variant := n.Variant.Value
	for _, a := range n.Args {
		if a.Naked && a.Value != nil && j.inside(a.Value) >= number {
			j.refuse("an argument would be a name given to %s", variant)
		}
		option := a.Naked && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-")
		if j.given && (option && variant != "export" || variant == "nameref") {
			j.refuse("an argument could be computed by %s", variant)
		}
		j.named(a)
	}
}

// named judges the variable that an argument is assigned to.
func (j *judge) named(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	from := fixed
	if a.Value != nil {
		from = j.inside(a.Value)
	}
	if a.Array != nil {
		from = j.inside(a.Array)
	}
	j.surroundings(a.Name.Value, from)
}

// surroundings judges a variable that programs look at.
func (j *judge) surroundings(name string, from origin) {
	if from < folder || !startsPrograms().MatchString(name) {
		return
	}
	if from == folder && strings.HasSuffix(name, "PATH") && j.plainFolders() {
		return
	}
	j.refuse("an argument would be the value of %s, which names programs", name)
}

// plainFolders tells whether tercet's own folders have names in which no shell sees a sign.
func (j *judge) plainFolders() bool {
	for _, s := range j.spots {
		v := s.value()
		if v.origin == folder && !plainText().MatchString(v.texts[0]) {
			return false
		}
	}
	return true
}

// stmts judges statements one after another.
func (j *judge) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		j.stmt(s)
	}
}

// stmt judges a statement, whose input is that of what is around it if it has none of its own.
func (j *judge) stmt(s *syntax.Stmt) {
	if s == nil || j.reason != "" {
		return
	}
	before := j.input
	defer func() { j.input = before }()
	for _, r := range s.Redirs {
		j.redirect(s, r)
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		j.call(cmd)
	case *syntax.BinaryCmd:
		j.stmt(cmd.X)
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			j.input = j.input || j.inside(cmd.X) == given
		}
		j.stmt(cmd.Y)
	case *syntax.Subshell:
		j.stmts(cmd.Stmts)
	case *syntax.Block:
		j.stmts(cmd.Stmts)
	case *syntax.IfClause:
		for c := cmd; c != nil; c = c.Else {
			j.stmts(c.Cond)
			j.stmts(c.Then)
		}
	case *syntax.WhileClause:
		j.stmts(cmd.Cond)
		j.stmts(cmd.Do)
	case *syntax.ForClause:
		j.nested(cmd.Loop)
		j.stmts(cmd.Do)
	case *syntax.CaseClause:
		j.nested(cmd.Word)
		for _, item := range cmd.Items {
			for _, pattern := range item.Patterns {
				j.nested(pattern)
			}
			j.stmts(item.Stmts)
		}
	case *syntax.TimeClause:
		j.stmt(cmd.Stmt)
	case *syntax.FuncDecl:
		j.stmt(cmd.Body)
	case *syntax.CoprocClause:
		j.stmt(cmd.Stmt)
	case nil:
	default: // judged by constructs, but for the commands inside
		j.nested(cmd)
	}
}

// nested judges the commands whose output stands in a node.
func (j *judge) nested(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			j.stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			j.stmts(n.Stmts)
			return false
		}
		return true
	})
}

// redirect judges a redirection and notes the input that it brings.
func (j *judge) redirect(s *syntax.Stmt, r *syntax.Redirect) {
	if r.Word != nil {
		j.nested(r.Word)
	}
	from := fixed
	if r.Word != nil {
		from = j.inside(r.Word)
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec" &&
		(from == given || r.Hdoc != nil && j.inside(r.Hdoc) == given) {
		j.refuse("an argument would be the input of everything that follows")
	}
	other := j.input && r.N != nil && r.N.Value != "0" // what is read stays as it is
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			j.nested(r.Hdoc)
			j.input = other || j.inside(r.Hdoc) == given
		}
	case syntax.WordHdoc:
		j.input = other || from == given
	case syntax.RdrIn:
		j.input = other || from == given || from == number
	case syntax.DplIn:
	default:
		if from == given {
			j.refuse("an argument would name a file that is written")
		}
		if r.Op != syntax.DplOut && (j.input || j.inside(s) == given) {
			j.writes(r.Word)
		}
	}
}

// writes notes a file that holds something of an argument.
func (j *judge) writes(word *syntax.Word) {
	name := ""
	if f := j.whole(word); f.origin == fixed {
		name = f.lead
	}
	if name != "/dev/null" && name != "/dev/stderr" && name != "/dev/stdout" {
		j.wrote = append(j.wrote, name)
	}
}

// call judges a simple command.
func (j *judge) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		j.named(a)
		j.nested(a)
	}
	for _, arg := range c.Args {
		j.nested(arg)
	}
	args := j.expand(c.Args)
	if len(args) == 0 {
		return
	}
	j.program(args, false)
}

// program judges a program with its words. plain tells that another shell reads the words once more.
func (j *judge) program(args []field, plain bool) {
	if j.depth > 20 || j.reason != "" {
		j.refuse("an argument would stand in a script that cannot be read")
		return
	}
	j.depth++
	defer func() { j.depth-- }()
	switch name := args[0]; {
	case name.origin == given || name.origin == number:
		j.refuse("an argument would be the name of the program")
		return
	case name.origin == folder && (!name.ownFirst || name.loose):
		j.refuse("an argument would be the name of the program")
		return
	case name.origin == unsure && j.given:
		j.refuse("an argument could become the name of the program, " +
			"which the script takes from a variable or from an output")
		return
	case name.origin == unsure:
		return
	}
	p := programFor(args[0].lead)
	if j.moved && p.kind != freeProgram && p.kind != testProgram && p.kind != cdProgram {
		j.refuse("an argument would name the folder in which %s looks for programs", p.name)
		return
	}
	c := &command{judge: j, program: p, written: args[0].lead, args: args[1:], plain: plain || p.plain}
	if strings.Contains(args[0].lead, "/") || args[0].origin == folder {
		j.ran = append(j.ran, args[0].lead)
	}
	c.judgeKind()
}

// field is a word as the program gets it.
type field struct {
	origin   origin
	lead     string   // the text of the file at its beginning
	raw      string   // with the words that stand for numbers
	texts    []string // what it can be; nil: anything
	given    []string // the arguments in it
	unknown  bool     // one of them is not known
	begun    bool     // something stands in it
	option   bool     // an argument can begin it with - or +
	loose    bool     // it can become several words
	ownFirst bool     // it begins with one of tercet's own folders
}

// value is the value of a variable that is assigned the word.
func (f field) value() value {
	if f.origin == unsure || f.loose {
		return value{origin: f.origin}
	}
	return value{f.origin, f.texts}
}

// all tells whether every argument in the word is known and fits.
func (f field) all(fits func(text string) bool) bool {
	for _, text := range f.given {
		if !fits(text) {
			return false
		}
	}
	return !f.unknown
}

// add puts a piece at the end. sure tells that it stands there itself and not through a variable.
func (f *field) add(v value, raw string, sure bool) {
	if v.origin == fixed && f.origin == fixed {
		f.lead += v.texts[0]
	}
	if v.origin == given {
		f.given = append(f.given, v.texts...)
		f.unknown = f.unknown || v.texts == nil
		if !f.begun && (v.texts == nil || slices.ContainsFunc(v.texts, beginsOption)) {
			f.option = true
		}
	}
	f.ownFirst = f.ownFirst || v.origin == folder && !f.begun
	f.begun = f.begun || sure && v.texts != nil && !slices.Contains(v.texts, "")
	f.texts = cross(f.texts, v.texts)
	f.origin = max(f.origin, v.origin)
	f.raw += raw
}

func beginsOption(text string) bool { return text != "" && (text[0] == '-' || text[0] == '+') }

// cross gives every text of the first followed by every one of the second; nil if they are not known or too many.
func cross(a, b []string) []string {
	if a == nil || b == nil || len(a)*len(b) > maxTexts {
		return nil
	}
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > maxRead {
				return nil
			}
			out = append(out, x+y)
		}
	}
	return out
}

// expand gives the words that a program gets.
func (j *judge) expand(words []*syntax.Word) []field {
	var out []field
	for _, w := range words {
		b := &splitter{judge: j, braces: braced(w)}
		b.parts(w.Parts, false)
		out = append(out, b.done()...)
	}
	return out
}

// whole gives a word that a shell does not split.
func (j *judge) whole(w *syntax.Word) field {
	b := &splitter{judge: j, one: true}
	b.parts(w.Parts, false)
	if list := b.done(); len(list) == 1 {
		return list[0]
	}
	return field{texts: []string{""}}
}

// braced tells whether bash makes several words of one by its braces.
func braced(w *syntax.Word) bool {
	text := ""
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			text += lit.Value
		} else {
			text += "x"
		}
	}
	_, rest, open := strings.Cut(text, "{")
	return open && strings.Contains(rest, "}") && (strings.Contains(rest, ",") || strings.Contains(rest, ".."))
}

// splitter makes the words of one word.
type splitter struct {
	*judge
	one    bool // a shell does not split it
	braces bool
	out    []field
	cur    field
	has    bool // cur is a word, if perhaps an empty one
}

func (b *splitter) done() []field {
	b.next()
	if !b.braces {
		return b.out
	}
	for i := range b.out {
		f := &b.out[i]
		f.origin = max(f.origin, unsure)
		f.loose = true
		f.lead = ""
		f.option = f.option || f.origin == given
	}
	return b.out
}

// next begins another word.
func (b *splitter) next() {
	if b.has {
		b.out = append(b.out, b.cur)
	}
	b.cur = field{}
	b.has = false
}

func (b *splitter) add(v value, raw string, sure bool) {
	if !b.has {
		b.cur.texts = []string{""}
		b.has = true
	}
	b.cur.add(v, raw, sure)
}

func (b *splitter) text(text string) {
	if text != "" {
		b.add(value{fixed, []string{text}}, text, true)
	}
}

func (b *splitter) parts(parts []syntax.WordPart, quoted bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.literal(p.Value, quoted)
		case *syntax.SglQuoted:
			b.add(value{fixed, []string{""}}, "", false)
			b.withTokens(p.Value, true, func(text string) { b.text(text) })
		case *syntax.DblQuoted:
			b.add(value{fixed, []string{""}}, "", false)
			b.parts(p.Parts, true)
		case *syntax.ParamExp:
			b.derived(b.parameter(p), quoted)
		case *syntax.CmdSubst:
			b.derived(b.output(p), quoted)
		default:
			v := value{origin: max(unsure, b.inside(p))}
			b.derived(v, quoted)
		}
	}
}

// tokens_ adds a text with the arguments in it.
func (b *splitter) withTokens(text string, quoted bool, add func(text string)) {
	for text != "" {
		before, token, rest := b.tokens.next(text)
		add(before)
		s := b.spots[token]
		switch {
		case s == nil:
			add(token)
		case quoted || b.one:
			b.add(s.value(), rawOf(s.value(), token), true)
		default:
			for i, v := range s.values() {
				if i > 0 {
					b.next()
				}
				b.add(v, rawOf(v, token), true)
			}
		}
		text = rest
	}
}

// rawOf is what a program text holds for an argument: the word in its place, so that a number is seen in it.
func rawOf(v value, token string) string {
	if v.origin == fixed {
		return v.texts[0]
	}
	return token
}

// literal adds text of the file, as a shell takes its backslashes.
func (b *splitter) literal(text string, quoted bool) {
	text = strings.ReplaceAll(text, "\\\n", "")
	b.withTokens(text, quoted, func(text string) {
		var plain strings.Builder
		pattern := false
		for i := 0; i < len(text); i++ {
			c := text[i]
			switch {
			case c == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\", text[i+1]) >= 0):
				i++
				c = text[i]
			case !quoted && (c == '*' || c == '?' || c == '[' && strings.Contains(text[i:], "]")):
				pattern = true
			}
			plain.WriteByte(c)
		}
		if pattern && !b.one {
			b.add(value{origin: unsure}, text, false)
			return
		}
		b.text(plain.String())
	})
}

// derived adds what stands there through a variable or an output. Outside of quotes a shell splits it once more.
func (b *splitter) derived(v value, quoted bool) {
	if quoted || b.one || !v.known() {
		b.add(v, "", false)
		return
	}
	special := func(text string) bool { return strings.ContainsAny(text, " \t\n*?[\\") }
	switch {
	case v.texts == nil || b.splits || slices.ContainsFunc(v.texts, special) && len(v.texts) > 1,
		len(v.texts) == 1 && strings.ContainsAny(v.texts[0], "*?[\\"):
		b.add(value{origin: v.origin}, "", false)
		b.cur.loose = true
		b.cur.option = v.origin == given
	case len(v.texts) == 1 && special(v.texts[0]):
		if strings.TrimLeft(v.texts[0], " \t\n") != v.texts[0] {
			b.next()
		}
		for i, one := range strings.Fields(v.texts[0]) {
			if i > 0 {
				b.next()
			}
			b.add(value{v.origin, []string{one}}, "", false)
			b.cur.loose = b.cur.loose || v.origin == folder
		}
		if strings.TrimRight(v.texts[0], " \t\n") != v.texts[0] {
			b.next()
		}
	default:
		b.add(v, "", false)
	}
}

// parameter is the value of a variable as it is expanded.
func (j *judge) parameter(p *syntax.ParamExp) value {
	v := value{origin: unsure}
	if p.Param != nil {
		v = j.variable(p.Param.Value)
	}
	if p.Length {
		return value{origin: unsure}
	}
	if p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.NestedParam != nil {
		return value{origin: max(unsure, j.inside(p))}
	}
	return v
}

// output is the value of the output of commands.
func (j *judge) output(p *syntax.CmdSubst) value {
	from := j.inside(p)
	if j.input {
		from = given
	}
	if from == number {
		from = unsure
	}
	return value{origin: max(unsure, from)}
}

// code judges a text that a shell reads as a program, with the words that it gets.
func (j *judge) code(name string, text field, params []field) {
	if text.origin == folder || text.origin == given {
		j.refuse("an argument would be part of a program for %s", name)
		return
	}
	if text.origin == unsure || !j.given && text.origin == fixed {
		if j.given && slices.ContainsFunc(params, func(f field) bool { return f.origin == given }) {
			j.refuse("an argument could reach %s, which would read it as a program", name)
		}
		return
	}
	file, err := parseShell(text.raw)
	if err != nil {
		j.refuse("an argument would stand in a script that cannot be read")
		return
	}
	inner := *j
	inner.vars = maps.Clone(j.vars)
	for i, f := range params {
		inner.vars[fmt.Sprint(i)] = f.value()
		all := inner.vars["@"].join(value{origin: f.origin})
		inner.vars["@"] = all
		inner.vars["*"] = all
	}
	if reason := inner.script(file); reason != "" {
		j.refuse("%s", reason)
	}
}

// startsPrograms are variables by which programs are found, started or given options.
var startsPrograms = lazy.Regexp(`^(?:(?:CD|MAN|INFO|F|GCONV_|LOC|NLS)?PATH|ENV|HOME|SHELL|BROWSER|IFS|PS[0-9]|CC|CXX|CPP|LD|AR|MAKE|FC|LINKER|` +
	`MAKEFILES|TEXINPUTS|CLASSPATH|KUBECONFIG|PHPRC|CURL_HOME|WGETRC|INPUTRC|LESS|LESSOPEN|LESSCLOSE|LESSKEY.*|` +
	`SHELLOPTS|BASHOPTS|GLOBIGNORE|TERMINFO.*|LUA_INIT.*|TAR_OPTIONS|GREP_OPTIONS|UNZIP|ZIPOPT|GZIP|XZ_.*|` +
	`RUBYLIB|PERL5.*|PERLLIB|PYTHON.*|NODE_.*|RUBYOPT|_?JAVA.*|JDK_.*|DOTNET_.*|GO(?:FLAGS|PATH|ROOT|ENV|PROXY|BIN|TOOLCHAIN|TOOLDIR|EXPERIMENT)|CGO_.*|CARGO.*|RUST.*|` +
	`PYTEST_.*|DOCKER_.*|BASH_.*|XDG_.*|RSYNC_.*|CVS_.*|SVN_.*|SSH_.*|GIT.*|GH_.*|LD_.*|DYLD_.*|npm_.*|NPM_.*|` +
	`.*(?:FLAGS|OPTS|OPTIONS|PAGER|EDITOR|VISUAL|ASKPASS|_COMMAND|_DIFF|_SSH|_RSH|_CONFIG.*|_WRAPPER|_proxy|_PROXY))$`)

// plainText is a text in which no program and no shell sees a sign.
var plainText = lazy.Regexp(`^[A-Za-z0-9_./:@%,+-]*$`)

// assignment is the start of a word that gives a variable a value.
var assignment = lazy.Regexp(`^([A-Za-z_]\w*)\+?=`)
