package commands

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"tercet/formats"
)

// Cache keeps what was found out about command files from one process to the next. What it gives back may be anything: a
// text that is not ours counts as nothing.
type Cache interface {
	Load() ([]byte, error)
	Store(data []byte) error
}

// Stamp is what a folder says of a file: when it was changed, in nanoseconds, and how long it is. A zero Time says nothing.
type Stamp struct{ Time, Size int64 }

// record is one file in the cache.
type record struct {
	source, file string
	stamp        Stamp
	digest       [sha256.Size]byte
	hidden       bool
	info         formats.CommandInfo
}

// fresh is how old a change must be to be told by its time: two changes within the clock's step have the same.
const fresh = 2 * time.Second

// cached reads the cache: the records by source and file. A cache that was made with other subagents is empty.
func (c *Catalog) cached() map[string]*record {
	if c.Cache == nil || c.Stamp == nil {
		return nil
	}
	data, err := c.Cache.Load()
	if err != nil {
		return nil
	}
	r := cacheReader{data: string(data)}
	if r.text() != cacheName || r.text() != c.Env {
		return nil
	}
	out := make(map[string]*record, min(r.number(), uint64(len(data))))
	for r.data != "" && !r.bad {
		one := r.record()
		if r.bad {
			return nil
		}
		out[one.source+"\x00"+one.file] = one
	}
	return out
}

// cacheName opens a cache; another number is another layout.
const cacheName = "tercet.catalog/1"

// keep writes the records. A file that was changed just now is kept without its time, so that it is read again.
func (c *Catalog) keep(list []*record) error {
	if c.Cache == nil || c.Stamp == nil || c.Now == nil {
		return nil
	}
	border := c.Now().Add(-fresh).UnixNano()
	out := text(nil, cacheName)
	out = text(out, c.Env)
	out = binary.AppendUvarint(out, uint64(len(list)))
	for _, one := range list {
		stamp := one.stamp
		if stamp.Time > border {
			stamp.Time = 0
		}
		out = text(out, one.source)
		out = text(out, one.file)
		out = binary.AppendVarint(out, stamp.Time)
		out = binary.AppendVarint(out, stamp.Size)
		out = append(out, one.digest[:]...)
		hidden := byte(0)
		if one.hidden {
			hidden = 1
		}
		out = append(out, hidden)
		out = text(out, one.info.Usage)
		out = text(out, one.info.Description)
		out = text(out, strings.Join(one.info.Examples, "\n"))
	}
	return c.Cache.Store(out)
}

func text(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

// cacheReader takes a cache apart; bad is set when it is not one.
type cacheReader struct {
	data string
	bad  bool
}

func (r *cacheReader) number() uint64 {
	head := r.data[:min(len(r.data), binary.MaxVarintLen64)]
	v, n := binary.Uvarint([]byte(head))
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *cacheReader) signed() int64 {
	u := r.number()
	v := int64(u >> 1) //nolint:gosec // the coding of binary.AppendVarint
	if u&1 != 0 {
		v = ^v
	}
	return v
}

func (r *cacheReader) text() string {
	n := r.number()
	if r.bad || n > uint64(len(r.data)) {
		r.bad = true
		return ""
	}
	s := r.data[:n]
	r.data = r.data[n:]
	return s
}

func (r *cacheReader) record() *record {
	one := &record{source: r.text(), file: r.text()}
	one.stamp = Stamp{Time: r.signed(), Size: r.signed()}
	if r.bad || len(r.data) < sha256.Size+1 {
		r.bad = true
		return one
	}
	copy(one.digest[:], r.data)
	one.hidden = r.data[sha256.Size] == 1
	r.data = r.data[sha256.Size+1:]
	one.info.Usage, one.info.Description = r.text(), r.text()
	if examples := r.text(); examples != "" {
		one.info.Examples = strings.Split(examples, "\n")
	}
	return one
}
