package modelserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Script says what the model answers.
type Script func(Turn) Reply

// Fault is what goes wrong with an answer.
type Fault string

// The faults.
const (
	NoFault Fault = ""
	Garbage Fault = "garbage"  // status 200 with something that is no JSON
	Hang    Fault = "hang"     // nothing at all is sent
	HangMid Fault = "hang-mid" // half of it is sent
	Cut     Fault = "cut"      // the connection is closed after half of it, of plain answers too
	Slow    Fault = "slow"     // a pause after every part
)

// String is the name of the scenario with this fault.
func (f Fault) String() string { return string(f) }

// Call is a tool that the model wants to be run.
type Call struct {
	Tool string
	Args map[string]any
	// Free tells that the tool takes Input, a text, in place of arguments.
	Free  bool
	Input string
	// Forced has the call made even if the tool is not offered, as a model may make one up.
	Forced bool
}

// Usage is what the answer says of tokens; a zero Usage means 100 in, 20 of them cached, and 20 out.
type Usage struct{ Input, Cached, Output int }

// Reply is one answer of the model: an HTTP status that is an error, or a text, or calls, with or without a text.
type Reply struct {
	Text   string
	Calls  []Call
	Status int // 0 means 200
	Fault  Fault
	Usage  Usage
}

func (r *Reply) fill(t Turn) {
	if r.Usage == (Usage{}) {
		r.Usage = Usage{Input: 100, Cached: 20, Output: 20}
	}
	if r.Text == "" && len(r.Calls) == 0 {
		r.Text = defaultText
	}
	for _, c := range r.Calls {
		if !c.Forced && !slices.Contains(t.Tools, c.Tool) {
			r.Text, r.Calls = "the tool "+c.Tool+" is not offered", nil
			return
		}
	}
}

// defaultText is what the model says where a scenario does not care.
const defaultText = "pong"

// Written is the name and the content of the file that the scenario `tool` writes.
const (
	WrittenName = "written.txt"
	WrittenText = "written by the model\n"
)

// ShellCommand is what the scenario `shell` has run.
const ShellCommand = "echo ran-$((40+2)) > shell.txt"

// Scenarios names the built-in scenarios; fail-N and fail-N-STATUS stand for themselves and fail N times first, with
// status 500 if none is named.
func Scenarios() []string {
	return []string{
		"text", "tool", "shell", "mcp", "schema-obeyed", "schema-ignored", "400", "401", "429", "500", "529", "fail-2",
		"fail-1-429", Garbage.String(), Hang.String(), HangMid.String(), Cut.String(), Slow.String(), "loop",
	}
}

// builtin gives the script of a scenario.
func builtin(name string) (Script, bool) {
	switch Fault(name) {
	case Garbage, Hang, HangMid, Cut, Slow:
		return func(Turn) Reply { return Reply{Fault: Fault(name)} }, true
	case NoFault:
	}
	if status, err := strconv.Atoi(name); err == nil && status >= 400 && status < 600 {
		return func(Turn) Reply { return Reply{Status: status} }, true
	}
	if rest, ok := strings.CutPrefix(name, "fail-"); ok {
		return failing(rest)
	}
	switch name {
	case "text", "schema-ignored":
		return func(Turn) Reply { return Reply{Text: defaultText} }, true
	case "tool":
		return afterResult(func(t Turn) Reply { return t.Write(WrittenName, WrittenText) }), true
	case "shell":
		return afterResult(func(t Turn) Reply { return t.Shell(ShellCommand) }), true
	case "mcp":
		return afterResult(mcp), true
	case "loop":
		return func(t Turn) Reply { return t.Shell("echo again") }, true
	case "schema-obeyed":
		return obey, true
	}
	return nil, false
}

// failing reads "N" or "N-STATUS".
func failing(rest string) (Script, bool) {
	number, code, has := strings.Cut(rest, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return nil, false
	}
	status := http.StatusInternalServerError
	if has {
		if status, err = strconv.Atoi(code); err != nil || status < 400 || status > 599 {
			return nil, false
		}
	}
	return func(t Turn) Reply {
		if t.Count <= n {
			return Reply{Status: status}
		}
		return Reply{Text: defaultText}
	}, true
}

// afterResult ends with a text once a tool has answered.
func afterResult(f Script) Script {
	return func(t Turn) Reply {
		if t.Results > 0 {
			return Reply{Text: "done"}
		}
		return f(t)
	}
}

func mcp(t Turn) Reply {
	for _, tool := range t.Tools {
		if strings.HasPrefix(tool, "mcp__") {
			return Reply{Calls: []Call{{Tool: tool, Args: map[string]any{}}}}
		}
	}
	return Reply{Text: "no tool of an MCP server is offered"}
}

// Obeyed is the object that the scenario `schema-obeyed` answers with.
func Obeyed() map[string]any {
	return map[string]any{"status": "completed", "summary": "obeyed"}
}

// obey answers with the object that a schema asks for: by the tool for it where there is one, else as the text.
func obey(t Turn) Reply {
	if slices.Contains(t.Tools, "StructuredOutput") && t.Results == 0 {
		return Reply{Calls: []Call{{Tool: "StructuredOutput", Args: Obeyed()}}}
	}
	return Reply{Text: `{"status": "completed", "summary": "obeyed"}`}
}

// Write is the reply that has a file written, by the tool for it that is offered; a text if there is none.
func (t Turn) Write(path, content string) Reply {
	for _, tool := range t.Tools {
		switch tool {
		case "Write", "write_file":
			return Reply{Calls: []Call{{Tool: tool, Args: map[string]any{"file_path": path, "content": content}}}}
		case "write":
			return Reply{Calls: []Call{{Tool: tool, Args: map[string]any{"filePath": path, "content": content}}}}
		}
	}
	return t.Shell("cat > '" + path + "' <<'END_OF_FILE'\n" + strings.TrimSuffix(content, "\n") + "\nEND_OF_FILE")
}

// Shell is the reply that has a command run, by the tool for it that is offered; a text if there is none.
func (t Turn) Shell(command string) Reply {
	for _, tool := range t.Tools {
		switch tool {
		case "Bash", "bash", "run_shell_command":
			return Reply{Calls: []Call{{Tool: tool, Args: map[string]any{"command": command, "description": "run a command"}}}}
		case "exec_command":
			return Reply{Calls: []Call{{Tool: tool, Args: map[string]any{"cmd": command}}}}
		case "shell_command":
			return Reply{Calls: []Call{{Tool: tool, Args: map[string]any{"command": command}}}}
		}
	}
	return Reply{Text: "no tool that can do this is offered"}
}
