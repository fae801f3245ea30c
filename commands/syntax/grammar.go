package syntax

import (
	"slices"

	"tercet/formats"
	"tercet/internal/strict"
)

// Form is one kind of map in the format, with its keys. The decoder, the JSON Schema for editors
// and the reference page all use this table.
type Form struct {
	Name string // step, target, ...
	What string // for messages: "a step"
	Keys []Key
	// Short is the key whose value may replace the whole map; Needs is the required key, with an
	// example.
	Short, Needs string
	// Foreign are keys of other tools, which tercet accepts and ignores.
	Foreign []string
}

// Key is one key. Is lists what its value may be: words of kindRules, or a form as "form:target",
// joined by |.
type Key struct{ Name, Is, Does string }

// wordDescriptions says what a word is, for messages. "one of" closes the list.
var wordDescriptions = map[string]string{
	"frontmatter.command": "a command name",
	"frontmatter.env":     "the name of a variable",
	"args.allow":          "a task status",
	"argument.name":       "a name",
	"argument.type":       "a type",
	"step.among":          "a subagent",
	"step.as":             "a name",
	"board.topic":         "a topic",
	"target.auto":         "a choice",
	"step.auto":           "a choice",
	"step.code":           "a code",
	"step.columns":        "the name of a column",
	"step.fallback":       "a subagent",
	"step.always":         "one of failed, completed, any",
	"step.in":             "one of worktree, main, none",
	"defaults.in":         "one of worktree, main, none",
	"during.status":       "a task status",
	"during.failed":       "a task status",
	"requirement.exit":    "a code",
	"status.to":           "a status",
	"check.document":      "a document profile",
	"check.project":       "build, lint or test",
	"publish.to":          "text",
	"publish.as":          "text",
	"publish.push":        "a boolean",
	"publish.closes":      "a number or an address",
	"wait.choose":         "a choice",
	"retry.on":            "transient, timeout or invalid_return",
	"expect.artifact":     "an artifact type",
}

// Grammar is the table of all forms.
func Grammar() []Form {
	return []Form{
		frontForm, argumentForm, argsForm, defaultsForm, stepForm, duringForm, worktreeForm,
		requirementForm, loadForm, statusForm, checkForm, publishForm, returnForm, timeoutForm,
		waitForm, retryForm, expectForm, boardForm, targetForm,
	}
}

// keys is the form as the decoder takes it.
func (f Form) keys() strict.Form {
	out := strict.Form{Unknown: "unknown key '%s' in " + f.What, Foreign: f.Foreign}
	for _, k := range f.Keys {
		out.Keys = append(out.Keys, k.Name)
	}
	return out
}

// key is one row; one without a name if there is none.
func (f Form) key(name string) Key {
	for _, k := range f.Keys {
		if k.Name == name {
			return k
		}
	}
	return Key{}
}

// only is a form with those of its keys that are chosen, under a name of its own for messages.
func (f Form) only(what string, chosen func(name string) bool) Form {
	f.What = what
	f.Keys = slices.DeleteFunc(slices.Clone(f.Keys), func(k Key) bool {
		return !chosen(k.Name)
	})
	return f
}

var frontForm = Form{
	Name: "frontmatter",
	What: "the frontmatter",
	Keys: []Key{
		{"command", "word", "name of the command and of its file"},
		{"description", "text", "one line of at most 120 characters"},
		{"arguments", "arguments", "what the line may give"},
		{"tiers", "words", "names in order; adds --tier and $tier"},
		{"during", "word|form:during", "status of the task while the command runs"},
		{"subagents", "word", "the pack whose subagents are looked up first"},
		{
			"routing", "map",
			"subagents by the language of the task, such as " +
				"{default: planner, lean: lean-planner}: steps that delegate to the default one " +
				"delegate to these",
		},
		{"examples", "texts", "lines for the help"},
		{"hidden", "boolean", "left out of menus"},
		{
			"limits",
			"map",
			"rollbacks, retries, visits, steps, parallel, spawns, duration, tokens, cost, " +
				"auto_resume",
		},
		{"worktree", "form:worktree", "where the work is done"},
		{"env", "words", "names that $env may show"},
		{"needs", "words", "labels of a worker of the team that may run it"},
		{
			"output_schema",
			"text|map",
			"JSON Schema of the fields that the command returns, or a file of the project with it",
		},
	},
	Foreign: append([]string{
		"argument-hint", "allowed-tools", "model", "agent", "subtask", "disable-model-invocation",
	}, slices.Concat(inertKeys, formats.DepthKeys())...),
}

// inertKeys describe a file to its readers and to other tools.
var inertKeys = []string{"version", "category"}

var argumentForm = Form{
	Name: "argument",
	What: "an argument",
	Keys: []Key{
		{"name", "word", "lower case letters, digits and _"},
		{
			"type", "word",
			"string, path, enum, text, integer, number, boolean, duration, task, tasks, json or " +
				"subagent",
		},
		{"required", "boolean", "the command does not start without it"},
		{"default", "value", "taken when it is not given"},
		{"description", "text", "for the help"},
		{"flag", "boolean", "only as --name"},
		{"short", "text", "one letter"},
		{"values", "texts", "of an enum"},
		{"min", "number|duration", "the least value"},
		{"max", "number|duration", "the greatest value"},
		{"pattern", "text", "a regular expression that the whole value matches"},
		{"repeat", "boolean", "may be given several times"},
		{"complete", "text", "what completion offers"},
		{
			"ask",
			"boolean",
			"tercet asks for it although it is not required; an empty line leaves it out",
		},
		{
			"rules",
			"word",
			"the key of the rules file that answers for it: offered on a terminal, taken " +
				"without one",
		},
		{
			"unless",
			"words",
			"if one of these is given, tercet neither requires nor asks for this one",
		},
		{
			"of", "word",
			"the argument of type subagent whose input this gives: a text, or NAME=VALUE",
		},
		{
			"path", "word",
			"of a text: the argument of type path that a text of one word ending in .md gives " +
				"instead",
		},
	},
}

var argsForm = Form{
	Name: "args",
	What: "a block 'yaml args'",
	Keys: []Key{
		{"allow", "words", "statuses of the task from which the command may start"},
		{"load", "loads", "names with values, in order"},
		{"require", "requirements", "what must hold before anything runs"},
	},
}

var defaultsForm = Form{
	Name: "defaults",
	What: "a block 'yaml defaults'",
	Keys: []Key{
		{"with", "map", "input of every worker"},
		{"timeout", "duration|form:timeout", "of every worker"},
		{"retry", "integer|form:retry", "of every worker"},
		{"on", "rules", "where outcomes lead"},
		{"in", "word", "worktree, main or none"},
		{"expect", "form:expect", "what results must hold"},
	},
}

var duringForm = Form{
	Name:  "during",
	What:  "'during'",
	Short: "status",
	Keys: []Key{
		{"status", "word", "a status that is in progress"},
		{"when", "jq", "only then"},
		{"failed", "word", "the status after a failure, else the one before"},
	},
}

var worktreeForm = Form{
	Name: "worktree",
	What: "'worktree'",
	Keys: []Key{
		{"per", "word", "run, or child: of a parallel or foreach"},
		{"branch", "text", "name of the branch"},
	},
}

var requirementForm = Form{
	Name:  "requirement",
	What:  "a requirement",
	Needs: "when: ...",
	Keys: []Key{
		{"when", "jq", "must hold"},
		{"else", "text", "the message otherwise"},
		{"exit", "word|integer", "the code otherwise"},
	},
}

var loadForm = Form{
	Name: "load",
	What: "a load",
	Keys: []Key{
		{"document", "word", "a profile"},
		{"path", "texts|jq", "candidates for the document"},
		{"files", "texts", "globs; with document a list of all documents there"},
		{"task", "jq", "the task to bind"},
	},
}

var statusForm = Form{
	Name:  "status",
	What:  "'status'",
	Short: "to",
	Needs: "to: ...",
	Keys: []Key{
		{"to", "word", "the status"},
		{"task", "value", "another task"},
		{"phase", "value", "a phase of the plan instead"},
		{"artifacts", "value", "to be linked; else all that are not yet"},
		{"reason", "value", "where the table asks one"},
	},
}

var checkForm = Form{
	Name: "check",
	What: "'check'",
	Keys: []Key{
		{"document", "word", "a profile"},
		{"path", "value", "of the document; else the newest artifact"},
		{"file", "value", "a path that must exist"},
		{"nonempty", "boolean", "and have content"},
		{"command", "list", "a program and its arguments"},
		{"project", "words", "build, lint, test"},
	},
}

var publishForm = Form{
	Name: "publish",
	What: "'publish'",
	Keys: []Key{
		{"to", "value", "a branch, or current"},
		{"as", "word", "merge, squash, patch or pr"},
		{
			"push",
			"value",
			"true: push in place of a merge, and open a request if `$run.repo_state` is github",
		},
		{"closes", "value", "the issue that the work closes: its number or address"},
	},
}

var returnForm = Form{
	Name:  "return",
	What:  "'return'",
	Short: "message",
	Keys: []Key{
		{"status", "value", "an outcome"},
		{"message", "text", "in one line"},
		{"text", "value", "markdown to show"},
		{"artifacts", "value", "documents"},
		{"fields", "map", "further members"},
		{"next_steps", "text", "what to run next"},
	},
}

var timeoutForm = Form{
	Name:  "timeout",
	What:  "'timeout'",
	Short: "total",
	Keys: []Key{
		{"total", "duration", "of all"},
		{"idle", "duration", "without output"},
	},
}

var waitForm = Form{
	Name: "wait",
	What: "the 'timeout' of a gate",
	Keys: []Key{
		{"after", "duration", "how long you have"},
		{"choose", "word", "the choice then"},
	},
}

var retryForm = Form{
	Name:  "retry",
	What:  "'retry'",
	Needs: "max: 2",
	Keys: []Key{
		{"max", "integer", "attempts after the first"},
		{"on", "words", "transient, timeout, invalid_return"},
		{"backoff", "duration", "before the first retry"},
		{"factor", "number", "by which it grows"},
		{"cap", "duration", "up to this"},
	},
}

var boardForm = Form{
	Name:  "board",
	What:  "'board'",
	Short: "topic",
	Needs: "topic: NAME",
	Keys: []Key{
		{"topic", "word", "to which results are posted"},
		{
			"live",
			"boolean",
			"what a worker publishes while it works is there at once for those beside it",
		},
	},
}

var expectForm = Form{
	Name: "expect",
	What: "'expect'",
	Keys: []Key{
		{"artifact", "word", "a type that must be there"},
		{"if", "jq", "must hold of the result"},
		{"else", "text", "what it is told where `if` does not hold"},
		{"schema", "text|map", "JSON Schema of the fields, or a file of the project with it"},
	},
}

var targetForm = Form{
	Name: "target",
	What: "a target",
	Keys: []Key{
		{"next", "boolean", "go on"},
		{"fail", "boolean", "end as failed"},
		{"redo", "words", "run these again, then this step; its own id: this step alone"},
		{"rollback", "words", "the same, counted"},
		{"ask", "words", "send the question to one of them"},
		{"goto", "word", "jump"},
		{"return", "text|form:return", "end with this"},
		{"gate", "boolean|text", "ask you"},
		{"show", "list|jq", "with the gate"},
		{"choices", "choices", "of the gate"},
		{"auto", "word", "of the gate"},
		{"consent", "boolean", "of the gate"},
		{"if", "jq", "only then"},
		{"max", "integer", "times at most"},
		{"note", "boolean", "of a choice: it is taken with a note only"},
	},
}
