package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tercet/internal/md"
	"tercet/internal/strict"
)

// Retention says which runs to keep: those younger than Age, while all runs together stay below
// Size.
type Retention struct {
	Off  bool // keep everything
	Age  time.Duration
	Size int64 // in bytes
}

// defaultRetention applies if no layer sets one.
var defaultRetention = Retention{Age: 30 * day, Size: 2 << 30}

// String is the retention in a listing.
func (r Retention) String() string {
	if r.Off {
		return "off"
	}
	return fmt.Sprintf("%dd, %d MiB", int(r.Age/day), r.Size>>20)
}

const day = 24 * time.Hour

// readRetention parses off, an age, or a map of age and size.
func (l *loader) readRetention(e entry) {
	c := &l.config.Retention
	if e.v.Kind != md.Map {
		e := entry{e.name, e.key, e.v}
		age, ok := read(
			l, e,
			"off, an age such as 30d, or a map of age and size",
			func(n *md.Node) (time.Duration, bool) {
				if n.Kind == md.Scalar && n.Value == "off" {
					return 0, true
				}
				return parseAge(n)
			},
		)
		e.name += ".age"
		if ok && l.claimOrigin(e) { // both forms set the age
			c.Off = age == 0
			if !c.Off {
				c.Age = age
			}
		}
		return
	}

	for e := range l.entries(e, "", formOf("retention")) {
		if e.key.Value == "age" {
			setValue(l, e, &c.Age, "age such as 30d or 12h", parseAge)
		} else {
			setValue(l, e, &c.Size, "size such as 2GiB or 500MiB", parseSize)
		}
	}
}

// parseAge parses a duration that may be given in days.
func parseAge(n *md.Node) (time.Duration, bool) {
	if word, ok := strings.CutSuffix(n.Value, "d"); ok && n.Kind == md.Scalar {
		count, err := strconv.Atoi(word)
		return time.Duration(count) * day, err == nil && count > 0 && count <= 36500
	}
	return strict.Duration(n)
}

// parseSize parses a size in KiB, MiB or GiB.
func parseSize(n *md.Node) (int64, bool) {
	for shift, unit := range map[int]string{10: "KiB", 20: "MiB", 30: "GiB"} {
		if word, ok := strings.CutSuffix(n.Value, unit); ok && n.Kind == md.Scalar {
			count, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
			return count << shift, err == nil && count > 0
		}
	}
	return 0, false
}
