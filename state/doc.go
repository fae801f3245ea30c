// Package state keeps state.json, the single source of truth about tasks. It also keeps the files
// beside it: the archive, the audit log, the backups, TODO.md and errors.json.
//
// Promise: Manager.Apply is the one way to change state.json. A transaction is applied completely
// or not at all, under an exclusive lock between processes, and is acknowledged only after the
// bytes are durable. A repeated transaction id is answered from the audit log. Bytes outside the
// changed members survive every write. An invalid file is never overwritten. Reader takes no lock
// and creates no file.
//
// It will not wait for an agent under the lock, start processes, merge files, or repair what it
// does not understand.
//
// Concurrency: Manager, Reader and Errors are safe for concurrent use by any number of
// goroutines and processes. Documents that Reader.Snapshot returns are shared and must not be
// changed.
package state
