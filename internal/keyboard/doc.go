// Package keyboard reads a terminal only while somebody waits for it.
//
// Promise: a wait ends with its context, after its time or by Wake, and takes nothing then. What was read and not used
// can be put back and is read first. Raw and its undoing leave what was typed meanwhile in the terminal.
//
// It will not decode keys, and prints nothing.
//
// Concurrency: Wake and Restore may be called from anywhere; everything else belongs to one caller at a time.
package keyboard

// The keys that Guard tells of.
const (
	Escape byte = 0x1b
	Stop   byte = 0x1a // Ctrl-Z
)
