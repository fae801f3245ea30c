package shell

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
	if s.args != nil {
		s.args.judgeProgram(s, s.args.fields(v.words), false)
		return
	}

	s.depth++
	if s.depth > maxDepth {
		s.addUnknown(s.here, "it is nested too deeply to be looked at")
		s.depth--
		return
	}
	defer func() { s.depth-- }()
	first := v.words[0]
	args := v.words[1:]
	s.here = first.pos
	if !first.known() {
		s.addUnknown(s.here, "which program it is shows only when it runs")
		return
	}

	s.cmd = path.Base(first.text)
	if strings.Contains(first.text, "/") {
		s.judgeRun(first)
	}
	for _, e := range v.env {
		s.judgeDatabaseURLs([]word{e.value}, e.name)
		if inList(
			e.name,
			"LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV PROMPT_COMMAND "+
				"GIT_SSH_COMMAND",
		) {
			s.addRisk("root+", e.name+"="+e.value.text,
				"makes other programs run code of its choice")
		}
	}

	if asksForHelp(args) && s.cmd != "env" {
		return
	}
	s.judgeVariables(args)
	s.judge(v)
}

// asksForHelp tells whether the words only ask a program about itself.
func asksForHelp(ws []word) bool {
	if len(ws) == 0 {
		return false
	}
	last := ws[len(ws)-1].text
	return last == "--help" || len(ws) == 1 && oneOf(last, "--version", "-V", "version", "help")
}

// startInner goes on with the words behind a wrapper.
func (s *scan) startInner(v invocation, words []word) {
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

	here := s.here
	cmd := s.cmd
	v.words = words
	s.start(v)
	s.here = here
	s.cmd = cmd
}

func isName(n string) bool {
	return n != "" &&
		strings.Trim(n, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" &&
		(n[0] < '0' || n[0] > '9')
}

func (j *judgement) judgeEnv() {
	if w, ok := j.get("-S", "--split-string"); ok {
		j.scan.scanText(w.text+" "+joinWords(j.rest), w)
	} else if w, ok := j.get("-C", "--chdir"); ok {
		j.scan.inSubshell(func(c *scan) {
			c.changeDir(w)
			c.startInner(j.v, j.rest)
		})
	} else {
		j.scan.startInner(j.v, j.rest)
		if len(j.rest) == 0 && !j.has("-i", "--ignore-environment") && !asksForHelp(j.args) {
			j.scan.addRisk("secret+", "", everyVariable)
		}
	}
}

func (j *judgement) judgeXargs() {
	rest := slices.Clone(j.rest)
	if j.scan.cmd == "parallel" {
		i := slices.IndexFunc(rest, func(w word) bool {
			return strings.HasPrefix(w.text, ":::")
		})
		if i >= 0 {
			rest = rest[:i]
		}
		if len(rest) == 1 && strings.ContainsAny(rest[0].text, " ;|&") {
			j.scan.scanText(strings.ReplaceAll(rest[0].text, "{}", unknownName), rest[0])
			return
		}
	}
	if len(rest) == 0 {
		return
	}

	mark := "{}"
	if w, ok := j.get("-I", "--replace"); ok && w.text != "" {
		mark = w.text
	}
	filled := false
	for i, w := range rest {
		rest[i].text = strings.ReplaceAll(w.text, mark, hole)
		filled = filled || rest[i].text != w.text
	}

	if !filled {
		rest = append(rest, word{text: hole, pos: rest[0].pos})
	}

	v := j.v
	v.in = nil
	j.scan.startInner(v, rest)
}

func (s *scan) judgeAlias(args []word) {
	for _, w := range args {
		if name, value, ok := strings.Cut(w.text, "="); ok {
			if !w.inner.IsZero() {
				w.inner.Col += len(name) + 1
			}
			s.scanText(value, w)
		}
	}
}

// changeDir takes in a change of the working folder.
func (s *scan) changeDir(w word) {
	p, z := s.resolve(w)
	s.dirKnown = z != unknown && w.known() && !w.glob && w.text != "-" && path.IsAbs(p) &&
		s.conditional == 0
	s.dir = p
}

// judgeShell judges a shell: what it reads stands in -c, in a file, or comes from a pipe.
func (j *judgement) judgeShell() {
	switch {
	case j.has("-c", "--command"):
		if len(j.rest) > 0 && !j.scan.addIfFetched(j.rest[:1]) {
			j.scan.inSubshell(func(c *scan) {
				for _, e := range j.v.env {
					c.vars[e.name] = e.value.value()
				}
				c.scanText(j.rest[0].text, j.rest[0])
			})
		}
	case len(j.rest) > 0 && !j.has("-s") && !oneOf(j.rest[0].text, "-", "/dev/stdin"):
		j.scan.judgeRun(j.rest[0])
		if j.rest[0].code {
			j.scan.judgeSubstituted(j.rest[0])
		}
	default:
		j.scan.judgePiped(j.v, true)
	}
}

// addFetchedCode books code that comes from elsewhere and is run.
func (s *scan) addFetchedCode(target string) {
	s.add(found{
		Finding: newFinding("net!", target, "runs what it fetches from elsewhere"),
		fetches: true,
	})
}

// judgePiped judges a program that runs what comes from a pipe.
func (s *scan) judgePiped(v invocation, shell bool) {
	in := v.in
	switch {
	case in == nil:
	case in.fetched:
		s.addFetchedCode("")
	case !in.known():
		s.addUnknown(s.here, "it runs what comes from a pipe")
	case shell:
		s.scanText(in.text, word{pos: s.here})
	default:
		s.judgeCode(in.text)
	}
}

// addIfFetched tells and books that a text which a shell reads is fetched first.
func (s *scan) addIfFetched(ws []word) bool {
	for _, w := range ws {
		if w.fetched {
			s.addFetchedCode("")
			return w.text == hole
		}
	}
	return false
}

// judgeSubstituted judges a file for a shell that is the output of a command.
func (s *scan) judgeSubstituted(w word) {
	if !s.addIfFetched([]word{w}) {
		s.addUnknown(w.pos, "a shell reads what a command prints")
	}
}

// judgeCode looks for words in code of another language, which is not parsed.
func (s *scan) judgeCode(text string) {
	j := &judgement{
		scan: s,
		name: strings.ToLower(text),
		args: []word{{text: text}},
	}
	j.applyRules("/code")
}

// quotedPaths gives the absolute paths that stand in quotes in code of another language.
func (s *scan) quotedPaths(text string) (out []word) {
	for i := strings.IndexAny(text, "'\"`"); i >= 0; i = strings.IndexAny(text, "'\"`") {
		inside, rest, ok := strings.Cut(text[i+1:], text[i:i+1])
		if !ok {
			break
		}
		name := strings.TrimLeft(inside, "<>+ ")
		if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~/") {
			out = append(out, word{
				text:  name,
				pos:   s.here,
				tilde: name[0] == '~',
			})
		}
		text = rest
	}
	return out
}
