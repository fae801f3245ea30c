package shell

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// judgeReach does what a row says of other machines, of databases, of secrets and of code.
func (j *judgement) judgeReach(verb, arg string) {
	switch verb {
	case "save":
		j.judgeSave(strings.Fields(arg)...)
	case "fetch", "send":
		urls := j.rest
		for _, o := range j.options {
			if o.name == "--url" {
				urls = append(urls, o.value)
			}
		}
		j.scan.judgeURLs(urls, verb == "send")
	case "http":
		j.judgeHTTP()
	case "open":
		for _, w := range j.rest {
			if host := hostOf(w.text); host != "" && !isLoopback(host) {
				j.scan.addRemote("net+", w.text, "opens an address elsewhere")
			}
		}
	case "socat":
		j.judgeSocat()
	case "carry":
		j.judgeTransfer()
	case "unknown":
		for _, w := range append(j.hits, word{})[:max(1, len(j.hits))] {
			if w.pos.IsZero() {
				w.pos = j.scan.here
			}
			j.scan.addUnknown(w.pos, arg)
		}
	case "urls":
		const onlyText = "echo printf grep egrep fgrep rg sed awk test [ export git jq man # :"
		if !inList(j.scan.cmd, onlyText) {
			j.scan.judgeDatabaseURLs(j.args, "")
		}
	case "client":
		j.judgeDatabaseClient(strings.Split(arg, "/"))
	case "embedded":
		if _, z := j.scan.resolve(j.rest[0]); z.isForeign() {
			j.scan.addRisk("fs+", j.arg(0), "opens a database outside the project")
		}
		if changesData(joinWords(j.rest[1:])) || j.v.in.known() && changesData(j.v.in.text) {
			j.scan.addRisk("db+", j.arg(0), "changes or deletes data")
		}
	case "printenv":
		for _, w := range j.args {
			if isSecretName(w.text) {
				j.scan.addRisk("secret+", w.text,
					"prints a variable that holds a secret by its name")
			}
		}
	case "mentions":
		for _, w := range j.args {
			if !j.explained {
				j.scan.judgeMention(w)
			}
		}
	case "module":
		m, _ := j.get("-m")
		j.scan.startInner(j.v, append([]word{m}, j.rest...))
	case "code":
		w, ok := j.get(strings.Fields(arg)...)
		if !ok {
			w = j.hit
		}
		j.scan.judgeCode(w.text)
	case "piped":
		j.scan.judgePiped(j.v, false)
	case "quoted":
		for _, w := range j.scan.quotedPaths(j.args[0].text) {
			if _, z := j.scan.resolve(w); arg == "remove" && z.isForeign() {
				j.scan.judgeRemoval(w, true)
			} else if arg == "write" && z.isForeign() && z != outside {
				j.scan.judgeWrite(w, "writes")
			}
		}
	}
}

// judgeSave notes the file that will hold what comes from another machine, which runs books when it
// is run.
func (j *judgement) judgeSave(options ...string) {
	w, ok := j.get(options...)
	if !ok {
		return
	}

	j.scan.judgeWrite(w, "writes")
	if p, _ := j.scan.resolve(w); p != "" && len(j.rest) > 0 && !isLoopback(hostOf(j.arg(0))) {
		j.scan.fetched[p] = true
	}
}

func (s *scan) judgeRun(w word) {
	if p, _ := s.resolve(w); s.fetched[p] {
		s.addFetchedCode(p)
	}
}

// judgeURLs judges addresses of the web.
func (s *scan) judgeURLs(urls []word, sends bool) {
	for _, w := range urls {
		host := hostOf(w.text)
		switch {
		case isLoopback(host):
		case sends:
			s.addRemote("net!", w.text, "sends data to another machine")
		case host == "" || strings.Contains(host, hole):
			s.addRemote("net+", w.text, "fetches from an address that shows only when it runs")
		default:
			s.addRemote("net+", w.text, "fetches from another machine")
		}
	}
}

// judgeHTTP judges httpie, whose words are a method, an address, and what it sends.
func (j *judgement) judgeHTTP() {
	sends := j.holds(
		`args: POST PUT PATCH DELETE [^\-]*[^=]=[^=]* [^\-=]=[^=]* [^\-]*[^=]= [^\-=]= =[^=]* =`,
	)
	if j.holds("1: GET POST PUT PATCH DELETE HEAD") {
		j.rest = j.rest[1:]
	}
	j.scan.judgeURLs(j.rest[:min(1, len(j.rest))], sends)
}

func (j *judgement) judgeSocat() {
	for _, w := range j.rest {
		kind, host, _ := strings.Cut(w.text, ":")
		if k := strings.ToUpper(kind); hasAny(k, "EXEC", "SYSTEM") {
			j.scan.addUnknown(w.pos, "it starts a program for anyone who connects")
		} else if hasAny(k, "TCP", "UDP", "SSL") && !strings.Contains(k, "LISTEN") &&
			!isLoopback(host) {
			j.scan.addRemote("net!", w.text, "opens a connection to another machine")
		}
	}
}

// judgeTransfer judges copies from and to other machines.
func (j *judgement) judgeTransfer() {
	host, _, _ := strings.Cut(j.arg(0), ":")
	if !oneOf(j.scan.cmd, "scp", "rsync", "rclone") && len(j.rest) > 0 &&
		!isLoopback(afterAt(host)) {
		j.scan.addRemote("net!", j.arg(0), "carries files between machines")
		return
	}

	l := j.line
	if j.scan.cmd == "rclone" && len(l.rest) > 1 {
		l.rest = l.rest[1:]
	}

	sources, dest := l.sourcesAndDest()
	if isRemotePath(dest) {
		j.scan.addRemote("net!", dest.text, "copies to another machine")
	} else if i := slices.IndexFunc(sources, isRemotePath); i >= 0 {
		j.scan.addRemote("net+", sources[i].text, "copies from another machine")
	}
}

// isRemotePath tells paths of the form host:path or scheme://host that lead to another machine.
func isRemotePath(w word) bool {
	if strings.Contains(w.text, "://") {
		return !strings.HasPrefix(w.text, "file://") && !isLoopback(hostOf(w.text))
	}
	host, _, ok := strings.Cut(w.text, ":")
	return ok && host != "" && !strings.Contains(host, "/") && !isLoopback(afterAt(host))
}

func afterAt(s string) string {
	return s[strings.LastIndexByte(s, '@')+1:]
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
	return inList(host, "localhost 0.0.0.0 :: host.docker.internal *.localhost") ||
		ip != nil && ip.IsLoopback()
}

// reach says where a database is.
type reach int

const (
	local reach = iota
	somewhere
	remote
)

// judgeDatabaseClient judges the program of a database by where it goes and what it does there. by
// are its options that name the host, the statements, and the database.
func (j *judgement) judgeDatabaseClient(by []string) {
	where := local
	target := ""
	var names, sql []string
	look := func(text string) {
		if r := reachOf(text); target == "" || r > where {
			where = max(where, r)
			target = text
		}
	}
	name := func(w word, address bool) {
		names = append(append(names, w.vars...), w.text)
		if address || !w.known() || strings.Contains(w.text, "://") {
			look(w.text)
		}
	}

	for _, o := range j.options {
		switch {
		case inList(o.name, by[0]):
			look(o.value.text)
		case inList(o.name, by[1]):
			sql = append(sql, o.value.text)
		case inList(o.name, by[2]):
			name(o.value, false)
		}
	}

	for _, address := range []string{
		"PGHOST", "MYSQL_HOST", "MONGO_URL", "DATABASE_URL", "REDIS_URL", "PGSERVICE",
	} {
		if value, ok := j.scan.vars[address]; ok && value != hole {
			look(value)
		}
		for _, e := range j.v.env {
			if e.name == address {
				look(e.value.text)
			}
		}
	}

	for _, w := range j.rest {
		name(w, strings.Contains(w.text, "host="))
		sql = append(sql, w.text)
	}
	if j.v.in != nil {
		sql = append(sql, j.v.in.text)
	}

	changes := changesData(strings.Join(sql, " ")) || oneOf(j.scan.cmd, "dropdb", "dropuser") ||
		j.has("--clean", "--drop")
	prod := isProd(strings.Join(append(names, target), " "))
	j.scan.addDatabaseFinding(where, target, prod, changes)
}

// addDatabaseFinding books what is done to a database.
func (s *scan) addDatabaseFinding(where reach, target string, prod, changes bool) {
	class := "db!"
	reason := "works on a production database, by its name"
	switch {
	case prod:
	case where == remote:
		reason = "works on a database of another machine"
	case where == somewhere && changes:
		reason = "changes or deletes data of a database that shows only when it runs"
	case where == somewhere:
		class = "db+"
		reason = "which database it is shows only when it runs"
	case changes:
		class = "db+"
		reason = "changes or deletes data of a database on this machine"
	default:
		class = "db-"
		reason = "reads a database on this machine"
	}
	s.add(found{
		Finding: newFinding(class, withoutPassword(target), reason),
		sends:   where == remote,
	})
}

// withoutPassword removes the password of an address.
func withoutPassword(target string) string {
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
	if text == "" || text[0] == '/' || text[0] == '.' || isLoopback(host) || isLoopback(text) ||
		inList(
			host,
			"db database postgres postgresql mysql mariadb mongo mongodb redis test-db testdb",
		) {
		return local
	}
	return remote
}

// isProd tells names of production.
func isProd(names string) bool {
	parts := strings.FieldsFunc(strings.ToLower(names), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return slices.ContainsFunc(parts, func(p string) bool {
		return inList(p, "prod production prd live") || matchesPattern(p, "prod?")
	})
}

// changesData tells SQL and its like that changes or deletes.
func changesData(sql string) bool {
	u := strings.ToUpper(strings.Join(strings.Fields(sql), " "))
	return hasAny(
		u, "DROP ", "TRUNCATE", "DELETE FROM", "ALTER TABLE", "ALTER USER", "ALTER ROLE",
		"FLUSHALL", "FLUSHDB", "DROPDATABASE", ".DROP(", "DELETEMANY", "DELETEONE", ".REMOVE(",
		"GRANT ", "REVOKE ", "INSERT INTO",
	) ||
		strings.Contains(u, "UPDATE ") && strings.Contains(u, " SET ") ||
		strings.HasPrefix(u, "DEL ")
}

const databaseSchemes = "postgres postgresql mysql mariadb mongodb mongodb+srv redis rediss " +
	"sqlserver clickhouse " +
	"cockroachdb cassandra"

// judgeDatabaseURLs books addresses of databases that any program is given.
func (s *scan) judgeDatabaseURLs(ws []word, variable string) {
	for _, w := range ws {
		text := w.text
		if name, value, ok := strings.Cut(text, "="); ok && strings.Contains(value, "://") &&
			!strings.Contains(name, "://") {
			text = value
		}
		scheme, _, ok := strings.Cut(strings.ToLower(text), "://")
		if !ok || !inList(scheme, databaseSchemes) {
			continue
		}

		where := reachOf(text)
		prod := isProd(text + " " + variable)
		if where != local || prod {
			s.addDatabaseFinding(where, text, prod, false)
		}
	}
}
