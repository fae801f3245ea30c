package shell

import (
	"path"
	"slices"
	"strings"
)

// judgeMention judges a word of a program that may read any file it is given: FILE, @FILE,
// name=FILE, name=@FILE, --option=FILE.
func (s *scan) judgeMention(w word) {
	if strings.Contains(w.text, "://") {
		return
	}
	if _, value, ok := strings.Cut(w.text, "="); ok {
		w.text = value
	}

	w.text = strings.TrimPrefix(w.text, "@")
	if w.text != "" && !strings.HasPrefix(w.text, "-") && !strings.ContainsAny(w.text, " \n") {
		s.judgeRead(w, false)
	}
}

// judgeRead judges a file that is read, or only named.
func (s *scan) judgeRead(w word, named bool) {
	p, z := s.resolve(w)
	if !isSecretFile(p, z) {
		return
	}

	class := "secret!"
	reason := "reads keys, passwords or tokens"
	switch {
	case named:
		class = "secret-"
		reason = "looks at where keys, passwords or tokens are kept"
	case !z.isForeign() && z != null:
		class = "secret+"
	}
	s.add(found{Finding: newFinding(class, p, reason), names: named})
}

// Files in which tools store secrets: whole names, endings, and path parts between slashes.
const (
	secretNames = "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .netrc _netrc " +
		".pgpass .my.cnf " +
		".git-credentials .pypirc " +
		".htpasswd .vault-token credentials.json secrets.yml secrets.yaml secrets.json " +
		"secrets.toml terraform.tfstate " +
		"master.key " +
		".dockercfg wallet.dat .bash_history .zsh_history .psql_history .mysql_history " +
		"token.json .envrc " +
		"application_default_credentials.json auth.json .credentials.json kubeconfig " +
		"*.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *service-account*.json *service_account*.json " +
		"*serviceaccount*.json " +
		"*client_secret*.json *gcp-key*.json"
	homeSecrets   = ".npmrc .yarnrc.yml .s3cfg .boto"
	publicKeys    = "*cert* *public* *chain* *bundle* *ca.pem* *cacert*"
	secretFolders = "*/.aws/* */.gnupg/* */.kube/* */.config/gcloud/* */.azure/* " +
		"*/.password-store/* */keyrings/* " +
		"*/Keychains/* " +
		"*/.config/gh/* */.oci/* */.config/op/* */.docker/config.json/ */.codex/auth.json/ " +
		"/etc/shadow/ /etc/gshadow/ " +
		"/etc/sudoers/ " +
		"/etc/master.passwd/ /etc/krb5.keytab/ /etc/sudoers.d/?* /etc/ssh/ssh_host_* " +
		"/run/secrets* /var/run/secrets* " +
		"/proc/*/environ/"
	sampleFolders = "*/testdata/* */fixtures/* */examples/* */node_modules/* */site-packages/* " +
		"*/usr/share/* " +
		"*/etc/ssl/certs/*"
)

// isSecretFile tells whether a path holds a secret by what tools put there.
func isSecretFile(p string, z zone) bool {
	base := strings.TrimRight(path.Base(p), "*?")
	lower := strings.ToLower(base)

	switch {
	case strings.HasSuffix(lower, ".pub") || strings.HasSuffix(lower, ".md"):
		return false
	case isEnvFile(lower):
		return true
	case inList(p, sampleFolders):
		return false
	case inList(p+"/", secretFolders):
		return true
	case strings.Contains(p+"/", "/.ssh/") &&
		!oneOf(base, "known_hosts", "config", "authorized_keys", "known_hosts.old"):
		return true
	case strings.HasSuffix(lower, ".pem") || strings.HasSuffix(lower, ".key"):
		return len(lower) > len(".pem") && !inList(lower, publicKeys)
	}
	return inList(lower, secretNames) || z == home && inList(lower, homeSecrets)
}

// isEnvFile tells files of settings that hold passwords, from their templates.
func isEnvFile(base string) bool {
	if strings.HasSuffix(base, ".env") && base != ".env" {
		return !oneOf(base, "example.env", "sample.env", "template.env", "test.env")
	}

	rest, ok := strings.CutPrefix(base, ".env")
	return ok && (rest == "" || rest[0] == '.') &&
		!slices.ContainsFunc(strings.Split(rest, "."), func(part string) bool {
			return inList(part, "example sample template dist defaults schema tpl test ci d vault")
		})
}

// judgeVariables books variables that hold a secret by their names.
func (s *scan) judgeVariables(args []word) {
	if oneOf(s.cmd, "test", "[", "[[", ":", "unset", "true") {
		return
	}
	for _, w := range args {
		for _, n := range w.vars {
			if isSecretName(n) {
				s.addRisk("secret+", "$"+n, "uses a variable that holds a secret by its name")
			}
		}
	}
}

func isSecretName(n string) bool {
	return inList(
		strings.ToUpper(n),
		"*PASSWORD* *PASSWD* *SECRET* *PRIVATE_KEY* *API_KEY* *APIKEY* *ACCESS_KEY* "+
			"*CREDENTIAL* "+
			"*_TOKEN TOKEN *_PAT",
	)
}
