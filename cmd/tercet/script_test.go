package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"

	"tercet/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite golden files and the expectations of scripts")

func TestMain(m *testing.M) {
	if code, ok := runInternal(os.Args); ok {
		os.Exit(code) // the program asks this of itself, by whatever name it goes
	}

	underFaults()
	// Scripts wait for processes and for time more than they compute: two at a time would leave
	// half of two cores idle. A -parallel of the command line is read later and wins.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	if filepath.Ext(os.Args[0]) == ".test" {
		heedSignals()
	}

	testscript.Main(m, map[string]func(){
		"tercet":    main,
		"fakeagent": fakeAgent,
		"fakecli":   fakeCLI,
		"fakeacp":   fakeACP,
		"agreeing":  agreeing,
	})
}

// heedSignals lets the programs that the tests start take the signals that this process was told to
// ignore: SIGHUP under nohup, SIGINT in the background of a script. A signal that is listened for
// is given back its default in a child.
func heedSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// scripts gives the scripts to run: all of them, or every twelfth. Where -run names one, it runs.
func scripts(t *testing.T, all bool) []string {
	t.Helper()

	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %q, %v", files, err)
	}

	if all || strings.Contains(flag.Lookup("test.run").Value.String(), "TestScripts/") {
		return files
	}

	var some []string
	for i, file := range files {
		if i%12 == 0 {
			some = append(some, file)
		}
	}

	return some
}

// TestScripts runs the manual: every script of testdata/script reads like a page of it.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files:               scripts(t, testkit.Deep()),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		ContinueOnError:     true,
		Setup: func(e *testscript.Env) error {
			// A terminal's, a CI's and a person's own settings must not reach a script.
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv(
				"PATH",
				e.WorkDir+"/bin"+string(filepath.ListSeparator)+withoutAgents(e.Getenv("PATH")),
			)

			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GIT_AUTHOR_NAME", "tester")
			e.Setenv("GIT_AUTHOR_EMAIL", "tester@localhost")
			e.Setenv("GIT_COMMITTER_NAME", "tester")
			e.Setenv("GIT_COMMITTER_EMAIL", "tester@localhost")
			e.Setenv("GOCACHE", goCache())
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOTOOLCHAIN", "local")
			e.Setenv("GOFLAGS", "-mod=mod")
			e.Setenv("LANG", "C")

			// The scripts write the files that they run; those about trust take this away.
			e.Setenv("TERCET_TRUST", "1")
			// beside the folder that many scripts have for their project
			e.Setenv("XDG_STATE_HOME", e.WorkDir+".state")

			fixtures, err := filepath.Abs("testdata/fixtures")
			if err != nil {
				return err
			}

			e.Setenv("FIXTURES", fixtures)
			demo, err := filepath.Abs("demo")
			if err != nil {
				return err
			}

			e.Setenv("DEMO", demo)
			e.Values[lockKey(lockedFile)] = &heldLock{}
			return os.MkdirAll(e.WorkDir+"/home", 0o755)
		},
		Condition: works,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"jq":             cmdJQ,
			"normalize":      cmdNormalize,
			"parallel":       cmdParallel,
			"kill-during":    cmdKillDuring,
			"exits":          cmdExits,
			"mcp":            cmdMCP,
			"page":           cmdPage,
			"elsewhere":      cmdElsewhere,
			"meant":          cmdMeant,
			"edit":           cmdEdit,
			"cut":            cmdCut,
			"signal":         cmdSignal,
			"listing":        cmdListing,
			"collect":        cmdCollect,
			"waitfor":        cmdWaitFor,
			"capture":        cmdCapture,
			"locked":         cmdLocked,
			"follow":         cmdFollow,
			"plant-canaries": cmdPlantCanaries,
			"no-canaries":    cmdNoCanaries,
			"private":        cmdPrivate,
		},
	})
}

// goCache is the build cache, for scripts that build.
var goCache = sync.OnceValue(func() string { return goEnv("GOCACHE") })

func goEnv(name string) string {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// cmdJQ: jq FILTER FILE [WANT...]; the results, one a line, must be the wanted words. `! jq FILTER
// FILE` wants false or null.
func cmdJQ(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] jq FILTER FILE [WANT...]")
	}
	q, err := gojq.Parse(args[0])
	ts.Check(err)
	data := []byte(ts.ReadFile(args[1]))
	var results []string
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var doc any
		ts.Check(dec.Decode(&doc))
		it := q.Run(doc)
		for {
			v, ok := it.Next()
			if !ok {
				break
			}
			if err, ok := v.(error); ok {
				ts.Fatalf("jq: %v", err)
			}
			if s, ok := v.(string); ok {
				results = append(results, s)
				continue
			}
			out, err := gojq.Marshal(v)
			ts.Check(err)
			results = append(results, string(out))
		}
	}

	if len(args) == 2 {
		last := ""
		if len(results) > 0 {
			last = results[len(results)-1]
		}
		if truth := last != "" && last != "false" && last != "null"; truth == neg {
			ts.Fatalf("jq %s %s = %q", args[0], args[1], results)
		}
		return
	}

	if equal := strings.Join(results, " ") == strings.Join(args[2:], " "); equal == neg {
		ts.Fatalf("jq %s %s = %q, want %q", args[0], args[1], results, args[2:])
	}
}

// cmdNormalize: normalize FILE replaces ids, times, hashes, durations and paths by words.
func cmdNormalize(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		path := ts.MkAbs(name)
		data, err := os.ReadFile(path)
		ts.Check(err)
		text := strings.ReplaceAll(string(data), ts.Getenv("WORK"), "$WORK")
		for _, r := range []struct{ re, to string }{
			{`sess_[0-9]+_[a-z0-9]{6}`, "SESSION"},
			{`\br[0-9a-z]{6}[a-z0-9]{3}\b`, "RUN"},
			{`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`, "TIME"},
			{`[0-9]{4}-[0-9]{2}-[0-9]{2}`, "DATE"},
			{`\b[0-9a-f]{64}\b`, "SHA256"},
			{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
			{`\b[0-9.]+(ms|µs|s)\b`, "TOOK"},
			{`("duration_seconds": )[0-9.e-]+`, "${1}TOOK"},
		} {
			text = regexp.MustCompile(r.re).ReplaceAllString(text, r.to)
		}
		ts.Check(os.WriteFile(path, []byte(text), 0o644))
	}
}

// cmdParallel: parallel N COMMAND ARGS... runs N processes at once; $I in an argument is the
// process's number. Every one must end with 0, or with `!` at least one must not.
func cmdParallel(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)

	var wg sync.WaitGroup
	fails := make([]string, n)
	for i := range n {
		words := make([]string, len(args)-1)
		for j, w := range args[1:] {
			words[j] = strings.ReplaceAll(w, "$I", strconv.Itoa(i))
		}

		cmd := exec.Command(lookPath(ts, words[0]), words[1:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = environ(ts)

		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				fails[i] = fmt.Sprintf("%d: %v: %s", i, err, out)
			}
		})
	}

	wg.Wait()
	text := strings.TrimSpace(strings.Join(fails, "\n"))
	if (text != "") != neg {
		ts.Fatalf("parallel: %s", text)
	}
}

// cmdKillDuring: kill-during MS COMMAND ARGS... kills the process group of the command with SIGKILL
// after MS milliseconds.
func cmdKillDuring(ts *testscript.TestScript, _ bool, args []string) {
	ms, err := strconv.Atoi(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(ms)*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, lookPath(ts, args[1]), args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	ts.Logf("kill-during: %v\n%s", err, out)
}

// cmdExits: exits CODE COMMAND ARGS... wants exactly that exit code; stdout and stderr are kept for
// the lines that follow in the files stdout.txt and stderr.txt. `exits CODE <FILE COMMAND ARGS...`
// gives the command FILE as its standard input.
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)

	input, redirected := strings.CutPrefix(args[1], "<")
	if redirected {
		args = args[1:]
	}

	cmd := exec.Command(lookPath(ts, args[1]), args[2:]...)
	if redirected {
		cmd.Stdin = strings.NewReader(ts.ReadFile(input))
	}

	var out, errs bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &errs
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)

	err = cmd.Run()
	ts.Logf("%s%s", out.String(), errs.String())
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), errs.Bytes(), 0o644))

	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d (%v), want %d", got, err, want)
	}
}

// cmdSignal: signal INT|TERM|KILL FILE CODE COMMAND ARGS... starts the command, waits until FILE
// exists, sends the process the signal and wants the exit code (-1 for a process that was killed).
// Of FILE,FILE each brings the signal once more. Output is kept like that of exits. A last argument
// <FILE is the command's standard input.
func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: signal INT|TERM|KILL FILE CODE COMMAND ARGS...")
	}

	sig := map[string]os.Signal{
		"INT":  os.Interrupt,
		"TERM": syscall.SIGTERM,
		"KILL": os.Kill,
	}[args[0]]
	want, err := strconv.Atoi(args[2])
	ts.Check(err)

	cmd := exec.Command(lookPath(ts, args[3]), args[4:]...)
	if last := args[len(args)-1]; strings.HasPrefix(last, "<") {
		cmd.Args = cmd.Args[:len(cmd.Args)-1]
		cmd.Stdin = strings.NewReader(ts.ReadFile(last[1:]))
	}

	var out, errs bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &errs
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	cmd.WaitDelay = time.Second

	ts.Check(cmd.Start())
	files := strings.Split(args[1], ",")
	for deadline := time.Now().Add(2 * time.Minute); len(files) > 0 &&
		time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(files[0])); err == nil {
			ts.Check(cmd.Process.Signal(sig))
			files = files[1:]
		}
	}

	sent := len(files) == 0
	if !sent {
		ts.Check(cmd.Process.Kill())
	}
	err = cmd.Wait()
	ts.Logf("%s%s", out.String(), errs.String())
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), errs.Bytes(), 0o644))
	if got := cmd.ProcessState.ExitCode(); !sent || got != want {
		ts.Fatalf("exit code %d (%v), want %d; %s seen: %t", got, err, want, args[1], sent)
	}
}

// helpRow is a row of help that begins with a line for a shell; nextLine is such a line behind
// `next:`, or a slash command.
var (
	helpRow  = regexp.MustCompile(`(?m)^  (tercet(?: \S+)*)  +\S`)
	nextLine = regexp.MustCompile(`tercet (?:'[^']*'|/[a-z]+ [0-9]+)|/[a-z]+ [0-9]+(?: [A-Z]+)?`)
)

// printedLines gives the lines that a text tells its reader to type, as lines of a shell.
func printedLines(text string) []string {
	var lines []string
	for _, row := range helpRow.FindAllStringSubmatch(text, -1) {
		lines = append(lines, row[1])
	}

	for said := range strings.Lines(text) {
		_, next, _ := strings.Cut(said, "next: ")
		for _, line := range nextLine.FindAllString(next, -1) {
			if !strings.HasPrefix(line, "tercet ") {
				line = "tercet '" + line + "'"
			}
			lines = append(lines, line)
		}
	}

	return lines
}

// cmdFollow: follow CODES FILE runs every line that FILE tells its reader to type, and then those
// that they print as `next:`, each once. Their exit codes must be among CODES; the lines are listed
// in followed.txt.
func cmdFollow(ts *testscript.TestScript, _ bool, args []string) {
	codes := strings.Split(args[0], ",")
	lines := printedLines(ts.ReadFile(args[1]))

	if len(lines) == 0 {
		ts.Fatalf("follow: %s tells of no line to type", args[1])
	}
	for i := 0; i < len(lines); i++ {
		cmd := exec.Command("sh", "-c", lines[i])
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = environ(ts)
		cmd.Stdin = strings.NewReader("/help\n") // for tercet alone, which reads lines

		out, err := cmd.CombinedOutput()
		ts.Logf("$ %s\n%s", lines[i], out)
		if code := strconv.Itoa(cmd.ProcessState.ExitCode()); !slices.Contains(codes, code) {
			ts.Fatalf("%s: exit code %s (%v), want one of %v", lines[i], code, err, codes)
		}

		_, next, _ := strings.Cut(string(out), "tercet: next: ")
		for _, line := range printedLines("next: " + next) {
			if !slices.Contains(lines, line) &&
				!slices.Contains(lines, strings.ReplaceAll(line, "'", "")) {
				lines = append(lines, line)
			}
		}
	}

	ts.Check(os.WriteFile(ts.MkAbs("followed.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}

// cmdListing: listing FILE DIR writes every file below DIR with the hash of its content to FILE, so
// that two moments can be compared by cmp.
func cmdListing(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: listing FILE DIR")
	}

	var b strings.Builder
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&b, name)
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256(data))
		return err
	}))

	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

// cmdWaitFor: waitfor FILE [TEXT] waits until a process in the background has made FILE, or has
// written TEXT to it.
func cmdWaitFor(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.Join(args[1:], " ")
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(
		deadline,
	); time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(data), text) {
			return
		}
	}
	ts.Fatalf("waitfor: %s did not come", strings.Join(args, " "))
}

// cmdCapture: capture NAME FILE REGEXP sets the variable NAME to what the first group of REGEXP
// matches in FILE.
func cmdCapture(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) < 2 {
		ts.Fatalf("capture: no match for %s in %s", args[2], args[1])
	}
	ts.Setenv(args[0], m[1])
}

// cmdCollect: collect FILE GLOB... writes the files that match, one behind the other, to FILE; none
// is a failure.
func cmdCollect(ts *testscript.TestScript, _ bool, args []string) {
	var all []byte
	found := 0

	for _, glob := range args[1:] {
		names, err := filepath.Glob(ts.MkAbs(glob))
		ts.Check(err)
		found += len(names)
		for _, name := range names {
			data, err := os.ReadFile(name)
			ts.Check(err)
			all = append(all, data...)
		}
	}

	if found == 0 {
		ts.Fatalf("collect: no file matches %v", args[1:])
	}

	ts.Check(os.WriteFile(ts.MkAbs(args[0]), all, 0o644))
}

// cmdEdit: edit FILE OLD NEW replaces the one place of OLD; \n stands for a line feed.
func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	from := unescape(args[1])
	to := unescape(args[2])
	if n := strings.Count(string(data), from); n != 1 {
		ts.Fatalf("edit: %q stands %d times in %s, want once", from, n, args[0])
	}
	ts.Check(os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o644))
}

// cmdCut: cut FILE FROM TO removes what stands from the first FROM up to and with the next TO.
func cmdCut(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)

	from := unescape(args[1])
	to := unescape(args[2])

	before, rest, ok := strings.Cut(string(data), from)
	_, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		ts.Fatalf("cut: %q to %q does not stand in %s", from, to, args[0])
	}

	ts.Check(os.WriteFile(path, []byte(before+after), 0o644))
}

func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(s)
}

func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	ts.Fatalf("%s: not found", name)
	return ""
}

func environ(ts *testscript.TestScript) []string {
	var out []string
	for _, name := range []string{
		"PATH", "HOME", "WORK", "TMPDIR", "GOCACHE", "GOPROXY", "GOTOOLCHAIN", "GOFLAGS", "LANG",
		"FAKE_AGENT", "FIXTURES", "DEMO", "TERCET_ROOT", "TERCET_RUN", "GIT_CONFIG_NOSYSTEM",
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "CI",
		"NO_COLOR", "TERCET_NO_INPUT", "TERCET_TRUST", "XDG_STATE_HOME", "TERCET_RUNNER",
		"TERCET_MODEL", "TERCET_LOCK_TIMEOUT", "TERCET_LANGUAGE",
	} {
		if v := ts.Getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// tercetIn gives a folder with this test binary under the program's name.
func tercetIn(t *testing.T) string {
	t.Helper()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	bin, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	// a program that looks for its own file must find this name, and no link to another
	to := filepath.Join(bin, "tercet")
	if os.Link(self, to) == nil {
		return bin
	}

	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o700); err != nil {
		t.Fatal(err)
	}

	return bin
}

// cmdMeant: meant CODE WORD COMMAND ARGS... runs as exits does, and wants standard error to ask
// whether WORD was meant.
func cmdMeant(ts *testscript.TestScript, neg bool, args []string) {
	cmdExits(ts, neg, append([]string{args[0]}, args[2:]...))
	said := ts.ReadFile("stderr.txt")
	if !regexp.MustCompile(`did you mean .*` + regexp.QuoteMeta(args[1])).MatchString(said) {
		ts.Fatalf("nothing asks whether %s was meant:\n%s", args[1], said)
	}
}
