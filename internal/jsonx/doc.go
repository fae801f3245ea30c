// Package jsonx reads and edits JSON without losing anything of it.
//
// Promise: Parse accepts exactly strict JSON: RFC 8259 in valid UTF-8, without duplicate keys, lone
// surrogates and NaN, within the limits of depth and size. It gives an ordered tree whose values
// know their byte offsets and keep number literals as written. An error points at the exact place.
// Splice and the editing functions change only the requested bytes: every other byte of a file
// survives a write. Marshal writes the same bytes for the same value.
//
// It will not repair, stream from a reader, read or write files, or decode into structs.
//
// Concurrency: a *Value is immutable once Parse has returned it and may be read by any number of
// goroutines. An *Object belongs to one goroutine until it is no longer changed. The functions hold
// no state.
package jsonx
