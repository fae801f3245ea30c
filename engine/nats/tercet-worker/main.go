// Tercet-worker works on the runs of a team in a clone. 'tercet worker' and 'tercet --on team'
// start it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"tercet/engine/nats/link"
	"tercet/engine/nats/worker"
	"tercet/formats"
	"tercet/project"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tercet:", err)
		if help := formats.HelpOf(err); help != "" {
			fmt.Fprintln(os.Stderr, "help:", help)
		}
		code = formats.ExitFor(formats.CodeOf(err))
	}
	os.Exit(code)
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

// stateFile is a file in tercet's own folder of this user.
func stateFile(of func(stateHome string) string) (string, error) {
	own := (&project.Host{Env: os.Getenv}).StateHome()
	if own == "" {
		return "", noFolder()
	}
	return of(own), nil
}

func noFolder() error {
	return formats.Fail(formats.CodeConfig, "set HOME", "there is no folder for the key")
}

func work(ctx context.Context, args []string) error {
	host, _ := os.Hostname() //nolint:errcheck // a name is only for people
	dir, err := os.Getwd()
	if err != nil {
		return formats.Broken(formats.CodeIO, "the current folder", err)
	}
	f := flag.NewFlagSet("tercet worker", flag.ContinueOnError)
	word := f.String("join", os.Getenv(worker.JoinVariable),
		"the join `word`; it is used once, then the clone has a key of its own")
	name := f.String("name", worker.NameFrom(host), "the `name` of this worker, when it joins")
	labels := f.String("labels", "", "what this machine has, such as `gpu,linux`: "+
		"commands with needs: come only to workers with these labels")
	slots := f.Int("slots", 0, "runs side by side, each in a clone of its own: further ones are "+
		"made beside this clone (1, or worker.slots of your config.yaml)")
	drain := f.Bool("drain", false,
		"let the worker of this clone finish its run, take no more, and end")
	f.StringVar(&dir, "C", dir, "the clone to work in")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil || f.NArg() > 0 {
		return formats.Fail(formats.CodeUsage, "tercet worker --help",
			"wrong words for tercet worker: %q", args)
	}
	const most = 64
	if *slots < 0 || *slots > most {
		return formats.Fail(formats.CodeUsage, "such as --slots 2", "expected 1 to %d slots, got %d",
			most, *slots)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return formats.Broken(formats.CodeIO, dir, err)
	}
	if info, err := os.Stat(filepath.Join(dir, formats.Workspace)); err != nil || !info.IsDir() {
		return formats.Fail(formats.CodeNoWorkspace, "start the worker in a clone of the team's project",
			"no workspace in %s", dir)
	}
	program := cmp.Or(os.Getenv("TERCET_PROGRAM"), "tercet")
	version, err := worker.Version(program)
	if err != nil {
		return formats.Broken(formats.CodeToolUnavailable, "tercet", err, "put it into PATH")
	}
	fileOf := func(dir string) (string, error) {
		return stateFile(func(own string) string { return link.WorkerFile(own, dir) })
	}
	file, err := fileOf(dir)
	if err != nil {
		return err
	}
	if *drain {
		return worker.Drain(file)
	}
	drained := make(chan struct{})
	told := make(chan os.Signal, 1)
	signal.Notify(told, worker.DrainSignal)
	go func() {
		<-told
		close(drained)
	}()
	unlock, err := worker.Lock(file)
	if err != nil {
		return err
	}
	defer unlock()
	me, err := worker.Membership(ctx, file, *word, *name)
	if err != nil {
		return err
	}
	// The user's configuration is what tercet in the clone reads.
	clone, err := worker.Clone(ctx, program, dir, dir, "")
	if err != nil {
		return err
	}
	if *word == "" && clone.Team.URL != "" {
		me.Address = clone.Team.URL
	}
	cfg := worker.Config{
		Member:  me,
		Labels:  clone.Worker.Labels,
		Drained: drained,
		Main:    dir,
		Program: program,
		Version: version,
		Tell:    func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	if *labels != "" {
		cfg.Labels = strings.FieldsFunc(*labels, func(r rune) bool { return r == ',' })
	}
	dirs, err := worker.Slots(ctx, dir, clone.Team.Remote, cmp.Or(*slots, clone.Worker.Slots))
	if err != nil {
		return err
	}
	var all []worker.Config
	for i, one := range dirs {
		if i > 0 {
			file, err := fileOf(one)
			if err != nil {
				return err
			}
			unlock, err := worker.Lock(file)
			if err != nil {
				return err
			}
			defer unlock()
		}
		cfg.Slot = i + 1
		cfg.Dir = one
		cfg.Clone = nil
		if i == 0 {
			cfg.Clone = &clone
		}
		all = append(all, cfg)
	}
	return worker.RunAll(ctx, all)
}
