package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/internal/plain"
	"tercet/project"
)

// root builds the tree of verbs. Slash commands are not verbs: flag parsing stops at the first word
// that starts with a slash, and from there everything is the command's. Of the verbs there are
// those that the line needs; without a line all.
func (a *app) root(line ...string) *cobra.Command {
	about := false
	cmd := &cobra.Command{
		Use:   "tercet [flags] [/NAME ARGS... | VERB ...]",
		Short: "run slash commands that are written as markdown",
		Long: `tercet runs slash commands that are written as markdown files. It checks the arguments, executes the
steps in order, and calls an agent only where a step needs judgement. It keeps your tasks in
.tercet/state.json.

  tercet demo                  a worked example in a fresh folder
  tercet init                  make a workspace here
  tercet /task Fix the parser  create a task
  tercet /plan 196             run a command
  tercet                       read commands line by line`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: (&offers{app: a}).completeLine,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.flags.read = cmd.Flags().Parse
			return errors.Join(project.CheckDigests(a.flags.trust), a.configure())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case about:
				return showVersion(call{app: a})
			case len(args) == 0 && a.term.InTTY:
				return repl{a}.prompt()
			case len(args) == 0:
				return repl{a}.piped(cmd)
			case !strings.HasPrefix(args[0], "/"):
				return a.unknownVerb(cmd, args[0])
			}
			return a.slash(cmd.Context(), shellLine(args))
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVar(&about, "version", false, "print the version")
	cmd.CompletionOptions.HiddenDefaultCmd = false
	f := cmd.PersistentFlags()
	f.StringVarP(&a.flags.dir, "dir", "C", "", "start in this `folder`")
	f.BoolVar(&a.flags.json, "json", false, "print exactly one JSON document")
	f.StringVar(
		&a.flags.jq,
		"jq",
		"",
		"print this jq `filter` of the JSON document; strings without quotes",
	)
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "print nothing but results and errors")
	f.CountVarP(&a.flags.verbose, "verbose", "v", "print what agents do; twice: log every event")
	f.StringVar(&a.flags.color, "color", "auto", "auto, always or never")
	f.DurationVar(
		&a.flags.lockTimeout,
		"lock-timeout",
		0,
		"how long to wait for a lock (default 60s)",
	)
	f.StringVar(
		&a.flags.runner,
		"runner",
		"",
		"the `name` of the runner for every worker of this run",
	)
	f.StringVar(&a.flags.model, "model", "", "the `name` of the model for every worker of this run")
	f.BoolVar(&a.flags.noInput, "no-input", false, "never ask; an open gate ends with 75")
	f.BoolVar(&a.flags.yes, "yes", false, "approve every gate")
	f.BoolVar(&a.flags.strict, "strict", false,
		"refuse a config.yaml with an unknown key, and an import that would leave something out")
	a.flags.line(cmd)
	a.addVerbs(cmd, line)
	cmd.SetHelpCommand(a.helpVerb())
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) {
		_ = a.configure() //nolint:errcheck // help is for who makes mistakes
		a.verbHelp(c)
	})
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		help := "run '" + c.CommandPath() + " --help'"
		if m := misfit().FindStringSubmatch(err.Error()); m != nil {
			want := cmp.Or(flagWords[c.Flag(m[2]).Value.Type()], "another value")
			return formats.Fail(formats.CodeUsage, help, "expected %s for --%s, got %s",
				want, m[2], m[1])
		}
		name, ok := strings.CutPrefix(err.Error(), "unknown flag: ")
		if ok && cmd.Flags().Lookup(name[2:]) != nil {
			help = name + " is for slash commands: tercet " + name + " /NAME"
		} else if ok {
			var flags []string
			c.Flags().VisitAll(func(f *pflag.Flag) {
				flags = append(flags, "--"+f.Name)
			})
			help = cmp.Or(nearest.Help(name, flags), help)
		}
		return formats.Fail(formats.CodeUsage, help, "%s", err.Error())
	})
	return cmd
}

// misfit is what the library of flags says of a value that a flag cannot take, in the words of
// another library.
var misfit = lazy.Regexp(`^invalid argument (".*") for "(?:-\w, )?--([a-z-]+)" flag: `)

// flagWords say what a flag takes, by the name of its type.
var flagWords = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number",
	"bool":     "true or false",
	"duration": "a duration such as 10s or 1h30m",
}

// line adds the flags of a line that begins a run.
func (e *engineFlags) line(cmd *cobra.Command) {
	e.run(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.dryRun, "dry-run", false, "show what would run; write nothing")
	f.StringVar(&e.stubs, "stubs", "",
		"with --dry-run: take the returns of steps or subagents from this JSON `file`")
	f.BoolVar(&e.fresh, "new", false, "give up the unfinished run of this line, and begin anew")
	f.BoolVar(
		&e.ifNeeded,
		"if-needed",
		false,
		"succeed without a run if the task is already past this command",
	)
	f.StringVar(
		&e.parallel,
		"parallel",
		"1",
		"the `number` of tasks of a line such as /plan 3,5-7 done at once",
	)
	f.BoolVar(&e.keepGoing, "keep-going", false, "with lines from a pipe: go on after a failure")
}

// run adds the flags that concern a run, also one that is resumed.
func (e *engineFlags) run(cmd *cobra.Command) {
	e.end(cmd)
	f := cmd.Flags()
	f.StringVar(&e.record, "record", "", "record the answers of every worker in this `folder`")
	f.StringVar(
		&e.replay,
		"replay",
		"",
		"replay the answers of workers from this `folder`; a prompt that differs from the "+
			"recorded one ends the run",
	)
	most := &e.max
	f.StringVar(
		&most.Agents,
		"max-agents",
		"",
		"refuse a command that may call more than this `number` of workers",
	)
	f.StringVar(
		&most.Depth,
		"max-depth",
		"",
		"refuse a command that may delegate deeper than this `number`",
	)
	f.StringVar(
		&most.Time,
		"max-time",
		"",
		"refuse a command that may take longer than this `duration`",
	)
	f.StringVar(
		&most.Cost,
		"max-cost",
		"",
		"refuse a command that may cost more than this many US `dollars`",
	)
}

// end adds the flags that concern a run, also one that is only brought to its end.
func (e *engineFlags) end(cmd *cobra.Command) {
	cmd.Flags().BoolVar(
		&e.events,
		"events",
		false,
		"print one JSON event a line; the last line is the return",
	)
	e.agree(cmd)
}

// agree adds the flag that stands in for the answer about trust.
func (e *engineFlags) agree(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.trust, "trust", "",
		"approve exactly the files, or the commands of a plan, with this `sha256:digest`")
}

// unknownVerb suggests the slash, or a verb.
func (a *app) unknownVerb(cmd *cobra.Command, word string) error {
	help := "run 'tercet --help'"
	var verbs []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			verbs = append(verbs, c.Name())
		}
	}
	if w, err := a.openSession(cmd.Context()); err == nil {
		_, err := w.Project.Table.Route(project.Line{Words: []string{"/" + word}})
		unknown, ok := errors.AsType[*project.UnknownCommandError](err)
		switch {
		case err == nil:
			help = "did you mean '/" + word + "'?"
			verbs = nil
		case ok && len(unknown.DidYouMean) > 0:
			help = "did you mean '/" + unknown.DidYouMean[0] + "'?"
		}
	}
	return formats.Fail(formats.CodeUsage, cmp.Or(nearest.Help(word, verbs), help),
		"unknown verb %q", word)
}

func runVerb(cmd *cobra.Command, a *app) run {
	cmd.Flags().SetInterspersed(false)
	a.flags.line(cmd)
	cmd.Long = `Runs one slash command: a line as one word, or as words of a shell. With - the line is read from standard
input, where a shell looks at no part of it.`
	return func(c call) error {
		if len(c.args) == 1 && c.args[0] == "-" {
			line, err := readInput(io.LimitReader(c.app.in, 2*project.MaxLine), "-")
			if err != nil {
				return err
			}
			return c.app.slash(c.ctx, project.Line{Raw: strings.TrimSpace(
				string(formats.WithoutBOM(line)),
			)})
		}
		return c.app.slash(c.ctx, shellLine(c.args))
	}
}

// shellLine makes a line of the arguments of a shell. No command has a blank in its name, so a
// single argument is the line as one text.
func shellLine(args []string) project.Line {
	if len(args) == 1 {
		return project.Line{Raw: args[0]}
	}
	return project.Line{Words: args}
}

// agentVerb is /agent by another name.
func agentVerb(cmd *cobra.Command, a *app) run {
	cmd.Flags().SetInterspersed(false)
	a.flags.line(cmd)
	return func(c call) error {
		return c.app.slash(c.ctx, project.Line{Words: append([]string{"/agent"}, c.args...)})
	}
}

// slash runs one slash command and prints its return.
func (a *app) slash(ctx context.Context, line project.Line) error {
	s, err := a.openSession(ctx)
	if err != nil {
		return err
	}

	route, err := s.Route(line)
	if err != nil {
		return err
	}

	words := route.Words
	if words == nil {
		words = strings.Fields(route.Raw)
	}
	// the engine's, not the command's
	if len(words) == 1 && (words[0] == "?" || words[0] == "--help") {
		return a.explainCommand(s, route)
	}
	if err := a.mayCommand(); err != nil {
		return err
	}
	if a.flags.before == nil {
		if behind, err := s.EngineFlags(route); len(behind) > 0 {
			return a.anew(ctx, line, behind, err)
		}
	}
	if route.Dialect != "" && len(route.Shadows) > 0 { // the user may have meant another file
		shadows := slices.Clone(route.Shadows)
		for i, name := range callsOf(s.Project.Table, shadows) {
			shadows[i] += formats.Prefixed(", which is ", name)
		}
		a.term.Note("/%s is %s/%s (%s); it shadows %s",
			route.Name, route.Source, route.File, route.Dialect, strings.Join(shadows, "; "))
	}
	ret, err := s.StartRouted(ctx, line, route)
	if use, ok := errors.AsType[*project.UsageError](err); ok && use.Flag == "--help" {
		return a.explainCommand(s, route) // behind other words, where it is no part of a text
	}
	if waits, ok := errors.AsType[*project.ResumableError](err); ok {
		return a.ended(waits.Return())
	}
	if err != nil {
		return err
	}
	return a.ended(ret)
}

// ended prints what a command came to.
func (a *app) ended(ret formats.Return) error {
	a.give(ret)
	a.term.Returned(ret)
	for _, one := range append(ret.Tasks, formats.TaskReturn{Return: ret}) {
		if r := one.Return.Resume; r != nil {
			fmt.Fprintln(a.term.Err, "Resume: "+r.Line)
		}
		if a.project != nil {
			a.offerBack(one.Return)
		}
	}
	if code := a.code(ret); code != 0 {
		return shown{code}
	}
	return nil
}

// anew runs a line with flags of the engine that stood behind its command; they hold for this line.
func (a *app) anew(ctx context.Context, line project.Line, behind []string, err error) error {
	before := a.flags
	err = errors.Join(a.flags.read(behind), a.configure(), err, a.forget())
	a.flags.before = &before
	if err != nil {
		return err
	}
	return a.slash(ctx, line)
}

// explainCommand prints the help of a slash command.
func (a *app) explainCommand(s *project.Session, r project.Route) error {
	text, err := s.HelpText(r)
	if err == nil {
		a.answerText("/"+r.Name, text)
	}
	return err
}

func (a *app) helpVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "help [NAME]",
		Short: "explain a slash command, a verb, or the exit-codes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "exit-codes" {
				if err := none(cmd, args[1:]); err != nil {
					return err
				}
				a.showExits()
				return nil
			}
			if found, _, err := cmd.Root().Find(args); len(args) == 0 ||
				err == nil && found != cmd.Root() {
				a.verbHelp(found)
				return nil
			}
			w, err := a.openSession(cmd.Context())
			if err != nil {
				return err
			}
			text, err := w.Catalog.Text(args[0])
			if err == nil {
				a.answerText("/"+strings.TrimPrefix(args[0], "/"), text)
			}
			return err
		},
	}
}

// verbHelp prints the help of a verb. That of the program only names the verbs that few need.
func (a *app) verbHelp(verb *cobra.Command) {
	about := strings.TrimSpace(cmp.Or(verb.Long, verb.Short))
	var rare []string
	for _, c := range verb.Commands() {
		if c.Annotations[rareVerb] != "" {
			rare = append(rare, c.Name())
			c.Hidden = true
			defer func() { c.Hidden = false }()
		}
	}
	text := about + "\n\n" + verb.UsageString()
	if len(rare) > 0 {
		text += "\n'tercet help VERB' also explains " + strings.Join(rare, ", ") + ".\n" +
			"'tercet help exit-codes' lists the exit codes.\n"
	}
	a.answerText(verb.CommandPath(), text)
}

// rareVerb is the annotation of a verb that the first page of help only names.
const rareVerb = "rare"

// answerText prints a text as an answer, with --json as the text of a return.
func (a *app) answerText(title, text string) {
	if a.flags.json {
		a.give(formats.Return{
			Status:  formats.StatusCompleted,
			Summary: title,
			Text:    text,
		})
		return
	}
	a.term.Answer("%s", plain.Passage(a.term.Wrapped(text)))
}
