// Package md reads markdown files with YAML front matter and keeps the position of everything it
// reads.
//
// It promises: every YAML value, heading, fence, paragraph and list item has its line and column in
// the file. What cannot be read is a Problem with a position and a help text. No input within the
// size limit takes longer than a second. No type of a third-party parser leaves the package.
//
// It does not know what a key, a heading or a fence means, resolves no reference, renders nothing,
// and opens no file. Inline markup is not parsed beyond code spans and emphasis marks.
//
// Everything is a pure function of its input. A Document and its nodes do not change after they are
// returned; any number of goroutines may read them.
package md
