package dialect_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tercet/internal/dialect"
	"tercet/internal/testkit"
)

// markLine is a command of a prompt with an argument, and whether it runs.
type markLine struct {
	mark, raw string
	runs      bool
}

// markLines are lines as people write them. What decides is the actual value: the same mark may run
// with one argument and not with another.
var markLines = []markLine{
	// a value is an operand, in whatever quotes
	{"echo \"look at $1\"", "abc", true},
	{"echo 'look at $ARGUMENTS'", "; canary", true},
	{"ls . $1", "abc", true},
	{"ls -- $1", "-l", true},
	{"cat $1 | head -20", "$(canary)", true},
	{"grep -rn \"$1\" packages/node", "abc", true},
	{"grep -rn \"$1\" packages/node", "--file=x", true},
	{"which node && echo $1", "abc", true},
	{"git log --oneline -20 $1", "main", true},
	{"git log --oneline -20 $1", "--output=x", false},
	{"git log --oneline -20 -- $1", "--output=x", true},
	{"git log --author=$1 --since=\"$1\"", "abc", true},
	{"git diff $1...HEAD --stat", "main", true},
	{"git -C \"$1\" status", "sub", false},
	{"git -c \"$1\" log", "core.pager=canary", false},
	{"git fetch \"$1\"", "ext::canary", false},
	{"git ls-remote --upload-pack=\"$1\" .", "canary", false},
	{"gh workflow run d.yml --field env=$1", "abc", true},
	{"gh pr view $ARGUMENTS --json number,title -q '.title'", "17", true},
	{"sort -u $1 | uniq -c", "abc", true},
	{"sort $1", "-ox", false},
	{"sort -o \"$1\" f", "abc", false},
	{"tar cf - $1", "--to-command=canary", false},
	{"tar -xf x.tar --to-command=\"$1\"", "canary", false},
	{"curl -s \"https://example.org/$1\"", "abc", true},
	{"curl -s \"$1\"", "https://example.org/", false},
	{"curl -so x.sh \"https://example.org/$1\"; sh ./x.sh", "abc", false},
	// a number may stand anywhere but as a program
	{"head -n$1 f", "12", true},
	{"head -n$1 f", "x", true},
	{"split -n$1 f", "x", false},
	{"echo $(($1 + 1))", "12", true},
	{"echo $(($1 + 1))", "a[$(canary)]", false},
	{"[[ $1 -gt 3 ]]", "12", true},
	{"[[ $1 -gt 3 ]]", "a[$(canary)]", false},
	{"sed -n \"${1}p; $1p\" f", "12", true},
	{"sed -n \"$1p\" f", "1e canary;", false},
	{"sed -n 's/a/b/p' \"$1\"", "abc", true},
	{"sed -n 's/a/b/p' \"$1\"", "-e1ecanary", false},
	{"awk \"NR==$1\" f", "12", true},
	{"awk \"NR==$1\" f", "system(\"canary\")", false},
	{"awk '{print $2}' \"$ARGUMENTS\"", "abc", true},
	{"awk '{print $2}' \"$ARGUMENTS\"", "x=y", false},
	{"timeout $1 ls", "5", true},
	{"$1 x", "17", false},
	{"sh $1", "17", false},
	// wrappers are looked through
	{"env A=b timeout 5 grep $1 f", "abc", true},
	{"sudo -n nice -n 5 nohup ls $1", "abc", true},
	{"timeout 5 $1", "ls", false},
	{"env $1 ls", "LD_PRELOAD=./x.so", false},
	{"command $1 x", "canary", false},
	{"exec $1", "canary", false},
	// interpreters take it behind a literal script, others behind a literal target
	{"bash scripts/x.sh $1", "abc", true},
	{"bash scripts/x.sh $1", "-c", false},
	{"bash scripts/x.sh -- $1", "-c", true},
	{"node scripts/x.js $1", "abc", true},
	{"python3 scripts/x.py \"$1\"", "abc", true},
	{"python3 - \"$1\" <<'E'\nprint(1)\nE", "abc", true},
	{"python3 -m json.tool $1", "abc", true},
	{"python3 -m pickle $1", "abc", false},
	{"git diff main -- $1 | python3 -m json.tool", "abc", true},
	{"bash -c 'cat \"$1\"' _ \"$ARGUMENTS\"", "; canary", true},
	{"bash -c 'shift; sh -c \"$1\"' _ a \"$ARGUMENTS\"", "canary", false},
	{"bash -c \"echo $1\"", "; canary", false},
	{"eval \"echo $1\"", "; canary", false},
	{"trap \"$1\" EXIT", "canary", false},
	{"npx eslint $1", "src/a.js", true},
	{"npx $1", "canary", false},
	{"npm run test -- $1", "abc", true},
	{"npm run test --prefix $1", "evil", false},
	{"make test $1", "abc", true},
	{"make test -f $1", "evil.mk", false},
	{"make $1", "abc", false},
	{"./scripts/x.sh --task $1", "abc", true},
	{"./scripts/x.sh --task $1", "--x", false},
	{"bin/rails runner $1", "canary", false},
	{"mix run $1", "evil.exs", false},
	{"mix test $1", "test/a_test.exs", true},
	{"docker exec -it web ls $1", "abc", true},
	{"docker exec $1 ls", "web", false},
	{"kubectl get pods -n $1", "abc", true},
	{"kubectl get pods --kubeconfig $1", "evil.yaml", false},
	{"find . -name \"*$1*\"", "abc", true},
	{"find $1 -name x", "src", true},
	{"find $1 -name x", "(", false},
	{"find . $1", "-delete", false},
	{"gh pr view $1", "https://github.com/a/b/pull/1", true},
	{"gh pr view $1", "https://example.org/a/b/pull/1", false},
	{"gh pr list -R $1", "example.org/a/b", false},
	{"find . -name f -exec $1 {} +", "canary", false},
	{"find src -path $1 -exec grep -n x {} +", "abc", true},
	{"echo f | xargs grep $1", "abc", true},
	{"echo \"$1\" | xargs rm", "abc", false},
	{"ssh $1 ls", "host", false},
	// what an interpreter reads
	{"echo \"$1\" | sh", "canary", false},
	{"sh <<< \"$1\"", "canary", false},
	{"echo \"$1\" | { command read x; sh -c \"$x\"; }", "canary", false},
	{"echo \"$1\" | while \"read\" x; do sh -c \"$x\"; done", "canary", false},
	{"echo \"$1\" > x; . ./x", "canary", false},
	{"exec > x; echo \"$1\"; sh ./x", "canary", false},
	{"echo \"$1\"; env | sh", "canary", false},
	// variables are followed, and those that name programs are refused
	{"x=$1; git log --oneline -- \"$x\"", "abc", true},
	{"x=$1; sh -c \"$x\"", "canary", false},
	{"for f in $ARGUMENTS; do head -5 \"$f\"; done", "a b", true},
	{"case \"$1\" in a) echo b;; esac", "abc", true},
	{"if [ -n \"$1\" -a -f \"$1\" ]; then cat \"$1\"; fi", "abc", true},
	{"A=$1 ls", "abc", true},
	{"PAGER=$1 git log", "canary", false},
	{"GIT_SSH=\"$1\" git fetch", "canary", false},
	{"ZDOTDIR=$1 zsh -c :", "evil", false},
	{"OPTIND=$1", "a[$(canary)]", false},
	{"printf -v IFS %s ,; x=$1; sort $x f", "f,--output=x", false},
	{"printf -v \"$1\" x", "a[$(canary)]", false},
	{"read \"$1\" < f", "a[$(canary)]", false},
	{"unset \"$1\"", "a[$(canary)]", false},
	{"export \"$1\"", "LD_PRELOAD=x", false},
	{"set -- $ARGUMENTS; \"$@\"", "canary x", false},
	{"f() { $1; }; f", "canary", false},
	{"echo $1 \\\n  && cat f", "canary", true},
	{"x=${1:-$(cat f)}; echo \"$x\"", "canary", true}, // that is the shell's own $1
	{"grep -rn read $1", "abc", true},
	{"grep -c x docs/environment.md && echo $1", "abc", true},
	// a shell reads options between -c and its program text, and turns some off by a plus
	{"bash -c -- \"$1\"", "canary", false},
	{"bash -c - \"$1\"", "canary", false},
	{"sh -c -e \"$1\"", "canary", false},
	{"bash +e -c \"$1\"", "canary", false},
	{"bash -c +o errexit \"$1\"", "canary", false},
	{"bash -eu -o pipefail -c 'cat \"$1\"' _ \"$ARGUMENTS\"", "; canary", true},
	{"bash +x scripts/x.sh $1", "abc", true},
	{"bash +x $1", "evil.sh", false},
	// options behind a host or a pod, and words that start another program
	{"kubectl exec pod -c main -- sh -c \"$1\"", "canary", false},
	{"kubectl exec pod -- ls $1", "abc", true},
	{"ssh host -p 22 $1", "canary", false},
	{"ssh host ls $1", "abc", true},
	{"ssh host ls $1", ";canary", false},
	{"hatch run $1", "canary", false},
	{"pdm run sh -c \"$1\"", "canary", false},
	{"pdm run -p sub $1", "canary", false},
	{"pdm run pytest $1", "tests/a.py", true},
	{"limactl shell default $1", "canary", false},
	{"hatch run $1", "17", false},
	{"codex exec \"$1\"", "look at it", true},
	{"vite-node $1", "evil.ts", false},
	{"time -o \"$1\" ls", "x", false},
	{"docker run --rm -v \"$1:/x\" img ls", "abc", false},
	{"jobs -x $1", "canary", false},
	// what env sets, and what goes over the parameters, is followed
	{"env A=\"$1\" sh -c 'sort $A f'", "-ox", false},
	{"env A=\"$1\" sh -c 'sort \"$A\" f'", "abc", true},
	{"env A=\"$1\" bash -c 'echo $((A))'", "a[$(canary)]", false},
	{"env A=\"$1\" bash -c 'echo $((A))'", "12", true},
	{"sh -c 'for x; do sort \"$x\" f; done' _ \"$ARGUMENTS\"", "-ox", false},
	{"sh -c 'for x; do cat \"$x\"; done' _ \"$ARGUMENTS\"", "abc", true},
	{"bash -c 'sort \"$BASH_ARGV\" f' _ \"$ARGUMENTS\"", "-ox", false},
	{"NIX_PATH=$1 ls", "evil", false},
	// what holds an argument is no program for another one
	{"echo \"$1\" > Makefile; make -s all", "all:;canary", false},
	{"echo \"$1\" | tee package.json; npm test", "{}", false},
	{"echo \"$1\" >> .git/hooks/post-checkout; git status", "canary", false},
	{"echo \"$1\" > x.awk; awk -f x.awk f", "BEGIN{system(\"canary\")}", false},
	{"echo \"$1\" > json.py; python3 -m json.tool f", "canary", false},
	{"echo \"$1\" > CMakeLists.txt; ctest", "canary", false},
	{"echo \"$1\" > notes/a.txt; git status --short", "abc", true},
	{"git diff $1 > /tmp/changes; wc -l /tmp/changes", "main", true},
	{"echo \"$1\" > x.mk; cat x.mk", "abc", true},
	// bytes, and what a value becomes after splitting and cutting
	{"cat \"$1\"", "\"a b+ü@c.md\"", true},
	{"ls \"docs/$1\"", "a+b", true},
	{"grep -n \"$1\" f", "\"a\nb\"", true},
	{"sort $1", "\" -ox\"", true}, // it stays one word, and a space begins it
	{"x=$1; sort $x f", "\" -ox\"", false},
	{"x=\" $1\"; sort $x f", "-ox", false},
	{"x=$1; sort \"${x#a}\" f", "a-ox", false},
	{"x=$1; sort -- \"${x#a}\" f", "a-ox", true},
	{"x=$1; echo \"${x//a/b}\"", "abc", true},
	{"x=${1//a/b}; echo \"$x\"", "canary", true}, // that is the shell's own $1
	{"sort $(basename \"$1\")", "abc", false},
	{"cat $(dirname \"$1\")/f", "abc", true},
	{"echo $'a\\tb' \"$1\"", "abc", true},
	{"echo $'a $ARGUMENTS'", "abc", false},
	{"cat <<E\n$1\nE", "$(canary)", true},
	{"cat <<'E'\n$1\nE", "$(canary)", false}, // no shell would fill it in
	{"cat <<\\E\n$1\nE", "17", false},
	{"bash <<'E'\necho $1\nE", "; canary", false},
	{"diff <(echo a) \"$1\"", "abc", true},
	{"diff <(echo \"$1\") f", "abc", false},
	{"alias ll='ls $ARGUMENTS'; ll", "abc", false},
	{"rg \"$1\" src", "--pre=canary", false},
	{"rg -- \"$1\" src", "--pre=canary", true},
	{"sed -e p -- \"$1\"", "-e1ecanary", false},
	{"mv -- \"$1\" old/", "-x", true},
	{"pytest $1", "@options", false},
	{"find . -newer \"$1\" -print", "f", true},
}

// strangeFolders have bytes in their names that some shell or tool reads as more than a name.
var strangeFolders = []string{"my project", "c++", "jürgen", "a@b", "plain"}

// TestMarks: explain, the refusal before a run and the run agree on each line, in every folder. A
// line with a folder of tercet's own runs wherever it lies.
func TestMarks(t *testing.T) {
	t.Parallel()
	if n := len(markLines); n < 60 {
		t.Fatalf("%d lines, want at least 60", n)
	}
	for _, name := range strangeFolders {
		folder := "/p/" + name
		for _, line := range markLines {
			checkMark(t, folder, line)
		}
		for _, line := range []markLine{
			{"\"${CLAUDE_SKILL_DIR}/scripts/x.sh\"", "abc", true},
			{"bash ${CLAUDE_SKILL_DIR}/scripts/x.sh", "abc", true},
			{"bash ${CLAUDE_SKILL_DIR}/scripts/x.sh $1", "abc", true},
			{"\"${CLAUDE_PLUGIN_ROOT}/run\" --task \"$ARGUMENTS\"", "abc", true},
			{"\"${CLAUDE_PLUGIN_ROOT}/run\" \"$ARGUMENTS\"", "--x", false},
			{"\"${CLAUDE_PLUGIN_ROOT}/run\" -- \"$ARGUMENTS\"", "--x", true},
			{"node ${CLAUDE_PLUGIN_ROOT}/x.mjs \"$1\"", "abc", true},
			{"cat ${CLAUDE_SKILL_DIR}/$1", "abc", true},
			{"bash -c \"${CLAUDE_SKILL_DIR}/scripts/x.sh\"", "abc", false},
			{"python3 -c \"print('${CLAUDE_SKILL_DIR}')\"", "abc", false},
		} {
			checkMark(t, folder, line)
		}
	}
}

// checkMark looks at one line in the three places where it is judged.
func checkMark(t *testing.T, folder string, line markLine) {
	t.Helper()
	c := parse(t, dialect.Claude, "```!\n"+line.mark+"\n```\n$ARGUMENTS")
	args := dialect.Args{Raw: line.raw, Vars: map[string]string{
		"CLAUDE_SKILL_DIR":   folder + "/.claude/skills/k",
		"CLAUDE_PLUGIN_ROOT": folder + "/plugin",
	}}
	pieces, err := c.Expand(args)
	if err != nil {
		t.Fatal(err)
	}
	reason := pieces[0].Script.Refused
	if got := reason == ""; got != line.runs {
		t.Errorf("%s: %s with %q runs: %v (%s), want %v",
			folder, line.mark, line.raw, got, reason, line.runs)
	}
	if got := c.Refusal(pieces) == nil; got != (reason == "") {
		t.Errorf("%s: the command with %s and %q runs: %v, its mark: %v",
			folder, line.mark, line.raw, got, reason == "")
	}
	shown, err := c.Explain(args, false)
	if err != nil {
		t.Fatal(err)
	}
	says := "runs line 1: "
	if reason != "" {
		says = "does not run line 1: "
	}
	if !strings.Contains("\n"+strings.Join(shown, "\n"), "\n"+says) {
		t.Errorf("%s: explain of %s with %q says %q, want %q",
			folder, line.mark, line.raw, shown, says)
	}
}

// TestEveryPlaceOfACommand: a program that the argument names is refused wherever a shell would
// start it.
func TestEveryPlaceOfACommand(t *testing.T) {
	t.Parallel()
	for place := range strings.SplitSeq(places, "\n") {
		place = strings.ReplaceAll(place, "\u00b6", "\n")
		for _, program := range []string{"$1", "sh $1", "\"$1\" x", "bash \"$ARGUMENTS\"", ". $1"} {
			mark := strings.Replace(place, "CMD", program, 1)
			c := parse(t, dialect.Claude, "```!\n"+mark+"\n```\n$ARGUMENTS")
			out, err := c.Expand(dialect.Args{Raw: "evil"})
			if err != nil {
				t.Fatal(err)
			}
			// in single quotes $1 is that of the inner shell
			own := strings.Contains(place, "'CMD'") && strings.Contains(program, "$1")
			if out[0].Script.Refused == "" && !own {
				t.Errorf("%s runs with a program as its argument", mark)
			}
		}
	}
}

// places are those where a shell starts a command, one a line; a pilcrow is a line feed.
const places = `CMD
! CMD
CMD &
time CMD
time -p CMD
coproc CMD
(CMD)
{ CMD; }
{ CMD; } > f
true && CMD
true || CMD
true; CMD
true | CMD
CMD | true
true |& CMD
if CMD; then :; fi
if true; then CMD; fi
if true; then :; else CMD; fi
if true; then :; elif CMD; then :; fi
while CMD; do break; done
until CMD; do break; done
while true; do CMD; done
for x in a; do CMD; done
for x in $(CMD); do :; done
for ((i=0; i<1; i++)); do CMD; done
select x in a; do CMD; done
case x in x) CMD;; esac
case $(CMD) in x) ;; esac
case x in $(CMD)) ;; esac
x=$(CMD)
x="$(CMD)"
x+=$(CMD)
a=($(CMD))
a[0]=$(CMD)
a[$(CMD)]=1
A=$(CMD) ls
export X=$(CMD)
declare x=$(CMD)
readonly x=$(CMD)
local x=$(CMD)
let x=$(CMD)
echo $(CMD)
echo "a $(CMD) b"
echo a$(CMD)
echo ${x:-$(CMD)}
echo "${x:=$(CMD)}"
echo ${x/a/$(CMD)}
echo ${x#$(CMD)}
echo ${x:$(CMD)}
echo ${a[$(CMD)]}
echo $(($(CMD)))
(( $(CMD) ))
[[ -n $(CMD) ]]
[ -n "$(CMD)" ]
[[ x == $(CMD) ]]
cat < $(CMD)
cat > $(CMD)
cat <<< $(CMD)
cat <<E¶$(CMD)¶E
cat <<-E¶	$(CMD)¶	E
cat <(CMD)
echo x > >(CMD)
echo {a,$(CMD)}
echo $(echo $(CMD))
echo @(a|$(CMD))
f() { CMD; }; f
function f { CMD; }; f
trap 'CMD' EXIT
eval 'CMD'
env CMD
env -i A=b CMD
sudo CMD
nice -n 5 CMD
timeout 5 CMD
nohup CMD
command CMD
exec CMD
builtin CMD
xargs CMD
find . -exec CMD \;
find . -execdir CMD +
docker exec web CMD
docker run --rm img CMD
kubectl exec pod -- CMD
ssh host CMD
npx CMD
stdbuf -oL CMD
setsid CMD
time env nice CMD
sh -c 'CMD' _ x
bash -c "true; CMD"`

// readers are lines of programs that only read, for values of any kind. %s stands for the places
// that FuzzAcceptedMarks fills.
var readers = []string{
	"echo %s", "printf '%%s\\n' %s", "cat %s", "cat -- %s", "ls -d %s", "head -n1 -- %s",
	"grep -n %s f", "grep -e %s f", "wc -c < %s", "find . -name %s",
	"find . -path %s -exec cat {} +", "sed -n 1p %s", "awk '{print $1}' %s", "sort %s",
	"sort -- %s f", "cut -c1 %s", "tr a %s < f", "test -n %s", "[ %s = x ]",
	"case %s in f) cat f;; esac", "x=%s; cat \"$x\"", "for x in %s; do echo \"$x\"; done",
	"env A=%s cat f", "env -i cat %s", "A=%s sh -c 'cat f'", "sh x.sh %s", "sh x.sh -- %s",
	"sh -c 'echo \"$1\" $2' _ %s", "timeout 9 cat %s", "nice cat %s", "command cat %s",
	"xargs cat < %s", "echo %s | cat", "echo %s | sh", "cat <<E\n%s\nE", "echo \"$(echo %s)\"",
	"echo $(cat %s)", "ls %s | while read -r l; do echo \"$l\"; done", "cd %s && ls",
	"git log --oneline -- %s", "git log --oneline %s", "git diff --stat %s", "tar cf /dev/null %s",
	"date -d %s", "uniq %s", "basename %s", "read x <<< %s; echo \"$x\"",
	"x=(%s f); cat \"${x[@]}\"", "echo \"${x:-%s}\"", "true || %s", "OPTIND=%s", "[[ %s == x ]]",
	"printf %s", "echo $((%s))", "env A=%s sh -c 'sort $A f'", "env A=%s bash -c 'echo $((A))'",
	"bash -c -- %s", "sh -c -e %s", "bash +e -c %s", "sh -c 'for x; do sort \"$x\" f; done' _ %s",
	"echo %s > x.awk; awk -f x.awk f", "echo %s | tee x.mk; make -s -f x.mk", "cat <<'E'\n%s\nE",
	"bash -eu -c 'cat \"$1\"' _ %s", "export X=%s; sh -c 'cat $X'", "eval echo %s", "x=%s; $x",
}

// quoteYAML are the ways in which a file writes an argument.
var quoteYAML = []string{"$ARGUMENTS", "\"$ARGUMENTS\"", "'$ARGUMENTS'", "a\"$1\"b", "$1"}

// FuzzAcceptedMarks runs each line that is accepted with the value in a real shell: no value makes
// the program called canary run, which every hostile value names.
func FuzzAcceptedMarks(f *testing.F) {
	shell := "sh"
	if _, err := exec.LookPath("bash"); err == nil {
		shell = "bash"
	}
	hostile := []string{
		"; canary", "$(canary)", "`canary`", "a[$(canary)]", "-exec canary ;", "-o canary",
		"--checkpoint=1 --checkpoint-action=exec=canary", "x=$(canary)", "1e canary", "|canary",
		"BEGIN{system(\"canary\")}", "canary", "\ncanary\n", "f -fprint canary", "--output=canary",
		"' ; canary ; '", "\" ; canary ; \"", "%n", "*", "-", "17", "{canary,}", "canary.sh",
	}
	every := 97
	if testkit.Deep() {
		every = 1
	}
	n := 0
	for i := range readers {
		for k := range quoteYAML {
			for _, text := range hostile {
				n++
				if n%every == 0 {
					f.Add(uint8(i), uint8(k), text)
				}
			}
		}
	}
	dir := f.TempDir()
	canary := filepath.Join(dir, "RAN")
	bin := filepath.Join(dir, "bin")
	work := filepath.Join(dir, "work")
	for name, text := range map[string]string{
		filepath.Join(bin, "canary"):     "#!/bin/sh\n: > '" + canary + "'\n",
		filepath.Join(work, "canary"):    "#!/bin/sh\n: > '" + canary + "'\n",
		filepath.Join(work, "canary.sh"): ": > '" + canary + "'\n",
		filepath.Join(work, "f"):         "hello\n",
		filepath.Join(work, "x.sh"):      "echo \"$#\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := testkit.WriteProgram(name, text); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, line, quotes uint8, text string) {
		if strings.ContainsRune(text, 0) || len(text) > 1000 || strings.Contains(text, "/") {
			t.Skip("no path that leads out of the folder")
		}
		mark := fmt.Sprintf(readers[int(line)%len(readers)], quoteYAML[int(quotes)%len(quoteYAML)])
		c := parse(t, dialect.Claude, "```!\n"+mark+"\n```\n$ARGUMENTS")
		out, err := c.Expand(dialect.Args{Raw: text, Words: []string{text}})
		if err != nil || out[0].Script == nil || out[0].Script.Refused != "" {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, shell, "-c", out[0].Script.Text)
		cmd.Dir = work
		cmd.Env = append([]string{
			"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + work,
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=" + dir,
		}, out[0].Script.Env...)
		cmd.WaitDelay = time.Second
		printed, _ := cmd.CombinedOutput() // a line may fail; what matters is what it started
		if _, err := os.Lstat(canary); err == nil {
			t.Fatalf("%s with %q started the program that the value names: %s", mark, text, printed)
		}
	})
}
