package agentcli

import (
	"cmp"
	"encoding/json"
	"slices"

	"tercet/formats"
)

// Driver is what is known of one agent CLI: data and pure functions. It starts nothing.
type Driver struct {
	Name    string // the word for the runner in subagent files, also that of its program
	Package string // what npm calls it, for advice
	Tested  string // the version that the conformance tests drive
	// Argv gives the arguments behind the program's name. The prompt is never one of them: it is fed on standard input.
	Argv func(Call) []string
	// Env gives KEY=VALUE to add to the environment of the child; nil adds nothing.
	Env func(Call) []string
	// Files are written into Call.Private before the program starts, by name, with the folders that a name has; nil writes
	// nothing.
	Files func(Call) map[string][]byte
	// Links are made there too, by name, and lead to what they name; nil makes none.
	Links func(Call) map[string]string
	// Line takes one line of standard output into the reading.
	Line func(*Reading, []byte)
	// End judges what the lines alone do not say; nil: the lines say all.
	End func(*Reading, Ending)
	// Metered tells when the program says what it used.
	Metered formats.Metered
	// Schema tells that the program can be given a schema for its answer.
	Schema bool
	// Parts tells that the program can be held to some commands of the shell.
	Parts bool
	// Unpacks tells that the program unpacks itself into a cache when it is first started, which it may not write within
	// bounds: it is asked for its version before them.
	Unpacks bool
	// Logins are files that the program keeps when a person has logged in, below the folder that a variable names; Keys
	// are variables that hold a key instead.
	Logins []Login
	Keys   []string
}

// Login is a file below the folder that Var names, or below Home in the home folder where Var is not set.
type Login struct {
	Var, Home, File string
	Holds           string // what stands in it only when somebody is logged in; empty: that it is there says so
}

// Drivers lists the agent CLIs in the order in which `auto` looks for them.
func Drivers() []Driver { return []Driver{Claude(), Codex(), OpenCode(), Gemini(), Copilot()} }

// Names are the runners of Drivers, in their order.
func Names() []string {
	var out []string
	for _, d := range Drivers() {
		out = append(out, d.Name)
	}
	return out
}

// ByName finds a driver.
func ByName(name string) (Driver, bool) {
	all := Drivers()
	at := slices.IndexFunc(all, func(d Driver) bool { return d.Name == name })
	if at < 0 {
		return Driver{}, false
	}
	return all[at], true
}

// Grant is what an agent may do besides reading in its tree, and writing documents and its return.
type Grant struct {
	Write, Shell, Net bool
	Commands          []string // of the shell; nil: all
}

// grants reads what a subagent may use. Where only some commands are granted, a program that cannot be held to them
// gets none.
func (c *CLI) grants() Grant {
	tools, some := c.Definition.Info.Tools, c.Definition.Info.Commands
	holds := some == nil || c.Driver.Parts && c.Speaker == nil
	return Grant{
		Write: slices.Contains(tools, "write"), Shell: slices.Contains(tools, "shell") && holds,
		Net: slices.Contains(tools, "net"), Commands: some,
	}
}

// Call is one start of a program. All folders are absolute.
type Call struct {
	Dir     string // the tree to work in
	Root    string // the project root, which Dir may be
	Out     string // folder for documents
	Return  string // file for the return
	Private string // folder of the call, mode 0700, that Return stands in
	Home    string // a private home, empty: the person's
	Model   string // empty: the program's own choice
	Grant   Grant
	Turns   int             // most turns, 0: no bound
	Cost    float64         // most US dollars, 0: no bound
	Schema  json.RawMessage // of the answer, nil: none
	// Lookup gives a variable of the environment that the child gets.
	Lookup func(name string) string
}

// protected are the files of the workspace that no agent may write, relative to the project root.
var protected = []string{
	"state.json", "audit.jsonl", "TODO.md", "config.yaml", "auto-approve", "errors.json", "commands/**", "subagents/**",
	"facets/**", "archive/**",
}

// Reading is what a program has said so far. Only the goroutine that reads its output uses it until the program has
// ended.
type Reading struct {
	Text       string          // the final message so far
	Structured json.RawMessage // the answer that obeys the schema, nil without one
	Model      string
	Tokens     formats.Tokens
	Cost       float64 // US dollars
	Turns      int
	Denied     []string // tools that were refused
	Fault      *Fault   // what the program reports as its own failure
	Ended      bool     // the program said that it is done
	Empty      int      // steps in a row in which the model said nothing that can be used
	Again      bool     // the program asks the model again after Fault, which is for the command to decide

	progress
}

// progress is how far a program has come.
type progress struct {
	act     Act    // the last
	message string // id of the message whose tokens were counted last
	before  formats.Tokens
	calls   map[string]string // of tools that run: id and name; nil before there is one
	failed  Fault             // of the last request to the model, which may be made again
}

// Ending is how the program ended.
type Ending struct {
	Exit    int
	Stderr  []byte
	Private string // folder of the call
}

// Fault is a failure that a program reports.
type Fault struct {
	Status  int    // HTTP status of the model's server, 0 if it is not known
	Kind    string // the program's word for it
	Message string
}

// maxEmpty is how many steps without an answer are waited through: a program that asks a broken server again and again
// without an end is stopped.
const maxEmpty = 4

// events makes the Driver.Line of a program that prints events as JSON. What is printed between them, such as a
// complaint about a broken answer, is passed over.
func events[E any](take func(*Reading, E)) func(*Reading, []byte) {
	return func(r *Reading, line []byte) {
		var e E
		if json.Unmarshal(line, &e) == nil {
			take(r, e)
		}
	}
}

// fault notes the first failure that is reported.
func (r *Reading) fault(f Fault) {
	r.Fault = cmp.Or(r.Fault, &f)
}

// deny notes a refused tool once.
func (r *Reading) deny(tool string) {
	if tool != "" && !slices.Contains(r.Denied, tool) {
		r.Denied = append(r.Denied, tool)
	}
}
