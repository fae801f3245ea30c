// Package letters passes messages from other processes of the same user to a run: answers to its
// gates, orders to pause or cancel it, and messages for its workers. Each is a small file in the
// folder of the run.
//
// Promise: the first answer to a gate wins, or with a quorum each user's first; a second one fails
// and names the first. A letter counts only if the user's key seals all of it. It must be written
// for the gate that is open now, after its opening. Any other file there is moved aside, never
// deleted, and reported once.
//
// It will not decide what an answer leads to, read a journal, or wait.
//
// Concurrency: any number of processes may write and read at once. A Box is a value.
package letters
