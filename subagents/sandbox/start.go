package sandbox

import (
	"path"
	"slices"
	"strings"
)

// start judges one program, looking through those that start others.
func (s *scan) start(v invocation) {
	if len(v.words) == 0 {
		return
	}
	if s.depth++; s.depth > mostDepth {
		s.unknown(s.here, "it is nested too deeply to be looked at")
		s.depth--
		return
	}
	defer func() { s.depth-- }()
	first, args := v.words[0], v.words[1:]
	s.here = first.pos
	if !first.known() {
		s.unknown(s.here, "which program it is shows only when it runs")
		return
	}
	s.cmd = path.Base(first.text)
	if strings.Contains(first.text, "/") {
		s.runs(first)
	}
	for _, e := range v.env {
		s.urls([]word{e.value}, e.name)
		if oneOf(e.name, "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PROMPT_COMMAND",
			"GIT_SSH_COMMAND") {
			s.risk(PrivilegeEscalation, Recommended, e.name+"="+e.value.text, "makes other programs run code of its choice")
		}
	}
	if asked(args) && s.cmd != "env" {
		return
	}
	s.variables(args)
	if s.shell(v, args) || s.wrapper(v, args) {
		return
	}
	s.judge(v, args)
	s.files(v, args)
	s.network(args)
	s.databases(v, args)
	s.secrets(args)
	s.interpreter(v, args)
}

// asked tells whether the words only ask a program about itself.
func asked(ws []word) bool {
	if len(ws) == 0 {
		return false
	}
	last := ws[len(ws)-1].text
	return last == "--help" || len(ws) == 1 && oneOf(last, "--version", "-V", "version", "help")
}

// inner goes on with the words behind a wrapper.
func (s *scan) inner(v invocation, words []word) {
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0].text, "=")
		if !ok || !isName(name) {
			break
		}
		w := words[0]
		w.text = value
		v.env = append(slices.Clip(v.env), setting{name, w})
		words = words[1:]
	}
	here, cmd := s.here, s.cmd
	v.words = words
	s.start(v)
	s.here, s.cmd = here, cmd
}

func isName(n string) bool {
	return n != "" && strings.Trim(n, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" &&
		(n[0] < '0' || n[0] > '9')
}

// wrapper is a program that starts another.
type wrapper struct {
	names  string
	valued string // options that take a value
	skip   int    // words of its own before the command
	// how is empty where the words are the command. "text": a shell reads them. A word: the command stands behind this
	// word. Options: a shell reads the value of one of them, and no words are a command.
	how string
	// right is what is booked for every use: root! for the rights of another, root+ for namespaces in which it is root.
	right string
}

const (
	sudoOptions = "-u -g -h -p -C -T -U -r -t -D -R --user --group --host --prompt --chdir --chroot"
	runOptions  = "--package -p --with --python --group --project --directory"
	idOptions   = "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --userspec"
)

var wrappers = []wrapper{
	{names: "nohup setsid builtin unbuffer busybox toybox catchsegv rlwrap torsocks torify proxychains proxychains4 " +
		"fakeroot " +
		"cross-env doppler setarch linux64 linux32 command"},
	{names: "nice", valued: "-n --adjustment"},
	{names: "ionice", valued: "-c -n -p --class --classdata"},
	{names: "timeout gtimeout", valued: "-k -s --kill-after --signal", skip: 1},
	{names: "stdbuf", valued: "-i -o -e --input --output --error"},
	{names: "time", valued: "-f -o --format --output"},
	{names: "exec", valued: "-a"},
	{names: "chrt", valued: "-T -P -D", skip: 1},
	{names: "taskset", skip: 1},
	{names: "strace ltrace", valued: "-o -e -p -s -u -P -a -E -I -O -S -X"},
	{names: "xvfb-run", valued: "-s -n -e -f -p -w"},
	{names: "caffeinate", valued: "-t -w"},
	{names: "systemd-inhibit", valued: "--what --who --why --mode"},
	{names: "watch hyperfine", valued: "-n --interval -w --warmup -r --runs", how: "text"},
	{names: "script", valued: "-c --command -I -O -B -T -m -E -o", how: "-c --command"},
	{names: "nix-shell", valued: "--run --command -p -I", how: "--run --command"},
	{names: "poetry uv pipenv pdm rye hatch", valued: runOptions, how: "run"},
	{names: "bundle pnpm bun mise asdf direnv", valued: runOptions, how: "exec"},
	{names: "sudo", valued: sudoOptions, right: "root!"},
	{names: "doas", valued: "-u -C", right: "root!"},
	{names: "pkexec", valued: "--user", right: "root!"},
	{names: "run0 systemd-run", valued: "-u --user -p --property --unit --uid --gid -E --setenv", right: "root!"},
	{names: "gosu su-exec chroot", valued: idOptions, skip: 1, right: "root!"},
	{names: "setpriv", valued: idOptions, right: "root!"},
	{names: "nsenter", valued: "-t --target -S -G --setuid --setgid", right: "root!"},
	{names: "unshare", right: "root+"},
	{names: "su runuser", valued: "-c --command -s --shell -g -G -u", how: "-c --command", right: "root!"},
}

// wrapper looks through the programs that start others; false: this is none.
func (s *scan) wrapper(v invocation, args []word) bool {
	if s.special(v, args) {
		return true
	}
	i := slices.IndexFunc(wrappers, func(w wrapper) bool { return listed(s.cmd, w.names) })
	if i < 0 {
		return false
	}
	w := wrappers[i]
	options := strings.HasPrefix(w.how, "-")
	l := split(args, w.valued, !options)
	switch {
	case s.cmd == "sudo" && len(l.rest) == 0 && l.has("-l", "--list", "-k", "-K", "-V", "--version", "--help"),
		s.cmd == "command" && l.has("-v", "-V"):
		return true
	case w.how == "run" || w.how == "exec":
		if len(args) < 2 || args[0].text != w.how {
			return false
		}
		l = split(args[1:], w.valued, true)
	}
	switch w.right {
	case "root!":
		s.risk(PrivilegeEscalation, Required, "", "runs with the rights of another")
	case "root+":
		s.risk(PrivilegeEscalation, Recommended, "", "makes namespaces in which it is root")
	}
	if text, ok := l.get(strings.Fields(w.how)...); options && ok {
		s.text(text.text, text)
	} else if s.cmd == "su" || s.cmd == "runuser" {
		if u := split(args, w.valued, true); u.has("-u") {
			s.inner(v, u.rest)
		}
	} else if len(l.rest) > w.skip && w.how == "text" {
		s.text(joined(l.rest), single(l.rest))
	} else if len(l.rest) > w.skip && !options {
		s.inner(v, l.rest[w.skip:])
	}
	return true
}

// special looks through the programs that start others in ways of their own.
func (s *scan) special(v invocation, args []word) bool {
	switch s.cmd {
	case "env":
		s.env(v, args)
	case "xargs", "parallel":
		s.xargs(v, args)
	case "flock":
		l := split(args, "-w --timeout -E --conflict-exit-code", true)
		if len(l.rest) > 2 && oneOf(l.rest[1].text, "-c", "--command") {
			s.text(l.rest[2].text, l.rest[2])
		} else if len(l.rest) > 1 {
			s.inner(v, l.rest[1:])
		}
	case "direnv":
		if len(args) < 3 || args[0].text != "exec" {
			return false
		}
		s.inner(v, args[2:])
	case "dotenv", "dotenvx":
		rest := split(args, "-f -e", true).rest
		if len(rest) > 0 && rest[0].text == "run" {
			rest = split(rest[1:], "-f", true).rest
		}
		s.inner(v, rest)
	default:
		return false
	}
	return true
}

func (s *scan) env(v invocation, args []word) {
	l := split(args, "-u --unset -C --chdir -S --split-string -P", true)
	if w, ok := l.get("-S", "--split-string"); ok {
		s.text(w.text+" "+joined(l.rest), w)
		return
	}
	if w, ok := l.get("-C", "--chdir"); ok {
		s.child(func(c *scan) {
			c.goTo(w)
			c.inner(v, l.rest)
		})
		return
	}
	s.inner(v, l.rest)
	if len(l.rest) == 0 && !l.has("-i", "--ignore-environment") && !asked(args) {
		s.risk(SecretAccess, Recommended, "", everyVariable)
	}
}

func (s *scan) xargs(v invocation, args []word) {
	l := split(args, "-I -n -P -L -d -s -a -E -j -S --max-args --max-procs --replace --delimiter --arg-file --max-lines "+
		"--max-chars --jobs --colsep", true)
	rest := slices.Clone(l.rest)
	if s.cmd == "parallel" {
		if i := slices.IndexFunc(rest, func(w word) bool { return strings.HasPrefix(w.text, ":::") }); i >= 0 {
			rest = rest[:i]
		}
		if len(rest) == 1 && strings.ContainsAny(rest[0].text, " ;|&") {
			s.text(strings.ReplaceAll(rest[0].text, "{}", unknownName), rest[0])
			return
		}
	}
	if len(rest) == 0 {
		return
	}
	mark := "{}"
	if w, ok := l.get("-I", "--replace"); ok && w.text != "" {
		mark = w.text
	}
	filled := false
	for i, w := range rest {
		if strings.Contains(w.text, mark) {
			rest[i].text, filled = strings.ReplaceAll(w.text, mark, hole), true
		}
	}
	if !filled {
		rest = append(rest, word{text: hole, pos: rest[0].pos})
	}
	v.in = nil
	s.inner(v, rest)
}

const shells = "sh bash dash zsh ksh mksh ash fish rbash"

// shell looks into the texts that shells read.
func (s *scan) shell(v invocation, args []word) bool {
	if listed(s.cmd, shells) {
		s.shellProgram(v, args)
		return true
	}
	switch s.cmd {
	case "eval":
		if len(args) > 0 && !s.refetched(args) {
			s.text(joined(args), single(args))
		}
	case "source", ".":
		if len(args) == 0 || !args[0].code {
			return false
		}
		s.substituted(args[0])
	case "trap":
		if l := split(args, "", true); len(l.rest) > 1 && !l.has("-l", "-p") && l.rest[0].text != "" {
			s.text(l.rest[0].text, l.rest[0])
		}
	case "alias":
		for _, w := range args {
			if name, value, ok := strings.Cut(w.text, "="); ok {
				if !w.inner.IsZero() {
					w.inner.Col += len(name) + 1
				}
				s.text(value, w)
			}
		}
	case "cd", "pushd":
		to := word{text: "~", tilde: true}
		if rest := split(args, "", true).rest; len(rest) > 0 {
			to = rest[0]
		}
		s.goTo(to)
	case "popd":
		s.dirKnown = false
	default:
		return false
	}
	return true
}

// goTo takes in a change of the working folder.
func (s *scan) goTo(w word) {
	p, z := s.resolve(w)
	s.dirKnown = z != unknown && w.known() && !w.glob && w.text != "-" && path.IsAbs(p) && s.loose == 0
	s.dir = p
}

// shellProgram judges a shell: what it reads stands in -c, in a file, or comes from a pipe.
func (s *scan) shellProgram(v invocation, args []word) {
	l := split(args, "-o -O --rcfile --init-file +o +O", true)
	switch {
	case l.has("-c", "--command"):
		if len(l.rest) > 0 && !s.refetched(l.rest[:1]) {
			s.child(func(c *scan) {
				for _, e := range v.env {
					c.vars[e.name] = e.value.value()
				}
				c.text(l.rest[0].text, l.rest[0])
			})
		}
	case len(l.rest) > 0 && !l.has("-s") && l.rest[0].text != "-" && l.rest[0].text != "/dev/stdin":
		if s.runs(l.rest[0]); l.rest[0].code {
			s.substituted(l.rest[0])
		}
	default:
		s.piped(v)
	}
}

// fetchedCode books code that comes from elsewhere and is run.
func (s *scan) fetchedCode(target string) {
	f := Finding{Category: ExternalNet, Level: Required, Target: target, Reason: "runs what it fetches from elsewhere"}
	s.add(found{Finding: f, fetches: true})
}

// piped judges a program that runs what comes from a pipe.
func (s *scan) piped(v invocation) {
	switch in := v.in; {
	case in == nil:
	case in.fetched:
		s.fetchedCode("")
	case in.known() && listed(s.cmd, shells):
		s.text(in.text, word{pos: s.here})
	case in.known():
		s.code(in.text)
	default:
		s.unknown(s.here, "it runs what comes from a pipe")
	}
}

// refetched tells and books that a text which a shell reads is fetched first.
func (s *scan) refetched(ws []word) bool {
	for _, w := range ws {
		if w.fetched {
			s.fetchedCode("")
			return w.text == hole
		}
	}
	return false
}

// substituted judges a file for a shell that is the output of a command.
func (s *scan) substituted(w word) {
	if !s.refetched([]word{w}) {
		s.unknown(w.pos, "a shell reads what a command prints")
	}
}

// interpreters are languages that can start programs themselves: the option before code, and those that take a value.
var interpreters = []struct{ names, flags, valued string }{
	{"python pypy", "-c", "-c -m -W -X"},
	{"node deno bun ruby", "-e --eval", "-e -r -p --eval"},
	{"perl lua osascript", "-e -E", "-e -E"},
	{"php", "-r", "-r -d -c"},
}

// interpreter judges a language by a few words in its code, which is not parsed.
func (s *scan) interpreter(v invocation, args []word) {
	if oneOf(s.cmd, "awk", "gawk", "mawk", "nawk") {
		for _, w := range args {
			if hasAny(w.text, "system(", `| "sh`, `|"sh`, "| getline", "|getline") {
				s.code(w.text)
			}
		}
		return
	}
	name := strings.TrimRight(s.cmd, "0123456789.")
	for _, in := range interpreters {
		if !listed(name, in.names) {
			continue
		}
		l := split(args, in.valued, true)
		if m, ok := l.get("-m"); ok && listed(name, "python pypy") {
			if oneOf(m.text, "pip", "pipx", "twine", "uv", "poetry") {
				s.inner(v, append([]word{m}, l.rest...))
			}
		} else if w, ok := l.get(strings.Fields(in.flags)...); ok {
			s.code(w.text)
		} else if len(l.options) == 0 && (len(l.rest) == 0 || l.rest[0].text == "-") {
			s.piped(v)
		}
	}
}

// code looks for words in code of another language.
func (s *scan) code(text string) {
	lower := strings.ToLower(text)
	if hasAny(lower, "rmtree", "os.remove", "os.unlink", "os.rmdir", "fs.rm", ".rmsync", "rmdirsync", "unlinksync",
		"rm_rf",
		"rm_r(", "unlink", "removesync", "deletefile", "file.delete", "remove_tree", "rmdir(") {
		s.risk(DestructiveFS, Recommended, "", "code that deletes files")
		for _, w := range s.quoted(text) {
			if _, z := s.resolve(w); z.foreign() {
				s.removes(w, true)
			}
		}
	}
	if hasAny(lower, "writefile", "write_text", "write_bytes", ".write(", "file_put_contents", "truncate", "copyfile",
		"shutil.",
		"os.rename", "file.rename", "symlink", "'w'", `"w"`, "'a'", `"a"`, "'>", `">`) {
		for _, w := range s.quoted(text) {
			if _, z := s.resolve(w); z == system || z == device || z == home {
				s.writes(w, "writes")
			}
		}
	}
	if hasAny(lower, "urllib", "requests.", "http://", "https://", "socket.", "fetch(", "net.connect", "urlopen",
		"io::socket",
		"net::http", "fsockopen") {
		f := Finding{Category: ExternalNet, Level: Recommended, Reason: "code that speaks to other machines"}
		s.add(found{Finding: f, sends: true})
	}
	if hasAny(lower, ".ssh/", ".aws/", "id_rsa", "/etc/shadow", "os.environ)", "process.env)", "/.env", "'.env'",
		`".env"`, "%env") {
		s.risk(SecretAccess, Recommended, "", "code that reads secrets")
	}
	if hasAny(lower, "system(", "popen", "subprocess", "child_process", "exec(", "execsync", "spawn", "do shell script",
		"| \"sh",
		"|\"sh", "getline") {
		s.unknown(s.here, "it is code that starts programs")
	}
}

// quoted gives the absolute paths that stand in quotes in code of another language.
func (s *scan) quoted(text string) (out []word) {
	for i := strings.IndexAny(text, "'\"`"); i >= 0; i = strings.IndexAny(text, "'\"`") {
		inside, rest, ok := strings.Cut(text[i+1:], text[i:i+1])
		if !ok {
			break
		}
		if name := strings.TrimLeft(inside, "<>+ "); strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~/") {
			out = append(out, word{text: name, pos: s.here, tilde: name[0] == '~'})
		}
		text = rest
	}
	return out
}
