// Package prompt composes what a model is told for one delegation: five facets, in the order Persona, Knowledge,
// Instruction, Output, Policy.
//
// It promises the same bytes for the same input; that every facet is there and the policy is the last on every path;
// that text of tasks, files, boards, other agents and people stands in a fence longer than any run of its mark inside,
// with a line that says where it comes from; that no text can open or close a section of the prompt; and that nothing
// is substituted in a text, so that {{x}} in a value stays as it is.
//
// It will not read a file, shorten a text, choose a channel or judge what an agent answers.
//
// Its functions are pure and safe for concurrent use.
package prompt
