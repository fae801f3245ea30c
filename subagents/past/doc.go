// Package past does what is done with runs that are over: it takes one back, removes old ones, and writes one into a
// bundle for a report.
//
// It promises that nothing is removed that is nowhere else: work that no branch of the person's has, what the scan for
// secrets stopped, a run that can go on. What a person changed since is not overwritten. Each of its steps can be
// killed and done again, and ends the same.
//
// It asks nobody: who calls it shows what Plan says first. The lock of the run is held by the caller.
package past
