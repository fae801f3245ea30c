package classify

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// rules judges a program that starts no other.
func (s *scan) rules(v invocation, args []word) {
	s.files(v, args)
	s.disks(args)
	s.versions(args)
	s.rights(args)
	s.network(args)
	s.databases(v, args)
	s.secrets(args)
	s.interpreters(v, args)
}

// interpreters judges languages that can start programs themselves. Their code is not parsed: a few words in it tell.
func (s *scan) interpreters(v invocation, args []word) {
	var flag, valued string
	switch name := strings.TrimRight(s.cmd, "0123456789."); name {
	case "python", "pypy":
		flag, valued = "-c", "-c -m -W -X"
		if l := split(args, valued, true); l.has("-m") {
			if m, _ := l.get("-m"); oneOf(m.text, "pip", "pipx", "twine", "uv", "poetry") {
				s.inner(v, append([]word{m}, l.rest...))
			}
			return
		}
	case "node", "deno", "bun", "ruby":
		flag, valued = "-e", "-e -r -p --eval"
	case "perl", "lua", "osascript":
		flag, valued = "-e", "-e -E"
	case "php":
		flag, valued = "-r", "-r -d -c"
	case "awk", "gawk", "mawk", "nawk":
		for _, w := range args {
			if hasAny(w.text, "system(", `| "sh`, `|"sh`, "| getline", "|getline") {
				s.code(w.text)
			}
		}
		return
	default:
		return
	}
	l := split(args, valued, true)
	if w, ok := l.get(flag, "--eval", "-E"); ok {
		s.code(w.text)
		return
	}
	if len(l.options) == 0 && (len(l.rest) == 0 || l.rest[0].text == "-") {
		s.piped(v)
	}
}

// code looks for words in code of another language.
func (s *scan) code(text string) {
	lower := strings.ToLower(text)
	if hasAny(lower, "rmtree", "os.remove", "os.unlink", "os.rmdir", "fs.rm", ".rmsync", "rmdirsync", "unlinksync", "rm_rf", "rm_r(", "unlink", "removesync", "deletefile", "file.delete", "remove_tree", "rmdir(") {
		s.risk(DestructiveFS, Recommended, "", "code that deletes files")
		for _, w := range s.quoted(text) {
			if _, z := s.resolve(w); z.foreign() {
				s.removes(w, true)
			}
		}
	}
	if hasAny(lower, "writefile", "write_text", "write_bytes", ".write(", "file_put_contents", "truncate", "copyfile", "shutil.", "os.rename", "file.rename", "symlink", "'w'", `"w"`, "'a'", `"a"`, "'>", `">`) {
		for _, w := range s.quoted(text) {
			if _, z := s.resolve(w); z == system || z == device || z == home {
				s.writes(w, "writes")
			}
		}
	}
	if hasAny(lower, "urllib", "requests.", "http://", "https://", "socket.", "fetch(", "net.connect", "urlopen", "io::socket", "net::http", "fsockopen") {
		s.add(found{Finding: Finding{Category: ExternalNet, Tier: Recommended, Reason: "code that speaks to other machines"}, sends: true})
	}
	if hasAny(lower, ".ssh/", ".aws/", "id_rsa", "/etc/shadow", "os.environ)", "process.env)", "/.env", "'.env'", `".env"`, "%env") {
		s.risk(SecretAccess, Recommended, "", "code that reads secrets")
	}
	if hasAny(lower, "system(", "popen", "subprocess", "child_process", "exec(", "execsync", "spawn", "do shell script", "| \"sh", "|\"sh", "getline") {
		s.unknown(s.here, "it is code that starts programs")
	}
}

// quoted gives the absolute paths that stand in quotes in code of another language.
func (s *scan) quoted(text string) (out []word) {
	for len(text) > 0 {
		i := strings.IndexAny(text, "'\"`")
		if i < 0 {
			break
		}
		rest := text[i+1:]
		end := strings.IndexByte(rest, text[i])
		if end < 0 {
			break
		}
		if name := strings.TrimLeft(rest[:end], "<>+ "); strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~/") {
			out = append(out, word{text: name, pos: s.here, tilde: name[0] == '~'})
		}
		text = rest[end+1:]
	}
	return out
}

// redirects judges what a statement reads from and writes to.
func (s *scan) redirects(list []*syntax.Redirect) {
	for _, r := range list {
		if r.Op == syntax.WordHdoc || r.Word == nil || r.Hdoc != nil {
			continue
		}
		w := s.word(r.Word)
		here, cmd := s.here, s.cmd
		s.here, s.cmd = s.at(r.Pos()), r.Op.String()
		switch {
		case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
			if parts := strings.Split(w.text, "/"); len(parts) < 4 || !isLoopback(parts[3]) {
				s.add(found{Finding: Finding{Category: ExternalNet, Tier: Required, Target: w.text, Reason: "opens a connection to another machine"}, sends: true, fetches: true})
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
	switch z {
	case system, device:
		s.risk(DestructiveFS, Required, p, verb+" a file of the system")
	case home:
		if isStartup(p) {
			s.risk(DestructiveFS, Required, p, verb+" a file that decides what runs when a person logs in")
			return
		}
		s.risk(DestructiveFS, Recommended, p, verb+" outside the project")
	case outside:
		s.risk(DestructiveFS, Recommended, p, verb+" outside the project")
	case inside:
		if hasAny(p, "/.git/hooks/", "/.git/config") || strings.HasSuffix(p, "/.git/info/attributes") {
			s.risk(PrivilegeEscalation, Recommended, p, "git runs it later, with the rights of whoever calls git")
		}
	case whole, temp, null, unknown:
		if w.leads() {
			s.risk(DestructiveFS, Recommended, w.text, verb+" at the root of everything if the variable is empty")
		}
	}
}

// isStartup tells files of a person's folder that are run, or that decide who may log in.
func isStartup(p string) bool {
	return oneOf(path.Base(p), ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", ".bash_login", ".xinitrc", ".gitconfig", "authorized_keys", "config.fish") ||
		hasAny(p, "/.ssh/", "/.config/autostart/", "/.config/systemd/", "/LaunchAgents/")
}

// removes judges a file or folder that is deleted.
func (s *scan) removes(w word, recursive bool) {
	p, z := s.resolve(w)
	switch z {
	case system, device, home, outside:
		s.risk(DestructiveFS, Required, p, "deletes outside the project")
	case whole:
		if recursive {
			s.risk(DestructiveFS, Required, p, "deletes the whole project, or more")
		} else {
			s.risk(DestructiveFS, Recommended, p, "deletes every file of the project's folder")
		}
	case inside:
		s.removesInside(w, p, recursive)
	case unknown:
		switch {
		case w.leads():
			s.risk(DestructiveFS, Required, w.text, "deletes from the root of everything if the variable is empty")
		case recursive:
			s.risk(DestructiveFS, Recommended, w.text, "what is deleted shows only when it runs")
		default:
			s.risk(DestructiveFS, Optional, w.text, "what is deleted shows only when it runs")
		}
	case temp, null:
	}
}

func (s *scan) removesInside(w word, p string, recursive bool) {
	rel := strings.TrimPrefix(p, s.place.Root+"/")
	first, _, _ := strings.Cut(rel, "/")
	switch {
	case oneOf(first, ".git", ".tercet"):
		t := Recommended
		if recursive {
			t = Required
		}
		s.risk(DestructiveFS, t, p, "deletes the history or the state of the project")
	case recursive && !isProduct(rel):
		s.risk(DestructiveFS, Recommended, p, "deletes a folder of the project with all that is in it")
	default:
		s.risk(DestructiveFS, Optional, p, "deletes inside the project")
	}
	if w.glob && recursive && strings.HasPrefix(path.Base(p), "*") && !isProduct(rel) {
		s.risk(DestructiveFS, Recommended, p, "deletes by a pattern")
	}
}

// isProduct tells folders that a build makes and can make again.
func isProduct(rel string) bool {
	for e := range strings.SplitSeq(rel, "/") {
		if oneOf(e, "node_modules", "build", "dist", "target", "out", "output", "coverage", ".cache", "__pycache__", "tmp", "temp", ".next", ".nuxt", ".pytest_cache",
			".mypy_cache", ".ruff_cache", ".tox", ".venv", "venv", "bin", "obj", ".gradle", ".turbo", ".parcel-cache", "_build", "site", "public", "vendor", ".terraform", "logs") {
			return true
		}
	}
	return strings.HasSuffix(rel, ".egg-info")
}
