package dialect

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tercet/internal/lazy"
)

// programKind says how a program reads its words.
type programKind uint8

const (
	ordinary         programKind = iota // options and operands
	freeProgram                         // no option starts a program, writes a file or takes a name
	testProgram                         // test and [
	printfProgram                       // its first word is a format
	cdProgram                           // changes where programs are found
	wrapper                             // starts the program behind its options
	lookup                              // command: a wrapper, or asks about names
	shellProgram                        // its first word is a script, or after -c a program text
	interpreter                         // its first word is a script
	textProgram                         // awk and sed: the first word is a program text
	findProgram                         // its options start programs
	xargsProgram                        // a wrapper that takes words from its input
	targetProgram                       // make: its words are targets and variables of a shell's scripts
	runProgram                          // npm: a verb, then a script of the project
	packageProgram                      // npx: a program of a package
	containerProgram                    // docker and kubectl
	remoteProgram                       // ssh: a host, then a program there
	verbProgram                         // git, gh, go and cargo: a verb, then options and operands
	urlProgram                          // curl: its operands are hosts
	sourceProgram                       // . and source
	namesProgram                        // takes names of variables
	refusedProgram                      // has a language of its own, or starts what its words name
)

// program is what is known of a program. Lists are words with spaces between them; an option stands without its
// hyphens.
type program struct {
	name    string
	kind    programKind
	flags   string // options without a value, before the script or the program
	valued  string // options whose value is the next word
	code    string // options whose value is a program text
	script  string // options whose value is a script
	verbs   string // what may stand before operands
	letters string // options of one letter behind which an argument may stand
	long    string // the same of more letters
	joined  string // options, as written, that an argument may follow in the same word
	plain   bool   // another shell reads the words
	local   bool   // operands are code of the project
	noAt    bool   // @file brings options, or sends a file
	noColon bool   // host:file is a host
	forward bool   // -- hands options on to another program
}

// programs are those whose words mean more than files and texts.
var programs = sync.OnceValue(func() map[string]program {
	all := map[string]program{}
	put := func(names string, p program) {
		for name := range strings.FieldsSeq(names) {
			p.name = name
			all[name] = p
		}
	}
	put("echo true false : pwd cat head tail wc ls basename dirname grep egrep fgrep cut tr rev tac nl fold expand "+
		"unexpand paste comm join seq stat du df realpath readlink which whereis id whoami groups md5sum sha1sum "+
		"sha224sum sha256sum sha384sum sha512sum cksum b2sum cmp jq sleep base64 base32 od hexdump",
		program{kind: freeProgram})
	put("[ test", program{kind: testProgram})
	put("printf", program{kind: printfProgram})
	put("cd pushd", program{kind: cdProgram})
	put("env", program{kind: wrapper, flags: "i 0 v ignore-environment null", valued: "u unset"})
	put("sudo doas", program{kind: wrapper, flags: "n E H S k b", valued: "u g"})
	put("time gtime", program{kind: wrapper, flags: "p v", valued: "f o"})
	put("nice", program{kind: wrapper, valued: "n adjustment"})
	put("ionice", program{kind: wrapper, flags: "t", valued: "c n"})
	put("timeout gtimeout", program{
		kind: wrapper, flags: "foreground preserve-status v verbose", valued: "k s kill-after signal",
	})
	put("nohup builtin setsid", program{kind: wrapper, flags: "f w c"})
	put("stdbuf", program{kind: wrapper, valued: "i o e"})
	put("exec", program{kind: wrapper, flags: "c l", valued: "a"})
	put("command", program{kind: lookup, flags: "p"})
	put("sh bash dash ash ksh mksh zsh", program{
		kind: shellProgram, flags: "a b c e f h i l n p s u v x B C E login norc noprofile posix", valued: "o O",
	})
	put("python pypy", program{
		kind: interpreter, flags: "u B E I O OO s S v q x b d i P", valued: "W X", code: "c", script: "m",
	})
	put("node nodejs", program{
		kind: interpreter, code: "e p eval print", valued: "r require import loader experimental-loader C conditions",
		flags: "no-warnings experimental-strip-types enable-source-maps trace-warnings no-deprecation test " +
			"experimental-vm-modules experimental-modules",
	})
	put("tsx ts-node luajit lua julia rscript", program{kind: interpreter, flags: "vanilla"})
	put("ruby", program{kind: interpreter, flags: "w W", code: "e", plain: true})
	put("perl", program{kind: interpreter, flags: "w l n p a 0 i", code: "e E", valued: "M", plain: true})
	put("php", program{kind: interpreter, flags: "q n", code: "r", script: "f"})
	put("java", program{kind: interpreter, flags: "ea", script: "jar", noAt: true})
	put("deno", program{kind: runProgram, verbs: "run", flags: "A allow-all allow-read allow-env allow-net q quiet"})
	put("awk gawk mawk nawk", program{kind: textProgram, script: "f file", valued: "F field-separator"})
	put("sed gsed", program{
		kind: textProgram, flags: "n E r i s u z quiet silent regexp-extended in-place",
		code: "e expression", script: "f file",
	})
	put("find gfind fd fdfind", program{kind: findProgram})
	put("xargs gxargs", program{
		kind: xargsProgram, flags: "0 r t x null no-run-if-empty verbose",
		valued: "n P L I d s a max-args max-procs delimiter replace",
	})
	put("make gmake bmake just task rake gradle gradlew mvn mvnw ant ninja tox nox invoke fab grunt gulp mix lein sbt "+
		"bazel scons", program{kind: targetProgram, flags: "s k B n q silent quiet keep-going"})
	put("npm pnpm yarn bun", program{
		kind: runProgram, verbs: "run run-script test t", flags: "s silent if-present quiet", plain: true,
	})
	put("npx bunx pnpx", program{
		kind: packageProgram, flags: "y yes no no-install q quiet", plain: true,
	})
	put("docker podman kubectl oc", program{kind: containerProgram, flags: "i t it ti T d rm interactive tty"})
	put("ssh", program{kind: remoteProgram, flags: "q T n", plain: true})
	put("git", program{
		kind: verbProgram,
		verbs: "log show diff status blame grep ls-files ls-tree rev-parse rev-list merge-base describe shortlog " +
			"cat-file show-ref for-each-ref branch tag checkout switch restore reset add rm mv commit stash cherry " +
			"cherry-pick revert merge rebase reflog name-rev diff-tree diff-index diff-files whatchanged range-diff " +
			"check-ignore check-attr show-branch symbolic-ref notes worktree count-objects merge-tree format-patch",
		letters: "m S G L n i v q p w b B C M r a A d D f l h 1 e E P z", joined: "-S -G -L -m",
		long: "author committer grep since until after before format pretty date max-count skip message contains " +
			"no-contains merged no-merged points-at sort count abbrev diff-filter grep-reflog branches tags remotes " +
			"exclude oneline graph decorate all stat shortstat numstat name-only name-status cached staged patch " +
			"no-patch no-color follow reverse merges no-merges first-parent quiet verify short porcelain hard soft " +
			"mixed list force delete abbrev-commit no-commit no-edit amend allow-empty signoff word-diff " +
			"ignore-case ignore-all-space minimal no-renames find-renames full-history topo-order date-order " +
			"left-right cherry-pick raw summary dirstat is-ancestor show-toplevel show-current heads only " +
			"others ignored untracked-files no-ext-diff no-textconv no-pager",
	})
	put("gh", program{
		kind: verbProgram, verbs: "pr issue run workflow release label search api project ruleset cache",
		letters: "*", long: "*", noAt: true, forward: true,
	})
	put("go", program{
		kind: verbProgram, verbs: "test vet build list doc", local: true, letters: "v p",
		long: "run bench count timeout short race cover json tags parallel v skip failfast benchmem",
	})
	put("cargo", program{
		kind: verbProgram, verbs: "test t build b check c clippy doc bench", letters: "p q v r", forward: true,
		long: "package test bin features release lib quiet verbose workspace all-targets all-features no-run",
	})
	put("pytest py.test jest vitest mocha rspec phpunit bats ava tap", program{
		local: true, forward: true, letters: "k v q s x t", long: "verbose quiet grep testNamePattern maxfail",
	})
	put("tar gtar bsdtar", program{
		letters: "f c x t z v j J k p a", long: "file exclude gzip bzip2 xz verbose extract create list", noColon: true,
	})
	put("sort gsort", program{letters: "n r u k t f b d h V g M s c z", long: "key reverse unique numeric-sort"})
	put("rg", program{
		letters: "*", long: "glob iglob type type-not regexp files-with-matches line-number ignore-case count " +
			"max-count context after-context before-context hidden fixed-strings word-regexp only-matching json",
	})
	put("cp mv rm mkdir rmdir touch ln chmod chown", program{letters: "*", long: "recursive force verbose parents"})
	put("gcc g++ cc c++ clang clang++ ld ar as nm objdump objcopy strip ranlib javac kotlinc scalac rustc csc mcs "+
		"strings readelf size addr2line 7z 7za 7zr rar unrar zip", program{noAt: true})
	put("curl wget http https httpie xh", program{kind: urlProgram})
	put(". source", program{kind: sourceProgram})
	put("unset read declare typeset export local readonly mapfile readarray getopts set let", program{kind: namesProgram})
	put(refusedNames, program{kind: refusedProgram})
	return all
})

// refusedNames are programs that have a language of their own, or start, install or reach what their words name.
const refusedNames = "eval trap alias bind complete enable hash fc coproc fish csh tcsh busybox toybox su runuser " +
	"parallel watch watchexec entr nodemon concurrently hyperfine script screen tmux at batch crontab systemd-run " +
	"systemctl start-stop-daemon chroot unshare nsenter flock chrt taskset numactl strace ltrace perf valgrind gdb lldb " +
	"bwrap firejail fakeroot proot setpriv capsh prlimit unbuffer rlwrap xvfb-run dbus-run-session caffeinate expect " +
	"tclsh wish osascript pwsh powershell emacs emacsclient vim vi nvim view ex ed nano less more man info pager patch " +
	"m4 bc dc gnuplot octave r sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli duckdb socat nc ncat netcat " +
	"telnet ftp sftp scp rsync ping dig nslookup host nmap rsh rlogin mosh open xdg-open start mail mailx sendmail " +
	"convert magick identify mogrify composite montage ffmpeg pip pipx gem brew apt apt-get dpkg rpm yum dnf apk pacman " +
	"snap flatpak conda mamba uv uvx poetry pipenv bundle bundler composer luarocks cpan cpanm cabal stack opam nix " +
	"nix-shell nix-build nix-env rbenv pyenv nvm asdf mise direnv dotenv op doppler aws-vault turbo nx lerna dune " +
	"dotnet swift zig elixir iex erl ghci runghc scala groovy clojure guile sbcl racket cmake meson ctest terraform " +
	"tofu helm ansible ansible-playbook vagrant packer puppet chef salt git-upload-pack git-receive-pack git-shell " +
	"split csplit env-cmd cross-env hg svn cvs bzr fossil ip run-parts ldd ld.so ld-linux setarch linux64 i386 softlimit " +
	"tini dumb-init gosu su-exec pkexec sg choom gs ps2pdf tex latex pdflatex xelatex lualatex w3m lynx"

// programFor finds what is known of a program by its name, with or without a folder and a version.
func programFor(name string) program {
	base := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	for _, one := range []string{base, strings.TrimRight(base, ".0123456789"), strings.TrimRight(base, "-.0123456789")} {
		if p, ok := programs()[one]; ok {
			return p
		}
	}
	return program{
		name: base, letters: "v q n a l h y d u w",
		long: "author grep since until after before message title body label assignee milestone search state limit field " +
			"name date max-count include exclude base head repo branch tag description json lines count namespace id key " +
			"value text subject from to level status user email fix quiet verbose version all force recursive dry-run " +
			"oneline stat no-color color help short",
	}
}

// listed tells whether a word stands in a list, or the list has everything.
func listed(list, word string) bool {
	return list == "*" || slices.Contains(strings.Fields(list), word)
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
func (p program) option(word string) optionUse {
	name, _, attached := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if use := p.use(name); use != useUnknown && (strings.HasPrefix(word, "--") || len(name) > 1) {
		if attached && use != useFlag {
			if use != useValue {
				return useUnknown
			}
			return useFlag
		}
		return use
	}
	if strings.HasPrefix(word, "--") {
		return useUnknown
	}
	for i := range len(name) {
		use := p.use(name[i : i+1])
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

func (p program) use(name string) optionUse {
	switch {
	case name == "":
		return useUnknown
	case listed(p.flags, name):
		return useFlag
	case listed(p.valued, name):
		return useValue
	case listed(p.code, name):
		return useCode
	case listed(p.script, name):
		return useScript
	}
	return useUnknown
}

// takes tells whether an argument may stand behind an option, which may or may not take it for its value.
func (p program) takes(option string) bool {
	name, _, attached := strings.Cut(option, "=")
	if attached {
		return true // it has its value
	}
	bare := strings.TrimLeft(name, "-")
	if listed(p.long, bare) {
		return true
	}
	if strings.HasPrefix(name, "--") || len(bare) > 4 {
		return false
	}
	for _, letter := range bare {
		if !listed(p.letters, string(letter)) && (letter < '0' || letter > '9') {
			return false
		}
	}
	return bare != ""
}

// command is a program with its words, while it is judged.
type command struct {
	*judge
	program
	written string // the program's name in the script
	args    []field
	plain   bool // another shell reads the words once more
}

// hasGiven tells whether one of the words holds an argument that is no number.
func hasGiven(args []field) bool {
	return slices.ContainsFunc(args, func(f field) bool { return f.origin == given })
}

// hasKnown tells whether one of the words holds an argument, a number or a folder.
func hasKnown(args []field) bool {
	return slices.ContainsFunc(args, func(f field) bool { return f.origin >= number })
}

func (c *command) judgeKind() {
	switch c.kind {
	case freeProgram:
		c.parameters(c.args, true)
	case testProgram:
		c.test()
	case printfProgram:
		c.printf()
	case cdProgram:
		c.operands(c.args)
		c.moved = c.moved || hasGiven(c.args)
		c.judge.moved = c.moved
	case wrapper:
		c.wrapped()
	case lookup:
		c.lookup()
	case shellProgram:
		c.shell()
	case interpreter:
		c.interpreted()
	case textProgram:
		c.text()
	case findProgram:
		c.find()
	case xargsProgram:
		c.xargs()
	case targetProgram:
		c.targets()
	case runProgram:
		c.run()
	case packageProgram:
		c.ofPackage()
	case containerProgram:
		c.container()
	case remoteProgram:
		c.remote()
	case verbProgram:
		c.verb()
	case urlProgram:
		c.urls()
	case sourceProgram:
		if c.behindScript(c.args) {
			c.parameters(c.args[1:], false)
		}
	case namesProgram:
		if hasGiven(c.args) {
			c.refuse("an argument would be a name given to %s", c.written)
		}
	case refusedProgram:
		c.never()
	case ordinary:
		c.operands(c.args)
	}
}

// never refuses every argument, and tercet's own folders inside of another text.
func (c *command) never() {
	inside := slices.ContainsFunc(c.args, func(f field) bool { return f.origin == folder && !f.ownFirst })
	reads := c.name == "eval" || c.name == "trap" || c.name == "alias"
	numbers := reads && slices.ContainsFunc(c.args, func(f field) bool { return f.origin == number })
	if hasGiven(c.args) || inside || c.input || reads && c.given || numbers && !c.numbersOnly() {
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
	}
}

// numbersOnly judges the words as the text of a shell's program.
func (c *command) numbersOnly() bool {
	var text []string
	for _, f := range c.args {
		if f.origin == unsure || f.origin > number {
			return false
		}
		text = append(text, f.raw)
	}
	c.judge.code(c.written, field{origin: number, raw: strings.Join(text, " ")}, nil)
	return c.reason == ""
}

// parameters judges words that a script, or a program without options to fear, gets.
func (c *command) parameters(args []field, free bool) {
	ended := free
	for _, f := range args {
		ended = ended || f.origin == fixed && f.lead == "--"
		if f.origin != given {
			continue
		}
		if c.plain && !f.all(plainText().MatchString) {
			c.refuse("an argument with signs of a shell would be read once more by %s", c.written)
		}
		if !ended && (f.option || f.loose || beginsOption(f.lead)) {
			c.couldBeOption()
		}
	}
}

func (c *command) couldBeOption() {
	c.refuse("an argument that begins with - or + could be an option of %s; write -- in front of it", c.written)
}

// writers are programs that write the files that their words name.
const writers = "tee cp mv ln dd install tar unzip sponge ed touch"

// operands judges the words of a program by its options.
func (c *command) operands(args []field) {
	if listed(writers, c.name) && (hasGiven(args) || c.input) {
		c.judge.wrote = append(c.judge.wrote, "")
	}
	if c.noColon && c.input {
		c.refuse("an argument could reach %s, which can read options from its input", c.written)
	}
	if c.noColon && hasGiven(args) && args[0].origin == fixed && strings.Trim(args[0].lead, "-cxtrufvzjJpka") != "" {
		c.refuse("an argument could be the value of the option %s of %s; write -- in front of it if it is none",
			args[0].lead, c.written)
	}
	ended := false
	before := "" // the option in front
	for _, f := range args {
		switch {
		case f.origin != given:
			ended = ended || f.origin == fixed && f.lead == "--"
			before = ""
			if strings.HasPrefix(f.lead, "-") && !ended {
				before = f.lead
			}
			continue
		case f.loose && (!ended || c.forward), (!ended || c.forward) && f.option:
			if c.forward || c.kind == cdProgram {
				c.refuse("an argument that begins with - or + could be an option of %s", c.written)
			}
			c.couldBeOption()
		case !ended && beginsOption(f.lead):
			name, _, attached := strings.Cut(strings.TrimLeft(f.lead, "-"), "=")
			if (!attached || !listed(c.long, name)) && !listed(c.joined, f.lead) {
				c.refuse("an argument would be part of the option %s of %s", f.lead, c.written)
			}
		case !ended && before != "" && !c.takes(before):
			c.refuse("an argument could be the value of the option %s of %s; write -- in front of it if it is none",
				before, c.written)
		}
		c.operand(f)
		before = ""
	}
}

// operand judges the value of a word.
func (c *command) operand(f field) {
	without := func(signs string) bool {
		return f.all(func(text string) bool { return !strings.ContainsAny(text, signs) })
	}
	switch {
	case c.plain && !f.all(plainText().MatchString):
		c.refuse("an argument with signs of a shell would be read once more by %s", c.written)
	case c.noAt && !f.all(func(text string) bool { return !strings.HasPrefix(text, "@") }):
		c.refuse("an argument that begins with @ would name a file for %s", c.written)
	case c.noColon && !without(":"):
		c.refuse("an argument with : would name a host for %s", c.written)
	case c.local && !f.all(inProject):
		c.refuse("an argument would name code outside of the project for %s", c.written)
	}
}

// inProject tells whether a text leads to nothing outside of the project.
func inProject(text string) bool {
	return text == "" || filepath.IsLocal(filepath.FromSlash(strings.TrimPrefix(text, "./"))) &&
		!strings.ContainsAny(text, "@")
}

var (
	unaryTest  = lazy.Regexp(`^-[nzfdersxhLwSpbcgku]$`)
	binaryTest = lazy.Regexp(`^(?:=|==|!=|-nt|-ot|-ef)$`)
)

// test judges test and [: a value is one only where the form has two or three words.
func (c *command) test() {
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
		asks := f.origin == fixed && strings.HasPrefix(f.lead, "-") && !unaryTest().MatchString(f.lead)
		if asks || f.origin == given && (f.option || f.loose || !f.all(func(text string) bool {
			return !strings.ContainsAny(text, "([")
		})) {
			c.refuse("an argument could be computed by %s", c.written)
		}
	}
}

var anyFormat = lazy.Regexp(`%[-+ #0-9.]*[A-Za-z(*]`)

// printf judges the format and what it prints: a conversion into a number can compute, and one can name a variable.
func (c *command) printf() {
	if !hasGiven(c.args) {
		return
	}
	format := c.args[0]
	if format.origin == fixed && format.lead == "--" && len(c.args) > 1 {
		format = c.args[1]
	}
	if format.option || format.loose || strings.HasPrefix(format.lead, "-") {
		c.couldBeOption()
	}
	texts := format.texts
	for _, text := range texts {
		for _, conversion := range anyFormat().FindAllString(strings.ReplaceAll(text, "%%", ""), -1) {
			if !strings.ContainsAny(conversion[len(conversion)-1:], "sqbc") {
				c.refuse("an argument could be computed by printf %s", conversion)
			}
		}
	}
	if texts == nil || format.origin == given && !format.all(func(text string) bool { return !strings.Contains(text, "%") }) {
		c.refuse("an argument would be the format of printf")
	}
	c.parameters(c.args[1:], true)
}

// skip gives the words behind the options of a program. False means that an option is not known.
func (c *command) skip() (rest []field, ok bool) {
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		switch {
		case f.origin == given && (f.option || f.loose):
			return nil, false
		case f.origin == fixed && f.lead == "--":
			return c.args[i+1:], true
		case !strings.HasPrefix(f.lead, "-") || f.lead == "-":
			return c.args[i:], true
		case f.origin == given:
			return nil, false
		}
		switch c.option(f.lead) {
		case useFlag:
		case useValue:
			i++
			if i < len(c.args) && c.args[i].origin == given {
				return nil, false
			}
		case useUnknown, useCode, useScript:
			if c.name != "nice" || strings.Trim(f.lead, "-0123456789") != "" {
				return nil, false
			}
		}
	}
	return nil, true
}

// wrapped judges the program that another one starts.
func (c *command) wrapped() {
	rest, ok := c.skip()
	if !ok {
		if hasKnown(c.args) || c.input {
			c.refuse("an argument could be an option of %s, or the program that it starts", c.written)
		}
		return
	}
	for len(rest) > 0 && (c.name == "env" || c.name == "sudo" || c.name == "doas") {
		found := assignment().FindStringSubmatch(rest[0].lead)
		if found == nil {
			break
		}
		c.surroundings(found[1], rest[0].origin)
		rest = rest[1:]
	}
	if len(rest) > 0 && strings.HasSuffix(c.name, "timeout") {
		if rest[0].origin == given {
			c.refuse("an argument would be part of a program for %s", c.written)
		}
		rest = rest[1:]
	}
	c.start(rest)
}

// start judges the rest of the words as a program.
func (c *command) start(rest []field) {
	if len(rest) == 0 {
		return
	}
	c.judge.program(rest, c.plain)
}

// lookup judges command, which starts a program or asks about a name.
func (c *command) lookup() {
	if len(c.args) > 0 && c.args[0].origin == fixed && (c.args[0].lead == "-v" || c.args[0].lead == "-V") {
		if hasGiven(c.args) {
			c.refuse("an argument would be a name given to command -v")
		}
		return
	}
	c.wrapped()
}

// shell judges a shell: a script with its words, a program text with its words, or its input.
func (c *command) shell() {
	rest, ok := c.skip()
	if !ok {
		if hasKnown(c.args) || c.input {
			c.refuse("an argument could reach %s, which would read it as a program", c.written)
		}
		return
	}
	text := false
	input := false
	for _, f := range c.args[:len(c.args)-len(rest)] {
		if strings.HasPrefix(f.lead, "-") && !strings.HasPrefix(f.lead, "--") {
			text = text || strings.Contains(f.lead, "c")
			input = input || strings.Contains(f.lead, "s")
		}
	}
	switch {
	case text && len(rest) > 0:
		c.judge.code(c.written, rest[0], rest[1:])
	case len(rest) == 0 || input:
		if c.input || hasGiven(rest) {
			c.refuse("an argument could reach %s, which would read it as a program", c.written)
		}
	case c.behindScript(rest):
		c.parameters(rest[1:], false)
	}
}

// behindScript judges the first word as a script, and tells whether the others are its parameters.
func (c *command) behindScript(rest []field) bool {
	if len(rest) == 0 {
		return false
	}
	script := rest[0]
	input := script.origin == fixed && (script.lead == "-" || strings.HasPrefix(script.lead, "/dev/") ||
		strings.HasPrefix(script.lead, "/proc/"))
	switch {
	case script.origin == given || script.origin == number,
		script.origin == folder && (!script.ownFirst || script.loose):
		c.refuse("an argument would be the script of %s", c.written)
		return false
	case script.origin == unsure && hasGiven(rest), input && (c.input || hasGiven(rest)):
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
		return false
	}
	name := ""
	if script.origin == fixed {
		name = script.lead
	}
	if script.origin != folder {
		c.judge.ran = append(c.judge.ran, name)
	}
	return true
}

// interpreted judges an interpreter: everything before its script or its program text is the file's.
func (c *command) interpreted() {
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		if !strings.HasPrefix(f.lead, "-") && f.origin != given || f.lead == "-" {
			if c.behindScript(c.args[i:]) {
				c.parameters(c.args[i+1:], false)
			}
			return
		}
		use := useUnknown
		if f.origin == fixed {
			use = c.option(f.lead)
		}
		if f.lead == "--" {
			continue
		}
		switch use {
		case useFlag:
		case useValue:
			if i++; i < len(c.args) && c.args[i].origin == given {
				c.refuse("an argument could be an option of %s, or the program that it starts", c.written)
			}
		case useCode, useScript:
			i++
			if i == len(c.args) {
				return
			}
			c.programText(c.args[i], c.args[i+1:], use)
			return
		case useUnknown:
			if hasKnown(c.args) || c.input {
				c.refuse("an argument could reach %s, which would read it as a program", c.written)
			}
			return
		}
	}
	if c.input {
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
	}
}

// programText judges the value of an option that is a program text or a script, and the parameters behind it.
func (c *command) programText(text field, rest []field, use optionUse) {
	if use == useScript {
		if text.origin == fixed && listed(runningModules, text.lead) && hasGiven(rest) {
			c.refuse("an argument could reach %s %s, which would read it as a program", c.written, text.lead)
		}
		if c.behindScript(append([]field{text}, rest...)) {
			c.parameters(rest, false)
		}
		return
	}
	switch {
	case text.origin == given || text.origin == folder:
		c.refuse("an argument would be part of a program for %s", c.written)
	case text.origin == unsure && hasGiven(rest):
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
	}
	c.parameters(rest, false)
}

// runningModules are modules of python whose words are programs.
const runningModules = "timeit pdb bdb cProfile profile trace runpy code pip doctest unittest pytest zipapp idlelib " +
	"ensurepip venv asyncio"

// text judges awk and sed: the program text is the file's, and what is behind it are files.
func (c *command) text() {
	seen := false
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		options := strings.HasPrefix(f.lead, "-") && f.lead != "-" && f.lead != "--"
		switch {
		case !options && seen:
			if f.origin != given {
				continue
			}
			if f.option || f.loose || !f.all(func(text string) bool { return !strings.Contains(text, "=") }) {
				c.refuse("an argument that begins with - or holds = could be part of a program for %s", c.written)
			}
		case !options:
			if f.lead == "--" {
				continue
			}
			seen = true
			c.programCode(f)
		case f.origin == given:
			c.refuse("an argument would be part of a program for %s", c.written)
		default:
			switch c.option(f.lead) {
			case useFlag:
			case useValue:
				i++
				if i < len(c.args) {
					c.programCode(c.args[i])
				}
			case useCode, useScript:
				seen = true
				i++
				if i < len(c.args) {
					c.programCode(c.args[i])
				}
			case useUnknown:
				if hasGiven(c.args) {
					c.refuse("an argument would be part of a program for %s", c.written)
				}
			}
		}
	}
}

func (c *command) programCode(f field) {
	inside := f.origin == folder && !f.ownFirst
	if c.input && (f.lead == "-" || strings.HasPrefix(f.lead, "/dev/") || strings.HasPrefix(f.lead, "/proc/")) {
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
	}
	if f.origin == given || inside || f.origin == unsure && hasGiven(c.args) {
		c.refuse("an argument would be part of a program for %s", c.written)
	}
}

// valuePredicates are words of find whose next word is a value, whatever it begins with.
const valuePredicates = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -newer -user -group -perm -size " +
	"-mtime -mmin -ctime -cmin -atime -amin -type -maxdepth -mindepth -samefile -lname -ilname -inum -links"

// find judges find: paths and conditions, and the programs that it starts.
func (c *command) find() {
	starts := "-exec -execdir -ok -okdir"
	if strings.HasPrefix(c.name, "fd") {
		starts = "-x -X --exec --exec-batch"
	}
	behind := false
	before := ""
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		if f.origin == fixed && listed(starts, f.lead) {
			end := i + 1
			for end < len(c.args) && (c.args[end].origin != fixed || c.args[end].lead != ";" && c.args[end].lead != "+") {
				end++
			}
			c.start(c.args[i+1 : end])
			i = end
			continue
		}
		switch {
		case f.origin != given:
			behind = behind || f.origin != unsure && !strings.HasPrefix(f.lead, "-")
		case before != "" && listed(valuePredicates, before) && !f.loose && !strings.HasPrefix(c.name, "fd"):
		case !behind || f.option || f.loose || before != "" || beginsOption(f.lead) ||
			!f.all(func(text string) bool { return text == "" || !strings.Contains("(!),", text[:1]) }):
			c.refuse("an argument would be part of a program for %s", c.written)
		}
		before = ""
		if f.origin == fixed && strings.HasPrefix(f.lead, "-") {
			before = f.lead
		}
	}
}

func (c *command) xargs() {
	if c.input {
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
	}
	c.wrapped()
}

// targets judges make and its like, whose words end in a shell: behind a target, and plain.
func (c *command) targets() {
	if c.input {
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
	}
	rest, ok := c.skip()
	if !ok || len(rest) == 0 {
		if hasGiven(c.args) {
			c.refuse("an argument would be part of a program for %s", c.written)
		}
		return
	}
	for i, f := range rest {
		plain := f.all(func(text string) bool {
			return plainText().MatchString(text) && !strings.ContainsAny(text, "=:%@")
		})
		if f.origin == given && (i == 0 || f.option || f.loose || !plain || f.lead != "") {
			c.refuse("an argument would be part of a program for %s", c.written)
		}
	}
}

// run judges npm and its like: behind a verb and a script, and plain.
func (c *command) run() {
	rest, ok := c.skip()
	need := 1
	if len(rest) > 0 && strings.HasPrefix(rest[0].lead, "run") {
		need = 2
	}
	for i, f := range c.args {
		if f.origin == number && i < need && c.name != "deno" {
			c.refuse("an argument would be the name of the program")
		}
	}
	known := ok && len(rest) >= need && listed(c.verbs, rest[0].lead) &&
		(need == 1 || rest[1].origin == fixed || rest[1].origin == folder && rest[1].ownFirst)
	if known && need == 2 && strings.HasPrefix(rest[1].lead, "-") {
		known = false
	}
	if !known {
		if hasGiven(c.args) || c.input {
			c.refuse("an argument could reach %s, which would read it as a program", c.written)
		}
		return
	}
	for _, f := range rest[need:] {
		if f.origin == given && (f.option || f.loose || beginsOption(f.lead)) {
			c.refuse("an argument that begins with - or + could be an option of what %s starts", c.written)
		}
	}
	c.parameters(rest[need:], true)
}

// ofPackage judges npx: the program is the file's.
func (c *command) ofPackage() {
	rest, ok := c.skip()
	if !ok {
		if hasKnown(c.args) || c.input {
			c.refuse("an argument could reach %s, which would read it as a program", c.written)
		}
		return
	}
	c.start(rest)
}

// container judges docker and kubectl: only what is started inside of a container that the file names.
func (c *command) container() {
	args := c.args
	if len(args) > 0 && args[0].lead == "compose" {
		args = args[1:]
	}
	starts := len(args) > 0 && args[0].origin == fixed && (args[0].lead == "exec" || args[0].lead == "run")
	reads := len(args) > 0 && args[0].origin == fixed && listed("get describe explain top", args[0].lead) &&
		(c.name == "kubectl" || c.name == "oc")
	inner := &command{judge: c.judge, program: c.program, written: c.written, plain: c.plain}
	if starts || reads {
		inner.args = args[1:]
	}
	rest, ok := inner.skip()
	switch {
	case ok && len(rest) > 1 && rest[0].origin != given && starts:
		rest = rest[1:]
		if rest[0].origin == fixed && rest[0].lead == "--" {
			rest = rest[1:]
		}
		c.start(rest)
	case ok && len(rest) > 1 && rest[0].origin == fixed && reads:
		for _, f := range rest {
			if f.origin == given && (f.option || f.loose || beginsOption(f.lead)) {
				c.refuse("an argument that begins with - or + could be an option of %s", c.written)
			}
			if f.origin != given && strings.HasPrefix(f.lead, "-") && hasGiven(rest) {
				c.refuse("an argument would be part of a program for %s", c.written)
			}
		}
	case hasGiven(c.args) || c.input:
		c.refuse("an argument would be part of a program for %s", c.written)
	}
}

// remote judges ssh: host and program are the file's, and a shell there reads the words once more.
func (c *command) remote() {
	rest, ok := c.skip()
	switch {
	case ok && len(rest) > 1 && rest[0].origin == fixed && !c.input:
		c.start(rest[1:])
	case hasGiven(c.args) || c.input:
		c.refuse("an argument could reach %s, which would read it as a program", c.written)
	}
}

// gitOptions are options before what git does that take the next word.
const gitOptions = "-c -C --git-dir --work-tree --namespace --config-env --exec-path --super-prefix"

// verb judges programs whose first operand says what they do.
func (c *command) verb() {
	for i := 0; i < len(c.args); i++ {
		f := c.args[i]
		switch {
		case f.origin == given:
			c.refuse("an argument could be an option of %s itself, which can name programs", c.written)
			return
		case f.origin == fixed && listed(gitOptions, f.lead):
			if i+1 < len(c.args) && c.args[i+1].origin == given {
				c.refuse("an argument could be an option of %s itself, which can name programs", c.written)
				return
			}
			i++
			continue
		case strings.HasPrefix(f.lead, "-"):
			continue
		}
		rest := c.args[i+1:]
		if !hasGiven(rest) && !c.input {
			return
		}
		if f.origin != fixed || !listed(c.verbs, f.lead) {
			if hasGiven(rest) || c.input {
				c.refuse("an argument could name a program or a host for %s %s", c.written, f.lead)
			}
			return
		}
		c.verbOperands(f.lead, rest)
		return
	}
}

// verbOperands judges the words behind a verb.
func (c *command) verbOperands(verb string, rest []field) {
	inner := *c
	inner.written = c.written + " " + verb
	if c.name == "gh" && verb == "api" {
		for i, f := range rest {
			if f.origin == given && f.lead == "" && (i == 0 || !strings.HasPrefix(rest[i-1].lead, "-")) {
				c.refuse("an argument could name a program or a host for gh api")
			}
		}
	}
	inner.operands(rest)
}

var hostPrefix = lazy.Regexp(`^["']?https?://[^/$@?#]+/`)

// urls judges curl and its like: the host is the file's, and options are.
func (c *command) urls() {
	if c.input {
		c.refuse("an argument could reach %s, which can read options from its input", c.written)
	}
	for i, f := range c.args {
		if f.origin != given {
			continue
		}
		option := i > 0 && strings.HasPrefix(c.args[i-1].lead, "-") &&
			!listed("-s -S -f -L -sS -fsSL -sL -sSL -fsS -i -I -v -k --silent --fail --location -q -O-", c.args[i-1].lead)
		if option || !hostPrefix().MatchString(f.lead) || f.loose {
			c.refuse("an argument could name a host, a file or an option for %s", c.written)
		}
	}
}
