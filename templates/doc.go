// Package templates holds the files from which commands and subagents are made, and fills them in.
//
// It promises that what Render gives is a command file that parses, compiles and starts with the subagents it was
// given: every input that a subagent needs is there, and every change of the task's status is in the transition table.
// What a person wrote enters in one pass, quoted for the place where it stands, and is never read as a template, as
// YAML, as Markdown or as jq.
//
// It will not look for subagents, check a file, or write one.
//
// All functions are pure and safe for concurrent use.
package templates
