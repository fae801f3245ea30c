// Package prompt composes the prompt of one delegation: five facets, in the order Persona,
// Knowledge, Instruction, Output, Policy.
//
// It promises the same bytes for the same input. Every prompt has all facets, the policy last. Text
// of tasks, files, boards, agents and users stands in a fence longer than any inside it, after a
// line that names its origin. No text can open or close a section of the prompt. It substitutes
// nothing in a text, so {{x}} in a value stays.
//
// It will not read a file, shorten a text, choose a channel or judge what an agent answers.
//
// Its functions are pure and safe for concurrent use.
package prompt
