package classify

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/formats"
)

// Bounds of one classification: deeper or longer texts are reported as unknown from there on.
const (
	mostDepth = 40
	mostCalls = 20000
)

// scan walks statements in the order in which a shell would run them, with the folder and the variables as they are known there.
type scan struct {
	place    Place
	out      *findings
	vars     map[string]binding
	dir      string // working folder, valid if dirKnown
	dirKnown bool
	loose    int             // above 0: what is assigned here may not have happened
	depth    int             // of texts and substitutions within each other
	calls    *int            // commands looked at, shared
	fetched  map[string]bool // files that hold what came from elsewhere, shared
	base     formats.Pos     // where this text stands; zero for the text itself
	fixed    bool            // every place in this text is base, because quotes changed the text
	here     formats.Pos     // place of the command at hand
	cmd      string          // its name
}

func (s *scan) at(p syntax.Pos) formats.Pos {
	line, col := int(p.Line()), int(p.Col())
	switch {
	case s.base.IsZero():
		return formats.Pos{Line: max(line, 1), Col: max(col, 1)}
	case s.fixed:
		return s.base
	case line <= 1:
		return formats.Pos{Line: s.base.Line, Col: s.base.Col + max(col, 1) - 1}
	}
	return formats.Pos{Line: s.base.Line + line - 1, Col: max(col, 1)}
}

// child runs f in a shell of its own: what it assigns and where it goes does not reach this one.
func (s *scan) child(f func(*scan)) {
	c := *s
	c.vars = maps.Clone(s.vars)
	c.depth++
	if c.depth > mostDepth {
		s.unknown(s.here, "it is nested too deeply to be looked at")
		return
	}
	f(&c)
}

// maybe runs f as code that may not run, or more than once.
func (s *scan) maybe(f func()) {
	s.loose++
	f()
	s.loose--
}

// text classifies a text that a shell inside the command would read. at is the word that holds it.
func (s *scan) text(src string, at word) {
	if strings.Contains(src, hole) {
		s.unknown(at.pos, "a shell reads a text that is known only when it runs")
		if strings.TrimSpace(strings.ReplaceAll(src, hole, "")) == "" {
			return
		}
		src = strings.ReplaceAll(src, hole, unknownName)
	}
	s.child(func(c *scan) {
		file, err := parse(src)
		if err != nil {
			s.unknown(at.pos, "a shell reads a text that is no command")
			return
		}
		c.base, c.fixed = at.inner, false
		if at.inner.IsZero() {
			c.base, c.fixed = at.pos, true
		}
		c.stmts(file.Stmts)
	})
}

// unknownName is a variable that nothing assigns: it stands for the unknown parts of a text that is parsed again.
const unknownName = "${__unknown}"

func (s *scan) unknown(at formats.Pos, reason string) {
	for _, u := range s.out.unknown {
		if u.Pos == at && u.Reason == reason {
			return
		}
	}
	s.out.unknown = append(s.out.unknown, Unknown{Pos: at, Reason: reason})
}

func (s *scan) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		s.stmt(st)
	}
}

// stmt scans one statement as a pipeline: what reads a secret and what can send it are judged together.
func (s *scan) stmt(st *syntax.Stmt) {
	from := len(s.out.list)
	s.run(st, nil)
	s.leak(from)
}

// stage is what comes in from the left of a pipe.
type stage struct {
	text    string // what is printed, if that is known
	known   bool
	fetched bool // comes from elsewhere
}

// run scans a statement whose input is in; nil means that it has none from a pipe.
func (s *scan) run(st *syntax.Stmt, in *stage) {
	if st == nil {
		return
	}
	for _, r := range st.Redirs {
		if r.Hdoc != nil {
			body := s.word(r.Hdoc)
			in = &stage{text: body.text, known: body.known(), fetched: body.fetched}
		}
		if r.Op == syntax.WordHdoc {
			body := s.word(r.Word)
			in = &stage{text: body.text, known: body.known(), fetched: body.fetched}
		}
	}
	s.command(st, in)
	s.redirects(st.Redirs)
}

func (s *scan) command(st *syntax.Stmt, in *stage) {
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.call(c, in)
	case *syntax.BinaryCmd:
		s.binary(c, in)
	case *syntax.Subshell:
		s.child(func(n *scan) { n.list(c.Stmts, in) })
	case *syntax.Block:
		s.list(c.Stmts, in)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.maybe(func() { s.stmts(c.Cond); s.stmts(c.Then) })
		}
	case *syntax.WhileClause:
		s.maybe(func() { s.stmts(c.Cond); s.list(c.Do, in) })
	case *syntax.ForClause:
		s.loop(c)
	case *syntax.CaseClause:
		s.word(c.Word)
		for _, item := range c.Items {
			s.maybe(func() { s.stmts(item.Stmts) })
		}
	case *syntax.FuncDecl:
		s.maybe(func() { s.stmt(c.Body) })
	case *syntax.DeclClause:
		s.declare(c)
	case *syntax.TimeClause:
		s.run(c.Stmt, in)
	case *syntax.CoprocClause:
		s.child(func(n *scan) { n.stmt(unnamed(c)) })
	case nil:
	default:
		// tests and arithmetic: only the substitutions in them run
		w := word{}
		s.inside(&w, c)
	}
}

// unnamed gives the command of a coprocess. Only a compound command may have a name before it, but the parser takes the first
// word of a simple command at the left of a pipe for one.
func unnamed(c *syntax.CoprocClause) *syntax.Stmt {
	if c.Name == nil {
		return c.Stmt
	}
	left := c.Stmt
	for {
		b, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		left = b.X
	}
	if call, ok := left.Cmd.(*syntax.CallExpr); ok {
		call.Args = append([]*syntax.Word{c.Name}, call.Args...)
	}
	return c.Stmt
}

// list scans statements of which each sees the same input.
func (s *scan) list(list []*syntax.Stmt, in *stage) {
	for _, st := range list {
		from := len(s.out.list)
		s.run(st, in)
		s.leak(from)
	}
}

// loop scans a for loop; its variable takes a value that is known if there is only one word.
func (s *scan) loop(c *syntax.ForClause) {
	if it, ok := c.Loop.(*syntax.WordIter); ok {
		items := s.fields(it.Items)
		s.vars[it.Name.Value] = binding{}
		if len(items) > 0 && len(items) <= 8 && !anyGlob(items) {
			for _, w := range items {
				s.vars[it.Name.Value] = binding{text: w.text, known: w.known()}
				s.maybe(func() { s.stmts(c.Do) })
			}
			s.vars[it.Name.Value] = binding{}
			return
		}
	}
	s.maybe(func() { s.stmts(c.Do) })
}

func anyGlob(ws []word) bool {
	for _, w := range ws {
		if w.glob {
			return true
		}
	}
	return false
}

func (s *scan) binary(c *syntax.BinaryCmd, in *stage) {
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		s.run(c.X, in)
		s.run(c.Y, in)
		return
	}
	from := len(s.out.list)
	next := &stage{}
	s.child(func(n *scan) {
		n.run(c.X, in)
		next.text, next.known = n.printed(c.X)
	})
	if in != nil {
		next.fetched = in.fetched
	}
	for _, f := range s.out.list[from:] {
		next.fetched = next.fetched || f.fetches
	}
	s.child(func(n *scan) { n.run(c.Y, next) })
}

// printed gives what a plain echo or printf prints, if nothing but its words decides it.
func (s *scan) printed(st *syntax.Stmt) (string, bool) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(st.Redirs) > 0 {
		return "", false
	}
	ws := s.fields(call.Args)
	args := ws[1:]
	switch ws[0].text {
	case "echo":
		for len(args) > 0 && (args[0].text == "-n" || args[0].text == "-e") {
			args = args[1:]
		}
	case "printf":
		if strings.Contains(args[0].text, "%") && len(args) > 1 {
			args = args[1:]
		}
	default:
		return "", false
	}
	var texts []string
	for _, a := range args {
		if !a.known() {
			return "", false
		}
		texts = append(texts, a.text)
	}
	return strings.ReplaceAll(strings.Join(texts, " "), `\n`, "\n"), true
}

// declare takes in what export, local and their like assign; `export -p` alone shows every variable.
func (s *scan) declare(c *syntax.DeclClause) {
	s.here, s.cmd = s.at(c.Pos()), c.Variant.Value
	bare := true
	for _, a := range c.Args {
		if a.Name != nil {
			bare = false
			if a.Value != nil || a.Array != nil {
				s.assign(a)
			}
		}
	}
	if bare && (c.Variant.Value == "export" || c.Variant.Value == "declare" || c.Variant.Value == "typeset") {
		s.add(found{Finding: Finding{Category: SecretAccess, Tier: Recommended, Reason: "prints every variable, passwords and tokens among them"}})
	}
}

func (s *scan) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	s.here, s.cmd = s.at(a.Pos()), name+"="
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			s.word(e.Value)
		}
		s.vars[name] = binding{}
		return
	}
	v := s.word(a.Value)
	s.vars[name] = binding{text: v.text, known: v.known() && s.loose == 0 && !a.Append && a.Index == nil}
	if s.loose == 0 && len(v.text) > 0 && strings.Contains(v.text, "://") {
		s.urls([]word{v}, name)
	}
}

// call scans a simple command.
func (s *scan) call(c *syntax.CallExpr, in *stage) {
	if *s.calls++; *s.calls > mostCalls {
		s.unknown(s.here, "it is too long to be looked at as a whole")
		return
	}
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s.assign(a)
		}
		return
	}
	before := map[string]binding{}
	var env []setting
	for _, a := range c.Assigns {
		if a.Name == nil {
			continue
		}
		if old, ok := s.vars[a.Name.Value]; ok {
			before[a.Name.Value] = old
		}
		v := s.word(a.Value)
		env = append(env, setting{a.Name.Value, v})
	}
	ws := s.fields(c.Args)
	s.start(invocation{words: ws, env: env, in: in})
}

// setting is a variable that is set for one command.
type setting struct {
	name  string
	value word
}

// invocation is one program with what it is started with.
type invocation struct {
	words []word
	env   []setting
	in    *stage // nil: no pipe and no here-document
}

func (v invocation) with(words []word) invocation {
	v.words = words
	return v
}

// add books a finding at the command at hand.
func (s *scan) add(f found) {
	if f.Pos.IsZero() {
		f.Pos = s.here
	}
	if f.Command == "" {
		f.Command = s.cmd
	}
	f.Target = strings.ReplaceAll(f.Target, hole, "?")
	s.out.list = append(s.out.list, f)
}

// risk books a plain finding.
func (s *scan) risk(c Category, t Tier, target, reason string) {
	s.add(found{Finding: Finding{Category: c, Tier: t, Target: target, Reason: reason}})
}

// leak raises what reads a secret beside something that can send it, from the finding with that number on.
func (s *scan) leak(from int) {
	reads, sends := false, false
	for _, f := range s.out.list[from:] {
		reads = reads || f.Category == SecretAccess && !f.names
		sends = sends || f.sends
	}
	if !reads || !sends {
		return
	}
	for i := range s.out.list[from:] {
		f := &s.out.list[from+i]
		if f.Category == SecretAccess && !f.names || f.sends {
			f.Tier = Required
		}
	}
}
