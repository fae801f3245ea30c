// Package question shows the choices of a gate and reads what a person answers.
//
// Promise: each choice has a number and, where its label has a free ASCII letter, a key of its own, which stands in
// brackets. An answer is the key, the number, the whole label or the beginning of just one; everything else decides
// nothing. What was typed before a question, and what was pasted, is never taken for an answer.
//
// It will not print, and grants nothing itself.
//
// Concurrency: a Set is immutable. Lines has one goroutine that reads; its methods belong to one caller at a time. The
// goroutine ends with the input, on a terminal with the process.
package question
