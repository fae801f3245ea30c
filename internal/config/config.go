package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/secrets"
	"tercet/internal/strict"
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
	// Sandbox is the order in which tiers of isolation are tried, as a person wants it; empty means the default.
	// SandboxFloor is what the workspace says: it names the weakest tier that it accepts and can add none.
	Sandbox, SandboxFloor []string
	Boxes                 Boxes
	// ACP are agents of the Agent Client Protocol by the word for their runner.
	ACP map[string]Speaker
	// Secrets are the findings of the scan before a commit that are agreed to.
	Secrets []secrets.Allowed

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
	for _, l := range bounds(&c.Limits) {
		if l.value() != 0 {
			items = append(items, Item{Key: keyLimits + "." + l.name, Value: l.text()})
		}
	}
	for i := range items {
		items[i].Origin = c.Origin(items[i].Key)
	}
	allowed := make([]string, len(c.Secrets))
	for i, a := range c.Secrets {
		allowed[i] = a.String()
	}
	for key, list := range map[string][]string{keyCommands: c.Commands, keyEnv: c.Env, keySecrets: allowed} {
		for _, v := range list {
			items = append(items, Item{Key: key, Value: v, Origin: c.Origin(key + "." + v)})
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
	return items
}

// limit is one field of formats.Limits under its key. Zero means that nothing is said.
type limit struct {
	name string
	of   any // *int, *int64, *float64 or *time.Duration
}

// bounds lists the keys below limits that have a default. The slice refers to the fields of l.
func bounds(l *formats.Limits) []limit {
	return []limit{
		{"rollbacks", &l.Rollbacks},
		{"retries", &l.Retries},
		{"visits", &l.Visits},
		{"steps", &l.Steps},
		{"elements", &l.Elements},
		{"parallel", &l.Parallel},
		{"duration", &l.Duration},
	}
}

// budgets lists those that have none: what workers may use.
func budgets(l *formats.Limits) []limit {
	return []limit{{"tokens", &l.Tokens}, {"cost", &l.Cost}, {"spawns", &l.Spawns}}
}

// read reads a value for the limit.
func (l limit) read(in *loader, v *md.Node, key string) (float64, bool) {
	switch l.of.(type) {
	case *time.Duration:
		d, ok := strict.As(&in.Decoder, v, durationWords+" for "+key, strict.Duration)
		return float64(d), ok
	case *float64:
		return strict.As(&in.Decoder, v, "cost above 0 in US dollars for "+key, func(n *md.Node) (float64, bool) {
			usd, ok := strict.Number(n)
			return usd, ok && usd > 0
		})
	default:
		n, ok := strict.As(&in.Decoder, v, countWords+" for "+key, strict.Positive)
		return float64(n), ok
	}
}

func (l limit) value() float64 {
	v := reflect.ValueOf(l.of).Elem()
	if v.CanFloat() {
		return v.Float()
	}
	return float64(v.Int())
}

func (l limit) set(to float64) {
	v := reflect.ValueOf(l.of).Elem()
	if v.CanFloat() {
		v.SetFloat(to)
		return
	}
	v.SetInt(int64(to))
}

// text is the limit as a listing shows it: 3, or 2h0m0s.
func (l limit) text() string { return fmt.Sprint(reflect.ValueOf(l.of).Elem()) }
