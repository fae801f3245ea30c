package syntax

import "slices"

// Form is one kind of map of the format with the keys that it may have. The checks of Parse, the JSON schema for editors and
// the page of the grammar are made of the same table.
type Form struct {
	Name string // step, target, ...
	What string // for messages: "a step"
	Keys []Key
	// Foreign are keys of other tools, which are accepted and left alone.
	Foreign []string
	// Later are keys of the grammar that this version refuses by name.
	Later []string
}

// Key is one key. Is says what its value may be: words of Kinds, a form as "form:target", several joined by |.
type Key struct{ Name, Is, Does string }

// Kinds are the words of Key.Is for values that are no form.
func Kinds() []string {
	return []string{"jq", "text", "word", "words", "boolean", "integer", "number", "duration", "map", "list", "value", "texts", "rules", "steps", "children", "arguments", "loads", "requirements", "choices"}
}

// Grammar is the table of all forms.
func Grammar() []Form {
	out := make([]Form, 0, len(formNames()))
	for _, name := range formNames() {
		out = append(out, form(name))
	}
	return out
}

func formNames() []string {
	return []string{
		"frontmatter", "argument", "args", "defaults", "step", "during", "worktree", "requirement", "load", "status", "check", "publish", "return", "timeout",
		"wait", "retry", "expect", "target",
	}
}

// form is one form; only the one that is asked for is made.
func form(name string) Form {
	f := Form{Name: name}
	switch name {
	case "frontmatter":
		return frontForm()
	case "argument":
		return argumentForm()
	case "step":
		keys := stepForm()
		f.What, f.Keys = "a step", keys[:]
	default:
		return partForm(f)
	}
	return f
}

// keysOf is the set of keys of a form, without some of them.
func keysOf(name string, less []string) *keySet {
	if name == "step" { // the largest, of which only the names are needed
		keys := stepForm()
		return keySetOf(Form{What: "a step"}, keys[:], less)
	}
	f := form(name)
	return keySetOf(f, f.Keys, less)
}

func keySetOf(f Form, keys []Key, less []string) *keySet {
	set := &keySet{what: f.What, later: f.Later, foreign: f.Foreign, known: make([]string, 0, len(keys))}
	for i := range keys {
		if key := keys[i].Name; !slices.Contains(less, key) {
			set.known = append(set.known, key)
		}
	}
	return set
}

func frontForm() Form {
	return Form{
		Name: "frontmatter", What: "the frontmatter",
		Keys: []Key{
			{"command", "word", "name of the command and of its file"},
			{"description", "text", "one line of at most 120 characters"},
			{"arguments", "arguments", "what the line may give"},
			{"tiers", "words", "names in order; adds --tier and $tier"},
			{"during", "word|form:during", "status of the task while the command runs"},
			{"version", "text", "of the file"},
			{"category", "text", "for menus"},
			{"examples", "texts", "lines for the help"},
			{"hidden", "boolean", "left out of menus"},
			{"limits", "map", "rollbacks, retries, visits, steps, parallel, spawns, duration, tokens, cost"},
			{"worktree", "form:worktree", "where the work is done"},
			{"env", "words", "names that $env may show"},
			{"output_schema", "text|map", "JSON Schema of the fields that the command returns, or a file of the project with it"},
		},
		Foreign: []string{"argument-hint", "allowed-tools", "model", "agent", "subtask", "disable-model-invocation"},
	}
}

func argumentForm() Form {
	return Form{Name: "argument", What: "an argument", Keys: []Key{
		{"name", "word", "lower case letters, digits and _"},
		{"type", "word", "string, path, enum, text, integer, number, boolean, duration, task, tasks or json"},
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
	}}
}

func stepForm() [41]Key {
	return [...]Key{
		{"id", "word", "to be referred to; else the title in lower case"},
		{"when", "jq", "the step is skipped when it is false"},
		{"tier", "word|words", "the tiers in which it runs; Light+ is that one and later ones"},
		{"delegate", "word|text", "the subagent that does the work"},
		{"among", "words", "the subagents that an expression may name"},
		{"parallel", "children", "steps side by side, by name"},
		{"foreach", "jq", "an array; the body runs for each element"},
		{"as", "word", "name of the element, else item"},
		{"max_parallel", "integer", "elements side by side"},
		{"until", "jq", "the body is repeated until it holds"},
		{"max", "integer", "passes at most"},
		{"do", "steps", "the body as a list"},
		{"merge", "jq", "whether the children together pass"},
		{"status", "word|form:status", "the task's new status"},
		{"gate", "text", "a question to a person"},
		{"show", "list|jq", "what is shown with it"},
		{"choices", "choices", "labels with where they lead"},
		{"auto", "word", "the choice where nobody is asked"},
		{"check", "jq|form:check", "approved or rejected"},
		{"else", "text", "the message of a check that fails"},
		{"set", "map", "names with jq"},
		{"publish", "form:publish", "brings the work of the worktree to a branch"},
		{"fail", "text", "ends the command as failed"},
		{"code", "word", "of the failure"},
		{"table", "jq", "rows to show"},
		{"columns", "words", "of the table"},
		{"title", "text", "of the table"},
		{"return", "text|form:return", "ends the command"},
		{"with", "map", "input of the subagent"},
		{"timeout", "duration|form:timeout|form:wait", "of the work, or of a gate"},
		{"retry", "integer|form:retry", "further attempts"},
		{"fallback", "word", "a subagent tried once after the retries"},
		{"on", "rules", "where outcomes lead"},
		{"expect", "form:expect", "what the result must hold"},
		{"prompt", "text", "a further instruction"},
		{"always", "word", "in Error Handling: failed, completed or any"},
		{"in", "word", "worktree, main or none"},
		{"board", "word", "topic to which the result is posted"},
		{"compensate", "form:step", "takes the effect back"},
		{"after", "words", "in Between Steps: runs after these"},
		{"before", "words", "in Between Steps: runs before these"},
	}
}

func partForm(f Form) Form {
	switch f.Name {
	case "args":
		f.What, f.Keys = "a block 'yaml args'", []Key{
			{"allow", "words", "statuses of the task from which the command may start"},
			{"load", "loads", "names with values, in order"},
			{"require", "requirements", "what must hold before anything runs"},
		}
	case "defaults":
		f.What, f.Keys = "a block 'yaml defaults'", []Key{
			{"with", "map", "input of every worker"},
			{"timeout", "duration|form:timeout", "of every worker"},
			{"retry", "integer|form:retry", "of every worker"},
			{"on", "rules", "where outcomes lead"},
			{"in", "word", "worktree, main or none"},
			{"expect", "form:expect", "what results must hold"},
		}
	case "during":
		f.What, f.Keys = "'during'", []Key{
			{"status", "word", "a status that is in progress"}, {"when", "jq", "only then"}, {"failed", "word", "the status after a failure, else the one before"},
		}
	case "worktree":
		f.What, f.Keys = "'worktree'", []Key{{"per", "word", "run"}, {"branch", "text", "name of the branch"}}
	case "requirement":
		f.What, f.Keys = "a requirement", []Key{{"when", "jq", "must hold"}, {"else", "text", "the message otherwise"}, {"exit", "word|integer", "the code otherwise"}}
	case "load":
		f.What, f.Keys = "a load", []Key{
			{"document", "word", "a profile"}, {"path", "texts|jq", "candidates for the document"}, {"files", "texts", "globs"}, {"task", "jq", "the task to bind"},
		}
	case "status":
		f.What, f.Keys = "'status'", []Key{
			{"to", "word", "the status"}, {"task", "value", "another task"}, {"phase", "value", "a phase of the plan instead"}, {"artifacts", "value", "to be linked; else all that are not yet"}, {"reason", "value", "where the table asks one"},
		}
	case "check":
		f.What, f.Keys = "'check'", []Key{
			{"document", "word", "a profile"},
			{"path", "value", "of the document; else the newest artifact"},
			{"file", "value", "a path that must exist"},
			{"nonempty", "boolean", "and have content"},
			{"command", "list", "a program and its arguments"},
			{"project", "words", "build, lint, test"},
		}
	case "publish":
		f.What, f.Keys = "'publish'", []Key{{"to", "value", "a branch, or current"}, {"as", "word", "merge, squash, patch or pr"}}
	case "return":
		f.What, f.Keys = "'return'", []Key{
			{"status", "value", "an outcome"}, {"message", "text", "in one line"}, {"text", "value", "markdown to show"}, {"artifacts", "value", "documents"}, {"fields", "map", "further members"}, {"next_steps", "text", "what to run next"},
		}
	case "timeout":
		f.What, f.Keys = "'timeout'", []Key{{"total", "duration", "of all"}, {"idle", "duration", "without output"}}
	case "wait":
		f.What, f.Keys = "the 'timeout' of a gate", []Key{{"after", "duration", "how long a person has"}, {"choose", "word", "the choice then"}}
	case "retry":
		f.What, f.Keys = "'retry'", []Key{
			{"max", "integer", "attempts after the first"}, {"on", "words", "transient, timeout, invalid_return"}, {"backoff", "duration", "before the first retry"}, {"factor", "number", "by which it grows"}, {"cap", "duration", "up to this"},
		}
	case "expect":
		f.What, f.Keys = "'expect'", []Key{{"artifact", "word", "a type that must be there"}, {"if", "jq", "must hold of the result"}, {"schema", "text|map", "JSON Schema of the fields, or a file of the project with it"}}
	case "target":
		f.What, f.Keys = "a target", []Key{
			{"next", "boolean", "go on"},
			{"fail", "boolean", "end as failed"},
			{"redo", "words", "run these again, then this step"},
			{"rollback", "words", "the same, counted"},
			{"ask", "words", "send the question to one of them"},
			{"goto", "word", "jump"},
			{"return", "text|form:return", "end with this"},
			{"gate", "boolean|text", "ask a person"},
			{"show", "list|jq", "with the gate"},
			{"choices", "choices", "of the gate"},
			{"auto", "word", "of the gate"},
			{"if", "jq", "only then"},
			{"max", "integer", "times at most"},
		}
	}
	return f
}
