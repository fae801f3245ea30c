package classify

import "strings"

// reach says where a database is.
type reach int

const (
	local reach = iota
	somewhere
	remote
)

// databases judges the programs that speak to databases.
func (s *scan) databases(v invocation, args []word) {
	if !silent(s.cmd) {
		s.urls(args, "")
	}
	switch s.cmd {
	case "psql", "pg_dump", "pg_dumpall", "pg_restore", "dropdb", "createdb", "dropuser", "createuser", "pgcli", "pg_basebackup":
		s.client(v, args, clientOf("-h -p -U -d -c -f --host --port --username --dbname --command --file -n -t -v -o -F -j", "-h --host", "-c --command", "-d --dbname"))
	case "mysql", "mariadb", "mysqldump", "mysqladmin", "mysqlimport", "mycli":
		s.client(v, args, clientOf("-h -P -u -D -e --host --port --user --database --execute", "-h --host", "-e --execute", "-D --database"))
	case "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport":
		s.client(v, args, clientOf("--host --port -u -p --eval --db -d --uri --username --password -c --collection", "--host --uri", "--eval", "--db -d"))
	case "redis-cli", "valkey-cli", "keydb-cli":
		s.client(v, args, clientOf("-h -p -a -n -u --user --pass -i -r", "-h -u", "", "-n"))
	case "clickhouse-client", "cqlsh", "influx", "sqlcmd", "bcp", "osql", "isql", "sqlplus", "tsql":
		s.client(v, args, clientOf("--host --port -u --user -q --query -S -Q -d -U -P -e -k", "--host -S", "-q --query -Q -e", "-d -k"))
	case "sqlite3", "duckdb":
		l := split(args, "-cmd -init -separator", false)
		if len(l.rest) > 0 {
			if _, z := s.resolve(l.rest[0]); z.foreign() {
				s.risk(DestructiveFS, Recommended, l.arg(0), "opens a database outside the project")
			}
			if destroys(joined(l.rest[1:])) || v.in != nil && v.in.known && destroys(v.in.text) {
				s.risk(ProdDB, Recommended, l.arg(0), "changes or deletes data")
			}
		}
	default:
		s.migrations(v, args)
	}
}

// silent tells programs whose words are only text.
func silent(name string) bool {
	return oneOf(name, "echo", "printf", "grep", "egrep", "fgrep", "rg", "sed", "awk", "test", "[", "export", "git", "jq", "man", "#", ":")
}

// clientFlags names the options of a database's program.
type clientFlags struct{ valued, host, sql, db string }

func clientOf(valued, host, sql, db string) clientFlags { return clientFlags{valued, host, sql, db} }

// client judges the program of a database by where it goes and what it does there.
func (s *scan) client(v invocation, args []word, f clientFlags) {
	l := split(args, f.valued, false)
	where, target := local, ""
	look := func(text string) {
		r := reachOf(text)
		if target == "" || r > where {
			where, target = max(where, r), text
		}
	}
	for name := range strings.FieldsSeq(f.host) {
		if w, ok := l.get(name); ok {
			look(w.text)
		}
	}
	for _, name := range []string{"PGHOST", "MYSQL_HOST", "MONGO_URL", "DATABASE_URL", "REDIS_URL", "PGSERVICE"} {
		if b, ok := s.vars[name]; ok && b.known {
			look(b.text)
		}
		for _, e := range v.env {
			if e.name == name {
				look(e.value.text)
			}
		}
	}
	names, sql := []string{target}, []string{}
	for _, w := range l.rest {
		if strings.Contains(w.text, "://") || !w.known() || strings.Contains(w.text, "host=") {
			look(w.text)
		}
		names = append(append(names, w.vars...), w.text)
		sql = append(sql, w.text)
	}
	for name := range strings.FieldsSeq(f.db) {
		if w, ok := l.get(name); ok {
			names = append(append(names, w.vars...), w.text)
			if !w.known() || strings.Contains(w.text, "://") {
				look(w.text)
			}
		}
	}
	for name := range strings.FieldsSeq(f.sql) {
		for _, o := range l.options {
			if o.name == name {
				sql = append(sql, o.value.text)
			}
		}
	}
	if v.in != nil {
		sql = append(sql, v.in.text)
	}
	s.data(where, target, isProd(strings.Join(names, " ")+" "+target), destroys(strings.Join(sql, " ")) || oneOf(s.cmd, "dropdb", "dropuser") || l.has("--clean", "--drop"))
}

// data books what is done to a database.
func (s *scan) data(where reach, target string, prod, destroying bool) {
	book := func(t Tier, why string) {
		s.add(found{Finding: Finding{Category: ProdDB, Tier: t, Target: hidden(target), Reason: why}, sends: where == remote})
	}
	switch {
	case prod:
		book(Required, "works on a production database, by its name")
	case where == remote:
		book(Required, "works on a database of another machine")
	case where == somewhere && destroying:
		book(Required, "changes or deletes data of a database that shows only when it runs")
	case where == somewhere:
		book(Recommended, "which database it is shows only when it runs")
	case destroying:
		book(Recommended, "changes or deletes data of a database on this machine")
	default:
		book(Optional, "reads a database on this machine")
	}
}

// hidden removes the password of an address.
func hidden(target string) string {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok {
		return target
	}
	auth, host, ok := strings.Cut(rest, "@")
	if !ok {
		return target
	}
	user, _, _ := strings.Cut(auth, ":")
	return scheme + "://" + user + "@" + host
}

// reachOf tells where an address, a connection string or the name of a host leads.
func reachOf(text string) reach {
	if i := strings.Index(text, "host="); i >= 0 {
		text = strings.Fields(text[i+len("host="):] + " x")[0]
	}
	if strings.Contains(text, "://") {
		host := hostOf(text)
		switch {
		case host == "" || isLoopback(host), isService(host):
			return local
		case strings.Contains(host, hole):
			return somewhere
		}
		return remote
	}
	host := hostPart(text)
	switch {
	case strings.Contains(text, hole):
		return somewhere
	case text == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") || isLoopback(host) || isLoopback(text), isService(host):
		return local
	}
	return remote
}

// isService tells a name that only a network of containers on this machine knows.
func isService(host string) bool {
	return oneOf(host, "db", "database", "postgres", "postgresql", "mysql", "mariadb", "mongo", "mongodb", "redis", "test-db", "testdb")
}

// isProd tells names of production.
func isProd(names string) bool {
	word := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	for _, p := range strings.FieldsFunc(strings.ToLower(names), word) {
		if oneOf(p, "prod", "production", "prd", "live") || strings.HasPrefix(p, "prod") && len(p) == 5 {
			return true
		}
	}
	return false
}

// destroys tells SQL and its like that changes or deletes.
func destroys(sql string) bool {
	u := strings.ToUpper(strings.Join(strings.Fields(sql), " "))
	return hasAny(u, "DROP ", "TRUNCATE", "DELETE FROM", "ALTER TABLE", "ALTER USER", "ALTER ROLE", "FLUSHALL", "FLUSHDB", "DROPDATABASE", ".DROP(", "DELETEMANY", "DELETEONE", ".REMOVE(", "GRANT ", "REVOKE ") ||
		strings.Contains(u, "UPDATE ") && strings.Contains(u, " SET ") || strings.Contains(u, "INSERT INTO") || strings.HasPrefix(strings.TrimSpace(u), "DEL ")
}

// urls books addresses of databases that any program is given.
func (s *scan) urls(ws []word, variable string) {
	for _, w := range ws {
		text := w.text
		if name, value, ok := strings.Cut(text, "="); ok && strings.Contains(value, "://") && !strings.Contains(name, "://") {
			text = value
		}
		scheme, _, ok := strings.Cut(strings.ToLower(text), "://")
		if !ok || !oneOf(scheme, "postgres", "postgresql", "mysql", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss", "sqlserver", "clickhouse", "cockroachdb", "cassandra") {
			continue
		}
		if where := reachOf(text); where != local || isProd(text+" "+variable) {
			s.data(where, text, isProd(text+" "+variable), false)
		}
	}
}

// migrations judges the programs that change the shape of a database for a framework.
func (s *scan) migrations(v invocation, args []word) {
	text := s.cmd + " " + joined(args)
	name := strings.TrimSuffix(strings.TrimSuffix(s.cmd, ".py"), ".sh")
	l := split(args, "--env -e --environment --config", false)
	first := l.arg(0)
	migrates, destroying := false, false
	switch name {
	case "rails", "rake", "hanami":
		for _, w := range l.rest {
			if rest, ok := strings.CutPrefix(w.text, "db:"); ok {
				migrates, destroying = true, hasAny(rest, "drop", "reset", "purge", "schema:load", "rollback", "truncate")
			}
		}
	case "prisma":
		migrates = oneOf(first, "migrate", "db")
		destroying = anyText(l.rest, "reset") || l.has("--force-reset", "--accept-data-loss")
	case "artisan", "manage", "python", "python3", "php", "npx", "mix", "node":
		for _, w := range l.rest {
			base := word{text: w.text}.name()
			if oneOf(base, "artisan", "manage.py", "artisan.php", "prisma", "knex", "sequelize", "typeorm") {
				continue
			}
			migrates = migrates || strings.HasPrefix(base, "migrate") || oneOf(base, "flush", "dbshell", "loaddata", "sqlflush") || strings.HasPrefix(base, "ecto.") || strings.HasPrefix(base, "db:")
			destroying = destroying || migrates && hasAny(base, "fresh", "reset", "wipe", "flush", "rollback", "drop", "refresh")
		}
		if migrates && name != "artisan" && name != "manage" && name != "mix" && !hasAny(text, "artisan", "manage.py", "prisma", "knex", "sequelize", "typeorm") {
			return
		}
	case "alembic", "flyway", "liquibase", "knex", "sequelize", "typeorm", "goose", "migrate", "dbmate", "sqlx", "diesel", "atlas", "sequelize-cli":
		migrates = len(l.rest) > 0 && !hasAny(text, "history", "status", "current", "generate", "validate", "info", " new", " create")
		destroying = hasAny(text, "down", "drop", "clean", "rollback", "reset", "undo", "revert", "force")
	case "heroku":
		migrates = strings.HasPrefix(first, "pg:")
		if migrates {
			s.data(remote, text, true, true)
			return
		}
	case "aws", "gcloud", "az", "supabase", "wrangler":
		if anyText(l.rest, "rds", "dynamodb", "sql", "cosmosdb", "redshift", "docdb", "spanner", "bigtable", "db", "d1") && hasAny(text, "delete", "update", "modify", "put-", "reset", "restore", "execute", "push", "remove", "patch") {
			if !oneOf(name, "supabase", "wrangler") || l.has("--linked", "--remote", "--db-url") {
				s.data(remote, text, true, true)
			}
		}
		return
	}
	if !migrates {
		return
	}
	env := []string{text}
	for _, e := range v.env {
		env = append(env, e.name+"="+e.value.text)
	}
	switch prod := isProd(strings.Join(env, " ")); {
	case prod:
		s.data(remote, text, true, true)
	case destroying:
		s.risk(ProdDB, Recommended, text, "changes or deletes data of the database that the project is set up for")
	default:
		s.risk(ProdDB, Optional, text, "changes the database that the project is set up for")
	}
}
