// Package modelserver is a scripted model for tests of agent CLIs. It speaks the wire formats of
// four of them: Anthropic messages, OpenAI responses, OpenAI chat completions and Gemini content,
// each streamed and plain.
//
// It promises that answers depend only on path and script. The first two elements of the path name
// a scenario and a key, so parallel runs cannot interfere. It keeps every request with headers and
// body. A fault happens exactly as its scenario says.
//
// It will not check keys, judge prompts, listen by itself, or be part of the shipped program: only
// tests import it.
//
// A Server is safe for concurrent use. A request that hangs ends when its client goes away or Close
// is called.
package modelserver
