package config

import (
	"fmt"
	"iter"
	"maps"
	"net"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/phrase"
	"tercet/internal/secrets"
	"tercet/internal/strict"
)

// The codes of findings in a configuration, beside those of YAML.
const (
	CodeValue      = "E060" // a value of the wrong form
	CodeUnknownKey = "W110" // an unknown key
	CodeNoEffect   = "W111" // a limit above its default; a layer can only lower it
)

// Layer is one source of values: a file, or texts by key from flags or the environment.
type Layer struct {
	Name string // for listings and messages: "workspace", "TERCET_RUNNER"
	File string // name in messages; empty if the layer is not a file
	Data []byte // YAML
	// Values are texts by key, used instead of Data if not nil. Commas separate list elements.
	Values map[string]string
}

// Environment returns one layer for each set variable: TERCET_LOCK_TIMEOUT sets lock_timeout.
func Environment(get func(string) string) (layers []Layer) {
	for _, key := range formOf("config").Keys {
		name := "TERCET_" + strings.ToUpper(key)
		if text := get(name); text != "" && key != "version" {
			layers = append(layers, Layer{
				Name:   name,
				File:   name,
				Values: map[string]string{key: text},
			})
		}
	}
	return layers
}

// Load merges layers, in order of precedence. A finding of severity error drops one value of its
// layer.
func Load(layers ...Layer) (Config, []formats.Diagnostic) {
	l := loader{config: Config{
		Runner:      DefaultRunner,
		LockTimeout: DefaultLockTimeout,
		NextNumber:  DefaultNextNumber,
		Retention:   defaultRetention,
		Aliases:     map[string]string{},
		Prefer:      map[string]string{},
		origins:     map[string]Origin{},
		rawValues:   map[string]string{},
	}}

	l.Decoder = strict.Decoder{
		Report: l.report,
		Value:  CodeValue,
		Key:    CodeUnknownKey,
		All:    "the keys are ",
	}

	for _, one := range layers {
		l.layer = one
		l.loadLayer()
	}

	l.checkModelRunners()
	return l.config, l.found
}

type loader struct {
	strict.Decoder
	config Config
	layer  Layer
	found  []formats.Diagnostic
	models []modelKey // checked at the end, when all runners are known
}

func (l *loader) loadLayer() {
	root := &md.Node{Kind: md.Map}
	for _, key := range slices.Sorted(maps.Keys(l.layer.Values)) {
		root.Entries = append(root.Entries, md.Entry{
			Key:   textNode(key),
			Value: parseValue(key, l.layer.Values[key]),
		})
	}

	if l.layer.Values == nil {
		var problems []md.Problem
		root, problems = md.ParseYAML(l.layer.Data, md.Pos{})
		for _, p := range problems {
			l.report(strict.Finding{
				Code:    p.Code,
				Pos:     p.Pos,
				End:     p.End,
				Message: p.Msg,
				Help:    p.Help,
			})
		}
	}
	if root == nil || root.Type == md.Null {
		return
	}

	for e := range l.entries(entry{v: root}, "a map of keys for the file", formOf("config")) {
		l.readKey(e)
	}
}

// parseValue parses one text of a layer that is not a file. Commas separate list elements.
func parseValue(key, text string) *md.Node {
	if key == "commands" || key == "env" || key == "sandbox" {
		list := &md.Node{Kind: md.List}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list.Items = append(list.Items, textNode(item))
			}
		}
		return list
	}

	parsed, problems := md.ParseYAML([]byte(text), md.Pos{})
	if parsed != nil && len(problems) == 0 {
		return parsed
	}
	return textNode(text)
}

// textNode makes a node without a position from a text.
func textNode(s string) *md.Node {
	return &md.Node{
		Kind:  md.Scalar,
		Type:  md.Str,
		Value: s,
	}
}

// readKey reads the value of one key into the configuration.
func (l *loader) readKey(e entry) {
	c := &l.config
	switch e.name {
	case "runner":
		setValue(l, e, &c.Runner, "name of a runner", strict.Text(runnerForm().MatchString))
	case "lock_timeout":
		setValue(l, e, &c.LockTimeout, durationWords, strict.Duration)
	case "next_number":
		setValue(l, e, &c.NextNumber, countWords, strict.Positive)
	case "language":
		setValue(l, e, &c.Language, "en or ja", strict.Word(phrase.English, phrase.Japanese))
	case "specs_dir":
		setValue(l, e, &c.Specs,
			"folder inside the project, such as specs,", strict.Text(isProjectFolder))
		if c.Specs == formats.Specs {
			c.Specs = ""
		}
	case "checks":
		l.readChecks(e)
	case "commit":
		setValue(l, e, &c.Commit, CommitDocuments+" or none", strict.Word(CommitDocuments, "none"))
	case "isolated_home":
		setValue(l, e, &c.IsolatedHome, "true or false", strict.Bool)
	case "aliases":
		l.readSlashNames(e, c.Aliases, "slash name", slashForm().MatchString)
	case "prefer":
		l.readSlashNames(e, c.Prefer,
			"word of a scope such as tercet or project", runnerForm().MatchString)
	case "limits":
		l.readLimits(e, &c.Limits)
	case "daily":
		l.readLimits(e, &c.Daily)
	case "commands":
		c.Commands = l.readList(e, "folder", isFolder, c.Commands)
	case "env":
		c.Env = l.readList(e, "name of a variable", variableForm().MatchString, c.Env)
	case "sandbox":
		l.readSandbox(e)
	case "acp":
		l.readACPAgents(e)
	case "model":
		l.readModel(e)
	case "notify":
		l.readProgram(e, &c.Notify)
	case "setup":
		l.readProgram(e, &c.Setup)
	case "worker":
		l.readWorker(e)
	case "team":
		l.readTeam(e)
	case "secrets":
		l.readSecrets(e)
	case "context":
		l.readContext(e)
	case "mcp":
		l.readMCP(e)
	case "retention":
		l.readRetention(e)
	case "version":
		if _, ok := read(l, e, countWords, strict.Positive); !ok {
			return
		}
		f := formats.Newer(formats.CodeConfig, "the configuration", e.v.Value, version)
		if f != nil {
			l.Refuse(CodeValue, e.v, f.Help, f.Message)
		}
	}
}

// version is the version of config.yaml. A file need not have it.
const version = "1"

const (
	countWords    = "integer of at least 1"
	durationWords = "duration such as 10s or 1h30m"
)

// entry is a key with its value, under its full name for messages and listings.
type entry struct {
	name   string
	key, v *md.Node
}

// entries yields the entries of a nested map.
func (l *loader) entries(e entry, want string, form strict.Form) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for key, v := range l.Map(e.v, want, form) {
			if !yield(entry{strings.TrimPrefix(e.name+"."+key.Value, "."), key, v}) {
				return
			}
		}
	}
}

// read parses a value, or reports what is expected.
func read[T any](l *loader, e entry, want string, read func(*md.Node) (T, bool)) (T, bool) {
	return strict.As(&l.Decoder, e.v, want+" for "+e.name, read)
}

// readName reads a key of the map of an entry that is a name, such as that of a runner.
func (l *loader) readName(e entry, key *md.Node, want string) (string, bool) {
	return read(l, entry{e.name, key, key}, want, strict.Text(runnerForm().MatchString))
}

// setValue parses a value and stores it, unless a layer of higher precedence has set it.
func setValue[T any](l *loader, e entry, to *T, want string, form func(*md.Node) (T, bool)) {
	if got, ok := read(l, e, want, form); ok && l.claimOrigin(e) {
		*to = got
	}
}

// claimOrigin reports whether no layer of higher precedence has set the value, and records this one
// as its origin.
func (l *loader) claimOrigin(e entry) bool {
	if _, ok := l.config.origins[e.name]; ok {
		return false
	}
	l.recordOrigin(e)
	return true
}

func (l *loader) recordOrigin(e entry) {
	if e.v != nil {
		l.config.rawValues[e.name] = e.v.Value
		for i, item := range e.v.Items {
			l.config.rawValues[e.name] += strings.Repeat(", ", min(i, 1)) + item.Value
		}
	}
	l.config.origins[e.name] = Origin{
		Layer: l.layer.Name,
		File:  l.layer.File,
		Pos:   l.pos(e.key.Pos),
	}
}

// readSlashNames parses a map from slash names to slash names or to words.
func (l *loader) readSlashNames(
	e entry, into map[string]string, want string, fits func(string) bool,
) {
	for key, v := range l.Entries(e.v, "a map of slash names for "+e.name) {
		from, ok := read(l, entry{e.name, key, key},
			"slash name", strict.Text(slashForm().MatchString))
		if !ok {
			continue
		}
		to, ok := read(l, entry{e.name + "." + from, key, v}, want, strict.Text(fits))
		if from = slashName(from); ok && l.claimOrigin(entry{e.name + "." + from, key, v}) {
			into[from] = slashName(to)
		}
	}
}

// readLimits parses a map of limits. The lowest of all layers counts; for auto_resume, which bounds
// no work, the one of highest precedence. No layer may raise a limit above its default, except
// steps, which a command file may raise too.
func (l *loader) readLimits(e entry, to *formats.Limits) {
	full := formats.Limits{}.WithDefaults()
	current := limitsOf(to)
	known := limitsOf(&full)

	for e := range l.entries(e, "a map of limits for "+e.name, formOf(e.name)) {
		if at := l.sharedLimit(e); at != nil {
			l.setShared(e, at)
			continue
		}

		i := slices.IndexFunc(current, func(one limit) bool {
			return one.name == e.key.Value
		})
		n, ok := current[i].read(l, e)
		switch {
		case !ok:
		case !known[i].field.IsZero() && n > known[i].value() && e.key.Value != "steps":
			l.Refuse(CodeNoEffect, e.v, "a limit may only be lowered",
				fmt.Sprintf("expected %s of at most %s, got %s", e.name, known[i], e.v.Value))
		case current[i].field.IsZero() || n < current[i].value() && e.key.Value != "auto_resume":
			current[i].set(n)
			l.recordOrigin(e)
		}
	}
}

// sharedLimit is the limit over all projects that a key names; nil: it names none.
func (l *loader) sharedLimit(e entry) *int {
	switch e.name {
	case "limits.runs":
		return &l.config.RunsAtOnce
	case "limits.agents":
		return &l.config.AgentsAtOnce
	}
	return nil
}

// setShared parses a limit over all projects. Only the user's own file has it: it binds all of
// them.
func (l *loader) setShared(e entry, to *int) {
	n, ok := read(l, e, countWords, strict.Positive)
	switch {
	case !ok:
	case l.layer.Name != UserLayer:
		l.Refuse(CodeNoEffect, e.v, "set it in your own config.yaml",
			fmt.Sprintf("expected no value for %s here, got %d", e.name, n))
	case l.claimOrigin(e):
		*to = n
	}
}

// readList appends new elements. A list of one may be written without brackets.
func (l *loader) readList(e entry, what string, fits func(string) bool, to []string) []string {
	for _, item := range l.Items(e.v, "a list for "+e.name) {
		s, ok := read(l, entry{e.name, item, item}, what, strict.Text(fits))
		if ok && l.claimOrigin(entry{e.name + "." + s, item, item}) {
			to = append(to, s)
		}
	}
	return to
}

// readContext parses what agents get of the project besides their own files.
func (l *loader) readContext(e entry) {
	for e := range l.entries(e, "a map for context", formOf("context")) {
		b, ok := read(l, e, "true or false", strict.Bool)
		if ok && l.claimOrigin(e) {
			l.config.NoInstructions = !b
		}
	}
}

// readMCP parses what clients of the Model Context Protocol may do. A project and a variable cannot
// say it: a worker can write the one, and a client sets the other.
func (l *loader) readMCP(e entry) {
	for e := range l.entries(e, "a map for mcp", formOf("mcp")) {
		b, ok := read(l, e, "true or false", strict.Bool)
		switch {
		case !ok:
		case l.layer.Name != UserLayer:
			l.Refuse(CodeNoEffect, e.v, "set it in your own config.yaml",
				fmt.Sprintf("expected no value for %s here, got %t", e.name, b))
		case l.claimOrigin(e):
			l.config.MCPAnswers = b
		}
	}
}

// requireUserLayer refuses a key outside of the user's own configuration.
func (l *loader) requireUserLayer(e entry) bool {
	if l.layer.Name == UserLayer {
		return true
	}
	l.Refuse(CodeNoEffect, e.v, "set it in your own config.yaml",
		"expected no value for "+e.name+" here")
	return false
}

// readWorker parses what this machine offers a team. A project cannot say it: it does not know the
// machine.
func (l *loader) readWorker(e entry) {
	to := &l.config.Worker
	for e := range l.entries(e, "a map for worker", formOf("worker")) {
		if !l.requireUserLayer(e) {
			continue
		}
		switch e.key.Value {
		case "slots":
			setValue(l, e, &to.Slots, countWords, strict.Positive)
		case "labels":
			to.Labels = l.readList(e, "label such as gpu", labelForm().MatchString, to.Labels)
		case "account":
			setValue(l, e, &to.Account, "name such as team-plan",
				strict.Text(labelForm().MatchString))
		}
	}
}

// readTeam parses the team of the user. A project cannot say it: it would choose where the user's
// work and key go.
func (l *loader) readTeam(e entry) {
	to := &l.config.Team
	for e := range l.entries(e, "a map for team", formOf("team")) {
		if !l.requireUserLayer(e) {
			continue
		}
		switch e.key.Value {
		case "url":
			setValue(l, e, &to.URL,
				"address of a hub such as nats://10.0.0.5:4333", parseHubAddress)
		case "key":
			setValue(l, e, &to.Key,
				"absolute path, or one that begins with ~/,", strict.Text(isOwnFile))
		case "remote":
			setValue(l, e, &to.Remote, "name of a git remote such as origin",
				strict.Text(labelForm().MatchString))
		case "dead_after":
			setValue(l, e, &to.DeadAfter,
				"duration of at least 3s", func(n *md.Node) (time.Duration, bool) {
					d, ok := strict.Duration(n)
					return d, ok && d >= LeastDeadAfter
				})
		case "limits":
			l.readTeamLimits(e)
		case "publish":
			setValue(l, e, &to.Publish, "home or pr", strict.Word("home", PublishRequest))
			if to.Publish == "home" {
				to.Publish = ""
			}
		}
	}
}

// LeastDeadAfter is the least time after which a worker of a team has lost its run: three signs of
// life.
const LeastDeadAfter = 3 * time.Second

func (l *loader) readTeamLimits(e entry) {
	to := &l.config.Team.Limits
	for e := range l.entries(e, "a map for team.limits", formOf("team.limits")) {
		switch e.key.Value {
		case "cost":
			setValue(l, e, &to.Cost,
				"cost above 0 in US dollars", func(n *md.Node) (float64, bool) {
					usd, ok := strict.Number(n)
					return usd, ok && usd > 0
				})
		case "spawns":
			setValue(l, e, &to.Spawns, countWords, strict.Positive)
		}
	}
}

// parseHubAddress reads the address of a hub as HOST:PORT.
func parseHubAddress(n *md.Node) (string, bool) {
	text, ok := strict.Text(isFolder)(n)
	text = strings.TrimPrefix(text, "nats://")
	host, port, err := net.SplitHostPort(text)
	number, perr := strconv.ParseUint(port, 10, 16)
	return text, ok && err == nil && perr == nil && host != "" && number > 0 &&
		!strings.ContainsAny(host, "/@ ")
}

// isOwnFile reports whether a path names a file of the user, wherever the program was started.
func isOwnFile(s string) bool {
	return isFolder(s) && (filepath.IsAbs(s) || strings.HasPrefix(s, "~/")) &&
		!strings.HasSuffix(s, "/")
}

// report records a finding. A layer that is not a file is named in the message.
func (l *loader) report(f strict.Finding) {
	d := formats.Found(f.Code, l.pos(f.Pos), f.Help, "%s", f.Message)
	d.File = l.layer.File
	d.End = l.pos(f.End)
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

func isFolder(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsRune(s, 0)
}

// isProjectFolder reports whether a path is a clean, relative folder of the project, outside of
// git's and tercet's folders.
func isProjectFolder(s string) bool {
	top, _, _ := strings.Cut(s, "/")
	return s == formats.Specs ||
		isFolder(s) && path.Clean(s) == s && !path.IsAbs(s) && !strings.ContainsAny(s, "\\:") &&
			!slices.Contains([]string{".", "..", ".git", formats.Workspace}, top)
}

// The patterns of names.
var (
	runnerForm   = lazy.Regexp(`^[a-z][a-z0-9-]*$`)
	slashForm    = lazy.Regexp(`^/?[a-z][a-z0-9-]{0,31}(?:[/:][a-z][a-z0-9-]{0,31})*$`)
	variableForm = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
	labelForm    = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)
	// must not be taken for an option
	imageForm = lazy.Regexp(`^[A-Za-z0-9_./:@][A-Za-z0-9_./:@-]{0,254}$`)
	sumForm   = lazy.Regexp(`^[0-9A-Fa-f]{64}$`)
)

// IsImage reports whether a text has the form of a container image's name.
func IsImage(name string) bool { return imageForm().MatchString(name) }

// readSecrets parses what the scan before a commit accepts: {allow: [{file, sha256}]}.
func (l *loader) readSecrets(e entry) {
	for list := range l.entries(e, "a map with the key allow for "+e.name, formOf("secrets")) {
		for _, item := range l.Items(list.v, "a list of findings for "+list.name) {
			one := l.readAllowed(entry{list.name, item, item})
			if one.File != "" && l.claimOrigin(entry{e.name + "." + one.String(), item, item}) {
				l.config.Secrets = append(l.config.Secrets, one)
			}
		}
	}
}

func (l *loader) readAllowed(e entry) (one secrets.Allowed) {
	bad := false
	want := "a map with the keys file and sha256 for " + e.name
	for key, v := range l.Map(e.v, want, formOf("allowed")) {
		var ok bool
		at := entry{e.name, key, v}
		if key.Value == "file" {
			one.File, ok = read(l, at, "path from the project's root", strict.Text(isFolder))
		} else {
			one.Sum, ok = read(l, at, "64 hexadecimal digits", strict.Text(sumForm().MatchString))
		}
		bad = bad || !ok
	}

	if e.v.Kind == md.Map && one.File == "" && !bad {
		l.Wrong(e.v, "the key file for "+e.name, "")
	}
	if bad {
		return secrets.Allowed{}
	}
	return one
}
