// Package question shows the choices of a gate and reads the user's answer.
//
// Promise: each choice has a number and, if its label has a free ASCII letter, a key, shown in
// brackets. An answer is the key, the number, the label or an unambiguous beginning of it; any
// other text is invalid. Input typed before the question, and pasted input, never answers it.
//
// An Interview asks several questions in order; the user can go back, and sees all answers at the
// end.
//
// A Person can look at everything before answering: the diff in the user's pager or page by page,
// note and documents in the user's editor. Editor and pager come from the user's environment and
// start in a folder of their own, so the project cannot configure them. A document changes only if
// the editor succeeds with another text; the question then stays open and must be asked again.
//
// It grants nothing itself.
//
// Concurrency: a Set is immutable. The methods of Lines belong to one caller at a time. One
// goroutine reads input that is not a terminal; it ends with the input.
package question
