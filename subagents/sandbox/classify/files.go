package classify

import "strings"

// files judges the programs that delete, move and write files.
func (s *scan) files(v invocation, args []word) {
	switch s.cmd {
	case "rm", "srm", "grm":
		l := split(args, "", false)
		for _, w := range l.rest {
			s.removes(w, l.has("-r", "-R", "--recursive", "-d", "--dir"))
		}
	case "unlink", "shred", "rmdir", "truncate":
		for _, w := range split(args, "-n -s --size --iterations -r --reference --random-source", false).rest {
			s.removes(w, false)
		}
	case "mv", "gmv":
		l := split(args, "-t --target-directory -S --suffix", false)
		sources, dest := ends(l)
		for _, w := range sources {
			if _, z := s.resolve(w); z.foreign() || z == whole {
				s.removes(w, z != whole)
			}
		}
		s.writesTo(dest)
	case "cp", "gcp", "install", "ln", "ditto", "rsync":
		s.copies(args)
	case "tee", "touch", "mkdir", "mkfifo", "mknod":
		for _, w := range split(args, "-m --mode -d -r -t --date --reference", false).rest {
			s.writes(w, "writes")
		}
	case "chmod", "chown", "chgrp":
		l := split(args, "--reference --from", false)
		for i, w := range l.rest {
			if _, z := s.resolve(w); i > 0 || l.has("--reference") {
				switch {
				case z == system || z == device || z == home || z == outside && l.has("-R", "--recursive"):
					s.risk(DestructiveFS, Required, w.text, "changes the rights of files outside the project")
				case z == whole && l.has("-R", "--recursive"):
					s.risk(DestructiveFS, Recommended, w.text, "changes the rights of the whole project")
				}
			}
		}
	case "find", "gfind", "fd", "fdfind":
		s.finds(v, args)
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
	case "crontab":
		if l := split(args, "-u", false); l.has("-r") {
			s.risk(DestructiveFS, Required, "", "deletes every job of the person")
		} else if !l.has("-l") {
			s.risk(PrivilegeEscalation, Recommended, "", "makes code run later, without anybody there")
		}
	}
}

func ends(l line) (sources []word, dest word) {
	if w, ok := l.get("-t", "--target-directory"); ok {
		return l.rest, w
	}
	if len(l.rest) < 2 {
		return l.rest, word{}
	}
	return l.rest[:len(l.rest)-1], l.rest[len(l.rest)-1]
}

func (s *scan) writesTo(dest word) {
	if dest.text != "" {
		s.writes(dest, "writes")
	}
}

func (s *scan) copies(args []word) {
	valued := "-t --target-directory -S --suffix -m --mode -o --owner -g --group -e --rsh --exclude --include --filter --exclude-from --include-from"
	l := split(args, valued, false)
	sources, dest := ends(l)
	if s.cmd == "ln" && dest.text == "" {
		return // a link in the folder at hand
	}
	if remotePath(dest) {
		return
	}
	s.writesTo(dest)
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
	if s.cmd == "fd" || s.cmd == "fdfind" {
		for i, w := range args {
			if oneOf(w.text, "-x", "--exec", "-X", "--exec-batch") {
				s.inner(v, append(append([]word{}, args[i+1:]...), word{text: hole, pos: w.pos}))
				return
			}
		}
		return
	}
	var paths []word
	i := 0
	for ; i < len(args) && (oneOf(args[i].text, "-H", "-L", "-P") || !strings.HasPrefix(args[i].text, "-") && args[i].text != "(" && args[i].text != "!"); i++ {
		if !strings.HasPrefix(args[i].text, "-") {
			paths = append(paths, args[i])
		}
	}
	if len(paths) == 0 {
		paths = []word{{text: ".", pos: s.here}}
	}
	filtered := false
	for ; i < len(args); i++ {
		switch w := args[i]; w.text {
		case "-name", "-iname", "-path", "-ipath", "-regex", "-wholename", "-newer", "-size", "-empty", "-mtime", "-mmin", "-perm", "-user":
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
			end := i + 1
			for end < len(args) && args[end].text != ";" && args[end].text != "+" {
				end++
			}
			for _, p := range paths {
				s.inner(v, filled(args[i+1:end], p, filtered))
			}
			i = end
		}
	}
}

// filled puts a file below p in the place of {}.
func filled(ws []word, p word, filtered bool) []word {
	out := append([]word{}, ws...)
	for i := range out {
		if !strings.Contains(out[i].text, "{}") {
			continue
		}
		file := strings.TrimSuffix(p.text, "/") + "/" + hole
		if !filtered {
			file = p.text // everything below it, the folder itself too
		}
		if out[i].text == "{}" {
			out[i].tilde = p.tilde
		}
		out[i].text = strings.ReplaceAll(out[i].text, "{}", file)
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

// disks judges what writes to a disk past its files.
func (s *scan) disks(args []word) {
	name, _, _ := strings.Cut(s.cmd, ".")
	switch name {
	case "dd":
		for _, w := range args {
			if target, ok := strings.CutPrefix(w.text, "of="); ok {
				w.text = target
				s.writes(w, "overwrites")
			}
			if source, ok := strings.CutPrefix(w.text, "if="); ok {
				w.text = source
				s.reads(w, false)
			}
		}
	case "mkfs", "mke2fs", "mkswap", "wipefs", "blkdiscard", "fdisk", "sfdisk", "gdisk", "sgdisk", "cfdisk", "parted", "badblocks", "cryptsetup", "lvremove", "vgremove", "pvremove", "mdadm":
		if l := split(args, "-t -L", false); l.has("-l", "--list", "-n", "--no-act") || len(l.rest) == 0 {
			return
		}
		for _, w := range split(args, "-t -L", false).rest {
			if _, z := s.resolve(w); (z == inside || z == temp) && s.cmd != "cryptsetup" {
				return // an image file
			}
		}
		s.risk(DestructiveFS, Required, joined(args), "writes to a disk past its files")
	case "zpool", "zfs", "diskutil", "btrfs":
		if len(args) > 0 && hasAny(strings.ToLower(args[0].text), "destroy", "erase", "partition", "labelclear") {
			s.risk(DestructiveFS, Required, joined(args), "destroys a file system")
		}
	case "docker", "podman", "nerdctl":
		ops := split(args, "--context -H --host -f --file -p", false)
		first, second := ops.arg(0), ops.arg(1)
		switch {
		case second == "prune", first == "volume" && oneOf(second, "rm", "remove"), first == "rmi",
			(first == "compose" || first == "rm") && ops.has("-v", "--volumes"):
			s.risk(DestructiveFS, Recommended, first+" "+second, "deletes images, containers or volumes")
		}
	}
}

// versions judges git where it throws work away.
func (s *scan) versions(args []word) {
	if s.cmd != "git" {
		return
	}
	verb, rest := gitVerb(args)
	l := split(rest, "-m --message -b -B -c -C --source -s -x --exec -e --exclude", false)
	loses := func(why string) { s.risk(DestructiveFS, Recommended, "git "+verb, why) }
	switch verb {
	case "clean":
		if l.has("-f", "--force") && !l.has("-n", "--dry-run") {
			loses("deletes files that are not under version control")
		}
	case "reset":
		if l.has("--hard", "--merge") {
			loses("throws away changes that are not committed")
		}
	case "checkout", "restore":
		if l.has("-f", "--force") || anyText(l.rest, ".", ":/", "*") {
			loses("throws away changes that are not committed")
		}
	case "stash":
		if oneOf(l.arg(0), "drop", "clear") {
			loses("throws away what was put aside")
		}
	case "branch", "tag":
		if l.has("-D") {
			s.risk(DestructiveFS, Optional, "git "+verb, "deletes a branch that may not be merged")
		}
	case "filter-branch", "filter-repo":
		loses("rewrites the history")
	case "reflog":
		if l.arg(0) == "expire" || l.arg(0) == "delete" {
			loses("throws away what could be got back")
		}
	case "gc":
		for _, o := range l.options {
			if o.name == "--prune" && oneOf(o.value.text, "now", "all") {
				loses("throws away what could be got back")
			}
		}
	case "update-ref":
		if l.has("-d") {
			loses("deletes a reference")
		}
	case "config":
		if l.has("--global", "--system") && len(l.rest) > 1 || l.has("--global", "--system") && l.has("--unset") {
			s.risk(DestructiveFS, Recommended, "git config", "changes the settings of every project")
		}
	case "rebase", "bisect":
		if w, ok := l.get("-x", "--exec"); ok {
			s.text(w.text, w)
		}
		if verb == "bisect" && l.arg(0) == "run" {
			s.inner(invocation{}, l.rest[1:])
		}
	case "submodule":
		if l.arg(0) == "foreach" && len(l.rest) > 1 {
			s.text(joined(l.rest[1:]), single(l.rest[1:]))
		}
	}
}

func anyText(ws []word, texts ...string) bool {
	for _, w := range ws {
		if oneOf(w.text, texts...) {
			return true
		}
	}
	return false
}

// gitVerb gives the verb of git and what stands behind it.
func gitVerb(args []word) (string, []word) {
	l := split(args, "-C -c --git-dir --work-tree --namespace --exec-path", true)
	if len(l.rest) == 0 {
		return "", nil
	}
	return l.rest[0].text, l.rest[1:]
}
