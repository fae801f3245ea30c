package nats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSlots: a worker with two slots works on two runs at once, each in a clone of its own. The
// user agrees once, in the clone where the worker was started. Nothing asks about moved refs.
func TestSlots(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("HOME-one/.config/tercet/config.yaml", "worker: {slots: 2, labels: [pairs]}\n")
	one := p.worker("one")
	runs := strings.Fields(p.submit("/pair 1,2", "--needs=pairs"))

	until(t, "the work of two runs at once", func() bool {
		first, err := filepath.Glob(filepath.Join(p.dir, "one/.tercet/worktrees/*/pair-one"))
		if err != nil {
			t.Fatal(err)
		}
		second, err := filepath.Glob(filepath.Join(p.dir, "one.slots/2/.tercet/worktrees/*/pair-2"))
		if err != nil {
			t.Fatal(err)
		}
		return len(first) == 1 && len(second) == 1
	})

	p.write("go", "")
	for _, run := range runs {
		p.onTeam(0, "wait", run)
	}

	for _, name := range []string{"one", "2"} {
		if got := p.read("home/pair-" + name); got != name+"\n" {
			t.Errorf("the work in clone %s was not published: %q", name, got)
		}
	}

	if text := one.text(); strings.Contains(text, "exit 75") ||
		!strings.Contains(text, "worker one/2: ready") {
		t.Errorf("the worker said:\n%s", text)
	}

	out := p.onTeam(0, "status")
	for _, name := range []string{"worker one ", "worker one/2 "} {
		if !strings.Contains(out, name) {
			t.Errorf("status:\n%swant %q", out, name)
		}
	}

	// a clone that was not finished is made anew; a wrong number is refused
	p.run(0, "one", "one", "tercet", "worker", "--drain")
	<-one.done
	if err := os.RemoveAll(filepath.Join(p.dir, "one.slots")); err != nil {
		t.Fatal(err)
	}
	p.write("one.slots/2.unfinished/junk", "")
	p.run(2, "one", "one", "tercet", "worker", "--slots", "-1")
	again := p.start("one", "one", "tercet", "worker", "--slots", "2")
	until(t, "the second slot", func() bool {
		return strings.Contains(again.text(), "worker one/2: ready")
	})
	if p.read("one.slots/2/pair.sh") == "" ||
		exists(filepath.Join(p.dir, "one.slots/2.unfinished")) {
		t.Error("the clone was not made anew")
	}
}

// TestSetup: the project's setup command prepares a fresh clone once, before its worker takes a
// run. While it fails, the worker takes none and says why.
func TestSetup(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("home/.tercet/config.yaml", "setup: [sh, setup.sh]\n")
	p.write("home/setup.sh", "echo ran >> '"+p.dir+"'/setups\n"+
		"[ $(basename $PWD) = two ] || { echo 'no compiler here'; exit 3; }\n")
	p.commit()

	p.worker("one")
	run := p.submit("/make 1")

	until(t, "the reason", func() bool {
		out := p.onTeam(0, "status")
		return strings.Contains(out, "queued") &&
			strings.Contains(out, "setup: sh setup.sh ended with 3: no compiler here")
	})

	p.worker("two")
	p.onTeam(0, "wait", run)
	p.onTeam(0, "--wait", "/make", "2")

	if got := strings.Count(p.read("setups"), "ran"); got != 2 {
		t.Errorf("the setup command ran %d times, want once in each clone", got)
	}
	if got := p.read("home/made.txt"); got != strings.Repeat("line by two\n", 4) {
		t.Errorf("published: %q", got)
	}
}

// TestOtherFiles: a worker whose clone has other files that can start a program, or whose user has
// not agreed to them, takes no run; the status names them. One that is only behind catches up.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	status := func(want string) {
		t.Helper()
		until(t, want, func() bool {
			return strings.Contains(p.onTeam(0, "status"), want)
		})
	}
	p.write("home/maker.sh", p.read("home/maker.sh")+"# another\n")
	out := p.onTeam(77, "/make", "1")
	if !strings.Contains(out, "the owner of the home has not agreed to 1 of") {
		t.Errorf("a line that the owner has not agreed to:\n%s", out)
	}
	p.agree("owner", "home")
	run := p.submit("/make 1")
	p.worker("one")
	status("other files can start a program in its clone than at the home: maker.sh")

	p.run(0, "owner", "home", "git", "commit", "-q", "-a", "-m", "another")
	status("nobody has agreed to 1 of")
	p.agree("one", "one")
	p.onTeam(0, "wait", run)
}

// TestOtherVersion: a worker with another tercet takes no new run, and the status says which
// versions there are.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("old",
		"#!/bin/sh\n[ \"$1\" = --version ] && { echo tercet 0.0.1; exit; }\nexec tercet \"$@\"\n")
	if err := os.Chmod(filepath.Join(p.dir, "old"), 0o755); err != nil {
		t.Fatal(err)
	}

	p.agree("one", "one")
	p.start("one", "one", "env", "TERCET_PROGRAM="+filepath.Join(p.dir, "old"), "tercet-worker",
		"--name", "one", "--join", p.invite("--worker"))

	run := p.submit("/make 1")
	until(t, "the reason", func() bool {
		out := p.onTeam(0, "status")
		return strings.Contains(out, "worker one: it has tercet 0.0.1, and the home has tercet ")
	})

	p.worker("two")
	p.onTeam(0, "wait", run)
}

// TestAccounts: a run that meets the usage limit of an account tells the home. Another worker whose
// agents have the same account does not meet it too: its run waits for the same time.
func TestAccounts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("home/.tercet/commands/think.md", "---\ncommand: think\ndescription: Think\n---\n"+
		steps("delegate: thinker"))
	p.write("home/.tercet/subagents/thinker.md", "---\nname: thinker\ndescription: Thinks\n"+
		"role: utility\nrunner: claude\nreturns: {artifacts: none}\n---\n\nThinks.\n")
	p.commit()

	for _, name := range []string{"one", "two"} {
		p.write("HOME-"+name+"/.config/tercet/config.yaml",
			"sandbox: {agents: off}\nworker: {account: plan, labels: ["+name+"]}\n")
		p.write("HOME-"+name+"/bin/claude",
			"#!/bin/sh\n[ \"$1\" = --version ] && { echo 2.1.329; exit; }\n"+
				"cat > /dev/null\necho call >> \"$HOME/calls\"\n"+
				`echo '{"type": "result", "subtype": "success", "is_error": true, `+
				`"api_error_status": 429, `+
				`"result": "You have hit your session limit, which resets in 3 hours"}'`+"\n"+
				"exit 1\n")
		err := os.Chmod(filepath.Join(p.dir, "HOME-"+name, "bin/claude"), 0o755)
		if err != nil {
			t.Fatal(err)
		}
		p.worker(name)
	}

	for _, c := range []struct{ name, calls, why string }{
		{"one", "call\n", "hit your session limit"},
		{"two", "", "met this limit of the same account until "},
	} {
		run := p.submit("/think", "--needs="+c.name)
		if out := p.onTeam(75, "wait", run); !strings.Contains(out, c.why) {
			t.Errorf("the run on %s:\n%swant %q", c.name, out, c.why)
		}
		if got := p.read("HOME-" + c.name + "/calls"); got != c.calls {
			t.Errorf("the agent of %s was called %q, want %q", c.name, got, c.calls)
		}
	}
}

// TestRequestFromTheWorker: the worker opens the request where it is logged in, else the home does,
// each time once.
func TestRequestFromTheWorker(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("home/.tercet/commands/ship.md", "---\ncommand: ship\ndescription: Ship\n"+
		"worktree: {per: run}\n---\n"+steps("delegate: maker", "publish: {to: main, as: pr}"))
	p.commit()

	for _, name := range []string{"one", "owner"} {
		p.write("HOME-"+name+"/bin/gh", `#!/bin/sh
cd "${0%/*}" || exit 1
case "$1 $2" in
"auth status") test -e loggedin ;;
"pr list") if [ -e pr ]; then
	echo '[{"url":"https://example.org/1","state":"OPEN","headRefOid":"x","baseRefName":"main","isCrossRepository":false}]'
else echo '[]'; fi ;;
"pr create") echo "$*" >> pr; echo https://example.org/1 ;;
*) exit 1 ;;
esac
`)
		if err := os.Chmod(filepath.Join(p.dir, "HOME-"+name, "bin/gh"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	p.write("HOME-one/bin/loggedin", "")
	p.write("HOME-owner/bin/loggedin", "")
	p.worker("one")

	for _, by := range []string{"one", "owner"} {
		run := p.submit("/ship")
		p.onTeam(0, "wait", run)

		got := p.read("HOME-" + by + "/bin/pr")
		if strings.Count(got, "pr create --head=tercet/"+run) != 1 {
			t.Errorf("requests by %s: %q, want one for run %s", by, got, run)
		}

		branches := p.run(0, "owner", "remote.git", "git", "for-each-ref", "refs/heads/tercet/"+run)
		if !strings.Contains(branches, run) {
			t.Errorf("the branch of run %s was not pushed", run)
		}

		if err := os.Remove(filepath.Join(p.dir, "HOME-one/bin/loggedin")); err != nil &&
			by == "one" {
			t.Fatal(err)
		}
	}

	if got := p.read("home/made.txt"); got != "" {
		t.Errorf("a request changed main: %q", got)
	}
}

// TestTooLarge: a document that is no message stops its run at once, with the reason and advice.
// The worker goes on with other runs.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("home/.tercet/commands/big.md", "---\ncommand: big\ndescription: Write a lot\n---\n"+
		steps("delegate: writer"))
	p.write("home/.tercet/subagents/writer.md", "---\nname: writer\ndescription: Writes\n"+
		"role: utility\nrunner: exec\nargv: [sh, write.sh]\nreturns: {artifacts: none}\n---\n"+
		"\nWrites.\n")
	p.write("home/write.sh", "echo call >> \"$TERCET_OUT\"/calls\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
	p.commit()

	// a document of the project that every taker gets
	name := filepath.Join(p.dir, "home/.tercet/specs/001_first/big.md")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	err := os.WriteFile(name, []byte(strings.Repeat("0123456789abcde\n", 200<<16)), 0o644)
	if err != nil {
		t.Fatal(err)
	}

	one := p.worker("one")
	run := p.submit("/big")

	out := p.onTeam(1, "wait", run)
	if !strings.Contains(out, "has 200 MB of journal and documents: expected at most 192 MB") {
		t.Errorf("wait says:\n%s", out)
	}

	if n := strings.Count(one.text(), "exit 7"); n != 1 {
		t.Errorf("%d attempts, want one:\n%s", n, one.text())
	}

	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	p.onTeam(0, "resume", run)
	p.onTeam(0, "wait", run)
}
