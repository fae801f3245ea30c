package state

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
)

// DefaultAuditLimit is the default size in bytes at which audit.jsonl moves into a segment; it
// bounds what a process's first write must read.
const DefaultAuditLimit = 4 << 20

// segmentDir has the rotated parts of audit.jsonl: 000001.jsonl and so on.
const segmentDir = formats.Workspace + "/audit"

func segmentName(n int) string {
	return path.Join(segmentDir, fmt.Sprintf("%06d.jsonl", n))
}

// rotate moves a log that has grown too large into a segment, and begins a new one whose first line
// repeats the last state. A log is left as it is whose last state is not that of the file.
func (s *session) rotate() error {
	limit := cmp.Or(max(s.cfg.AuditLimit, 0), DefaultAuditLimit)
	if !s.audit.isFull(limit) || s.audit.stateLine.Post != s.doc.sha {
		return nil
	}
	failed, err := s.audit.rotate(timestamp(s.now))
	if failed != nil {
		s.warn("the audit log was not rotated: " + failed.Error())
	}
	return err
}

// isFull reports whether the log has a size in bytes at which it moves into a segment.
func (a *auditLog) isFull(limit int64) bool {
	return a.exists && int64(len(a.data)) >= limit && bytes.Count(a.data, []byte("\n")) > 1
}

// rotate moves the log into a segment, and begins a new one whose first line repeats the last state.
// The segment is written before the new file replaces the log, so a kill in between loses nothing:
// the next rotation writes the same segment again. failed says why the log is as it was. A log that
// is unreadable afterwards is an error, because the next line must follow from its last one.
func (a *auditLog) rotate(now string) (failed, err error) {
	n := a.segments + 1
	line := auditLine{
		Serial:  a.maxSerial,
		Kind:    lineRotated,
		File:    stateFile,
		Time:    now,
		Segment: n,
		Pre:     a.stateLine.Post,
		Post:    a.stateLine.Post,
		Prev:    a.lastSHA,
	}
	if given := a.highestNumber(); given > 0 {
		line.Added = []int{given} // the highest task number ever assigned, for a restore
	}
	raw, err := a.seal.sign(line)
	if err != nil {
		return nil, err
	}

	root := a.root
	failed = atomicfile.MkdirAll(root, segmentDir, 0o700)
	if failed == nil {
		failed = atomicfile.Sweep(root, segmentDir, path.Base(segmentName(n)))
	}
	if failed == nil {
		failed = atomicfile.WriteIn(root, segmentName(n), a.data, atomicfile.Options{Mode: 0o600})
	}
	if failed == nil {
		failed = atomicfile.WriteIn(root, auditFile, append(raw, '\n'), atomicfile.Options{})
	}
	fresh, err := readAudit(root)
	if err != nil {
		return failed, err
	}
	fresh.seal = a.seal
	*a = *fresh
	return failed, nil
}

// auditLines iterates over the readable lines of a log.
func auditLines(data []byte) func(yield func(*auditLine) bool) {
	return func(yield func(*auditLine) bool) {
		for raw := range bytes.Lines(data) {
			l, err := decodeLine(bytes.TrimSuffix(raw, []byte("\n")))
			if err == nil && !yield(&l) {
				return
			}
		}
	}
}

// logSegment is one file of the log.
type logSegment struct {
	name string
	data []byte
}

// readSegments reads the whole log, oldest first. Segments that were removed are left out.
func readSegments(root *os.Root) ([]logSegment, error) {
	current, err := readIfExists(root, auditFile, maxAudit)
	if err != nil || current == nil {
		return nil, err
	}
	var out []logSegment
	for n := 1; n <= segmentsBefore(current); n++ {
		data, err := readIfExists(root, segmentName(n), maxAudit)
		if err != nil {
			return nil, err
		}
		if data != nil {
			out = append(out, logSegment{segmentName(n), data})
		}
	}
	return append(out, logSegment{auditFile, current}), nil
}

// segmentsBefore returns how many segments precede a file of the log, which its first line says.
func segmentsBefore(data []byte) int {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if l, err := decodeLine(first); err == nil && l.Kind == lineRotated {
		return l.Segment
	}
	return 0
}

// reverseEdits returns the edits that turn the result of edits back into src.
func reverseEdits(src []byte, edits []jsonx.Edit) []jsonx.Edit {
	out := make([]jsonx.Edit, 0, len(edits))
	shift := 0
	for _, e := range slices.SortedStableFunc(slices.Values(edits),
		func(a, b jsonx.Edit) int { return cmp.Compare(a.Start, b.Start) }) {
		start := e.Start + shift
		out = append(out, jsonx.Edit{
			Start: start,
			End:   start + len(e.Text),
			Text:  src[e.Start:e.End],
		})
		shift += len(e.Text) - (e.End - e.Start)
	}
	return out
}

// reverseWhole returns the one edit that turns now back into before, without their common prefix
// and suffix.
func reverseWhole(before, now []byte) []jsonx.Edit {
	head := 0
	for head < len(before) && head < len(now) && before[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(now)-head &&
		before[len(before)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	// A cut inside a character would leave text that JSON cannot hold.
	for head > 0 && head < len(before) && before[head]&0xc0 == 0x80 {
		head--
	}
	for tail > 0 && before[len(before)-tail]&0xc0 == 0x80 {
		tail--
	}
	return []jsonx.Edit{{Start: head, End: len(now) - tail, Text: before[head : len(before)-tail]}}
}

// reverseLines returns one edit for each line that differs, so that changes at the top and at the
// end of a plan do not store everything in between. If the number of lines differs, it is one edit.
func reverseLines(before, now []byte) []jsonx.Edit {
	old := slices.Collect(bytes.Lines(before))
	lines := slices.Collect(bytes.Lines(now))
	if len(old) != len(lines) {
		return reverseWhole(before, now)
	}
	var out []jsonx.Edit
	start := 0
	for i, line := range lines {
		if !bytes.Equal(line, old[i]) {
			out = append(out, jsonx.Edit{
				Start: start,
				End:   start + len(line),
				Text:  old[i],
			})
		}
		start += len(line)
	}
	return out
}

// maxUndo bounds the undo text of one log line, in bytes.
const maxUndo = 512 << 10

func boundedUndo(edits []jsonx.Edit) []jsonx.Edit {
	size := 0
	for _, e := range edits {
		size += len(e.Text)
	}
	if size > maxUndo {
		return nil
	}
	return edits
}
