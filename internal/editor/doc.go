// Package editor reads lines that a person edits on a terminal, with a menu of what may stand at the cursor.
//
// Promise: a line is given when it was entered, whole, and never because of what a paste holds. The terminal is as it
// was when Read returns, however it returns. What was typed behind a line is left for the next reader. Every row that
// is shown fits its terminal by the width of its letters.
//
// It will not run anything, and does not know what lines mean: the menu, the hint and the history come from its caller.
//
// Concurrency: an Editor belongs to one goroutine; its keyboard may be woken from others.
package editor
