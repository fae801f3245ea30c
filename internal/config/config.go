package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/phrase"
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
	Model        map[string]string // runner to model; the key "" is the model for every runner
	Aliases      map[string]string // slash name to slash name, both without the slash
	Prefer       map[string]string // slash name without the slash to the scope whose command has it
	Limits       formats.Limits    // zero: no layer says anything
	LockTimeout  time.Duration
	NextNumber   int
	Language     string   // of the fixed texts of flows: en or ja; empty: en
	Specs        string   // folder of the project that holds the documents of tasks; empty: tercet's own
	Commands     []string // further folders with command files as written, the highest layer's first
	Env          []string // names of variables that children may see
	IsolatedHome bool
	Retention    Retention
	Notify       []string       // program and arguments that are told what waits for the person; nil: nobody is told
	Daily        formats.Limits // the tokens and the money of a day over all runs; zero: no ceiling
	// Sandbox is the order in which tiers of isolation are tried, as a person wants it; empty means the default.
	// SandboxFloor is what the workspace says: it names the weakest tier that it accepts and can add none.
	Sandbox, SandboxFloor []string
	Boxes                 Boxes
	// ACP are agents of the Agent Client Protocol by the word for their runner.
	ACP map[string]Speaker
	// Secrets are the findings of the scan before a commit that are agreed to.
	Secrets []secrets.Allowed

	origins map[string]Origin
	written map[string]string // values as they are written, by the keys of origins
}

// Origin is the place that a value came from. File and Pos are empty for layers that are no file.
type Origin struct {
	Layer string
	File  string
	Pos   formats.Pos
}

// String is the place as a message shows it.
func (o Origin) String() string {
	if o.Pos.Line == 0 {
		return cmp.Or(o.File, o.Layer)
	}
	return fmt.Sprintf("%s:%d", o.File, o.Pos.Line)
}

// Origin gives the place of a value by its key, dotted below aliases, prefer, limits, sandbox, acp and model; of
// commands and env, "env.NAME" names an element.
func (c Config) Origin(key string) Origin {
	if o, ok := c.origins[key]; ok {
		return o
	}
	return Origin{Layer: DefaultLayer}
}

// limit is one field of formats.Limits: an integer, a number of dollars or a duration. Its key is the field's name in
// lower case, or its tag. Zero means that nothing is said.
type limit struct {
	name string
	reflect.Value
}

// limitsOf lists the fields of l, to which the limits refer.
func limitsOf(l *formats.Limits) []limit {
	var out []limit
	for field, v := range reflect.ValueOf(l).Elem().Fields() {
		out = append(out, limit{cmp.Or(field.Tag.Get("key"), strings.ToLower(field.Name)), v})
	}
	return out
}

// read reads a value for the limit.
func (l limit) read(in *loader, e entry) (float64, bool) {
	switch l.Interface().(type) {
	case time.Duration:
		d, ok := read(in, e, durationWords, strict.Duration)
		return float64(d), ok
	case float64:
		return read(in, e, "cost above 0 in US dollars", func(n *md.Node) (float64, bool) {
			usd, ok := strict.Number(n)
			return usd, ok && usd > 0
		})
	default:
		n, ok := read(in, e, countWords, strict.Positive)
		return float64(n), ok
	}
}

func (l limit) value() float64 { return l.Convert(reflect.TypeFor[float64]()).Float() }

func (l limit) set(to float64) { l.Set(reflect.ValueOf(to).Convert(l.Type())) }

// String is the limit as a message shows it: 3, or 2h0m0s.
func (l limit) String() string { return fmt.Sprint(l.Interface()) }

// Setting is one key with its value and the place that it came from.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// List gives every key that a layer sets, by name, and the defaults of the others; of a list, each element. What flags
// say goes before all of them.
func (c Config) List(flags ...Setting) []Setting {
	all := map[string]Setting{
		"runner": {Value: c.Runner}, "lock_timeout": {Value: c.LockTimeout.String()},
		"next_number": {Value: strconv.Itoa(c.NextNumber)}, "isolated_home": {Value: strconv.FormatBool(c.IsolatedHome)},
		"retention": {Value: c.Retention.String()}, "language": {Value: cmp.Or(c.Language, phrase.English)},
	}
	full := formats.Limits{}.WithDefaults()
	for _, one := range limitsOf(&full) {
		if !one.IsZero() {
			all["limits."+one.name] = Setting{Value: one.String()}
		}
	}
	for key := range c.origins {
		all[key] = Setting{Value: cmp.Or(c.written[key], all[key].Value)}
	}
	for key, one := range all {
		all[key] = Setting{key, one.Value, c.Origin(key).String()}
	}
	for _, one := range flags {
		if one.Value != "" {
			all[one.Key] = one
		}
	}
	byKey := func(a, b Setting) int { return strings.Compare(a.Key, b.Key) }
	return slices.SortedFunc(maps.Values(all), byKey)
}
