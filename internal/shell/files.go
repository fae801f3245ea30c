package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// judgeFiles does what a row says of files.
func (j *judgement) judgeFiles(verb, arg string, rest []word) {
	j.explained = j.explained || oneOf(verb, "words", "read", "name", "remove", "move", "copy")
	_, how, _ := strings.Cut(arg, " ")
	for _, w := range rest {
		switch verb {
		case "read", "name":
			j.scan.judgeRead(w, verb == "name")
		case "remove":
			j.scan.judgeRemoval(w, arg == "all")
		case "write":
			j.scan.judgeWrite(w, how)
		case "modes":
			j.scan.judgeModes(w, j.has("-R", "--recursive"))
		}
	}

	switch verb {
	case "copy":
		j.judgeCopy()
	case "move":
		sources, dest := j.sourcesAndDest()
		for _, w := range sources {
			if _, z := j.scan.resolve(w); z.isForeign() || z == whole {
				j.scan.judgeRemoval(w, z != whole)
			}
		}
		j.scan.judgeWrite(dest, "writes")
	case "find":
		j.judgeFind()
	case "each": // what fd starts for each file
		i := slices.IndexFunc(j.args, func(w word) bool {
			return oneOf(w.text, "-x", "--exec", "-X", "--exec-batch")
		})
		if i >= 0 {
			j.scan.startInner(
				j.v, append(slices.Clone(j.args[i+1:]), word{text: hole, pos: j.args[i].pos}),
			)
		}
	case "unpack":
		if w, ok := j.get("-C", "--directory", "-d"); ok {
			j.scan.judgeWrite(w, "unpacks into")
		}
	case "dd":
		for _, w := range j.args {
			var name string
			name, w.text, _ = strings.Cut(w.text, "=")
			switch name {
			case "of":
				j.scan.judgeWrite(w, "overwrites")
			case "if":
				j.scan.judgeRead(w, false)
			}
		}
	}
}

func (s *scan) judgeModes(w word, all bool) {
	_, z := s.resolve(w)
	switch {
	case z == system || z == device || z == home || z == outside && all:
		s.addRisk("fs!", w.text, "changes the rights of files outside the project")
	case z == whole && all:
		s.addRisk("fs+", w.text, "changes the rights of the whole project")
	}
}

// sourcesAndDest gives where files come from and where they go.
func (l line) sourcesAndDest() (sources []word, dest word) {
	n := len(l.rest) - 1
	if w, ok := l.get("-t", "--target-directory"); ok || n < 1 {
		return l.rest, w
	}
	return l.rest[:n], l.rest[n]
}

func (j *judgement) judgeCopy() {
	sources, dest := j.sourcesAndDest()

	if !isRemotePath(dest) {
		j.scan.judgeWrite(dest, "writes")
		for _, o := range j.options {
			if j.scan.cmd == "rsync" && dest.text != "" && strings.HasPrefix(o.name, "--delete") {
				if _, z := j.scan.resolve(dest); z.isForeign() {
					j.scan.judgeRemoval(dest, true)
				} else if z != temp {
					j.scan.addRisk("fs+", dest.text, "deletes what the source does not have")
				}
			}
		}
	}

	for _, w := range sources {
		if j.scan.cmd == "rsync" && j.has("--remove-source-files") && !isRemotePath(dest) &&
			dest.text != "" {
			j.scan.judgeRemoval(w, false)
		}
		if j.scan.cmd != "ln" {
			j.scan.judgeRead(w, false)
		}
	}
}

// judgeFind judges find: what it deletes, and what it starts for each file.
func (j *judgement) judgeFind() {
	var paths []word
	rest := j.args
	for ; len(rest) > 0 && !oneOf(rest[0].text, "(", "!"); rest = rest[1:] {
		if !strings.HasPrefix(rest[0].text, "-") {
			paths = append(paths, rest[0])
		} else if !oneOf(rest[0].text, "-H", "-L", "-P") {
			break
		}
	}

	if len(paths) == 0 {
		paths = []word{{text: ".", pos: j.scan.here}}
	}

	filtered := false
	for i := 0; i < len(rest); i++ {
		filtered = filtered ||
			inList(rest[i].text, "-name -iname -path -ipath -regex -wholename -newer -size -empty "+
				"-mtime -mmin -perm -user")
		switch rest[i].text {
		case "-delete":
			for _, p := range paths {
				j.scan.judgeFindDelete(p, filtered)
			}
		case "-fprint", "-fls", "-fprintf":
			if i+1 < len(rest) {
				j.scan.judgeWrite(rest[i+1], "writes")
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			command := rest[i+1:]
			n := slices.IndexFunc(command, func(w word) bool {
				return oneOf(w.text, ";", "+")
			})
			if n >= 0 {
				command = command[:n]
			}
			i += len(command)
			for _, p := range paths {
				j.scan.startInner(j.v, fillPlaceholder(command, p, filtered))
			}
		}
	}
}

// fillPlaceholder puts a file below p in the place of {}.
func fillPlaceholder(ws []word, p word, filtered bool) []word {
	out := slices.Clone(ws)
	file := p.text // everything below it, the folder itself too
	if filtered {
		file = strings.TrimSuffix(p.text, "/") + "/" + hole
	}

	for i, w := range out {
		if w.text == "{}" {
			out[i].tilde = p.tilde
		}
		out[i].text = strings.ReplaceAll(w.text, "{}", file)
	}
	return out
}

func (s *scan) judgeFindDelete(p word, filtered bool) {
	_, z := s.resolve(p)
	switch {
	case !filtered || z.isForeign():
		s.judgeRemoval(p, true)
	case z == whole:
		s.addRisk("fs+", p.text, "deletes what matches anywhere in the project")
	default:
		s.addRisk("fs-", p.text, "deletes what matches")
	}
}

// judgeRedirects judges what a statement reads from and writes to.
func (s *scan) judgeRedirects(list []*syntax.Redirect) {
	here := s.here
	cmd := s.cmd
	for _, r := range list {
		if r.Op == syntax.WordHdoc || r.Word == nil || r.Hdoc != nil {
			continue
		}
		w := s.word(r.Word)
		s.here = s.posOf(r.Pos())
		s.cmd = r.Op.String()

		switch {
		case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
			if parts := strings.Split(w.text, "/"); !isLoopback(parts[3]) {
				s.addRemote("net!", w.text, "opens a connection to another machine")
			}
		case r.Op == syntax.RdrIn:
			s.judgeRead(w, false)
		case r.Op == syntax.DplIn || r.Op == syntax.DplOut:
		default:
			s.judgeWrite(w, "writes")
		}
		s.here = here
		s.cmd = cmd
	}
}

// judgeWrite judges a file that is made or overwritten.
func (s *scan) judgeWrite(w word, verb string) {
	if w.text == "-" || w.text == "" {
		return
	}

	p, z := s.resolve(w)
	switch {
	case z == system || z == device:
		s.addRisk("fs!", p, verb+" a file of the system")
	case z == home && isStartupFile(p):
		s.addRisk("fs!", p, verb+" a file that decides what runs when you log in")
	case z == home || z == outside:
		s.addRisk("fs+", p, verb+" outside the project")
	case z == inside:
		if hasAny(p, "/.git/hooks/", "/.git/config") ||
			strings.HasSuffix(p, "/.git/info/attributes") {
			s.addRisk("root+", p, "git runs it later, with the rights of the user who calls git")
		}
	case w.startsUnknown():
		s.addRisk("fs+", w.text, verb+" at the root of everything if the variable is empty")
	}
}

// isStartupFile tells files of the user's folder that are run, or that decide who may log in.
func isStartupFile(p string) bool {
	return inList(
		p,
		"*/.bashrc */.bash_profile */.profile */.zshrc */.zprofile */.zshenv */.bash_login "+
			"*/.xinitrc "+
			"*/.gitconfig */authorized_keys */config.fish "+
			"*/.ssh/* */.config/autostart/* */.config/systemd/* */LaunchAgents/*",
	)
}

// judgeRemoval judges a file or folder that is deleted.
func (s *scan) judgeRemoval(w word, recursive bool) {
	grave := "fs+"
	light := "fs-"
	if recursive {
		grave = "fs!"
		light = "fs+"
	}

	p, z := s.resolve(w)
	switch {
	case z.isForeign():
		s.addRisk("fs!", p, "deletes outside the project")
	case z == whole && recursive:
		s.addRisk("fs!", p, "deletes the whole project, or more")
	case z == whole:
		s.addRisk("fs+", p, "deletes every file of the project's folder")
	case z == inside:
		rel := strings.TrimPrefix(p, s.place.Root+"/")
		first, _, _ := strings.Cut(rel, "/")
		switch {
		case oneOf(first, ".git", ".tercet"):
			s.addRisk(grave, p, "deletes the history or the state of the project")
		case recursive && !isBuildProduct(rel):
			s.addRisk("fs+", p, "deletes a folder of the project with all that is in it")
		default:
			s.addRisk("fs-", p, "deletes inside the project")
		}
		if w.glob && recursive && strings.HasPrefix(path.Base(p), "*") && !isBuildProduct(rel) {
			s.addRisk("fs+", p, "deletes by a pattern")
		}
	case z == unknown && w.startsUnknown():
		s.addRisk("fs!", w.text, "deletes from the root of everything if the variable is empty")
	case z == unknown:
		s.addRisk(light, w.text, "what is deleted shows only when it runs")
	}
}

// products are folders that a build makes and can make again.
const products = "node_modules build dist target out output coverage .cache __pycache__ tmp temp " +
	".next .nuxt " +
	".pytest_cache " +
	".mypy_cache .ruff_cache .tox .venv venv bin obj .gradle .turbo .parcel-cache _build site " +
	"public vendor " +
	".terraform logs"

func isBuildProduct(rel string) bool {
	isListed := func(name string) bool { return inList(name, products) }
	return slices.ContainsFunc(strings.Split(rel, "/"), isListed) ||
		strings.HasSuffix(rel, ".egg-info")
}
