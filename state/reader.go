package state

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"tercet/formats"
	"tercet/internal/huge"
	"tercet/internal/jsonx"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
)

// Reader reads the state without a lock, because a write replaces the file atomically. It never
// creates a file.
type Reader struct {
	cfg Config

	mu       sync.Mutex
	info     fs.FileInfo // of the file that doc was read from
	doc      *statefile.Document
	plain    map[string]any // plainDoc as plain JSON, with the stored statuses
	plainDoc *statefile.Document
}

// NewReader makes a reader of a workspace. It opens nothing before its first use.
func NewReader(cfg Config) (*Reader, error) {
	if err := cfg.check(false); err != nil {
		return nil, err
	}
	return &Reader{cfg: cfg}, nil
}

// load reads the file unless it is unchanged since the last read.
func (r *Reader) load(ctx context.Context) (*statefile.Document, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}

	info, err := r.cfg.Root.Stat(statefile.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.cfg.missingStateError()
	}
	if err != nil {
		return nil, files.Failure("reading", statefile.Path, err)
	}
	if r.doc != nil && files.Same(info, r.info) {
		return r.doc, nil
	}

	src, info, err := r.cfg.readState(statefile.Path)
	if err != nil {
		return nil, err
	}
	doc, err := statefile.Parse(statefile.Path, src)
	if err != nil {
		return nil, addBackupHint(r.cfg, err)
	}

	r.doc = doc
	r.info = info
	return doc, nil
}

// Snapshot returns the state as plain JSON for queries, with effective statuses, and its serial.
// The document is shared: do not change it.
func (r *Reader) Snapshot(ctx context.Context) (doc any, serial uint64, err error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, 0, err
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plainDoc != d {
		r.plain = d.Plain()
		r.plainDoc = d
	}

	return r.effectivePlain(d), d.Serial, nil
}

// effectivePlain returns the plain JSON with effective statuses. It copies only what differs.
func (r *Reader) effectivePlain(d *statefile.Document) map[string]any {
	out := r.plain
	now := r.cfg.now()

	var list []any
	for i := range d.Tasks {
		status, stale := r.cfg.effectiveStatus(&d.Tasks[i], now)
		if !stale {
			continue
		}
		if list == nil {
			list = slices.Clone(out["tasks"].([]any)) //nolint:errcheck,forcetypeassert // the same
			out = maps.Clone(out)
			out["tasks"] = list
		}

		task := maps.Clone(list[i].(map[string]any)) //nolint:errcheck,forcetypeassert // the same
		task["status"] = status.String()
		list[i] = task
	}
	return out
}

// Task returns an active task with its effective status; its lists are shared. A missing task is
// NOT_FOUND.
func (r *Reader) Task(ctx context.Context, number int) (*formats.Task, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}

	t := d.Find(number)
	if t == nil {
		archived, err := r.isArchived(number)
		if err != nil {
			return nil, err
		}
		return nil, noTask(number, archived)
	}

	out := *t
	out.Status, _ = r.cfg.effectiveStatus(t, r.cfg.now())
	return &out, nil
}

// Tasks returns the active tasks with effective statuses. The caller owns the list, but not its
// content.
func (r *Reader) Tasks(ctx context.Context) ([]formats.Task, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	out := append(huge.List[formats.Task](len(d.Tasks)), d.Tasks...)
	now := r.cfg.now()
	for i := range out {
		out[i].Status, _ = r.cfg.effectiveStatus(&d.Tasks[i], now)
	}
	return out, nil
}

// HasTask reports whether a task is active.
func (r *Reader) HasTask(ctx context.Context, number int) (bool, error) {
	d, err := r.load(ctx)
	if err != nil {
		return false, err
	}
	return d.Find(number) != nil, nil
}

// ArchivedTask reports whether a task is in the archive.
func (r *Reader) ArchivedTask(ctx context.Context, number int) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	return r.isArchived(number)
}

func (r *Reader) isArchived(number int) (bool, error) {
	archive, _, err := readArchive(r.cfg, statefile.ArchivePath)
	return archive.Find(number) != nil, err
}

// Bytes returns the content of state.json, valid or not.
func (r *Reader) Bytes(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	src, _, err := r.cfg.readState(statefile.Path)
	return src, err
}

// Notice returns a line about an external change of the file since tercet's last write. It is empty
// if there is none, or if a cheap check cannot tell.
func (r *Reader) Notice(ctx context.Context) string {
	sha, err := r.digest(ctx)
	if err != nil {
		return ""
	}

	audit, err := history.ViewLog(r.cfg.Root)
	if err != nil {
		return ""
	}

	last := audit.StateLine
	if last.Post == "" || last.Post == sha || last.IsIntent() && last.Pre == sha {
		return ""
	}
	return fmt.Sprintf(
		"state.json was changed from outside since serial %d; the next write takes it over",
		last.Serial,
	)
}

// digest returns the SHA-256 of state.json, valid or not. It does not read the file again if it is
// unchanged.
func (r *Reader) digest(ctx context.Context) (string, error) {
	r.mu.Lock()
	doc := r.doc
	read := r.info
	r.mu.Unlock()

	if info, err := r.cfg.Root.Stat(statefile.Path); err == nil && doc != nil &&
		files.Same(info, read) {
		return doc.SHA, nil
	}

	src, err := r.Bytes(ctx)
	if err != nil {
		return "", err
	}
	return formats.Sum(src), nil
}

// Current returns state.json with the effective statuses, or nil if they equal the stored ones.
// Only a task with a lease can differ, so a file without leases is not parsed.
func (r *Reader) Current(ctx context.Context) ([]byte, error) {
	f, _, err := files.Open(r.cfg.Root, statefile.Path, files.MaxState)
	if err != nil {
		return nil, files.Failure("reading", statefile.Path, err)
	}

	leased, err := hasLease(f)
	if err = errors.Join(err, f.Close()); err != nil || !leased {
		return nil, err
	}
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}

	var edits []jsonx.Edit
	now := r.cfg.now()
	for i := range d.Tasks {
		if status, stale := r.cfg.effectiveStatus(&d.Tasks[i], now); stale {
			v := d.Full(i).Get("status")
			edits = append(edits, jsonx.Edit{
				Start: v.Start,
				End:   v.End,
				Text:  jsonx.AppendString(nil, status.String()),
			})
		}
	}

	if len(edits) == 0 {
		return nil, nil
	}
	return jsonx.Splice(d.Src, edits)
}

// hasLease reports whether a text has a member lease that is an object. It may report true where
// there is none. It stops at braces only: the key itself is there for each task, mostly with null.
func hasLease(in io.Reader) (bool, error) {
	const overlap = 64 // bytes of a key and its brace, which two buffers may share
	r := bufio.NewReaderSize(in, 256<<10)
	searched := 0
	for {
		text, err := r.Peek(r.Size())
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return false, err
		}

		for at := searched; ; at++ {
			next := bytes.IndexByte(text[at:], '{')
			if next < 0 {
				break
			}
			at += next
			if mayBeLease(text[:at]) {
				return true, nil
			}
		}

		if end {
			return false, nil
		}
		searched = min(overlap, len(text))
		if _, err := r.Discard(len(text) - searched); err != nil {
			return false, err
		}
	}
}

// mayBeLease reports whether an object after this text may be the value of a member lease.
func mayBeLease(before []byte) bool {
	const key = `"lease"`
	text := bytes.TrimRight(before, ": \t\r\n")
	if len(text) < len(key) {
		return len(before) > 0 // the key may be in what was read before
	}
	return bytes.HasSuffix(text, []byte(key))
}

// Doc returns the typed state with the stored statuses.
func (r *Reader) Doc(ctx context.Context) (statefile.Doc, error) {
	d, err := r.load(ctx)
	if err != nil {
		return statefile.Doc{}, err
	}
	out := d.Doc
	out.Tasks = slices.Clone(d.Tasks)
	return out, nil
}
