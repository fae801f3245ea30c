// Package subagents is the third layer. An Agent is a subagent, ParseDefinition parses its file, a
// Set holds those that exist, and the Dispatcher runs every delegation.
//
// It promises that a delegation is never deeper than formats.MaxDepth and never repeats a name on
// its path. Depth, path, session, duration and the place of every document come from here, never
// from an agent. A return that breaks its contract gets one repair round, or is reported with every
// violation. A document reaches the task's folder only from completed work, and never replaces a
// document of another run or step.
//
// It will not route, retry, judge the content of a document, start a process or write state.json.
//
// A Set is built by one goroutine and read by any number afterwards. A Dispatcher is safe for
// concurrent use as long as its fields are not changed; it starts no goroutine.
package subagents
