// Package web is the page of 'tercet serve': the runs of some projects in a browser, with their
// questions, a form to start commands, the tasks, and the command files.
//
// Promise: every page is whole without the script, and every action is a form that is posted. The
// script only brings what has changed. What a page shows comes from the journals, so that a reload
// shows the same. Text of agents, tasks and files is escaped, and its control characters are shown
// as such. Each request passes the guard: the name of the server, the origin, the session, and for
// a post the token of the form. The messages about arguments, trust and answers are those of the
// prompt, because the same code decides.
//
// It will not decide what a run may do, start a program, or listen at an address.
//
// Concurrency: a Server may be used by any number of goroutines. Runs that begin on the page belong
// to it: Close suspends them, and the next Serve resumes them.
package web
