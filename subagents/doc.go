// Package subagents is the third layer's contract: what a subagent is (Agent), how its file is read (ParseDefinition),
// which ones there are (Set), and the one door through which every delegation goes (Dispatcher).
//
// It promises that a delegation is never deeper than formats.MaxDepth and never comes back to a name on its own path;
// that depth, path, session, duration and the place of every document are measured or chosen here and never taken from
// an agent; that a return which breaks its contract is repaired once or reported with every violation; that a document
// reaches the task's folder only from a return that did its work, and never over a document of another run or step.
//
// It will not route, retry, judge the content of a document, start a process or write state.json.
//
// A Set is built by one goroutine and read by any number afterwards. A Dispatcher is safe for concurrent use as long as
// its fields are not changed; it starts no goroutine.
package subagents
