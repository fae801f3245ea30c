// Package templates holds the templates of commands and subagents, and fills them in.
//
// It promises that Render gives a command file that parses, compiles and starts with the given
// subagents. The file has every required input, and only legal changes of the task's status. User
// text is inserted in one pass, quoted for its place, and never interpreted as a template, YAML,
// Markdown or jq.
//
// It will not look for subagents, check a file, or write one.
//
// All functions are pure and safe for concurrent use.
package templates
