package sandbox

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// use is what programs do with the files that their words name.
type use struct {
	names  string
	valued string // options that take a value
	// remove, delete (no folders), write, copy, move, read, name (only look at it), pattern (read all but the first)
	does string
}

const (
	copyOptions = "-t --target-directory -S --suffix -m --mode -o --owner -g --group -e --rsh --exclude --include " +
		"--filter " +
		"--exclude-from --include-from"
	grepOptions = "-e -f -A -B -C -m --include --exclude --regexp --file -g --glob -t --type"
)

// uses are the programs whose words are known. Those of a program that is not here may be any file that it reads.
var uses = []use{
	{"rm srm grm", "", "remove"},
	{"unlink shred rmdir truncate", "-n -s --size --iterations -r --reference --random-source", "delete"},
	{"mv gmv", "-t --target-directory -S --suffix", "move"},
	{"cp gcp install ln ditto rsync", copyOptions, "copy"},
	{"tee touch mkdir mkfifo mknod", "-m --mode -d -r -t --date --reference", "write"},
	{"ls stat file du find tree exa eza fd locate", "", "name"},
	{"grep egrep fgrep rg ag ack sed awk gawk jq yq", grepOptions, "pattern"},
	{"scp", "-i -F -o -p -P -l", "read"},
	{"echo printf test [ chmod chown chgrp which type man kill ssh-keygen true false export basename dirname " +
		"realpath readlink " +
		"ssh-add git cd dd # : ssh sftp", "", ""},
}

// files judges the programs that delete, move, write and read files.
func (s *scan) files(v invocation, args []word) {
	switch s.cmd {
	case "chmod", "chown", "chgrp":
		s.modes(split(args, "--reference --from", false))
	case "find", "gfind":
		s.finds(v, args)
	case "fd", "fdfind":
		for i, w := range args {
			if oneOf(w.text, "-x", "--exec", "-X", "--exec-batch") {
				s.inner(v, append(slices.Clone(args[i+1:]), word{text: hole, pos: w.pos}))
				break
			}
		}
	case "sed", "gsed", "perl":
		if l := split(args, "-e -f -E --expression --file", false); l.has("-i", "--in-place", "-pi") {
			for i, w := range l.rest {
				if i > 0 || l.has("-e", "-f", "--expression") {
					s.writes(w, "changes")
				}
			}
		}
	case "tar", "bsdtar", "unzip", "cpio":
		s.unpacks(args)
	case "dd":
		for _, w := range args {
			if name, file, _ := strings.Cut(w.text, "="); name == "of" {
				w.text = file
				s.writes(w, "overwrites")
			} else if name == "if" {
				w.text = file
				s.reads(w, false)
			}
		}
	}
	if i := slices.IndexFunc(uses, func(u use) bool { return listed(s.cmd, u.names) }); i >= 0 {
		s.use(split(args, uses[i].valued, false), uses[i].does)
	}
}

func (s *scan) use(l line, does string) {
	sources, dest := ends(l)
	switch does {
	case "copy":
		s.copies(l, sources, dest)
		for _, w := range sources {
			if s.cmd != "ln" {
				s.reads(w, false)
			}
		}
	case "move":
		for _, w := range sources {
			if _, z := s.resolve(w); z.foreign() || z == whole {
				s.removes(w, z != whole)
			}
		}
		s.writes(dest, "writes")
	}
	for i, w := range l.rest {
		switch does {
		case "remove":
			s.removes(w, l.has("-r", "-R", "--recursive", "-d", "--dir"))
		case "delete":
			s.removes(w, false)
		case "write":
			s.writes(w, "writes")
		case "read", "name":
			s.reads(w, does == "name")
		case "pattern":
			if i > 0 || l.has("-e", "-f", "--regexp", "--file") {
				s.reads(w, false)
			}
		}
	}
}

func (s *scan) modes(l line) {
	all := l.has("-R", "--recursive")
	for i, w := range l.rest {
		if i == 0 && !l.has("--reference") {
			continue
		}
		switch _, z := s.resolve(w); {
		case z == system || z == device || z == home || z == outside && all:
			s.risk(DestructiveFS, Required, w.text, "changes the rights of files outside the project")
		case z == whole && all:
			s.risk(DestructiveFS, Recommended, w.text, "changes the rights of the whole project")
		}
	}
}

// ends gives where files come from and where they go.
func ends(l line) (sources []word, dest word) {
	n := len(l.rest) - 1
	if w, ok := l.get("-t", "--target-directory"); ok || n < 1 {
		return l.rest, w
	}
	return l.rest[:n], l.rest[n]
}

func (s *scan) copies(l line, sources []word, dest word) {
	if remotePath(dest) {
		return
	}
	s.writes(dest, "writes")
	if s.cmd != "rsync" || dest.text == "" {
		return
	}
	for _, o := range l.options {
		if strings.HasPrefix(o.name, "--delete") {
			if _, z := s.resolve(dest); z.foreign() {
				s.removes(dest, true)
			} else if z != temp {
				s.risk(DestructiveFS, Recommended, dest.text, "deletes what the source does not have")
			}
		}
	}
	if l.has("--remove-source-files") {
		for _, w := range sources {
			s.removes(w, false)
		}
	}
}

// finds judges find: what it deletes, and what it starts for each file.
func (s *scan) finds(v invocation, args []word) {
	var paths []word
	i := 0
	for ; i < len(args) && (oneOf(args[i].text, "-H", "-L", "-P") || !strings.HasPrefix(args[i].text, "-") &&
		!oneOf(args[i].text, "(", "!")); i++ {
		if !strings.HasPrefix(args[i].text, "-") {
			paths = append(paths, args[i])
		}
	}
	if len(paths) == 0 {
		paths = []word{{text: ".", pos: s.here}}
	}
	filtered := false
	for ; i < len(args); i++ {
		switch args[i].text {
		case "-name", "-iname", "-path", "-ipath", "-regex", "-wholename", "-newer", "-size", "-empty", "-mtime", "-mmin",
			"-perm",
			"-user":
			filtered = true
		case "-delete":
			for _, p := range paths {
				s.findDeletes(p, filtered)
			}
		case "-fprint", "-fls", "-fprintf":
			if i+1 < len(args) {
				s.writes(args[i+1], "writes")
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			start := i + 1
			for i = start; i < len(args) && !oneOf(args[i].text, ";", "+"); i++ {
			}
			for _, p := range paths {
				s.inner(v, filled(args[start:i], p, filtered))
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
		s.risk(DestructiveFS, Recommended, p.text, "deletes what matches anywhere in the project")
	default:
		s.risk(DestructiveFS, Optional, p.text, "deletes what matches")
	}
}

func (s *scan) unpacks(args []word) {
	l := split(args, "-C --directory -d -f --file", false)
	old := s.cmd == "tar" && len(args) > 0 && !strings.HasPrefix(args[0].text, "-") && strings.Contains(args[0].text, "x")
	if s.cmd == "unzip" || s.cmd == "cpio" || old || l.has("-x", "--extract", "--get") {
		if w, ok := l.get("-C", "--directory", "-d"); ok {
			s.writes(w, "unpacks into")
		}
	}
	for _, w := range args {
		if hasAny(w.text, "checkpoint-action=exec", "--to-command", "--use-compress-program", "--rmt-command") {
			s.unknown(w.pos, "an option of it starts a program")
		}
	}
}

// redirects judges what a statement reads from and writes to.
func (s *scan) redirects(list []*syntax.Redirect) {
	here, cmd := s.here, s.cmd
	for _, r := range list {
		if r.Op == syntax.WordHdoc || r.Word == nil || r.Hdoc != nil {
			continue
		}
		w := s.word(r.Word)
		s.here, s.cmd = s.at(r.Pos()), r.Op.String()
		switch {
		case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
			if parts := strings.Split(w.text, "/"); !isLoopback(parts[3]) {
				s.remote(Required, w.text, "opens a connection to another machine")
			}
		case r.Op == syntax.RdrIn:
			s.reads(w, false)
		case r.Op == syntax.DplIn || r.Op == syntax.DplOut:
		default:
			s.writes(w, "writes")
		}
		s.here, s.cmd = here, cmd
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
		s.risk(DestructiveFS, Required, p, verb+" a file of the system")
	case z == home && isStartup(p):
		s.risk(DestructiveFS, Required, p, verb+" a file that decides what runs when a person logs in")
	case z == home || z == outside:
		s.risk(DestructiveFS, Recommended, p, verb+" outside the project")
	case z == inside:
		if hasAny(p, "/.git/hooks/", "/.git/config") || strings.HasSuffix(p, "/.git/info/attributes") {
			s.risk(PrivilegeEscalation, Recommended, p, "git runs it later, with the rights of whoever calls git")
		}
	case w.leads():
		s.risk(DestructiveFS, Recommended, w.text, verb+" at the root of everything if the variable is empty")
	}
}

// isStartup tells files of a person's folder that are run, or that decide who may log in.
func isStartup(p string) bool {
	return oneOf(path.Base(p), ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", ".bash_login",
		".xinitrc",
		".gitconfig", "authorized_keys", "config.fish") ||
		hasAny(p, "/.ssh/", "/.config/autostart/", "/.config/systemd/", "/LaunchAgents/")
}

// removes judges a file or folder that is deleted.
func (s *scan) removes(w word, recursive bool) {
	level := func(alone, all Level) Level {
		if recursive {
			return all
		}
		return alone
	}
	switch p, z := s.resolve(w); {
	case z.foreign():
		s.risk(DestructiveFS, Required, p, "deletes outside the project")
	case z == whole && recursive:
		s.risk(DestructiveFS, Required, p, "deletes the whole project, or more")
	case z == whole:
		s.risk(DestructiveFS, Recommended, p, "deletes every file of the project's folder")
	case z == inside:
		rel := strings.TrimPrefix(p, s.place.Root+"/")
		first, _, _ := strings.Cut(rel, "/")
		switch {
		case oneOf(first, ".git", ".tercet"):
			s.risk(DestructiveFS, level(Recommended, Required), p, "deletes the history or the state of the project")
		case recursive && !isProduct(rel):
			s.risk(DestructiveFS, Recommended, p, "deletes a folder of the project with all that is in it")
		default:
			s.risk(DestructiveFS, Optional, p, "deletes inside the project")
		}
		if w.glob && recursive && strings.HasPrefix(path.Base(p), "*") && !isProduct(rel) {
			s.risk(DestructiveFS, Recommended, p, "deletes by a pattern")
		}
	case z == unknown && w.leads():
		s.risk(DestructiveFS, Required, w.text, "deletes from the root of everything if the variable is empty")
	case z == unknown:
		s.risk(DestructiveFS, level(Optional, Recommended), w.text, "what is deleted shows only when it runs")
	}
}

// products are folders that a build makes and can make again.
const products = "node_modules build dist target out output coverage .cache __pycache__ tmp temp .next .nuxt " +
	".pytest_cache " +
	".mypy_cache .ruff_cache .tox .venv venv bin obj .gradle .turbo .parcel-cache _build site public vendor " +
	".terraform logs"

func isProduct(rel string) bool {
	isListed := func(name string) bool { return listed(name, products) }
	return slices.ContainsFunc(strings.Split(rel, "/"), isListed) || strings.HasSuffix(rel, ".egg-info")
}
