// Package offline holds the workers that need no model: researcher, planner, implementer, reviewer and task-reviser.
//
// It promises the same documents for the same inputs and the same clock, that every line it cites was read from the
// tree, that nothing of a task or a plan runs before a person, or who answers for one, approved the whole of the plan's
// commands, and that no return claims work which was not done: a phase is completed only when its commands and its
// verification ended with exit 0.
//
// It will not judge what a text means, run anything but sh fences and the checks of the project, commit, write into the
// project outside Request.Dir, or write state.json. It has no network of its own.
//
// The workers hold no state, start no goroutine and are safe for concurrent use as long as their fields are not
// changed.
package offline
