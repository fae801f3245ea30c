package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/internal/plain"
	"tercet/project"
)

// offers completes lines at the prompt and for shells. It has the project for itself, and tells
// nothing: what runs a line tells what is wrong with the project.
type offers struct {
	app       *app
	completer project.Completer
	project   *project.Project // nil: none is open
}

// refresh reads the project as it is now. Where that fails there is less to offer.
func (o *offers) refresh(ctx context.Context) {
	o.close()
	if o.completer.Verbs == nil {
		o.completer.Verbs = offeredVerbs()
		o.completer.Verb = completeAfterVerb
	}

	dir, has, err := o.app.projectDir()
	if err != nil {
		return
	}

	host := o.app.host()
	host.Frontend = project.Unattended{}
	p, err := project.Open(ctx, dir, has, host)
	if err != nil {
		return
	}
	o.project = p
	if s, err := p.Session(o.app.options()); err == nil {
		o.completer.Use(s)
	}
}

// close releases the project, so that a line finds it as this process leaves it.
func (o *offers) close() {
	o.completer.Use(nil)
	_ = o.project.Close(context.Background()) //nolint:errcheck // it was only read
	o.project = nil
}

// isRunnable reports whether a line names a command or a verb, as far as what was read tells.
func (o *offers) isRunnable(line string) bool {
	line = strings.TrimSpace(line)
	if o.project == nil || line == "" || strings.ContainsAny(line[:1], "!#?") {
		return true
	}
	if slices.Contains(strings.Fields("exit quit clear"), line) {
		return true
	}
	typed := readTyped(o.project, line)
	return typed.verb != nil || o.project.HasCommand(line)
}

// offeredVerbs are the verbs that a line may begin with.
func offeredVerbs() []project.OfferedItem {
	var out []project.OfferedItem
	for _, v := range verbs() {
		if v.replacedBy == "" && v.name()[0] != '_' {
			out = append(out, project.OfferedItem{Value: v.name(), About: v.short})
		}
	}
	return out
}

// completeLine completes the words of a shell: a slash command, its arguments and their values.
func (o *offers) completeLine(
	cmd *cobra.Command,
	args []string,
	typed string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.HasPrefix(typed, "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp // the library offers the verbs
	}

	head := ""
	if len(args) > 0 {
		head = project.JoinWords(args) + " "
	}

	o.refresh(cmd.Context())
	defer o.close()
	items := o.completer.Words(cmd.Context(), head, typed)
	if len(items) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return shellCompletions(items)
}

// shellCompletions gives items as a shell reads them.
func shellCompletions(items []project.OfferedItem) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, i := range items {
		out = append(out, i.Value+"\t"+plain.Line(i.About))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// kinds are the kinds of names behind the words of a verb's usage.
var kinds = map[string]string{
	"RUN":      "runs",
	"TASK":     "tasks",
	"TASKS":    "tasks",
	"SUBAGENT": "subagents",
	"NAME":     "commands",
	"STATUS":   "statuses",
}

// promptKinds are those that only the prompt gives: a shell completes files itself, and lines by
// completeLine.
var promptKinds = map[string]string{
	"LINE": "lines",
	"FILE": "files",
	"PATH": "files",
}

// completeAfterVerb gives what may follow the words of a verb at the prompt: the verbs behind it,
// or the kind of names that its usage asks for.
func completeAfterVerb(words []string) (items []project.OfferedItem, kind string) {
	list := verbs()
	for at, word := range words {
		i := slices.IndexFunc(list, func(v verb) bool { return v.name() == word })
		if i < 0 {
			return nil, ""
		}
		if list[i].verbs == nil {
			word := wordAt(usageWords(list[i].use), len(words[at+1:]))
			return nil, cmp.Or(kindOfWord(kinds, word), kindOfWord(promptKinds, word))
		}
		list = list[i].verbs
	}

	for _, v := range list {
		items = append(items, project.OfferedItem{Value: v.name(), About: v.short})
	}
	return items, ""
}

// usageWords are the words behind a verb in the first form of its usage, without its flags. "A|B"
// is one of them.
func usageWords(use string) []string {
	first, _, _ := strings.Cut(use, " | ")
	words := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(first))[1:]
	return slices.DeleteFunc(words, func(word string) bool {
		return word == "FLAGS" || word == "--"
	})
}

// wordAt is the word of a usage behind n others, empty if there is none. "PATH..." stands for all
// that follow.
func wordAt(usage []string, n int) string {
	if n < len(usage) {
		return usage[n]
	}
	if len(usage) > 0 && strings.HasSuffix(usage[len(usage)-1], "...") {
		return usage[len(usage)-1]
	}
	return ""
}

// kindOfWord is the kind of the first alternative of a word of a usage that has one.
func kindOfWord(kinds map[string]string, word string) string {
	for one := range strings.SplitSeq(strings.TrimSuffix(word, "..."), "|") {
		if kind := kinds[one]; kind != "" {
			return kind
		}
	}
	return ""
}

// completeVerb completes what follows a verb, by the words of its usage.
func (o *offers) completeVerb(use string) cobra.CompletionFunc {
	words := usageWords(use)
	takesLine := slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains(strings.Split(word, "|"), "LINE")
	})

	return func(
		cmd *cobra.Command,
		args []string,
		typed string,
	) ([]string, cobra.ShellCompDirective) {
		if takesLine && (len(args) > 0 || strings.HasPrefix(typed, "/")) {
			return o.completeLine(cmd, args, typed)
		}
		word := wordAt(words, len(args))
		if word == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind := kindOfWord(kinds, word)
		if kind == "" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		o.refresh(cmd.Context())
		defer o.close()
		return shellCompletions(o.completer.Names(cmd.Context(), kind, typed))
	}
}
