// Package exchange brings tasks from other files into the shape of a state and back: it imports
// files of tercet and of other systems, exports their shape, merges two states, and draws tasks.
//
// Read reports every defect with its class and place, and never changes the file. What an import
// does not understand is kept as it is and exported again. Merge works by task and field; a
// conflict is a field that both sides changed. Only Folders.Copy writes: it copies documents to
// their new place.
//
// It does not apply what it reads: Import.Into says what a transaction has to add.
package exchange
