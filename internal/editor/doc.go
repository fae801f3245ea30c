// Package editor reads lines that the user edits on a terminal, with a completion menu.
//
// Promise: Read returns a line only when the user enters it; a line feed in a paste does not count.
// When Read returns, it has restored the terminal, and leaves input after the line to the next
// reader. Every row fits the width of the terminal.
//
// It will not run anything or interpret lines: menu, hint and history come from the caller.
//
// Concurrency: an Editor belongs to one goroutine; other goroutines may wake its keyboard.
package editor
