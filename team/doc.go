// Package team runs lines on more than one machine. A Keeper is the home of a team: the owner of
// the state, the documents, the budget and the journals. A Queue hands out runs to workers, which
// work in clones of their own.
//
// Promise: a step whose result the home has is never done again, whoever goes on with the run, and
// nothing of an attempt counts once another one has taken the run. The journals at the home are
// those that tercet shows, verifies and resumes everywhere, sealed with the key of the home's user.
//
// It does not start programs and knows no network: a worker brings both.
package team
