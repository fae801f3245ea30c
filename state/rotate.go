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

// segmentDir holds what audit.jsonl was: 000001.jsonl and so on.
const segmentDir = formats.Workspace + "/audit"

func segmentName(n int) string {
	return path.Join(segmentDir, fmt.Sprintf("%06d.jsonl", n))
}

// rotate moves a log that has grown into a segment, and begins a new one whose first line says what
// the last one said. The segment is there before the new file takes the name, so a kill in between
// loses nothing: the next rotation writes the same segment again. A failed rotation is a warning. A
// log that cannot be read afterwards is an error, because the next line has to follow from its last
// one.
func (s *session) rotate() error {
	a := s.audit
	limit := cmp.Or(max(s.cfg.AuditLimit, 0), DefaultAuditLimit)
	if !a.there || int64(len(a.data)) < limit || bytes.Count(a.data, []byte("\n")) < 2 ||
		a.state.Post != s.doc.sha {
		return nil
	}

	root := s.cfg.Root
	n := a.segments + 1
	seal := a.seal
	line := auditLine{
		Serial:  a.high,
		Kind:    lineRotated,
		File:    stateFile,
		Time:    stamp(s.now),
		Segment: n,
		Pre:     s.doc.sha,
		Post:    s.doc.sha,
		Prev:    a.sha,
	}
	if given := a.highestNumber(); given > 0 {
		line.Added = []int{given} // the highest number that was ever given, for a restore
	}
	raw, err := seal.sign(line)
	if err != nil {
		return err
	}

	err = atomicfile.MkdirAll(root, segmentDir, 0o700)
	if err == nil {
		err = atomicfile.Sweep(root, segmentDir, path.Base(segmentName(n)))
	}
	if err == nil {
		err = atomicfile.WriteIn(root, segmentName(n), a.data, atomicfile.Options{Mode: 0o600})
	}
	if err == nil {
		err = atomicfile.WriteIn(root, auditFile, append(raw, '\n'), atomicfile.Options{})
	}
	if err != nil {
		s.warn("the audit log was not rotated: " + err.Error())
	}
	if s.audit, err = readAudit(root); err == nil {
		s.audit.seal = seal
	}
	return err
}

// auditLines gives the lines of a log that can be read.
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

// auditPart is one file of the log.
type auditPart struct {
	name string
	data []byte
}

// auditParts reads the whole log, the segments first. Segments that are not there any more are left
// out.
func auditParts(root *os.Root) ([]auditPart, error) {
	current, err := readIf(root, auditFile, maxAudit)
	if err != nil || current == nil {
		return nil, err
	}
	var out []auditPart
	for n := 1; n <= segmentsBefore(current); n++ {
		data, err := readIf(root, segmentName(n), maxAudit)
		if err != nil {
			return nil, err
		}
		if data != nil {
			out = append(out, auditPart{segmentName(n), data})
		}
	}
	return append(out, auditPart{auditFile, current}), nil
}

// segmentsBefore tells how many segments stand before a file of the log: its first line says that.
func segmentsBefore(data []byte) int {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if l, err := decodeLine(first); err == nil && l.Kind == lineRotated {
		return l.Segment
	}
	return 0
}

// undo gives the edits that turn the new bytes back into src, to which edits was applied.
func undo(src []byte, edits []jsonx.Edit) []jsonx.Edit {
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

// undoWhole gives the one edit that turns now back into before, without what both begin and end
// with.
func undoWhole(before, now []byte) []jsonx.Edit {
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

// undoLines gives an edit for each line that differs, so that a mark at the top of a plan and one
// at its end do not keep what is between them. Texts with another number of lines are one edit.
func undoLines(before, now []byte) []jsonx.Edit {
	old := slices.Collect(bytes.Lines(before))
	lines := slices.Collect(bytes.Lines(now))
	if len(old) != len(lines) {
		return undoWhole(before, now)
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

// maxUndo bounds the text that a line of the log keeps to go back by.
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
