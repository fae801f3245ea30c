package nats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a program into the folder of a user that comes first in PATH.
func (p *place) program(user, name, text string) {
	p.t.Helper()
	p.write("HOME-"+user+"/bin/"+name, text)
	if err := os.Chmod(filepath.Join(p.dir, "HOME-"+user, "bin", name), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// TestUserConfig: hub, workers and persons take their defaults from the user's own config.yaml, and
// a flag wins. One limit of the team is reached after the other.
func TestUserConfig(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("home/.tercet/commands/think.md", "---\ncommand: think\ndescription: Think\n---\n"+
		steps("delegate: thinker", "delegate: thinker"))
	p.write("home/.tercet/subagents/thinker.md", "---\nname: thinker\ndescription: Thinks\n"+
		"role: utility\nrunner: claude\nreturns: {artifacts: none}\n---\n\nThinks.\n")
	p.commit()
	address := p.address()
	p.own.kill()
	p.write("HOME-owner/.config/tercet/config.yaml", "team:\n  url: nats://"+address+
		"\n  dead_after: 4s\n  limits: {cost: 0.5, spawns: 1}\n")
	start := func(flags ...string) {
		t.Helper()
		p.own = p.start("owner", "home", append([]string{"tercet", "hub"}, flags...)...)
		p.untilReady()
	}
	start()
	if got := p.address(); got != address {
		t.Errorf("the hub listens at %s, want %s of the configuration", got, address)
	}

	// the key lies where the configuration says, and the address is the one there
	p.write("HOME-bob/.config/tercet/config.yaml",
		"team: {url: 'nats://127.0.0.1:1', key: ~/.config/tercet/team.key}\n")
	p.run(0, "bob", ".", "tercet", "--on", "team", "join", p.invite("bob"))
	if p.read("HOME-bob/.config/tercet/team.key") == "" ||
		p.read("HOME-bob/.local/state/tercet/team/member.json") != "" {
		t.Error("the key is not where the configuration says")
	}
	out := p.run(1, "bob", ".", "tercet", "--on", "team", "status")
	if !strings.Contains(out, "127.0.0.1:1") {
		t.Errorf("status asked elsewhere than at the address of the configuration:\n%s", out)
	}
	p.write("HOME-bob/.config/tercet/config.yaml", "team: {key: ~/.config/tercet/team.key}\n")
	p.run(0, "bob", ".", "tercet", "--on", "team", "status")
	p.write("HOME-bob/.config/tercet/config.yaml", "team: {url: nowhere}\n")
	if out := p.run(78, "bob", ".", "tercet", "--on", "team", "status"); !strings.Contains(out,
		"config.yaml:1:13: E060: expected address of a hub such as nats://10.0.0.5:4333 for "+
			"team.url") {
		t.Errorf("a wrong configuration:\n%s", out)
	}

	// the snapshots go to the remote of the configuration
	p.run(0, "owner", ".", "git", "init", "-q", "--bare", "other.git")
	p.run(0, "one", "one", "git", "remote", "rename", "origin", "upstream")
	p.run(0, "one", "one", "git", "remote", "add", "origin", filepath.Join(p.dir, "other.git"))
	p.run(0, "one", "one", "git", "config", "remote.pushDefault", "origin")
	p.write("HOME-one/.config/tercet/config.yaml",
		"sandbox: {agents: off}\nteam: {remote: upstream}\n")

	p.program("one", "claude", "#!/bin/sh\n[ \"$1\" = --version ] && { echo 2.1.329; exit; }\n"+
		"cat > /dev/null\necho '{\"status\": \"completed\", "+
		"\"summary\": \"thought\"}' > \"$TERCET_RETURN\"\n"+
		`echo '{"type": "result", "subtype": "success", "is_error": false, "result": "done", `+
		`"total_cost_usd": 0.6}'`+"\n")

	p.worker("one")
	run := p.submit("/make 1")

	waits := func(run, why string) {
		t.Helper()
		out := p.onTeam(75, "wait", run)
		if !strings.Contains(out, why) {
			t.Errorf("wait says:\n%swant %q", out, why)
		}
	}

	waits(run, "the team may start 1 workers, and has started as many")
	refs := p.run(0, "owner", "remote.git", "git", "for-each-ref", "refs/tercet/runs/"+run)
	if refs == "" {
		t.Error("the remote of the configuration has no snapshot")
	}

	if refs := p.run(0, "owner", "other.git", "git", "for-each-ref"); refs != "" {
		t.Errorf("another remote has %s", refs)
	}

	p.own.kill()
	start("--spawns", "100")
	p.onTeam(0, "resume", run)
	p.onTeam(0, "wait", run)

	run = p.submit("/think")
	waits(run, "the workers of the team may cost $0.50, and have cost $0.60")
	p.own.kill()
	start("--spawns", "100") // it reads from the journals what was spent
	p.onTeam(0, "resume", run)
	waits(run, "the workers of the team may cost $0.50, and have cost $0.60")
	p.own.kill()
	start("--spawns", "100", "--cost", "2")
	p.onTeam(0, "resume", run)
	p.onTeam(0, "wait", run)
}

// TestPublishByRequest: where the owner's configuration says publish: pr, the home opens a request
// for what a run would merge.
func TestPublishByRequest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	address := p.address()

	p.own.kill()
	p.write("HOME-owner/.config/tercet/config.yaml", "team: {publish: pr}\n")

	p.program("owner", "gh", `#!/bin/sh
cd "${0%/*}" || exit 1
case "$1 $2" in
"auth status") exit 0 ;;
"pr list") echo '[]' ;;
"pr create") echo "$*" >> pr; echo https://example.org/1 ;;
*) exit 1 ;;
esac
`)

	p.own = p.hub(address)
	p.untilReady()

	p.worker("one")
	run := p.submit("/make 1")
	p.onTeam(0, "wait", run)

	if got := p.read("HOME-owner/bin/pr"); strings.Count(got, "pr create --head=task/1") != 1 {
		t.Errorf("the owner's gh was called %q, want one request", got)
	}
	if got := p.read("home/made.txt"); got != "" {
		t.Errorf("the work was merged: %q", got)
	}

	p.onTeam(0, "verify", run)
}

// TestHelpKeepsTheJoinWord: the help of a worker does not print the secret of its environment.
func TestHelpKeepsTheJoinWord(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	out := p.run(0, "one", ".", "env", "TERCET_TEAM=127.0.0.1:1#secret", "tercet-worker", "--help")
	if !strings.Contains(out, "-join word") || strings.Contains(out, "secret") {
		t.Errorf("the help is: %s", out)
	}

	out = p.run(2, "one", ".", "env", "TERCET_TEAM=127.0.0.1:1#secret", "tercet-worker", "--jion",
		"x")
	if strings.Contains(out, "secret") {
		t.Errorf("wrong words are answered with: %s", out)
	}
}
