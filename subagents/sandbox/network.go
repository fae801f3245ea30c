package sandbox

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// network judges the programs that carry data between machines and of which the words have to be looked at one by one.
func (s *scan) network(args []word) {
	switch s.cmd {
	case "curl":
		s.curl(args)
	case "wget", "wget2", "aria2c", "axel", "yt-dlp":
		l := split(args, "-O --output-document -o -P --post-data --post-file -U --header --user --password --method "+
			"--body-data "+
			"--body-file -t -T -d --dir", false)
		s.saves(l, "-O", "--output-document")
		s.web(l.rest, l.has("--post-data", "--post-file", "--body-data", "--body-file"))
	case "http", "https", "xh", "httpie":
		sends := slices.ContainsFunc(args, func(w word) bool {
			return oneOf(w.text, "POST", "PUT", "PATCH", "DELETE") ||
				strings.Contains(w.text, "=") && !strings.HasPrefix(w.text, "-") && !strings.Contains(w.text, "==")
		})
		rest := split(args, "", false).rest
		if len(rest) > 0 && oneOf(rest[0].text, "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") {
			rest = rest[1:]
		}
		s.web(rest[:min(1, len(rest))], sends)
	case "nc", "ncat", "netcat", "telnet":
		s.raw(args)
	case "socat":
		s.socat(args)
	case "scp", "sftp", "rsync", "rclone", "ftp", "lftp", "tftp", "s3cmd", "croc", "wormhole":
		s.copiesAway(args)
	case "ping", "ping6", "dig", "nslookup", "host", "traceroute", "tracepath", "mtr", "whois", "nmap", "masscan", "drill":
		for _, w := range split(args, "-p -P -i -o -l -F -L -R -D -J -b -c -W -w -n -t", false).rest {
			if !isLoopback(w.text) && !strings.HasPrefix(w.text, "+") {
				s.remote(Recommended, w.text, "asks other machines")
				return
			}
		}
	case "openssl":
		if len(args) > 0 && args[0].text == "s_client" {
			w, ok := split(args[1:], "-connect -host -port -servername", false).get("-connect", "-host")
			if ok && !isLoopback(w.text) {
				s.remote(Required, w.text, "opens a connection to another machine")
			}
		}
	case "xdg-open", "open", "sensible-browser", "lynx", "w3m", "links", "elinks":
		for _, w := range split(args, "-p -P -i -o -l -F -L -R -D -J -b -c -W -w -n -t", false).rest {
			if u := hostOf(w.text); u != "" && !isLoopback(u) {
				s.remote(Recommended, w.text, "opens an address elsewhere")
			}
		}
	}
}

const curlOptions = "-o --output -d --data --data-raw --data-binary --data-urlencode --json -F --form -T " +
	"--upload-file -X --request " +
	"-H --header -u --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -m --max-time --connect-timeout " +
	"--retry -w " +
	"--write-out --url -K --config -x --proxy --cacert --cert --key -E --resolve -r --range -C --retry-delay --output-dir"

func (s *scan) curl(args []word) {
	l := split(args, curlOptions, false)
	s.saves(l, "-o", "--output")
	urls := l.rest
	for _, o := range l.options {
		if o.name == "--url" {
			urls = append(urls, o.value)
		}
	}
	method, other := l.get("-X", "--request")
	if l.has("-K", "--config") {
		s.unknown(s.here, "a file decides what it fetches")
	}
	s.web(urls, other && !oneOf(strings.ToUpper(method.text), "GET", "HEAD", "OPTIONS") || l.has("-d", "--data",
		"--data-raw",
		"--data-binary", "--data-urlencode", "--json", "-F", "--form", "-T", "--upload-file"))
}

// saves notes the file that will hold what comes from another machine, which runs books when it is run.
func (s *scan) saves(l line, options ...string) {
	w, ok := l.get(options...)
	if !ok {
		return
	}
	s.writes(w, "writes")
	if p, _ := s.resolve(w); p != "" && len(l.rest) > 0 && !isLoopback(hostOf(l.arg(0))) {
		s.fetched[p] = true
	}
}

func (s *scan) runs(w word) {
	if p, _ := s.resolve(w); s.fetched[p] {
		s.fetchedCode(p)
	}
}

// web judges addresses of the web.
func (s *scan) web(urls []word, sends bool) {
	for _, w := range urls {
		switch host := hostOf(w.text); {
		case isLoopback(host):
		case sends:
			s.remote(Required, w.text, "sends data to another machine")
		case host == "" || strings.Contains(host, hole):
			s.remote(Recommended, w.text, "fetches from an address that shows only when it runs")
		default:
			s.remote(Recommended, w.text, whyFetches)
		}
	}
}

func (s *scan) socat(args []word) {
	for _, w := range split(args, "-p -s -w -q -i -I -O -P -X -x -T", false).rest {
		kind, host, _ := strings.Cut(w.text, ":")
		if k := strings.ToUpper(kind); hasAny(k, "EXEC", "SYSTEM") {
			s.unknown(w.pos, "it starts a program for whoever connects")
		} else if hasAny(k, "TCP", "UDP", "SSL") && !strings.Contains(k, "LISTEN") && !isLoopback(host) {
			s.remote(Required, w.text, "opens a connection to another machine")
		}
	}
}

func (s *scan) raw(args []word) {
	l := split(args, "-p -s -w -q -i -I -O -P -X -x -T", false)
	switch {
	case l.has("-e", "-c", "--exec", "--sh-exec"):
		s.remote(Required, joined(args), "gives a shell to another machine")
	case l.has("-l"):
		s.risk(ExternalNet, Recommended, joined(args), "waits for connections from others")
	case len(l.rest) == 0 || isLoopback(l.arg(0)):
	case l.has("-z"):
		s.remote(Recommended, l.arg(0), "asks another machine")
	default:
		s.remote(Required, l.arg(0), "opens a connection to another machine")
	}
}

// copiesAway judges copies from and to other machines.
func (s *scan) copiesAway(args []word) {
	l := split(args, "-P -i -o -F -c -l -e --rsh --exclude --include --port --filter --exclude-from --include-from "+
		"--bwlimit", false)
	if oneOf(s.cmd, "sftp", "ftp", "lftp", "tftp", "croc", "wormhole", "s3cmd") && len(l.rest) > 0 {
		host, _, _ := strings.Cut(l.arg(0), ":")
		if !isLoopback(afterAt(host)) {
			s.remote(Required, l.arg(0), "carries files between machines")
			return
		}
	}
	if s.cmd == "rclone" && len(l.rest) > 1 {
		l.rest = l.rest[1:]
	}
	sources, dest := ends(l)
	if remotePath(dest) {
		s.remote(Required, dest.text, "copies to another machine")
	} else if i := slices.IndexFunc(sources, remotePath); i >= 0 {
		s.remote(Recommended, sources[i].text, "copies from another machine")
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

func afterAt(s string) string { return s[strings.LastIndexByte(s, '@')+1:] }

// hostOf gives the host of an address; without a scheme the text before the first slash.
func hostOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "x://" + text
	}
	u, err := url.Parse(strings.ReplaceAll(text, hole, "_"))
	if err != nil {
		return ""
	}
	if strings.Contains(text, "://"+hole) {
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
	ip := net.ParseIP(host)
	return listed(host, "localhost 0.0.0.0 :: host.docker.internal *.localhost") || ip != nil && ip.IsLoopback()
}

// client is the program of a database: which of its options take a value, and which of those name the host, the
// statements and the database.
type client struct{ names, valued, host, sql, db string }

var clients = []client{
	{
		"psql pg_dump pg_dumpall pg_restore dropdb createdb dropuser createuser pgcli pg_basebackup",
		"-h -p -U -d -c -f --host --port --username --dbname --command --file -n -t -v -o -F -j",
		"-h --host", "-c --command", "-d --dbname",
	},
	{
		"mysql mariadb mysqldump mysqladmin mysqlimport mycli",
		"-h -P -u -D -e --host --port --user --database --execute", "-h --host", "-e --execute", "-D --database",
	},
	{
		"mongo mongosh mongodump mongorestore mongoexport mongoimport",
		"--host --port -u -p --eval --db -d --uri --username --password -c --collection", "--host " +
			"--uri", "--eval", "--db -d",
	},
	{"redis-cli valkey-cli keydb-cli", "-h -p -a -n -u --user --pass -i -r", "-h -u", "", "-n"},
	{
		"clickhouse-client cqlsh influx sqlcmd bcp osql isql sqlplus tsql",
		"--host --port -u --user -q --query -S -Q -d -U -P -e -k", "--host -S", "-q --query -Q -e", "-d -k",
	},
}

// reach says where a database is.
type reach int

const (
	local reach = iota
	somewhere
	remote
)

// databases judges the programs that speak to databases.
func (s *scan) databases(v invocation, args []word) {
	if !listed(s.cmd, "echo printf grep egrep fgrep rg sed awk test [ export git jq man # "+
		":") { // their words are only text
		s.urls(args, "")
	}
	if i := slices.IndexFunc(clients, func(c client) bool { return listed(s.cmd, c.names) }); i >= 0 {
		s.client(v, args, clients[i])
	}
	if s.cmd != "sqlite3" && s.cmd != "duckdb" {
		return
	}
	if l := split(args, "-cmd -init -separator", false); len(l.rest) > 0 {
		if _, z := s.resolve(l.rest[0]); z.foreign() {
			s.risk(DestructiveFS, Recommended, l.arg(0), "opens a database outside the project")
		}
		if destroys(joined(l.rest[1:])) || v.in.known() && destroys(v.in.text) {
			s.risk(ProdDB, Recommended, l.arg(0), "changes or deletes data")
		}
	}
}

// client judges the program of a database by where it goes and what it does there.
func (s *scan) client(v invocation, args []word, c client) {
	l := split(args, c.valued, false)
	where, target := local, ""
	look := func(text string) {
		r := reachOf(text)
		if target == "" || r > where {
			where, target = max(where, r), text
		}
	}
	var names, sql []string
	for _, o := range l.options {
		switch w := o.value; {
		case listed(o.name, c.host):
			look(w.text)
		case listed(o.name, c.sql):
			sql = append(sql, w.text)
		case listed(o.name, c.db):
			if names = append(append(names, w.vars...), w.text); !w.known() || strings.Contains(w.text, "://") {
				look(w.text)
			}
		}
	}
	for _, name := range []string{"PGHOST", "MYSQL_HOST", "MONGO_URL", "DATABASE_URL", "REDIS_URL", "PGSERVICE"} {
		if value, ok := s.vars[name]; ok && value != hole {
			look(value)
		}
		for _, e := range v.env {
			if e.name == name {
				look(e.value.text)
			}
		}
	}
	for _, w := range l.rest {
		if strings.Contains(w.text, "://") || !w.known() || strings.Contains(w.text, "host=") {
			look(w.text)
		}
		names = append(append(names, w.vars...), w.text)
		sql = append(sql, w.text)
	}
	if v.in != nil {
		sql = append(sql, v.in.text)
	}
	changes := destroys(strings.Join(sql, " ")) || oneOf(s.cmd, "dropdb", "dropuser") || l.has("--clean", "--drop")
	s.data(where, target, isProd(strings.Join(append(names, target), " ")), changes)
}

// data books what is done to a database.
func (s *scan) data(where reach, target string, prod, changes bool) {
	f := Finding{Category: ProdDB, Level: Required, Target: hidden(target)}
	switch {
	case prod:
		f.Reason = whyProd
	case where == remote:
		f.Reason = "works on a database of another machine"
	case where == somewhere && changes:
		f.Reason = "changes or deletes data of a database that shows only when it runs"
	case where == somewhere:
		f.Level, f.Reason = Recommended, "which database it is shows only when it runs"
	case changes:
		f.Level, f.Reason = Recommended, "changes or deletes data of a database on this machine"
	default:
		f.Level, f.Reason = Optional, "reads a database on this machine"
	}
	s.add(found{Finding: f, sends: where == remote})
}

// hidden removes the password of an address.
func hidden(target string) string {
	scheme, rest, _ := strings.Cut(target, "://")
	auth, host, ok := strings.Cut(rest, "@")
	if !ok {
		return target
	}
	user, _, _ := strings.Cut(auth, ":")
	return scheme + "://" + user + "@" + host
}

// reachOf tells where an address, a connection string or the name of a host leads.
func reachOf(text string) reach {
	if _, host, ok := strings.Cut(text, "host="); ok {
		text = strings.Fields(host + " x")[0]
	}
	host, _, _ := strings.Cut(text, ":")
	if strings.Contains(text, "://") {
		if host = hostOf(text); strings.Contains(host, hole) {
			return somewhere
		} else if host == "" {
			return local
		}
	} else if strings.Contains(text, hole) {
		return somewhere
	}
	// names that only a network of containers on this machine knows
	if text == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") || isLoopback(host) ||
		isLoopback(text) ||
		listed(host, "db database postgres postgresql mysql mariadb mongo mongodb redis test-db testdb") {
		return local
	}
	return remote
}

// isProd tells names of production.
func isProd(names string) bool {
	parts := strings.FieldsFunc(strings.ToLower(names), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' ||
			r > '9')
	})
	return slices.ContainsFunc(parts, func(p string) bool {
		return listed(p, "prod production prd live") || like(p,
			"prod?")
	})
}

// destroys tells SQL and its like that changes or deletes.
func destroys(sql string) bool {
	u := strings.ToUpper(strings.Join(strings.Fields(sql), " "))
	return hasAny(u, "DROP ", "TRUNCATE", "DELETE FROM", "ALTER TABLE", "ALTER USER", "ALTER ROLE", "FLUSHALL", "FLUSHDB",
		"DROPDATABASE", ".DROP(", "DELETEMANY", "DELETEONE", ".REMOVE(", "GRANT ", "REVOKE ", "INSERT INTO") ||
		strings.Contains(u, "UPDATE ") && strings.Contains(u, " SET ") || strings.HasPrefix(u, "DEL ")
}

const databaseSchemes = "postgres postgresql mysql mariadb mongodb mongodb+srv redis rediss sqlserver clickhouse " +
	"cockroachdb cassandra"

// urls books addresses of databases that any program is given.
func (s *scan) urls(ws []word, variable string) {
	for _, w := range ws {
		text := w.text
		if name, value, ok := strings.Cut(text, "="); ok && strings.Contains(value, "://") && !strings.Contains(name, "://") {
			text = value
		}
		scheme, _, ok := strings.Cut(strings.ToLower(text), "://")
		if !ok || !listed(scheme, databaseSchemes) {
			continue
		}
		where, prod := reachOf(text), isProd(text+" "+variable)
		if where != local || prod {
			s.data(where, text, prod, false)
		}
	}
}
