package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/query"
	"tercet/project"
)

// verb is a row of the table of verbs. A command is made of it where the line asks for it: the
// flags of all of them take as long as routing a line.
type verb struct {
	use, short string
	args       cobra.PositionalArgs
	needs      need
	do         run                                  // what it does, of a verb without flags
	make       func(cmd *cobra.Command, a *app) run // adds the flags and gives what it does
	verbs      []verb                               // of a verb that does nothing itself
	flags      []flagMaker
	replacedBy string // the words that replace an earlier verb
}

func (v verb) name() string {
	return strings.Fields(v.use)[0]
}

// run is what a verb does.
type run func(c call) error

// call is one call of a verb.
type call struct {
	app  *app
	p    *project.Project // nil for a verb that needs none
	s    *project.Session // nil for a verb that needs no commands and no subagents
	ctx  context.Context
	args []string
}

// reportDone says what a verb did that has no other answer.
func (a *app) reportDone(format string, args ...any) {
	if a.flags.json {
		a.printReturn(formats.Return{
			Status:  formats.StatusCompleted,
			Summary: sprintf(format, args...),
		})
		return
	}
	a.term.Note(format, args...)
}

// need is what must be there before a verb runs.
type need int

const (
	userOnly   need = 1 << iota // no subagent may call it
	aSession                    // the project, with or without a workspace
	aWorkspace                  // a project with a workspace
)

// flagMaker adds flags to a verb.
type flagMaker func(e *engineFlags, cmd *cobra.Command)

// Flags that several verbs have.
var (
	workerFlags  = []flagMaker{(*engineFlags).addWorkers}
	settingFlags = []flagMaker{(*engineFlags).addWorkers, (*engineFlags).addStrict}
)

// verbs are all verbs of the program. They are functions, because some of the verbs ask for all.
func verbs() []verb {
	return slices.Concat(
		seeVerbs(), pastVerbs, agentVerbs, packVerbs(), teamVerbs(), aliasVerbs,
		workVerbs(), fileVerbs(), runVerbs(), setupVerbs(),
	)
}

// workVerbs start work, and make or change what a project has.
func workVerbs() []verb {
	return []verb{
		{
			use:   "run LINE",
			short: "run one slash command",
			args:  some,
			make:  runVerb,
		},
		{
			use:   "start LINE",
			short: "begin a run in the background, and print its name",
			args:  some,
			make:  startVerb,
		},
		{
			use:   "wait RUN",
			short: "wait until a run has ended, and end with its exit code",
			args:  one,
			needs: aWorkspace,
			make:  waitVerb,
		},
		{
			use:   "demo [DIR]",
			short: "a worked example: a defect found, planned, fixed and reviewed",
			args:  words(0, 1),
			needs: userOnly,
			make:  demoVerb,
		},
		{
			use:   "init",
			short: "make a workspace in this folder",
			args:  none,
			make:  initVerb,
		},
		{
			use:   "query [FLAGS] FILTER [FILE...]",
			short: "read state.json with a jq filter",
			make:  queryVerb,
		},
		{
			use:   "task",
			short: "change tasks, one transaction a call",
			make:  taskFlags,
			verbs: taskVerbs,
		},
		{use: "state", short: "look at the state file, and bring it in order", verbs: stateVerbs},
	}
}

// fileVerbs check files, and explain what they and single commands would do.
func fileVerbs() []verb {
	return []verb{
		{
			use:   "lint [PATH...]",
			short: "check command and subagent files, mend and format them",
			needs: aSession,
			make:  lintVerb,
		},
		{
			use:   "explain LINE|FILE|CODE",
			short: "say what a command would do, or what a diagnostic means",
			flags: workerFlags,
			args:  some,
			make:  explainVerb,
		},
		{
			use: "schema NAME",
			short: "print a JSON schema for editors: step, args, defaults, frontmatter, " +
				"subagent, return, config",
			args: one,
			do:   showSchema,
		},
		{use: "config", short: "look at the configuration", verbs: configVerbs},
		{
			use:   "check FILE",
			short: "check a document against a profile",
			args:  one,
			needs: aSession,
			make:  checkVerb,
		},
		{use: "result", short: "read subagents' output", verbs: resultVerbs},
		{use: "version", short: "print the version", args: none, do: showVersion},
		{
			use:   "which NAME|LINE",
			short: "show the file behind a slash command, its dialect and what it shadows",
			make:  whichVerb,
		},
		{
			use:   "sandbox",
			short: "name the risks of a command, and run one in a sandbox",
			verbs: sandboxVerbs,
		},
	}
}

// runVerbs look at runs, steer them and answer their questions.
func runVerbs() []verb {
	return []verb{
		{
			use:   "status",
			short: "where the project stands: questions, runs, open tasks",
			args:  none,
			needs: aWorkspace,
			make:  statusVerb,
		},
		{use: "runs", short: "list the runs", args: none, needs: aWorkspace, make: runsVerb},
		{
			use:   "show [RUN]",
			short: "show the steps of a run, and how to go on; or its log",
			args:  words(0, 1),
			needs: aWorkspace,
			make:  showVerb,
		},
		{
			use:   "resume [RUN]",
			short: "go on with a run where it stopped",
			args:  words(0, 1),
			needs: userOnly,
			make:  resumeVerb,
		},
		{
			use:   "cancel RUN",
			short: "end a run; also one that waits, or whose process died",
			args:  one,
			needs: userOnly,
			make:  cancelVerb,
		},
		{
			use:   "pause RUN",
			short: "stop a run after its current step",
			args:  one,
			needs: userOnly | aWorkspace,
			do:    pauseRun,
		},
		{
			use:   "tell RUN TEXT",
			short: "give the next worker of a run a message",
			args:  words(2, -1),
			needs: userOnly | aWorkspace,
			make:  tellVerb,
		},
		{use: "board", short: "for a worker: the board of its step", verbs: boardVerbs},
		{
			use:   "serve [DIR...]",
			short: "follow the runs in a browser; answer questions and start runs there",
			flags: workerFlags,
			needs: userOnly,
			make:  serveVerb,
		},
		{
			use:   "gates",
			short: "list the questions that wait for an answer",
			args:  none,
			needs: aWorkspace,
			do:    listGates,
		},
		{
			use:   "approve RUN",
			short: "answer yes to the gate that a run waits at",
			flags: workerFlags,
			args:  one,
			needs: userOnly | aWorkspace,
			make:  answerVerb(true),
		},
		{
			use:   "reject RUN",
			short: "answer no to the gate that a run waits at",
			flags: workerFlags,
			args:  one,
			needs: userOnly | aWorkspace,
			make:  answerVerb(false),
		},
	}
}

// setupVerbs are about the subagents, the installation and trust.
func setupVerbs() []verb {
	return []verb{
		{
			use:   "prompt SUBAGENT",
			short: "show the composed prompt of a subagent and its SHA-256",
			flags: workerFlags,
			args:  one,
			needs: aSession,
			make:  promptVerb,
		},
		{
			use:   "doctor",
			flags: settingFlags,
			short: "check the installation: programs, agent CLIs, the workspace and its lock",
			args:  none,
			needs: aSession,
			do:    doctor,
		},
		{
			use:   "trust",
			short: "agree to the files of this project that can start programs",
			args:  none,
			make:  trustVerb,
		},
		{
			use:   query.BoundedVerb,
			short: "run a query that its parent hands over, within its bounds",
			args:  none,
			make:  boundedQueryVerb,
		},
	}
}

// addVerbs gives the root the one verb that the line begins with, or none if it is a slash command.
// Help, completion, suggestions and a line that begins with a flag need all of them.
func (a *app) addVerbs(root *cobra.Command, line []string) {
	verbs := verbs()
	if len(line) > 0 {
		i := slices.IndexFunc(verbs, func(v verb) bool {
			return v.name() == line[0]
		})
		switch {
		case i >= 0:
			verbs = verbs[i : i+1]
			root.CompletionOptions.DisableDefaultCmd = true
		case strings.HasPrefix(line[0], "/"):
			verbs = nil
			root.CompletionOptions.DisableDefaultCmd = true
		}
	}

	for _, v := range verbs {
		root.AddCommand(a.newCommand(v))
	}

	root.InitDefaultCompletionCmd(line...)
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short = "print the completion script for a shell"
			requireSubverb(c, strings.Fields("bash fish powershell zsh"))
			for _, shell := range c.Commands() {
				if shell.Name() == "bash" {
					shell.RunE = bashCompletion
				}
			}
		}
	}
}

// bashWords is what the script of the library calls to read the words of a line; it belongs to
// bash-completion.
const bashWords = `    _get_comp_words_by_ref "$@" cur prev words cword
`

// ownBashWords reads the words by itself where bash-completion is not there.
const ownBashWords = `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line="${COMP_LINE:0:COMP_POINT}"
    read -r -a words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur="${words[cword]}"
    prev="${words[cword > 0 ? cword - 1 : 0]}"
`

// bashCompletion prints the script for bash, which needs no bash-completion.
func bashCompletion(cmd *cobra.Command, _ []string) error {
	var script strings.Builder
	if err := cmd.Root().GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	text := strings.Replace(script.String(), bashWords, ownBashWords, 1)
	_, err := io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// newCommand makes the command of a verb.
func (a *app) newCommand(v verb) *cobra.Command {
	if v.replacedBy != "" {
		return a.aliasVerb(v)
	}
	cmd := &cobra.Command{
		Use:   v.use,
		Short: v.short,
		Args:  v.args,
	}
	for _, add := range v.flags {
		add(&a.flags, cmd)
	}

	do := v.do
	if v.make != nil {
		do = v.make(cmd, a)
	}
	if v.verbs != nil {
		a.addGroup(cmd, v.verbs)
		return cmd
	}

	cmd.ValidArgsFunction = (&offers{app: a}).completeVerb(v.use)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		c := call{
			app:  a,
			ctx:  cmd.Context(),
			args: args,
		}
		if v.needs&userOnly != 0 {
			err = a.mayCommand()
		}
		switch {
		case err != nil:
		case v.needs&aWorkspace != 0:
			c.p, err = a.workspace(c.ctx)
		case v.needs&aSession != 0:
			err = c.needSession()
		}
		if err != nil {
			return err
		}

		err = do(c)
		if f, ok := errors.AsType[*formats.Failure](err); ok && f.Help == project.AnyHelp {
			f.Help = "run '" + cmd.CommandPath() + " --help'"
		}
		return err
	}
	return cmd
}

// addGroup puts verbs behind a verb: without one of them behind it, it says which there are.
func (a *app) addGroup(cmd *cobra.Command, verbs []verb) {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		behind := a.newCommand(v)
		cmd.AddCommand(behind)
		names[i] = v.name()
		for _, name := range []string{"strict", "runner", "model"} {
			acceptEarly(cmd, behind.Flags().Lookup(name))
		}
	}
	cmd.Use += " VERB"
	requireSubverb(cmd, names)
}

// acceptEarly lets a flag of a verb stand before its last word, as in 'tercet --strict state
// import'. A flag that is not known there would take the next word for its value.
func acceptEarly(cmd *cobra.Command, f *pflag.Flag) {
	if f == nil || cmd.Flags().Lookup(f.Name) != nil {
		return
	}
	hidden := *f
	hidden.Hidden = true
	cmd.Flags().AddFlag(&hidden)
}

// requireSubverb makes a verb that does nothing without one of the verbs behind it say which there
// are.
func requireSubverb(cmd *cobra.Command, names []string) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		help := "expected one of " + strings.Join(names, ", ")
		if len(args) == 0 {
			return formats.Fail(formats.CodeUsage, help, "missing verb after %q", cmd.CommandPath())
		}
		return formats.Fail(formats.CodeUsage, cmp.Or(nearest.Help(args[0], names), help),
			"unknown verb %q after %q", args[0], cmd.CommandPath())
	}
}

// How many words follow most verbs.
func none(cmd *cobra.Command, args []string) error {
	return words(0, 0)(cmd, args)
}

func one(cmd *cobra.Command, args []string) error {
	return words(1, 1)(cmd, args)
}

func some(cmd *cobra.Command, args []string) error {
	return words(1, -1)(cmd, args)
}

// words refuses a verb with too few or too many words behind it, and shows its usage; a negative
// most means any number.
func words(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n := len(args)
		help := "usage: " + cmd.UseLine()
		switch {
		case n >= least && (most < 0 || n <= most):
			return nil
		case n > least:
			return formats.Fail(formats.CodeUsage, help, "unexpected argument %q",
				args[max(most, 0)])
		}
		return formats.Fail(formats.CodeUsage, help, "missing %s after %q",
			missingWord(cmd.Use, n), cmd.CommandPath())
	}
}

// missingWord names the argument of a verb that stands behind n others, as its usage does.
func missingWord(use string, n int) string {
	first, _, _ := strings.Cut(use, " | ")
	var names []string
	for _, word := range strings.Fields(first)[1:] {
		if !strings.HasPrefix(word, "[") && word != "--" {
			names = append(names, strings.TrimSuffix(word, "..."))
		}
	}
	if n >= len(names) {
		return "an argument"
	}
	return names[n]
}
