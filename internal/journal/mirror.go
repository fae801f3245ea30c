package journal

import (
	"bytes"
	"crypto/hmac"
	"errors"
	"io/fs"
	"os"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// Mirror is the journal of a run that another machine writes. It takes only lines that continue it,
// and each is on the disk when Append returns. It belongs to one goroutine.
type Mirror struct {
	key  []byte
	file journalFile
	size int
	seq  int
	sha  string
	// last are the lines that came last, which may come again after an answer was lost.
	last     []byte
	finished bool
	failed   error
}

// OpenMirror opens or creates a journal in the folder of a run. The key is that of the run.
func OpenMirror(dir *os.Root, key []byte) (*Mirror, error) {
	err := atomicfile.Create(dir, Name, nil, fileMode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failure(formats.CodeIO, "open", err)
	}

	data, err := atomicfile.ReadFile(dir, Name)
	if err != nil {
		return nil, failure(formats.CodeIO, "read", err)
	}

	m := &Mirror{key: key}
	m.size, err = scan(bytes.NewReader(data), func(r Record) {
		m.seq = r.Seq
		m.sha = r.SHA
		m.trackEnd(r)
	})
	if err != nil {
		return nil, err
	}
	if m.size < len(data) { // the last write was torn, and nobody was told that it was done
		if err := atomicfile.Cut(dir, Name, int64(m.size)); err != nil {
			return nil, failure(formats.CodeIO, "open", err)
		}
	}

	m.file, err = dir.OpenFile(Name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, failure(formats.CodeIO, "open", err)
	}
	return m, nil
}

func (m *Mirror) trackEnd(r Record) {
	switch {
	case r.Type == formats.EntryRunFinished && r.Step == "":
		m.finished = true
	case r.Type == formats.EntryReopened:
		m.finished = false
	}
}

// Seq is the number of the last line.
func (m *Mirror) Seq() int {
	return m.seq
}

// Finished reports whether the run has ended.
func (m *Mirror) Finished() bool {
	return m.finished
}

// Check reads lines that are to follow the journal and returns their records. It refuses lines that
// another attempt has overtaken, that were changed, or that were not sealed with the key of the
// run. again means that the journal has them already.
func (m *Mirror) Check(lines []byte) (records []Record, again bool, err error) {
	if m.failed != nil {
		return nil, false, m.failed
	}
	if len(lines) > 0 && bytes.Equal(lines, m.last) {
		return nil, true, nil
	}

	seq := m.seq
	sha := m.sha
	for line := range bytes.Lines(lines) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		sum, mac, ok := checkLine(text)
		if !whole || !ok {
			return nil, false, damagedError(seq+1, "line does not match its hash")
		}
		r, wrong := decode(text, seq+1, sha)
		if wrong != "" {
			return nil, false, damagedError(seq+1, wrong)
		}
		if !hmac.Equal([]byte(mac), []byte(macOf(m.key, sum))) {
			return nil, false, foreignLineError(seq + 1)
		}
		r.SHA = sum
		seq = r.Seq
		sha = sum
		records = append(records, r)
	}

	if len(records) == 0 {
		return nil, false,
			formats.Fail(formats.CodeUsage, "", "expected lines of a journal, got none")
	}
	if m.size+len(lines) > MaxBytes {
		return nil, false, formats.Fail(formats.CodeLimit, "",
			"expected a journal of at most %d bytes, got more", MaxBytes)
	}
	return records, false, nil
}

// Append adds lines that Check has accepted.
func (m *Mirror) Append(lines []byte, records []Record) error {
	_, err := m.file.Write(lines)
	if err == nil {
		err = m.file.Sync()
	}
	if err != nil {
		// what is on the disk is unknown until the journal is opened anew
		m.failed = failure(formats.CodeNotDurable, "write", err)
		return m.failed
	}

	m.size += len(lines)
	m.last = bytes.Clone(lines)
	for _, r := range records {
		m.seq = r.Seq
		m.sha = r.SHA
		m.trackEnd(r)
	}
	return nil
}

// Seal makes lines that follow the journal out of entries of the home itself, for Append.
func (m *Mirror) Seal(
	now time.Time, mask *Masker, entries ...formats.Entry,
) (lines []byte, records []Record, err error) {
	seq := m.seq
	sha := m.sha
	masking := New(nil, Options{Mask: mask})
	for _, e := range entries {
		if err := masking.mask(&e); err != nil {
			return nil, nil, err
		}
		seq++
		var line []byte
		line, sha, err = encode(Record{Seq: seq, Time: now.UTC(), Prev: sha, Entry: e}, m.key)
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, line...)
	}

	records, _, err = m.Check(lines)
	return lines, records, err
}

// Close closes the journal.
func (m *Mirror) Close() error {
	return m.file.Close()
}
