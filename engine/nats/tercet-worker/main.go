// Tercet-worker works on the runs of a team in a clone. 'tercet worker' and 'tercet --on team'
// start it.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"tercet/engine/nats/edge"
	"tercet/engine/nats/link"
	"tercet/engine/nats/worker"
	"tercet/formats"
	"tercet/project"
)

func main() {
	edge.Main(run)
}

func run(ctx context.Context, args []string) (int, error) {
	if len(args) > 1 && args[0] == "on-team" && args[1] == "--" {
		return onTeam(ctx, args[2:])
	}
	return 0, work(ctx, args)
}

// onTeam does what a person asks of the team.
func onTeam(ctx context.Context, args []string) (int, error) {
	own, err := (&project.Host{Env: os.Getenv}).UserTeam()
	if err != nil {
		return 0, err
	}
	if own.Key == "" {
		return 0, noFolder()
	}

	file := own.Key
	name := cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if len(args) > 0 && args[0] == "join" {
		return 0, worker.JoinTeam(ctx, file, args[1:], name, os.Stderr)
	}

	word := os.Getenv(worker.JoinVariable)
	me, err := worker.Membership(ctx, file, word, name)
	if err != nil {
		return 0, err
	}
	if word == "" && own.URL != "" {
		me.Address = own.URL
	}

	c, err := worker.NewClient(me, os.Stdout, os.Stderr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.Do(ctx, args)
}

func noFolder() error {
	return formats.Fail(formats.CodeConfig, "set HOME", "there is no folder for the key")
}

// options are the flags of a worker. What is zero is as config.yaml says.
type options struct {
	dir    string
	word   string
	name   string
	labels string
	slots  int
	drain  bool
}

// maxSlots bounds the runs side by side.
const maxSlots = 64

// parse reads the arguments. done is true after --help.
func parse(args []string) (o options, done bool, err error) {
	host, _ := os.Hostname() //nolint:errcheck // a name is only for people
	f := flag.NewFlagSet("tercet worker", flag.ContinueOnError)
	f.StringVar(&o.word, "join", "",
		"the join `word`; it is used once, then the clone has a key of "+
			"its own ("+worker.JoinVariable+" of the environment)")
	f.StringVar(&o.name, "name", worker.NameFrom(host), "the `name` of this worker, when it joins")
	f.StringVar(&o.labels, "labels", "", "what this machine has, such as `gpu,linux`: "+
		"commands with needs: come only to workers with these labels")
	f.IntVar(&o.slots, "slots", 0,
		"runs side by side, each in a clone of its own: further ones are "+
			"made beside this clone (1, or worker.slots of your config.yaml)")
	f.BoolVar(&o.drain, "drain", false,
		"let the worker of this clone finish its run, take no more, and end")
	f.StringVar(&o.dir, "C", "", "the clone to work in (this folder)")

	done, err = edge.Parse(f, args)
	if done || err != nil {
		return o, done, err
	}

	o.word = cmp.Or(o.word, os.Getenv(worker.JoinVariable)) // no default, which the help would show
	if o.slots < 0 || o.slots > maxSlots {
		return o, false, formats.Fail(formats.CodeUsage, "such as --slots 2",
			"expected 1 to %d slots, got %d", maxSlots, o.slots)
	}
	o.dir, err = edge.Workspace(o.dir, "start the worker in a clone of the team's project")
	return o, false, err
}

// work takes runs of the team until the context ends.
func work(ctx context.Context, args []string) error {
	o, done, err := parse(args)
	if done || err != nil {
		return err
	}

	program, version, err := edge.Tercet()
	if err != nil {
		return err
	}

	file, err := memberFile(o.dir)
	if err != nil {
		return err
	}
	if o.drain {
		return worker.Drain(file)
	}

	drained := untilDrained()
	unlock, err := worker.Lock(file)
	if err != nil {
		return err
	}
	defer unlock()
	me, err := worker.Membership(ctx, file, o.word, o.name)
	if err != nil {
		return err
	}

	// The user's configuration is what tercet in the clone reads.
	clone, err := worker.InspectClone(ctx, program, o.dir, o.dir, "")
	if err != nil {
		return err
	}
	if o.word == "" && clone.Team.URL != "" {
		me.Address = clone.Team.URL
	}

	first := worker.Config{
		Slot:    1,
		Member:  me,
		Labels:  clone.Worker.Labels,
		Drained: drained,
		Main:    o.dir,
		Dir:     o.dir,
		Clone:   &clone,
		Program: program,
		Version: version,
		Tell:    func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	if o.labels != "" {
		first.Labels = strings.FieldsFunc(o.labels, func(r rune) bool { return r == ',' })
	}

	dirs, err := worker.Slots(ctx, o.dir, clone.Team.Remote, cmp.Or(o.slots, clone.Worker.Slots))
	if err != nil {
		return err
	}

	all := []worker.Config{first}
	for i, dir := range dirs[1:] {
		unlock, err := lockClone(dir)
		if err != nil {
			return err
		}
		defer unlock()
		next := first
		next.Slot = i + 2
		next.Dir = dir
		next.Clone = nil
		all = append(all, next)
	}

	return worker.RunAll(ctx, all)
}

// untilDrained gives a channel that is closed once this worker is to take no more runs.
func untilDrained() <-chan struct{} {
	drained := make(chan struct{})
	told := make(chan os.Signal, 1)
	signal.Notify(told, worker.DrainSignal)
	go func() {
		<-told
		close(drained)
	}()
	return drained
}

// memberFile is the file with the key of the worker of a clone.
func memberFile(dir string) (string, error) {
	own := (&project.Host{Env: os.Getenv}).StateHome()
	if own == "" {
		return "", noFolder()
	}
	return link.WorkerFile(own, dir), nil
}

// lockClone keeps another worker out of a clone.
func lockClone(dir string) (unlock func(), err error) {
	file, err := memberFile(dir)
	if err != nil {
		return nil, err
	}
	return worker.Lock(file)
}
