package dialect_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/dialect"
)

// naughty are texts that a shell, a format or a careless program takes for something else. CANARY stands for a file that
// must never come to be.
func naughty() []string {
	meta := []string{
		"; touch CANARY", "&& touch CANARY", "|| touch CANARY", "| touch CANARY", "& touch CANARY", "$(touch CANARY)", "`touch CANARY`", "\n touch CANARY\n",
		"'; touch CANARY; '", "\"; touch CANARY; \"", "') ; touch CANARY #", "\"$(touch CANARY)\"", "'$(touch CANARY)'", "\\'; touch CANARY; \\'", "\\\"; touch CANARY #",
		"${IFS}touch${IFS}CANARY", "$((a[$(touch CANARY)]))", "a[$(touch CANARY)]", "x=$(touch CANARY)", "> CANARY", ">> CANARY", "< CANARY", "2> CANARY", "<(touch CANARY)",
		"!touch CANARY", "{touch,CANARY}", "$'\\x24(touch CANARY)'", "\\$(touch CANARY)", "\\`touch CANARY\\`", "EOF\ntouch CANARY\n", "#\ntouch CANARY", "\r\ntouch CANARY",
		"${TERCET_ARG_1}", "$TERCET_ARG_2", "$1 $2 $@ $*", "$ARGUMENTS", "{{args}}", "!`touch CANARY`", "@CANARY", "!{touch CANARY}", "${x:=$(touch CANARY)}", "${x:-`touch CANARY`}",
		"~", "~root", "*", "?", "[a-z]*", "{a,b}", "-rf", "--help", "--", "-", "-e x", "%s%n%x", "\\", "\\\\", "'", "\"", "''", "\"\"", "'\"'\"'", "`", "``", "$", "$$", "${", "}", "(", ")", "((", "))",
		"a b  c   d", " lead", "trail ", "\t", "tab\there", "ünïcödé", "日本語", "\u202eabc", "\u200b", "\ufeff", "emoji \U0001F600", "\x1b]52;c;x\x07", "\x1b[2J", "\x7f", "\x01\x02",
		"../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "<script>alert(1)</script>", "Robert'); DROP TABLE x;--", "null", "undefined", "true", "0", "-1", "1e309", "NaN",
		"line\nline", "line\\nline", strings.Repeat("a", 5000), strings.Repeat("'", 100), strings.Repeat("\"", 101), strings.Repeat("$(", 50), "a=b", "PATH=x", "IFS=x", "LD_PRELOAD=./x.so",
	}
	var out []string
	for _, m := range meta { // alone, inside of a text, behind a quote, an option, a line, and twice
		out = append(out, m, "x"+m+"y", "'"+m, "\""+m, "--opt="+m, "a\n"+m, m+" "+m)
	}
	return out
}

// TestArgumentsNeverRun runs scripts with each naughty text as the arguments, in every place of a script that arguments are
// let into: no canary comes to be, and the shell hands the text on byte for byte.
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
	if err := os.WriteFile(echo, []byte("#!/bin/sh\nprintf %s \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	templates := []struct {
		name, src string
		whole     bool // what is printed is the text itself
	}{
		{"double quotes", "!`printf %s \"$ARGUMENTS\"`", true},
		{"single quotes", "!`" + echo + " '$ARGUMENTS'`", true},
		{"named", "---\narguments: [all]\n---\n!`" + echo + " $all`$ARGUMENTS", true},
		{"substitution", "!`X=\"$(" + echo + " \"$ARGUMENTS\"; echo .)\"; X=\"${X%.}\"; echo \"${X%?}\" | head -c 0; " + echo + " \"$ARGUMENTS\"`", true},
		{"words", "!`" + echo + " $ARGUMENTS`", false},
		{"middle of a word", "!`" + echo + " pre-\"$ARGUMENTS\"-post`", false},
		{"here document", "```!\ncat <<END\n# text: $ARGUMENTS\nEND\n```", false},
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
				for n, text := range naughty() {
					if (i > 0 || shell == "bash") && (n+i)%9 != 0 {
						continue // the other places share the texts among them
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

// runScripts runs the scripts of an expansion as the program does: the text in a file, the values in the environment.
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
		cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH")}, o.Script.Env...)
		out, _ := cmd.Output() // a script may fail; what matters is what it did
		b.Write(out)
	}
	return b.String()
}

// TestArgumentsAreNotInScripts: whatever the text is, the script that is made does not depend on it.
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
	const fromText = "an argument could become the name of the program, which the script takes from a variable or from an output"
	tests := []struct{ src, raw, want string }{
		{"!`git log $ARGUMENTS`$ARGUMENTS", "", "!(git log )"},
		{"!`git log \"$ARGUMENTS\"`$ARGUMENTS", "", "!(git log \"${TERCET_ARG_1}\")[TERCET_ARG_1=]"},
		{"!`ls | awk '{print $1}'`$ARGUMENTS", "a", "!(ls | awk '{print $1}')a"},
		{"!`git log $1 | awk '{print $2}'`$ARGUMENTS", "a b", "!(git log \"${TERCET_ARG_1}\" | awk '{print $2}')[TERCET_ARG_1=a]a b"},
		{"!`awk \"/$1/\" x`$ARGUMENTS", "a", "!refused(an argument would be part of a program for awk)a"},
		{"!`sh -c \"echo $1\"`$ARGUMENTS", "a", "!refused(an argument could reach sh, which would read it as a program)a"},
		{"!`echo $1 | /bin/bash`$ARGUMENTS", "a", "!refused(an argument could reach /bin/bash, which would read it as a program)a"},
		{"!`echo $1 | python3.12`$ARGUMENTS", "a", "!refused(an argument could reach python3.12, which would read it as a program)a"},
		{"!`eval $ARGUMENTS`", "a", "!refused(an argument could reach eval, which would read it as a program)"},
		{"!`$ARGUMENTS`", "ls", "!refused(an argument would be the name of the program)"},
		{"!`true && $1 x`$ARGUMENTS", "ls", "!refused(an argument would be the name of the program)ls"},
		{"!`if true; then $1; fi`$ARGUMENTS", "ls", "!refused(an argument would be the name of the program)ls"},
		{"!`A=1 $1`$ARGUMENTS", "ls", "!refused(an argument would be the name of the program)ls"},
		{"!`A=$1 ls`$ARGUMENTS", "x", "!(A=\"${TERCET_ARG_1}\" ls)[TERCET_ARG_1=x]x"},
		{"!`timeout 5 $1`$ARGUMENTS", "ls", "!refused(an argument would be part of a program for timeout)ls"},
		{"!`echo $(($1+1))`$ARGUMENTS", "1", "!refused(an argument could be computed by (()1"},
		{"!`[[ $1 -eq 1 ]]`$ARGUMENTS", "1", "!refused(an argument could be computed by [[)1"},
		{"!`git log -1 # $1`$ARGUMENTS", "x", "!(git log -1 # )x"},
		{"!`echo \\$1`$ARGUMENTS", "x", "!(echo \\$1)x"},
		{"---\nshell: powershell\n---\n!`Get-Item .`$ARGUMENTS", "", "!refused(it is written for powershell)"},
		{"!`date`$ARGUMENTS", "x", "!(date)x"},
		{"!`bash build.sh`$ARGUMENTS", "x", "!(bash build.sh)x"},
		// the name of a program out of a variable or an output
		{"!`for i in $ARGUMENTS; do $i; done`", "ls", "!refused(" + fromText + ")"},
		{"!`set -- $ARGUMENTS; \"$@\"`", "ls", "!refused(" + fromText + ")"},
		{"!`x=$ARGUMENTS; $x`", "ls", "!refused(" + fromText + ")"},
		{"!`$(echo $ARGUMENTS)`", "ls", "!refused(" + fromText + ")"},
		{"!`case x in x) $Y;; esac; echo $ARGUMENTS`", "ls", "!refused(" + fromText + ")"},
		{"!`A=$(date) $Y; echo $ARGUMENTS`", "ls", "!refused(" + fromText + ")"},
		{"!`$EDITOR x`", "", "!($EDITOR x)"},
		{"!`x=$ARGUMENTS; echo \"$x\" $(date) $HOME`", "a", "!(x=\"${TERCET_ARG_1}\"; echo \"$x\" $(date) $HOME)[TERCET_ARG_1=a]"},
		{"!`for i in $ARGUMENTS; do echo \"$i\"; done`", "a", "!(for i in \"${TERCET_ARG_1}\"; do echo \"$i\"; done)[TERCET_ARG_1=a]"},
		// what comes behind a nested command belongs to the one around it
		{"!`find $(pwd) $ARGUMENTS`", "a", "!refused(an argument would be part of a program for find)"},
		{"!`sed \"$(cat x)\" $ARGUMENTS`", "a", "!refused(an argument would be part of a program for sed)"},
		// expanded or computed once more
		{"!`PS4=$ARGUMENTS; set -x; ls`", "a", "!refused(an argument could reach PS4, which would read it as a program)"},
		{"!`x=$ARGUMENTS; echo ${x@P}`", "a", "!refused(an argument could be computed by ${...@P})"},
		{"!`echo ${a[$ARGUMENTS]}`", "a", "!refused(an argument could be computed by ${...[)"},
		{"!`echo ${x:$ARGUMENTS}`", "a", "!refused(an argument could be computed by ${...:)"},
		{"!`x=$ARGUMENTS; echo ${!x}`", "a", "!refused(an argument could be computed by ${!)"},
		{"!`a[$ARGUMENTS]=1`", "a", "!refused(an argument could be computed by a[)"},
		{"!`echo \"${x:-$ARGUMENTS}\" ${#x} ${a[@]} ${x%.*} ${x:0:7} ${a[1]}`", "a", "!(echo \"${x:-${TERCET_ARG_1}}\" ${#x} ${a[@]} ${x%.*} ${x:0:7} ${a[1]})[TERCET_ARG_1=a]"},
		// the surroundings of a program, and options in front of what git is to do
		{"!`PAGER=\"less $ARGUMENTS\" git log`", "a", "!refused(an argument would be the value of PAGER, which names programs)"},
		{"!`export GIT_SSH_COMMAND=$ARGUMENTS; git fetch`", "a", "!refused(an argument would be the value of GIT_SSH_COMMAND, which names programs)"},
		{"!`GIT_PAGER=cat git log $ARGUMENTS`", "a", "!(GIT_PAGER=cat git log \"${TERCET_ARG_1}\")[TERCET_ARG_1=a]"},
		{"!`git $ARGUMENTS`", "a", "!refused(an argument could be an option of git itself, which can name programs)"},
		{"!`git -C x -c \"$ARGUMENTS\" log`", "a", "!refused(an argument could be an option of git itself, which can name programs)"},
		{"!`git -C x log $ARGUMENTS`", "a", "!(git -C x log \"${TERCET_ARG_1}\")[TERCET_ARG_1=a]"},
	}
	const part = "an argument would be a part of a name"
	tests = append(tests, []struct{ src, raw, want string }{
		{"!`time -p ls $1`$ARGUMENTS", "a", "!(time -p ls \"${TERCET_ARG_1}\")[TERCET_ARG_1=a]a"},
		{"!`\"find\" . $1`$ARGUMENTS", "a", "!refused(an argument would be part of a program for find)a"},
		{"!`x$1=5 ls`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{"!`echo ${$1}`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{"!`echo $'it\\'s $ARGUMENTS'`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{"!`cat <<$1`$ARGUMENTS", "a", "!refused(an argument would stand in a script that cannot be read)a"},
		{"!`$1() { ls; }; ls`$ARGUMENTS", "a", "!refused(" + part + ")a"},
		{"!`echo 'a`$ARGUMENTS", "", "!(echo 'a)"},
		{"!`echo 'a $1`$ARGUMENTS", "b", "!refused(an argument would stand in a script that cannot be read)b"},
		{"!`ls \"a $(date \"$1\") b\"`$ARGUMENTS", "c", "!(ls \"a $(date \"${TERCET_ARG_1}\") b\")[TERCET_ARG_1=c]c"},
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
	if testing.Short() {
		sizes = []int{10_000} // the race detector makes deep calls 30 times as slow
	}
	for _, piece := range []string{"$(", "((", "{ ", "`", "\"$(", "${a:-", "if ", "<<a ", "a[", "case x in x) "} {
		for _, size := range sizes {
			c := parse(t, dialect.Claude, "```!\necho $1 "+strings.Repeat(piece, size/len(piece))+"\n```")
			if _, err := c.Expand(dialect.Args{Raw: "a"}); err != nil {
				t.Errorf("%d bytes of %q: %v", size, piece, err)
			}
		}
	}
}
