package shell

import (
	_ "embed"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rules tell what programs do by the words that they are started with. They are tried in this
// order, which is that of the findings at one place.
//
// An entry begins a line with the programs that it is about: "git-VERB" is a verb of git, "/code"
// is code of another language. Behind | stand the options that take a value. @NAME are those of the
// list of that name; ^: the first word that is no option ends them. Behind another | stands what a
// finding names. $0 is the program, $1 and $2 its first words that are no options, $* all of these.
// $@ is all words, $- the option or word that decided.
//
// A row follows a tab. The first row of an entry counts whose conditions all hold (see
// judgement.holds), each with what may satisfy it. Behind => stands what follows (see
// judgement.applyEffect), with & between; where there is no =>, nothing does. A class has a reason
// behind it; without one, it is the reason of the row before. A line with two tabs before it goes
// on. A line that begins with % says where programs take arguments of the user, see intake.
//
//go:embed rules.txt
var rules string

// classes are the classes that rules name.
var classes = map[string]Finding{
	"fs!":     {Category: DestructiveFS, Level: Required},
	"fs+":     {Category: DestructiveFS, Level: Recommended},
	"fs-":     {Category: DestructiveFS},
	"root!":   {Category: PrivilegeEscalation, Level: Required},
	"root+":   {Category: PrivilegeEscalation, Level: Recommended},
	"db!":     {Category: ProdDB, Level: Required},
	"db+":     {Category: ProdDB, Level: Recommended},
	"db-":     {Category: ProdDB},
	"net!":    {Category: ExternalNet, Level: Required},
	"net+":    {Category: ExternalNet, Level: Recommended},
	"secret!": {Category: SecretAccess, Level: Required},
	"secret+": {Category: SecretAccess, Level: Recommended},
	"secret-": {Category: SecretAccess},
}

func newFinding(class, target, reason string) Finding {
	f := classes[class]
	f.Target = target
	f.Reason = reason
	return f
}

// inList tells whether a program is one of names.
func inList(name, names string) bool {
	for n := range strings.FieldsSeq(names) {
		if n == name || strings.Contains(n, "*") && matchesPattern(name, n) {
			return true
		}
	}
	return false
}

var slashEscaper = strings.NewReplacer("/", "\x01")

// matchesPattern matches a whole text with a pattern in which * stands for any text.
func matchesPattern(text, pattern string) bool {
	ok, err := path.Match(slashEscaper.Replace(pattern), slashEscaper.Replace(text))
	return ok && err == nil
}

// judgement is one program held to the rules.
type judgement struct {
	scan *scan
	line // its words, taken apart as the entry at hand says

	v         invocation
	name      string // of the program, with the verb of git
	args      []word
	valued    string // of the entry at hand
	target    string // of the entry at hand
	hit       word   // the option or word that decided a condition
	hits      []word // all words that did
	explained bool   // what its words mean is known: they are not any files that it reads
}

// judge holds the program at hand to the rules.
func (s *scan) judge(v invocation) {
	j := &judgement{
		scan: s,
		v:    v,
		name: s.cmd,
		args: v.words[1:],
	}

	program := s.cmd
	if s.cmd == "git" {
		l := split(j.args, "-C -c --git-dir --work-tree --namespace --exec-path", true)
		if len(l.rest) == 0 {
			return
		}
		j.name = "git " + l.arg(0)
		program = "git-" + l.arg(0)
		j.args = l.rest[1:]
	}
	j.applyRules(program)
}

// applyRules does what the rules say of a program. A version behind its name does not count.
func (j *judgement) applyRules(program string) {
	plain := strings.TrimRight(program, "0123456789.")
	mine := false
	why := ""
	lists := map[string]string{}
	for text := range strings.SplitSeq(strings.ReplaceAll(rules, "\n\t\t", " "), "\n") {
		if strings.HasPrefix(text, "%") {
			continue
		}
		if list, words, _ := strings.Cut(text, " "); strings.HasPrefix(list, "@") {
			lists[list] = words
			continue
		}

		entry, row, _ := strings.Cut(text, "\t")
		if entry != "" {
			parts := strings.Split(entry+"||", "|")
			if mine = inList(program, parts[0]) || inList(plain, parts[0]); mine {
				j.startEntry(parts[1], strings.TrimSpace(parts[2]), lists)
			}
		}

		when, then, _ := strings.Cut(row, "=>")
		effects := strings.Split(strings.TrimSpace(then), " & ")
		if class, reason, ok := strings.Cut(effects[0], " "); ok && classes[class].Category != "" {
			why = reason
		}

		if row == "" || !mine || !j.allHold(when) {
			continue
		}

		mine = false
		for _, effect := range effects {
			verb, arg, _ := strings.Cut(effect, " ")
			if f, ok := classes[verb]; ok {
				j.addFinding(f, why)
			} else if verb != "" && j.applyEffect(verb, arg) {
				return
			}
		}
	}
}

// startEntry takes the words apart as an entry says.
func (j *judgement) startEntry(valued, target string, lists map[string]string) {
	j.hit = word{}
	j.hits = nil
	j.target = target
	j.valued = valued
	if at := strings.IndexByte(valued, '@'); at >= 0 {
		name := strings.TrimSpace(valued[at:])
		j.valued = valued[:at] + lists[name]
	}

	j.line = split(j.args, j.valued, strings.HasPrefix(strings.TrimSpace(valued), "^"))
}

func (j *judgement) addFinding(f Finding, why string) {
	target := strings.NewReplacer(
		"$0", j.name, "$1",
		j.arg(0),
		"$2",
		j.arg(1),
		"$*",
		joinWords(j.rest),
		"$@",
		joinWords(j.args),
		"$-",
		j.hit.text,
	).Replace(j.target)
	f.Target = strings.TrimSpace(target)
	f.Reason = why

	if f.Category == ProdDB {
		f.Target = withoutPassword(target)
	}

	net := f.Category == ExternalNet
	j.scan.add(found{
		Finding: f,
		fetches: net,
		sends:   net || f.Category == ProdDB && f.Level == Required,
	})

	if why == "fetches code and may run it at once" && j.has("-g", "--global") {
		j.scan.addRisk("fs+", f.Target, "installs outside the project")
	}
}

func (j *judgement) allHold(when string) bool {
	for c := range strings.SplitSeq(when, ";") {
		if c, not := strings.CutPrefix(strings.TrimSpace(c), "!"); c != "" && j.holds(c) == not {
			return false
		}
	}
	return true
}

// matchAny looks for words that are as one of the patterns, by what as makes of them.
func (j *judgement) matchAny(ws []word, patterns []string, as func(string) string) bool {
	j.hits = slices.DeleteFunc(slices.Clone(ws), func(w word) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool {
			return matchesPattern(as(w.text), p)
		})
	})
	if len(j.hits) > 0 {
		j.hit = j.hits[0]
	}
	return len(j.hits) > 0
}

// holds tells whether one condition does. Patterns stand for one whole word or option.
//
//	-f --force     one of these options is given; NAME=PATTERN: with such a value
//	0: a b*        the first word is like one of these
//	1: a b*        the first word that is no option is; 2: the second
//	any: a b*      any word that is no option is; base: the last element of its path is
//	args: a        any word is, also an option; then: any but the first is
//	text: *a*      the program with all its words is
//	away: -h       the value of one of these options names another machine
//	far            a word that is no option may name another machine
//	near           the first word that is no option names this machine
//	args, rest, options   there are words, words that are no options, options
//	image          a word names a file of the project, or a temporary one
//	looks          one of the first three words is a verb that only looks
//	prod           its words or variables name production
func (j *judgement) holds(condition string) bool {
	kind, list, _ := strings.Cut(condition, ":")
	if condition[0] == '-' {
		kind = "-"
		list = condition
	}
	patterns := strings.Fields(list)
	words := j.rest
	as := func(text string) string { return text }
	span := func(ws []word, from, to int) []word {
		return ws[min(from, len(ws)):min(to, len(ws))]
	}

	switch kind {
	case "-":
		i := slices.IndexFunc(j.options, func(o option) bool {
			return line{options: []option{o}}.has(patterns...)
		})
		if i >= 0 {
			j.hit = word{text: strings.TrimSuffix(
				j.options[i].name+"="+j.options[i].value.text,
				"=",
			)}
		}
		return i >= 0
	case "any":
	case "0":
		words = span(j.args, 0, 1)
	case "1":
		words = span(j.rest, 0, 1)
	case "2":
		words = span(j.rest, 1, 2)
	case "then":
		words = span(j.args, 1, len(j.args))
	case "base":
		words = slices.DeleteFunc(slices.Clone(j.rest), func(w word) bool {
			return !w.known()
		})
		as = path.Base
	case "text":
		words = []word{{text: j.name + " " + joinWords(j.args)}}
	case "looks":
		words = span(j.rest, 0, 3)
		patterns = strings.Fields("get list describe show ls view status info diff checks " +
			"head logs whoami search tail ps clone download current")
		as = func(text string) string {
			verb, _, _ := strings.Cut(text[strings.LastIndexByte(text, ':')+1:], "-")
			return verb
		}
	case "args":
		words = j.args
		if list == "" {
			return len(j.args) > 0
		}
	case "rest":
		return len(j.rest) > 0
	case "options":
		return len(j.options) > 0
	case "near":
		return isLoopback(afterAt(j.arg(0)))
	case "away":
		w, ok := j.get(patterns...)
		j.hit = w
		return ok && !isLoopback(w.text)
	case "far":
		i := slices.IndexFunc(j.rest, func(w word) bool {
			return !isLoopback(w.text) && !strings.HasPrefix(w.text, "+")
		})
		if i >= 0 {
			j.hit = j.rest[i]
		}
		return i >= 0
	case "image":
		return slices.ContainsFunc(j.rest, func(w word) bool {
			_, z := j.scan.resolve(w)
			return z == inside || z == temp
		})
	default: // prod
		names := []string{j.name, joinWords(j.args)}
		for _, e := range j.v.env {
			names = append(names, e.name, e.value.text)
		}
		return isProd(strings.Join(names, " "))
	}

	return j.matchAny(words, patterns, as)
}

// applyEffect is what a row says besides a class. N is the number of words that are no options
// before those that count. True is for what starts another program, and for words of the shell:
// nothing more is said of these.
//
//	run N, text N       the words are a command; a shell reads them
//	past N              the words are a command behind options
//	word N, option -c   a shell reads this word, or the value of this option
//	code -c             another language reads the value of this option, or the word that decided
//	read N, write N DOES, remove, remove all, name
//	                    what is done to the files that the words name
//	words               the words name no files to read
//	fetch, send         the words are addresses; save -o: the value of this option is written
//	unknown REASON      only a run would show it
//
// The others are functions of their name.
func (j *judgement) applyEffect(verb, arg string) bool {
	number, _, _ := strings.Cut(arg, " ")
	n, _ := strconv.Atoi(number) //nolint:errcheck // reason: none is 0
	options := strings.Fields(arg)
	rest := j.rest[min(n, len(j.rest)):]

	switch verb {
	case "run":
		j.scan.startInner(j.v, rest)
	case "past":
		j.scan.startInner(j.v, split(rest, j.valued, true).rest)
	case "text":
		if len(rest) > 0 {
			j.scan.scanText(joinWords(rest), singleWord(rest))
		}
	case "word":
		j.scan.scanText(rest[0].text, rest[0])
	case "option":
		if w, ok := j.get(options...); ok {
			j.scan.scanText(w.text, w)
		}
	case "stop":
	case "shell":
		j.judgeShell()
	case "eval":
		if len(j.args) > 0 && !j.scan.addIfFetched(j.args) {
			j.scan.scanText(joinWords(j.args), singleWord(j.args))
		}
	case "source":
		if len(j.args) == 0 || !j.args[0].code {
			return false
		}
		j.scan.judgeSubstituted(j.args[0])
	case "alias":
		j.scan.judgeAlias(j.args)
	case "cd":
		j.scan.changeDir(append(j.rest, word{text: "~", tilde: true})[0])
	case "popd":
		j.scan.dirKnown = false
	case "env":
		j.judgeEnv()
	case "xargs":
		j.judgeXargs()
	default:
		j.judgeFiles(verb, arg, rest)
		j.judgeReach(verb, arg)
		return false
	}

	return true
}
