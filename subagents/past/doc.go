// Package past handles finished runs: it undoes one, removes old ones, and bundles one for a bug
// report.
//
// It promises never to remove the only copy of work. That is work that no branch of the user has,
// what the scan for secrets stopped, or a run that can be resumed. It does not overwrite the user's
// later changes. Each step can be killed and repeated with the same result.
//
// It never asks the user: the caller first shows what Plan says. The caller holds the lock of the
// run.
package past
