package dialect_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/dialect"
	"tercet/internal/testkit"
)

// naughty are texts that a shell, a format or a careless program takes for something else. CANARY
// stands for a file that must never come to be.
func naughty() []string {
	meta := []string{
		"; touch CANARY",
		"&& touch CANARY",
		"|| touch CANARY",
		"| touch CANARY",
		"& touch CANARY",
		"$(touch CANARY)",
		"`touch CANARY`",
		"\n touch CANARY\n",
		"'; touch CANARY; '",
		"\"; touch CANARY; \"",
		"') ; touch CANARY #",
		"\"$(touch CANARY)\"",
		"'$(touch CANARY)'",
		"\\'; touch CANARY; \\'",
		"\\\"; touch CANARY #",
		"${IFS}touch${IFS}CANARY",
		"$((a[$(touch CANARY)]))",
		"a[$(touch CANARY)]",
		"x=$(touch CANARY)",
		"> CANARY",
		">> CANARY",
		"< CANARY",
		"2> CANARY",
		"<(touch CANARY)",
		"!touch CANARY",
		"{touch,CANARY}",
		"$'\\x24(touch CANARY)'",
		"\\$(touch CANARY)",
		"\\`touch CANARY\\`",
		"EOF\ntouch CANARY\n",
		"#\ntouch CANARY",
		"\r\ntouch CANARY",
		"${TERCET_ARG_1}",
		"$TERCET_ARG_2",
		"$1 $2 $@ $*",
		"$ARGUMENTS",
		"{{args}}",
		"!`touch CANARY`",
		"@CANARY",
		"!{touch CANARY}",
		"${x:=$(touch CANARY)}",
		"${x:-`touch CANARY`}",
		"~",
		"~root",
		"*",
		"?",
		"[a-z]*",
		"{a,b}",
		"-rf",
		"--help",
		"--",
		"-",
		"-e x",
		"%s%n%x",
		"\\",
		"\\\\",
		"'",
		"\"",
		"''",
		"\"\"",
		"'\"'\"'",
		"`",
		"``",
		"$",
		"$$",
		"${",
		"}",
		"(",
		")",
		"((",
		"))",
		"a b  c   d",
		" lead",
		"trail ",
		"\t",
		"tab\there",
		"ünïcödé",
		"日本語",
		"\u202eabc",
		"\u200b",
		"\ufeff",
		"emoji \U0001F600",
		"\x1b]52;c;x\x07",
		"\x1b[2J",
		"\x7f",
		"\x01\x02",
		"../../etc/passwd",
		"/etc/passwd",
		"file:///etc/passwd",
		"<script>alert(1)</script>",
		"Robert'); DROP TABLE x;--",
		"null",
		"undefined",
		"true",
		"0",
		"-1",
		"1e309",
		"NaN",
		"line\nline",
		"line\\nline",
		strings.Repeat("a", 5000),
		strings.Repeat("'", 100),
		strings.Repeat("\"", 101),
		strings.Repeat("$(", 50),
		"a=b",
		"PATH=x",
		"IFS=x",
		"LD_PRELOAD=./x.so",
	}
	var out []string
	// alone, inside of a text, behind a quote, an option, a line, and twice
	for _, m := range meta {
		out = append(out, m, "x"+m+"y", "'"+m, "\""+m, "--opt="+m, "a\n"+m, m+" "+m)
	}
	return out
}

// TestArgumentsNeverRun runs scripts with each naughty text as the arguments, in every place of a
// script that arguments are let into: no canary comes to be, and the shell hands the text on byte
// for byte.
func TestArgumentsNeverRun(t *testing.T) {
	t.Parallel()
	if n := len(naughty()); n < 715 {
		t.Fatalf("%d texts, want at least 715", n)
	}
	shells := []string{"sh"}
	if _, err := exec.LookPath("bash"); err == nil {
		shells = append(shells, "bash")
	}
	echo := filepath.Join(t.TempDir(), "echo1")
	if err := testkit.WriteProgram(echo, "#!/bin/sh\nprintf %s \"$1\"\n"); err != nil {
		t.Fatal(err)
	}
	templates := []struct {
		name, src string
		whole     bool // what is printed is the text itself
	}{
		{"double quotes", "!`printf %s \"$ARGUMENTS\"`", true},
		{"single quotes", "!`" + echo + " '$ARGUMENTS'`", true},
		{"named", "---\narguments: [all]\n---\n!`" + echo + " $all`$ARGUMENTS", true},
		{
			"substitution",
			"!`X=\"$(" + echo +
				" \"$ARGUMENTS\"; echo .)\"; X=\"${X%.}\"; echo \"${X%?}\" | head -c 0; " + echo +
				" \"$ARGUMENTS\"`",
			true,
		},
		{"words", "!`" + echo + " $ARGUMENTS`", false},
		{"middle of a word", "!`" + echo + " pre-\"$ARGUMENTS\"-post`", false},
		{
			"here document",
			"```!\nx=$(cat <<END\n$ARGUMENTS\nEND\n); printf %s \"$x\"\n```",
			true,
		},
		{"odd quote before", "```!\n# don't\n" + echo + " \"$ARGUMENTS\"\n```", false},
		{"pipe", "!`echo \"$ARGUMENTS\" | cat`", false},
		{"redirect", "!`cat < \"$ARGUMENTS\"`", false},
	}
	for _, shell := range shells {
		for i, tt := range templates {
			if shell == "bash" && i%3 != 0 {
				continue // the quotes are the same; what differs is arithmetic, which is refused
			}
			t.Run(shell+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				c := parse(t, dialect.Claude, tt.src)
				every := 1
				if i > 0 || shell == "bash" {
					every = 9 // the other places share the texts among them
				}
				if !testkit.Deep() {
					every *= 5
				}
				for n, text := range naughty() {
					if (n+i)%every != 0 {
						continue
					}
					text = strings.ReplaceAll(text, "CANARY", filepath.Join(dir, "CANARY"))
					out, err := c.Expand(dialect.Args{Raw: text, Words: []string{text}})
					if err != nil {
						t.Fatal(err)
					}
					got := runScripts(t, shell, dir, out)
					if want := strings.TrimSpace(text); tt.whole && got != want && got != text {
						t.Errorf("%s with %q printed %q, want the text", tt.src, text, got)
					}
					if _, err := os.Lstat(filepath.Join(dir, "CANARY")); err == nil {
						t.Fatalf("%s with %q made the canary", tt.src, text)
					}
				}
			})
		}
	}
}

// attack is a mark with an argument that makes the canary if a program takes it for more than a
// value.
type attack struct {
	mark, raw string
	sure      bool // where the program is there, the script makes the canary if nobody refuses it
}

// attacks are options, names and texts that programs take for something to start or to write.
func attacks() []attack {
	return []attack{
		// options
		{
			"tar cf /dev/null $ARGUMENTS",
			`--checkpoint=1 "--checkpoint-action=exec=touch CANARY" f`,
			true,
		},
		{
			"tar cf /dev/null -C . $1 $2 f",
			`--checkpoint=1 "--checkpoint-action=exec=touch CANARY"`,
			true,
		},
		{
			"tar cf /dev/null \"$1\" \"$2\" f",
			`--checkpoint=1 "--checkpoint-action=exec=touch CANARY"`,
			true,
		},
		{"tar cf x.tar $ARGUMENTS", `"-Itouch CANARY" f`, true},
		{"tar -cf x.tar -I \"$1\" f", `"touch CANARY"`, true},
		{"tar cIf \"$1\" x.tar f", `"touch CANARY"`, true},
		{"tar -c --use-compress-program=\"$1\" -f x.tar f", `"touch CANARY"`, true},
		{"tar -cf \"$1\" f", `host:CANARY`, false},
		{"tar -cf x.tar -T \"$1\"", `list`, false},
		{"git log $1", "--output=CANARY", true},
		{"git log --oneline \"$ARGUMENTS\"", "--output=CANARY", true},
		{"git diff $ARGUMENTS", "--output=CANARY HEAD", true},
		{"git show --output=$1", "CANARY", true},
		{"git grep $ARGUMENTS", `"-Otouch CANARY" hello`, true},
		{"git grep -O\"$1\" hello", `"touch CANARY"`, true},
		{"git $ARGUMENTS", `-c "alias.x=!touch CANARY" x`, true},
		{"git -c \"$1\" x", `"alias.x=!touch CANARY"`, true},
		{"git --exec-path=$1 status", "./evil", false},
		{"git ls-remote $ARGUMENTS", `"--upload-pack=touch CANARY" .`, true},
		{"git fetch --upload-pack \"$1\" .", `"touch CANARY"`, true},
		{"git clone -q \"$1\" x", `"ext::touch CANARY"`, false},
		{"git archive $ARGUMENTS", "--output=CANARY HEAD", true},
		{"git bisect run $1", "./evil.sh", false},
		{"git config alias.x \"$1\"; git x", `"!touch CANARY"`, true},
		{"git -C \"$1\" status", "evil", true},
		{"git submodule foreach \"$1\"", `"touch CANARY"`, false},
		{"git rebase -x \"$1\" HEAD~1", `"touch CANARY"`, true},
		{"git merge -s $1 HEAD", "../evil", false},
		{"git difftool -y -x \"$1\" HEAD~1", `"touch CANARY;"`, true},
		{"rg $ARGUMENTS", "--pre ./evil.sh hello", true},
		{"rg --pre \"$1\" hello", "./evil.sh", true},
		{"go test $ARGUMENTS", "-exec ./evil.sh ./...", false},
		{"go vet $ARGUMENTS", "-vettool=./evil.sh ./...", false},
		{"go build -toolexec \"$1\" ./...", "./evil.sh", false},
		{"go build -ldflags \"$1\" ./...", "-extld=./evil.sh", false},
		{"go run $1", "./evil.go", false},
		{"go test $1", "/tmp/evil_test.go", false},
		{"sort $ARGUMENTS", "-o CANARY f", true},
		{"sort $ARGUMENTS", "-oCANARY f", true},
		{"sort \"$1\" f", "--output=CANARY", true},
		{"sort -S 1k --compress-program \"$1\" f", "./evil.sh", false},
		{"split $ARGUMENTS", `"--filter=touch CANARY" f`, true},
		{"curl -s $ARGUMENTS", "-o CANARY file:///etc/hosts", true},
		{"curl -s $1", "file:///etc/hosts", false},
		{"wget $ARGUMENTS", "-O CANARY http://127.0.0.1:1/", true},
		{"zip -q x.zip $ARGUMENTS", `f -T -TT "touch CANARY #"`, true},
		{"ssh $ARGUMENTS", `"-oProxyCommand=touch CANARY" h`, true},
		{"ssh -o \"$1\" h", `"ProxyCommand=touch CANARY"`, true},
		{"ssh host ls $1", `";touch CANARY"`, false},
		{"gcc $ARGUMENTS", "-wrapper ./evil.sh f.c", true},
		{"gcc \"$1\"", "@resp", true},
		{"make -s all $1", `"--eval=$(shell touch CANARY)"`, true},
		{"make -s all X=$1", `"$(shell touch CANARY)"`, true},
		{"make -s all $1", "SHELL=./evil.sh", true},
		{"make $ARGUMENTS", "all 'X=`touch CANARY`'", true},
		{"find . $ARGUMENTS", "-exec touch CANARY ;", true},
		{"find . -name f $ARGUMENTS", "-fprint CANARY", true},
		{"find . $ARGUMENTS", "( -exec touch CANARY ; )", true},
		{"find -- . \"$1\" CANARY", "-fprint", true},
		{"find . -name f -exec $1 CANARY \\;", "touch", true},
		{"find . -name f -exec sh -c \"$1\" \\;", `"touch CANARY"`, true},
		{"sed p $ARGUMENTS", `"--expression=1e touch CANARY" f`, true},
		{"sed -n \"$1\" f", `"1e touch CANARY"`, true},
		{"sed -e p -e \"$1\" f", `"w CANARY"`, true},
		{"awk \"$1\" f", `"BEGIN{system(\"touch CANARY\")}"`, true},
		{"awk '{ system(x) }' $ARGUMENTS", `"x=touch CANARY" f`, true},
		{"awk -v \"x=$1\" '{ system(x) }' f", `"touch CANARY"`, true},
		{"sqlite3 :memory: \"$1\"", `".shell touch CANARY"`, true},
		{"sqlite3 $ARGUMENTS", `-cmd ".shell touch CANARY" :memory: "select 1"`, true},
		{"perl -ne print \"$1\"", `"touch CANARY|"`, true},
		{"perl $ARGUMENTS", `-e "system(q(touch CANARY))"`, true},
		{"python3 $1", "./evil.py", true},
		{"python3 -m timeit -n 1 \"$1\"", `"import os; os.system('touch CANARY')"`, true},
		{"python3 -W ignore $1", "./evil.py", true},
		{"echo \"$1\" | python3", `"import os; os.system('touch CANARY')"`, true},
		{"node $1", "./evil.js", true},
		{"node -r \"$1\" /dev/null", "./evil.js", true},
		{"npm run x -- $1", "`touch CANARY`", false},
		{"npx $1", "./evil.sh", false},
		{"docker run --rm $1", "alpine", false},
		{"ed -s $1", `"!touch CANARY"`, true},
		{"vim -es $ARGUMENTS", `-c "!touch CANARY" -c q`, false},
		// programs
		{"env $ARGUMENTS", "touch CANARY", true},
		{"env \"$1\" bash -c :", "BASH_ENV=./evil.sh", true},
		{"env -S \"$1\"", `"touch CANARY"`, true},
		{"timeout 5 $ARGUMENTS", "touch CANARY", true},
		{"timeout $ARGUMENTS CANARY", "5 touch", true},
		{"nice -n 1 $1 CANARY", "touch", true},
		{"nohup $1 CANARY", "touch", true},
		{"command $1 CANARY", "touch", true},
		{"exec $1 CANARY", "touch", true},
		{"time $1 CANARY", "touch", true},
		{"echo CANARY | xargs $1", "touch", true},
		{"echo \"$1\" | xargs touch", "CANARY", true},
		{"sh $1", "./evil.sh", true},
		{"sh ./*.no $1 || sh $1", "./evil.sh", true},
		{"bash -c \"$1\"", `"touch CANARY"`, true},
		{"bash -c 'eval \"$ARGUMENTS\"'", `"touch CANARY"`, true},
		{"sh -c 'sh \"$0\"' \"$ARGUMENTS\"", "./evil.sh", true},
		{"bash --rcfile $1 -ic :", "./evil.sh", true},
		{". \"$1\"", "./evil.sh", true},
		{"echo \"$1\" | sh", `"touch CANARY"`, true},
		{"echo \"$1\" | cat | bash -s", `"touch CANARY"`, true},
		{"echo \"$1\" | { cat; } | (sh)", `"touch CANARY"`, true},
		{"sh < \"$1\"", "./evil.sh", true},
		{"bash <<< \"$1\"", `"touch CANARY"`, true},
		{"echo \"$1\" | while read -r x; do sh -c \"$x\"; done", `"touch CANARY"`, true},
		{"echo \"$1\" > x.sh; sh x.sh", `"touch CANARY"`, true},
		{"echo \"$1\" | tee x.sh; sh ./x.sh", `"touch CANARY"`, true},
		{"cp \"$1\" x.sh && bash x.sh", "./evil.sh", true},
		{"echo x > $1", "CANARY", true},
		{"cd \"$1\" && ./run.sh", "evil", true},
		{"cd \"$1\" && git status", "evil", true},
		{"trap \"$1\" EXIT", `"touch CANARY"`, true},
		{"eval echo \"$1\"", `"; touch CANARY"`, true},
		// the surroundings
		{
			"TAR_OPTIONS=\"$1\" tar cf /dev/null f",
			`"--checkpoint=1 --checkpoint-action=exec=touch\\ CANARY"`,
			true,
		},
		{"BASH_ENV=\"$1\" bash -c :", "./evil.sh", true},
		{"export BASH_ENV=\"$1\"; bash -c :", "./evil.sh", true},
		{"GIT_EXTERNAL_DIFF=\"$1\" git diff HEAD~1", "./evil.sh", true},
		{"GIT_DIR=\"$1\" git x", "evil/.git", true},
		{"PATH=\"$1\" run.sh", "evil", true},
		{"env GIT_DIR=\"$1\" git x", "evil/.git", true},
		// through variables, outputs and bash's own means
		{"x=\"$ARGUMENTS\"; sort $x", "-o CANARY f", true},
		{"x=\"$1\"; x=\"${x#a}\"; sort \"$x\" f", "a--output=CANARY", true},
		{"sort $(echo \"$1\") f", "--output=CANARY", true},
		{"sort \"$1$2\" f", `"" --output=CANARY`, true},
		{"IFS=,; x=\"$1\"; sort $x f", "f,--output=CANARY", true},
		{"for x in $ARGUMENTS; do sort \"$x\" f; done", "f --output=CANARY", true},
		{"x=a; x=\"$1\"; sort -- f; sort \"$x\" f", "--output=CANARY", true},
		{"echo \"$1\"; sort \"$_\" f", "--output=CANARY", true},
		{"printf $ARGUMENTS", `-v "a[$(touch CANARY)]" x`, true},
		{"[ $ARGUMENTS ]", `-v "a[$(touch CANARY)]"`, true},
		{"test -v \"$1\"", `"a[$(touch CANARY)]"`, true},
		{"[[ $1 -eq 1 ]]", `"a[$(touch CANARY)]"`, true},
		{"x=\"$1\"; echo $((x))", `"a[$(touch CANARY)]"`, true},
		{"x=\"$1\"; y=x; echo $((y))", `"a[$(touch CANARY)]"`, true},
		{"declare -i x; x=\"$1\"", `"a[$(touch CANARY)]"`, true},
		{"unset \"$1\"", `"a[$(touch CANARY)]"`, true},
		{"read \"$1\" <f", `"a[$(touch CANARY)]"`, true},
		{"x=\"$1\"; echo \"${!x}\"", `"a[$(touch CANARY)]"`, true},
		{"f() { sh -c \"$1\"; }; f \"$ARGUMENTS\"", `touch CANARY`, true},
		{"bash -c 'eval \"$1\"' _ \"$ARGUMENTS\"", "touch CANARY", true},
		{"tar -xf x.tar --to-command=\"$1\"", `"touch CANARY"`, false},
		{"env -u X $1 CANARY", "touch", true},
		{"builtin eval \"$1\"", `"touch CANARY"`, true},
		{"e\\val \"$1\"", `"touch CANARY"`, true},
		{"\"ev\"al \"$1\"", `"touch CANARY"`, true},
		{"/bin/sh -c \"$1\"", `"touch CANARY"`, true},
		{"/usr/bin/env $1 CANARY", "touch", true},
		{"A=b $1 CANARY", "touch", true},
		{"if ! $1 CANARY; then :; fi", "touch", true},
		{"(true; { $1 CANARY; })", "touch", true},
		{"echo \"x $($1 CANARY)\"", "touch", true},
		{"while read -r x; do $x; done <<< \"$1\"", `"touch CANARY"`, true},
		{"mapfile -t a <<< \"$1\"; sh -c \"${a[0]}\"", `"touch CANARY"`, true},
		{"a=(f $ARGUMENTS); sort \"${a[@]}\"", "-o CANARY", true},
		{"x=; x+=\"$1\"; sort \"$x\" f", "--output=CANARY", true},
		{"printf -v x %s \"$1\"; sort \"$x\" f", "--output=CANARY", true},
		{"x=$(printf %s \"$1\"); sh -c \"$x\"", `"touch CANARY"`, true},
		{"export x=\"$1\"; sh -c 'eval \"$x\"'", `"touch CANARY"`, true},
		{": \"${x:=$1}\"; sh -c \"$x\"", `"touch CANARY"`, true},
		{"sh -c \"$(cat \"$1\")\"", "./evil.sh", true},
		{". <(echo \"$1\")", `"touch CANARY"`, true},
		{"sed \"s/a/$1/\" f", `"b/;1e touch CANARY"`, true},
		{"xargs sh -c \"$1\" <f", `"touch CANARY"`, true},
		{"setsid -w $1 CANARY", "touch", true},
		{"stdbuf -oL $1 CANARY", "touch", true},
		{"cat \"$1\" > >(sh)", "./evil.sh", true},
		{"cat \"$1\" | tee >(sh)", "./evil.sh", true},
		{"exec <<< \"$1\"; sh", `"touch CANARY"`, true},
		{"echo \"$1\" | sh /dev/fd/0", `"touch CANARY"`, true},
		{"echo \"$1\" | sed -f - f", `"1e touch CANARY"`, true},
		{"echo \"$1\" | awk -f /dev/stdin f", `'BEGIN{system("touch CANARY")}'`, true},
		{
			"printf '%s\\n' $ARGUMENTS | tar cf /dev/null -T -",
			`--checkpoint=1 "--checkpoint-action=exec=touch CANARY" f`,
			true,
		},
		{"echo \"$1\" | go run /dev/stdin", "x", false},
		{"echo \"$1\" | curl -s -K -", "x", false},
		{"sh <<E\n$1\nE", "touch", false},
		{"cat <<E | sh\n$ARGUMENTS\nE", "touch CANARY", false},
		{"python3 - <<E\n$1\nE", "x", false},
		{"set -- $ARGUMENTS; sort \"$@\"", "-o CANARY f", true},
		{"ls f | while read -r y; do sort $1 f; done", "-oCANARY", true},
		{"for i in 1 2; do sh ./x.sh; echo \"$1\" > x.sh; done", `"touch CANARY"`, true},
		{"{sh,-c,$1}", `"touch CANARY"`, true},
		{"bash -c -- \"$1\"", `"touch CANARY"`, true},
		{"sh -c -e \"$1\"", `"touch CANARY"`, true},
		{"bash +e -c \"$1\"", `"touch CANARY"`, true},
		{"env A=\"$1\" sh -c 'sort $A f'", `"-o CANARY"`, true},
		{"env A=\"$1\" bash -c 'echo $((A))'", `"a[$(touch CANARY)]"`, true},
		{"sh -c 'for x; do sort \"$x\" f; done' _ \"$ARGUMENTS\"", "--output=CANARY", true},
		{"echo \"$1\" > x.awk; awk -f x.awk f", `'BEGIN{system("touch CANARY")}'`, true},
		{"echo \"$1\" | tee x.mk; make -s -f x.mk", `"all:;touch CANARY"`, true},
		{"echo \"$1\" > timeit.py; python3 -m timeit -n 1 1", `"open('CANARY', 'w')"`, true},
		{
			"echo \"$1\" > .git/hooks/post-checkout; chmod +x .git/hooks/*; git checkout -q HEAD",
			`"touch CANARY"`,
			true,
		},
	}
}

// hostileFolder makes the files that the attacks name.
func hostileFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	canary := filepath.Join(dir, "CANARY")
	files := map[string]string{
		"f":           "hello\n",
		"f.c":         "int main(void) { return 0; }\n",
		"list":        "--checkpoint=1\n",
		"resp":        "-wrapper\n./evil.sh\n",
		"evil.sh":     "#!/bin/sh\ntouch '" + canary + "'\n",
		"evil.py":     "open('" + canary + "', 'w')\n",
		"evil.js":     "require('fs').writeFileSync('" + canary + "', '')\n",
		"Makefile":    "all:\n\t@echo $(X)\n",
		"evil/run.sh": "#!/bin/sh\ntouch '" + canary + "'\n",
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := testkit.WriteProgram(file, text); err != nil {
			t.Fatal(err)
		}
	}

	setup := "git init -q . && git add f && git -c user.name=x -c user.email=x commit -qm a && " +
		"echo hello again >f && git -c user.name=x -c user.email=x commit -qam b && git init -q " +
		"evil && " +
		"git -C evil config core.fsmonitor '" + dir + "/evil.sh' && git -C evil config alias.x '!" +
		dir + "/evil.sh'"
	if _, err := exec.LookPath("git"); err == nil {
		cmd := exec.Command("sh", "-c", setup)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// TestAttacksAreRefused: each attack is refused. The script that was refused is run all the same,
// to show that it is an attack: if it made no canary, the test would show nothing.
func TestAttacksAreRefused(t *testing.T) {
	t.Parallel()
	shell := "sh"
	if _, err := exec.LookPath("bash"); err == nil {
		shell = "bash"
	}
	dir := hostileFolder(t)
	canary := filepath.Join(dir, "CANARY")
	shown := 0
	ran := 0
	var harmless []string
	for i, a := range attacks() {
		if err := os.RemoveAll(canary); err != nil {
			t.Fatal(err)
		}
		raw := strings.ReplaceAll(a.raw, "CANARY", canary)
		mark := strings.ReplaceAll(a.mark, "CANARY", canary)
		c := parse(t, dialect.Claude, "```!\n"+mark+"\n```\n$ARGUMENTS")
		out, err := c.Expand(dialect.Args{Raw: raw})
		if err != nil {
			t.Fatal(err)
		}
		script := out[0].Script
		if script.Refused == "" {
			t.Errorf("%s with %s is run, want a refusal", a.mark, a.raw)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, shell, "-c", script.Text)
		cmd.Dir = dir
		cmd.Env = append(
			[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null"},
			script.Env...,
		)
		cmd.WaitDelay = time.Second
		run := a.sure && (testkit.Deep() || i%5 == 0)
		if run {
			cmd.Run()
			ran++
		}
		cancel()
		_, err = os.Lstat(canary)
		switch {
		case err == nil:
			shown++
			if script.Refused == "" {
				t.Errorf("%s with %s made the canary", a.mark, a.raw)
			}
		case run:
			harmless = append(harmless, a.mark)
		}
	}

	t.Logf("%d of %d attacks that were run make the canary here; these do not: %q",
		shown, ran, harmless)
	if len(attacks()) < 160 || shown < ran/5 {
		t.Errorf("%d attacks; of %d that were run %d make the canary; "+
			"want at least 160, and a fifth", len(attacks()), ran, shown)
	}
}

// TestHarmlessMarks: a mark is run where no program takes the argument for more than a value.
func TestHarmlessMarks(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{
		"echo \"look at $1\"", "ls . $1", "grep -rn \"$1\" packages/node",
		"gh workflow run d.yml --field env=$1", "which node && echo $1", "bash scripts/x.sh $1",
		"node scripts/x.js $1", "python3 scripts/x.py \"$1\"",
		"git diff main -- $1 | python3 -m json.tool",
		"gh pr view $ARGUMENTS --json number,title -q '.title'",
		"gh pr diff $ARGUMENTS 2>/dev/null || gh pr diff", "git log --oneline -20 $1",
		"git log --author=$1 --since=\"$1\"", "git diff $1...HEAD --stat",
		"git log -S\"$1\" -- src", "git grep -n -e \"$1\" -- src", "git show \"$1\"",
		"find . -name \"*$1*\"", "find src -path $1 -exec grep -n $1 {} +", "cat $1 | head -20",
		"if [ -n \"$1\" ]; then cat \"$1\"; fi", "[ -f \"$1\" ] && wc -l \"$1\"",
		"npm run test -- $1", "npx eslint $1", "make test $1", "go test ./$1",
		"jq --arg x \"$1\" '.[$x]' f.json", "env A=b timeout 5 grep $1 f", "sudo -n ls $1",
		"x=$1; git log --oneline -- \"$x\"", "docker exec -it web ls $1",
		"for f in $ARGUMENTS; do head -5 \"$f\"; done", "case \"$1\" in a) echo b;; esac",
		"awk '{print $2}' \"$ARGUMENTS\"", "sed -n 's/a/b/p' \"$ARGUMENTS\"",
		"sort -u $1 | uniq -c", "ls $1 > /dev/null 2>&1",
	} {
		for _, raw := range []string{"abc", "", "17"} {
			out, err := parse(t, dialect.Claude, "!`"+mark+"`\n$ARGUMENTS").Expand(dialect.Args{
				Raw: raw,
			})
			if err != nil {
				t.Fatal(err)
			}
			if reason := out[0].Script.Refused; reason != "" {
				t.Errorf("%s with %q is refused: %s", mark, raw, reason)
			}
		}
	}

	for _, mark := range []string{
		"sh -c \"echo $1\"", "head -n$1 f", "git log -$1", "tar -I $1 f", "eval \"echo $1\"",
		"echo \"$1\" | sh", "timeout $1 ls", "awk \"NR==$1\" f", "sed -n \"${1}p; $1p\" f",
		"[[ $1 -gt 3 ]]", "x=$1; echo $((x+1))",
	} {
		for raw, want := range map[string]bool{"17": true, "012345678901234567": true} {
			out, err := parse(t, dialect.Claude, "!`"+mark+"`\n$ARGUMENTS").Expand(dialect.Args{
				Raw: raw,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := out[0].Script.Refused == ""; got != want {
				t.Errorf("%s with %s is run: %v (%s), want %v",
					mark, raw, got, out[0].Script.Refused, want)
			}
		}
	}

	for _, mark := range []string{
		"$1 x", "sh $1", "env $1", "eval \"$1\"", "sh -c \"$1\"", "timeout 5 $1", "npx $1",
	} {
		out, err := parse(t, dialect.Claude, "!`"+mark+"`\n$ARGUMENTS").Expand(dialect.Args{
			Raw: "17",
		})
		if err != nil {
			t.Fatal(err)
		}
		if out[0].Script.Refused == "" {
			t.Errorf("%s runs 17 as a program, want a refusal", mark)
		}
	}
}

// TestOwnFolders: the path of a skill is a program or a script, whatever bytes it has, and never
// code.
func TestOwnFolders(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{
		"/p/plain", "/p/my project", "/p/c++", "/p/jürgen", "/p/a@b", "/p/$(touch x)", "/p/it's",
	} {
		for mark, want := range map[string]bool{
			"\"${CLAUDE_SKILL_DIR}/scripts/x.sh\"":                   true,
			"bash ${CLAUDE_SKILL_DIR}/scripts/x.sh":                  true,
			"\"${CLAUDE_SKILL_DIR}/scripts/x.sh\" \"$ARGUMENTS\"":    true,
			"cat ${CLAUDE_SKILL_DIR}/a":                              true,
			"node \"${CLAUDE_SKILL_DIR}/x.mjs\" show \"$ARGUMENTS\"": true,
			"python3 ${CLAUDE_SKILL_DIR}/x.py $1":                    true,
			"bash -c \". ${CLAUDE_SKILL_DIR}/lib.sh; run\"":          false,
			"python3 -c \"open('${CLAUDE_SKILL_DIR}/x')\"":           false,
			"awk \"/${CLAUDE_SKILL_DIR}/\" f":                        false,
		} {
			c := parse(t, dialect.Claude, "!`"+mark+"`\n$ARGUMENTS")
			out, err := c.Expand(dialect.Args{
				Raw:  "abc",
				Vars: map[string]string{"CLAUDE_SKILL_DIR": dir},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := out[0].Script.Refused == ""; got != want {
				t.Errorf("%s in %s is run: %v (%s), want %v",
					mark, dir, got, out[0].Script.Refused, want)
			}
		}
	}
}

// runScripts runs the scripts of an expansion as the program does: the text in a file, the values
// in the environment.
func runScripts(t *testing.T, shell, dir string, list []dialect.Output) string {
	t.Helper()
	var b strings.Builder
	for _, o := range list {
		if o.Script == nil {
			continue
		}
		if o.Script.Refused != "" {
			t.Fatalf("%s is refused: %s", o.Script.Source, o.Script.Refused)
		}
		file := filepath.Join(dir, "script")
		if err := os.WriteFile(file, []byte(o.Script.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(shell, file)
		cmd.Dir = dir
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, o.Script.Env...)
		out, _ := cmd.Output() // a script may fail; what matters is what it did
		b.Write(out)
	}
	return b.String()
}

// TestArgumentsAreNotInScripts: whatever the text is, the script that is made does not depend on
// it.
func TestArgumentsAreNotInScripts(t *testing.T) {
	t.Parallel()
	c := parse(t, dialect.Claude, "!`git log \"$ARGUMENTS\" '$ARGUMENTS' $1 \"$1\" $(cat $1) `")
	want := ""
	for _, text := range naughty() {
		out, err := c.Expand(dialect.Args{Raw: text, Words: []string{strings.TrimSpace(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = out[0].Script.Text
		}
		if strings.TrimSpace(text) != "" && out[0].Script.Text != want {
			t.Errorf("script with %q = %q, want %q", text, out[0].Script.Text, want)
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	const fromText = "an argument could become the name of the program, which the script takes " +
		"from a variable or from an output"
	tests := []struct{ src, raw, want string }{
		{"!`git log $ARGUMENTS`$ARGUMENTS", "", "!(git log )"},
		{
			"!`git log \"$ARGUMENTS\"`$ARGUMENTS",
			"",
			"!(git log \"${TERCET_ARG_1}\")[TERCET_ARG_1=]",
		},
		{"!`ls | awk '{print $1}'`$ARGUMENTS", "a", "!(ls | awk '{print $1}')a"},
		{
			"!`git log $1 | awk '{print $2}'`$ARGUMENTS",
			"a b",
			"!(git log \"${TERCET_ARG_1}\" | awk '{print $2}')[TERCET_ARG_1=a]a b",
		},
		{
			"!`awk \"/$1/\" x`$ARGUMENTS",
			"a",
			"!refused(an argument would be part of a program for awk)a",
		},
		{
			"!`sh -c \"echo $1\"`$ARGUMENTS",
			"a",
			"!refused(an argument would be part of a program for sh)a",
		},
		{
			"!`echo $1 | /bin/bash`$ARGUMENTS",
			"a",
			"!refused(an argument could reach /bin/bash, which would read it as a program)a",
		},
		{
			"!`echo $1 | python3.12`$ARGUMENTS",
			"a",
			"!refused(an argument could reach python3.12, which would read it as a program)a",
		},
		{
			"!`eval $ARGUMENTS`",
			"a",
			"!refused(an argument could reach eval, which would read it as a program)",
		},
		{"!`$ARGUMENTS`", "ls", "!refused(an argument would be the name of the program)"},
		{
			"!`true && $1 x`$ARGUMENTS",
			"ls",
			"!refused(an argument would be the name of the program)ls",
		},
		{
			"!`if true; then $1; fi`$ARGUMENTS",
			"ls",
			"!refused(an argument would be the name of the program)ls",
		},
		{"!`A=1 $1`$ARGUMENTS", "ls", "!refused(an argument would be the name of the program)ls"},
		{"!`A=$1 ls`$ARGUMENTS", "x", "!(A=\"${TERCET_ARG_1}\" ls)[TERCET_ARG_1=x]x"},
		{
			"!`timeout 5 $1`$ARGUMENTS",
			"ls",
			"!refused(an argument would be the name of the program)ls",
		},
		{"!`echo $(($1+1))`$ARGUMENTS", "1", "!(echo $((${TERCET_ARG_1}+1)))[TERCET_ARG_1=1]1"},
		{"!`[[ $1 -eq 1 ]]`$ARGUMENTS", "1", "!([[ \"${TERCET_ARG_1}\" -eq 1 ]])[TERCET_ARG_1=1]1"},
		{"!`git log -1 # $1`$ARGUMENTS", "x", "!(git log -1 # )x"},
		{"!`echo \\$1`$ARGUMENTS", "x", "!(echo \\$1)x"},
		{
			"---\nshell: powershell\n---\n!`Get-Item .`$ARGUMENTS",
			"",
			"!refused(it is written for powershell)",
		},
		{"!`date`$ARGUMENTS", "x", "!(date)x"},
		{"!`bash build.sh`$ARGUMENTS", "x", "!(bash build.sh)x"},
		// the name of a program out of a variable or an output
		{
			"!`for i in $ARGUMENTS; do $i; done`",
			"ls",
			"!refused(an argument would be the name of the program)",
		},
		{
			"!`set -- $ARGUMENTS; \"$@\"`",
			"ls",
			"!refused(an argument would be a name given to set)",
		},
		{"!`x=$ARGUMENTS; $x`", "ls", "!refused(an argument would be the name of the program)"},
		{"!`$(echo $ARGUMENTS)`", "ls", "!refused(an argument would be the name of the program)"},
		{"!`case x in x) $Y;; esac; echo $ARGUMENTS`", "ls", "!refused(" + fromText + ")"},
		{"!`A=$(date) $Y; echo $ARGUMENTS`", "ls", "!refused(" + fromText + ")"},
		{"!`$EDITOR x`", "", "!($EDITOR x)"},
		{
			"!`x=$ARGUMENTS; echo \"$x\" $(date) $HOME`",
			"a",
			"!(x=\"${TERCET_ARG_1}\"; echo \"$x\" $(date) $HOME)[TERCET_ARG_1=a]",
		},
		{
			"!`for i in $ARGUMENTS; do echo \"$i\"; done`",
			"a",
			"!(for i in \"${TERCET_ARG_1}\"; do echo \"$i\"; done)[TERCET_ARG_1=a]",
		},
		// what comes behind a nested command belongs to the one around it
		{
			"!`find $(pwd) $ARGUMENTS`",
			"a",
			"!refused(an argument would be part of a program for find)",
		},
		{
			"!`sed \"$(cat x)\" $ARGUMENTS`",
			"a",
			"!refused(an argument would be part of a program for sed)",
		},
		// expanded or computed once more
		{
			"!`PS4=$ARGUMENTS; set -x; ls`",
			"a",
			"!refused(an argument would be the value of PS4, which names programs)",
		},
		{
			"!`x=$ARGUMENTS; echo ${x@P}`",
			"a",
			"!refused(an argument could be computed by ${...@P})",
		},
		{"!`echo ${a[$ARGUMENTS]}`", "a", "!refused(an argument could be computed by ${...[)"},
		{"!`echo ${x:$ARGUMENTS}`", "a", "!refused(an argument could be computed by ${...:)"},
		{"!`x=$ARGUMENTS; echo ${!x}`", "a", "!refused(an argument could be computed by ${!)"},
		{"!`a[$ARGUMENTS]=1`", "a", "!refused(an argument could be computed by a[)"},
		{
			"!`echo \"${x:-$ARGUMENTS}\" ${#x} ${a[@]} ${x%.*} ${x:0:7} ${a[1]}`",
			"a",
			"!(echo \"${x:-${TERCET_ARG_1}}\" ${#x} ${a[@]} ${x%.*} ${x:0:7} " +
				"${a[1]})[TERCET_ARG_1=a]",
		},
		// the surroundings of a program, and options in front of what git is to do
		{
			"!`PAGER=\"less $ARGUMENTS\" git log`",
			"a",
			"!refused(an argument would be the value of PAGER, which names programs)",
		},
		{
			"!`export GIT_SSH_COMMAND=$ARGUMENTS; git fetch`",
			"a",
			"!refused(an argument would be the value of GIT_SSH_COMMAND, which names programs)",
		},
		{
			"!`GIT_PAGER=cat git log $ARGUMENTS`",
			"a",
			"!(GIT_PAGER=cat git log \"${TERCET_ARG_1}\")[TERCET_ARG_1=a]",
		},
		{
			"!`git $ARGUMENTS`",
			"a",
			"!refused(an argument could be an option of git itself, which can name programs)",
		},
		{
			"!`git -C x -c \"$ARGUMENTS\" log`",
			"a",
			"!refused(an argument could be an option of git itself, which can name programs)",
		},
		{"!`git -C x log $ARGUMENTS`", "a", "!(git -C x log \"${TERCET_ARG_1}\")[TERCET_ARG_1=a]"},
	}
	const part = "an argument would be a part of a name"
	tests = append(tests, []struct{ src, raw, want string }{
		{"!`time -p ls $1`$ARGUMENTS", "a", "!(time -p ls \"${TERCET_ARG_1}\")[TERCET_ARG_1=a]a"},
		{"!`\"find\" . $1`$ARGUMENTS", "a", "!(\"find\" . \"${TERCET_ARG_1}\")[TERCET_ARG_1=a]a"},
		{"!`x$1=5 ls`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{"!`echo ${$1}`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{"!`echo $'it\\'s $ARGUMENTS'`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{
			"!`cat <<$1`$ARGUMENTS",
			"a",
			"!refused(an argument would stand in a script that cannot be read)a",
		},
		{"!`$1() { ls; }; ls`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{"!`echo 'a`$ARGUMENTS", "", "!(echo 'a)"},
		{
			"!`echo 'a $1`$ARGUMENTS",
			"b",
			"!refused(an argument would stand in a script that cannot be read)b",
		},
		{
			"!`ls \"a $(date \"$1\") b\"`$ARGUMENTS",
			"c",
			"!(ls \"a $(date \"${TERCET_ARG_1}\") b\")[TERCET_ARG_1=c]c",
		},
	}...)
	for _, tt := range tests {
		out, err := parse(t, dialect.Claude, tt.src).Expand(dialect.Args{Raw: tt.raw})
		if err != nil {
			t.Errorf("Expand of %q = %v", tt.src, err)
			continue
		}
		if diff := cmp.Diff(tt.want, render(t, out)); diff != "" {
			t.Errorf("Expand(%q) of %q differs (-want +got):\n%s", tt.raw, tt.src, diff)
		}
	}
}

// TestHostileScripts: what nests without end is read in bounded time, or not at all.
func TestHostileScripts(t *testing.T) {
	t.Parallel()
	sizes := []int{20_000, 100_000}
	if !testkit.Deep() {
		sizes = []int{10_000} // the race detector makes deep calls 30 times as slow
	}
	for _, piece := range []string{
		"$(", "((", "{ ", "`", "\"$(", "${a:-", "if ", "<<a ", "a[", "case x in x) ",
	} {
		for _, size := range sizes {
			c := parse(
				t,
				dialect.Claude,
				"```!\necho $1 "+strings.Repeat(piece, size/len(piece))+"\n```",
			)
			if _, err := c.Expand(dialect.Args{Raw: "a"}); err != nil {
				t.Errorf("%d bytes of %q: %v", size, piece, err)
			}
		}
	}
}
