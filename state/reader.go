package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"tercet/formats"
)

// Reader reads the state without a lock, because a write replaces the file in one step. It never creates a file.
type Reader struct {
	cfg Config

	mu      sync.Mutex
	info    fs.FileInfo // of the file that doc was read from
	doc     *document
	plain   map[string]any // of a document, for queries, with the statuses of the file
	plainOf *document
}

// NewReader makes a reader of a workspace. It opens nothing before its first use.
func NewReader(cfg Config) (*Reader, error) {
	if err := cfg.check(false); err != nil {
		return nil, err
	}
	return &Reader{cfg: cfg}, nil
}

// load reads the file unless it is the one that was read last.
func (r *Reader) load(ctx context.Context) (*document, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	info, err := r.cfg.Root.Stat(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.cfg.noState()
	}
	if err != nil {
		return nil, ioFailure("reading", stateFile, err)
	}
	if r.doc != nil && sameFile(info, r.info) {
		return r.doc, nil
	}
	src, info, err := r.cfg.readState(stateFile)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(stateFile, src)
	if err != nil {
		return nil, withBackup(r.cfg, err)
	}
	r.doc, r.info = doc, info
	return doc, nil
}

// Snapshot gives the state as plain JSON for queries, with effective statuses, and its serial. The document is shared:
// do not change it.
func (r *Reader) Snapshot(ctx context.Context) (doc any, serial uint64, err error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plainOf != d {
		r.plain, r.plainOf = d.tree.Any().(map[string]any), d //nolint:errcheck,forcetypeassert // the document was parsed
	}
	return r.shown(d), d.Serial, nil
}

// shown is plain with the effective statuses: a copy of what of it differs.
func (r *Reader) shown(d *document) map[string]any {
	out, now := r.plain, r.cfg.now()
	var list []any
	for i := range d.Tasks {
		status, stale := r.cfg.effective(&d.Tasks[i], now)
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

// Task gives an active task with its effective status; its lists are shared. A missing task is NOT_FOUND.
func (r *Reader) Task(ctx context.Context, number int) (*formats.Task, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	t := d.find(number)
	if t == nil {
		archived, err := r.archived(number)
		if err != nil {
			return nil, err
		}
		return nil, noTask(number, archived)
	}
	out := *t
	out.Status, _ = r.cfg.effective(t, r.cfg.now())
	return &out, nil
}

// Tasks gives the active tasks with effective statuses; the caller owns the list, but not its content.
func (r *Reader) Tasks(ctx context.Context) ([]formats.Task, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	out, now := slices.Clone(d.Tasks), r.cfg.now()
	for i := range out {
		out[i].Status, _ = r.cfg.effective(&d.Tasks[i], now)
	}
	return out, nil
}

// HasTask reports whether a task is active.
func (r *Reader) HasTask(ctx context.Context, number int) (bool, error) {
	d, err := r.load(ctx)
	if err != nil {
		return false, err
	}
	return d.find(number) != nil, nil
}

// ArchivedTask reports whether a task is in the archive.
func (r *Reader) ArchivedTask(ctx context.Context, number int) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	return r.archived(number)
}

func (r *Reader) archived(number int) (bool, error) {
	archive, _, err := readArchive(r.cfg, archiveFile)
	return archive.find(number) != nil, err
}

// Bytes gives the content of state.json, valid or not.
func (r *Reader) Bytes(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	src, _, err := r.cfg.readState(stateFile)
	return src, err
}

// Notice is a line about a foreign change of the file since the engine's last write. It is empty if there is none, or
// if a cheap check cannot tell.
func (r *Reader) Notice(ctx context.Context) string {
	src, err := r.Bytes(ctx)
	if err != nil {
		return ""
	}
	data, err := readFile(r.cfg.Root, auditFile, maxAudit)
	if err != nil {
		return ""
	}
	sha := formats.Sum(src)
	last, _ := lastState(data)
	if last.Post == "" || last.Post == sha || last.announces() && last.Pre == sha {
		return ""
	}
	return fmt.Sprintf("state.json was changed from outside since serial %d; the next write takes it over", last.Serial)
}

// Doc gives the state in types, with the stored statuses.
func (r *Reader) Doc(ctx context.Context) (Doc, error) {
	d, err := r.load(ctx)
	if err != nil {
		return Doc{}, err
	}
	out := d.Doc
	out.Tasks = slices.Clone(d.Tasks)
	return out, nil
}
