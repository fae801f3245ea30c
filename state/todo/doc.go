// Package todo renders TODO.md, the view of the tasks for people, and reads what they edit in it.
//
// Reading is lossless: what is neither a task nor tercet's own text is a note, and Render keeps it
// at its place. Compare finds the edits since the file was rendered; each edit that cannot be
// applied says why. All functions are pure: they read and write no file.
package todo
