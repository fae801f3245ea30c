package shell

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tercet/internal/lazy"
)

// ArgumentPrefix begins the names of the variables that hold arguments.
const ArgumentPrefix = "TERCET_ARG_"

// Argument is a text from outside of a script, which the script finds in a variable.
type Argument struct {
	Name   string // of the variable, with ArgumentPrefix
	Value  string
	Folder bool // one of tercet's own folders: it may be a program or a script file
}

// Refusal says why a script may not run with arguments; empty if it may. It judges the values: the
// same script may run with one argument and be refused with another. What it does not understand,
// it refuses.
func Refusal(script string, args []Argument) string {
	a := &arguments{vars: map[string]value{}}
	for _, arg := range args {
		v := value{given, []string{arg.Value}}
		switch {
		case arg.Value == "":
			v.origin = fixed
		case arg.Folder:
			v.origin = folder
		case isNumber().MatchString(arg.Value):
			v.origin = number
		}
		a.vars[arg.Name] = v
		a.given = a.given || v.origin == given
		a.hasArgument = a.hasArgument || v.holdsArgument()
	}

	if !a.hasArgument {
		return ""
	}
	if strings.ContainsAny(script, markStart+markEnd) {
		return unreadScript
	}

	file, err := parse(script)
	if err != nil {
		return unreadScript
	}
	s := &scan{
		out:     &findings{},
		vars:    map[string]string{},
		calls:   new(int),
		fetched: map[string]bool{},
		args:    a,
	}
	a.judgeScript(s, file)

	for _, wrote := range a.files.wrote {
		for _, ran := range a.files.ran {
			if wrote == "" || ran == "" || path.Clean(wrote) == path.Clean(ran) {
				a.refuse("an argument could be written into a file that the script runs")
			}
		}
	}
	for _, name := range a.files.withText {
		if a.files.loads != "" && !isData().MatchString(name) {
			a.refuse("an argument could be written into a file that %s reads as a program; "+
				"write it into one that ends in .txt", a.files.loads)
		}
	}

	return a.reason
}

const unreadScript = "an argument would stand in a script that cannot be read"

var (
	// isNumber is an argument that no program takes for anything but a number.
	isNumber = lazy.Regexp(`^[0-9]{1,18}$`)
	// isIndex is an index or a part of a text that is not computed, as in ${x:0:7} and ${x[@]}.
	isIndex = lazy.Regexp(`^(?:[0-9: -]*|[@*])$`)
	// isData is a file that no program takes for a program, for its settings or for a hook.
	isData = lazy.Regexp(`^(?:/tmp/|\./)?(?:[A-Za-z0-9_-]+/)*[a-z0-9_-]+\.` +
		`(?:txt|md|log|out|err|csv|diff|patch|html)$|^/tmp/[A-Za-z0-9_-]+$`)
	// isPlain is a text in which no program and no shell sees a sign.
	isPlain = lazy.Regexp(`^[A-Za-z0-9_./:@%,+-]*$`)
	// startsPrograms are variables by which programs are found, started or given options.
	startsPrograms = lazy.Regexp(
		`^(?:(?:CD|MAN|INFO|F|GCONV_|LOC|NLS|AWK|AWKLIB|C|LIBRARY_|COMPILER_|MAIL)?PATH|ENV|` +
			`HOME|SHELL|BROWSER|IFS|PS[0-9]|CC|CXX|CPP|LD|AR|MAKE.*|FC|LINKER|TEXINPUTS|` +
			`CLASSPATH|KUBECONFIG|PHP.*|CURL_HOME|WGETRC|INPUTRC|LESS|LESSOPEN|LESSCLOSE|` +
			`LESSKEY.*|SHELLOPTS|BASHOPTS|GLOBIGNORE|TERMINFO.*|LUA_.*|TAR_OPTIONS|GREP_OPTIONS|` +
			`UNZIP|ZIPOPT|GZIP|XZ_.*|RUBYLIB|PERL.*|PYTHON.*|NODE_.*|RUBYOPT|_?JAVA.*|JDK_.*|` +
			`DOTNET_.*|` +
			// files that a program reads as a program or as its settings
			`ZDOTDIR|VIMINIT|EXINIT|MYVIMRC|GVIMINIT|FCEDIT|HISTFILE|CONFIG_SHELL|PSQLRC|` +
			`HGRCPATH|OPENSSL_.*|GEM_.*|BUNDLE_.*|R_.*|JULIA_.*|TCL.*|GUILE_.*|EMACS.*|` +
			`SYSTEMD_.*|SUDO_.*|GROFF_.*|GCC_.*|GTK_.*|QT_.*|GIO_.*|GST_.*|DENO_.*|BUN_.*|` +
			`YARN_.*|PNPM_.*|COREPACK_.*|GRADLE_.*|MAVEN_.*|ANT_.*|SBT_.*|PIP_.*|UV_.*|POETRY_.*|` +
			`PIPENV_.*|TOX_.*|NOX_.*|CONDA_.*|AWS_.*|HELM_.*|TF_.*|ANSIBLE_.*|VAGRANT_.*|` +
			`CMAKE_.*|CTEST_.*|ERL_.*|ELIXIR_.*|MIX_.*|HG.*|ASDF_.*|MISE_.*|NIX_.*|VOLTA_.*|` +
			`NVM_.*|PYENV_.*|RBENV_.*|RUBYSHELL|GNUPGHOME|TEXTDOMAIN.*|TROFF|` +
			// bash computes what it assigns to these
			`S?RANDOM|OPTIND|HISTCMD|SECONDS|LINENO|EPOCH.*|BASHPID|E?UID|PPID|` +
			`GO(?:FLAGS|PATH|ROOT|ENV|PROXY|BIN|TOOLCHAIN|TOOLDIR|EXPERIMENT)|CGO_.*|CARGO.*|` +
			`RUST.*|PYTEST_.*|DOCKER_.*|BASH_.*|XDG_.*|RSYNC_.*|CVS_.*|SVN_.*|SSH_.*|GIT.*|GH_.*|` +
			`LD_.*|DYLD_.*|npm_.*|NPM_.*|` +
			`.*(?:FLAGS|OPTS|OPTIONS|PAGER|EDITOR|VISUAL|ASKPASS|_COMMAND|_DIFF|_SSH|_RSH|` +
			`_CONFIG.*|_WRAPPER|_proxy|_PROXY))$`,
	)
)

// trust says where a part of a word comes from, the least trusted last.
type trust uint8

const (
	fixed  trust = iota // the text of the script
	unsure              // what the script computes without arguments
	number              // an argument that is a number
	folder              // the path of one of tercet's own folders
	given               // any other argument, and what is made of one
)

// value is what a variable or the output of a command can be.
type value struct {
	origin trust
	texts  []string // nil: anything
}

func (v value) holdsArgument() bool {
	return v.origin >= number
}

// maxTexts bounds how many texts of one value are told apart.
const maxTexts = 64

// join gives the value of something that is one or the other.
func (v value) join(o value) value {
	out := value{origin: max(v.origin, o.origin)}
	if v.texts == nil || o.texts == nil || len(v.texts)+len(o.texts) > maxTexts {
		return out
	}

	out.texts = slices.Clone(v.texts)
	for _, text := range o.texts {
		if !slices.Contains(out.texts, text) {
			out.texts = append(out.texts, text)
		}
	}
	return out
}

// trimPrefix gives the value behind a beginning that all its texts have.
func (v value) trimPrefix(beginning string) value {
	var texts []string
	for _, text := range v.texts {
		texts = append(texts, strings.TrimPrefix(text, beginning))
	}
	return value{v.origin, texts}
}

// arguments follows the arguments of a script while scan walks it.
type arguments struct {
	vars             map[string]value // variables that hold arguments, wherever they were assigned
	values           []value          // by the number in a mark
	given            bool             // an argument is neither a number nor a folder
	hasArgument      bool             // there is an argument at all
	changesSplitting bool             // the script changes how a shell splits words
	movedByArgument  bool             // the working folder comes from an argument
	inputGiven       bool             // the command at hand reads what came from an argument
	depth            int
	files            fileUse
	reason           string
}

// fileUse is what a script does with files.
type fileUse struct {
	wrote    []string // files that hold or are named by arguments; an empty name is not known
	withText []string // those that hold the text of one
	ran      []string // files that are run; an empty name is not known
	loads    string   // a program that may run files of the project; empty: none does
}

func (a *arguments) refuse(format string, args ...any) {
	if a.reason == "" {
		a.reason = fmt.Sprintf(format, args...)
	}
}

// Marks stand in the text of a word for a value: its number in values.
const (
	markStart = "\x01"
	markEnd   = "\x02"
)

// mark gives the text that stands for a value in a word.
func (a *arguments) mark(v value) string {
	if v.origin == fixed && len(v.texts) == 1 {
		return v.texts[0]
	}
	a.values = append(a.values, v)
	return markStart + strconv.Itoa(len(a.values)-1) + markEnd
}

// judgeScript judges a text and all that it starts.
func (a *arguments) judgeScript(s *scan, file *syntax.File) {
	a.collectVariables(s, file)
	a.checkConstructs(file)
	if a.reason == "" {
		s.scanStmts(file.Stmts, nil)
	}
}

// lookup gives what stands in a variable; false if no argument can.
func (a *arguments) lookup(name string) (value, bool) {
	v, ok := a.vars[name]
	shown := name == "_" || strings.HasPrefix(name, "BASH_ARG") ||
		strings.HasPrefix(name, ArgumentPrefix)
	if !ok && a.given && shown {
		return value{origin: given}, true
	}
	return v, ok
}

// trustOf gives the least trusted origin of what stands in a node.
func (a *arguments) trustOf(nodes ...syntax.Node) trust {
	most := fixed
	for _, n := range nodes {
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ParamExp:
				if n.Param != nil {
					v, _ := a.lookup(n.Param.Value)
					most = max(most, v.origin)
				}
			case *syntax.Lit: // in a here-document that only another shell expands
				_, name := a.vars[n.Value]
				if !name && strings.Contains(n.Value, ArgumentPrefix) ||
					a.given && isEnviron(n.Value) {
					most = given
				}
			case *syntax.CallExpr: // prints every variable, the arguments among them
				if a.given && len(n.Args) > 0 &&
					oneOf(n.Args[0].Lit(), "env", "printenv", "set", "compgen") {
					most = given
				}
			case *syntax.DeclClause:
				if a.given {
					most = given
				}
			}
			return true
		})
	}
	return most
}

// isEnviron tells whether a text names a file that holds the variables of a process.
func isEnviron(text string) bool {
	return strings.HasSuffix(text, "/environ")
}

// outputValue is the value of the output of commands.
func (a *arguments) outputValue(list []*syntax.Stmt) value {
	from := unsure
	for _, st := range list {
		from = max(from, a.trustOf(st))
	}

	switch {
	case a.inputGiven:
		from = given
	case from == number:
		from = unsure
	}
	return value{origin: from}
}

// parameterValue is the value of a variable as it is expanded; false if it holds no argument.
func (a *arguments) parameterValue(p *syntax.ParamExp) (value, bool) {
	if p.Length {
		return value{}, false
	}
	if p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.NestedParam != nil {
		from := a.trustOf(p)
		return value{origin: from}, from >= number
	}
	v, ok := a.lookup(p.Param.Value)
	return v, ok
}

// collectVariables follows arguments into variables. A variable that is ever assigned one can hold
// it anywhere.
func (a *arguments) collectVariables(s *scan, file *syntax.File) {
	for round := range 8 {
		before := maps.Clone(a.vars)
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				a.noteAssignment(s, n)
			case *syntax.ForClause:
				if n.Select && a.given {
					a.setVar("REPLY", value{origin: given})
				}
				if iter, ok := n.Loop.(*syntax.WordIter); ok {
					a.changesSplitting = a.changesSplitting || iter.Name.Value == ifs
					if params, ok := a.lookup("@"); ok && !iter.InPos.IsValid() {
						a.setVar(iter.Name.Value, params)
					}
					for _, f := range a.readFields(s, iter.Items) {
						a.setVar(iter.Name.Value, f.value())
					}
				}
			case *syntax.CallExpr:
				a.noteFilled(s, n)
			case *syntax.ParamExp: // ${x:=...} assigns
				if n.Exp != nil && n.Param != nil && n.Exp.Word != nil {
					a.setVar(n.Param.Value, value{origin: a.trustOf(n.Exp.Word)})
				}
			}
			return true
		})

		if maps.EqualFunc(before, a.vars, func(x, y value) bool {
			return x.origin == y.origin && slices.Equal(x.texts, y.texts) &&
				(x.texts == nil) == (y.texts == nil)
		}) {
			return
		}

		if round >= 6 { // a variable that grows from itself
			for name, v := range a.vars {
				a.vars[name] = value{origin: v.origin}
			}
		}
	}
}

// readFields reads words without judging the commands in them.
func (a *arguments) readFields(s *scan, ws []*syntax.Word) []field {
	still := *s
	still.quiet = true
	return a.fields(still.fields(ws))
}

func (a *arguments) setVar(name string, v value) {
	if !v.holdsArgument() {
		return
	}
	a.checkEnvironment(name, v.origin)
	if old, ok := a.vars[name]; ok {
		v = old.join(v)
	}
	a.vars[name] = v
}

func (a *arguments) noteAssignment(s *scan, n *syntax.Assign) {
	if n.Name == nil {
		return
	}

	name := n.Name.Value
	a.changesSplitting = a.changesSplitting || name == ifs
	switch {
	case n.Array != nil:
		a.setVar(name, value{origin: a.trustOf(n.Array)})
	case n.Value != nil && n.Append:
		a.setVar(name, value{origin: a.trustOf(n.Value)})
	case n.Value != nil:
		still := *s
		still.quiet = true
		w := still.word(n.Value)
		w.split = false
		a.setVar(name, a.field(w).value())
	}
}

// ifs names the signs at which a shell splits words.
const ifs = "IFS"

// noteFilled notes the variables that a command fills with what it reads, whatever starts the
// command.
func (a *arguments) noteFilled(s *scan, call *syntax.CallExpr) {
	if !a.given {
		return
	}

	words := a.readFields(s, call.Args)
	for len(words) > 0 && oneOf(words[0].lead, "command", "builtin", "-p", "--") {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}

	rest := words[1:]
	switch words[0].lead {
	case "read", "mapfile", "readarray", "getopts":
		a.fillVars(words[0].lead, rest, given, "REPLY", "MAPFILE", "OPTARG")
	case "cd", "pushd":
		a.fillVars(words[0].lead, nil, a.trustOf(call), "PWD", "OLDPWD", "DIRSTACK")
	case "printf":
		if len(rest) > 1 && rest[0].lead == "-v" {
			a.fillVars("printf -v", rest[1:2], a.trustOf(call))
		}
	}
}

// fillVars notes that a command assigns to variables, those that its words name and others. A name
// that is not known could be any.
func (a *arguments) fillVars(command string, words []field, from trust, others ...string) {
	for _, w := range words {
		if w.origin != fixed || w.loose {
			a.refuse(
				"an argument could be in any variable, because %s takes a name from one", command,
			)
		}
		a.changesSplitting = a.changesSplitting || w.lead == ifs
		others = append(others, w.lead)
	}
	for _, name := range others {
		a.setVar(name, value{origin: from})
	}
}

// checkConstructs refuses what computes or expands arguments once more, anywhere in the script.
func (a *arguments) checkConstructs(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.CStyleLoop:
			a.checkArithmetic("((", n)
		case *syntax.LetClause:
			a.checkArithmetic("let", n)
		case *syntax.TestClause:
			a.checkTest(n)
		case *syntax.ProcSubst:
			if a.trustOf(n) >= folder || n.Op == syntax.CmdOut && a.given {
				a.refuse("an argument could be computed by %s", n.Op)
			}
		case *syntax.Assign:
			if n.Index != nil && n.Name != nil {
				a.checkArithmetic(n.Name.Value+"[", n.Index)
			}
		case *syntax.ArrayElem:
			if n.Index != nil {
				a.checkArithmetic("[", n.Index)
			}
		case *syntax.ParamExp:
			a.checkExpansion(n)
		case *syntax.DeclClause:
			a.checkDeclaration(n)
		case nil, *syntax.Comment, *syntax.File, *syntax.Stmt, *syntax.Word, *syntax.Redirect,
			*syntax.CallExpr,
			*syntax.BinaryCmd, *syntax.Subshell, *syntax.Block, *syntax.IfClause,
			*syntax.WhileClause, *syntax.ForClause,
			*syntax.WordIter, *syntax.CaseClause, *syntax.CaseItem, *syntax.TimeClause,
			*syntax.ArrayExpr, *syntax.Lit,
			*syntax.SglQuoted, *syntax.DblQuoted, *syntax.CmdSubst, *syntax.BinaryArithm,
			*syntax.UnaryArithm,
			*syntax.ParenArithm, *syntax.BraceExp, *syntax.BinaryTest, *syntax.UnaryTest,
			*syntax.ParenTest:
		case *syntax.FuncDecl:
			a.refuseConstruct("a function")
		case *syntax.CoprocClause:
			a.refuseConstruct("coproc")
		default:
			a.refuseConstruct("what stands at line " + strconv.Itoa(int(n.Pos().Line())))
		}

		return true
	})
}

func (a *arguments) refuseConstruct(what string) {
	if a.given {
		a.refuse("an argument could be computed by %s", what)
	}
}

// checkArithmetic refuses arithmetic that reaches an argument, also through the name of a variable.
func (a *arguments) checkArithmetic(sign string, n syntax.Node) {
	if a.trustOf(n) >= folder {
		a.refuse("an argument could be computed by %s", sign)
	}

	if !a.given || !a.hasOwnVariables() {
		return
	}

	syntax.Walk(n, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok && !isIndex().MatchString(lit.Value) {
			a.refuse("an argument could be computed by %s", sign)
		}
		return true
	})
}

// hasOwnVariables tells whether a variable of the script itself holds an argument.
func (a *arguments) hasOwnVariables() bool {
	for name := range a.vars {
		if !strings.HasPrefix(name, ArgumentPrefix) {
			return true
		}
	}
	return false
}

// checkTest refuses an argument that [[ would compute: -eq and its like take their operands for
// arithmetic, and -v and -R take theirs for a name, whose index is arithmetic.
func (a *arguments) checkTest(n *syntax.TestClause) {
	if a.trustOf(n) == given {
		a.refuse("an argument could be computed by [[")
	}

	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			switch n.Op { //nolint:exhaustive // the others compute nothing
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				a.checkArithmetic("[[", n)
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				a.checkArithmetic("[[", n)
			}
		}
		return true
	})
}

func (a *arguments) checkExpansion(n *syntax.ParamExp) {
	switch {
	case n.Excl && a.given:
		a.refuse("an argument could be computed by ${!")
	case n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && a.given:
		a.refuse("an argument could be computed by ${...@P}")
	}

	if n.Index != nil {
		a.checkArithmetic("${...[", n.Index)
	}

	if n.Slice != nil {
		for _, part := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
			if part != nil {
				a.checkArithmetic("${...:", part)
			}
		}
	}
}

// checkDeclaration judges export and its like: names are no arguments, and no attribute may change
// how a value is read.
func (a *arguments) checkDeclaration(n *syntax.DeclClause) {
	variant := n.Variant.Value
	for _, arg := range n.Args {
		if arg.Naked && arg.Value != nil && a.trustOf(arg.Value) >= number {
			a.refuse("an argument would be a name given to %s", variant)
		}
		if a.given && arg.Naked && arg.Value != nil && arg.Value.Lit() == "" {
			a.refuse(
				"an argument could be in any variable, because %s takes a name from one", variant,
			)
		}

		option := arg.Naked && arg.Value != nil && strings.HasPrefix(arg.Value.Lit(), "-")
		if a.given && (option && variant != "export" || variant == "nameref") {
			a.refuse("an argument could be computed by %s", variant)
		}

		a.checkAssignedName(arg)
	}
}

// checkAssignedName judges the variable that an argument is assigned to.
func (a *arguments) checkAssignedName(n *syntax.Assign) {
	switch {
	case n.Name == nil:
	case n.Array != nil:
		a.checkEnvironment(n.Name.Value, a.trustOf(n.Array))
	case n.Value != nil:
		a.checkEnvironment(n.Name.Value, a.trustOf(n.Value))
	}
}

// checkEnvironment judges a variable that programs look at.
func (a *arguments) checkEnvironment(name string, from trust) {
	if from < folder || !startsPrograms().MatchString(name) {
		return
	}
	if from == folder && strings.HasSuffix(name, "PATH") && a.hasPlainFolders() {
		return
	}
	a.refuse("an argument would be the value of %s, which names programs", name)
}

// hasPlainFolders tells whether tercet's own folders have names in which no shell sees a sign.
func (a *arguments) hasPlainFolders() bool {
	for _, v := range a.vars {
		if v.origin == folder && (v.texts == nil || slices.ContainsFunc(v.texts, isNotPlain)) {
			return false
		}
	}
	return true
}

func isNotPlain(text string) bool {
	return !isPlain().MatchString(text)
}

// checkRedirect judges a redirection and notes the input that it brings.
func (a *arguments) checkRedirect(s *scan, st *syntax.Stmt, r *syntax.Redirect) {
	from := fixed
	if r.Word != nil {
		from = a.trustOf(r.Word)
	}

	body := fixed
	if r.Hdoc != nil {
		body = a.trustOf(r.Hdoc)
	}

	call, ok := st.Cmd.(*syntax.CallExpr)
	everything := ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec"
	if everything && max(from, body) == given {
		a.refuse("an argument would be the input of everything that follows")
	}

	other := a.inputGiven && r.N != nil && r.N.Value != "0" // what is read stays as it is
	switch r.Op {                                           //nolint:exhaustive // the others write
	case syntax.Hdoc, syntax.DashHdoc:
		a.inputGiven = other || body == given
	case syntax.WordHdoc:
		a.inputGiven = other || from == given
	case syntax.RdrIn:
		a.inputGiven = other || from == given || from == number
	case syntax.DplIn:
	default:
		if from == given {
			a.refuse("an argument would name a file that is written")
		}
		holdsGiven := a.inputGiven || everything && a.given || a.trustOf(st) == given
		if r.Op != syntax.DplOut && holdsGiven {
			still := *s
			still.quiet = true
			a.noteWrite(a.field(still.word(r.Word)))
		}
	}
}

// noteWrite notes a file that holds something of an argument.
func (a *arguments) noteWrite(f field) {
	name := f.knownText()
	if name != "/dev/null" && name != "/dev/stderr" && name != "/dev/stdout" {
		a.files.wrote = append(a.files.wrote, name)
		a.files.withText = append(a.files.withText, name)
	}
}

// knownText is the word where it stands in the script as a whole, else empty.
func (f field) knownText() string {
	if f.origin == fixed && !f.glob && !f.tilde {
		return f.lead
	}
	return ""
}

// field is a word as the program gets it.
type field struct {
	word
	origin   trust
	lead     string   // the text of the script at its beginning
	texts    []string // what it can be; nil: anything
	given    []string // the arguments in it
	unknown  bool     // one of them is not known
	option   bool     // an argument can begin it with - or +
	loose    bool     // it can become several words
	ownFirst bool     // it begins with one of tercet's own folders
}

func (a *arguments) fields(ws []word) []field {
	var out []field
	for _, w := range ws {
		out = append(out, a.splitField(w)...)
	}
	return out
}

// field reads the marks in a word.
func (a *arguments) field(w word) field {
	f := field{word: w, texts: []string{""}}
	begun := false
	for text := w.text; text != ""; {
		at := strings.IndexAny(text, hole+markStart)
		if at < 0 {
			at = len(text)
		}
		if at > 0 {
			begun = f.addLiteral(text[:at], begun)
			text = text[at:]
			continue
		}

		v := value{origin: unsure}
		end := 1
		if text[0] == markStart[0] {
			end = strings.Index(text, markEnd) + 1
			n, _ := strconv.Atoi(text[1 : end-1]) //nolint:errcheck // mark wrote it
			v = a.values[n]
		}
		begun = f.add(v, begun)
		text = text[end:]
	}

	if w.braces { // which a shell may take for several words, or for none
		f.origin = max(f.origin, unsure)
		f.loose = true
		f.lead = ""
		f.option = f.option || f.origin == given
	}
	return f
}

// addLiteral puts text of the script at the end. A pattern may stand for anything.
func (f *field) addLiteral(text string, begun bool) bool {
	at := -1
	if f.glob {
		at = strings.IndexAny(text, "*?")
		if strings.Contains(text, "]") {
			at = strings.IndexAny(text, "*?[")
		}
	}

	if at < 0 {
		return f.add(value{fixed, []string{text}}, begun)
	}
	begun = f.add(value{fixed, []string{text[:at]}}, begun)
	return f.add(value{origin: unsure}, begun)
}

// add puts a piece at the end, and tells whether the word certainly has begun.
func (f *field) add(v value, begun bool) bool {
	if v.origin == fixed && f.origin == fixed && len(v.texts) == 1 {
		f.lead += v.texts[0]
	}

	if v.origin == given {
		f.given = append(f.given, v.texts...)
		f.unknown = f.unknown || v.texts == nil
		if !begun && (v.texts == nil || slices.ContainsFunc(v.texts, beginsOption)) {
			f.option = true
		}
	}

	f.ownFirst = f.ownFirst || v.origin == folder && !begun
	f.texts = cross(f.texts, v.texts)
	f.origin = max(f.origin, v.origin)
	return begun || v.texts != nil && !slices.Contains(v.texts, "")
}

func beginsOption(text string) bool {
	return text != "" && (text[0] == '-' || text[0] == '+')
}

// cross gives every text of the first followed by every one of the second; nil if they are not
// known or too many.
func cross(a, b []string) []string {
	if a == nil || b == nil || len(a)*len(b) > maxTexts {
		return nil
	}

	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > MaxSource {
				return nil
			}
			out = append(out, x+y)
		}
	}
	return out
}

// splitField gives the words that a shell makes of one in which an argument stands outside of
// quotes.
func (a *arguments) splitField(w word) []field {
	f := a.field(w)
	if !w.split || !f.origin.fromOutside() {
		return []field{f}
	}

	special := func(text string) bool {
		return strings.ContainsAny(text, " \t\n*?[\\")
	}
	known := len(f.texts) == 1 && f.lead == ""
	if known && !a.changesSplitting && !strings.ContainsAny(f.texts[0], "*?[\\") {
		var out []field
		for one := range strings.FieldsSeq(f.texts[0]) {
			part := w
			part.text = a.mark(value{f.origin, []string{one}})
			part.split = false
			p := a.field(part)
			p.loose = f.origin == folder && special(f.texts[0])
			out = append(out, p)
		}
		return out
	}
	if f.texts == nil || a.changesSplitting || slices.ContainsFunc(f.texts, special) {
		f.loose = true
		f.option = f.option || f.origin == given
		f.unknown = f.origin == given
		f.texts = nil
		f.lead = ""
	}
	return []field{f}
}

func (t trust) fromOutside() bool {
	return t >= number
}

// value is the value of a variable that is assigned the word.
func (f field) value() value {
	if f.origin == unsure || f.loose {
		return value{origin: f.origin}
	}
	return value{f.origin, f.texts}
}

// givenAll tells whether every argument in the word is known and fits.
func (f field) givenAll(fits func(text string) bool) bool {
	for _, text := range f.given {
		if !fits(text) {
			return false
		}
	}
	return !f.unknown
}
