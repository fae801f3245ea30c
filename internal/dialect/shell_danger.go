package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// danger says what would read an argument as a program: anywhere in the script, or in the command that it stands in.
func (w *shellWriter) danger() string {
	text := w.script.Source
	if w.used > 0 {
		text = "" // it was looked through at the first argument
	}
	for _, sign := range []string{"((", "[[", "$[", "<(", ">(", "[ -v", "test -v", "printf -v"} {
		if strings.Contains(text, sign) {
			return fmt.Sprintf("an argument could be computed by %s", sign)
		}
	}
	if sign := computes(text); sign != "" {
		return fmt.Sprintf("an argument could be computed by %s", sign)
	}
	if word := firstOf(text, anywhere()); word != "" {
		return fmt.Sprintf("an argument could reach %s, which would read it as a program", word)
	}
	if name := w.assigned(); name != "" {
		return fmt.Sprintf("an argument would be the value of %s, which names programs", name)
	}
	if w.beforeVerb() {
		return "an argument could be an option of git's own, which can name programs"
	}
	if word := firstOf(string(w.command), here()); word != "" {
		return fmt.Sprintf("an argument would be part of a program for %s", word)
	}
	if w.first() {
		return "an argument would be the name of the program"
	}
	return ""
}

// first tells whether the present place is that of a command's name: nothing but keywords and assignments stands before it.
func (w *shellWriter) first() bool {
	if len(w.command) > maxScript {
		return true // nobody writes such a command; it is not looked through again and again
	}
	rest := strings.TrimLeft(string(w.command), " \t")
	whole := rest == "" || strings.HasSuffix(rest, " ") || strings.HasSuffix(rest, "\t")
	for rest != "" {
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		rest = strings.TrimLeft(rest[end:], " \t")
		name, _, assigns := strings.Cut(word, "=")
		switch assigns = assigns && strings.Trim(name, nameBytes) == ""; {
		case slices.Contains([]string{"if", "then", "else", "elif", "while", "until", "do", "!", "{", "(", "\"", "'"}, word):
		case assigns && (whole || rest != ""):
		default:
			return false // in the value of an assignment, or behind the name
		}
	}
	return true
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// anywhere lists what reads programs from its input, its words or its variables.
func anywhere() []string {
	return []string{
		"eval", "sh", "bash", "dash", "ksh", "zsh", "fish", "csh", "tcsh", "ash", "busybox", "ssh", "su", "xargs", "parallel", "watch", "source", "python", "perl",
		"ruby", "node", "deno", "bun", "php", "lua", "tclsh", "osascript", "pwsh", "powershell", "trap", "let", "declare", "typeset", "unset", "read", "mapfile",
		"psql", "sqlite", "mysql", "gdb", "vim", "vi", "ex", "ed", "emacs", "tmux", "screen", "at", "batch", "crontab", "socat", "expect", "entr", "alias",
		"PS4", "PROMPT_COMMAND", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "systemd-run", "start-stop-daemon",
	}
}

// here lists what has a language of its own in its words, or takes them for a command.
func here() []string {
	return []string{
		"awk", "gawk", "mawk", "nawk", "sed", "gsed", "find", "docker", "podman", "kubectl", "npm", "npx", "pnpm", "yarn", "bc", "dc", "m4", "make", "gmake", "sudo",
		"doas", "time", "env", "exec", "command", "builtin", "nohup", "setsid", "stdbuf", "timeout", "nice", "ionice", "chroot", "strace", "ltrace", "unshare",
		"nsenter", "flock", ".",
	}
}

// firstOf gives the first word of a script that is in the list, by the last part of its path and without a version.
func firstOf(script string, list []string) string {
	words := strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(" \t\n|;&()<>\"'`{}$=!", r) })
	for _, w := range words {
		base := w[strings.LastIndexByte(w, '/')+1:]
		if base = strings.TrimLeft(base, "\\"); slices.Contains(list, base) || base != "." && slices.Contains(list, strings.TrimRight(base, ".0123456789")) {
			return w
		}
	}
	return ""
}

// computes gives a sign of what a shell computes or expands once more: ${x[i]}, ${x:i}, ${!x}, ${x@P} and x[i]=.
func computes(text string) string {
	for at := 0; ; {
		i := strings.Index(text[at:], "${")
		if i < 0 {
			break
		}
		at += i + len("${")
		inside := strings.TrimPrefix(text[at:], "#")
		name := inside[:len(inside)-len(strings.TrimLeft(inside, nameBytes))]
		rest := inside[len(name):]
		switch {
		case strings.HasPrefix(rest, "!"):
			return "${!"
		case strings.HasPrefix(rest, "[") && !strings.HasPrefix(rest, "[@]") && !strings.HasPrefix(rest, "[*]") && !isNumber(rest[1:], "]"):
			return "${...["
		case len(rest) > 1 && rest[0] == ':' && strings.IndexByte("-=+?", rest[1]) < 0 && !isNumber(rest[1:], "}"):
			return "${...:"
		case strings.Contains(rest[:min(len(rest), 8)], "@P"):
			return "${...@P}"
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|(`{!", r) }) {
		name, rest, ok := strings.Cut(word, "[")
		if ok && name != "" && strings.Trim(name, nameBytes) == "" && strings.Contains(rest, "]=") {
			return name + "["
		}
	}
	return ""
}

// isNumber tells whether nothing but numbers stands before the sign that ends an index or a part of a text, as in ${x:0:7}.
func isNumber(text, end string) bool {
	inside, _, ok := strings.Cut(text, end)
	return ok && strings.Trim(inside, "0123456789: -") == ""
}

// assigned gives the variable that the present word is assigned to, if that is one by which programs are found or started.
func (w *shellWriter) assigned() string {
	name, _, ok := strings.Cut(string(w.command[w.word:]), "=")
	name = strings.TrimSuffix(name, "+")
	if !ok || name == "" || strings.Trim(name, nameBytes) != "" {
		return ""
	}
	if slices.Contains([]string{"PATH", "ENV", "SHELL", "BROWSER", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "PYTHONSTARTUP", "LESSOPEN", "LESSCLOSE", "IFS"}, name) {
		return name
	}
	for _, end := range []string{"PAGER", "EDITOR", "VISUAL", "ASKPASS", "_COMMAND", "_DIFF", "_SSH", "_EXEC_PATH"} {
		if strings.HasSuffix(name, end) {
			return name
		}
	}
	for _, start := range []string{"LD_", "DYLD_", "GIT_CONFIG"} {
		if strings.HasPrefix(name, start) {
			return name
		}
	}
	return ""
}

// beforeVerb tells whether the present place is one of git's own options: behind its name, and before what it is to do.
func (w *shellWriter) beforeVerb() bool {
	words := strings.Fields(string(w.command))
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "git" && !strings.HasSuffix(words[0], "/git") {
		return false
	}
	for i := 1; i < len(words); i++ {
		switch word := strings.Trim(words[i], `"'`); {
		case slices.Contains([]string{"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"}, word):
			i++
		case word != "" && word[0] != '-':
			return false
		}
	}
	return true
}
