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
	"tercet/frontends/term"
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
			case len(args) == 0 && a.flags.prompting:
				return formats.Fail(formats.CodeUsage, "write a command or a verb behind it",
					"this is the prompt of tercet already")
			case len(args) == 0 && a.term.InTTY:
				return repl{a}.prompt()
			case len(args) == 0:
				return repl{a}.runPiped(cmd)
			case !strings.HasPrefix(args[0], "/"):
				return a.unknownVerb(cmd, args[0])
			}
			return suggestVerb(a.runSlash(cmd.Context(), shellLine(args)))
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVar(&about, "version", false, "print the version")
	cmd.CompletionOptions.HiddenDefaultCmd = false
	a.flags.addCommon(cmd.PersistentFlags())
	a.flags.addLine(cmd)
	a.addVerbs(cmd, line)
	cmd.SetHelpCommand(a.helpVerb())
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) {
		_ = a.configure() //nolint:errcheck // help is for who makes mistakes
		a.verbHelp(c)
	})
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		a.readOutput(line)
		return flagError(cmd, c, err)
	})
	return cmd
}

// addCommon adds the flags that slash commands and verbs share.
func (e *engineFlags) addCommon(f *pflag.FlagSet) {
	f.StringVarP(&e.dir, "dir", "C", "", "start in this `folder`")
	f.BoolVar(&e.json, "json", false, "print exactly one JSON document")
	f.StringVar(
		&e.jq,
		"jq",
		"",
		"print this jq `filter` of the JSON document; strings without quotes",
	)
	f.BoolVarP(&e.quiet, "quiet", "q", false, "print nothing but results and errors")
	f.CountVarP(&e.verbose, "verbose", "v", "print what agents do; twice: log every event")
	f.StringVar(&e.color, "color", "auto", "auto, always or never")
	f.DurationVar(&e.lockTimeout, "lock-timeout", 0, "how long to wait for a lock (default 60s)")
	f.BoolVar(&e.noInput, "no-input", false, "never ask; an open gate ends with 75")
	f.BoolVar(&e.yes, "yes", false, "approve every gate")
}

// flagError says what is wrong with a flag of a verb, and where a flag belongs that the verb does
// not have.
func flagError(root, verb *cobra.Command, err error) error {
	help := "run '" + verb.CommandPath() + " --help'"
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := bad.GetFlag()
		want := cmp.Or(flagWords[flag.Value.Type()], "another value")
		return formats.Fail(formats.CodeUsage, help, "expected %s for --%s, got %q",
			want, flag.Name, bad.GetValue())
	}

	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: ")
	switch {
	case unknown && root.Flags().Lookup(name[2:]) != nil:
		help = name + " is for slash commands: tercet " + name + " /NAME"
	case name == "--on":
		help = "it stands before all other words: tercet --on team ..."
	case unknown:
		var flags []string
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			flags = append(flags, "--"+f.Name)
		})
		help = cmp.Or(nearest.Help(name, flags), help)
	}
	return formats.Fail(formats.CodeUsage, help, "%s", err.Error())
}

// flagWords say what a flag takes, by the name of its type.
var flagWords = map[string]string{
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number",
	"bool":     "true or false",
	"duration": "a duration such as 10s or 1h30m",
}

// addLine adds the flags of a line that begins a run.
func (e *engineFlags) addLine(cmd *cobra.Command) {
	e.addRun(cmd)
	e.addBegin(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.dryRun, "dry-run", false, "show what would run; write nothing")
	f.StringVar(&e.stubs, "stubs", "",
		"with --dry-run: take the returns of steps or subagents from this JSON `file`")
	f.StringVar(
		&e.parallel,
		"parallel",
		"1",
		"the `number` of tasks done at once, of a line such as /plan 3,5-7",
	)
	f.BoolVar(&e.keepGoing, "keep-going", false, "with lines from a pipe: go on after a failure")
}

// addStrict adds the flag of what depends on the whole configuration.
func (e *engineFlags) addStrict(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&e.strict, "strict", false, "refuse a config.yaml with an unknown key")
}

// addWorkers adds the flags that choose who works.
func (e *engineFlags) addWorkers(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.runner, "runner", "", "the `name` of the runner for every worker of this run")
	f.StringVar(&e.model, "model", "", "the `name` of the model for every worker of this run")
}

// addBegin adds the flags that decide whether a line begins a run.
func (e *engineFlags) addBegin(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&e.fresh, "new", false, "give up the unfinished run of this line, and begin anew")
	f.BoolVar(
		&e.ifNeeded,
		"if-needed",
		false,
		"succeed without a run if the task is already past this command",
	)
}

// addRun adds the flags that concern a run, also one that is resumed.
func (e *engineFlags) addRun(cmd *cobra.Command) {
	e.addEnd(cmd)
	e.addBounds(cmd)
	e.addStrict(cmd)
}

// addBounds adds the flags that concern the workers of a run, and what they may use.
func (e *engineFlags) addBounds(cmd *cobra.Command) {
	e.addWorkers(cmd)
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

// addEnd adds the flags that concern a run, also one that is only brought to its end.
func (e *engineFlags) addEnd(cmd *cobra.Command) {
	cmd.Flags().BoolVar(
		&e.events,
		"events",
		false,
		"print one JSON event a line; the last line is the return",
	)
	e.addTrust(cmd)
}

// addTrust adds the flag that stands in for the answer about trust.
func (e *engineFlags) addTrust(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.trust, "trust", "",
		"approve exactly the files, or the commands of a plan, with this `sha256:digest`")
}

// unknownVerb suggests the slash, or a verb.
func (a *app) unknownVerb(cmd *cobra.Command, word string) error {
	a.readOutput(cmd.Flags().Args())
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
	a.flags.addLine(cmd)
	cmd.Long = `Runs one slash command: a line as one word, or as words of a shell. With - the line is read from standard
input, where a shell looks at no part of it.`
	return func(c call) error {
		line, err := c.line()
		if err != nil {
			return err
		}
		return c.app.runSlash(c.ctx, line)
	}
}

// line is the line that the arguments are, or that stands in the input for a hyphen.
func (c call) line() (project.Line, error) {
	if len(c.args) != 1 || c.args[0] != "-" {
		return shellLine(c.args), nil
	}
	line, err := readInput(io.LimitReader(c.app.in, 2*project.MaxLine), "-")
	return project.Line{Raw: strings.TrimSpace(string(formats.WithoutBOM(line)))}, err
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
	a.flags.addLine(cmd)
	return func(c call) error {
		return c.app.runSlash(c.ctx, project.Line{Words: append([]string{"/agent"}, c.args...)})
	}
}

// runSlash runs one slash command and prints its return.
func (a *app) runSlash(ctx context.Context, line project.Line) error {
	return a.dispatchLine(ctx, line, a.runHere)
}

// lineAction handles a line whose command is known.
type lineAction func(
	ctx context.Context, s *project.Session, line project.Line, route project.Route,
) error

// dispatchLine finds the command of a line, reads the flags behind it, and calls do. It prints the
// help of the command instead if the line asks for it.
func (a *app) dispatchLine(ctx context.Context, line project.Line, do lineAction) error {
	s, err := a.openSession(ctx)
	if err != nil {
		return err
	}

	route, err := s.Route(line)
	if err != nil {
		a.readOutput(line.Words, strings.Fields(line.Raw))
		return err
	}

	if asksForHelp(route) {
		return a.explainCommand(s, route)
	}
	if err := a.mayCommand(); err != nil {
		return err
	}

	if a.flags.before == nil {
		if behind, err := s.EngineFlags(route); len(behind) > 0 {
			return a.withLineFlags(ctx, line, behind, err, do)
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

	err = do(ctx, s, line, route)
	if use, ok := errors.AsType[*project.UsageError](err); ok && use.Flag == "--help" {
		return a.explainCommand(s, route) // behind other words, where it is no part of a text
	}
	if waits, ok := errors.AsType[*project.ResumableError](err); ok {
		return a.reportReturn(waits.Return())
	}
	return err
}

// suggestVerb adds the verb that an unknown command may have meant to its error.
func suggestVerb(err error) error {
	unknown, ok := errors.AsType[*project.UnknownCommandError](err)
	if !ok || len(unknown.DidYouMean) > 0 || unknown.LeftOut != "" || unknown.Subagent {
		return err
	}

	var names []string
	for _, v := range offeredVerbs() {
		names = append(names, v.Value)
	}

	near := nearest.Names(unknown.Name, names)
	if len(near) == 0 {
		return err
	}
	return formats.Fail(formats.CodeUsage, "did you mean 'tercet "+near[0]+"'?", "%s", err.Error())
}

// runHere runs a line in this process.
func (a *app) runHere(
	ctx context.Context, s *project.Session, line project.Line, route project.Route,
) error {
	ret, err := s.StartRouted(ctx, line, route)
	if err != nil {
		return err
	}
	return a.reportReturn(ret)
}

// reportReturn prints what a command came to, and gives the error with its exit code.
func (a *app) reportReturn(ret formats.Return) error {
	a.printReturn(ret)
	showReturn(a.term, a.project, ret, a.flags.dryRun)
	if code := a.exitCode(ret); code != 0 {
		return shownError{code}
	}
	return nil
}

// showReturn shows what a command came to, and how to go on with a run that can.
func showReturn(t *term.Terminal, p *project.Project, ret formats.Return, dryRun bool) {
	t.ShowReturn(ret)
	for _, one := range append(ret.Tasks, formats.TaskReturn{Return: ret}) {
		if r := one.Return.Resume; r != nil {
			fmt.Fprintln(t.Err, "Resume: "+r.Line)
		}
		if p != nil && !dryRun {
			adviseReopen(t, p, one.Return)
		}
	}
}

// withLineFlags runs a line with flags of the engine that stood behind its command; they hold for
// this line.
func (a *app) withLineFlags(
	ctx context.Context, line project.Line, behind []string, err error, do lineAction,
) error {
	before := a.flags
	err = errors.Join(a.flags.read(behind), a.configure(), err, a.closeProject())
	a.flags.before = &before
	if err != nil {
		return err
	}
	return a.dispatchLine(ctx, line, do)
}

// explainCommand prints the help of a slash command.
func (a *app) explainCommand(s *project.Session, r project.Route) error {
	text, err := s.HelpText(r)
	if err == nil {
		a.answerText("/"+r.Name, text)
	}
	return err
}

// helpAbout says in a line what the verb help does.
const helpAbout = "explain a slash command, a verb, or the exit codes"

func (a *app) helpVerb() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "help [NAME]",
		Short: helpAbout,
		Long: `Explains a slash command, a verb, or the exit-codes. With --json and without a name it lists the commands of
this project with their typed arguments:

  tercet help --jq '.commands[] | select(.arguments[].type == "task") | .usage'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "exit-codes" {
				if err := none(cmd, args[1:]); err != nil {
					return err
				}
				a.showExits()
				return nil
			}

			if all && len(args) == 0 {
				root := cmd.Root()
				a.answerText(root.CommandPath(), root.UsageString())
				return nil
			}

			if len(args) == 0 && a.flags.json {
				return a.listCommands(cmd.Context())
			}

			found, _, err := cmd.Root().Find(args)
			isVerb := err == nil && found != cmd.Root()
			if len(args) == 0 || isVerb {
				a.verbHelp(found)
				return nil
			}

			w, err := a.openSession(cmd.Context())
			if err != nil {
				return err
			}
			text, err := w.Catalog.Text(args[0])
			if err != nil {
				return a.unknownTopic(cmd.Root(), args[0], err)
			}
			a.answerText("/"+strings.TrimPrefix(args[0], "/"), text)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list every verb and every flag of the program")
	return cmd
}

// unknownTopic is the error for a word that help says nothing about, with a similar topic.
func (a *app) unknownTopic(root *cobra.Command, word string, err error) error {
	topics := []string{"exit-codes"}
	for _, c := range root.Commands() {
		if !c.Hidden {
			topics = append(topics, c.Name())
		}
	}

	near := nearest.Names(word, topics)
	unknown, ok := errors.AsType[*project.UnknownCommandError](err)
	switch {
	case !ok, strings.HasPrefix(word, "/"), len(unknown.DidYouMean) > 0, unknown.Subagent,
		unknown.LeftOut != "":
		return err
	case len(near) > 0:
		return formats.Fail(formats.CodeUsage, "did you mean 'tercet help "+near[0]+"'?",
			"no help about %q", word)
	}
	return formats.Fail(formats.CodeUsage,
		"'tercet help' lists the verbs, '/help' the commands; 'tercet help exit-codes' and "+
			"'tercet explain CODE' say what a number or a code means",
		"no help about %q", word)
}

// listCommands prints the commands with their arguments, for programs.
func (a *app) listCommands(ctx context.Context) error {
	s, err := a.openSession(ctx)
	if err == nil {
		a.answerJSON("tercet.commands/1", fields{"commands": s.Commands()})
	}
	return err
}

// verbHelp prints the help of a verb.
func (a *app) verbHelp(verb *cobra.Command) {
	about := a.paragraphs(strings.TrimSpace(cmp.Or(verb.Long, verb.Short)))
	rest := "\n" + ownUsage(verb)
	if verb == verb.Root() {
		rest = firstPage(verb)
	}
	a.answerText(verb.CommandPath(), about+"\n"+rest)
}

// paragraphs joins the lines of each paragraph on a terminal, which breaks them anew. Rows that are
// indented stay.
func (a *app) paragraphs(text string) string {
	if term.Columns(a.term.Out) == 0 {
		return text
	}
	var out strings.Builder
	previous := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case i == 0:
		case previous != "" && line != "" && previous[0] != ' ' && line[0] != ' ':
			out.WriteByte(' ')
		default:
			out.WriteByte('\n')
		}
		out.WriteString(line)
		previous = line
	}
	return out.String()
}

// inheritedFlags is the head of the flags of the program in the usage of a verb.
const inheritedFlags = "\nGlobal Flags:\n"

// ownUsage is the usage of a verb with its own flags alone. Those of every verb are only named.
func ownUsage(verb *cobra.Command) string {
	usage, rest, ok := strings.Cut(verb.UsageString(), inheritedFlags)
	if !ok {
		return usage
	}

	var names []string
	verb.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		names = append(names, "--"+f.Name)
	})
	usage += "\nFlags of every verb, which 'tercet help --all' explains:\n  " +
		strings.Join(names, " ") + "\n"
	if _, more, ok := strings.Cut(rest, "\nUse \""); ok {
		usage += "\nUse \"" + more
	}
	return usage
}

// helpGroups are the verbs of the first page of help, in the order in which a user meets them.
var helpGroups = []struct {
	name  string
	verbs []string
}{
	{"work", []string{"run", "status", "task", "query"}},
	{"runs", []string{"watch", "show", "approve", "reject", "resume", "cancel", "undo"}},
	{"project", []string{"init", "doctor", "lint", "trust", "pack", "serve"}},
	{"more", []string{"demo", "help", "version"}},
}

// firstPage is the help of the program behind what it is: the verbs that a user meets every day,
// and the flags that stand before any line. 'tercet help --all' has the rest.
func firstPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(groupedVerbs())
	b.WriteString("\nflags, before a line or a verb:\n")
	for _, name := range []string{
		"dir", "dry-run", "yes", "no-input", "runner", "model", "quiet", "verbose", "json", "jq",
	} {
		f := root.Flags().Lookup(name)
		if f == nil {
			f = root.PersistentFlags().Lookup(name)
		}
		label := "--" + name
		if f.Shorthand != "" {
			label = "-" + f.Shorthand + ", " + label
		}
		_, about := pflag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %-16s%s\n", label, about)
	}

	b.WriteString("\n'tercet help NAME' explains a verb or a slash command, " +
		"'tercet help --all' lists the other verbs and flags, " +
		"'tercet help exit-codes' the exit codes, and /help the slash commands.\n")
	return b.String()
}

// groupedVerbs lists the verbs of the first page of help, each group below its name.
func groupedVerbs() string {
	about := map[string]string{"help": helpAbout}
	for _, v := range verbs() {
		about[v.name()] = v.short
	}
	var b strings.Builder
	for _, group := range helpGroups {
		b.WriteString("\n" + group.name + ":\n")
		for _, name := range group.verbs {
			fmt.Fprintf(&b, "  %-10s%s\n", name, about[name])
		}
	}
	return b.String()
}

// answerText prints a text as an answer, with --json as the text of a return.
func (a *app) answerText(title, text string) {
	if a.flags.json {
		a.printReturn(formats.Return{
			Status:  formats.StatusCompleted,
			Summary: title,
			Text:    text,
		})
		return
	}
	a.term.Answer("%s", plain.Passage(a.term.Wrapped(text)))
}
