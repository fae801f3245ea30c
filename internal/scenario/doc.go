// Package scenario tests workflows. A test file has a line, the answers of each worker, and the
// expected results.
//
// Promise: a file is accepted as a whole or rejected with all its mistakes. A worker without a
// scripted answer never starts. Answers come in order, and the last one repeats. A failed test
// reports all unmet expectations. A recording holds the answers of real workers and replays them.
//
// It will not run a line, make a workspace or start a process: its caller does, with the usual
// engine. It writes files only into the folders given to a worker.
//
// Concurrency: Workers are safe for concurrent use; everything else is used by one goroutine.
package scenario
