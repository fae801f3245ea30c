package subagents

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// field is a key of a map, and what takes its value in.
type field struct {
	key  string
	read func(*md.Node)
}

// fieldOf makes a field of a place for the value and its reader.
func fieldOf[T any](key string, place *T, read func(*md.Node) T) field {
	return field{key, func(n *md.Node) { *place = read(n) }}
}

// commandKeys are keys of a command that do not belong into the frontmatter of a subagent.
var commandKeys = []string{"during", "tiers", "worktree"}

// fields reads a map that has the keys of a table and no others. want describes it.
func (r *reader) fields(n *md.Node, want, table string, list ...field) {
	form := strict.Find(tables(), table).Form()
	for key, value := range r.Entries(n, want) {
		i := slices.IndexFunc(list, func(f field) bool {
			return f.key == key.Value
		})
		switch {
		case i >= 0 && slices.Contains(form.Keys, key.Value):
			list[i].read(value)
		case table == "subagent" && slices.Contains(commandKeys, key.Value):
			r.Refuse(codeCommandKey, key,
				"write it into the command that delegates to this subagent",
				"'"+key.Value+"' belongs to a command")
		case table == "subagent" && slices.Contains(formats.DepthKeys(), key.Value):
			r.Refuse(warnOther, key, "take it away",
				"key '"+key.Value+"' is ignored: tercet counts the depth by itself")
		default:
			r.Unknown(codeUnknownKey, key, form)
		}
	}
}

// front reads the frontmatter.
func (r *reader) front(def *Definition, n *md.Node) {
	info := &def.Info
	r.fields(
		n,
		"a map of keys",
		"subagent",
		fieldOf("name", &info.Name, r.ownName),
		fieldOf("description", &info.Description, r.description),
		fieldOf("role", &info.Role, oneOf(r, "role", formats.Roles())),
		fieldOf("runner", &info.Runner, r.runners),
		fieldOf("model", &def.Model, r.model),
		field{"argv", func(n *md.Node) {
			def.Argv = r.argv(n)
			def.ArgvPos = n.Pos
		}},
		fieldOf("tools", &info.Tools, r.tools),
		field{"facets", func(n *md.Node) { r.facets(&def.Refs, n) }},
		fieldOf("skills", &def.Refs.Skills, r.skills),
		fieldOf("mcp", &def.Servers, r.servers),
		fieldOf("inputs", &info.Inputs, r.inputs),
		field{"returns", func(n *md.Node) { r.returns(def, n) }},
		fieldOf("timeout", &info.Timeout, r.timeout),
		field{"limits", func(n *md.Node) { r.limits(&def.Limits, n) }},
		fieldOf("can_delegate_to", &info.CanDelegateTo, r.names),
	)
	for _, key := range []string{"name", "description"} {
		if n.Get(key) == nil {
			r.Refuse(
				codeMissing,
				place(n.Pos, md.Pos{}, ""),
				"add a line `"+key+": ...`",
				"missing key "+key,
			)
		}
	}

	r.checkConsistent(def, n)
}

func (r *reader) ownName(n *md.Node) string {
	name := r.name(n)
	if name != "" && name != stem(r.file) {
		r.Refuse(codeName, n, "rename the file or the subagent",
			fmt.Sprintf("expected name %q as in the file's name, got %q", stem(r.file), name))
	}
	return name
}

func (r *reader) description(n *md.Node) string {
	text := r.text(n, "one line of text")
	if long := len([]rune(text)); long > maxDescription {
		r.Refuse(
			codeValue,
			n,
			"",
			fmt.Sprintf("expected at most %d characters, got %d", maxDescription, long),
		)
	}
	return text
}

// checkConsistent checks what one key says against another.
func (r *reader) checkConsistent(def *Definition, n *md.Node) {
	info := &def.Info
	// sandbox-runner runs commands of other agents: it is checked and sandboxed as every worker is,
	// although its runner is Go.
	info.Builtin = slices.Equal(info.Runner, []string{runnerBuiltin}) &&
		base(info.Name) != formats.AgentSandboxRunner
	r.checkRunners(def, n)

	if info.Role == formats.RoleReviewer && info.Statuses != nil && !hasVerdict(info.Statuses) {
		r.Refuse(codeContract, n.Get("returns").Get("statuses"), "add approved and rejected",
			"a reviewer returns a verdict, and its statuses have none")
	}
	if slices.Contains(info.CanDelegateTo, info.Name) {
		r.Refuse(codeValue, n.Get("can_delegate_to"), "",
			fmt.Sprintf("a subagent may not delegate to itself (%s)", formats.CodeCycle))
	}
}

// checkRunners checks that the runners go together, and with the keys that belong to one of them.
func (r *reader) checkRunners(def *Definition, n *md.Node) {
	runners := def.Info.Runner
	builtin := slices.Contains(runners, runnerBuiltin)
	exec := slices.Contains(runners, runnerExec)
	acp := slices.Contains(runners, runnerACP)
	runner := n.Get("runner")
	argv := n.Get("argv")
	switch {
	case builtin && len(runners) > 1:
		r.Refuse(codeRunner, runner, "remove the other runners", "runner builtin stands alone")
	case exec && len(def.Argv) == 0 && argv == nil:
		r.Refuse(codeRunner, runner, "add argv: [program, argument]", "runner exec without argv")
	case exec && acp:
		r.Refuse(codeRunner, runner, "remove one of the two", "runners exec and acp have one argv")
	case exec && len(def.Servers) > 0:
		r.Refuse(codeRunner, n.Get("mcp"), "remove the key: a program starts its own servers",
			"runner exec with mcp")
	case !exec && !acp && argv != nil:
		r.Refuse(codeRunner, argv, "add runner: exec, or runner: acp",
			"argv without runner exec")
	}
}

// hasVerdict tells whether a reviewer can judge with some of these outcomes.
func hasVerdict(outcomes []formats.Outcome) bool {
	return slices.Contains(outcomes, formats.OutcomeApproved) ||
		slices.Contains(outcomes, formats.OutcomeRejected)
}

// runners reads one runner or a list in order of preference. Names of agents that tercet does not
// know are allowed, since configuration may add them; one that is nearly a known one gets a
// warning.
func (r *reader) runners(n *md.Node) []string {
	known := append(
		[]string{runnerBuiltin, runnerExec, runnerACP, "offline"},
		formats.AgentCLIs()...,
	)
	out := words(r, n, "runners", func(item *md.Node) string {
		name := r.nameOf(item, "a runner")
		help := nearest.Help(name, known)
		if name != "" && help != "" && !slices.Contains(known, name) {
			r.Refuse(
				warnRunner,
				item,
				help,
				fmt.Sprintf("runner %q is none that comes with tercet", name),
			)
		}
		return name
	})

	if n.Kind == md.List && len(n.Items) == 0 {
		r.Wrong(n, "at least one runner", "")
	}
	return out
}

func (r *reader) model(n *md.Node) map[string]string {
	if n.Kind != md.Map {
		model := r.modelName(n, "the name of a model, or a map from runner to model")
		if model != "" {
			return map[string]string{"": model}
		}
		return nil
	}
	out := map[string]string{}
	for key, value := range r.Entries(n, "") {
		if model := r.modelName(value, "the name of a model"); model != "" {
			out[key.Value] = model
		}
	}
	return out
}

// modelName reads a name that a program gets as an argument.
func (r *reader) modelName(n *md.Node, want string) string {
	name := r.text(n, want)
	if name != "" && !formats.IsModel(name) {
		r.Wrong(n, want, "it may not begin with a dash, and holds no control characters")
		return ""
	}
	return name
}

func (r *reader) argv(n *md.Node) []string {
	if n.Kind != md.List || len(n.Items) == 0 {
		r.Wrong(n, "a list of program and arguments", "")
		return nil
	}
	var out []string
	for _, item := range n.Items {
		if item.Kind != md.Scalar || strings.ContainsRune(item.Value, 0) {
			r.Wrong(item, "a word", "")
			continue
		}
		out = append(out, item.Value)
	}

	if len(out) > 0 && out[0] == "" {
		r.Wrong(n.Items[0], "a program", "")
	}
	return out
}

func (r *reader) tools(n *md.Node) []string {
	known := []string{"read", "search", "write", "shell", "net"}
	return append([]string{}, words(r, n, "tools", oneOf(r, "tool", known))...)
}

func (r *reader) facets(refs *FacetRefs, n *md.Node) {
	r.fields(
		n,
		"a map from facet to names",
		"facets",
		fieldOf("persona", &refs.Persona, r.name),
		fieldOf("knowledge", &refs.Knowledge, r.names),
		fieldOf("instruction", &refs.Instruction, r.name),
		fieldOf("output", &refs.Output, r.name),
		fieldOf("policy", &refs.Policy, r.names),
	)
	refs.Pos = n.Pos
}

// skills reads the names of skills. Their files are looked up when the file is loaded.
func (r *reader) skills(n *md.Node) []Skill {
	var out []Skill
	for _, name := range r.names(n) {
		out = append(out, Skill{Name: name, Pos: n.Pos})
	}
	return out
}

// servers reads which servers of the project may be used, and which of their tools.
func (r *reader) servers(n *md.Node) []Server {
	if n.Kind != md.List || len(n.Items) == 0 {
		r.Wrong(n, "a list of {server, tools}", "")
		return nil
	}
	var out []Server
	for _, item := range n.Items {
		s := Server{Pos: item.Pos}
		r.fields(
			item,
			"{server, tools}",
			"server",
			fieldOf("server", &s.Name, r.serverName),
			fieldOf("tools", &s.Tools, r.serverTools),
		)
		known := func(one Server) bool { return one.Name == s.Name }
		switch {
		case item.Kind == md.Map && (item.Get("server") == nil || item.Get("tools") == nil):
			r.Wrong(item, "{server, tools}", "name the tools that may be called")
		case slices.ContainsFunc(out, known):
			r.Refuse(codeTwice, item, "join the two", "server "+s.Name+" stands twice")
		default:
			out = append(out, s)
		}
	}
	return out
}

func (r *reader) serverName(n *md.Node) string {
	name := r.text(n, "the name of a server")
	switch {
	case name == "tercet":
		r.Refuse(codeValue, n, "return what you want done instead",
			"a subagent may not start commands: server tercet cannot be granted")
		return ""
	case name != "" && !serverWord().MatchString(name):
		r.Wrong(n, "a name of letters, digits, - and _", "")
		return ""
	}
	return name
}

func (r *reader) serverTools(n *md.Node) []string {
	if n.Kind != md.List || len(n.Items) == 0 {
		r.Wrong(n, "a list of the tools that may be called", "")
		return nil
	}
	var out []string
	for _, item := range n.Items {
		if name := r.text(item, "the name of a tool"); serverWord().MatchString(name) {
			out = append(out, name)
		} else if name != "" {
			r.Wrong(item, "the name of one tool, of letters, digits, - and _", "")
		}
	}
	return out
}

// serverWord is a name of a server or a tool. Agent CLIs write both into names and rules of theirs.
var serverWord = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

var inputTypes = []formats.InputType{
	formats.TypeString, formats.TypeInteger, formats.TypeNumber, formats.TypeBoolean,
	formats.TypeArray, formats.TypeList, formats.TypeObject, formats.TypeAny,
}

func isAny(n *md.Node) bool {
	return n.IsStr() && n.Value == string(formats.TypeAny)
}

func (r *reader) inputs(n *md.Node) map[string]formats.Input {
	if isAny(n) {
		return nil
	}
	out := map[string]formats.Input{}
	for name, value := range r.Entries(n, "any, or a map from name to {type, required}") {
		in := formats.Input{Type: formats.TypeAny}
		r.fields(
			value,
			"{type, required, document, enum}",
			"input",
			fieldOf("type", &in.Type, oneOf(r, "type", inputTypes)),
			fieldOf("required", &in.Required, r.boolean),
			fieldOf("document", &in.Document, oneOf(r, "profile", documents.Profiles())),
			fieldOf("enum", &in.Enum, func(n *md.Node) []string {
				return words(r, n, "a text", func(n *md.Node) string { return r.text(n, "a text") })
			}),
		)
		if in.Enum != nil && in.Type != formats.TypeAny && in.Type != formats.TypeString {
			r.Refuse(codeValue, value.Get("enum"), "write type: string",
				fmt.Sprintf("enum lists texts, and the type is %s", in.Type))
		}
		out[name.Value] = in
	}
	return out
}

func (r *reader) timeout(n *md.Node) (t formats.Timeout) {
	if n.Kind != md.Map {
		return formats.Timeout{Total: r.duration(n)}
	}
	r.fields(
		n,
		"",
		"timeout",
		fieldOf("total", &t.Total, r.duration),
		fieldOf("idle", &t.Idle, r.duration),
	)
	return t
}

func (r *reader) limits(l *Limits, n *md.Node) {
	count := as(r, "a whole number above 0", strict.Positive)
	dollars := as(r, "a number above 0", func(n *md.Node) (float64, bool) {
		v, ok := strict.Number(n)
		return v, ok && v > 0
	})
	r.fields(
		n,
		"a map of tokens, cost, turns",
		"limits",
		fieldOf("tokens", &l.Tokens, count),
		fieldOf("cost", &l.Cost, dollars),
		fieldOf("turns", &l.Turns, count),
	)
}
