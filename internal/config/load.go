package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
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
)

// Keys lists the keys of config.yaml.
func Keys() []string {
	return []string{keyRunner, keyAliases, keyLimits, keyLockTimeout, keyNextNumber, keyCommands, keyEnv, keyIsolatedHome, keySandbox, keyACP}
}

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

// Load puts layers together, the one that wins first. Findings of severity error concern single values, which are then as
// if their layer did not have them.
func Load(layers ...Layer) (Config, []formats.Diagnostic) {
	l := loader{config: Config{
		Runner: DefaultRunner, LockTimeout: DefaultLockTimeout, NextNumber: DefaultNextNumber, Aliases: map[string]string{}, origins: map[string]Origin{},
	}}
	for _, one := range layers {
		l.layer = one
		l.load()
	}
	return l.config, l.found
}

type loader struct {
	config Config
	layer  Layer
	found  []formats.Diagnostic
}

func (l *loader) load() {
	if l.layer.Values != nil {
		for _, key := range slices.Sorted(maps.Keys(l.layer.Values)) {
			l.value(key, l.layer.Values[key])
		}
		return
	}
	root, problems := md.ParseYAML(l.layer.Data, md.Pos{})
	l.problems(problems)
	switch {
	case root == nil:
	case root.Kind == md.Scalar && root.Type == md.Null:
	case root.Kind != md.Map:
		l.wrong(root, "a map of keys", "the file")
	default:
		seen := map[string]bool{}
		for _, e := range root.Entries {
			if !seen[e.Key.Value] {
				seen[e.Key.Value] = true
				l.key(e.Key, e.Value)
			}
		}
	}
}

// value reads one text of a layer that is no file. Elements of a list stand between commas.
func (l *loader) value(key, text string) {
	node := &md.Node{Kind: md.Scalar, Type: md.Str, Value: text}
	if key == keyCommands || key == keyEnv || key == keySandbox {
		list := &md.Node{Kind: md.List}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list.Items = append(list.Items, &md.Node{Kind: md.Scalar, Type: md.Str, Value: item})
			}
		}
		node = list
	} else if parsed, problems := md.ParseYAML([]byte(text), md.Pos{}); parsed != nil && len(problems) == 0 {
		node = parsed
	}
	l.key(&md.Node{Kind: md.Scalar, Type: md.Str, Value: key}, node)
}

func (l *loader) key(key, v *md.Node) {
	if v.Absent() {
		return
	}
	switch key.Value {
	case keyRunner:
		if s, ok := l.text(v, key.Value, "name of a runner", isRunner); ok && l.first(keyRunner, key) {
			l.config.Runner = s
		}
	case keyLockTimeout:
		if d, ok := l.duration(v, key.Value); ok && l.first(keyLockTimeout, key) {
			l.config.LockTimeout = d
		}
	case keyNextNumber:
		if n, ok := l.count(v, key.Value); ok && l.first(keyNextNumber, key) {
			l.config.NextNumber = n
		}
	case keyIsolatedHome:
		b, ok := v.Any().(bool)
		if !ok {
			l.wrong(v, "true or false", key.Value)
		} else if l.first(keyIsolatedHome, key) {
			l.config.IsolatedHome = b
		}
	case keyAliases:
		l.aliases(v)
	case keyLimits:
		l.limits(v)
	case keyCommands:
		l.config.Commands = l.list(v, key.Value, "folder", isFolder, l.config.Commands)
	case keyEnv:
		l.config.Env = l.list(v, key.Value, "name of a variable", isVariable, l.config.Env)
	case keySandbox:
		l.sandbox(key, v)
	case keyACP:
		l.speakers(v)
	default:
		l.unknown(key, "", Keys())
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
	if v.Kind != md.Map {
		l.wrong(v, "a map of slash names", keyAliases)
		return
	}
	for _, e := range v.Entries {
		from, ok := l.text(e.Key, keyAliases, "slash name", isSlashName)
		if !ok {
			continue
		}
		to, ok := l.text(e.Value, keyAliases+"."+e.Key.Value, "slash name", isSlashName)
		if from = slashName(from); ok && l.first(keyAliases+"."+from, e.Key) {
			l.config.Aliases[from] = slashName(to)
		}
	}
}

func (l *loader) limits(v *md.Node) {
	if v.Kind != md.Map {
		l.wrong(v, "a map of limits", keyLimits)
		return
	}
	defaults := formats.Limits{}.WithDefaults()
	known := limits(&defaults)
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].name
	}
	own := limits(&l.config.Limits)
	for _, e := range v.Entries {
		i := slices.Index(names, e.Key.Value)
		switch {
		case i >= 0:
			l.limit(own[i], known[i], e)
		case slices.Contains([]string{"tokens", "cost", "spawns"}, e.Key.Value):
			l.budget(e)
		default:
			l.unknown(e.Key, keyLimits, append(names, "tokens", "cost", "spawns"))
		}
	}
}

// budget takes a limit of what workers may use, if it is the lowest so far. There is none by default.
func (l *loader) budget(e md.Entry) {
	key, own := keyLimits+"."+e.Key.Value, &l.config.Limits
	if e.Key.Value == "cost" {
		usd, ok := e.Value.Any().(float64)
		if n, whole := e.Value.Any().(int); whole {
			usd, ok = float64(n), true
		}
		switch {
		case !ok || !(usd > 0):
			l.wrong(e.Value, "cost above 0 in US dollars", key)
		case own.Cost == 0 || usd < own.Cost:
			own.Cost = usd
			l.note(key, e.Key)
		}
		return
	}
	n, ok := l.count(e.Value, key)
	switch {
	case !ok:
	case e.Key.Value == "tokens" && (own.Tokens == 0 || int64(n) < own.Tokens):
		own.Tokens = int64(n)
		l.note(key, e.Key)
	case e.Key.Value == "spawns" && (own.Spawns == 0 || n < own.Spawns):
		own.Spawns = n
		l.note(key, e.Key)
	}
}

// limit takes a limit if it is the lowest so far. Steps may be raised by a command file, so that more than their default has
// an effect.
func (l *loader) limit(own, known limit, e md.Entry) {
	key := keyLimits + "." + own.name
	var n int64
	if own.duration != nil {
		d, ok := l.duration(e.Value, key)
		if !ok {
			return
		}
		n = int64(d)
	} else {
		count, ok := l.count(e.Value, key)
		if !ok {
			return
		}
		n = int64(count)
	}
	if n > known.value() && own.name != "steps" {
		l.report(CodeNoEffect, e.Value, "a limit may only be lowered", "expected %s of at most %s, got %s", key, known.text(), e.Value.Value)
		return
	}
	if !own.isSet() || n < own.value() {
		own.set(n)
		l.note(key, e.Key)
	}
}

// text takes a scalar that is a string of a form.
func (l *loader) text(v *md.Node, key, what string, fits func(string) bool) (string, bool) {
	if !v.IsStr() || !fits(v.Value) {
		l.wrong(v, what, key)
		return "", false
	}
	return v.Value, true
}

// list adds the elements that are not there yet. A list of one may stand without brackets.
func (l *loader) list(v *md.Node, key, what string, fits func(string) bool, to []string) []string {
	items := v.Items
	switch v.Kind {
	case md.Scalar:
		items = []*md.Node{v}
	case md.Map:
		l.wrong(v, "a list", key)
		return to
	case md.List:
	}
	for _, item := range items {
		s, ok := l.text(item, key, what, fits)
		if ok && l.first(key+"."+s, item) {
			to = append(to, s)
		}
	}
	return to
}

func (l *loader) count(v *md.Node, key string) (int, bool) {
	n, ok := v.Any().(int)
	if !ok || n < 1 {
		l.wrong(v, "integer of at least 1", key)
		return 0, false
	}
	return n, true
}

func (l *loader) duration(v *md.Node, key string) (time.Duration, bool) {
	d, err := time.ParseDuration(v.Value)
	if !v.IsStr() || err != nil || d <= 0 {
		l.wrong(v, "duration such as 10s or 1h30m", key)
		return 0, false
	}
	return d, true
}

func (l *loader) unknown(key *md.Node, under string, known []string) {
	name := key.Value
	if under != "" {
		name = under + "." + name
	}
	help := nearest.Help(key.Value, known)
	if help == "" {
		help = "the keys are " + strings.Join(known, ", ")
	}
	l.report(CodeUnknownKey, key, help, "unknown key %q", name)
}

func (l *loader) wrong(v *md.Node, want, key string) {
	got := fmt.Sprintf("%q", v.Value)
	switch {
	case v.Kind != md.Scalar:
		got = "a " + v.Kind.String()
	case v.Type != md.Str:
		got = v.Value
	}
	if got == "" {
		got = "nothing"
	}
	l.report(CodeValue, v, "", "expected %s for %s, got %s", want, key, got)
}

func (l *loader) report(code string, at *md.Node, help, format string, args ...any) {
	d := formats.Diagnostic{
		Code: code, Severity: formats.SeverityError, File: l.layer.File, Pos: l.pos(at.Pos), End: l.pos(at.End),
		Message: fmt.Sprintf(format, args...), Help: help,
	}
	if strings.HasPrefix(code, "W") {
		d.Severity = formats.SeverityWarning
	}
	if d.File == "" {
		d.Message = l.layer.Name + ": " + d.Message
	}
	l.found = append(l.found, d)
}

func (l *loader) problems(list []md.Problem) {
	for _, p := range list {
		l.report(string(p.Code), &md.Node{Pos: p.Pos, End: p.End}, p.Help, "%s", p.Msg)
	}
}

// pos is a place in the file of the layer; a layer that is no file has none.
func (l *loader) pos(p md.Pos) formats.Pos {
	if l.layer.File == "" {
		return formats.Pos{}
	}
	return formats.Pos{Line: p.Line, Col: p.Col}
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

func isVariable(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
