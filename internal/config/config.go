package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/formats"
)

// The documented defaults.
const (
	DefaultRunner      = "offline"
	DefaultLockTimeout = 10 * time.Second
	DefaultNextNumber  = 1
)

// WorkspaceLayer is the name of the layer of the project: what it says of the sandbox may only tighten.
const WorkspaceLayer = "workspace"

// DefaultLayer is the name of the layer below all others.
const DefaultLayer = "default"

// Config is what the layers say together.
type Config struct {
	Runner       string            // "auto" is not resolved
	Aliases      map[string]string // slash name to slash name, both without the slash
	Limits       formats.Limits    // zero: no layer says anything
	LockTimeout  time.Duration
	NextNumber   int
	Commands     []string // further folders with command files as written, the highest layer's first
	Env          []string // names of variables that children may see
	IsolatedHome bool
	// Sandbox is the order in which tiers of isolation are tried, as a person wants it; empty means the default. SandboxFloor
	// is what the workspace says: it names the weakest tier that it accepts and can add none.
	Sandbox, SandboxFloor []string
	Boxes                 Boxes
	// ACP are agents of the Agent Client Protocol by the word for their runner.
	ACP map[string]Speaker

	origins map[string]Origin
}

// Origin is the place that a value came from. File and Pos are empty for layers that are no file.
type Origin struct {
	Layer string
	File  string
	Pos   formats.Pos
}

// String is the place as a listing shows it.
func (o Origin) String() string {
	if o.File == "" {
		return o.Layer
	}
	return fmt.Sprintf("%s:%d", o.File, o.Pos.Line)
}

// Item is one value with its origin. Key is dotted below aliases and limits; commands and env have one item an element.
type Item struct {
	Key    string
	Value  string
	Origin Origin
}

// Origin gives the place of a value by the key of its Item; of commands and env, "env.NAME" names an element.
func (c Config) Origin(key string) Origin {
	if o, ok := c.origins[key]; ok {
		return o
	}
	return Origin{Layer: DefaultLayer}
}

// List gives every value, sorted by key; elements of lists keep their order.
func (c Config) List() []Item {
	items := []Item{
		{Key: keyRunner, Value: c.Runner},
		{Key: keyLockTimeout, Value: c.LockTimeout.String()},
		{Key: keyNextNumber, Value: fmt.Sprint(c.NextNumber)},
		{Key: keyIsolatedHome, Value: fmt.Sprint(c.IsolatedHome)},
	}
	for key, list := range map[string][]string{keySandbox: c.Sandbox, keySandbox + "." + WorkspaceLayer: c.SandboxFloor} {
		if len(list) > 0 {
			items = append(items, Item{Key: key, Value: strings.Join(list, ", ")})
		}
	}
	items = append(items, c.Boxes.items()...)
	for runner, s := range c.ACP {
		items = append(items, Item{Key: keyACP + "." + runner, Value: s.String()})
	}
	for from, to := range c.Aliases {
		items = append(items, Item{Key: keyAliases + "." + from, Value: to})
	}
	for _, l := range limits(&c.Limits) {
		if l.isSet() {
			items = append(items, Item{Key: keyLimits + "." + l.name, Value: l.text()})
		}
	}
	for i := range items {
		items[i].Origin = c.Origin(items[i].Key)
	}
	for key, list := range map[string][]string{keyCommands: c.Commands, keyEnv: c.Env} {
		for _, v := range list {
			items = append(items, Item{Key: key, Value: v, Origin: c.Origin(key + "." + v)})
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
	return items
}

// Lower gives limits with those of the configuration where they are lower; what is zero on both sides stays zero.
func (c Config) Lower(l formats.Limits) formats.Limits {
	full := l.WithDefaults()
	out, with := limits(&l), limits(&full)
	for i, own := range limits(&c.Limits) {
		if own.isSet() && own.value() < with[i].value() {
			out[i].set(own.value())
		}
	}
	return l
}

// limit is one field of formats.Limits under its key.
type limit struct {
	name     string
	count    *int
	duration *time.Duration // instead of count
}

// limits lists the keys below limits. The slice refers to the fields of l.
func limits(l *formats.Limits) []limit {
	return []limit{
		{name: "rollbacks", count: &l.Rollbacks},
		{name: "retries", count: &l.Retries},
		{name: "visits", count: &l.Visits},
		{name: "steps", count: &l.Steps},
		{name: "elements", count: &l.Elements},
		{name: "parallel", count: &l.Parallel},
		{name: "duration", duration: &l.Duration},
	}
}

func (l limit) value() int64 {
	if l.duration != nil {
		return int64(*l.duration)
	}
	return int64(*l.count)
}

func (l limit) isSet() bool { return l.value() != 0 }

func (l limit) set(v int64) {
	if l.duration != nil {
		*l.duration = time.Duration(v)
		return
	}
	*l.count = int(v)
}

func (l limit) text() string {
	if l.duration != nil {
		return l.duration.String()
	}
	return fmt.Sprint(*l.count)
}
