package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/formats"
)

// Limits of one classification; deeper or longer parts are reported as unknown.
const (
	maxDepth = 40
	maxCalls = 20000
)

// scan walks statements in the order in which a shell would run them, with the folder and the
// variables as they are known there.
type scan struct {
	place       Place
	out         *findings
	vars        map[string]string // values, with a hole for what is not known
	dir         string            // working folder, valid if dirKnown
	dirKnown    bool
	conditional int             // above 0: what is assigned here may not have happened
	depth       int             // of texts and substitutions within each other
	calls       *int            // commands looked at, shared
	fetched     map[string]bool // files that hold what came from elsewhere, shared
	base        origin          // where this text stands
	here        formats.Pos     // place of the command at hand
	cmd         string          // its name
	args        *arguments      // nil: only risks are looked for
	quiet       bool            // commands inside of words are not scanned
}

// origin is the place of a text inside another; zero for the text itself.
type origin struct {
	pos   formats.Pos
	fixed bool // every place in this text is pos, because quotes changed the text
}

func (s *scan) posOf(p syntax.Pos) formats.Pos {
	line := max(int(p.Line()), 1)
	col := max(int(p.Col()), 1)
	switch {
	case s.base.pos.IsZero():
		return formats.Pos{Line: line, Col: col}
	case s.base.fixed:
		return s.base.pos
	case line == 1:
		return formats.Pos{Line: s.base.pos.Line, Col: s.base.pos.Col + col - 1}
	}
	return formats.Pos{Line: s.base.pos.Line + line - 1, Col: col}
}

// inSubshell runs f in a shell of its own: what it assigns and where it goes does not reach this
// one.
func (s *scan) inSubshell(f func(*scan)) {
	c := *s
	c.vars = maps.Clone(s.vars)
	c.depth++
	if c.depth > maxDepth {
		stopScan(s, "it is nested too deeply to be looked at")
		return
	}
	f(&c)
}

// stopScan notes that a limit ended the scan here.
func stopScan(s *scan, reason string) {
	s.addUnknown(s.here, reason)
	if s.args != nil {
		s.args.refuse(unreadScript)
	}
}

// scanText classifies a text that a shell inside the command would read. at is the word that holds
// it.
func (s *scan) scanText(src string, at word) {
	if strings.Contains(src, hole) {
		s.addUnknown(at.pos, "a shell reads a text that is known only when it runs")
		if strings.Trim(src, hole+" \t\n") == "" {
			return
		}
		src = strings.ReplaceAll(src, hole, unknownName)
	}

	s.inSubshell(func(c *scan) {
		file, err := parse(src)
		if err != nil {
			s.addUnknown(at.pos, "a shell reads a text that is no command")
			return
		}
		c.base = (origin{pos: at.inner})
		if at.inner.IsZero() {
			c.base = origin{pos: at.pos, fixed: true}
		}
		c.scanStmts(file.Stmts, nil)
	})
}

// unknownName is a variable that nothing assigns: it stands for the unknown parts of a text that is
// parsed again.
const unknownName = "${__unknown}"

func (s *scan) addUnknown(at formats.Pos, reason string) {
	if u := (Unknown{Pos: at, Reason: reason}); !slices.Contains(s.out.unknown, u) {
		s.out.unknown = append(s.out.unknown, u)
	}
}

// scanStmts scans statements of which each sees the same input. Each is judged as a pipeline: what
// reads a secret and what can send it belong together.
func (s *scan) scanStmts(list []*syntax.Stmt, in *stage) {
	for _, st := range list {
		from := len(s.out.list)
		s.scanStmt(st, in)
		s.raiseLeaks(from)
	}
}

// stage is what comes in from the left of a pipe, or from a here-document.
type stage struct {
	text    string // what is printed; a hole if that is not known
	fetched bool   // comes from elsewhere
}

func (in *stage) known() bool {
	return in != nil && !strings.Contains(in.text, hole)
}

// scanStmt scans a statement whose input is in; nil means that it has none.
func (s *scan) scanStmt(st *syntax.Stmt, in *stage) {
	if a := s.args; a != nil {
		before := a.inputGiven
		defer func() { a.inputGiven = before }()
		for _, r := range st.Redirs {
			a.checkRedirect(s, st, r)
		}
	}

	for _, r := range st.Redirs {
		w := r.Hdoc
		if r.Op == syntax.WordHdoc {
			w = r.Word
		}
		if w != nil {
			body := s.word(w)
			in = &stage{text: body.text, fetched: body.fetched}
		}
	}

	s.scanCommand(st, in)
	s.judgeRedirects(st.Redirs)
}

func (s *scan) scanCommand(st *syntax.Stmt, in *stage) {
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.scanCall(c, in)
	case *syntax.BinaryCmd:
		s.scanBinary(c, in)
	case *syntax.Subshell:
		s.inSubshell(func(n *scan) { n.scanStmts(c.Stmts, in) })
	case *syntax.Block:
		s.scanStmts(c.Stmts, in)
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.FuncDecl:
		s.scanCompound(c, in)
	case *syntax.DeclClause:
		s.scanDeclaration(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.scanStmt(c.Stmt, in)
		}
	case *syntax.CoprocClause:
		s.inSubshell(func(n *scan) { n.scanStmts([]*syntax.Stmt{coprocCommand(c)}, nil) })
	case nil:
	default: // tests and arithmetic: only the substitutions in them run
		s.scanInside(&word{}, c)
	}
}

// scanCompound looks for risks in every command of a conditional, a loop or a function. Only a run
// shows which of them run, and how often.
func (s *scan) scanCompound(c syntax.Command, in *stage) {
	s.addUnknown(s.posOf(c.Pos()), "which of its commands run shows only when it runs")
	s.conditional++
	defer func() { s.conditional-- }()

	if loop, ok := c.(*syntax.ForClause); ok {
		if over, ok := loop.Loop.(*syntax.WordIter); ok {
			s.scanLoop(over, loop.Do, in)
			return
		}
	}

	syntax.Walk(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			s.word(n)
			return false
		case *syntax.Stmt:
			s.scanStmts([]*syntax.Stmt{n}, in)
			return false
		}
		return true
	})
}

// coprocCommand gives the command of a coprocess. Only a compound command may have a name before
// it, but the parser takes a simple command's first word, left of a pipe, for one.
func coprocCommand(c *syntax.CoprocClause) *syntax.Stmt {
	left := c.Stmt
	for b, ok := left.Cmd.(*syntax.BinaryCmd); ok; b, ok = left.Cmd.(*syntax.BinaryCmd) {
		left = b.X
	}

	if call, ok := left.Cmd.(*syntax.CallExpr); ok && c.Name != nil {
		call.Args = append([]*syntax.Word{c.Name}, call.Args...)
	}
	return c.Stmt
}

// scanLoop scans the body of a for loop: once for each of a few words that are known, else with a
// variable that is not.
func (s *scan) scanLoop(over *syntax.WordIter, body []*syntax.Stmt, in *stage) {
	name := over.Name.Value
	items := s.fields(over.Items)
	if len(items) == 0 || len(items) > 8 ||
		slices.ContainsFunc(items, func(w word) bool { return w.glob }) {
		items = []word{{text: hole}}
	}

	for _, w := range items {
		s.vars[name] = w.value()
		s.scanStmts(body, in)
	}
	s.vars[name] = hole
}

func (s *scan) scanBinary(c *syntax.BinaryCmd, in *stage) {
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		s.scanStmt(c.X, in)
		s.scanStmt(c.Y, in)
		return
	}

	from := len(s.out.list)
	next := &stage{fetched: in != nil && in.fetched, text: hole}
	s.inSubshell(func(n *scan) {
		n.scanStmt(c.X, in)
		next.text = n.printedText(c.X)
	})

	if a := s.args; a != nil {
		before := a.inputGiven
		defer func() { a.inputGiven = before }()
		a.inputGiven = a.inputGiven || a.trustOf(c.X) == given
	}

	next.fetched = next.fetched || anyFetches(s.out.list[from:])
	s.inSubshell(func(n *scan) { n.scanStmt(c.Y, next) })
}

func anyFetches(list []found) bool {
	return slices.ContainsFunc(list, func(f found) bool { return f.fetches })
}

// printedText gives what a plain echo or printf prints; a hole if more than its words decides it.
func (s *scan) printedText(st *syntax.Stmt) string {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(st.Redirs) > 0 {
		return hole
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
		return hole
	}
	return strings.ReplaceAll(joinWords(args), `\n`, "\n")
}

const everyVariable = "prints every variable, passwords and tokens among them"

// scanDeclaration takes in what export, local and their like assign; `export -p` alone shows every
// variable.
func (s *scan) scanDeclaration(c *syntax.DeclClause) {
	s.here = s.posOf(c.Pos())
	s.cmd = c.Variant.Value
	bare := oneOf(s.cmd, "export", "declare", "typeset")

	for _, a := range c.Args {
		bare = bare && a.Name == nil
		if a.Value != nil || a.Array != nil {
			s.scanAssignment(a)
		}
	}

	if bare {
		s.addRisk("secret+", "", everyVariable)
	}
}

func (s *scan) scanAssignment(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	s.here = s.posOf(a.Pos())
	s.cmd = name + "="
	s.vars[name] = hole

	if a.Array != nil {
		for _, e := range a.Array.Elems {
			s.word(e.Value)
		}
		return
	}

	v := s.word(a.Value)
	if s.conditional > 0 {
		return
	}

	if !a.Append && a.Index == nil {
		s.vars[name] = v.value()
	}
	s.judgeDatabaseURLs([]word{v}, name)
}

// scanCall scans a simple command.
func (s *scan) scanCall(c *syntax.CallExpr, in *stage) {
	*s.calls++
	if *s.calls > maxCalls {
		stopScan(s, "it is too long to be looked at as a whole")
		return
	}

	v := invocation{in: in}
	for _, a := range c.Assigns {
		if s.args != nil {
			s.args.checkAssignedName(a)
		}
		if len(c.Args) == 0 {
			s.scanAssignment(a)
		} else if a.Name != nil {
			v.env = append(v.env, setting{a.Name.Value, s.word(a.Value)})
		}
	}

	v.words = s.fields(c.Args)
	s.start(v)
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

// add books a finding at the command at hand.
func (s *scan) add(f found) {
	f.Pos = s.here
	f.Command = s.cmd
	f.Target = strings.ReplaceAll(f.Target, hole, "?")
	s.out.list = append(s.out.list, f)
}

// addRisk books a finding of a class that neither fetches nor sends.
func (s *scan) addRisk(class, target, reason string) {
	s.add(found{Finding: newFinding(class, target, reason)})
}

// addRemote books what speaks to another machine: it can bring data in and carry data out.
func (s *scan) addRemote(class, target, reason string) {
	s.add(found{
		Finding: newFinding(class, target, reason),
		sends:   true,
		fetches: true,
	})
}

// raiseLeaks raises what reads a secret beside something that can send it, from the finding with
// that number on.
func (s *scan) raiseLeaks(from int) {
	list := s.out.list[from:]
	reads := func(f found) bool {
		return f.Category == SecretAccess && !f.names
	}
	sends := func(f found) bool { return f.sends }
	if !slices.ContainsFunc(list, reads) || !slices.ContainsFunc(list, sends) {
		return
	}

	for i, f := range list {
		if reads(f) || sends(f) {
			list[i].Level = Required
		}
	}
}
