package state

import (
	"cmp"
)

// DefaultAuditLimit is the default size in bytes at which audit.jsonl moves into a segment; it
// bounds what a process's first write must read.
const DefaultAuditLimit = 4 << 20

// rotate moves a log that has grown too large into a segment, and begins a new one whose first line
// repeats the last state. A log is left as it is whose last state is not that of the file.
func (s *session) rotate() error {
	limit := cmp.Or(max(s.cfg.AuditLimit, 0), DefaultAuditLimit)
	if !s.audit.IsFull(limit) || s.audit.StateLine.Post != s.doc.SHA {
		return nil
	}
	failed, err := s.audit.Rotate(timestamp(s.now))
	if failed != nil {
		s.warn("the audit log was not rotated: " + failed.Error())
	}
	return err
}
