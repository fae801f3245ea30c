package modelserver

import (
	"cmp"
	"encoding/json"
	"strings"
)

// API is a wire format.
type API string

// The wire formats.
const (
	Anthropic API = "anthropic"
	Responses API = "responses"
	Chat      API = "chat"
	Gemini    API = "gemini"
)

// Turn is a request, independent of its wire format.
type Turn struct {
	Scenario, Key string
	Count         int // number of such requests under the scenario and key so far, with this one
	API           API
	Model         string
	System        string   // system and developer texts
	Prompt        string   // texts of the user
	Outputs       []string // results of tools
	Tools         []string // names of the offered tools
	Results       int      // len(Outputs)
	Stream        bool
}

// wire is the union of what is read of the four formats.
type wire struct {
	Model  string          `json:"model"`
	Stream bool            `json:"stream"`
	System json.RawMessage `json:"system"`       // anthropic: text or blocks
	Instr  string          `json:"instructions"` // responses
	Input  json.RawMessage `json:"input"`        // responses: text or items
	Tools  []struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
		Declarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
		Inside []struct { // responses: the tools of a namespace
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"tools"`
	Messages []message `json:"messages"` // anthropic, chat
	Contents []content `json:"contents"` // gemini
	SystemIn content   `json:"systemInstruction"`
}

type message struct {
	Role    string          `json:"role"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
}

type content struct {
	Role  string `json:"role"`
	Parts []struct {
		Text     string          `json:"text"`
		Response json.RawMessage `json:"functionResponse"`
	} `json:"parts"`
}

// namespaceMark stands between a namespace and the name of a tool in it.
const namespaceMark = "::"

// parseTurn reads a request. Members that it does not know are none of its business.
func parseTurn(api API, body []byte) (Turn, error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return Turn{}, err
	}

	t := Turn{
		API:    api,
		Model:  w.Model,
		Stream: w.Stream,
		System: plainText(w.System) + w.Instr,
	}
	for _, tool := range w.Tools {
		if name := cmp.Or(tool.Function.Name, tool.Name); name != "" {
			t.Tools = append(t.Tools, name)
		}
		for _, d := range tool.Declarations {
			t.Tools = append(t.Tools, d.Name)
		}
		for _, one := range tool.Inside {
			t.Tools = append(t.Tools, tool.Name+namespaceMark+one.Name)
		}
	}

	messages := w.Messages
	if len(w.Input) > 0 {
		if err := json.Unmarshal(w.Input, &messages); err != nil {
			t.Prompt += plainText(w.Input)
		}
	}
	for _, m := range messages {
		t.add(m)
	}

	for _, c := range append([]content{w.SystemIn}, w.Contents...) {
		t.addParts(c, c.Role == "")
	}
	t.Results = len(t.Outputs)
	return t, nil
}

func (t *Turn) add(m message) {
	switch {
	case m.Role == "tool":
		t.Outputs = append(t.Outputs, plainText(m.Content))
	case strings.HasSuffix(m.Type, "_call_output"):
		t.Outputs = append(t.Outputs, plainText(m.Output))
	case m.Role == "system", m.Role == "developer":
		t.System += plainText(m.Content)
	case m.Role == "user":
		for _, b := range blocks(m.Content) {
			if b.Type == "tool_result" {
				t.Outputs = append(t.Outputs, plainText(b.Content))
				continue
			}
			t.Prompt += b.Text
		}
	}
}

func (t *Turn) addParts(c content, system bool) {
	for _, p := range c.Parts {
		switch {
		case len(p.Response) > 0:
			t.Outputs = append(t.Outputs, string(p.Response))
		case system:
			t.System += p.Text
		case c.Role == "user":
			t.Prompt += p.Text
		}
	}
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

// blocks reads a text, which is one block, or a list of blocks.
func blocks(raw json.RawMessage) []block {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var list []block
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// plainText gives the texts of a text or a list of blocks.
func plainText(raw json.RawMessage) string {
	var b strings.Builder
	for _, one := range blocks(raw) {
		b.WriteString(one.Text)
	}
	return b.String()
}
