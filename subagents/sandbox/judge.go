package sandbox

import (
	"path"
	"slices"
	"strings"
)

// classes are the classes that rows name.
var classes = map[string]Finding{
	"fs!": {Category: DestructiveFS, Level: Required}, "fs+": {Category: DestructiveFS, Level: Recommended},
	"fs-": {Category: DestructiveFS}, "root!": {Category: PrivilegeEscalation, Level: Required},
	"root+": {Category: PrivilegeEscalation, Level: Recommended}, "db!": {Category: ProdDB, Level: Required},
	"db+": {Category: ProdDB, Level: Recommended}, "db-": {Category: ProdDB}, "net!": {
		Category: ExternalNet,
		Level:    Required,
	},
	"net+": {Category: ExternalNet, Level: Recommended}, "secret!": {Category: SecretAccess, Level: Required},
	"secret+": {Category: SecretAccess, Level: Recommended},
}

// listed tells whether a program is one of names.
func listed(name, names string) bool {
	for n := range strings.FieldsSeq(names) {
		if n == name || strings.Contains(n, "*") && like(name, n) {
			return true
		}
	}
	return false
}

// like matches a whole text with a pattern in which * stands for any text.
func like(text, pattern string) bool {
	flat := strings.NewReplacer("/", "\x01")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(text))
	return ok && err == nil
}

// judge holds a program to the table.
func (s *scan) judge(v invocation, args []word) {
	j := judgement{scan: s, v: v, name: s.cmd, args: args}
	if s.cmd == "git" {
		l := split(args, "-C -c --git-dir --work-tree --namespace --exec-path", true)
		if len(l.rest) == 0 {
			return
		}
		j.name, j.args = "git "+l.arg(0), l.rest[1:]
		s.gitRuns(l.arg(0), l.rest[1:])
	}
	program := strings.ReplaceAll(j.name, " ", "-")
	for _, e := range entries {
		if !listed(program, e.names) {
			continue
		}
		j.line, j.option = split(j.args, e.valued, false), ""
		if i := slices.IndexFunc(e.rows, func(r row) bool { return j.all(r.when) }); i >= 0 && e.rows[i].class != "" {
			j.book(e, e.rows[i])
		}
	}
}

// gitRuns looks into the commands that git starts.
func (s *scan) gitRuns(verb string, args []word) {
	l := split(args, gitOptions, false)
	if w, ok := l.get("-x", "--exec"); ok && oneOf(verb, "rebase", "bisect") {
		s.text(w.text, w)
	}
	switch {
	case verb == "bisect" && l.arg(0) == "run":
		s.inner(invocation{}, l.rest[1:])
	case verb == "submodule" && l.arg(0) == "foreach" && len(l.rest) > 1:
		s.text(joined(l.rest[1:]), single(l.rest[1:]))
	}
}

// judgement is one program held to one entry of the table.
type judgement struct {
	*scan
	line

	v      invocation
	name   string // of the program, with the verb of git
	args   []word
	option string // the option that a condition found
}

func (j *judgement) book(e entry, r row) {
	target := strings.NewReplacer("$0", j.name, "$1", j.arg(0), "$2", j.arg(1), "$*", joined(j.rest), "$@", joined(j.args),
		"$-", j.option).Replace(e.target)
	f := classes[r.class]
	f.Target, f.Reason = strings.TrimSpace(target), r.why
	if f.Category == ProdDB {
		f.Target = hidden(target)
	}
	net := f.Category == ExternalNet
	j.add(found{Finding: f, fetches: net, sends: net || r.class == "db!"})
	if r.why == whyFetch && j.has("-g", "--global") {
		j.risk(DestructiveFS, Recommended, f.Target, "installs outside the project")
	}
}

func (j *judgement) all(when string) bool {
	for c := range strings.SplitSeq(when, "; ") {
		if c, not := strings.CutPrefix(c, "!"); c != "" && j.holds(c) == not {
			return false
		}
	}
	return true
}

// holds tells whether one condition does. Patterns stand for one whole word or option.
//
//	-f --force   one of these options is given; NAME=PATTERN: with such a value
//	1: a b*      the first word that is no option is like one of these; 2: the second
//	any: a b*    any word that is no option is; base: the last element of its path is
//	then: a      any word but the first is, also an option
//	text: *a*    the program with all its words is
//	args, rest   there are words; there are words that are no options
//	near         the first word names this machine
//	image        a word names a file of the project, or a temporary one
//	looks        one of the first three words is a verb that only looks
//	prod         its words or variables name production
func (j *judgement) holds(condition string) bool {
	kind, list, _ := strings.Cut(condition, ":")
	if condition[0] == '-' {
		kind, list = "-", condition
	}
	patterns := strings.Fields(list)
	among := func(ws []word, as func(string) string) bool {
		return slices.ContainsFunc(ws, func(w word) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return like(as(w.text), p) })
		})
	}
	same := func(text string) string { return text }
	switch kind {
	case "-":
		for _, o := range j.options {
			one := line{options: []option{o}}
			if one.has(patterns...) {
				j.option = strings.TrimSuffix(o.name+"="+o.value.text, "=")
				return true
			}
		}
		return false
	case "1":
		return len(j.rest) > 0 && among(j.rest[:1], same)
	case "2":
		return len(j.rest) > 1 && among(j.rest[1:2], same)
	case "any":
		return among(j.rest, same)
	case "base":
		return among(slices.DeleteFunc(slices.Clone(j.rest), func(w word) bool { return !w.known() }), path.Base)
	case "then":
		return len(j.args) > 0 && among(j.args[1:], same)
	case "text":
		return among([]word{{text: j.name + " " + joined(j.args)}}, same)
	case "args":
		return len(j.args) > 0
	case "rest":
		return len(j.rest) > 0
	case "near":
		return isLoopback(afterAt(j.arg(0)))
	case "image":
		return slices.ContainsFunc(j.rest, func(w word) bool { _, z := j.resolve(w); return z == inside || z == temp })
	case "looks":
		patterns = strings.Fields("get list describe show ls view status info diff checks head logs whoami search tail " +
			"ps clone " +
			"download current")
		return among(j.rest[:min(3, len(j.rest))], func(text string) string {
			verb, _, _ := strings.Cut(text[strings.LastIndexByte(text, ':')+1:], "-")
			return verb
		})
	default: // prod
		names := []string{j.name, joined(j.args)}
		for _, e := range j.v.env {
			names = append(names, e.name, e.value.text)
		}
		return isProd(strings.Join(names, " "))
	}
}
