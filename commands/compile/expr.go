package compile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// compileExpr compiles jq in the present scope; nil stays nil. What it refers to is checked at
// once. An expression that stands at many places is compiled once, unless it reads a variable that
// this place does not have.
func (c *compiler) compileExpr(e *syntax.Expr) *query.Code {
	if e == nil {
		return nil
	}
	code := c.prog.Code(e)
	if code == nil ||
		slices.ContainsFunc(code.Vars(), func(v string) bool {
			return !slices.Contains(c.scope.vars, v)
		}) {
		var err error
		code, err = query.Compile(e.Src, query.Options{
			Vars:   slices.Clip(c.scope.vars),
			Funcs:  query.Workflow,
			Strict: true,
		})
		if err != nil {
			c.reportExprError(e, err)
			return nil
		}
		c.prog.facts.code[e] = code
	}

	for _, ref := range code.Refs() {
		if !ref.Bound {
			c.checkReference(e, ref)
		}
	}

	for _, m := range code.Members() {
		if m.Var == "$steps" && !m.Bound && m.From == 2 {
			c.checkElementReference(e, m.Ref)
		}
	}

	return code
}

// reportExprError reports what the jq compiler found; an unknown variable gets the advice that its
// name suggests.
func (c *compiler) reportExprError(e *syntax.Expr, err error) {
	for _, bad := range faults(err) {
		code := CodeExpression
		help := bad.DidYouMean
		if help != "" {
			help = "did you mean '" + help + "'?"
		}
		if strings.HasPrefix(bad.Msg, "unknown variable") && bad.Offset >= 0 {
			code = CodeVariable
			name := regexp.MustCompile(`^\$\w*`).FindString(e.Src[bad.Offset:])
			bare := strings.TrimPrefix(name, "$")
			switch {
			case placeVars[name] != "":
				help = placeVars[name]
			case slices.Contains(c.argNames(), bare):
				help = "write $args." + bare
			case c.scope.find(bare) != nil:
				help = "write $steps." + bare
			case name == "$ARGUMENTS":
				help = c.argumentsHelp()
			}
		}
		help = cmp.Or(help, slipHelp(e.Src, bad.Msg))
		c.report(e.At(bad.Offset), code, help, "%s", bad.Msg)
	}
}

// argumentsHelp says how a step reads the arguments, for who writes $ARGUMENTS.
func (c *compiler) argumentsHelp() string {
	names := c.argNames()
	if len(names) == 0 {
		return "declare arguments in the frontmatter, and write $args.NAME"
	}
	return "write $args." + strings.Join(names[:min(3, len(names))], ", $args.")
}

// bareNames are the variables that are often written without their dollar sign.
var bareNames = []string{"args", "steps", "task", "run", "env", "state", "input", "it", "board"}

// barePath matches a name with its members, as in args.x.
func barePath(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + name + `(\.\w+)+`)
}

// fileName matches a list element that was meant as the name of a file.
var fileName = lazy.Regexp(`^[\w./-]+\.[A-Za-z]{1,5}$`)

// slipHelp is the advice for an expression that is easily written instead of another one.
func slipHelp(src, message string) string {
	name, ok := strings.CutPrefix(message, "unknown function ")
	name, _, _ = strings.Cut(name, "/")
	switch {
	case ok && slices.Contains(bareNames, name):
		return "write $" + cmp.Or(barePath(name).FindString(src), name)
	case ok && fileName().MatchString(src):
		return "a text stands in quotes of its own: '" + strconv.Quote(src) + "'"
	}
	return ""
}

// memberAt is the i-th member of the path that follows a variable, with its place.
func memberAt(e *syntax.Expr, ref query.Ref, i int) syntax.Word {
	out := syntax.Word{Pos: e.At(ref.Offset), Text: ref.Path[i]}
	if ref.Offset < 0 {
		return out
	}

	at := ref.Offset + len(ref.Var)
	for n, key := range ref.Path[:i+1] {
		found := strings.Index(e.Src[at:], key)
		if found < 0 {
			return out
		}
		at += found
		if n < i {
			at += len(key)
		}
	}
	out.Pos = e.At(at)
	return out
}

// checkReference checks one use of a variable.
func (c *compiler) checkReference(e *syntax.Expr, ref query.Ref) {
	if ref.Var == "$task" && !c.scope.task {
		c.report(
			e.At(ref.Offset),
			CodeNoTask,
			"declare an argument of type task",
			"$task needs a task",
		)
	}
	if len(ref.Path) == 0 {
		return
	}

	member := memberAt(e, ref, 0)
	first := member.Text
	if names := varMembers[ref.Var]; names != nil {
		c.checkMember(member, names)
	}
	switch ref.Var {
	case "$args":
		c.checkArgument(e, ref, member)
	case "$env":
		if !slices.ContainsFunc(c.file.Front.Env, func(w syntax.Word) bool {
			return w.Text == first
		}) {
			c.report(member.Pos, CodeMember, "list the name under env: in the frontmatter",
				"$env has no '%s'", first)
		}
	case "$steps":
		c.checkStepReference(e, ref)
	case "$board":
		c.checkWord(member, CodeMember, c.index.boards, "", "no step posts to a board '%s'")
	case "$input":
		if c.workflow != nil && c.workflow.Inputs != nil {
			inputs := sortedKeys(c.workflow.Inputs)
			c.checkWord(member, CodeArgument, inputs, "", "no input is named '%s'")
		}
	}
}

func (c *compiler) checkArgument(e *syntax.Expr, ref query.Ref, member syntax.Word) {
	names := append(c.argNames(), argspec.RawName)
	at := slices.Index(names, member.Text)
	switch {
	case at < 0:
		c.reportUnknown(member, CodeArgument, names, "", "no argument is named '%s'")
	case at < len(c.prog.Args) && c.prog.Args[at].Type == argspec.Boolean:
		c.warnOrElse(e, ref)
	}
}

// warnOrElse warns of `//` behind a boolean.
func (c *compiler) warnOrElse(e *syntax.Expr, ref query.Ref) {
	if ref.Offset < 0 {
		return
	}
	path := strings.TrimSuffix(ref.Var, ".") + "." + strings.Join(ref.Path, ".")
	rest, ok := strings.CutPrefix(e.Src[ref.Offset:], path)
	if ok && strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "//") {
		c.report(
			e.At(ref.Offset),
			CodeOrElse,
			"write default(...) after a |",
			"'//' replaces false as well as null",
		)
	}
}

func (c *compiler) checkMember(w syntax.Word, names []string) {
	c.checkWord(w, CodeMember, names, "", "no member '%s' here; expected one of "+joinWords(names))
}

// checkStepReference checks $steps.ID, the member read of it, and typed fields.
func (c *compiler) checkStepReference(e *syntax.Expr, ref query.Ref) {
	info := c.scope.find(ref.Path[0])
	if info == nil {
		c.reportNoStep(memberAt(e, ref, 0))
		return
	}
	if len(ref.Path) == 1 {
		return
	}
	c.checkMember(memberAt(e, ref, 1), info.members())
	if len(ref.Path) < 3 || ref.Path[1] != "fields" {
		return
	}
	if agent := info.contract(); agent != nil {
		c.checkContractField(e, ref, 2, agent)
	} else if info.Call != nil && len(info.Call.Among) > 0 {
		var among []*formats.AgentInfo
		for _, one := range info.Call.Among {
			among = append(among, one.Info)
		}
		c.checkEmitted(memberAt(e, ref, 2), among, "", "none of its subagents returns a field '%s'")
	}
}

// checkElementReference checks $steps.ID.LIST[].MEMBER, and what is read of the steps and fields of
// a child.
func (c *compiler) checkElementReference(e *syntax.Expr, ref query.Ref) {
	info := c.scope.find(ref.Path[0])
	if info == nil {
		return
	}
	names, one := c.elements(info, ref.Path[1])
	if names == nil {
		return
	}

	c.checkMember(memberAt(e, ref, 2), names)
	switch {
	case len(ref.Path) < 4:
	case ref.Path[2] == "steps" && one != nil:
		c.checkWord(memberAt(e, ref, 3), CodeStep, []string{one.ID}, "it is %s",
			"no step of this loop has id '%s'")
	case ref.Path[2] == "steps" && !strings.Contains(ref.Path[3], "."):
		// what runs around a step has a name of its own
		c.checkStepID(memberAt(e, ref, 3))
	case ref.Path[2] == "fields" && one != nil && one.contract() != nil:
		c.checkContractField(e, ref, 3, one.contract())
	}
}

// checkColumns checks the columns of a table whose rows are a list in the result of a step: a
// column that no row has can only be empty.
func (c *compiler) checkColumns(t *syntax.Table) {
	if t == nil || t.Rows == nil {
		return
	}
	id, list, ok := resultList(t.Rows.Src)
	info := c.scope.find(id)
	if !ok || info == nil {
		return
	}

	names, _ := c.elements(info, list)
	if names == nil {
		return
	}

	for _, column := range t.Columns {
		field := fmt.Sprintf("a field is shown by: table: '%s | map({%s: .fields.%s})'",
			strings.TrimSpace(t.Rows.Src), column.Text, column.Text)
		c.checkWord(column, CodeMember, names, field,
			"column '%s' can only be empty; expected one of "+joinWords(names))
	}
}

// resultList reads $steps.ID.LIST, if an expression is no more than that.
func resultList(src string) (id, list string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(src), "$steps.")
	if !ok {
		return "", "", false
	}
	id, list, ok = strings.Cut(rest, ".")
	return id, list, ok
}

// checkEmitted checks a field that one of several subagents has to return; nothing is known where
// one does not say.
func (c *compiler) checkEmitted(
	field syntax.Word,
	by []*formats.AgentInfo,
	otherwise, format string,
) {
	var names []string
	for _, agent := range by {
		if agent == nil || agent.Fields == nil {
			return
		}
		names = append(names, sortedKeys(agent.Fields)...)
	}
	slices.Sort(names)
	c.checkWord(field, CodeField, slices.Compact(names), otherwise, format)
}

// checkContractField checks a field, the i-th member of a path, against the contract of the
// subagent that returns it.
func (c *compiler) checkContractField(
	e *syntax.Expr,
	ref query.Ref,
	i int,
	agent *formats.AgentInfo,
) {
	name := memberAt(e, ref, i)
	field, ok := agent.Fields[name.Text]
	switch {
	case agent.Fields == nil:
	case ok && field.Type == formats.TypeBoolean:
		c.warnOrElse(e, ref)
	case !ok && nearest.Help(name.Text, sortedKeys(agent.Fields)) != "":
		c.reportUnknown(name, CodeField, sortedKeys(agent.Fields), "its fields are %s",
			"subagent "+agent.Name+" returns no field '%s'")
	case !ok:
		c.missing = append(c.missing, missingField{agent, name})
	}
}

// missingField is a field that the file reads and the contract of its subagent lacks.
type missingField struct {
	agent *formats.AgentInfo
	name  syntax.Word
}

// reportMissing reports the fields that contracts lack, in one finding for each subagent: one that
// comes from elsewhere may lack all that the file reads.
func (c *compiler) reportMissing() {
	seen := map[*formats.AgentInfo]bool{}
	for _, first := range c.missing {
		agent := first.agent
		if seen[agent] {
			continue
		}
		seen[agent] = true

		lines := map[string][]int{}
		at := first.name.Pos
		for _, m := range c.missing {
			name, line := m.name.Text, m.name.Pos.Line
			if m.agent == agent && !slices.Contains(lines[name], line) {
				lines[name] = append(lines[name], line)
				if line < at.Line {
					at = m.name.Pos
				}
			}
		}

		help := "its fields are " + joinWords(sortedKeys(agent.Fields))
		names := sortedKeys(lines)
		if len(names) == 1 && len(lines[names[0]]) == 1 {
			c.report(at, CodeField, help, "subagent %s returns no field '%s'", agent.Name, names[0])
			continue
		}

		for i, name := range names {
			slices.Sort(lines[name])
			word := "line"
			if len(lines[name]) > 1 {
				word = "lines"
			}
			places := strings.Trim(strings.ReplaceAll(fmt.Sprint(lines[name]), " ", ", "), "[]")
			names[i] = fmt.Sprintf("'%s' (%s %s)", name, word, places)
		}
		if agent.File != "" {
			help += "; add the others to `returns` in " + agent.File
		}
		c.report(at, CodeField, help, "subagent %s lacks fields that this file reads: %s",
			agent.Name, strings.Join(names, ", "))
	}
}

// compileCondition compiles a condition over the result of the present step, which is its input.
// What it reads of the fields has to be in the contract.
func (c *compiler) compileCondition(e *syntax.Expr) {
	code := c.compileExpr(e)
	if code == nil || c.subject == nil {
		return
	}
	agent := c.subject.contract()
	if agent == nil {
		return
	}

	for _, ref := range code.Paths() {
		if len(ref.Path) < 2 || ref.Path[0] != "fields" {
			continue
		}
		if second := c.subject.Fallback; second != nil {
			if _, ok := second.Info.Fields[ref.Path[1]]; ok || second.Info.Fields == nil {
				continue
			}
		}
		c.checkContractField(e, ref, 1, agent)
	}
}

// reportNoStep says why the result of a step cannot be read here. A step that is sent back to may
// read what follows it.
func (c *compiler) reportNoStep(w syntax.Word) {
	pos := w.Pos
	id := w.Text
	loops := c.loopsAround(id)
	switch {
	case !c.checkStepID(w):
	case len(loops) > 0:
		help := "outside the loop write $steps." + strings.Join(loops, ".children[0].steps.") +
			".children[0].steps." + id
		c.report(pos, CodeStep, help, "step '%s' is inside the loop '%s'", id, loops[0])
	case c.scope.isInLoop(id):
		c.report(pos, CodeNotYetRun, "its result is there once it has ended",
			"step '%s' is the loop around this place", id)
	case !c.lenient && !c.mayComeBack():
		c.report(pos, CodeNotYetRun, "", "step '%s' cannot have run yet", id)
	}
}

// checkStepID reports an id that no step has.
func (c *compiler) checkStepID(w syntax.Word) bool {
	return c.checkWord(w, CodeStep, sortedKeys(c.index.byID), "", "no step has id '%s'")
}

// mayComeBack tells whether a later step sends back to the present one or to a loop around it.
func (c *compiler) mayComeBack() bool {
	if len(c.index.gotos) > 0 {
		return true
	}
	for s := c.scope; s != nil; s = s.outer {
		if c.index.comesBack[s.self] {
			return true
		}
	}
	return false
}

// compileExprs compiles all expressions of some parts of the tree in the present scope.
func (c *compiler) compileExprs(parts ...any) {
	ofValues := map[*syntax.Text]bool{}
	syntax.Walk(parts, func(n any) bool {
		switch n := n.(type) {
		case *syntax.Expr:
			c.compileExpr(n)
		case *syntax.Value:
			ofValues[n.Text] = true
		case *syntax.Text:
			if name := c.plainVariable(n.Parts); name != "" && !ofValues[n] {
				c.report(n.Pos, CodePlainText, c.expressionHelp(name),
					"%s is text here: it stands outside of ${{ }}", name)
			}
		}
		return true
	})
}

// compileValues compiles what a file hands on: the input of a call, or the parts of a return. It
// also reports variables in their texts outside of ${{ }}: the receiver would get the name, not the
// value. That happens to jq which begins with a bracket, since only a scalar that begins with $ is
// jq as a whole.
func (c *compiler) compileValues(parts ...any) {
	c.compileExprs(parts...)
	syntax.Walk(parts, func(n any) bool {
		v, ok := n.(*syntax.Value)
		if !ok {
			return true
		}
		text := []syntax.Part{{Lit: literalText(v)}}
		if v.Kind == syntax.Template {
			text = v.Text.Parts
		}
		if name := c.plainVariable(text); name != "" {
			help := quoteHelp(v, name)
			if !strings.HasPrefix(name, "$") || name == "$ARGUMENTS" {
				help = c.expressionHelp(name)
			}
			c.report(v.Pos, CodePlainVar, help,
				"%s is text here: it stands outside of ${{ }}", name)
		}
		return true
	})
}

// plainVariable is the first variable in the literal pieces of a text that has a value at this
// place.
func (c *compiler) plainVariable(text []syntax.Part) string {
	for _, part := range text {
		for _, name := range variables(part.Lit) {
			// a prompt of another tool has no arguments by name, and may speak of its own
			if slices.Contains(c.scope.vars, name) ||
				name == "$ARGUMENTS" && len(c.argNames()) > 0 {
				return name
			}
		}
	}
	if len(text) == 1 { // all of it is args.NAME
		name, ok := strings.CutPrefix(strings.TrimSpace(text[0].Lit), "args.")
		if ok && slices.Contains(c.argNames(), name) {
			return "args." + name
		}
	}
	return ""
}

// expressionHelp is the advice for a variable that is text, as the whole value or in it.
func (c *compiler) expressionHelp(name string) string {
	switch {
	case name == "$ARGUMENTS":
		return "write ${{ $args." + c.argNames()[0] + " }}"
	case !strings.HasPrefix(name, "$"):
		return "write $" + name
	}
	return "write ${{ " + name + " }}"
}

// variables are the words with a dollar sign in a text.
func variables(text string) []string {
	if !strings.Contains(text, "$") {
		return nil // as most
	}
	return regexp.MustCompile(`\$\w+`).FindAllString(text, -1)
}

// quoteHelp is the advice for a variable that is text: the whole value if that is jq, else the
// variable alone.
func quoteHelp(v *syntax.Value, name string) string {
	src := strings.Join(strings.Fields(literalText(v)), " ")
	_, err := query.Compile(src, query.Options{
		Vars:   variables(src),
		Funcs:  query.Workflow,
		Strict: true,
	})
	if v.Kind == syntax.Literal && err == nil {
		return "write '${{ " + strings.ReplaceAll(src, "'", "''") + " }}'"
	}
	return "write ${{ " + name + " }}, or ${{ \"" + name + "\" }} for the word itself"
}

// newField is one member of an input that the compiler writes.
func newField(key string, v *syntax.Value) syntax.Field {
	return syntax.Field{Key: syntax.Word{Text: key}, Value: v}
}

func literalField(key string, v any) syntax.Field {
	return newField(key, &syntax.Value{Lit: v})
}

// exprField is a member with jq that the compiler writes itself for a step at pos.
func exprField(key string, pos syntax.Pos, src string) syntax.Field {
	return newField(key, &syntax.Value{
		Pos:  pos,
		Kind: syntax.Jq,
		Expr: &syntax.Expr{Pos: pos, Src: src},
	})
}

// builtinCall makes a call of a subagent that steps come down to; a member without a value is left
// out.
func (c *compiler) builtinCall(pos syntax.Pos, agent string, with ...syntax.Field) *Call {
	with = slices.DeleteFunc(with, func(f syntax.Field) bool {
		return f.Value == nil
	})
	c.compileExprs(with) // that of a check is shell, whose variables may have the same names
	info, ok := c.contract(agent)
	if !ok {
		c.report(pos, CodeAgent, "it comes with tercet; is the set of subagents complete?",
			"unknown subagent '%s'", agent)
	}

	c.checkMayCall(pos, info, agent)
	return &Call{
		Agent: agent,
		Info:  info,
		With:  with,
	}
}
