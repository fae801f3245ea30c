// Package statefile is the format of state.json and of the archive: it reads a file into a
// Document, checks it, and encodes changes so that every byte around them stays.
//
// Parse reports every finding with its place, as a *SyntaxError. Encode writes nothing; Mismatch
// reads its result again before the caller does. A Document and what it points to are shared and
// must not be changed. All functions are pure and safe for concurrent use.
//
// It does not know transactions, locks or other files.
package statefile
