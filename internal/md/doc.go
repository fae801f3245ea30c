// Package md reads markdown files with YAML front matter and keeps the position of everything it reads.
//
// It promises: every value of the front matter and of a YAML block, and every heading, fence, paragraph and list item
// of the body comes with its line and column in the file; what cannot be read is reported as a Problem with a position
// and a help text; no input within the size limit takes longer than a second; no type of a third-party parser leaves
// the package.
//
// It does not know what a key, a heading or a fence means, resolves no reference, renders nothing, and opens no file.
// Inline markup is not parsed beyond code spans and emphasis marks.
//
// Everything is a pure function of its input; a Document and its nodes are not changed after they are returned and may
// be read by any number of goroutines.
package md
