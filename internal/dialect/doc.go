// Package dialect reads the command and agent files of other tools, each with that tool's own rules.
//
// It promises that a file which its tool would load is loaded; that what was read leniently, was not understood or will
// not be done is a diagnostic with a place and advice, so that nothing is dropped in silence; that text is filled into
// a template in one pass and is never looked at again; and that no argument becomes part of a shell script: a script
// holds references to variables, the text stands in the environment.
//
// It starts no process, asks nobody and knows no subagent. A Finder looks into the folders where tools keep files,
// those of the project through a tree that the caller gives; everything else opens no file: shell marks and file
// references of a template come back as pieces for the caller to deal with.
//
// Reading is a pure function of its input. A Command and an Agent are not changed after they are returned and may be
// used by any number of goroutines.
package dialect
