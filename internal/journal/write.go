package journal

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
)

// Name is the journal's file name in the folder of its run.
const Name = "journal.jsonl"

// MaxBytes bounds a journal, in bytes.
const MaxBytes = 64 << 20

// maxDataDepth bounds the nesting of an entry's data, so that the line stays within the limit of
// the reader.
const maxDataDepth = jsonx.DefaultDepth - 1

// fileMode makes the journal private to its user.
const fileMode fs.FileMode = 0o600

// Options configure a Writer.
type Options struct {
	Clock func() time.Time // required
	Sync  bool             // fsync after each entry except decisions
	Key   []byte           // for the MAC of each line, which proves who wrote it; nil: no MAC
	Mask  *Masker          // nil: NewMasker()
	Each  func(Record)     // called with each written entry, in order; may be nil
	// Share gets the lines since its last call once they are on the disk; nil: nobody does. Entries
	// that only record what a replay decides again wait for the next one. After its error the
	// Writer takes no further entry: the effect of this one must not begin.
	Share func(ctx context.Context, lines []byte) error
}

// journalFile is an open journal.
type journalFile interface {
	io.WriteCloser
	Sync() error
}

// Writer appends to the journal of one run. After a disk error it returns that error for every
// further entry, because the content of the disk is unknown.
type Writer struct {
	open func() (*os.Root, error)
	opts Options

	mu       sync.Mutex
	file     journalFile
	size     int // of the file
	seq      int
	lastSHA  string // hash of the last line
	unshared []byte // lines that were not shared yet
	failed   error
	closed   bool
}

// New returns a Writer. The first Append calls open for the folder of the run, which the Writer
// closes, and creates the journal. It verifies and continues an existing journal, and cuts off a
// torn last line.
func New(open func() (*os.Root, error), opts Options) *Writer {
	if opts.Mask == nil {
		opts.Mask = NewMasker()
	}
	return &Writer{open: open, opts: opts}
}

// Append writes an entry. It ignores cancellation, because events must be recorded while a run is
// being stopped.
func (w *Writer) Append(ctx context.Context, e formats.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return failure(formats.CodeIO, "write", fs.ErrClosed)
	case w.failed != nil:
		return w.failed
	case w.open == nil || w.opts.Clock == nil:
		return formats.Fail(
			formats.CodeBug,
			"",
			"expected a journal with folder and clock, got one without",
		)
	}

	if err := w.mask(&e); err != nil {
		return err
	}
	if w.file == nil {
		if err := w.openFile(); err != nil {
			w.failed = err
			return err
		}
	}

	r := Record{
		Seq:   w.seq + 1,
		Time:  w.opts.Clock().UTC(),
		Prev:  w.lastSHA,
		Entry: e,
	}
	line, sha, err := encode(r, w.opts.Key)
	if err != nil {
		return err
	}
	if w.size+len(line) > MaxBytes {
		return formats.Fail(formats.CodeLimit, "",
			"expected a journal of at most %d bytes, got one more entry", MaxBytes)
	}

	if err := w.write(line, w.opts.Sync && !isDecision(e.Type)); err != nil {
		w.failed = err
		return err
	}
	w.size += len(line)
	w.seq++
	w.lastSHA = sha
	if w.opts.Each != nil {
		w.opts.Each(r)
	}
	return w.share(ctx, e, line)
}

// share shares a line and those before it that were held back.
func (w *Writer) share(ctx context.Context, e formats.Entry, line []byte) error {
	if w.opts.Share == nil {
		return nil
	}
	w.unshared = append(w.unshared, line...)
	if isDecision(e.Type) {
		return nil
	}

	if err := w.opts.Share(context.WithoutCancel(ctx), w.unshared); err != nil {
		w.failed = &formats.UnrecordedError{Err: err}
		return w.failed
	}
	w.unshared = nil
	return nil
}

// Close closes the journal. All events are already on the disk, so its error loses nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.file == nil {
		w.closed = true
		return nil
	}
	w.closed = true

	if err := w.file.Close(); err != nil {
		return failure(formats.CodeIO, "close", err)
	}
	return nil
}

// mask masks the secrets in an entry's data.
func (w *Writer) mask(e *formats.Entry) error {
	if e.Data == nil {
		return nil
	}

	raw, err := jsonx.Marshal(e.Data, "")
	if err == nil {
		var tree *jsonx.Value
		tree, err = jsonx.Parse(raw, jsonx.Limits{Depth: maxDataDepth})
		if err == nil {
			raw, err = jsonx.Marshal(w.opts.Mask.maskTree(tree), "")
		}
	}

	if err != nil {
		return failure(formats.CodeBug, "encode", err)
	}
	e.Data = json.RawMessage(raw)
	return nil
}

// isDecision reports whether an entry only records what a replay decides again. After a power cut
// the journal may lack the last of them. Nothing has an effect before the next entry, which makes
// these durable too.
func isDecision(t formats.EntryType) bool {
	return t == formats.EntryStepScheduled || t == formats.EntryStepFinished ||
		t == formats.EntryLoopEntered
}

func (w *Writer) write(line []byte, durable bool) error {
	if _, err := w.file.Write(line); err != nil {
		return failure(formats.CodeIO, "write", err)
	}
	if !durable {
		return nil
	}
	if err := w.file.Sync(); err != nil {
		return failure(formats.CodeNotDurable, "sync", err)
	}
	return nil
}

// openFile opens the journal, which is durable before its first line.
func (w *Writer) openFile() error {
	root, err := w.open()
	if formats.CodeOf(err) == formats.CodeLocked {
		return err // the run is another process's
	}
	if err != nil {
		return failure(formats.CodeIO, "open", err)
	}
	err = w.openIn(root)
	if cerr := root.Close(); cerr != nil && err == nil {
		err = errors.Join(failure(formats.CodeIO, "close", cerr), w.file.Close())
		w.file = nil
	}
	return err
}

func (w *Writer) openIn(root *os.Root) error {
	err := atomicfile.Create(root, Name, nil, fileMode)
	if errors.Is(err, fs.ErrExist) {
		err = w.continueFile(root)
	}
	if err != nil {
		if formats.CodeOf(err) == formats.CodeInvalidState {
			return err // the journal is damaged
		}
		return failure(formats.CodeIO, "open", err)
	}

	file, err := root.OpenFile(Name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return failure(formats.CodeIO, "open", err)
	}
	w.file = file
	return nil
}

// continueFile reads number and hash of the last complete line, and cuts off what follows it.
func (w *Writer) continueFile(root *os.Root) error {
	file, err := atomicfile.Open(root, Name)
	if err != nil {
		return err
	}
	var size int64
	if info, ierr := file.Stat(); ierr == nil {
		size = info.Size()
	}

	w.size, err = scan(file, func(r Record) {
		w.seq = r.Seq
		w.lastSHA = r.SHA
	})
	if cerr := file.Close(); err != nil || cerr != nil {
		return cmp.Or(err, cerr)
	}

	if int64(w.size) < size {
		return atomicfile.Cut(root, Name, int64(w.size))
	}
	return nil
}

// encode encodes a line: the members, then the SHA-256 of everything before that member, then the
// MAC of that hash.
func encode(r Record, key []byte) (line []byte, sha string, err error) {
	line, err = jsonx.Marshal(r, "")
	if err != nil {
		return nil, "", failure(formats.CodeBug, "encode", err)
	}

	line = line[:len(line)-1]
	sha = formats.Sum(line)
	line = append(line, shaMember+sha...)
	if key != nil {
		line = append(line, macMember+macOf(key, sha)...)
	}
	return append(line, "\"}\n"...), sha, nil
}

func macOf(key []byte, sha string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(sha))
	return hex.EncodeToString(mac.Sum(nil))
}

// failure is an error about an entry that may not be on disk.
func failure(code formats.Code, doing string, err error) error {
	return &formats.Failure{
		Code:    code,
		Message: Name + ": " + doing,
		Err:     err,
	}
}
