package shell

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tercet/internal/lazy"
)

// intake says where a program takes arguments: a row of the rules that begins with %. Lists are
// words with spaces between them; an option stands without its hyphens.
//
//	free       no option starts a program, writes a file or takes a name
//	operands   options and operands
//	verb       a verb, then options and operands
//	start      starts the program behind its options
//	script     its first word is a script, or its code stands behind an option
//	text       its first word is a program text, then come files
//	target     its first words name what the project has, a shell reads the others
//	find       its options start programs
//	url        its operands are addresses
//	names      takes names of variables
//	never      has a language of its own, or starts what its words name
//	test, printf, cd   what they are
type intake struct {
	name, kind string
	lists      map[string]string
	unknown    bool // no row names the program
}

// The lists of an intake:
//
//	flags    options without a value, before the script or the program
//	valued   options whose value is the next word
//	code     options whose value is a program text
//	script   options whose value is a script
//	verbs    what may stand before operands; looks: verbs that start nothing
//	letters  options of one letter behind which an argument may stand; long: of more letters
//	joined   options, as written, that an argument may follow in the same word
//	starts   words of find that start programs; values: words before a value
//
// and its traits:
//
//	shell    its text is that of a shell
//	lead     one word stands before the program: a time, a host, a container
//	sets     variables stand before the program
//	digits   a number is an option
//	asks     -v only asks about a name
//	deaf     what it reads may name programs
//	again    another shell reads the words once more
//	target   a word may define a variable
//	local    operands are code of the project
//	no@      @file brings options, or sends a file; no: a name with : is a host
//	forward  -- hands options on to another program
func (p intake) has(trait string) bool {
	return hasWord(p.lists["traits"], trait)
}

// hasWord tells whether a word stands in a list, or the list has everything.
func hasWord(list, word string) bool {
	return list == "*" || slices.Contains(strings.Fields(list), word)
}

var intakes = sync.OnceValue(func() map[string]intake {
	all := map[string]intake{}
	for line := range strings.SplitSeq(strings.ReplaceAll(rules, "\n\t\t", " "), "\n") {
		line, ok := strings.CutPrefix(line, "%")
		if !ok {
			continue
		}

		kind, rest, _ := strings.Cut(line, " ")
		names, keys, _ := strings.Cut(rest, " | ")
		lists := map[string]string{}
		for part := range strings.SplitSeq(keys, "; ") {
			key, words, _ := strings.Cut(part, ": ")
			lists[key] = words
		}
		for name := range strings.FieldsSeq(names) {
			all[name] = intake{name, kind, lists, false}
		}
	}
	return all
})

// intakeOf finds a program by its name, with or without a folder and a version.
func intakeOf(name string) intake {
	base := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	for _, one := range []string{
		base,
		strings.TrimRight(base, ".0123456789"),
		strings.TrimRight(base, "-.0123456789"),
	} {
		if p, ok := intakes()[one]; ok && one != "*" {
			return p
		}
	}

	p := intakes()["*"]
	p.name = base
	p.unknown = true
	return p
}

// optionUse is what an option of a program does with words.
type optionUse uint8

const (
	useUnknown optionUse = iota
	useFlag
	useValue // takes the next word
	useCode  // the next word is a program text
	useScript
)

// option reads an option that stands before the script or the program.
func (p intake) option(word string) optionUse {
	name, _, attached := strings.Cut(strings.TrimLeft(word, "-"), "=")
	long := strings.HasPrefix(word, "--")
	if use := p.useOf(name); use != useUnknown && (long || len(name) > 1) {
		switch {
		case !attached || use == useFlag:
			return use
		case use == useValue:
			return useFlag
		}
		return useUnknown
	}

	if p.has("digits") && strings.Trim(word, "-0123456789") == "" {
		return useFlag
	}
	if long {
		return useUnknown
	}

	for i := range len(name) {
		use := p.useOf(name[i : i+1])
		last := i == len(name)-1
		switch {
		case use == useValue && (!last || attached):
			return useFlag // the value is the rest of the word
		case use != useFlag && !last, attached:
			return useUnknown
		case last:
			return use
		}
	}

	return useUnknown
}

func (p intake) useOf(name string) optionUse {
	switch {
	case name == "":
		return useUnknown
	case hasWord(p.lists["flags"], name):
		return useFlag
	case hasWord(p.lists["valued"], name):
		return useValue
	case hasWord(p.lists["code"], name):
		return useCode
	case hasWord(p.lists["script"], name):
		return useScript
	}
	return useUnknown
}

// mayPrecedeArgument tells whether an argument may stand behind an option, which may or may not
// take it for its value.
func (p intake) mayPrecedeArgument(option string) bool {
	name, _, attached := strings.Cut(option, "=")
	if attached {
		return true // it has its value
	}

	bare := strings.TrimLeft(name, "-")
	if hasWord(p.lists["long"], bare) {
		return true
	}
	if strings.HasPrefix(name, "--") || len(bare) > 4 {
		return false
	}
	for _, letter := range bare {
		if !hasWord(p.lists["letters"], string(letter)) && (letter < '0' || letter > '9') {
			return false
		}
	}
	return bare != ""
}

// programCall is a program with its words, while its arguments are judged.
type programCall struct {
	*arguments
	intake

	scan     *scan
	spelling string // the program's name in the script
	args     []field
	// ownFolder means that the program lies in one of tercet's own folders
	ownFolder bool
	again     bool // another shell reads the words once more
}

// judgeProgram judges a program with its words.
func (a *arguments) judgeProgram(s *scan, args []field, again bool) {
	if len(args) == 0 || a.reason != "" {
		return
	}
	if a.depth > maxDepth {
		a.refuse(unreadScript)
		return
	}

	a.depth++
	defer func() { a.depth-- }()
	name := args[0]
	switch {
	case name.origin == given, name.origin == number,
		name.origin == folder && (!name.ownFirst || name.loose):
		a.refuse("an argument would be the name of the program")
		return
	case name.origin == unsure && a.given:
		a.refuse("an argument could become the name of the program, " +
			"which the script takes from a variable or from an output")
		return
	case name.origin == unsure:
		return
	}

	if beginsOption(name.lead) && (hasKnown(args) || a.inputGiven) {
		// ssh and kubectl take options behind a host and a pod, too
		a.refuse("an argument could be part of the program that stands behind the option %s",
			name.lead)
		return
	}

	p := intakeOf(name.lead)
	if a.movedByArgument && !hasWord("free test cd", p.kind) {
		a.refuse("an argument would name the folder in which %s looks for programs", p.name)
		return
	}

	c := &programCall{
		arguments: a,
		intake:    p,
		scan:      s,
		spelling:  name.lead,
		args:      args[1:],
		ownFolder: name.origin == folder,
		again:     again || p.has("again"),
	}
	if strings.Contains(name.lead, "/") || name.origin == folder {
		a.files.ran = append(a.files.ran, name.lead)
	}
	c.judge()
}

// hasGiven tells whether one of the words holds an argument that is no number.
func hasGiven(args []field) bool {
	return slices.ContainsFunc(args, func(f field) bool { return f.origin == given })
}

// hasKnown tells whether one of the words holds an argument, a number or a folder.
func hasKnown(args []field) bool {
	return slices.ContainsFunc(args, func(f field) bool { return f.origin >= number })
}

func (c *programCall) judge() {
	if c.has("deaf") && c.inputGiven {
		c.refuseReach()
	}
	if c.mayLoad() {
		c.files.loads = c.spelling
	}

	switch c.kind {
	case "free":
		c.judgeParameters(c.args, true)
	case "operands":
		// what a script of the project gets are its parameters; an absolute path may be any program
		own := strings.Contains(c.spelling, "/") && !strings.HasPrefix(c.spelling, "/")
		if c.unknown && (own || c.ownFolder) {
			c.judgeParameters(c.args, false)
			return
		}
		if rest, ok := c.behindRun(); ok && c.unknown {
			if rest[0].origin != fixed || intakeOf(rest[0].lead).unknown {
				c.refusePartOf()
			}
			c.judgeProgram(c.scan, rest, true)
			return
		}
		c.judgeOperands(c.args)
	case "verb":
		c.judgeVerb()
	case "start":
		c.judgeStarter()
	case "script":
		c.judgeInterpreter()
	case "text":
		c.judgeTextProgram()
	case "target":
		c.judgeTargets()
	case "find":
		c.judgeFind()
	case "url":
		c.judgeURLs()
	case "test":
		c.judgeTest()
	case "printf":
		c.judgePrintf()
	case "cd":
		c.judgeOperands(c.args)
		c.movedByArgument = c.movedByArgument || hasGiven(c.args)
	case "names":
		// after set -k, words behind a program are variables for it
		keyword := c.name == "set" && c.given && slices.ContainsFunc(c.args, func(f field) bool {
			return beginsOption(f.lead) && strings.Contains(f.lead, "k")
		})
		if hasGiven(c.args) || keyword {
			c.refuse("an argument would be a name given to %s", c.spelling)
		}
	default:
		c.refuseAll()
	}
}

// mayLoad tells whether a program may run files of the project by their names, such as a Makefile,
// a hook or a module beside it.
func (c *programCall) mayLoad() bool {
	switch c.kind {
	case "free", "test", "printf", "cd", "names", "url", "find":
		return false
	case "start":
		return c.lists["verbs"] != ""
	case "operands":
		return !hasWord(plainTools, c.name)
	}
	return true
}

// plainTools are programs with operands that run nothing of the project.
const plainTools = writers + " sort gsort rg mkdir rmdir rm chmod chown date diff uniq column " +
	"file xxd strings uname hostname ps kill gtar bsdtar"

// startWords are the words behind which a program that no rule names usually starts another one.
const startWords = "run exec x dlx eval shell ssh console"

// behindRun gives the words behind such a word, if it stands before an argument.
func (c *programCall) behindRun() ([]field, bool) {
	for i, f := range c.args {
		if f.origin >= number {
			return nil, false
		}
		if f.origin != fixed || !hasWord(startWords, f.lead) {
			continue
		}

		rest := c.args[i+1:]
		if len(rest) > 0 && rest[0].origin == fixed && rest[0].lead == "--" {
			rest = rest[1:]
		}
		return rest, hasKnown(rest)
	}
	return nil, false
}

// refuseReach refuses what a program would read as a program.
func (c *programCall) refuseReach() {
	c.refuse("an argument could reach %s, which would read it as a program", c.spelling)
}

// refusePartOf refuses what would be part of a program text.
func (c *programCall) refusePartOf() {
	c.refuse("an argument would be part of a program for %s", c.spelling)
}

// refuseAll refuses every argument, and tercet's own folders inside of another text.
func (c *programCall) refuseAll() {
	inside := func(f field) bool { return f.origin == folder && !f.ownFirst }
	if hasGiven(c.args) || slices.ContainsFunc(c.args, inside) || c.inputGiven ||
		c.has("shell") && c.given {
		c.refuseReach()
	}

	if !c.has("shell") || !hasKnown(c.args) || c.reason != "" {
		return
	}

	var words []string
	for _, f := range c.args {
		if f.origin == unsure || f.origin > number {
			c.refuseReach()
		}
		words = append(words, f.text)
	}
	c.judgeCode(field{word: word{text: strings.Join(words, " ")}, origin: number}, nil)
}

// judgeCode judges a text that a shell reads as a program, with the words that it gets.
func (c *programCall) judgeCode(text field, params []field) {
	switch text.origin { //nolint:exhaustive // the others are texts that can be read
	case folder, given:
		c.refusePartOf()
		return
	case unsure:
		if c.given {
			c.refuseReach()
		}
		return
	}

	file, err := parse(strings.ReplaceAll(text.text, hole, "")) // the marks of numbers stay
	if err != nil {
		c.refuse(unreadScript)
		return
	}

	vars := maps.Clone(c.vars)
	defer func() { c.vars = vars }()
	c.vars = maps.Clone(vars)
	every := value{texts: []string{}}
	for _, f := range params {
		every = every.join(f.value())
	}
	shifts := strings.Contains(text.text, "shift")
	for i, f := range params {
		v := f.value()
		if shifts {
			v = every
		}
		c.setVar(strconv.Itoa(i), v)
	}

	c.setVar("@", every)
	c.setVar("*", every)
	c.scan.inSubshell(func(s *scan) { c.judgeScript(s, file) })
}

// judgeParameters judges words that a script, or a program without options to fear, gets.
func (c *programCall) judgeParameters(args []field, free bool) {
	ended := free
	for _, f := range args {
		ended = ended || f.origin == fixed && f.lead == "--"
		if f.origin != given {
			continue
		}
		c.checkReread(f)
		if !ended && (f.option || f.loose || beginsOption(f.lead)) {
			c.refuseOption()
		}
	}
}

// checkReread refuses signs of a shell where another shell reads the words once more.
func (c *programCall) checkReread(f field) {
	if c.again && !f.givenAll(isPlain().MatchString) {
		c.refuse("an argument with signs of a shell would be read once more by %s", c.spelling)
	}
}

func (c *programCall) refuseOption() {
	c.refuse(
		"an argument that begins with - or + could be an option of %s; write -- in front of it",
		c.spelling,
	)
}

// writers are programs that write the files that their words name.
const writers = "tee cp mv ln dd install tar unzip sponge ed touch"

// judgeOperands judges the words of a program by its options.
func (c *programCall) judgeOperands(args []field) {
	writes := hasWord(writers, c.name) || c.name == "uniq" && len(args) > 1
	if writes && (hasGiven(args) || c.inputGiven) {
		c.files.wrote = append(c.files.wrote, "")
	}

	for _, f := range args {
		if writes && c.inputGiven && !beginsOption(f.lead) {
			c.files.withText = append(c.files.withText, f.knownText())
		}
	}
	if c.has("no:") {
		c.judgeArchive(args)
	}

	ended := false
	before := "" // the option in front
	for _, f := range args {
		if f.origin != given {
			ended = ended || f.origin == fixed && f.lead == "--"
			before = ""
			if strings.HasPrefix(f.lead, "-") && !ended {
				before = f.lead
			}
			continue
		}

		name, _, attached := strings.Cut(strings.TrimLeft(f.lead, "-"), "=")
		switch {
		case (f.loose || f.option) && (!ended || c.has("forward")):
			if c.has("forward") || c.kind == "cd" {
				c.refuse("an argument that begins with - or + could be an option of %s", c.spelling)
			}
			c.refuseOption()
		case ended:
		case beginsOption(f.lead):
			if (!attached || !hasWord(c.lists["long"], name)) &&
				!hasWord(c.lists["joined"], f.lead) {
				c.refuse("an argument would be part of the option %s of %s", f.lead, c.spelling)
			}
		case before != "" && !c.mayPrecedeArgument(before):
			c.refuseValueOf(before)
		case c.name == "gh" && (before == "--hostname" ||
			hasWord("-R --repo", before) && !f.givenAll(isOwnersRepo)):
			c.refuseHost(before)
		}

		c.judgeOperand(f)
		before = ""
	}
}

func (c *programCall) refuseValueOf(option string) {
	c.refuse(
		"an argument could be the value of the option %s of %s; write -- in front of it if it "+
			"is none",
		option, c.spelling,
	)
}

// judgeArchive judges tar, which reads options from its input, and whose first word is options
// without a hyphen.
func (c *programCall) judgeArchive(args []field) {
	if c.inputGiven {
		c.refuse("an argument could reach %s, which can read options from its input", c.spelling)
	}
	if hasGiven(args) && args[0].origin == fixed &&
		strings.Trim(args[0].lead, "-cxtrufvzjJpka") != "" {
		c.refuseValueOf(args[0].lead)
	}
}

// judgeOperand judges the value of a word.
func (c *programCall) judgeOperand(f field) {
	c.checkReread(f)
	noAt := func(text string) bool { return !strings.HasPrefix(text, "@") }
	noColon := func(text string) bool { return !strings.Contains(text, ":") }
	switch {
	case c.has("no@") && !f.givenAll(noAt):
		c.refuse("an argument that begins with @ would name a file for %s", c.spelling)
	case c.has("no:") && !f.givenAll(noColon):
		c.refuse("an argument with : would name a host for %s", c.spelling)
	case c.name == "gh" && !f.givenAll(isUsualHost):
		c.refuse("an argument would name a host for %s", c.spelling)
	case c.has("local") && !f.givenAll(inProject):
		c.refuse("an argument would name code outside of the project for %s", c.spelling)
	}
}

// isUsualHost tells whether a text names nothing at another host than the usual one: gh would send
// a token there.
func isUsualHost(text string) bool {
	return !strings.Contains(text, "://") || strings.HasPrefix(text, "https://github.com/")
}

// isOwnersRepo tells whether a text is OWNER/REPO without a host in front.
func isOwnersRepo(text string) bool {
	return strings.Count(text, "/") < 2
}

// inProject tells whether a text leads to nothing outside of the project.
func inProject(text string) bool {
	return text == "" || filepath.IsLocal(filepath.FromSlash(strings.TrimPrefix(text, "./"))) &&
		!strings.ContainsAny(text, "@")
}

var (
	unaryTest  = lazy.Regexp(`^-[nzfdersxhLwSpbcgku]$`)
	binaryTest = lazy.Regexp(`^(?:=|==|!=|-nt|-ot|-ef)$`)
	anyFormat  = lazy.Regexp(`%[-+ #0-9.'$]*[A-Za-z(*]`)
)

// judgeTest judges test and [: a value is one only where the form has two or three words.
func (c *programCall) judgeTest() {
	args := c.args
	if n := len(args); n > 0 && args[n-1].origin == fixed && args[n-1].lead == "]" {
		args = args[:n-1]
	}
	if len(args) > 0 && args[0].origin == fixed && args[0].lead == "!" {
		args = args[1:]
	}

	loose := slices.ContainsFunc(args, func(f field) bool { return f.loose })
	switch {
	case !hasGiven(args):
		return
	case loose:
	case len(args) == 1:
		return
	case len(args) == 2 && args[0].origin == fixed && unaryTest().MatchString(args[0].lead):
		return
	case len(args) == 3 && args[1].origin == fixed && binaryTest().MatchString(args[1].lead):
		return
	}

	for _, f := range args {
		asks := f.origin == fixed && strings.HasPrefix(f.lead, "-") &&
			!unaryTest().MatchString(f.lead) && f.lead != "-a" && f.lead != "-o"
		name := func(text string) bool {
			return !strings.ContainsAny(text, "([")
		}
		if asks || f.origin == given && (f.option || f.loose || !f.givenAll(name)) {
			c.refuse("an argument could be computed by %s", c.spelling)
		}
	}
}

// judgePrintf judges the format and what it prints: a conversion into a number can compute, and one
// can name a variable.
func (c *programCall) judgePrintf() {
	if !hasGiven(c.args) {
		return
	}

	format := c.args[0]
	if format.origin == fixed && format.lead == "--" && len(c.args) > 1 {
		format = c.args[1]
	}
	if format.option || format.loose || strings.HasPrefix(format.lead, "-") {
		c.refuseOption()
	}

	for _, text := range format.texts {
		for _, conversion := range anyFormat().FindAllString(
			strings.ReplaceAll(text, "%%", ""),
			-1,
		) {
			if !strings.ContainsAny(conversion[len(conversion)-1:], "sqbc") {
				c.refuse("an argument could be computed by printf %s", conversion)
			}
		}
	}

	noFormat := func(text string) bool { return !strings.Contains(text, "%") }
	if format.texts == nil || format.origin == given && !format.givenAll(noFormat) {
		c.refuse("an argument would be the format of printf")
	}

	c.judgeParameters(c.args[1:], true)
}

// skipOptions gives the words behind the options of a program; false if an option is not known.
func (c *programCall) skipOptions(args []field) (rest []field, ok bool) {
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case f.origin == given && (f.option || f.loose):
			return nil, false
		case f.origin == fixed && f.lead == "--":
			return args[i+1:], true
		case !strings.HasPrefix(f.lead, "-") || f.lead == "-":
			return args[i:], true
		case f.origin == given:
			return nil, false
		}

		switch c.option(f.lead) {
		case useFlag:
		case useValue:
			i++
			if i < len(args) && args[i].origin == given {
				return nil, false
			}
		case useUnknown, useCode, useScript:
			return nil, false
		}
	}
	return nil, true
}

// judgeStarter judges the program that another one starts.
func (c *programCall) judgeStarter() {
	args := c.args
	first := ""
	if len(args) > 0 && args[0].origin == fixed {
		first = args[0].lead
	}
	if c.has("asks") && (first == "-v" || first == "-V") {
		if hasGiven(args) {
			c.refuse("an argument would be a name given to %s -v", c.spelling)
		}
		return
	}

	if c.lists["verbs"] != "" {
		if first == "compose" {
			args = args[1:]
			first = ""
			if len(args) > 0 && args[0].origin == fixed {
				first = args[0].lead
			}
		}
		if hasWord(c.lists["looks"], first) {
			c.judgeQuery(args[1:])
			return
		}
		if !hasWord(c.lists["verbs"], first) {
			if hasGiven(args) || c.inputGiven {
				c.refusePartOf()
			}
			return
		}
		args = args[1:]
	}

	rest, ok := c.skipOptions(args)
	if !ok {
		if hasKnown(args) || c.inputGiven {
			c.refuse("an argument could be an option of %s, or the program that it starts",
				c.spelling)
		}
		return
	}

	if c.lists["verbs"] != "" && len(rest) < 2 && (hasGiven(rest) || c.inputGiven) {
		c.refusePartOf()
	}

	for c.has("sets") && len(rest) > 0 {
		name, _, found := strings.Cut(rest[0].lead, "=")
		if !found || !isName(strings.TrimSuffix(name, "+")) {
			break
		}
		c.setVar(strings.TrimSuffix(name, "+"), rest[0].value().trimPrefix(name+"="))
		rest = rest[1:]
	}

	if c.has("lead") && len(rest) > 0 {
		if rest[0].origin == given {
			c.refusePartOf()
		}
		rest = rest[1:]
		if len(rest) > 0 && rest[0].origin == fixed && rest[0].lead == "--" {
			rest = rest[1:]
		}
	}
	c.judgeProgram(c.scan, rest, c.again)
}

// judgeQuery judges a verb that only asks: behind what it asks about stand names, and no options.
func (c *programCall) judgeQuery(args []field) {
	if c.inputGiven && len(args) < 2 {
		c.refusePartOf()
	}
	if !hasGiven(args) {
		return
	}

	for i, f := range args {
		// another option could name a file with programs, or a host
		known := f.origin == fixed && hasWord("-n -l -o -A --namespace --selector --output", f.lead)
		option := f.option || f.loose || beginsOption(f.lead) && !known
		if option || i == 0 && f.origin != fixed {
			c.refusePartOf()
		}
	}
}

// judgeScriptCall judges the first word as a script, and the others as its parameters.
func (c *programCall) judgeScriptCall(rest []field) {
	script := rest[0]
	input := script.origin == fixed && isInput(script.lead)
	switch {
	case script.origin == given, script.origin == number,
		script.origin == folder && (!script.ownFirst || script.loose):
		c.refuse("an argument would be the script of %s", c.spelling)
		return
	case script.origin == unsure && (hasGiven(rest) || c.inputGiven), input && c.inputGiven,
		input && c.given && !oneOf(script.lead, "-", "/dev/stdin"):
		c.refuseReach()
		return
	}

	if script.origin != folder {
		c.files.ran = append(c.files.ran, script.knownText())
	}
	c.judgeParameters(rest[1:], false)
}

func isInput(name string) bool {
	return name == "-" || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/")
}

// runningModules are modules of python whose words are programs.
const runningModules = "" +
	"timeit pdb bdb cProfile profile trace runpy code codeop pip doctest unittest pytest zipapp " +
	"idlelib idlelib.idle ensurepip venv asyncio pickle pydoc inspect test coverage IPython " +
	"ipython pipx uv poetry flask uvicorn gunicorn hypercorn celery nox tox pyinstrument " +
	"scalene kernprof line_profiler memory_profiler debugpy ipdb pudb invoke fabric nose nose2 " +
	"behave robot locust jupyter notebook streamlit webbrowser ptpython bpython hy xonsh mpi4py " +
	"torch.distributed.run torch.distributed.launch accelerate.commands.launch viztracer"

// judgeInterpreter judges a shell or another interpreter: everything before its script or its code
// is the file's.
func (c *programCall) judgeInterpreter() {
	code := false // of a shell: the first word that is no option is its program text
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		switch {
		case f.origin == fixed && code && (f.lead == "-" || f.lead == "--"):
			if i+1 < len(c.args) {
				c.judgeCodeCall(c.args[i+1], c.args[i+2:])
			}
			return
		case f.origin == fixed && f.lead == "--":
			continue
		case code && !c.isOption(f):
			c.judgeCodeCall(f, c.args[i+1:])
			return
		case !c.isOption(f) && f.origin != given || f.lead == "-":
			c.judgeScriptCall(c.args[i:])
			return
		}

		use := useUnknown
		if f.origin == fixed {
			use = c.option("-" + f.lead[1:])
		}
		switch use {
		case useFlag:
		case useValue:
			i++
			if i < len(c.args) && c.args[i].origin == given {
				c.refuse("an argument could be an option of %s, or the program that it starts",
					c.spelling)
			}
		case useCode:
			if c.has("shell") {
				code = true
				continue
			}
			if i+1 < len(c.args) {
				c.judgeCodeCall(c.args[i+1], c.args[i+2:])
			}
			return
		case useScript:
			if i+1 == len(c.args) {
				return
			}
			module := c.args[i+1]
			if module.origin == fixed && hasWord(runningModules, module.lead) &&
				hasGiven(c.args[i+2:]) {
				c.refuseReach()
			}
			c.judgeScriptCall(c.args[i+1:])
			return
		case useUnknown:
			if hasKnown(c.args) || c.inputGiven {
				c.refuseReach()
			}
			return
		}
	}

	if c.inputGiven {
		c.refuseReach()
	}
}

// isOption tells whether a word begins as an option. A shell turns one off by a plus.
func (c *programCall) isOption(f field) bool {
	return strings.HasPrefix(f.lead, "-") || c.has("shell") && strings.HasPrefix(f.lead, "+")
}

// judgeCodeCall judges a program text, and the parameters behind it.
func (c *programCall) judgeCodeCall(text field, rest []field) {
	if c.has("shell") {
		c.judgeCode(text, rest)
		return
	}

	switch {
	case text.origin == given, text.origin == folder:
		c.refusePartOf()
	case text.origin == unsure && hasGiven(rest):
		c.refuseReach()
	}
	c.judgeParameters(rest, false)
}

// judgeTextProgram judges awk and sed: the program text is the file's, and what is behind it are
// files.
func (c *programCall) judgeTextProgram() {
	seen := false
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		if f.lead == "--" && f.origin == fixed {
			continue
		}
		if !strings.HasPrefix(f.lead, "-") || f.lead == "-" {
			if seen {
				c.judgeTextFile(f)
			} else {
				c.judgeProgramText(f)
			}
			seen = true
			continue
		}

		use := c.option(f.lead)
		if f.origin == given || use == useUnknown && hasGiven(c.args) {
			c.refusePartOf()
		}

		if use == useFlag || use == useUnknown {
			continue
		}

		seen = seen || use != useValue
		i++
		if i == len(c.args) {
			continue
		}

		c.judgeProgramText(c.args[i])
		if use == useScript {
			c.files.ran = append(c.files.ran, c.args[i].knownText())
			if c.args[i].origin == number {
				c.refuse("an argument would be the script of %s", c.spelling)
			}
		}
	}
}

func (c *programCall) judgeTextFile(f field) {
	named := func(text string) bool { return !strings.Contains(text, "=") }
	if f.origin == given && (f.option || f.loose || !f.givenAll(named)) {
		c.refuse("an argument that begins with - or holds = could be part of a program for %s",
			c.spelling)
	}
}

func (c *programCall) judgeProgramText(f field) {
	if c.inputGiven && isInput(f.lead) {
		c.refuseReach()
	}
	if f.origin == given || f.origin == folder && !f.ownFirst ||
		f.origin == unsure && hasGiven(c.args) {
		c.refusePartOf()
	}
}

// judgeFind judges find: paths and conditions, and the programs that it starts.
func (c *programCall) judgeFind() {
	strange := false // a word in front is not known, and may start an expression
	before := ""
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		if f.origin == fixed && hasWord(c.lists["starts"], f.lead) {
			end := i + 1
			for end < len(c.args) &&
				(c.args[end].origin != fixed || !hasWord("; +", c.args[end].lead)) {
				end++
			}
			c.judgeProgram(c.scan, c.args[i+1:end], c.again)
			i = end
			continue
		}

		word := func(text string) bool {
			return text == "" || !strings.Contains("(!),", text[:1])
		}

		switch {
		case f.origin != given:
			strange = strange || f.origin == unsure
		case before != "" && hasWord(c.lists["values"], before) && !f.loose:
		case strange || f.option || f.loose || before != "" || beginsOption(f.lead) ||
			!f.givenAll(word):
			c.refusePartOf()
		}

		before = ""
		if f.origin == fixed && strings.HasPrefix(f.lead, "-") {
			before = f.lead
		}
	}
}

// evaluatingVerbs are the words behind which a program with targets takes a program text or a file.
var evaluatingVerbs = map[string]string{
	"mix":  "run eval rpc cmd do",
	"lein": "run exec repl eval update-in",
}

// judgeTargets judges make, npm and their like: arguments stand behind a target or a script of the
// project.
func (c *programCall) judgeTargets() {
	rest, ok := c.skipOptions(c.args)
	verbs := c.lists["verbs"]
	need := 1
	if verbs != "" && len(rest) > 0 && strings.HasPrefix(rest[0].lead, "run") {
		need = 2
	}
	for i, f := range c.args {
		if verbs != "" && f.origin == number && i < need && c.name != "deno" {
			c.refuse("an argument would be the name of the program")
		}
	}

	if len(rest) > 0 && hasWord(evaluatingVerbs[c.name], rest[0].lead) {
		c.refuseAll()
		return
	}

	known := ok && len(rest) >= need && (verbs == "" || hasWord(verbs, rest[0].lead))
	for _, f := range rest[:min(need, len(rest))] {
		own := f.origin == folder && f.ownFirst
		known = known && (f.origin < number || own || verbs == "" && f.origin != given) &&
			!strings.HasPrefix(f.lead, "-")
	}

	if need == 2 && known {
		known = rest[1].origin == fixed || rest[1].origin == folder
	}
	if !known {
		if hasGiven(c.args) || c.inputGiven {
			c.refusePartOf()
		}
		return
	}

	plain := func(text string) bool {
		return isPlain().MatchString(text) && !strings.ContainsAny(text, "=:%@")
	}
	ended := c.name == "deno" // all that is behind its script is the script's
	before := ""
	for _, f := range rest[need:] {
		if f.origin != given {
			ended = ended || f.origin == fixed && f.lead == "--" && verbs != ""
			before = ""
			if beginsOption(f.lead) && c.option(f.lead) != useFlag && !ended {
				before = f.lead
			}
			continue
		}

		switch {
		case before != "":
			c.refuseValueOf(before)
		case c.has("target") && (f.option || f.loose || f.lead != "" || !f.givenAll(plain)):
			c.refusePartOf()
		case f.option || f.loose || beginsOption(f.lead):
			c.refuse("an argument that begins with - or + could be an option of what %s starts",
				c.spelling)
		}
	}

	c.judgeParameters(rest[need:], true)
}

// verbOptions are options before a verb that take the next word.
const verbOptions = "-c -C --git-dir --work-tree --namespace --config-env --exec-path " +
	"--super-prefix"

// judgeVerb judges programs whose first operand says what they do.
func (c *programCall) judgeVerb() {
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		takes := f.origin == fixed && hasWord(verbOptions, f.lead)
		if f.origin == given || takes && i+1 < len(c.args) && c.args[i+1].origin == given {
			c.refuse("an argument could be an option of %s itself, which can name programs",
				c.spelling)
			return
		}

		if takes {
			i++
			continue
		}
		if strings.HasPrefix(f.lead, "-") {
			continue
		}

		rest := c.args[i+1:]
		if !hasGiven(rest) && !c.inputGiven {
			return
		}
		if f.origin != fixed || !hasWord(c.lists["verbs"], f.lead) {
			c.refuseHost(f.lead)
			return
		}

		for k, r := range rest {
			bare := k == 0 || !strings.HasPrefix(rest[k-1].lead, "-")
			if c.name == "gh" && f.lead == "api" && r.origin == given && r.lead == "" && bare {
				c.refuseHost(f.lead)
			}
		}

		inner := *c
		inner.spelling = c.spelling + " " + f.lead
		inner.judgeOperands(rest)
		return
	}
}

func (c *programCall) refuseHost(verb string) {
	c.refuse("an argument could name a program or a host for %s %s", c.spelling, verb)
}

var (
	savesFile  = lazy.Regexp(`^-[A-Za-z]*[oO]|^--(?:output|remote)`)
	hostPrefix = lazy.Regexp(`^["']?https?://[^/$@?#]+/`)
	urlFlags   = lazy.Regexp(
		`^(?:-[sSfLIivk]|-sS|-fsSL|-sL|-sSL|-fsS|-q|-O-|--(?:silent|fail|location))$`,
	)
)

// judgeURLs judges curl and its like: the host is the file's, and options are.
func (c *programCall) judgeURLs() {
	if c.inputGiven {
		c.refuse("an argument could reach %s, which can read options from its input", c.spelling)
	}

	saves := func(f field) bool { return savesFile().MatchString(f.lead) }
	if hasGiven(c.args) && (c.name != "curl" || slices.ContainsFunc(c.args, saves)) {
		c.files.wrote = append(c.files.wrote, "")
	}

	for i, f := range c.args {
		if f.origin != given {
			continue
		}
		option := i > 0 && strings.HasPrefix(c.args[i-1].lead, "-") &&
			!urlFlags().MatchString(c.args[i-1].lead)
		if option || !hostPrefix().MatchString(f.lead) || f.loose {
			c.refuse("an argument could name a host, a file or an option for %s", c.spelling)
		}
	}
}
