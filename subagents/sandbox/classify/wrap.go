package classify

import (
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
	s.here = v.words[0].pos
	if !v.words[0].known() {
		s.unknown(s.here, "which program it is shows only when it runs")
		return
	}
	s.cmd = v.words[0].name()
	if strings.Contains(v.words[0].text, "/") {
		s.runs(v.words[0])
	}
	for _, e := range v.env {
		s.urls([]word{e.value}, e.name)
		if oneOf(e.name, "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PROMPT_COMMAND", "GIT_SSH_COMMAND") {
			s.risk(PrivilegeEscalation, Recommended, e.name+"="+e.value.shown(), "makes other programs run code of its choice")
		}
	}
	args := v.words[1:]
	if asked(args) && s.cmd != "env" {
		return
	}
	s.variables(v)
	if s.shell(v, args) || s.plainWrapper(v, args) || s.wrapper(v, args) {
		return
	}
	s.rules(v, args)
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
	s.start(v.with(words))
	s.here, s.cmd = here, cmd
}

func isName(n string) bool {
	for i := range len(n) {
		c := n[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return n != ""
}

// plain describes a wrapper: which of its options take a value, and how many words of its own stand before the command.
func plain(name string) (valued string, skip int, ok bool) {
	switch name {
	case "nohup", "setsid", "builtin", "unbuffer", "busybox", "toybox", "catchsegv", "rlwrap", "torsocks", "torify", "proxychains", "proxychains4", "fakeroot", "cross-env", "doppler":
		return "", 0, true
	case "nice":
		return "-n --adjustment", 0, true
	case "ionice":
		return "-c -n -p --class --classdata", 0, true
	case "timeout", "gtimeout":
		return "-k -s --kill-after --signal", 1, true
	case "stdbuf":
		return "-i -o -e --input --output --error", 0, true
	case "time":
		return "-f -o --format --output", 0, true
	case "exec":
		return "-a", 0, true
	case "chrt":
		return "-T -P -D", 1, true
	case "taskset":
		return "", 1, true
	case "strace", "ltrace":
		return "-o -e -p -s -u -P -a -E -I -O -S -X", 0, true
	case "xvfb-run":
		return "-s -n -e -f -p -w", 0, true
	case "caffeinate":
		return "-t -w", 0, true
	case "setarch", "linux64", "linux32":
		return "", 0, true
	case "systemd-inhibit":
		return "--what --who --why --mode", 0, true
	}
	return "", 0, false
}

func (s *scan) plainWrapper(v invocation, args []word) bool {
	valued, skip, ok := plain(s.cmd)
	if !ok {
		return false
	}
	rest := split(args, valued, true).rest
	if len(rest) > skip {
		s.inner(v, rest[skip:])
	}
	return true
}

// wrapper looks through the programs that start others and have rules of their own.
func (s *scan) wrapper(v invocation, args []word) bool {
	switch s.cmd {
	case "env":
		s.env(v, args)
	case "command":
		if l := split(args, "", true); !l.has("-v", "-V") {
			s.inner(v, l.rest)
		}
	case "xargs", "parallel":
		s.xargs(v, args)
	case "watch", "hyperfine":
		if l := split(args, "-n --interval -w --warmup -r --runs", true); len(l.rest) > 0 {
			s.text(joined(l.rest), single(l.rest))
		}
	case "script":
		if w, ok := split(args, "-c --command -I -O -B -T -m -E -o", false).get("-c", "--command"); ok {
			s.text(w.text, w)
		}
	case "flock":
		l := split(args, "-w --timeout -E --conflict-exit-code", true)
		if len(l.rest) > 1 {
			if oneOf(l.rest[1].text, "-c", "--command") && len(l.rest) > 2 {
				s.text(l.rest[2].text, l.rest[2])
			} else {
				s.inner(v, l.rest[1:])
			}
		}
	case "poetry", "uv", "pipenv", "pdm", "rye", "hatch":
		return s.after(v, args, "run")
	case "bundle", "pnpm", "bun", "direnv", "mise", "asdf":
		if s.cmd == "direnv" && len(args) > 2 && args[0].text == "exec" {
			s.inner(v, args[2:])
			return true
		}
		return s.after(v, args, "exec")
	case "dotenv", "dotenvx":
		rest := split(args, "-f -e", true).rest
		if len(rest) > 0 && rest[0].text == "run" {
			rest = split(rest[1:], "-f", true).rest
		}
		s.inner(v, rest)
	case "nix-shell":
		if w, ok := split(args, "--run --command -p -I", false).get("--run", "--command"); ok {
			s.text(w.text, w)
		}
	default:
		return s.rootWrapper(v, args)
	}
	return true
}

// after looks through `tool WORD command`.
func (s *scan) after(v invocation, args []word, verb string) bool {
	if len(args) < 2 || args[0].text != verb {
		return false
	}
	rest := split(args[1:], "--package -p --with --python --group --project --directory", true).rest
	s.inner(v, rest)
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
	for _, w := range l.rest {
		if name, _, ok := strings.Cut(w.text, "="); !ok || !isName(name) {
			s.inner(v, l.rest)
			return
		}
	}
	if len(l.rest) == 0 && !l.has("-i", "--ignore-environment") && !asked(args) {
		s.risk(SecretAccess, Recommended, "", "prints every variable, passwords and tokens among them")
	}
}

func (s *scan) xargs(v invocation, args []word) {
	l := split(args, "-I -n -P -L -d -s -a -E -j -S --max-args --max-procs --replace --delimiter --arg-file --max-lines --max-chars --jobs --colsep", true)
	rest := l.rest
	if s.cmd == "parallel" {
		for i, w := range rest {
			if strings.HasPrefix(w.text, ":::") {
				rest = rest[:i]
				break
			}
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
	words := append([]word{}, rest...)
	filled := false
	for i := range words {
		if strings.Contains(words[i].text, mark) {
			words[i].text, filled = strings.ReplaceAll(words[i].text, mark, hole), true
		}
	}
	if !filled {
		words = append(words, word{text: hole, pos: words[0].pos})
	}
	v.in = nil
	s.inner(v, words)
}

// shell looks into the texts that shells read.
func (s *scan) shell(v invocation, args []word) bool {
	switch s.cmd {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash":
		s.shellProgram(v, args)
	case "eval":
		if len(args) > 0 {
			if !s.refetched(args) {
				s.text(joined(args), single(args))
			}
		}
	case "source", ".":
		if len(args) > 0 && args[0].code {
			s.substituted(args[0])
		}
		return len(args) > 0 && args[0].code
	case "trap":
		if l := split(args, "", true); len(l.rest) > 1 && !l.has("-l", "-p") && l.rest[0].text != "" {
			s.text(l.rest[0].text, l.rest[0])
		}
	case "alias":
		for _, w := range args {
			if name, value, ok := strings.Cut(w.text, "="); ok {
				at := w
				at.inner.Col += len(name) + 1
				if w.inner.IsZero() {
					at.inner = w.inner
				}
				s.text(value, at)
			}
		}
	case "cd", "pushd":
		rest := split(args, "", true).rest
		switch {
		case len(rest) == 0:
			s.goTo(word{text: "~", tilde: true})
		default:
			s.goTo(rest[0])
		}
	case "popd":
		s.dirKnown = false
	default:
		return false
	}
	return true
}

// goTo takes in a change of the working folder.
func (s *scan) goTo(w word) {
	if p, z := s.resolve(w); z != unknown && w.known() && !w.glob && w.text != "-" && strings.HasPrefix(p, "/") && s.loose == 0 {
		s.dir, s.dirKnown = p, true
		return
	}
	s.dir, s.dirKnown = "", false
}

// shellProgram judges a shell: what it reads stands in -c, in a file, or comes from a pipe.
func (s *scan) shellProgram(v invocation, args []word) {
	l := split(args, "-o -O --rcfile --init-file +o +O", true)
	if l.has("-c", "--command") {
		if len(l.rest) > 0 {
			if !s.refetched(l.rest[:1]) {
				s.child(func(c *scan) {
					for _, e := range v.env {
						c.vars[e.name] = binding{text: e.value.text, known: e.value.known()}
					}
					c.text(l.rest[0].text, l.rest[0])
				})
			}
		}
		return
	}
	if len(l.rest) > 0 && !l.has("-s") && l.rest[0].text != "-" && l.rest[0].text != "/dev/stdin" {
		s.runs(l.rest[0])
		if l.rest[0].code {
			s.substituted(l.rest[0])
		}
		return
	}
	s.piped(v)
}

// piped judges a program that runs what comes from a pipe.
func (s *scan) piped(v invocation) {
	switch in := v.in; {
	case in == nil:
	case in.fetched:
		s.add(found{Finding: Finding{Category: ExternalNet, Tier: Required, Reason: "runs what it fetches from elsewhere"}, fetches: true})
	case in.known && isShell(s.cmd):
		at := word{pos: s.here}
		s.text(in.text, at)
	case in.known:
		s.code(in.text)
	default:
		s.unknown(s.here, "it runs what comes from a pipe")
	}
}

func isShell(name string) bool {
	return oneOf(name, "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash")
}

// refetched tells and books that a text which a shell reads is fetched first.
func (s *scan) refetched(ws []word) bool {
	for _, w := range ws {
		if w.fetched {
			s.add(found{Finding: Finding{Category: ExternalNet, Tier: Required, Reason: "runs what it fetches from elsewhere"}, fetches: true})
			return w.text == hole
		}
	}
	return false
}

// substituted judges a file for a shell that is the output of a command.
func (s *scan) substituted(w word) {
	if s.refetched([]word{w}) {
		return
	}
	s.unknown(w.pos, "a shell reads what a command prints")
}

func joined(ws []word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// single keeps the place of a text that is one word.
func single(ws []word) word {
	if len(ws) == 1 {
		return ws[0]
	}
	return word{pos: ws[0].pos}
}
