package modelserver

import (
	"encoding/json"
	"fmt"
	"maps"
)

// model is the name that answers carry where the request has none.
const model = "fake-model"

// encode gives the parts of an answer, and whether they are events of a stream.
func encode(t Turn, r Reply) (frames [][]byte, sse bool) {
	if t.Model == "" {
		t.Model = model
	}
	id := fmt.Sprintf("%d", t.Count)
	switch t.API {
	case Anthropic:
		frames = anthropic(t, r, id)
	case Responses:
		frames = responses(t, r, id)
	case Chat:
		frames = chat(t, r, id)
	case Gemini:
		frames = gemini(t, r)
	}
	return frames, t.Stream
}

type object = map[string]any

// frame is one event of a stream; a name of "" leaves the line out.
func frame(name string, v any) []byte {
	out := []byte("data: ")
	if name != "" {
		out = []byte("event: " + name + "\ndata: ")
	}
	return append(append(out, text(v)...), "\n\n"...)
}

// text is v as JSON; what is encoded here has no value that JSON cannot hold.
func text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

func args(c Call) string {
	if c.Args == nil {
		return "{}"
	}
	return string(text(c.Args))
}

// typed is an event whose name stands in its object too.
func typed(name string, v object) []byte {
	v["type"] = name
	return frame(name, v)
}

func anthropic(t Turn, r Reply, id string) [][]byte {
	var content []any
	if r.Text != "" {
		content = append(content, object{"type": "text", "text": r.Text})
	}
	stop := "end_turn"
	for i, c := range r.Calls {
		stop = "tool_use"
		content = append(content, object{
			"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", id, i), "name": c.Tool, "input": c.Args,
		})
	}
	usage := object{
		"input_tokens": r.Usage.Input - r.Usage.Cached, "cache_read_input_tokens": r.Usage.Cached,
		"cache_creation_input_tokens": 0, "output_tokens": r.Usage.Output,
	}
	msg := object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": t.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
	if !t.Stream {
		return [][]byte{text(msg)}
	}
	msg["content"], msg["stop_reason"] = []any{}, nil
	frames := [][]byte{typed("message_start", object{"message": msg})}
	for i, one := range content {
		b, ok := one.(object)
		if !ok {
			continue
		}
		start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			start = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": string(text(b["input"]))}
		}
		frames = append(frames,
			typed("content_block_start", object{"index": i, "content_block": start}),
			typed("content_block_delta", object{"index": i, "delta": delta}),
			typed("content_block_stop", object{"index": i}))
	}
	return append(frames,
		typed("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage}),
		typed("message_stop", object{}))
}

func responses(t Turn, r Reply, id string) [][]byte {
	var items []object
	if r.Text != "" {
		items = append(items, object{
			"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": r.Text, "annotations": []any{}}},
		})
	}
	for i, c := range r.Calls {
		call := fmt.Sprintf("call_%s_%d", id, i)
		items = append(items, object{
			"type": "function_call", "id": "fc_" + call, "call_id": call, "name": c.Tool,
			"arguments": args(c), "status": "completed",
		})
	}
	usage := object{
		"input_tokens": r.Usage.Input, "input_tokens_details": object{"cached_tokens": r.Usage.Cached},
		"output_tokens": r.Usage.Output, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": r.Usage.Input + r.Usage.Output,
	}
	whole := object{
		"id": "resp_" + id, "object": "response", "model": t.Model, "status": "completed", "output": items, "usage": usage,
	}
	if !t.Stream {
		return [][]byte{text(whole)}
	}
	begun := maps.Clone(whole)
	begun["status"], begun["output"] = "in_progress", []any{}
	delete(begun, "usage")
	frames := [][]byte{typed("response.created", object{"response": begun})}
	for i, item := range items {
		frames = append(frames, typed("response.output_item.added", object{"output_index": i, "item": item}))
		if item["type"] == "message" {
			frames = append(frames, typed("response.output_text.delta", object{
				"output_index": i, "content_index": 0, "item_id": item["id"], "delta": r.Text,
			}))
		}
		frames = append(frames, typed("response.output_item.done", object{"output_index": i, "item": item}))
	}
	return append(frames, typed("response.completed", object{"response": whole}))
}

func chat(t Turn, r Reply, id string) [][]byte {
	msg, stop := object{"role": "assistant", "content": r.Text}, "stop"
	var calls []any
	for i, c := range r.Calls {
		stop = "tool_calls"
		calls = append(calls, object{
			"index": i, "id": fmt.Sprintf("call_%s_%d", id, i), "type": "function",
			"function": object{"name": c.Tool, "arguments": args(c)},
		})
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	usage := object{
		"prompt_tokens": r.Usage.Input, "completion_tokens": r.Usage.Output,
		"total_tokens": r.Usage.Input + r.Usage.Output, "prompt_tokens_details": object{"cached_tokens": r.Usage.Cached},
	}
	head := func(kind string) object {
		return object{"id": "chatcmpl-" + id, "object": kind, "created": 1767610000, "model": t.Model}
	}
	if !t.Stream {
		v := head("chat.completion")
		v["choices"], v["usage"] = []any{object{"index": 0, "message": msg, "finish_reason": stop}}, usage
		return [][]byte{text(v)}
	}
	delta, end := head("chat.completion.chunk"), head("chat.completion.chunk")
	delta["choices"] = []any{object{"index": 0, "delta": msg, "finish_reason": nil}}
	end["choices"], end["usage"] = []any{object{"index": 0, "delta": object{}, "finish_reason": stop}}, usage
	return [][]byte{frame("", delta), frame("", end), []byte("data: [DONE]\n\n")}
}

func gemini(t Turn, r Reply) [][]byte {
	var parts []any
	if r.Text != "" {
		parts = append(parts, object{"text": r.Text})
	}
	for _, c := range r.Calls {
		parts = append(parts, object{"functionCall": object{"name": c.Tool, "args": c.Args}})
	}
	v := object{
		"candidates": []any{object{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": parts}}},
		"usageMetadata": object{
			"promptTokenCount": r.Usage.Input, "cachedContentTokenCount": r.Usage.Cached,
			"candidatesTokenCount": r.Usage.Output, "totalTokenCount": r.Usage.Input + r.Usage.Output,
		},
		"modelVersion": t.Model,
	}
	if t.Stream {
		return [][]byte{frame("", v)}
	}
	return [][]byte{text(v)}
}
