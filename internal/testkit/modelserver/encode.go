package modelserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// model is the name that answers carry where the request has none.
const model = "fake-model"

// encode gives the parts of an answer, and whether they are events of a stream.
func encode(t Turn, r Reply) (frames [][]byte, sse bool) {
	t.Model = cmp.Or(t.Model, model)
	b := blanks{
		"MODEL":  t.Model,
		"N":      t.Count,
		"TEXT":   r.Text,
		"IN":     r.Usage.Input,
		"CACHED": r.Usage.Cached,
		"FRESH":  r.Usage.Input - r.Usage.Cached,
		"OUT":    r.Usage.Output,
		"TOTAL":  r.Usage.Input + r.Usage.Output,
	}

	whole, events := map[API]func(Reply, blanks) (json.RawMessage, [][]byte){
		Anthropic: anthropic,
		Responses: responses,
		Chat:      chat,
		Gemini:    gemini,
	}[t.API](r, b)

	if !t.Stream {
		return [][]byte{whole}, false
	}
	return events, true
}

type object = map[string]any

// blanks are what stands in a form of a wire format for <NAME>.
type blanks map[string]any

// fill fills a form with values as JSON.
func (b blanks) fill(form string) json.RawMessage {
	var pairs []string
	for name, v := range b {
		pairs = append(pairs, "<"+name+">", string(toJSON(v)))
	}
	return json.RawMessage(strings.NewReplacer(pairs...).Replace(form))
}

// fillCalls fills a form for each call.
func (b blanks) fillCalls(r Reply, form string) []json.RawMessage {
	var out []json.RawMessage
	for i, c := range r.Calls {
		args := c.Args
		if args == nil {
			args = object{}
		}
		b["TOOL"] = c.Tool
		b["SPACE"] = json.RawMessage("null")
		if space, name, ok := strings.Cut(c.Tool, namespaceMark); ok {
			b["TOOL"] = name
			b["SPACE"] = space
		}
		b["I"] = i
		b["ARGS"] = args
		b["QUOTED"] = string(toJSON(args))
		out = append(out, b.fill(form))
	}
	return out
}

// fillEvent is one event of a stream; without a name, the form has no type either.
func (b blanks) fillEvent(name, form string) []byte {
	if name == "" {
		return fmt.Appendf(nil, "data: %s\n\n", b.fill(form))
	}
	return fmt.Appendf(nil, "event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, b.fill(form))
}

// toJSON is v as JSON; what is encoded here has no value that JSON cannot hold.
func toJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

func anthropic(r Reply, b blanks) (json.RawMessage, [][]byte) {
	const message = `{"id":"msg_<N>","type":"message","role":"assistant","model":<MODEL>,` +
		`"content":<CONTENT>,"stop_reason":<STOP>,"stop_sequence":null,"usage":<USAGE>}`
	b["STOP"] = nil
	b["CONTENT"] = []any{}
	b["USAGE"] = b.fill(
		`{"input_tokens":<FRESH>,"cache_read_input_tokens":<CACHED>,` +
			`"cache_creation_input_tokens":0,"output_tokens":<OUT>}`,
	)
	events := [][]byte{b.fillEvent("message_start", `"message":`+message)}
	var content []json.RawMessage
	add := func(whole, start, delta json.RawMessage) {
		b["INDEX"] = len(content)
		b["START"] = start
		b["DELTA"] = delta
		content = append(content, whole)
		events = append(events,
			b.fillEvent("content_block_start", `"index":<INDEX>,"content_block":<START>`),
			b.fillEvent("content_block_delta", `"index":<INDEX>,"delta":<DELTA>`),
			b.fillEvent("content_block_stop", `"index":<INDEX>`))
	}
	b["STOP"] = "end_turn"
	if r.Text != "" {
		add(b.fill(`{"type":"text","text":<TEXT>}`), b.fill(`{"type":"text","text":""}`),
			b.fill(`{"type":"text_delta","text":<TEXT>}`))
	}
	if len(r.Calls) > 0 {
		b["STOP"] = "tool_use"
	}
	const call = `{"type":"tool_use","id":"toolu_<N>_<I>","name":<TOOL>,"input":`
	wholes := b.fillCalls(r, call+`<ARGS>}`)
	starts := b.fillCalls(r, call+`{}}`)
	for i, delta := range b.fillCalls(r, `{"type":"input_json_delta","partial_json":<QUOTED>}`) {
		add(wholes[i], starts[i], delta)
	}

	b["CONTENT"] = content
	return b.fill(message), append(
		events,
		b.fillEvent(
			"message_delta",
			`"delta":{"stop_reason":<STOP>,"stop_sequence":null},"usage":<USAGE>`,
		),
		[]byte("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
	)
}

func responses(r Reply, b blanks) (json.RawMessage, [][]byte) {
	var items []json.RawMessage
	if r.Text != "" {
		items = append(
			items,
			b.fill(`{"type":"message","id":"msg_<N>","role":"assistant","status":"completed",`+
				`"content":[{"type":"output_text","text":<TEXT>,"annotations":[]}]}`),
		)
	}
	items = append(
		items,
		b.fillCalls(r, `{"type":"function_call","id":"fc_call_<N>_<I>","call_id":"call_<N>_<I>",`+
			`"namespace":<SPACE>,"name":<TOOL>,"arguments":<QUOTED>,"status":"completed"}`)...,
	)
	b["OUTPUT"] = items
	whole := b.fill(
		`{"id":"resp_<N>","object":"response","model":<MODEL>,"status":"completed",` +
			`"output":<OUTPUT>,"usage":{` +
			`"input_tokens":<IN>,"input_tokens_details":{"cached_tokens":<CACHED>},` +
			`"output_tokens":<OUT>,"output_tokens_details":{"reasoning_tokens":0},` +
			`"total_tokens":<TOTAL>}}`,
	)
	events := [][]byte{b.fillEvent(
		"response.created",
		`"response":{"id":"resp_<N>","object":"response","model":<MODEL>,`+
			`"status":"in_progress","output":[]}`,
	)}
	for i, item := range items {
		b["INDEX"] = i
		b["ITEM"] = item
		events = append(
			events,
			b.fillEvent("response.output_item.added", `"output_index":<INDEX>,"item":<ITEM>`),
		)
		if i == 0 && r.Text != "" {
			events = append(events, b.fillEvent("response.output_text.delta",
				`"output_index":0,"content_index":0,"item_id":"msg_<N>","delta":<TEXT>`))
		}
		events = append(
			events,
			b.fillEvent("response.output_item.done", `"output_index":<INDEX>,"item":<ITEM>`),
		)
	}

	b["WHOLE"] = whole
	return whole, append(events, b.fillEvent("response.completed", `"response":<WHOLE>`))
}

func chat(r Reply, b blanks) (json.RawMessage, [][]byte) {
	b["STOP"], b["MESSAGE"] = "stop", b.fill(`{"role":"assistant","content":<TEXT>}`)
	if len(r.Calls) > 0 {
		b["CALLS"] = b.fillCalls(r, `{"index":<I>,"id":"call_<N>_<I>","type":"function",`+
			`"function":{"name":<TOOL>,"arguments":<QUOTED>}}`)
		b["STOP"], b["MESSAGE"] = "tool_calls", b.fill(
			`{"role":"assistant","content":<TEXT>,"tool_calls":<CALLS>}`,
		)
	}
	const (
		head = `{"id":"chatcmpl-<N>","created":1767610000,"model":<MODEL>,` +
			`"object":"chat.completion`
		chunk = head + `.chunk","choices":[{"index":0,"delta":`
		usage = `"usage":{"prompt_tokens":<IN>,"completion_tokens":<OUT>,"total_tokens":<TOTAL>,` +
			`"prompt_tokens_details":{"cached_tokens":<CACHED>}}}`
	)
	const choices = `","choices":[{"index":0,"message":<MESSAGE>,"finish_reason":<STOP>}],`
	events := [][]byte{
		b.fillEvent("", chunk+`<MESSAGE>,"finish_reason":null}]}`),
		b.fillEvent("", chunk+`{},"finish_reason":<STOP>}],`+usage),
		[]byte("data: [DONE]\n\n"),
	}
	return b.fill(head + choices + usage), events
}

func gemini(r Reply, b blanks) (json.RawMessage, [][]byte) {
	var parts []json.RawMessage
	if r.Text != "" {
		parts = append(parts, b.fill(`{"text":<TEXT>}`))
	}
	b["PARTS"] = append(parts, b.fillCalls(r, `{"functionCall":{"name":<TOOL>,"args":<ARGS>}}`)...)
	const form = `{"candidates":[{"index":0,"finishReason":"STOP",` +
		`"content":{"role":"model","parts":<PARTS>}}],` +
		`"usageMetadata":{"promptTokenCount":<IN>,"cachedContentTokenCount":<CACHED>,` +
		`"candidatesTokenCount":<OUT>,"totalTokenCount":<TOTAL>},"modelVersion":<MODEL>}`
	return b.fill(form), [][]byte{b.fillEvent("", form)}
}
