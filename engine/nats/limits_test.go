package nats_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestBudgetOfTheTeam: four workers may start a number of agents together. Exactly so many start;
// the runs beyond wait with the reason, and go on with a larger budget. With workers that die
// meanwhile no more start, because what they had reserved counts.
func TestBudgetOfTheTeam(t *testing.T) {
	t.Parallel()
	for _, kills := range []int{0, 3} {
		t.Run(fmt.Sprint(kills, " kills"), func(t *testing.T) {
			t.Parallel()
			const spawns = 5

			p := newPlace(t, "--spawns", fmt.Sprint(spawns))
			// every start of an agent is a line
			p.write("home/maker.sh", "echo \"$$\" >> '"+p.dir+"'/starts\nsleep 0.3\n"+
				"echo line >> work-$(git symbolic-ref --short HEAD | tr / -)\n"+
				`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
			p.commit()

			const workers = 4
			list := make([]*process, workers)
			for i := range list {
				// the agents write beside their clone
				p.write(fmt.Sprint("HOME-w", i, "/.config/tercet/config.yaml"),
					"sandbox: {order: [advisory_only], agents: off}\n")
				list[i] = p.anotherWorker(i)
			}

			for n := 4; n <= 6; n++ {
				p.run(0, "owner", "home", "tercet", "task", "add", fmt.Sprint("Task ", n))
			}

			runs := strings.Fields(p.submit("/make 1-6")) // twelve agents

			random := rand.New(rand.NewPCG(*manySeed, 1))
			for range kills {
				time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
				i := random.IntN(workers)
				list[i].kill()
				list[i] = p.anotherWorker(i)
			}

			until(t, "that every run ended or waits", func() bool {
				for _, r := range p.status().Runs {
					if r.State == "running" || r.State == "queued" {
						return false
					}
				}
				return true
			})

			got := strings.Count(p.read("starts"), "\n")
			if got > spawns || kills == 0 && got < spawns {
				t.Errorf("%d agents were started, want %d", got, spawns)
			}

			waiting := ""
			for _, r := range p.status().Runs {
				switch {
				case r.State == "ended" && r.Code == 0:
				case r.State == "waiting" && strings.Contains(r.Why,
					"the team may start 5 workers, and has started as many"):
					waiting = r.Run
				default:
					t.Errorf("run %s: %s %d %s", r.Run, r.State, r.Code, r.Why)
				}
			}

			if len(runs) != 6 || waiting == "" {
				t.Fatalf("of %q none waits", runs)
			}

			if kills > 0 {
				return
			}

			address := p.address()
			p.own.kill()
			p.own = p.hub(address, "--spawns", "20")
			p.untilReady()

			p.onTeam(0, "resume", waiting)
			p.onTeam(0, "wait", waiting)
		})
	}
}

// anotherWorker starts a worker beyond one and two, in a clone of its own.
func (p *place) anotherWorker(i int) *process {
	p.t.Helper()
	name := fmt.Sprint("w", i)
	if !exists(p.dir + "/" + name) {
		p.write("HOME-"+name+"/.gitconfig", "[user]\n\tname = "+name+"\n\temail = w@example.org\n")
		p.run(0, name, ".", "git", "clone", "-q", "remote.git", name)
	}
	return p.worker(name)
}
