package history

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
	"tercet/internal/order"
	"tercet/state/files"
	"tercet/state/statefile"
)

// segmentDir has the rotated parts of audit.jsonl: 000001.jsonl and so on.
const segmentDir = formats.Workspace + "/audit"

func segmentName(n int) string {
	return path.Join(segmentDir, fmt.Sprintf("%06d.jsonl", n))
}

// IsFull reports whether the log has a size in bytes at which it moves into a segment.
func (a *Log) IsFull(limit int64) bool {
	return a.Exists && int64(len(a.data)) >= limit && bytes.Count(a.data, []byte("\n")) > 1
}

// Rotate moves the log into a segment, and begins a new one whose first line repeats the last
// state. The segment is written before the new file replaces the log, so a kill in between loses
// nothing: the next rotation writes the same segment again. failed says why the log is as it was. A
// log that is unreadable afterwards is an error, because the next line must follow from its last
// one.
func (a *Log) Rotate(now string) (failed, err error) {
	n := a.segments + 1
	line := Line{
		Serial:  a.MaxSerial,
		Kind:    KindRotated,
		File:    statefile.Path,
		Time:    now,
		Segment: n,
		Pre:     a.StateLine.Post,
		Post:    a.StateLine.Post,
		Prev:    a.lastSHA,
	}
	if given := a.HighestNumber(); given > 0 {
		line.Added = []int{given} // the highest task number ever assigned, for a restore
	}
	raw, err := a.Seal.sign(line)
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
		failed = atomicfile.WriteIn(root, AuditFile, append(raw, '\n'), atomicfile.Options{})
	}

	fresh, err := ReadLog(root)
	if err != nil {
		return failed, err
	}
	fresh.Seal = a.Seal
	*a = *fresh
	return failed, nil
}

// Lines iterates over the readable lines of a log.
func Lines(data []byte) func(yield func(*Line) bool) {
	return func(yield func(*Line) bool) {
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
	current, err := files.ReadIfExists(root, AuditFile, files.MaxAudit)
	if err != nil || current == nil {
		return nil, err
	}

	var out []logSegment
	for n := 1; n <= segmentsBefore(current); n++ {
		data, err := files.ReadIfExists(root, segmentName(n), files.MaxAudit)
		if err != nil {
			return nil, err
		}
		if data != nil {
			out = append(out, logSegment{segmentName(n), data})
		}
	}
	return append(out, logSegment{AuditFile, current}), nil
}

// segmentsBefore returns how many segments precede a file of the log, which its first line says.
func segmentsBefore(data []byte) int {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if l, err := decodeLine(first); err == nil && l.Kind == KindRotated {
		return l.Segment
	}
	return 0
}

// ReverseEdits returns the edits that turn the result of edits back into src.
func ReverseEdits(src []byte, edits []jsonx.Edit) []jsonx.Edit {
	out := make([]jsonx.Edit, 0, len(edits))
	shift := 0
	sorted := slices.Clone(edits)
	order.Stable(sorted, func(a, b jsonx.Edit) int { return cmp.Compare(a.Start, b.Start) })

	for _, e := range sorted {
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

// ReverseWhole returns the one edit that turns now back into before, without their common prefix
// and suffix.
func ReverseWhole(before, now []byte) []jsonx.Edit {
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

// ReverseLines returns one edit for each line that differs, so that changes at the top and at the
// end of a plan do not store everything in between. If the number of lines differs, it is one edit.
func ReverseLines(before, now []byte) []jsonx.Edit {
	old := slices.Collect(bytes.Lines(before))
	lines := slices.Collect(bytes.Lines(now))

	if len(old) != len(lines) {
		return ReverseWhole(before, now)
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

func dropLargeUndo(edits []jsonx.Edit) []jsonx.Edit {
	size := 0
	for _, e := range edits {
		size += len(e.Text)
	}
	if size > maxUndo {
		return nil
	}
	return edits
}
