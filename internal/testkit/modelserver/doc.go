// Package modelserver is a model that does what a test says, for agent CLIs that are driven without a real one. It
// speaks the wire formats of four of them: Anthropic messages, OpenAI responses, OpenAI chat completions and Gemini
// content, each streamed and plain.
//
// It promises that what is answered depends on the path and the script alone: the first two elements of the path name a
// scenario and a key, so that runs side by side cannot meet; that every request is kept, with its headers and body; and
// that a fault happens exactly as its scenario says.
//
// It will not check keys, judge prompts, listen by itself, or be part of the shipped program: only tests import it.
//
// A Server is safe for concurrent use. A request that hangs ends when its client goes away or Close is called.
package modelserver
