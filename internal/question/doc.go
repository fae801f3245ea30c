// Package question shows the choices of a gate and reads what a person answers.
//
// Promise: each choice has a number and, where its label has a free ASCII letter, a key of its own, which stands in
// brackets. An answer is the key, the number, the whole label or the beginning of just one; everything else decides
// nothing. What was typed before a question, and what was pasted, is never taken for an answer.
//
// An Interview asks for several things in order; the person may go back, and sees all answers before it ends.
//
// A Person is asked with all that there is to look at: the diff of the work, by the person's own pager or a screen at a
// time, a note and the documents, by the person's own editor. Editor and pager come from the environment of the person
// and are started in a folder of their own, so that nothing of the project configures them. A document is changed only
// if the editor ended well and left another text; then the question is not answered, and has to be asked anew.
//
// It grants nothing itself.
//
// Concurrency: a Set is immutable. The methods of Lines belong to one caller at a time. One goroutine reads what is no
// terminal; it ends with the input.
package question
