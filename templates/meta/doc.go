// Package meta is meta-builder, the subagent behind /meta: it writes a command from a template, and the subagents that
// the command names and nobody has.
//
// It promises that nothing is written that was not parsed, compiled and run dry before, that no file which is there is
// changed, and that either all files are written or none.
//
// It will not call a model, change a shipped file, or write outside the folders commands and subagents of the
// workspace. It stands beside the layers: New takes the commands that there are, so that a new one is tried with them.
//
// A Builder is safe for concurrent use if its fields are; of two that write the same name, one fails.
package meta
