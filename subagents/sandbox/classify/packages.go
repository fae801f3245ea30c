package classify

import "strings"

// packages judges package managers: they fetch code and often run it at once, or publish.
func (s *scan) packages(args []word) bool {
	l := split(args, "-C --prefix --cwd --dir -w --workspace -r --requirement -c -i --index-url --registry --manifest-path", false)
	first := l.arg(0)
	fetch, publish := false, false
	switch s.cmd {
	case "npm", "yarn", "pnpm", "bun":
		fetch = oneOf(first, "install", "i", "ci", "add", "update", "up", "upgrade", "audit", "exec", "dlx", "x", "create", "init", "outdated", "view", "info", "install-test", "import", "search") ||
			s.cmd == "yarn" && first == "" || s.cmd == "yarn" && first == "set"
		publish = oneOf(first, "publish", "unpublish", "login", "adduser", "deprecate", "owner", "access", "token", "dist-tag")
	case "npx", "bunx", "uvx", "pipx":
		fetch = len(l.rest) > 0
	case "pip", "pip2", "pip3", "uv", "poetry", "pdm", "conda", "mamba", "micromamba", "pipenv":
		if s.cmd == "uv" && first == "pip" {
			first = l.arg(1)
		}
		fetch = oneOf(first, "install", "download", "add", "sync", "lock", "update", "upgrade", "create", "wheel", "search") && !l.has("--no-index", "--offline")
		publish = oneOf(first, "publish", "upload")
	case "gem", "bundle", "composer":
		fetch = oneOf(first, "install", "update", "require", "add", "outdated", "fetch")
		publish = oneOf(first, "push", "yank")
	case "cargo":
		fetch = oneOf(first, "install", "fetch", "add", "update", "search", "binstall", "audit") && !l.has("--offline")
		publish = oneOf(first, "publish", "login", "yank", "owner")
	case "go":
		fetch = first == "get" || first == "install" && anyAt(l.rest[1:]) || first == "run" && anyAt(l.rest[min(1, len(l.rest)):]) || first == "mod" && oneOf(l.arg(1), "download", "tidy", "vendor")
	case "apt", "apt-get", "aptitude", "dnf", "yum", "apk", "brew", "pacman", "zypper", "snap", "flatpak", "port", "nix", "nix-env", "emerge", "rustup", "nvm", "pyenv", "sdk":
		s.system(l, first)
		return true
	case "mvn", "gradle", "gradlew", "mvnw", "sbt":
		publish = anyText(l.rest, "deploy", "publish", "release:perform", "uploadArchives")
		fetch = anyText(l.rest, "dependency:resolve", "dependency:go-offline")
	case "dotnet", "nuget":
		fetch = oneOf(first, "restore", "install", "add")
		publish = anyText(l.rest, "push")
	case "twine":
		publish = first == "upload"
	default:
		return false
	}
	target := s.cmd + " " + strings.TrimSpace(joined(l.rest))
	switch {
	case publish:
		s.sendsTo(target, "publishes, or changes who may")
	case fetch:
		s.fetchesFrom(target, "fetches code and may run it at once")
	}
	if l.has("-g", "--global") && fetch {
		s.risk(DestructiveFS, Recommended, target, "installs outside the project")
	}
	return true
}

func anyAt(ws []word) bool {
	for _, w := range ws {
		if strings.Contains(w.text, "@") {
			return true
		}
	}
	return false
}

// system judges package managers of the whole machine.
func (s *scan) system(l line, first string) {
	target := s.cmd + " " + joined(l.rest)
	switch {
	case oneOf(first, "remove", "purge", "autoremove", "uninstall", "erase", "del", "rm"), s.cmd == "pacman" && l.has("-R"):
		s.risk(DestructiveFS, Recommended, target, "removes programs from this machine")
	case oneOf(first, "install", "update", "upgrade", "dist-upgrade", "full-upgrade", "add", "reinstall", "tap", "shell", "run", "build", "toolchain", "refresh"), s.cmd == "pacman" && l.has("-S", "-U"), s.cmd == "nix-env" && l.has("-i"):
		s.fetchesFrom(target, "installs programs on this machine")
	}
}

// clouds judges the programs that work on machines and services elsewhere.
func (s *scan) clouds(args []word) bool {
	l := split(args, "-n --namespace --context --kubeconfig --profile --region --project -R --repo --cluster -f --filename -o --output", false)
	first, second := l.arg(0), l.arg(1)
	switch s.cmd {
	case "kubectl", "oc", "k9s", "helm", "helmfile":
		switch {
		case first == "", oneOf(first, "completion", "template", "lint", "version", "explain"), first == "config" && !l.has("--raw"):
		case oneOf(first, "get", "describe", "logs", "top", "status", "list", "ls", "history", "search", "repo", "pull", "diff", "api-resources", "cluster-info", "show", "auth"):
			s.fetchesFrom(s.cmd+" "+joined(l.rest), "asks a cluster")
		default:
			s.sendsTo(s.cmd+" "+joined(l.rest), "changes a cluster")
		}
	case "terraform", "tofu", "pulumi", "terragrunt", "cdk", "serverless", "sls", "sam":
		switch {
		case oneOf(first, "apply", "destroy", "import", "taint", "untaint", "up", "deploy", "remove", "run-all"), first == "state" && oneOf(second, "rm", "mv", "push"):
			s.sendsTo(s.cmd+" "+joined(l.rest), "changes machines and services elsewhere")
		case oneOf(first, "plan", "init", "refresh", "preview", "diff", "get", "state", "output", "show"):
			s.fetchesFrom(s.cmd+" "+joined(l.rest), "asks machines and services elsewhere")
		}
	case "docker", "podman", "nerdctl", "docker-compose", "buildah", "skopeo":
		verb := first
		if oneOf(first, "compose", "buildx", "image", "container") {
			verb = second
		}
		switch {
		case oneOf(verb, "push", "login"):
			s.sendsTo(s.cmd+" "+joined(l.rest), "publishes images")
		case oneOf(verb, "pull", "run", "build", "up", "create", "copy", "search", "bake"):
			s.fetchesFrom(s.cmd+" "+joined(l.rest), "may fetch images and runs what is in them")
		}
	case "aws", "gcloud", "az", "doctl", "heroku", "fly", "flyctl", "vercel", "netlify", "wrangler", "firebase", "supabase", "gh", "glab", "gsutil", "bq", "eksctl", "railway", "linode-cli", "hcloud", "ibmcloud", "oci", "mc":
		s.service(l)
	default:
		return false
	}
	return true
}

// service judges the command line of a service by its verbs: those that only look are told by their names.
func (s *scan) service(l line) {
	if len(l.rest) == 0 || oneOf(l.arg(0), "help", "completion", "alias") || l.arg(0) == "auth" && l.arg(1) == "token" {
		return
	}
	looks := false
	for _, w := range l.rest[:min(3, len(l.rest))] {
		for _, p := range []string{"get", "list", "describe", "show", "ls", "view", "status", "info", "diff", "checks", "head", "logs", "whoami", "search", "tail", "ps", "clone", "download", "current"} {
			looks = looks || w.text == p || strings.HasPrefix(w.text, p+"-") || strings.HasSuffix(w.text, ":"+p)
		}
	}
	target := s.cmd + " " + joined(l.rest)
	if looks && !l.has("-X", "--method") {
		s.fetchesFrom(target, "asks a service elsewhere")
		return
	}
	s.sendsTo(target, "changes something at a service elsewhere")
}
