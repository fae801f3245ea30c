package agentcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Spoken is one thing that an agent did in its transcript: it said or thought something, used a
// tool, or got the result of one.
type Spoken struct {
	Kind SpokenKind
	Tool string // of a use: the agent's name for it
	Text string // what was said; the arguments or the result of a tool
	part bool   // more of the same text follows in the next line
}

// SpokenKind says what a part of a transcript is.
type SpokenKind string

// The kinds of parts.
const (
	Says    SpokenKind = "says"
	Thinks  SpokenKind = "thinks"
	Uses    SpokenKind = "uses"
	Gets    SpokenKind = "gets"
	Fails   SpokenKind = "fails"
	Printed SpokenKind = "prints" // a line that is no event
)

// Transcript reads what an agent CLI printed, of any kind that tercet drives. Events that tell
// nothing about the work are left out.
func Transcript(output []byte) []Spoken {
	var out []Spoken
	for line := range bytes.Lines(output) {
		for _, s := range spoken(bytes.TrimRight(line, "\r\n")) {
			last := len(out) - 1
			switch {
			case strings.TrimSpace(s.Text) == "" && s.Tool == "" && !s.part:
			case last >= 0 && out[last].Kind == s.Kind && (out[last].part && s.part):
				out[last].Text += s.Text
			case last >= 0 && out[last].Kind == Printed && s.Kind == Printed:
				out[last].Text += "\n" + s.Text
			default:
				out = append(out, s)
			}
		}
	}
	return out
}

// spoken reads one line.
func spoken(line []byte) []Spoken {
	var e map[string]any
	if json.Unmarshal(line, &e) != nil {
		return []Spoken{{Kind: Printed, Text: string(line)}}
	}
	kind := textAt(e, "type")
	switch {
	case e["method"] == "session/update":
		return acpSpoken(objectAt(objectAt(e, "params"), "update"))
	case e["jsonrpc"] != nil:
		return nil // the conversation around it
	case e["message"] != nil && (kind == "assistant" || kind == "user"):
		return claudeSpoken(objectAt(e, "message")["content"])
	case e["item"] != nil:
		if kind != "item.completed" {
			return nil
		}
		return codexSpoken(objectAt(e, "item"))
	case e["part"] != nil:
		return openCodeSpoken(kind, objectAt(e, "part"))
	case kind == "message" || strings.HasPrefix(kind, "tool_"):
		return geminiSpoken(kind, e)
	case e["data"] != nil:
		return copilotSpoken(kind, objectAt(e, "data"))
	}
	return failureSpoken(kind, e)
}

func claudeSpoken(content any) (out []Spoken) {
	if text, ok := content.(string); ok {
		return []Spoken{{Kind: Says, Text: text}}
	}
	parts, _ := content.([]any) //nolint:errcheck // a message of another shape says nothing
	for _, one := range parts {
		part, ok := one.(map[string]any)
		if !ok {
			continue
		}
		switch textAt(part, "type") {
		case "text":
			out = append(out, Spoken{Kind: Says, Text: textAt(part, "text")})
		case "thinking":
			out = append(out, Spoken{Kind: Thinks, Text: textAt(part, "thinking")})
		case "tool_use":
			out = append(out, toolUse(textAt(part, "name"), part["input"]))
		case "tool_result":
			out = append(out, Spoken{Kind: Gets, Text: flatText(part["content"])})
		}
	}
	return out
}

func codexSpoken(item map[string]any) []Spoken {
	switch kind := textAt(item, "type"); kind {
	case "agent_message":
		return []Spoken{{Kind: Says, Text: textAt(item, "text")}}
	case "reasoning":
		return []Spoken{{Kind: Thinks, Text: textAt(item, "text")}}
	case "command_execution":
		return []Spoken{
			toolUse("shell", textAt(item, "command")),
			{Kind: Gets, Text: textAt(item, "aggregated_output")},
		}
	case "file_change":
		return []Spoken{toolUse(kind, item["changes"])}
	case "mcp_tool_call":
		return []Spoken{toolUse(textAt(item, "tool"), item["arguments"])}
	case "web_search":
		return []Spoken{toolUse(kind, textAt(item, "query"))}
	case "error":
		return []Spoken{{Kind: Fails, Text: textAt(item, "message")}}
	}
	return nil
}

func openCodeSpoken(kind string, part map[string]any) []Spoken {
	state := objectAt(part, "state")
	switch kind {
	case "text":
		return []Spoken{{Kind: Says, Text: textAt(part, "text")}}
	case "reasoning":
		return []Spoken{{Kind: Thinks, Text: textAt(part, "text")}}
	case "tool_use", "tool":
		return []Spoken{
			toolUse(textAt(part, "tool"), state["input"]),
			{Kind: Gets, Text: flatText(state["output"])},
			{Kind: Fails, Text: textAt(state, "error")},
		}
	}
	return nil
}

func geminiSpoken(kind string, e map[string]any) []Spoken {
	switch {
	case kind == "message" && e["role"] == "assistant":
		return []Spoken{{Kind: Says, Text: textAt(e, "content"), part: e["delta"] == true}}
	case kind == "tool_use":
		return []Spoken{toolUse(textAt(e, "tool_name"), e["parameters"])}
	case kind == "tool_result":
		return []Spoken{
			{Kind: Gets, Text: textAt(e, "output")},
			{Kind: Fails, Text: textAt(objectAt(e, "error"), "message")},
		}
	}
	return nil
}

func copilotSpoken(kind string, data map[string]any) []Spoken {
	switch kind {
	case "assistant.message":
		return []Spoken{{Kind: Says, Text: textAt(data, "content")}}
	case "assistant.reasoning":
		return []Spoken{{Kind: Thinks, Text: textAt(data, "content")}}
	case "tool.execution_start":
		return []Spoken{toolUse(textAt(data, "toolName"), data["arguments"])}
	case "tool.execution_complete":
		return []Spoken{{Kind: Gets, Text: flatText(objectAt(data, "result")["content"])}}
	case "session.error":
		return []Spoken{{Kind: Fails, Text: textAt(data, "message")}}
	}
	return nil
}

func acpSpoken(update map[string]any) []Spoken {
	text := textAt(objectAt(update, "content"), "text")
	switch textAt(update, "sessionUpdate") {
	case "agent_message_chunk":
		return []Spoken{{Kind: Says, Text: text, part: true}}
	case "agent_thought_chunk":
		return []Spoken{{Kind: Thinks, Text: text, part: true}}
	case "tool_call":
		return []Spoken{toolUse(textAt(update, "title"), update["rawInput"])}
	case "tool_call_update":
		return []Spoken{{Kind: Gets, Text: flatText(update["rawOutput"])}}
	}
	return nil
}

// failureSpoken reads an event that only tells of a failure.
func failureSpoken(kind string, e map[string]any) []Spoken {
	switch {
	case kind == "error", kind == "turn.failed":
		text := textAt(e, "message")
		if text == "" {
			text = flatText(e["error"])
		}
		return []Spoken{{Kind: Fails, Text: text}}
	case kind == "result" && e["is_error"] == true:
		return []Spoken{{Kind: Fails, Text: textAt(e, "result")}}
	}
	return nil
}

// toolUse is a use of a tool with its arguments, one a line.
func toolUse(tool string, input any) Spoken {
	return Spoken{Kind: Uses, Tool: tool, Text: flatText(input)}
}

// flatText shows a value as text: the members of an object and the elements of a list one a line.
func flatText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		lines := make([]string, len(v))
		for i, one := range v {
			lines[i] = flatText(one)
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		if text, ok := v["text"].(string); ok && (v["type"] == "text" || len(v) == 1) {
			return text
		}
		lines := make([]string, 0, len(v))
		for _, key := range sortedKeys(v) {
			lines = append(lines, key+": "+flatText(v[key]))
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprint(value)
}

// textAt and objectAt give a member of a type; empty or nil for any other value.
func textAt(e map[string]any, key string) string {
	text, _ := e[key].(string) //nolint:errcheck // see above
	return text
}

func objectAt(e map[string]any, key string) map[string]any {
	object, _ := e[key].(map[string]any) //nolint:errcheck // see above
	return object
}
