package classify

import (
	"net"
	"net/url"
	"strings"
)

// network judges what speaks to other machines.
func (s *scan) network(args []word) {
	if s.transfers(args) || s.packages(args) || s.clouds(args) {
		return
	}
	l := split(args, "-p -P -i -o -l -F -L -R -D -J -b -c -W -w -n -t", false)
	switch s.cmd {
	case "git":
		s.remoteGit(args)
	case "ngrok", "cloudflared", "localtunnel", "lt", "bore", "tailscale":
		s.sendsTo(joined(args), "opens this machine to others")
	case "mail", "mailx", "sendmail", "mutt", "msmtp", "swaks":
		s.sendsTo(joined(args), "sends mail")
	case "ansible", "ansible-playbook", "fab", "salt", "pdsh", "pssh":
		s.sendsTo(joined(args), "changes other machines")
	case "ping", "ping6", "dig", "nslookup", "host", "traceroute", "tracepath", "mtr", "whois", "nmap", "masscan", "drill":
		for _, w := range l.rest {
			if !isLoopback(w.text) && !strings.HasPrefix(w.text, "+") {
				s.fetchesFrom(w.text, "asks other machines")
				return
			}
		}
	case "openssl":
		if len(args) > 0 && args[0].text == "s_client" {
			if w, ok := split(args[1:], "-connect -host -port -servername", false).get("-connect", "-host"); ok && !isLoopback(w.text) {
				s.sendsTo(w.text, "opens a connection to another machine")
			}
		}
	case "xdg-open", "open", "sensible-browser", "lynx", "w3m", "links", "elinks":
		for _, w := range l.rest {
			if u := hostOf(w.text); u != "" && !isLoopback(u) {
				s.fetchesFrom(w.text, "opens an address elsewhere")
			}
		}
	}
}

func (s *scan) sendsTo(target, reason string) {
	s.add(found{Finding: Finding{Category: ExternalNet, Tier: Required, Target: target, Reason: reason}, sends: true, fetches: true})
}

func (s *scan) fetchesFrom(target, reason string) {
	s.add(found{Finding: Finding{Category: ExternalNet, Tier: Recommended, Target: target, Reason: reason}, sends: true, fetches: true})
}

// transfers judges the programs that carry data between machines.
func (s *scan) transfers(args []word) bool {
	switch s.cmd {
	case "curl":
		s.curl(args)
	case "wget", "wget2", "aria2c", "axel", "yt-dlp":
		l := split(args, "-O --output-document -o -P --post-data --post-file -U --header --user --password --method --body-data --body-file -t -T -d --dir", false)
		if w, ok := l.get("-O", "--output-document"); ok {
			s.writes(w, "writes")
			s.fetchesTo(w, l.rest)
		}
		s.web(l.rest, l.has("--post-data", "--post-file", "--body-data", "--body-file"))
	case "http", "https", "xh", "httpie":
		sends := false
		for _, w := range args {
			sends = sends || oneOf(w.text, "POST", "PUT", "PATCH", "DELETE") || strings.Contains(w.text, "=") && !strings.HasPrefix(w.text, "-") && !strings.Contains(w.text, "==")
		}
		l := split(args, "", false)
		if len(l.rest) > 0 && oneOf(l.rest[0].text, "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") {
			l.rest = l.rest[1:]
		}
		s.web(l.rest[:min(1, len(l.rest))], sends)
	case "nc", "ncat", "netcat", "telnet", "socat":
		s.raw(args)
	case "ssh", "mosh", "ssh-copy-id", "sshpass", "autossh", "sshfs":
		l := split(args, "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", true)
		if len(l.rest) > 0 && !isLoopback(afterAt(l.arg(0))) {
			s.sendsTo(l.arg(0), "works on another machine")
		}
	case "scp", "sftp", "rsync", "rclone", "ftp", "lftp", "tftp", "s3cmd", "croc", "wormhole":
		s.copiesAway(args)
	default:
		return false
	}
	return true
}

func (s *scan) curl(args []word) {
	valued := "-o --output -d --data --data-raw --data-binary --data-urlencode --json -F --form -T --upload-file -X --request -H --header -u --user -A --user-agent -e --referer " +
		"-b --cookie -c --cookie-jar -m --max-time --connect-timeout --retry -w --write-out --url -K --config -x --proxy --cacert --cert --key -E --resolve -r --range -C --retry-delay --output-dir"
	l := split(args, valued, false)
	if w, ok := l.get("-o", "--output"); ok {
		s.writes(w, "writes")
		s.fetchesTo(w, l.rest)
	}
	urls := l.rest
	for _, o := range l.options {
		if o.name == "--url" {
			urls = append(urls, o.value)
		}
	}
	sends := l.has("-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-T", "--upload-file")
	if w, ok := l.get("-X", "--request"); ok && !oneOf(strings.ToUpper(w.text), "GET", "HEAD", "OPTIONS") {
		sends = true
	}
	if l.has("-K", "--config") {
		s.unknown(s.here, "a file decides what it fetches")
	}
	s.web(urls, sends)
}

// fetchesTo notes a file that holds what comes from another machine, and runs books it when it is run.
func (s *scan) fetchesTo(w word, urls []word) {
	if p, _ := s.resolve(w); p != "" && len(urls) > 0 && !isLoopback(hostOf(urls[0].text)) {
		s.fetched[p] = true
	}
}

func (s *scan) runs(w word) {
	if p, _ := s.resolve(w); s.fetched[p] {
		s.add(found{Finding: Finding{Category: ExternalNet, Tier: Required, Target: p, Reason: "runs what it fetches from elsewhere"}, fetches: true})
	}
}

// web judges addresses of the web.
func (s *scan) web(urls []word, sends bool) {
	for _, w := range urls {
		host := hostOf(w.text)
		switch {
		case isLoopback(host):
		case sends:
			s.sendsTo(w.text, "sends data to another machine")
		case host == "" || strings.Contains(host, hole):
			s.fetchesFrom(w.text, "fetches from an address that shows only when it runs")
		default:
			s.fetchesFrom(w.text, "fetches from another machine")
		}
	}
}

func (s *scan) raw(args []word) {
	l := split(args, "-p -s -w -q -i -I -O -P -X -x -T", false)
	if s.cmd == "socat" {
		for _, w := range l.rest {
			kind, host, _ := strings.Cut(w.text, ":")
			if k := strings.ToUpper(kind); hasAny(k, "EXEC", "SYSTEM") {
				s.unknown(w.pos, "it starts a program for whoever connects")
			} else if hasAny(k, "TCP", "UDP", "SSL", "OPENSSL") && !strings.Contains(k, "LISTEN") && !isLoopback(host) {
				s.sendsTo(w.text, "opens a connection to another machine")
			}
		}
		return
	}
	if l.has("-e", "-c", "--exec", "--sh-exec") {
		s.sendsTo(joined(args), "gives a shell to another machine")
		return
	}
	if l.has("-l") {
		s.risk(ExternalNet, Recommended, joined(args), "waits for connections from others")
		return
	}
	if len(l.rest) > 0 && !isLoopback(l.rest[0].text) {
		if l.has("-z") {
			s.fetchesFrom(l.arg(0), "asks another machine")
			return
		}
		s.sendsTo(l.arg(0), "opens a connection to another machine")
	}
}

// copiesAway judges copies from and to other machines.
func (s *scan) copiesAway(args []word) {
	l := split(args, "-P -i -o -F -c -l -e --rsh --exclude --include --port --filter --exclude-from --include-from --bwlimit", false)
	sources, dest := ends(l)
	if oneOf(s.cmd, "sftp", "ftp", "lftp", "tftp", "croc", "wormhole", "s3cmd") && len(l.rest) > 0 && !isLoopback(afterAt(hostPart(l.arg(0)))) {
		s.sendsTo(l.arg(0), "carries files between machines")
		return
	}
	if s.cmd == "rclone" && len(l.rest) > 1 {
		sources, dest = ends(line{rest: l.rest[1:]})
	}
	if remotePath(dest) {
		s.sendsTo(dest.text, "copies to another machine")
		return
	}
	for _, w := range sources {
		if remotePath(w) {
			s.fetchesFrom(w.text, "copies from another machine")
			return
		}
	}
}

// remotePath tells paths of the form host:path or scheme://host that lead to another machine.
func remotePath(w word) bool {
	if strings.Contains(w.text, "://") {
		return !strings.HasPrefix(w.text, "file://") && !isLoopback(hostOf(w.text))
	}
	host, _, ok := strings.Cut(w.text, ":")
	return ok && host != "" && !strings.Contains(host, "/") && !isLoopback(afterAt(host))
}

func hostPart(s string) string {
	host, _, _ := strings.Cut(s, ":")
	return host
}

func afterAt(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// hostOf gives the host of an address; without a scheme the text before the first slash.
func hostOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "x://" + text
	}
	u, err := url.Parse(strings.ReplaceAll(text, hole, "_"))
	if err != nil {
		return ""
	}
	if i := strings.Index(text, "://"); strings.HasPrefix(text[i+3:], hole) {
		return hole
	}
	return u.Hostname()
}

// isLoopback tells names and addresses of this machine.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if oneOf(host, "localhost", "0.0.0.0", "::", "host.docker.internal") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (s *scan) remoteGit(args []word) {
	verb, rest := gitVerb(args)
	l := split(rest, "-b --branch -o --origin --depth -u -c --config -j --jobs --filter --reference -m --message", false)
	local := func(t string) bool {
		return strings.HasPrefix(t, ".") || strings.HasPrefix(t, "/") || strings.HasPrefix(t, "file://") || strings.HasPrefix(t, "~")
	}
	switch verb {
	case "push", "send-email", "svn":
		if len(l.rest) > 0 && local(l.arg(0)) {
			return
		}
		why := "publishes commits"
		forced := l.has("-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d")
		for _, w := range l.rest {
			forced = forced || strings.HasPrefix(w.text, "+") || strings.HasPrefix(w.text, ":")
		}
		if forced {
			why = "overwrites or deletes what is published"
		}
		s.sendsTo("git "+joined(append([]word{{text: verb}}, l.rest...)), why)
	case "clone", "fetch", "pull", "ls-remote":
		if len(l.rest) > 0 && local(l.arg(0)) {
			return
		}
		s.fetchesFrom(l.arg(0), "fetches from another machine")
	case "remote":
		if oneOf(l.arg(0), "update", "show", "prune") {
			s.fetchesFrom(l.arg(1), "fetches from another machine")
		}
	case "submodule", "lfs":
		if oneOf(l.arg(0), "update", "add", "pull", "fetch", "sync") {
			s.fetchesFrom("", "fetches from another machine")
		}
		if l.arg(0) == "push" {
			s.sendsTo("", "publishes files")
		}
	}
}
