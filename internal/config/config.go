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
	"tercet/internal/order"
	"tercet/internal/phrase"
	"tercet/internal/secrets"
	"tercet/internal/strict"
)

// The documented defaults.
const (
	DefaultRunner      = "offline"
	DefaultLockTimeout = 60 * time.Second
	DefaultNextNumber  = 1
)

// CommitDocuments lets commands commit the documents that they write.
const CommitDocuments = "documents"

// WorkspaceLayer is the project's layer. It can only tighten the sandbox.
const WorkspaceLayer = "workspace"

// UserLayer is the layer of the user's own file.
const UserLayer = "user"

// DefaultLayer has the built-in values. Every other layer takes precedence.
const DefaultLayer = "default"

// Config is the merged value of all layers.
type Config struct {
	Runner      string            // may be "auto"
	Model       map[string]string // runner to model; the key "" is the model for every runner
	Aliases     map[string]string // slash name to slash name, both without slash
	Prefer      map[string]string // slash name without slash to the preferred scope
	Limits      formats.Limits    // zero: not set
	LockTimeout time.Duration
	NextNumber  int
	Language    string // of the fixed texts of flows: en or ja; empty: en
	Specs       string // project folder for documents of tasks; empty: .tercet/specs
	Commit      string // CommitDocuments, or empty
	// Checks are a project's own checks: by stack, such as lean, a program and its arguments.
	Checks       map[string][]string
	Commands     []string // further folders with command files, highest layer first
	Env          []string // names of variables for child processes
	IsolatedHome bool
	// NoInstructions keeps the project's files such as CLAUDE.md out of prompts.
	NoInstructions bool
	Retention      Retention
	Notify         []string       // argv that gets the notices; nil: no notices
	Setup          []string       // argv that prepares a fresh clone of a worker; nil: nothing
	Daily          formats.Limits // tokens and money per day over all runs; zero: no ceiling
	// Sandbox is the user's order of isolation tiers; empty means the default. SandboxFloor comes
	// from the workspace: the weakest tier that it accepts. It cannot add a tier.
	Sandbox, SandboxFloor []string
	SandboxOptions        SandboxOptions
	// ACP maps runner names to agents of the Agent Client Protocol.
	ACP map[string]ACPAgent
	// RunsAtOnce and AgentsAtOnce bound what all projects of the user have at work; 0: no bound.
	// Only the user's own file has them.
	RunsAtOnce, AgentsAtOnce int
	// MCPAnswers lets a client of the Model Context Protocol pass answers of its user on. Only the
	// user's own file can say so.
	MCPAnswers bool
	// Worker is what this machine offers a team, and Team is the team that the user belongs to.
	// Only the user's own file has them.
	Worker Worker
	Team   Team
	// Secrets are the accepted findings of the scan before a commit.
	Secrets []secrets.Allowed

	origins   map[string]Origin
	rawValues map[string]string // values as written in the file, by the keys of origins
}

// Worker is what a machine offers a team.
type Worker struct {
	Slots   int // runs side by side; 0: not set
	Labels  []string
	Account string // of its agents; empty: found out
}

// Team is the team of a user. Fields that are not set are zero.
type Team struct {
	URL    string // HOST:PORT of the hub
	Key    string // file with the key of the user; may begin with ~/
	Remote string // name of the git remote in which the team has its snapshots
	// What follows is for the user who runs the hub. DeadAfter is how long a worker may be silent;
	// Limits bound what all runs of the team spend together; Publish is PublishRequest, or empty.
	DeadAfter time.Duration
	Limits    TeamLimits
	Publish   string
}

// TeamLimits bound what all runs of a team spend together; zero: no bound.
type TeamLimits struct {
	Cost   float64 // of their workers, in US dollars
	Spawns int     // calls of workers
}

// PublishRequest makes a request of what a run of a team would merge.
const PublishRequest = "pr"

// Origin is where a value comes from. File and Pos are empty for layers that are not files.
type Origin struct {
	Layer string
	File  string
	Pos   formats.Pos
}

// String is the origin for messages.
func (o Origin) String() string {
	if o.Pos.Line == 0 {
		return cmp.Or(o.File, o.Layer)
	}
	return fmt.Sprintf("%s:%d", o.File, o.Pos.Line)
}

// Origin returns the origin of a value by its key; aliases, prefer, limits, sandbox, acp and model
// use dotted keys. "env.NAME" names an element of env, and commands works alike.
func (c Config) Origin(key string) Origin {
	if o, ok := c.origins[key]; ok {
		return o
	}
	return Origin{Layer: DefaultLayer}
}

// limit is one field of formats.Limits: an integer, a number of dollars or a duration. Its key is
// the field's name in lower case, or its tag. Zero means not set.
type limit struct {
	name  string
	field reflect.Value
}

// limitsOf lists the fields of l as limits that refer to them.
func limitsOf(l *formats.Limits) []limit {
	var out []limit
	for field, v := range reflect.ValueOf(l).Elem().Fields() {
		out = append(out, limit{cmp.Or(field.Tag.Get("key"), strings.ToLower(field.Name)), v})
	}
	return out
}

// read parses a value of the limit.
func (l limit) read(in *loader, e entry) (float64, bool) {
	switch l.field.Interface().(type) {
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

func (l limit) value() float64 {
	return l.field.Convert(reflect.TypeFor[float64]()).Float()
}

func (l limit) set(to float64) {
	l.field.Set(reflect.ValueOf(to).Convert(l.field.Type()))
}

// String is the limit for messages: 3, or 2h0m0s.
func (l limit) String() string {
	return fmt.Sprint(l.field.Interface())
}

// Setting is one key with its value and origin.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// List returns every key that a layer sets, sorted by name, plus the defaults of the others; for a
// list, each element. Flags take precedence over all other layers.
func (c Config) List(flags ...Setting) []Setting {
	all := map[string]Setting{
		"runner":        {Value: c.Runner},
		"lock_timeout":  {Value: c.LockTimeout.String()},
		"next_number":   {Value: strconv.Itoa(c.NextNumber)},
		"isolated_home": {Value: strconv.FormatBool(c.IsolatedHome)},
		"retention":     {Value: c.Retention.String()},
		"language":      {Value: cmp.Or(c.Language, phrase.English)},
	}
	full := formats.Limits{}.WithDefaults()
	for _, one := range limitsOf(&full) {
		if !one.field.IsZero() {
			all["limits."+one.name] = Setting{Value: one.String()}
		}
	}

	for key := range c.origins {
		all[key] = Setting{Value: cmp.Or(c.rawValues[key], all[key].Value)}
	}
	for key, one := range all {
		all[key] = Setting{key, one.Value, c.Origin(key).String()}
	}

	for _, one := range flags {
		if one.Value != "" {
			all[one.Key] = one
		}
	}

	out := slices.Collect(maps.Values(all))
	order.Stable(out, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return out
}
