// Tercet-hub is the home of a team. 'tercet hub' starts it in the owner's workspace.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"tercet/engine/nats/edge"
	"tercet/engine/nats/hub"
	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/project"
)

func main() {
	edge.Main(func(ctx context.Context, args []string) (int, error) {
		return 0, run(ctx, args)
	})
}

func tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// options are the flags of the hub. What is zero is as config.yaml says.
type options struct {
	dir       string
	listen    string
	deadAfter time.Duration
	limits    config.TeamLimits
}

// parse reads the arguments. done is true after --help.
func parse(args []string) (o options, done bool, err error) {
	f := flag.NewFlagSet("tercet hub", flag.ContinueOnError)
	f.StringVar(&o.listen, "listen", "",
		"the `address` to listen at (team.url of your config.yaml, or "+defaultAddress+")")
	f.DurationVar(&o.deadAfter, "dead-after", 0,
		"a worker that is silent so long has lost its run (team.dead_after, or 30s)")
	f.IntVar(&o.limits.Spawns, "spawns", 0, "how many workers' agents the whole team may start "+
		"(team.limits.spawns, or no bound)")
	f.Float64Var(&o.limits.Cost, "cost", 0,
		"how many US dollars the agents of the whole team may cost "+
			"(team.limits.cost, or no bound)")
	f.StringVar(&o.dir, "C", "", "the owner's workspace (this folder)")

	done, err = edge.Parse(f, args)
	if done || err != nil {
		return o, done, err
	}

	soon := o.deadAfter != 0 && o.deadAfter < config.LeastDeadAfter
	if soon || o.limits.Spawns < 0 || !(o.limits.Cost >= 0) { // the cost may be NaN
		return o, false, formats.Fail(formats.CodeUsage, "tercet hub --help",
			"expected --dead-after of at least %s, and --spawns and --cost of at least 0",
			config.LeastDeadAfter)
	}
	o.dir, err = edge.Workspace(o.dir, "start the hub in the owner's workspace")
	return o, false, err
}

// run is the home of a team until the context ends.
func run(ctx context.Context, args []string) error {
	o, done, err := parse(args)
	if done || err != nil {
		return err
	}

	program, version, err := edge.Tercet()
	if err != nil {
		return err
	}

	host := hostOf(program, version)
	p, err := project.Open(ctx, o.dir, true, host)
	if err != nil {
		return err
	}

	own := p.Config.Team
	sum := sha256.Sum256([]byte(o.dir))
	h, err := hub.Start(ctx, hub.Config{
		Project:   p,
		Version:   version,
		Listen:    cmp.Or(o.listen, own.URL, defaultAddress),
		Folder:    filepath.Join(host.StateHome(), "team", hex.EncodeToString(sum[:8])),
		Program:   program,
		DeadAfter: cmp.Or(o.deadAfter, own.DeadAfter, 30*time.Second),
		Limits: config.TeamLimits{
			Cost:   cmp.Or(o.limits.Cost, own.Limits.Cost),
			Spawns: cmp.Or(o.limits.Spawns, own.Limits.Spawns),
		},
		Publish: own.Publish,
		Tell:    tell,
	})
	if err != nil {
		return errors.Join(err, p.Close(context.Background()))
	}

	if err := open(h, host); err != nil {
		return errors.Join(err, h.Close(), p.Close(context.Background()))
	}
	<-ctx.Done()
	return errors.Join(h.Close(), p.Close(context.Background()))
}

// defaultAddress is where a hub listens if nothing else is said.
const defaultAddress = "127.0.0.1:4333"

// open gives the user at the home the owner's key, and invites the first worker.
func open(h *hub.Hub, host project.Host) error {
	own, err := host.UserTeam()
	if err != nil {
		return err
	}
	if err := h.WriteOwnerKey(own.Key, host.User); err != nil {
		tell("%s; only this hub's owner invites and removes: %s", err, formats.HelpOf(err))
	}

	word, until, err := h.Invitation(link.InviteRequest{Role: link.Agent, Uses: 1, For: time.Hour})
	if err != nil {
		return err
	}

	fmt.Printf("The hub listens at %s. A worker joins in a clone by\n\n"+
		"  tercet worker --join '%s'\n\n"+
		"The word lets one worker in, until %s. 'tercet --on team invite' makes more.\n",
		h.Address(), word, until.Local().Format(time.TimeOnly))
	return nil
}

// notes is a frontend that prints notes.
type notes struct{ project.Unattended }

func (notes) Note(format string, args ...any) { tell(format, args...) }

type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// hostOf is what this process gives to the project at the home. Its children are supervised by
// tercet.
func hostOf(program, version string) project.Host {
	name := cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if u, err := user.Current(); err == nil && name == "" {
		name = u.Username
	}
	return project.Host{
		Frontend:     notes{},
		Clock:        clock{},
		Version:      version,
		User:         name,
		Session:      project.NewSessionID(time.Now()),
		CommandLine:  "tercet hub",
		Supervisor:   []string{program, "__child"},
		ChildWord:    "__child",
		Env:          os.Getenv,
		LookupEnv:    os.LookupEnv,
		Environ:      os.Environ,
		AbortContext: context.Background,
		Agreed:       map[string]bool{},
	}
}
