// Package files reads regular files inside a project, with a limit in bytes for each. It never
// blocks at a pipe or a device, and follows no link that leads outside.
//
// Docs is for readers who are given a path by somebody else: it refuses one that leads outside.
//
// A missing file is fs.ErrNotExist; Failure gives any other error its code and words. All functions
// are safe for concurrent use.
package files
