package shell

import (
	"path"
	"strings"
)

// zone says where a path leads.
type zone int

const (
	inside  zone = iota // below the project root
	whole               // the project root itself, or everything in it
	temp                // below a folder for temporary files
	home                // the user's folder, or below it
	system              // folders of the system
	device              // a disk or another device that can be harmed
	null                // /dev/null and its like
	outside             // anywhere else
	unknown             // not known before it runs
)

// isForeign tells whether the user keeps something there that the project does not own.
func (z zone) isForeign() bool {
	return z == home || z == system || z == device || z == outside
}

// resolve gives the absolute path of a word, as far as it is known, and its zone. Links are not
// followed.
func (s *scan) resolve(w word) (string, zone) {
	t := w.text
	if w.tilde {
		switch {
		case t == "~" || strings.HasPrefix(t, "~/"):
			if s.place.Home == "" {
				return t, home
			}
			t = s.place.Home + t[1:]
		case strings.HasPrefix(t, "~+"), strings.HasPrefix(t, "~-"):
			return t, unknown
		default:
			return t, home // of another user
		}
	}
	if t == "" {
		return "", unknown
	}

	prefix, _, cut := strings.Cut(t, hole)
	if cut {
		return s.resolvePartial(t, prefix)
	}
	abs, ok := s.absolute(t)
	if !ok {
		return t, unknown
	}
	return s.zoneOf(abs, w)
}

// absolute completes a path by the working folder, if that is known.
func (s *scan) absolute(p string) (string, bool) {
	if path.IsAbs(p) {
		return path.Clean(p), true
	}
	return path.Join(s.dir, p), s.dirKnown
}

// resolvePartial judges a path of which only the beginning is known.
func (s *scan) resolvePartial(t, prefix string) (string, zone) {
	dir := prefix[:strings.LastIndexByte(prefix, '/')+1]
	if dir == "" || strings.Contains(t[len(prefix):], "..") {
		return t, unknown
	}

	abs, ok := s.absolute(dir)
	if !ok || abs == s.place.Root {
		return t, unknown
	}

	_, z := s.zoneOf(path.Join(abs, "x"), word{})
	if abs == "/" {
		z = system
	}
	return t, z
}

// zoneOf gives the zone of a clean absolute path. A glob in the last element stands for everything
// in the folder.
func (s *scan) zoneOf(p string, w word) (string, zone) {
	look := p
	if w.glob {
		if base := path.Base(p); oneOf(base, "*", ".*", "**", "{*,.*}", ".[!.]*", "?*") {
			look = path.Dir(p)
		} else if i := strings.IndexAny(p, "*?["); i >= 0 {
			look = path.Dir(p[:i] + "x")
			if look != "/" {
				look += "/x"
			}
		}
	}

	root := s.place.Root
	h := s.place.Home
	folder := strings.TrimSuffix(look, "/") + "/"

	for _, known := range zones {
		switch {
		case inList(folder, known.paths),
			known.zone == home && h != "" && (look == h || isBelow(look, h)):
			return p, known.zone
		case known.zone == inside && root != "" && look == root:
			return p, whole
		case known.zone == inside && root != "" && isBelow(look, root):
			return p, inside
		}
	}

	return p, outside
}

// zones are the paths of which is known where they lead, with a slash behind them; the first that
// fits counts.
var zones = []struct {
	paths string
	zone  zone
}{
	{
		"/dev/null/ /dev/zero/ /dev/full/ /dev/tty/ /dev/stdin/ /dev/stdout/ /dev/stderr/ " +
			"/dev/random/ /dev/urandom/ " +
			"/dev/ptmx/ /dev/fd/?* /dev/pts/?* /dev/tcp/?* /dev/udp/?*",
		null,
	},
	{"/dev/shm/?*", temp},
	{"/dev/*", device},
	{"", inside}, // the project
	{"/tmp/?* /var/tmp/?* /private/tmp/?* /var/folders/?*", temp},
	{"/home/?* /Users/?* /root" + "/*", home},
	{
		"/ /bin/* /boot/* /etc/* /lib/* /lib32/* /lib64/* /opt/* /proc/* /run/* /sbin/* /srv/* " +
			"/sys/* /usr/* /var/* /tmp/* " +
			"/home/* /Users/* /System/* /Library/* /Applications/* /private/* /cores/* /nix/* " +
			"/snap/*",
		system,
	},
}

// isBelow tells whether p stands below dir.
func isBelow(p, dir string) bool {
	return p != dir && strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// startsUnknown tells whether a word begins with something unknown that a slash follows: empty, it
// would be the root of everything.
func (w word) startsUnknown() bool {
	return strings.HasPrefix(w.text, hole+"/")
}
