package classify

import "strings"

// rootWrapper looks through what gives other rights to the program that it starts.
func (s *scan) rootWrapper(v invocation, args []word) bool {
	as := func(valued string, skip int) {
		l := split(args, valued, true)
		s.risk(PrivilegeEscalation, Required, "", "runs with the rights of another")
		if len(l.rest) > skip {
			s.inner(v, l.rest[skip:])
		}
	}
	switch s.cmd {
	case "sudo":
		if l := split(args, "-u -g -h -p -C -T -U -r -t -D -R --user --group --host --prompt --chdir --chroot", true); len(l.rest) == 0 && l.has("-l", "--list", "-k", "-K", "-V", "--version", "--help") {
			return true
		}
		as("-u -g -h -p -C -T -U -r -t -D -R --user --group --host --prompt --chdir --chroot", 0)
	case "doas":
		as("-u -C", 0)
	case "pkexec":
		as("--user", 0)
	case "run0", "systemd-run":
		as("-u --user -p --property --unit --uid --gid -E --setenv", 0)
	case "gosu", "su-exec", "chroot", "setpriv":
		skip := 1
		if s.cmd == "setpriv" {
			skip = 0
		}
		as("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --userspec", skip)
	case "nsenter":
		as("-t --target -S -G --setuid --setgid", 0)
	case "unshare":
		l := split(args, "", true)
		s.risk(PrivilegeEscalation, Recommended, "", "makes namespaces in which it is root")
		s.inner(v, l.rest)
	case "su", "runuser":
		s.risk(PrivilegeEscalation, Required, "", "runs with the rights of another")
		l := split(args, "-c --command -s --shell -g -G -u", true)
		if w, ok := split(args, "-c --command -s --shell -g -G -u", false).get("-c", "--command"); ok {
			s.text(w.text, w)
		} else if l.has("-u") {
			s.inner(v, l.rest)
		}
	default:
		return false
	}
	return true
}

// rights judges what changes who may do what on this machine.
func (s *scan) rights(args []word) {
	l := split(args, "", false)
	raise := func(t Tier, why string) { s.risk(PrivilegeEscalation, t, joined(args), why) }
	switch s.cmd {
	case "vigr", "vipw": // visudo alone asks for rights that whoever calls it has or has not, and edits with a person at it
		if !l.has("-V", "--version") {
			raise(Required, "changes who may act with the rights of root")
		}
	case "chmod":
		if mode := l.arg(0); strings.Contains(mode, "+") && strings.Contains(mode[strings.IndexByte(mode, '+'):], "s") || isSetUID(mode) {
			raise(Required, "lets everybody run it with the rights of its owner")
		}
	case "setcap", "capsh", "insmod", "modprobe", "rmmod", "kexec", "mount", "umount", "swapoff", "swapon", "losetup", "pivot_root":
		if len(args) > 0 {
			raise(Required, "changes the rights or the state of the system")
		}
	case "useradd", "userdel", "usermod", "adduser", "deluser", "addgroup", "groupadd", "groupdel", "groupmod", "gpasswd", "passwd", "chpasswd", "chsh", "dseditgroup", "sysadminctl":
		raise(Required, "changes who may log in, or how")
	case "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "setenforce", "aa-disable", "aa-complain", "auditctl", "csrutil", "spctl":
		if !l.has("-L", "--list", "-S", "--list-all", "--state") && !oneOf(l.arg(0), "list", "status") && len(args) > 0 {
			raise(Required, "changes what protects this machine")
		}
	case "sysctl":
		if l.has("-w", "--write", "-p", "--system") || strings.Contains(joined(args), "=") {
			raise(Required, "changes the kernel")
		}
	case "systemctl", "service", "rc-service", "launchctl", "initctl":
		if anyText(l.rest, "start", "stop", "restart", "reload", "enable", "disable", "mask", "unmask", "kill", "edit", "isolate", "reboot", "poweroff", "halt", "daemon-reload", "load", "unload", "bootstrap", "bootout") {
			t := Required
			if l.has("--user") {
				t = Recommended
			}
			raise(t, "changes which services run")
		}
	case "reboot", "shutdown", "halt", "poweroff", "telinit", "init":
		if s.cmd != "init" || oneOf(l.arg(0), "0", "1", "6") {
			raise(Required, "stops this machine")
		}
	case "at", "batch":
		if !l.has("-l") {
			raise(Recommended, "makes code run later, without anybody there")
		}
	case "kill":
		for i, w := range args {
			if w.text == "-1" && i > 0 {
				raise(Required, "ends every program of the person")
			}
		}
	case "docker", "podman", "nerdctl":
		s.containers(args)
	}
}

func isSetUID(mode string) bool {
	return len(mode) == 4 && strings.Trim(mode, "01234567") == "" && (mode[0] >= '2')
}

// containers judges options that open a container to the machine it runs on.
func (s *scan) containers(args []word) {
	for i, w := range args {
		value := w.text
		if _, v, ok := strings.Cut(w.text, "="); ok {
			value = v
		} else if i+1 < len(args) && oneOf(w.text, "-v", "--volume", "--pid", "--network", "--net", "--userns", "--ipc", "--cap-add", "--security-opt", "--device") {
			value = args[i+1].text
		}
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case w.text == "--privileged",
			oneOf(name, "--pid", "--userns", "--ipc") && value == "host",
			name == "--cap-add" && oneOf(strings.ToUpper(value), "ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE"),
			name == "--security-opt" && strings.Contains(value, "unconfined"),
			oneOf(name, "-v", "--volume") && (strings.HasPrefix(value, "/:") || strings.Contains(value, "docker.sock") || strings.HasPrefix(value, "/etc:") || strings.HasPrefix(value, "/root:")):
			s.risk(PrivilegeEscalation, Required, w.text, "opens the container to the machine it runs on")
		}
	}
}
