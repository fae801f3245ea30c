package classify

import (
	"path"
	"strings"
)

// secrets judges what reads keys, passwords and tokens.
func (s *scan) secrets(args []word) {
	s.stores(args)
	l := split(args, "", false)
	switch s.cmd {
	case "echo", "printf", "test", "[", "touch", "mkdir", "rm", "rmdir", "unlink", "chmod", "chown", "chgrp", "which", "type", "man", "kill", "ssh-keygen", "true", "false", "tee",
		"export", "ln", "basename", "dirname", "realpath", "readlink", "mv", "ssh-add", "shred", "truncate", "mkfifo", "git", "cd", "dd", "#", ":":
		if s.cmd == "git" {
			s.commits(args)
		}
		return
	case "ls", "stat", "file", "du", "find", "tree", "exa", "eza", "fd", "locate":
		for _, w := range l.rest {
			s.reads(w, true)
		}
		return
	case "cp", "install", "rsync":
		sources, _ := ends(l)
		for _, w := range sources {
			s.reads(w, false)
		}
		return
	case "grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq", "yq":
		p := split(args, "-e -f -A -B -C -m --include --exclude --regexp --file -g --glob -t --type", false)
		for i, w := range p.rest {
			if i > 0 || p.has("-e", "-f", "--regexp", "--file") {
				s.reads(w, false)
			}
		}
		return
	case "ssh", "scp", "sftp":
		for _, w := range split(args, "-i -F -o -p -P -l", false).rest {
			if s.cmd == "scp" {
				s.reads(w, false)
			}
		}
		return
	}
	for _, w := range args {
		s.mentions(w)
	}
}

// mentions judges a word of a program that may read any file it is given: FILE, @FILE, name=FILE, name=@FILE, --option=FILE.
func (s *scan) mentions(w word) {
	text := w.text
	if strings.Contains(text, "://") {
		return
	}
	if _, value, ok := strings.Cut(text, "="); ok {
		text = value
	}
	text = strings.TrimPrefix(text, "@")
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \n") {
		return
	}
	w.text = text
	s.reads(w, false)
}

// reads judges a file that is read, or only named.
func (s *scan) reads(w word, named bool) {
	p, z := s.resolve(w)
	t, ok := secretFile(p, z)
	if !ok {
		return
	}
	f := found{Finding: Finding{Category: SecretAccess, Tier: t, Target: p, Reason: "reads keys, passwords or tokens"}, names: named}
	if named {
		f.Tier, f.Reason = Optional, "looks at where keys, passwords or tokens are kept"
	}
	s.add(f)
}

// secretFile tells whether a path holds a secret by what tools put there.
func secretFile(p string, z zone) (Tier, bool) {
	t := Required
	if z == inside || z == whole || z == unknown || z == temp {
		t = Recommended
	}
	base := strings.TrimRight(path.Base(p), "*?")
	lower := strings.ToLower(base)
	if strings.HasSuffix(lower, ".pub") || strings.HasSuffix(lower, ".md") {
		return "", false
	}
	if isEnvFile(lower) {
		return t, true
	}
	if hasAny(p, "/testdata/", "/fixtures/", "/examples/", "/node_modules/", "/site-packages/", "/usr/share/", "/etc/ssl/certs/") {
		return "", false
	}
	if keptSecret(p, base) {
		return t, true
	}
	switch lower {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".pypirc", ".htpasswd", ".vault-token",
		"credentials.json", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "terraform.tfstate", "master.key", ".dockercfg", "wallet.dat", ".bash_history", ".zsh_history",
		".psql_history", ".mysql_history", "token.json", ".envrc", "application_default_credentials.json", "auth.json", ".credentials.json", "kubeconfig":
		return t, true
	case ".npmrc", ".yarnrc.yml", ".s3cfg", ".boto":
		return t, z == home
	}
	switch ext := path.Ext(lower); ext {
	case ".pem", ".key":
		if hasAny(lower, "cert", "public", "chain", "bundle", "ca.pem", "cacert") {
			return "", false
		}
		return t, len(lower) > len(ext)
	case ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk":
		return t, true
	case ".json":
		return t, hasAny(lower, "service-account", "service_account", "serviceaccount", "client_secret", "gcp-key")
	}
	return "", false
}

// isEnvFile tells files of settings that hold passwords, from their templates.
func isEnvFile(base string) bool {
	if strings.HasSuffix(base, ".env") && base != ".env" {
		return !oneOf(base, "example.env", "sample.env", "template.env", "test.env")
	}
	rest, ok := strings.CutPrefix(base, ".env")
	if !ok || rest != "" && rest[0] != '.' {
		return false
	}
	for part := range strings.SplitSeq(rest, ".") {
		if oneOf(part, "example", "sample", "template", "dist", "defaults", "schema", "tpl", "test", "ci", "d", "vault") {
			return false
		}
	}
	return true
}

// keptSecret tells folders and files in which programs keep secrets.
func keptSecret(p, base string) bool {
	if oneOf(p, "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/master.passwd", "/etc/krb5.keytab") || strings.HasPrefix(p, "/etc/sudoers.d/") ||
		strings.HasPrefix(p, "/etc/ssh/ssh_host_") || strings.HasPrefix(p, "/run/secrets") || strings.HasPrefix(p, "/var/run/secrets") ||
		strings.HasPrefix(p, "/proc/") && base == "environ" {
		return true
	}
	q := p + "/"
	if strings.Contains(q, "/.ssh/") {
		return !oneOf(base, "known_hosts", "config", "authorized_keys", "known_hosts.old")
	}
	return hasAny(q, "/.aws/", "/.gnupg/", "/.kube/", "/.config/gcloud/", "/.azure/", "/.password-store/", "/keyrings/", "/Keychains/", "/.config/gh/", "/.oci/", "/.config/op/") ||
		strings.HasSuffix(p, "/.docker/config.json") || strings.HasSuffix(p, "/.codex/auth.json")
}

// commits judges secrets that are put under version control.
func (s *scan) commits(args []word) {
	verb, rest := gitVerb(args)
	switch {
	case oneOf(verb, "add", "stage"):
		for _, w := range split(rest, "", false).rest {
			s.reads(w, false)
		}
	case verb == "credential" && len(rest) > 0 && rest[0].text == "fill":
		s.risk(SecretAccess, Required, "git credential", "prints a password")
	}
}

// stores judges the programs that hand out secrets.
func (s *scan) stores(args []word) {
	l := split(args, "--context -n --namespace -o --profile --region", false)
	first, second := l.arg(0), l.arg(1)
	hands := false
	switch s.cmd {
	case "gh", "glab":
		hands = first == "auth" && second == "token" || first == "auth" && l.has("--show-token")
	case "aws":
		hands = first == "configure" && oneOf(second, "get", "export-credentials") || oneOf(second, "get-secret-value", "get-session-token", "assume-role", "get-login-password", "create-access-key") || l.has("--with-decryption")
	case "gcloud":
		hands = hasAny(joined(l.rest), "print-access-token", "print-identity-token", "secrets versions access")
	case "az":
		hands = hasAny(joined(l.rest), "get-access-token", "keyvault secret show")
	case "vault", "bao":
		hands = oneOf(first, "read", "kv", "token", "login") && second != "list"
	case "kubectl", "oc":
		hands = oneOf(first, "get", "describe") && hasAny(second, "secret") || first == "config" && l.has("--raw")
	case "op", "bw", "lpass", "keyring", "chamber", "doppler", "infisical", "secret-tool":
		hands = oneOf(first, "read", "get", "item", "show", "lookup", "run", "export", "secrets", "exec", "search")
	case "pass", "gopass":
		hands = first != "" && !oneOf(first, "ls", "init", "git", "insert")
	case "security":
		hands = strings.HasPrefix(first, "find-") || first == "dump-keychain"
	case "gpg", "gpg2":
		hands = l.has("--export-secret-keys", "--export-secret-subkeys")
	case "heroku":
		hands = strings.HasPrefix(first, "config")
	case "printenv":
		if len(args) > 0 {
			for _, w := range args {
				if isSecretName(w.text) {
					s.risk(SecretAccess, Recommended, w.text, "prints a variable that holds a secret by its name")
				}
			}
			return
		}
		s.risk(SecretAccess, Recommended, "", "prints every variable, passwords and tokens among them")
	case "set":
		if len(args) == 0 {
			s.risk(SecretAccess, Recommended, "", "prints every variable, passwords and tokens among them")
		}
	}
	if hands {
		s.risk(SecretAccess, Required, s.cmd+" "+joined(l.rest), "asks a store of secrets for one")
	}
}

// variables books variables that hold a secret by their names.
func (s *scan) variables(v invocation) {
	if oneOf(s.cmd, "test", "[", "[[", ":", "unset", "true") {
		return
	}
	for _, w := range v.words[1:] {
		for _, n := range w.vars {
			if isSecretName(n) {
				s.risk(SecretAccess, Recommended, "$"+n, "uses a variable that holds a secret by its name")
			}
		}
	}
}

func isSecretName(n string) bool {
	u := strings.ToUpper(n)
	if hasAny(u, "PASSWORD", "PASSWD", "SECRET", "PRIVATE_KEY", "API_KEY", "APIKEY", "ACCESS_KEY", "CREDENTIAL") {
		return true
	}
	return strings.HasSuffix(u, "_TOKEN") || u == "TOKEN" || strings.HasSuffix(u, "_PAT")
}
