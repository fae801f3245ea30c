package subagents

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// keys are those of a subagent file.
var keys = strict.Form{Unknown: "unknown key %q", Keys: []string{
	"name", "description", "role", "runner", "model", "argv", "tools", "facets", "inputs", "returns", "timeout", "limits",
	"can_delegate_to",
}}

// front reads the frontmatter.
func (r *reader) front(def *Definition, n *md.Node) {
	for key, value := range r.Entries(n, "a map of keys") {
		info := &def.Info
		switch key.Value {
		case "name":
			info.Name = r.name(value, "a name")
			if info.Name != "" && info.Name != stem(r.file) {
				r.Refuse(codeName, value, "rename the file or the subagent",
					fmt.Sprintf("expected name %q as in the file's name, got %q", stem(r.file), info.Name))
			}
		case "description":
			info.Description = r.text(value, "one line of text")
			if len([]rune(info.Description)) > maxDescription {
				r.Refuse(codeValue, value, "", fmt.Sprintf("expected at most %d characters, got %d", maxDescription,
					len([]rune(info.Description))))
			}
		case "role":
			info.Role = word(r, value, "role", formats.Roles())
		case "runner":
			info.Runner = r.runners(value)
		case "model":
			def.Model = r.model(value)
		case "argv":
			def.Argv = r.argv(value)
		case "tools":
			info.Tools = r.tools(value)
		case "facets":
			r.facets(&def.Refs, value)
		case "inputs":
			info.Inputs = r.inputs(value)
		case "returns":
			r.returns(def, value)
		case "timeout":
			info.Timeout = r.timeout(value)
		case "limits":
			r.limits(&def.Limits, value)
		case "can_delegate_to":
			info.CanDelegateTo = r.names(value, "a name")
		case "during", "tiers", "worktree":
			r.Refuse(codeTalks, key, "write it into the command that delegates to this subagent",
				"'"+key.Value+"' belongs to a command")
		default:
			r.Unknown(codeUnknownKey, key, keys)
		}
	}
	for _, key := range []string{"name", "description"} {
		if n.Get(key) == nil {
			r.Refuse(codeMissing, place(n.Pos, md.Pos{}, ""), "add a line `"+key+": ...`", "missing key "+key)
		}
	}
	r.consistent(def, n)
}

// consistent checks what one key says against another.
func (r *reader) consistent(def *Definition, n *md.Node) {
	info := &def.Info
	info.Builtin = slices.Equal(info.Runner, []string{runnerBuiltin})
	runner := n.Get("runner")
	switch exec, acp := slices.Contains(info.Runner, runnerExec), slices.Contains(info.Runner, runnerACP); {
	case slices.Contains(info.Runner, runnerBuiltin) && len(info.Runner) > 1:
		r.Refuse(codeRunner, runner, "remove the other runners", "runner builtin stands alone")
	case exec && len(def.Argv) == 0 && n.Get("argv") == nil:
		r.Refuse(codeRunner, runner, "add argv: [program, argument]", "runner exec without argv")
	case exec && acp:
		r.Refuse(codeRunner, runner, "remove one of the two", "runners exec and acp have one argv")
	case !exec && !acp && n.Get("argv") != nil:
		r.Refuse(codeRunner, n.Get("argv"), "add runner: exec, or runner: acp", "argv without runner exec")
	}
	verdict := func(o formats.Outcome) bool { return o == formats.OutcomeApproved || o == formats.OutcomeRejected }
	if info.Role == formats.RoleReviewer && info.Statuses != nil && !slices.ContainsFunc(info.Statuses, verdict) {
		r.Refuse(codeContract, n.Get("returns").Get("statuses"), "add approved and rejected",
			"a reviewer returns a verdict, and its statuses have none")
	}
	if len(info.CanDelegateTo) > 0 && slices.Contains(info.CanDelegateTo, info.Name) {
		r.Refuse(codeValue, n.Get("can_delegate_to"), "", "a subagent may not delegate to itself")
	}
}

// runners reads one runner or a list in order of preference. Names of agents that tercet does not know are allowed,
// since configuration may add them; one that is nearly a known one gets a warning.
func (r *reader) runners(n *md.Node) []string {
	known := []string{runnerBuiltin, runnerExec, runnerACP, "offline", "claude", "codex", "opencode", "gemini"}
	var out []string
	r.each(n, "runners", func(item *md.Node) {
		name := r.name(item, "a runner")
		if name == "" {
			return
		}
		if help := nearest.Help(name, known); help != "" && !slices.Contains(known, name) {
			r.Refuse(warnRunner, item, help, fmt.Sprintf("runner %q is none that comes with tercet", name))
		}
		out = append(out, name)
	})
	if n.Kind == md.List && len(n.Items) == 0 {
		r.Wrong(n, "at least one runner", "")
	}
	return out
}

func (r *reader) model(n *md.Node) map[string]string {
	if n.Kind != md.Map {
		if model := r.text(n, "the name of a model, or a map from runner to model"); model != "" {
			return map[string]string{"": model}
		}
		return nil
	}
	out := map[string]string{}
	for key, value := range r.Entries(n, "") {
		if model := r.text(value, "the name of a model"); model != "" {
			out[key.Value] = model
		}
	}
	return out
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
	out := []string{}
	r.each(n, "tools", func(item *md.Node) {
		if tool := word(r, item, "tool", []string{"read", "search", "write", "shell", "net"}); tool != "" {
			out = append(out, tool)
		}
	})
	return out
}

func (r *reader) facets(refs *FacetRefs, n *md.Node) {
	for key, value := range r.Entries(n, "a map from facet to names") {
		switch key.Value {
		case "persona":
			refs.Persona = r.name(value, "a name")
		case "instruction":
			refs.Instruction = r.name(value, "a name")
		case "output":
			refs.Output = r.name(value, "a name")
		case "knowledge":
			refs.Knowledge = r.names(value, "a name")
		case "policy":
			refs.Policy = r.names(value, "a name")
		default:
			r.Unknown(codeUnknownKey, key, strict.Form{
				Unknown: "unknown facet %q",
				Keys:    []string{"persona", "knowledge", "instruction", "output", "policy"},
			})
		}
	}
}

var inputTypes = []formats.InputType{
	formats.TypeString, formats.TypeInteger, formats.TypeNumber, formats.TypeBoolean, formats.TypeArray, formats.TypeList,
	formats.TypeObject, formats.TypeAny,
}

func isAny(n *md.Node) bool { return n.IsStr() && n.Value == string(formats.TypeAny) }

func (r *reader) inputs(n *md.Node) map[string]formats.Input {
	if isAny(n) {
		return nil
	}
	out := map[string]formats.Input{}
	for name, value := range r.Entries(n, "any, or a map from name to {type, required}") {
		in := formats.Input{Type: formats.TypeAny}
		for key, value := range r.Entries(value, "{type, required, document}") {
			switch key.Value {
			case "type":
				in.Type = word(r, value, "type", inputTypes)
			case "required":
				in.Required = r.boolean(value)
			case "document":
				in.Document = word(r, value, "profile", formats.Profiles())
			default:
				r.Unknown(codeUnknownKey, key, strict.Form{
					Unknown: "unknown key of an input %q",
					Keys:    []string{"type", "required", "document"},
				})
			}
		}
		out[name.Value] = in
	}
	return out
}

func (r *reader) timeout(n *md.Node) formats.Timeout {
	if n.Kind != md.Map {
		return formats.Timeout{Total: r.duration(n)}
	}
	var t formats.Timeout
	for key, value := range r.Entries(n, "") {
		switch key.Value {
		case "total":
			t.Total = r.duration(value)
		case "idle":
			t.Idle = r.duration(value)
		default:
			r.Unknown(codeUnknownKey, key, strict.Form{Unknown: "unknown key of timeout %q", Keys: []string{"total", "idle"}})
		}
	}
	return t
}

func (r *reader) limits(l *Limits, n *md.Node) {
	whole := func(n *md.Node) int {
		i, _ := strict.As(&r.Decoder, n, "a whole number above 0", strict.Positive)
		return max(i, 0)
	}
	for key, value := range r.Entries(n, "a map of tokens, cost, turns") {
		switch key.Value {
		case "tokens":
			l.Tokens = whole(value)
		case "turns":
			l.Turns = whole(value)
		case "cost":
			l.Cost, _ = strict.As(&r.Decoder, value, "a number above 0", func(n *md.Node) (float64, bool) {
				v, ok := strict.Number(n)
				return v, ok && v > 0
			})
		default:
			r.Unknown(codeUnknownKey, key, strict.Form{Unknown: "unknown limit %q", Keys: []string{"tokens", "cost", "turns"}})
		}
	}
}
