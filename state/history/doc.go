// Package history is what the workspace keeps of earlier states: the audit log with its segments,
// and the backups.
//
// A Log is for one writer, which holds the lock of the state: ReadLog cuts off a torn last line,
// and Append is durable when it returns. ViewLog, Read and the functions over backups need no lock
// and change nothing. A Timeline leads back to the state of any serial that the log or a backup
// still has, and checks each step by its SHA-256. Lines that cannot be read are skipped; CheckChain
// reports them.
//
// It does not write state.json, and decides nothing about a transaction.
package history
