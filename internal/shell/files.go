package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// touches does what a row says of files.
func (j *judgement) touches(verb, arg string, rest []word) {
	j.named = j.named || oneOf(verb, "words", "read", "name", "remove", "move", "copy")
	_, how, _ := strings.Cut(arg, " ")
	for _, w := range rest {
		switch verb {
		case "read", "name":
			j.scan.reads(w, verb == "name")
		case "remove":
			j.scan.removes(w, arg == "all")
		case "write":
			j.scan.writes(w, how)
		case "modes":
			j.scan.modes(w, j.has("-R", "--recursive"))
		}
	}

	switch verb {
	case "copy":
		j.copies()
	case "move":
		sources, dest := j.ends()
		for _, w := range sources {
			if _, z := j.scan.resolve(w); z.foreign() || z == whole {
				j.scan.removes(w, z != whole)
			}
		}
		j.scan.writes(dest, "writes")
	case "find":
		j.finds()
	case "each": // what fd starts for each file
		i := slices.IndexFunc(j.args, func(w word) bool {
			return oneOf(w.text, "-x", "--exec", "-X", "--exec-batch")
		})
		if i >= 0 {
			j.scan.inner(
				j.v, append(slices.Clone(j.args[i+1:]), word{text: hole, pos: j.args[i].pos}),
			)
		}
	case "unpack":
		if w, ok := j.get("-C", "--directory", "-d"); ok {
			j.scan.writes(w, "unpacks into")
		}
	case "dd":
		for _, w := range j.args {
			var name string
			name, w.text, _ = strings.Cut(w.text, "=")
			switch name {
			case "of":
				j.scan.writes(w, "overwrites")
			case "if":
				j.scan.reads(w, false)
			}
		}
	}
}

func (s *scan) modes(w word, all bool) {
	_, z := s.resolve(w)
	switch {
	case z == system || z == device || z == home || z == outside && all:
		s.risk("fs!", w.text, "changes the rights of files outside the project")
	case z == whole && all:
		s.risk("fs+", w.text, "changes the rights of the whole project")
	}
}

// ends gives where files come from and where they go.
func (l line) ends() (sources []word, dest word) {
	n := len(l.rest) - 1
	if w, ok := l.get("-t", "--target-directory"); ok || n < 1 {
		return l.rest, w
	}
	return l.rest[:n], l.rest[n]
}

func (j *judgement) copies() {
	sources, dest := j.ends()

	if !remotePath(dest) {
		j.scan.writes(dest, "writes")
		for _, o := range j.options {
			if j.scan.cmd == "rsync" && dest.text != "" && strings.HasPrefix(o.name, "--delete") {
				if _, z := j.scan.resolve(dest); z.foreign() {
					j.scan.removes(dest, true)
				} else if z != temp {
					j.scan.risk("fs+", dest.text, "deletes what the source does not have")
				}
			}
		}
	}

	for _, w := range sources {
		if j.scan.cmd == "rsync" && j.has("--remove-source-files") && !remotePath(dest) &&
			dest.text != "" {
			j.scan.removes(w, false)
		}
		if j.scan.cmd != "ln" {
			j.scan.reads(w, false)
		}
	}
}

// finds judges find: what it deletes, and what it starts for each file.
func (j *judgement) finds() {
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
			listed(rest[i].text, "-name -iname -path -ipath -regex -wholename -newer -size -empty "+
				"-mtime -mmin -perm -user")
		switch rest[i].text {
		case "-delete":
			for _, p := range paths {
				j.scan.findDeletes(p, filtered)
			}
		case "-fprint", "-fls", "-fprintf":
			if i+1 < len(rest) {
				j.scan.writes(rest[i+1], "writes")
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
				j.scan.inner(j.v, filled(command, p, filtered))
			}
		}
	}
}

// filled puts a file below p in the place of {}.
func filled(ws []word, p word, filtered bool) []word {
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

func (s *scan) findDeletes(p word, filtered bool) {
	_, z := s.resolve(p)
	switch {
	case !filtered || z.foreign():
		s.removes(p, true)
	case z == whole:
		s.risk("fs+", p.text, "deletes what matches anywhere in the project")
	default:
		s.risk("fs-", p.text, "deletes what matches")
	}
}

// redirects judges what a statement reads from and writes to.
func (s *scan) redirects(list []*syntax.Redirect) {
	here := s.here
	cmd := s.cmd
	for _, r := range list {
		if r.Op == syntax.WordHdoc || r.Word == nil || r.Hdoc != nil {
			continue
		}
		w := s.word(r.Word)
		s.here = s.at(r.Pos())
		s.cmd = r.Op.String()

		switch {
		case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
			if parts := strings.Split(w.text, "/"); !isLoopback(parts[3]) {
				s.remote("net!", w.text, "opens a connection to another machine")
			}
		case r.Op == syntax.RdrIn:
			s.reads(w, false)
		case r.Op == syntax.DplIn || r.Op == syntax.DplOut:
		default:
			s.writes(w, "writes")
		}
		s.here = here
		s.cmd = cmd
	}
}

// writes judges a file that is made or overwritten.
func (s *scan) writes(w word, verb string) {
	if w.text == "-" || w.text == "" {
		return
	}

	p, z := s.resolve(w)
	switch {
	case z == system || z == device:
		s.risk("fs!", p, verb+" a file of the system")
	case z == home && isStartup(p):
		s.risk("fs!", p, verb+" a file that decides what runs when you log in")
	case z == home || z == outside:
		s.risk("fs+", p, verb+" outside the project")
	case z == inside:
		if hasAny(p, "/.git/hooks/", "/.git/config") ||
			strings.HasSuffix(p, "/.git/info/attributes") {
			s.risk("root+", p, "git runs it later, with the rights of the user who calls git")
		}
	case w.leads():
		s.risk("fs+", w.text, verb+" at the root of everything if the variable is empty")
	}
}

// isStartup tells files of the user's folder that are run, or that decide who may log in.
func isStartup(p string) bool {
	return listed(
		p,
		"*/.bashrc */.bash_profile */.profile */.zshrc */.zprofile */.zshenv */.bash_login "+
			"*/.xinitrc "+
			"*/.gitconfig */authorized_keys */config.fish "+
			"*/.ssh/* */.config/autostart/* */.config/systemd/* */LaunchAgents/*",
	)
}

// removes judges a file or folder that is deleted.
func (s *scan) removes(w word, recursive bool) {
	grave := "fs+"
	light := "fs-"
	if recursive {
		grave = "fs!"
		light = "fs+"
	}

	p, z := s.resolve(w)
	switch {
	case z.foreign():
		s.risk("fs!", p, "deletes outside the project")
	case z == whole && recursive:
		s.risk("fs!", p, "deletes the whole project, or more")
	case z == whole:
		s.risk("fs+", p, "deletes every file of the project's folder")
	case z == inside:
		rel := strings.TrimPrefix(p, s.place.Root+"/")
		first, _, _ := strings.Cut(rel, "/")
		switch {
		case oneOf(first, ".git", ".tercet"):
			s.risk(grave, p, "deletes the history or the state of the project")
		case recursive && !isProduct(rel):
			s.risk("fs+", p, "deletes a folder of the project with all that is in it")
		default:
			s.risk("fs-", p, "deletes inside the project")
		}
		if w.glob && recursive && strings.HasPrefix(path.Base(p), "*") && !isProduct(rel) {
			s.risk("fs+", p, "deletes by a pattern")
		}
	case z == unknown && w.leads():
		s.risk("fs!", w.text, "deletes from the root of everything if the variable is empty")
	case z == unknown:
		s.risk(light, w.text, "what is deleted shows only when it runs")
	}
}

// products are folders that a build makes and can make again.
const products = "node_modules build dist target out output coverage .cache __pycache__ tmp temp " +
	".next .nuxt " +
	".pytest_cache " +
	".mypy_cache .ruff_cache .tox .venv venv bin obj .gradle .turbo .parcel-cache _build site " +
	"public vendor " +
	".terraform logs"

func isProduct(rel string) bool {
	isListed := func(name string) bool { return listed(name, products) }
	return slices.ContainsFunc(strings.Split(rel, "/"), isListed) ||
		strings.HasSuffix(rel, ".egg-info")
}
