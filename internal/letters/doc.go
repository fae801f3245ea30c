// Package letters is how other processes of the same person speak to a run: answers to its gates, and orders to pause
// or to cancel it. Each is a small file in the folder of the run.
//
// Promise: of two answers to one gate, or of one person to a gate that needs several, the first is kept and the second
// is told whose that is. A letter counts only if it carries a seal made with the person's key over all that it says,
// names the gate as it stands open now, and was written after that was opened. Whatever else lies there is moved out of
// the way, never deleted, and told once.
//
// It will not decide what an answer leads to, read a journal, or wait.
//
// Concurrency: any number of processes may write and read at once. A Box is a value.
package letters
