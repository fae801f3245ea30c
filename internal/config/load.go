package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/strict"
)

const (
	keyRunner       = "runner"
	keyAliases      = "aliases"
	keyLimits       = "limits"
	keyLockTimeout  = "lock_timeout"
	keyNextNumber   = "next_number"
	keyCommands     = "commands"
	keyEnv          = "env"
	keyIsolatedHome = "isolated_home"
	keySandbox      = "sandbox"
	keyACP          = "acp"
	keySecrets      = "secrets"
)

// keys is what config.yaml may hold.
var keys = strict.Form{Unknown: "unknown key %q", Keys: []string{
	keyRunner, keyAliases, keyLimits, keyLockTimeout, keyNextNumber, keyCommands, keyEnv, keyIsolatedHome, keySandbox,
	keyACP, keySecrets,
}}

// The codes of findings in a configuration, beside those of YAML itself.
const (
	CodeValue      = "E060" // a value of the wrong form
	CodeUnknownKey = "W110" // a key that config.yaml does not have
	CodeNoEffect   = "W111" // a limit above its default, which it may only lower
)

// Layer is one source of values: a file, or texts by key from flags or the environment.
type Layer struct {
	Name string // for listings and messages: "workspace", "TERCET_RUNNER"
	File string // as messages name it; empty if the layer is no file
	Data []byte // YAML
	// Values are texts by key, used instead of Data when they are not nil. Elements of lists are divided by commas.
	Values map[string]string
}

// Load puts layers together, the one that wins first. Findings of severity error concern single values, which are then
// as if their layer did not have them.
func Load(layers ...Layer) (Config, []formats.Diagnostic) {
	l := loader{config: Config{
		Runner: DefaultRunner, LockTimeout: DefaultLockTimeout, NextNumber: DefaultNextNumber,
		Aliases: map[string]string{}, origins: map[string]Origin{},
	}}
	l.Decoder = strict.Decoder{Report: l.report, Value: CodeValue, Key: CodeUnknownKey, All: "the keys are "}
	for _, one := range layers {
		l.layer = one
		l.load()
	}
	return l.config, l.found
}

type loader struct {
	strict.Decoder
	config Config
	layer  Layer
	found  []formats.Diagnostic
}

func (l *loader) load() {
	root := &md.Node{Kind: md.Map}
	for _, key := range slices.Sorted(maps.Keys(l.layer.Values)) {
		root.Entries = append(root.Entries, md.Entry{Key: strict.Node(key), Value: value(key, l.layer.Values[key])})
	}
	if l.layer.Values == nil {
		var problems []md.Problem
		root, problems = md.ParseYAML(l.layer.Data, md.Pos{})
		for _, p := range problems {
			l.report(strict.Finding{Code: string(p.Code), Pos: p.Pos, End: p.End, Message: p.Msg, Help: p.Help})
		}
	}
	if root == nil || root.Type == md.Null {
		return
	}
	for key, v := range l.Map(root, "a map of keys for the file", keys) {
		l.key(key, v)
	}
}

// value reads one text of a layer that is no file. Elements of a list stand between commas.
func value(key, text string) *md.Node {
	if key == keyCommands || key == keyEnv || key == keySandbox {
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return strict.Node(list)
	}
	if parsed, problems := md.ParseYAML([]byte(text), md.Pos{}); parsed != nil && len(problems) == 0 {
		return parsed
	}
	return strict.Node(text)
}

func (l *loader) key(key, v *md.Node) {
	c := &l.config
	switch key.Value {
	case keyRunner:
		take(l, entry{keyRunner, key, v}, &c.Runner, "name of a runner", strict.Text(isRunner))
	case keyLockTimeout:
		take(l, entry{keyLockTimeout, key, v}, &c.LockTimeout, durationWords, strict.Duration)
	case keyNextNumber:
		take(l, entry{keyNextNumber, key, v}, &c.NextNumber, countWords, strict.Positive)
	case keyIsolatedHome:
		take(l, entry{keyIsolatedHome, key, v}, &c.IsolatedHome, "true or false", strict.Bool)
	case keyAliases:
		l.aliases(v)
	case keyLimits:
		l.limits(v)
	case keyCommands:
		c.Commands = l.list(v, key.Value, "folder", isFolder, c.Commands)
	case keyEnv:
		c.Env = l.list(v, key.Value, "name of a variable", isVariable, c.Env)
	case keySandbox:
		l.sandbox(key, v)
	case keyACP:
		l.speakers(v)
	case keySecrets:
		l.secrets(v)
	}
}

const (
	countWords    = "integer of at least 1"
	durationWords = "duration such as 10s or 1h30m"
)

// entry is a key with its value, under the name that messages and listings give it.
type entry struct {
	name   string
	key, v *md.Node
}

// take reads a value into its place, unless a layer above has it.
func take[T any](l *loader, e entry, to *T, want string, read func(*md.Node) (T, bool)) {
	if got, ok := strict.As(&l.Decoder, e.v, want+" for "+e.name, read); ok && l.first(e.name, e.key) {
		*to = got
	}
}

// first tells whether no layer above has the value, and if so notes that this one has it.
func (l *loader) first(key string, at *md.Node) bool {
	if _, ok := l.config.origins[key]; ok {
		return false
	}
	l.note(key, at)
	return true
}

func (l *loader) note(key string, at *md.Node) {
	l.config.origins[key] = Origin{Layer: l.layer.Name, File: l.layer.File, Pos: l.pos(at.Pos)}
}

func (l *loader) aliases(v *md.Node) {
	name := strict.Text(isSlashName)
	for key, v := range l.Entries(v, "a map of slash names for "+keyAliases) {
		from, ok := strict.As(&l.Decoder, key, "slash name for "+keyAliases, name)
		if !ok {
			continue
		}
		to, ok := strict.As(&l.Decoder, v, "slash name for "+keyAliases+"."+from, name)
		if from = slashName(from); ok && l.first(keyAliases+"."+from, key) {
			l.config.Aliases[from] = slashName(to)
		}
	}
}

// limits takes each limit that is the lowest so far. One that has a default may only be lowered; but steps may be
// raised by a command file, so that more than their default has an effect.
func (l *loader) limits(v *md.Node) {
	full := formats.Limits{}.WithDefaults()
	own, known := append(bounds(&l.config.Limits), budgets(&l.config.Limits)...), bounds(&full)
	f := strict.Form{Unknown: `unknown key "limits.%s"`}
	for _, one := range own {
		f.Keys = append(f.Keys, one.name)
	}
	for key, v := range l.Map(v, "a map of limits for "+keyLimits, f) {
		i := slices.Index(f.Keys, key.Value)
		name := keyLimits + "." + key.Value
		n, ok := own[i].read(l, v, name)
		switch {
		case !ok:
		case i < len(known) && n > known[i].value() && key.Value != "steps":
			l.Refuse(CodeNoEffect, v, "a limit may only be lowered",
				fmt.Sprintf("expected %s of at most %s, got %s", name, known[i].text(), v.Value))
		case own[i].value() == 0 || n < own[i].value():
			own[i].set(n)
			l.note(name, key)
		}
	}
}

// list adds the elements that are not there yet. A list of one may stand without brackets.
func (l *loader) list(v *md.Node, key, what string, fits func(string) bool, to []string) []string {
	for _, item := range l.Items(v, "a list for "+key) {
		s, ok := strict.As(&l.Decoder, item, what+" for "+key, strict.Text(fits))
		if ok && l.first(key+"."+s, item) {
			to = append(to, s)
		}
	}
	return to
}

// report keeps a finding. A layer that is no file has a name instead of places.
func (l *loader) report(f strict.Finding) {
	d := formats.Diagnostic{
		Code: f.Code, Severity: formats.SeverityError, File: l.layer.File, Pos: l.pos(f.Pos), End: l.pos(f.End),
		Message: f.Message, Help: f.Help,
	}
	if strings.HasPrefix(f.Code, "W") {
		d.Severity = formats.SeverityWarning
	}
	if d.File == "" {
		d.Message = l.layer.Name + ": " + d.Message
	}
	l.found = append(l.found, d)
}

func (l *loader) pos(p md.Pos) md.Pos {
	if l.layer.File == "" {
		return md.Pos{}
	}
	return p
}

func slashName(s string) string {
	return strings.ReplaceAll(strings.TrimPrefix(s, "/"), "/", ":")
}

func isSlashName(s string) bool {
	for part := range strings.SplitSeq(slashName(s), ":") {
		if !isRunner(part) || len(part) > 32 {
			return false
		}
	}
	return true
}

func isRunner(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func isFolder(s string) bool { return strings.TrimSpace(s) != "" && !strings.ContainsRune(s, 0) }

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

func isVariable(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && strings.Trim(s, wordBytes) == ""
}
