package journal

import (
	"strconv"

	"tercet/formats"
)

// DamageError reports a journal that something other than a crash has changed.
type DamageError struct {
	Line int // from 1
	Msg  string
}

// Error gives "journal.jsonl:line:1: message".
func (e *DamageError) Error() string {
	return Name + ":" + strconv.Itoa(e.Line) + ":1: " + e.Msg
}

// ErrorCode is INVALID_STATE: the run cannot be continued from this record.
func (e *DamageError) ErrorCode() formats.Code { return formats.CodeInvalidState }

// WriteError reports an entry that may not be on the disk.
type WriteError struct {
	Op  string // open, write, sync, close, encode
	Err error  // the cause, may be inspected
}

// Error names the operation.
func (e *WriteError) Error() string { return Name + ": " + e.Op + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// ErrorCode is NOT_DURABLE if the entry was written but not synced, BUG if it has no JSON form, IO otherwise.
func (e *WriteError) ErrorCode() formats.Code {
	switch e.Op {
	case opSync:
		return formats.CodeNotDurable
	case opEncode:
		return formats.CodeBug
	}
	return formats.CodeIO
}
