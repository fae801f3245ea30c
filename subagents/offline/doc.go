// Package offline holds the workers that need no model: researcher, planner, implementer, reviewer
// and task-reviser.
//
// It promises the same documents for the same inputs and clock. Every line it cites comes from the
// tree. No command of a task or a plan runs before all of the plan's commands are approved. No
// return claims work that was not done: a phase is completed only if its commands and its
// verification exit with 0.
//
// It will not judge what a text means, commit, write into the project outside Request.Dir, or write
// state.json. It runs only sh fences and the checks of the project. It has no network of its own.
//
// The workers hold no state, start no goroutine and are safe for concurrent use as long as their
// fields are not changed.
package offline
