// Package meta is meta-builder, the subagent of /meta: it writes a command from a template, and the
// command's missing subagents.
//
// It promises to write only files that parse, compile and pass a dry run. It changes no existing
// file, and writes all files or none.
//
// It will not call a model, change a shipped file, or write outside the folders commands and
// subagents of the workspace. It is outside the layers: New takes the existing commands, so that a
// new one is tested with them.
//
// A Builder is safe for concurrent use if its fields are; of two that write the same name, one
// fails.
package meta
