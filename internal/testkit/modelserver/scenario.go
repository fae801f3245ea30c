package modelserver

import (
	"slices"
	"strconv"
	"strings"
)

// Script decides what the model answers.
type Script func(Turn) Reply

// Fault is a defect of an answer; the scenario of the same name has it.
type Fault string

// The faults.
const (
	Garbage Fault = "garbage" // status 200 with invalid JSON
	Hang    Fault = "hang"    // no answer at all
	Cut     Fault = "cut"     // the connection closes after half of the answer, also a plain one
)

// Call is a tool call of the model.
type Call struct {
	Tool string
	Args map[string]any
	// Forced makes the call even if the tool is not offered, as a model may hallucinate.
	Forced bool
}

// Usage is the token count in an answer; a zero Usage means 100 in, 20 of them cached, and 20 out.
type Usage struct{ Input, Cached, Output int }

// Reply is one answer of the model: an HTTP error status, or a text, calls, or both.
type Reply struct {
	Text   string
	Calls  []Call
	Status int // 0 means 200
	Fault  Fault
	Usage  Usage
}

func (r *Reply) setDefaults(t Turn) {
	if r.Usage == (Usage{}) {
		r.Usage = Usage{
			Input:  100,
			Cached: 20,
			Output: 20,
		}
	}
	if r.Text == "" && len(r.Calls) == 0 {
		r.Text = defaultText
	}
	for _, c := range r.Calls {
		if !c.Forced && !slices.Contains(t.Tools, c.Tool) {
			r.Text = "the tool " + c.Tool + " is not offered"
			r.Calls = nil
			return
		}
	}
}

// defaultText is what the model says where a scenario does not care.
const defaultText = "pong"

// builtinScript gives the script of a scenario that needs none of the caller: a text, an HTTP
// status or a fault.
func builtinScript(name string) (Script, bool) {
	reply := Reply{Text: defaultText}
	status, err := strconv.Atoi(name)
	switch {
	case err == nil && status >= 400 && status < 600:
		reply = Reply{Status: status}
	case slices.Contains([]Fault{Garbage, Hang, Cut}, Fault(name)):
		reply.Fault = Fault(name)
	case name != "text" && name != "schema-ignored":
		return nil, false
	}
	return func(Turn) Reply { return reply }, true
}

// Write is a reply that writes a file with the tool offered for it; a text if there is none.
func (t Turn) Write(path, content string) Reply {
	args := map[string][2]string{
		"Write":      {"file_path", "content"},
		"write_file": {"file_path", "content"},
		"write":      {"filePath", "content"},
		"create":     {"path", "file_text"},
	}
	for _, tool := range t.Tools {
		if names, ok := args[tool]; ok {
			return callReply(tool, names[0], path, names[1], content)
		}
	}
	return t.Shell("cat > '" + path + "' <<'END_OF_FILE'\n" + strings.TrimSuffix(content, "\n") +
		"\nEND_OF_FILE")
}

// Read is a reply that reads a file with the tool offered for it, or by a command.
func (t Turn) Read(path string) Reply {
	args := map[string]string{
		"Read":      "file_path",
		"read_file": "file_path",
		"read":      "filePath",
		"view":      "path",
	}
	for _, tool := range t.Tools {
		if name, ok := args[tool]; ok {
			return callReply(tool, name, path)
		}
	}
	return t.Shell("cat '" + path + "'")
}

// Shell is a reply that runs a command with the tool offered for it; a text if there is none.
func (t Turn) Shell(command string) Reply {
	for _, tool := range t.Tools {
		switch tool {
		case "Bash", "bash", "run_shell_command":
			return callReply(tool, "command", command, "description", "run a command")
		case "exec_command":
			return callReply(tool, "cmd", command)
		case "shell_command":
			return callReply(tool, "command", command)
		}
	}
	return Reply{Text: "no tool that can do this is offered"}
}

// callReply is the reply with one call, whose arguments are given as name, text, name, text.
func callReply(tool string, args ...string) Reply {
	all := map[string]any{}
	for pair := range slices.Chunk(args, 2) {
		all[pair[0]] = pair[1]
	}
	return Reply{Calls: []Call{{Tool: tool, Args: all}}}
}
