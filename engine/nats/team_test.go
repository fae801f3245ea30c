package nats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tercet/engine/nats/link"
)

// programs has tercet, tercet-hub and tercet-worker.
var programs string

func TestMain(m *testing.M) {
	if other := otherPrograms[filepath.Base(os.Args[0])]; other != nil {
		os.Exit(other())
	}
	os.Exit(func() int {
		if programs = os.Getenv("TERCET_TEAM_PROGRAMS"); programs != "" {
			return m.Run() // they are built already
		}

		var err error
		programs, err = os.MkdirTemp("", "team")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(programs) // the system removes it later

		for _, build := range [][]string{
			{"../..", "./cmd/tercet"}, {".", "./tercet-hub", "./tercet-worker"},
		} {
			args := append([]string{"build", "-o", programs + "/"}, build[1:]...)
			cmd := exec.Command("go", args...)
			cmd.Dir = build[0]
			if out, err := cmd.CombinedOutput(); err != nil {
				panic(fmt.Sprintf("go %q: %v\n%s", args, err, out))
			}
		}

		return m.Run()
	}())
}

// place is a team on one machine: a remote, the home, and clones, each with its own user's folder.
type place struct {
	t   *testing.T
	dir string
	own *process // the hub
}

// process is a running program with what it printed.
type process struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	said bytes.Buffer
	done chan struct{}
}

func (p *process) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(data)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// kill ends a program and what it started in its group, as if the machine had died. The number of
// one that has ended may belong to another program by now.
func (p *process) kill() {
	if p.ended() {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.done
}

// ended reports whether a program has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *place) env(user string) []string {
	var env []string
	for _, one := range os.Environ() {
		name, _, _ := strings.Cut(one, "=")
		switch name {
		case "HOME", "USER", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TERCET_ROOT", "TERCET_RUN",
			"TERCET_TEAM":
		default:
			env = append(env, one)
		}
	}
	return append(env, "HOME="+filepath.Join(p.dir, "HOME-"+user), "USER="+user,
		"PATH="+filepath.Join(p.dir, "HOME-"+user,
			"bin")+":"+programs+":"+os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1")
}

func (p *place) command(user, in string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	if path := filepath.Join(programs, args[0]); exists(path) {
		cmd.Path = path
		cmd.Err = nil
	}
	cmd.Dir = filepath.Join(p.dir, in)
	cmd.Env = p.env(user)
	return cmd
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run runs a program to its end and checks the exit code.
func (p *place) run(code int, user, in string, args ...string) string {
	p.t.Helper()
	cmd := p.command(user, in, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		p.t.Fatalf("%q ended with %v, want %d\n%s", args, err, code, out)
	}
	return string(out)
}

// onTeam is a line of a person, who has no clone.
func (p *place) onTeam(code int, line ...string) string {
	p.t.Helper()
	return p.run(code, "anna", ".", append([]string{"tercet", "--on", "team"}, line...)...)
}

// start starts a program in a group of its own.
func (p *place) start(user, in string, args ...string) *process {
	p.t.Helper()
	return p.launch(p.command(user, in, args...))
}

// launch starts a program in a group of its own.
func (p *place) launch(cmd *exec.Cmd) *process {
	p.t.Helper()
	one := &process{cmd: cmd, done: make(chan struct{})}
	one.cmd.Stdout = one
	one.cmd.Stderr = one
	one.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	if err := one.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}

	go func() {
		_ = one.cmd.Wait() // it is killed
		close(one.done)
	}()

	p.t.Cleanup(func() {
		one.kill()
		if p.t.Failed() {
			p.t.Logf("%q in %s said:\n%s", cmd.Args, cmd.Dir, one.text())
		}
	})

	return one
}

// under makes this test's program available under another name, and returns its path.
func (p *place) under(name string) string {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}

	path := filepath.Join(p.dir, name)
	if !exists(path) {
		if err := os.Symlink(self, path); err != nil {
			p.t.Fatal(err)
		}
	}

	return path
}

// until waits for something that happens sooner or later, however slow the machine is.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not happen", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *place) write(name, text string) {
	p.t.Helper()
	name = filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

const step = "```yaml step\n%s\n```\n\n"

func steps(list ...string) string {
	out := "\n## Workflow Execution\n\n"
	for i, s := range list {
		out += fmt.Sprintf("### Step %d: Step\n\n"+step, i+1, s)
	}
	return out
}

// newPlace makes a team with a hub and tasks.
func newPlace(t *testing.T, hub ...string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}

	for _, user := range []string{"owner", "one", "two", "anna"} {
		p.write("HOME-"+user+"/.gitconfig", "[user]\n\tname = "+user+"\n\temail = "+user+
			"@example.org\n[init]\n\tdefaultBranch = main\n")
	}

	p.run(0, "owner", ".", "git", "init", "-q", "--bare", "remote.git")
	p.run(0, "owner", ".", "git", "init", "-q", "home")
	p.run(0, "owner", "home", "tercet", "init")

	p.write("home/.tercet/commands/make.md", "---\ncommand: make\ndescription: Make\n"+
		"arguments: [{name: task_number, type: task, required: true}]\n"+
		"during: {status: implementing, failed: partial}\nworktree: {per: run}\n---\n"+
		steps("id: one\ndelegate: maker", "id: two\ndelegate: maker",
			"publish: {to: main, as: merge}",
			"status: partial"))
	p.write("home/.tercet/commands/ask.md", "---\ncommand: ask\ndescription: Ask\n---\n"+
		steps("gate: Go on?\nchoices: {yes: next, no: fail}"))
	p.write("home/.tercet/subagents/maker.md",
		"---\nname: maker\ndescription: Adds a line\nrole: utility\n"+
			"runner: exec\nargv: [sh, maker.sh]\nreturns: {statuses: "+
			"[completed, failed], artifacts: none}\n---\n\nWorks.\n")

	// pair waits for the file go
	p.write("home/.tercet/commands/pair.md", "---\ncommand: pair\ndescription: Make\n"+
		"arguments: [{name: task_number, type: task, required: true}]\nworktree: {per: run}\n---\n"+
		steps("delegate: pairer", "publish: {to: main, as: merge}"))
	p.write("home/.tercet/subagents/pairer.md",
		"---\nname: pairer\ndescription: Waits\nrole: utility\n"+
			"runner: exec\nargv: [sh, pair.sh]\nreturns: {statuses: "+
			"[completed, failed], artifacts: none}\n---\n\nWorks.\n")
	p.write("home/pair.sh", "name=$(basename \"$TERCET_ROOT\")\necho \"$name\" > pair-\"$name\"\n"+
		"until [ -e '"+p.dir+"'/go ]; do sleep 0.1; done\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")

	// worker one stays at the second line while the file hold is there
	p.write("home/maker.sh", "echo \"line by $(basename \"$TERCET_ROOT\")\" >> made.txt\n"+
		"if [ \"$(basename \"$TERCET_ROOT\") $(wc -l < made.txt)\" = \"one 2\" ]; then\n"+
		"  while [ -e '"+p.dir+"/hold' ]; do sleep 0.1; done\nfi\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")

	p.run(0, "owner", "home", "git", "add", "-A")
	p.run(0, "owner", "home", "git", "commit", "-q", "-m", "first")
	p.run(0, "owner", "home", "git", "remote", "add", "origin", filepath.Join(p.dir, "remote.git"))
	p.run(0, "owner", "home", "git", "push", "-q", "origin", "main")

	for _, name := range []string{"one", "two"} {
		p.run(0, "owner", ".", "git", "clone", "-q", "remote.git", name)
	}

	for _, title := range []string{"First", "Second", "Third"} {
		p.run(0, "owner", "home", "tercet", "task", "add", title)
	}

	p.agree("owner", "home")
	p.own = p.hub("127.0.0.1:0", hub...)
	p.untilReady()
	p.onTeam(0, "join", p.invite("anna"))

	return p
}

// untilReady waits until the hub lets workers in.
func (p *place) untilReady() {
	p.t.Helper()
	until(p.t, "the join word", func() bool {
		return strings.Contains(p.own.text(), "The word lets")
	})
}

// commit commits what the test wrote at the home, of which something can start programs, pushes it,
// and brings the clones to it.
func (p *place) commit() {
	p.t.Helper()
	p.push()
	p.agree("owner", "home")
}

// push is commit where nothing was written that can start programs.
func (p *place) push() {
	p.t.Helper()
	p.run(0, "owner", "home", "git", "add", "-A")
	p.run(0, "owner", "home", "git", "commit", "-q", "-m", "more")
	p.run(0, "owner", "home", "git", "push", "-q", "origin", "main")
	for _, name := range []string{"one", "two"} {
		p.run(0, name, name, "git", "pull", "-q")
	}
}

// invite gives a join word of the owner.
func (p *place) invite(args ...string) string {
	p.t.Helper()
	cmd := p.command("owner", "home",
		append([]string{"tercet", "--on", "team", "invite"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("invite %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// address is where the hub listens.
func (p *place) address() string {
	p.t.Helper()
	_, rest, _ := strings.Cut(p.own.text(), "The hub listens at ")
	address, _, ok := strings.Cut(rest, ". A worker")
	if !ok {
		p.t.Fatalf("the hub does not tell its address:\n%s", p.own.text())
	}
	return address
}

func (p *place) hub(listen string, more ...string) *process {
	return p.start("owner", "home", append([]string{
		"tercet", "hub", "--listen", listen, "--dead-after", "3s",
	}, more...)...)
}

func (p *place) worker(name string, more ...string) *process {
	p.t.Helper()
	args := slices.Concat([]string{"tercet", "worker"}, p.membership(name), more)
	return p.start(name, name, args...)
}

// membership are the flags of a worker: with those of a join word, unless it has a key already.
func (p *place) membership(name string) []string {
	p.t.Helper()
	if p.key(name) != "" {
		return nil
	}
	p.agree(name, name)
	return []string{"--name", name, "--join", p.invite("--worker")}
}

// key is the file with the key of a worker; empty: it has not joined.
func (p *place) key(name string) string {
	p.t.Helper()
	found, err := filepath.Glob(
		filepath.Join(p.dir, "HOME-"+name, ".local/state/tercet/team/workers/*.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// status is what the team does.
func (p *place) status() (s link.Team) {
	p.t.Helper()
	out := p.onTeam(0, "--json", "status")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		p.t.Fatalf("status: %v\n%s", err, out)
	}
	return s
}

// agree agrees to the files of a project that can start programs.
func (p *place) agree(user, dir string) {
	p.t.Helper()
	_, rest, ok := strings.Cut(p.run(77, user, dir, "tercet", "trust"), "--trust=")
	word, _, _ := strings.Cut(rest, " ")
	if !ok {
		p.t.Fatal("tercet trust names no digest")
	}
	p.run(0, user, dir, "tercet", "trust", "--trust="+word)
}

func (p *place) submit(line string, flags ...string) string {
	p.t.Helper()
	args := append([]string{"tercet", "--on", "team"}, flags...)
	return strings.TrimSpace(p.run(0, "anna", ".", append(args, strings.Fields(line)...)...))
}

// untilHeld waits until worker one is in the middle of the second step of a run.
func (p *place) untilHeld(run string) {
	p.t.Helper()
	until(p.t, "the second step", func() bool {
		return strings.Count(p.read("one/.tercet/worktrees/"+run+"/made.txt"), "\n") == 2
	})
}

// TestAWorkerIsKilled: its machine dies while an agent works. The other one finishes the run. The
// finished step is not done again, the work is published once, and verify finds no difference.
func TestAWorkerIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("hold", "")
	one := p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)

	p.worker("two")
	one.kill()
	died := time.Now()
	p.onTeam(0, "tell", run, "keep it short")

	until(t, "the takeover", func() bool {
		return strings.Contains(p.own.text(), "is silent, two goes on")
	})
	t.Logf("taken over after %s", time.Since(died).Round(time.Millisecond))

	p.onTeam(0, "wait", run)
	if out := p.onTeam(0, "show", run); !strings.Contains(out, "keep it short") {
		t.Errorf("show does not tell the message:\n%s", out)
	}

	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Error(err)
	}

	if got := p.read("home/made.txt"); got != "line by one\nline by two\n" {
		t.Errorf("published: %q, want a line of each worker", got)
	}
	if out := p.onTeam(0, "verify", run); !strings.Contains(out, "identical") {
		t.Errorf("verify: %s", out)
	}
	if out := p.onTeam(0, "status"); !strings.Contains(out, run+"  ended") {
		t.Errorf("status: %s", out)
	}

	out := p.run(0, "owner", "home", "git", "worktree", "list")
	if strings.Contains(out, "worktrees/") {
		t.Errorf("the home has a worktree left:\n%s", out)
	}
}

// TestAFrozenWorker thaws after another one has taken its run: nothing of it counts.
func TestAFrozenWorker(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("hold", "")
	one := p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)

	if err := syscall.Kill(-one.cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	p.worker("two")
	p.onTeam(0, "wait", run)

	journal := p.read("home/.tercet/runs/" + run + "/journal.jsonl")

	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Error(err)
	}

	if err := syscall.Kill(-one.cmd.Process.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}

	until(t, "the end of the late attempt", func() bool {
		return strings.Contains(one.text(), "exit ")
	})

	if strings.Contains(one.text(), "exit 0") {
		t.Errorf("the late worker said:\n%s", one.text())
	}
	if now := p.read("home/.tercet/runs/" + run + "/journal.jsonl"); now != journal {
		t.Error("the late worker changed the journal")
	}
	if got := p.read("home/made.txt"); got != "line by one\nline by two\n" {
		t.Errorf("published: %q, want a line of each worker", got)
	}
}

// TestAQuestionIsAnsweredElsewhere: it frees its worker, and the answer of somebody on a third
// machine lets the run go on. Another run is cancelled while it waits.
func TestAQuestionIsAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.worker("one")
	run := p.submit("/ask")
	p.onTeam(75, "wait", run)
	other := p.submit("/make 2") // the worker is free
	p.onTeam(0, "wait", other)
	if out := p.onTeam(0, "gates"); !strings.Contains(out, "Go on?") {
		t.Errorf("gates: %s", out)
	}
	p.onTeam(0, "approve", run)
	p.onTeam(0, "wait", run)
	j := p.read("home/.tercet/runs/" + run + "/journal.jsonl")
	if !strings.Contains(j, `"by":"anna"`) {
		t.Errorf("the journal does not tell who answered:\n%s", j)
	}
	if out := p.onTeam(0, "show", run); !strings.Contains(out, "completed") {
		t.Errorf("show: %s", out)
	}

	again := p.submit("/ask")
	p.onTeam(75, "wait", again)
	// the hub holds the run, and reads no orders of the home's own verb
	if out := p.run(1, "owner", "home", "tercet", "cancel", again); !strings.Contains(
		out, "tercet --on team cancel "+again,
	) {
		t.Errorf("cancel at the home: %s", out)
	}
	p.onTeam(0, "cancel", again)
	p.onTeam(130, "wait", again)
}

// TestAQuestionForTwo: the answer of one user is counted, and the run waits for the other one. A
// question with a timeout gets its answer when the time has come.
func TestAQuestionForTwo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("home/.tercet/commands/both.md", "---\ncommand: both\ndescription: Ask two\n---\n"+
		steps("gate: Go on?\nchoices: {yes: next, no: fail}\nquorum: 2"))
	p.write("home/.tercet/commands/hurry.md", "---\ncommand: hurry\ndescription: Ask\n---\n"+
		steps("gate: Go on?\nchoices: {no: fail, yes: next}\ntimeout: {after: 3s, choose: yes}"))
	p.commit()
	p.worker("one")
	run := p.submit("/both")
	p.onTeam(75, "wait", run)
	p.onTeam(0, "approve", run)
	until(t, "the vote", func() bool {
		return strings.Contains(p.read("home/.tercet/runs/"+run+"/journal.jsonl"), `"gate_voted"`)
	})
	p.onTeam(75, "wait", run)
	p.onTeam(1, "approve", run)
	p.run(0, "owner", ".", "tercet", "--on", "team", "approve", run)
	p.onTeam(0, "wait", run)
	p.onTeam(0, "verify", run)

	p.submit("/hurry") // nobody answers it
	until(t, "the answer by the timeout", func() bool {
		return !slices.ContainsFunc(p.status().Runs, func(r link.Run) bool {
			return r.State != "ended" || r.Code != 0
		})
	})
}

// TestWrongUses of the team's verbs name what was wrong and what to do.
func TestWrongUses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct {
		code int
		says string
		args string
	}{
		{2, "expected one of status", "tercet --on team init"},
		{2, "--on", "tercet --on nobody status"},
		{2, "expected a line or a verb", "tercet --on team"},
		{2, "unknown command '/mak'", "tercet --on team /mak 1"},
		{2, "task_number", "tercet --on team /make"},
		{2, "-C does not go with", "tercet --on team show -C / x"},
		{6, "the team has no run", "tercet --on team pause nothing"},
		{2, "expected one run", "tercet --on team cancel"},
	} {
		out := p.run(c.code, "anna", ".", strings.Fields(c.args)...)
		if !strings.Contains(out, c.says) || !strings.Contains(out, "help:") {
			t.Errorf("%s:\n%swant %q and help", c.args, out, c.says)
		}
	}

	second := p.hub("127.0.0.1:0")
	<-second.done
	if second.cmd.ProcessState.Success() || !strings.Contains(second.text(), "team.lock") {
		t.Errorf("a second hub at the same home said:\n%s", second.text())
	}
}

// TestMembers: each member has a key of its own, which does what its role may do and nothing else,
// until the owner takes the membership back.
func TestMembers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	says := func(code int, user, want string, args ...string) {
		t.Helper()
		out := p.run(code, user, ".", append([]string{"tercet", "--on", "team"}, args...)...)
		if !strings.Contains(out, want) {
			t.Errorf("%s, %q:\n%swant %q", user, args, out, want)
		}
	}
	says(0, "anna", "anna                 person", "members")
	says(77, "anna", "only the owner of the team invites members; you are anna, a person", "invite",
		"eve")
	says(77, "anna", "only the owner of the team removes members", "remove", "owner")
	says(78, "one", "this user or clone belongs to no team", "status")

	once := p.invite("bob")
	says(0, "one", "You are bob, a person", "join", once)
	says(77, "two", "does not let this key or join word in", "join", once)
	says(2, "two", "expected a join word", "join", "127.0.0.1:1#nonsense")
	flipped := []byte(p.invite("carl"))
	if at := len(flipped) - 5; flipped[at] == 'A' {
		flipped[at] = 'B'
	} else {
		flipped[at] = 'A'
	}
	says(77, "two", "does not let this key or join word in", "join", string(flipped))

	says(1, "owner", "the team has a member bob already", "invite", "bob")
	says(2, "owner", "expected the name of the person", "invite")
	says(2, "owner", "expected 1 to 1000 uses, got 0", "invite", "--worker", "--uses", "0")
	says(2, "owner", "expected a time from one minute", "invite", "dora", "--for", "1s")
	says(2, "owner", "small letters", "invite", "Dora.Maar")
	says(6, "owner", "the team has no member", "remove", "nobody")
	says(2, "owner", "cannot be removed", "remove", "owner")

	says(0, "owner", "bob is no member any more", "remove", "bob")
	says(77, "one", "does not let this key or join word in", "status")
}

// TestARemovedWorker loses its run at once, and ends. Another one goes on, and joins by a word that
// several may use.
func TestARemovedWorker(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "--dead-after", "10m")
	p.write("hold", "")
	one := p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)
	p.run(0, "owner", ".", "tercet", "--on", "team", "remove", "one")
	<-one.done
	if got := one.cmd.ProcessState.ExitCode(); got != 77 ||
		!strings.Contains(one.text(), "does not let this key or join word in") {
		t.Errorf("the removed worker ended with %d:\n%s", got, one.text())
	}
	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Error(err)
	}

	p.agree("two", "two")
	word := p.invite("--worker", "--uses", "2")
	two := p.start("two", "two", "tercet", "worker", "--name", "one", "--join", word)
	p.onTeam(0, "wait", run)
	two.kill()
	two = p.start("two", "two", "tercet", "worker", "--join", word) // it has its key already
	until(t, "the worker", func() bool { return strings.Contains(two.text(), "ready in") })
	if out := p.run(75, "two", "two", "tercet", "worker"); !strings.Contains(out, "already") {
		t.Errorf("a second worker in a clone:\n%s", out)
	}
	p.onTeam(0, "--wait", "/make", "2,3")
	if got := strings.Count(p.read("home/made.txt"), "\n"); got != 6 {
		t.Errorf("three runs published %d lines, want 6", got)
	}
	if out := p.onTeam(0, "members"); strings.Count(out, "worker") != 1 {
		t.Errorf("members:\n%swant one worker", out)
	}
}

// TestAnIdleWorkerStops while it waits for a run: the next run goes to another worker at once.
func TestAnIdleWorkerStops(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "--dead-after", "10m")

	one := p.worker("one")
	until(t, "the first worker", func() bool { return len(p.status().Workers) == 1 })

	if err := one.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	run := p.submit("/make 1")
	until(t, "the end of the first worker", one.ended)
	p.worker("two")
	until(t, "the end of the run", func() bool { return p.status().Runs[0].State == "ended" })

	p.onTeam(0, "verify", run)
}

// TestLabels: a run goes only to a worker that has what the line and the command need. A worker
// that is drained takes no more runs and ends.
func TestLabels(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one := p.worker("one", "--labels", "linux")
	run := p.submit("/make 1", "--needs=gpu")
	until(t, "the reason", func() bool {
		out := p.onTeam(0, "status")
		return strings.Contains(out, "it lacks the labels gpu")
	})
	other := p.submit("/make 2") // the worker is not kept busy by what it cannot do
	p.onTeam(0, "wait", other)
	p.agree("two", "two")
	p.start("two", "two", "env", "TERCET_TEAM="+p.invite("--worker", "--uses", "5"), "tercet",
		"worker",
		"--labels", "gpu,linux")
	p.onTeam(0, "wait", run)
	got := p.read("home/made.txt")
	if got != strings.Repeat("line by one\n", 2)+strings.Repeat("line by two\n", 2) {
		t.Errorf("published: %q, want the lines of one, then those of two", got)
	}

	p.run(0, "one", "one", "tercet", "worker", "--drain")
	<-one.done
	if !one.cmd.ProcessState.Success() || !strings.Contains(one.text(), "takes no more runs") {
		t.Errorf("the drained worker said:\n%s", one.text())
	}
	p.run(6, "one", "one", "tercet", "worker", "--drain")
}

// signIn is the link that a running 'tercet serve' printed.
var signIn = regexp.MustCompile(`http://\S+\?code=\S+`)

// TestThePageOfTheTeam: 'tercet serve' at the home and at a member's shows the workers, the queue
// and the runs of the team as they change; a question is answered there, and the run goes on.
// 'watch' prints the same changes.
func TestThePageOfTheTeam(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	watch := p.start("anna", ".", "tercet", "--on", "team", "watch")
	p.run(0, "anna", ".", "git", "clone", "-q", "remote.git", "hers")
	first := p.submit("/ask")
	home := p.page("owner", "home")
	hers := p.page("anna", "hers")
	home.until("/team", "0 workers, 0 at work, 1 in the queue")
	hers.until("/team", first)

	p.worker("one")

	for _, one := range []*browser{home, hers} {
		one.until("/team", ">one<")
		one.until("/team/"+first, `name="gate"`) // the form; the run's state names the question before
	}

	until(t, "the question in watch", func() bool {
		return strings.Contains(watch.text(), first+"  waiting")
	})

	page := hers.get("/team/" + first)
	if code := hers.post(page, "/team/"+first+"/answer", url.Values{"choice": {"0"}}); code != 303 {
		t.Errorf("the answer gives %d", code)
	}

	p.onTeam(0, "wait", first)
	home.until("/team", "Recent")
	home.until("/team/"+first, "completed")

	j := p.read("home/.tercet/runs/" + first + "/journal.jsonl")
	if !strings.Contains(j, `"by":"anna"`) {
		t.Errorf("the journal does not tell who answered:\n%s", j)
	}

	if code := hers.post(page, "/team/"+first+"/answer", url.Values{"choice": {"1"}}); code != 409 {
		t.Errorf("a second answer gives %d", code)
	}

	out := p.onTeam(1, "approve", first, "--gate", "other")
	if !strings.Contains(out, "ended") {
		t.Errorf("approve after the end: %s", out)
	}

	until(t, "the end of the run in watch", func() bool {
		said := watch.text()
		return strings.Contains(said, first+"  ended") && strings.Contains(said, "worker one")
	})

	p.onTeam(2, "watch", "it")
}

// browser is a signed-in browser of a page.
type browser struct {
	t      *testing.T
	client *http.Client
	host   string
}

// page serves the page of a project for a user, and signs in.
func (p *place) page(user, in string) *browser {
	p.t.Helper()
	one := p.start(user, in, "tercet", "serve")
	until(p.t, "the link", func() bool { return signIn.MatchString(one.text()) })
	at := signIn.FindString(one.text())

	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}

	host, _, _ := strings.Cut(strings.TrimPrefix(at, "http://"), "/")
	port := host[strings.LastIndex(host, ":"):]

	b := &browser{t: p.t, host: host, client: &http.Client{
		Jar:           jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// browsers know that such a name leads to loopback
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1"+port)
			},
		},
	}}

	b.get(strings.TrimPrefix(at, "http://"+host))
	return b
}

func (b *browser) get(path string) string {
	b.t.Helper()
	answer, err := b.client.Get("http://" + b.host + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}

	return string(text)
}

// until asks for a page until it has a text.
func (b *browser) until(path, text string) {
	b.t.Helper()
	page := ""

	defer func() {
		if b.t.Failed() {
			b.t.Logf("%s is %s", path, page)
		}
	}()

	until(b.t, path+" with "+text, func() bool {
		page = b.get(path)
		return strings.Contains(page, text)
	})
}

// post posts the form of a page.
func (b *browser) post(page, path string, values url.Values) int {
	b.t.Helper()
	for _, m := range regexp.MustCompile(`name="(token|gate)" value="([^"]*)"`).
		FindAllStringSubmatch(page, -1) {
		values.Set(m[1], m[2])
	}

	r, err := http.NewRequest(http.MethodPost, "http://"+b.host+path,
		strings.NewReader(values.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://"+b.host)

	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	answer.Body.Close()

	return answer.StatusCode
}
