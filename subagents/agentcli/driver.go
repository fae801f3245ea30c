package agentcli

import (
	"cmp"
	"encoding/json"
	"slices"

	"tercet/formats"
	"tercet/subagents"
)

// Driver describes one agent CLI, as data and pure functions. It starts nothing.
type Driver struct {
	Name    string // the runner's name in subagent files, and the program's
	Package string // npm package, for advice
	Tested  string // version used in the conformance tests
	// Argv gives the arguments after the program's name. The prompt is not among them: it goes to
	// standard input.
	Argv func(Call) []string
	// Env gives KEY=VALUE for the child's environment; nil: nothing.
	Env func(Call) []string
	// Files are written into Call.Private before the start, by name, which may have folders; nil:
	// none.
	Files func(Call) map[string][]byte
	// Links are symbolic links made there, name to target; nil: none.
	Links func(Call) map[string]string
	// Line adds one line of standard output to the reading.
	Line func(*Reading, []byte)
	// End judges what no single line shows; may be nil.
	End func(*Reading, Ending)
	// Metered says when the agent CLI reports its tokens.
	Metered formats.Metered
	// Schema means that it accepts a schema for its answer.
	Schema bool
	// Parts means that it can restrict the shell to some commands.
	Parts bool
	// Servers means that it can be given MCP servers of which it may call the named tools and no
	// others.
	Servers bool
	// Unfit says why one of them cannot be given to it, empty if it can; nil: all can.
	Unfit func(subagents.Server) string
	// Sessions says how it goes on in a session of its own; nil: it begins afresh each time.
	Sessions *Sessions
	// Unpacks means that its first start unpacks files into a cache that a sandbox protects; so
	// tercet asks for its version outside the sandbox first.
	Unpacks bool
	// Raced tells by its standard error that it did nothing because another start of it was making
	// its database; nil: it never does.
	Raced func(stderr string) bool
	// UsageLimit is a regular expression of the words by which it says that the account may not use
	// its model for a while; empty: those of the others. Case does not matter.
	UsageLimit string
	// Logins are files of a logged-in user, below the folder that a variable names; Keys are
	// variables with an API key.
	Logins []Login
	Keys   []string
	// Accounts are files that name the account of a logged-in user.
	Accounts []accountFile
	// Adapters are programs that speak the Agent Client Protocol for it, with the same Footprint.
	Adapters  []string
	Footprint Footprint
	// Settings are the files of a project that name programs which it may start: servers, hooks,
	// plugins. The name of a folder ends with a slash. They are part of what a user trusts.
	Settings []string
}

// Sessions is how an agent CLI stores its sessions.
type Sessions struct {
	// Named means that the session gets its id before the start; else the output tells it.
	Named bool
	// Files are patterns of the files of a session, with ID for its id, below the first of the
	// Footprint's Stores. The first one is there while the session is.
	Files []string
	// Gone is what it says on standard error of a session that it does not have.
	Gone string
	// Delete gives the arguments that remove a session; nil: removing Files does.
	Delete func(id string) []string
}

// Session is the session of one call.
type Session struct {
	Keep   bool   // the session stays behind
	ID     string // empty: it is new and gets its id from the agent CLI
	Resume bool   // the session is there
}

// Login is a file below the folder in the variable Var, or below Home in the home folder if Var is
// not set.
type Login struct {
	Var, Home, File string
	Holds           string // text in it if the user is logged in; empty: its existence counts
}

// Drivers lists the agent CLIs in the order of `auto`. Their names are those of formats.AgentCLIs.
func Drivers() []Driver {
	return []Driver{Claude(), Codex(), OpenCode(), Gemini(), Copilot()}
}

// Names lists the runners of Drivers, in order.
func Names() []string {
	var out []string
	for _, d := range Drivers() {
		out = append(out, d.Name)
	}
	return out
}

// Settings are those of all Drivers.
func Settings() []string {
	var out []string
	for _, d := range Drivers() {
		out = append(out, d.Settings...)
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

// Grant is what an agent may do besides reading its tree and writing documents and its return.
type Grant struct {
	Write, Shell, Net bool
	Commands          []string // of the shell; nil: all
}

// grants reads what a subagent may use for a request. Where only some commands are granted, a
// program that cannot be held to them gets none.
func (c *CLI) grants(r formats.Request) Grant {
	info := c.Definition.Info
	tools, some := r.Terms.Wishes.Narrow(info.Tools, info.Commands)
	holds := some == nil || c.Driver.Parts && c.Speaker == nil
	if some != nil && r.Terms.Live {
		some = append(slices.Clone(some), boardCommands(c.Tercet)...)
	}
	return Grant{
		Write:    slices.Contains(tools, "write"),
		Shell:    slices.Contains(tools, "shell") && holds,
		Net:      slices.Contains(tools, "net"),
		Commands: some,
	}
}

// Call is one start of an agent CLI. All folders are absolute.
type Call struct {
	Dir     string // working tree
	Root    string // project root; may equal Dir
	Out     string // folder for documents
	Return  string // file for the return
	Private string // folder of the call, mode 0700, with Return inside
	Home    string // private home; empty: the user's
	Model   string // empty: the agent CLI's own choice
	Grant   Grant
	Servers []subagents.Server // MCP servers that it may use
	Turns   int                // limit of turns, 0: none
	Cost    float64            // limit in US dollars, 0: none
	Schema  json.RawMessage    // of the answer; nil: none
	Session Session
	// Lookup gives a variable of the child's environment.
	Lookup func(name string) string
}

// protected are the files of the workspace that no agent may write, relative to the project root.
var protected = []string{
	"state.json", "audit.jsonl", "TODO.md", "config.yaml", "auto-approve", "errors.json",
	"commands/**", "subagents/**", "facets/**", "archive/**",
}

// Reading is what an agent CLI has reported so far. Only the goroutine that reads its output uses
// it until the process has ended.
type Reading struct {
	Text       string          // the final message so far
	Structured json.RawMessage // the answer that obeys the schema; nil if there is none
	Model      string
	Tokens     formats.Tokens
	Cost       float64 // US dollars
	Turns      int
	Session    string   // id of its session
	Denied     []string // refused tools
	Fault      *Fault   // failure that the agent CLI reports
	Ended      bool     // it reported that it is done
	Empty      int      // consecutive steps without a usable answer of the model
	Again      bool     // it retries after Fault, which is the command's decision
	// failure that it reports after an answer; counts only if no answer is a return
	Late *Fault

	progress
}

// answer is what an agent CLI gave as its final message at one time. Another one may follow.
type answer struct {
	text       string
	structured json.RawMessage
}

// maxEarlier bounds the answers before the last one that are kept.
const maxEarlier = 8

// addAnswer takes in a final message. The ones before it are kept, because only the nonce tells
// which is the return. Work makes them void: what was said before it is not about all of the work.
func (r *Reading) addAnswer(text string) {
	switch {
	case r.worked:
		r.earlier = nil
	case r.Text != "" || r.Structured != nil:
		r.earlier = append(r.earlier, answer{r.Text, r.Structured})
		r.earlier = r.earlier[max(0, len(r.earlier)-maxEarlier):]
	}
	r.Text = text
	r.Structured = nil
	r.worked = false
}

// answers lists the final messages, the last one first.
func (r *Reading) answers() []answer {
	list := []answer{{r.Text, r.Structured}}
	if r.worked {
		return list
	}
	for _, one := range slices.Backward(r.earlier) {
		list = append(list, one)
	}
	return list
}

// progress is how far a program has come.
type progress struct {
	act     Act    // the last
	message string // id of the message whose tokens were counted last
	before  formats.Tokens
	calls   map[string]string // of tools that run: id and name; nil before there is one
	failed  Fault             // of the last request to the model, which may be made again
	earlier []answer          // the final messages before the last one, oldest first
	worked  bool              // it used a tool since its last message
}

// Ending is how the process ended.
type Ending struct {
	Exit    int
	Stderr  []byte
	Private string // folder of the call
}

// Fault is a failure that an agent CLI reports.
type Fault struct {
	Status  int    // HTTP status of the model's server, 0 if unknown
	Kind    string // its own word for the failure
	Message string
}

// maxEmpty is how many steps without an answer are waited through. A CLI that asks a broken server
// again and again is stopped.
const maxEmpty = 4

// events makes the Driver.Line of a program that prints events as JSON. What is printed between
// them, such as a complaint about a broken answer, is passed over.
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
