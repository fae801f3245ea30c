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
	"os/signal"
	"os/user"
	"path/filepath"
	"syscall"
	"time"

	"tercet/engine/nats/hub"
	"tercet/engine/nats/link"
	"tercet/engine/nats/worker"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/project"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "tercet:", err)
	if help := formats.HelpOf(err); help != "" {
		fmt.Fprintln(os.Stderr, "help:", help)
	}
	os.Exit(formats.ExitFor(formats.CodeOf(err)))
}

func tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

func run(ctx context.Context, args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return formats.Broken(formats.CodeIO, "the current folder", err)
	}
	f := flag.NewFlagSet("tercet hub", flag.ContinueOnError)
	listen := f.String("listen", "", "the `address` to listen at (team.url of your config.yaml, or "+
		defaultAddress+")")
	deadAfter := f.Duration("dead-after", 0,
		"a worker that is silent so long has lost its run (team.dead_after, or 30s)")
	spawns := f.Int("spawns", 0, "how many workers' agents the whole team may start "+
		"(team.limits.spawns, or no bound)")
	cost := f.Float64("cost", 0, "how many US dollars the agents of the whole team may cost "+
		"(team.limits.cost, or no bound)")
	f.StringVar(&dir, "C", dir, "the owner's workspace")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil || f.NArg() > 0 {
		return formats.Fail(formats.CodeUsage, "tercet hub --help",
			"wrong words for tercet hub: %q", args)
	}
	if *deadAfter != 0 && *deadAfter < config.LeastDeadAfter || *spawns < 0 || !(*cost >= 0) {
		return formats.Fail(formats.CodeUsage, "tercet hub --help",
			"expected --dead-after of at least %s, and --spawns and --cost of at least 0",
			config.LeastDeadAfter)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return formats.Broken(formats.CodeIO, dir, err)
	}
	if info, err := os.Stat(filepath.Join(dir, formats.Workspace)); err != nil || !info.IsDir() {
		return formats.Fail(formats.CodeNoWorkspace, "start the hub in the owner's workspace",
			"no workspace in %s", dir)
	}
	program := cmp.Or(os.Getenv("TERCET_PROGRAM"), "tercet")
	version, err := worker.Version(program)
	if err != nil {
		return formats.Broken(formats.CodeToolUnavailable, "tercet", err, "put it into PATH")
	}
	host := hostOf(program, version)
	p, err := project.Open(ctx, dir, true, host)
	if err != nil {
		return err
	}
	own := p.Config.Team
	sum := sha256.Sum256([]byte(dir))
	h, err := hub.Start(ctx, hub.Config{
		Project:   p,
		Version:   version,
		Listen:    cmp.Or(*listen, own.URL, defaultAddress),
		Folder:    filepath.Join(host.StateHome(), "team", hex.EncodeToString(sum[:8])),
		Program:   program,
		DeadAfter: cmp.Or(*deadAfter, own.DeadAfter, 30*time.Second),
		Limits: config.TeamLimits{
			Cost:   cmp.Or(*cost, own.Limits.Cost),
			Spawns: cmp.Or(*spawns, own.Limits.Spawns),
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
	if err := h.Own(own.Key, host.User); err != nil {
		tell("%s; only this hub's owner invites and removes: %s", err, formats.HelpOf(err))
	}
	word, until, err := h.Invitation(link.Inviting{Role: link.Agent, Uses: 1, For: time.Hour})
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
		Frontend:    notes{},
		Clock:       clock{},
		Version:     version,
		User:        name,
		Session:     project.NewSessionID(time.Now()),
		CommandLine: "tercet hub",
		Supervisor:  []string{program, "__child"},
		ChildWord:   "__child",
		Env:         os.Getenv,
		LookupEnv:   os.LookupEnv,
		Environ:     os.Environ,
		Hard:        context.Background,
		Agreed:      map[string]bool{},
	}
}
