// Package project is what a person or a program can do with one project: read its commands, start
// runs, go on with them, answer their questions, verify them and take them back.
//
// It knows no terminal, no flag and no environment. A Host gives it the clock, the user's variables
// and a Frontend, which tells what happens and asks the user. Open reads the configuration and
// opens the state and the runs; a Session adds the commands and the subagents for one set of
// Options. Sessions of a project do not share what their options decide, so that several may be at
// work at the same time. A program that asks nobody and prints nothing is a frontend too.
package project
