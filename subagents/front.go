package subagents

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
)

// keys lists the keys of a subagent file.
func keys() []string {
	return []string{
		"name", "description", "role", "runner", "model", "argv", "tools", "facets", "inputs", "returns", "timeout",
		"limits", "can_delegate_to",
	}
}

// front reads the frontmatter.
func (r *reader) front(def *Definition, n *md.Node) {
	r.fields(n, "a map of keys", func(key, value *md.Node) {
		info := &def.Info
		switch key.Value {
		case "name":
			info.Name = r.name(value, "a name")
			if info.Name != "" && info.Name != stem(r.file) {
				r.add(codeName, of(value), fmt.Sprintf("expected name %q as in the file's name, got %q", stem(r.file), info.Name),
					"rename the file or the subagent")
			}
		case "description":
			info.Description = r.text(value, "one line of text")
			if len([]rune(info.Description)) > maxDescription {
				r.add(codeValue, of(value), fmt.Sprintf("expected at most %d characters, got %d", maxDescription, len([]rune(info.Description))), "")
			}
		case "role":
			roles := make([]string, 0, len(formats.Roles()))
			for _, one := range formats.Roles() {
				roles = append(roles, one.String())
			}
			info.Role = formats.Role(r.word(value, "role", roles))
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
			r.add(codeTalks, of(key), "'"+key.Value+"' belongs to a command", "write it into the command that delegates to this subagent")
		default:
			r.unknown(codeUnknownKey, of(key), "key", key.Value, keys())
		}
	})
	for _, key := range []string{"name", "description"} {
		if n.Get(key) == nil {
			r.add(codeMissing, span{start: at(n.Pos)}, "missing key "+key, "add a line `"+key+": ...`")
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
		r.add(codeRunner, of(runner), "runner builtin stands alone", "remove the other runners")
	case exec && len(def.Argv) == 0 && n.Get("argv") == nil:
		r.add(codeRunner, of(runner), "runner exec without argv", "add argv: [program, argument]")
	case exec && acp:
		r.add(codeRunner, of(runner), "runners exec and acp have one argv", "remove one of the two")
	case !exec && !acp && n.Get("argv") != nil:
		r.add(codeRunner, of(n.Get("argv")), "argv without runner exec", "add runner: exec, or runner: acp")
	}
	verdict := func(o formats.Outcome) bool { return o == formats.OutcomeApproved || o == formats.OutcomeRejected }
	if info.Role == formats.RoleReviewer && info.Statuses != nil && !slices.ContainsFunc(info.Statuses, verdict) {
		r.add(codeContract, of(n.Get("returns").Get("statuses")), "a reviewer returns a verdict, and its statuses have none",
			"add approved and rejected")
	}
	if len(info.CanDelegateTo) > 0 && slices.Contains(info.CanDelegateTo, info.Name) {
		r.add(codeValue, of(n.Get("can_delegate_to")), "a subagent may not delegate to itself", "")
	}
}

// runners reads one runner or a list in order of preference. Names of agents that tercet does not know are allowed, since
// configuration may add them; one that is nearly a known one gets a warning.
func (r *reader) runners(n *md.Node) []string {
	known := []string{runnerBuiltin, runnerExec, runnerACP, "offline", "claude", "codex", "opencode", "gemini"}
	var out []string
	r.each(n, "runners", func(item *md.Node) {
		name := r.name(item, "a runner")
		if name == "" {
			return
		}
		if help := nearest.Help(name, known); help != "" && !slices.Contains(known, name) {
			r.add(warnRunner, of(item), fmt.Sprintf("runner %q is none that comes with tercet", name), help)
		}
		out = append(out, name)
	})
	if n.Kind == md.List && len(n.Items) == 0 {
		r.wrong(n, "at least one runner")
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
	r.fields(n, "", func(key, value *md.Node) {
		if model := r.text(value, "the name of a model"); model != "" {
			out[key.Value] = model
		}
	})
	return out
}

func (r *reader) argv(n *md.Node) []string {
	if n.Kind != md.List || len(n.Items) == 0 {
		r.wrong(n, "a list of program and arguments")
		return nil
	}
	var out []string
	for _, item := range n.Items {
		if item.Kind != md.Scalar || strings.ContainsRune(item.Value, 0) {
			r.wrong(item, "a word")
			continue
		}
		out = append(out, item.Value)
	}
	if len(out) > 0 && out[0] == "" {
		r.wrong(n.Items[0], "a program")
	}
	return out
}

func (r *reader) tools(n *md.Node) []string {
	out := []string{}
	r.each(n, "tools", func(item *md.Node) {
		if tool := r.word(item, "tool", []string{"read", "search", "write", "shell", "net"}); tool != "" {
			out = append(out, tool)
		}
	})
	return out
}

func (r *reader) facets(refs *FacetRefs, n *md.Node) {
	r.fields(n, "a map from facet to names", func(key, value *md.Node) {
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
			r.unknown(codeUnknownKey, of(key), "facet", key.Value, []string{"persona", "knowledge", "instruction", "output", "policy"})
		}
	})
}

func inputTypes() []string {
	return []string{
		string(formats.TypeString), string(formats.TypeInteger), string(formats.TypeNumber), string(formats.TypeBoolean),
		string(formats.TypeArray), string(formats.TypeList), string(formats.TypeObject), string(formats.TypeAny),
	}
}

func isAny(n *md.Node) bool { return n.IsStr() && n.Value == string(formats.TypeAny) }

func (r *reader) inputs(n *md.Node) map[string]formats.Input {
	if isAny(n) {
		return nil
	}
	out := map[string]formats.Input{}
	r.fields(n, "any, or a map from name to {type, required}", func(name, value *md.Node) {
		in := formats.Input{Type: formats.TypeAny}
		r.fields(value, "{type, required, document}", func(key, value *md.Node) {
			switch key.Value {
			case "type":
				in.Type = formats.InputType(r.word(value, "type", inputTypes()))
			case "required":
				in.Required = r.boolean(value)
			case "document":
				in.Document = r.word(value, "profile", formats.Profiles())
			default:
				r.unknown(codeUnknownKey, of(key), "key of an input", key.Value, []string{"type", "required", "document"})
			}
		})
		out[name.Value] = in
	})
	return out
}

func (r *reader) timeout(n *md.Node) formats.Timeout {
	if n.Kind != md.Map {
		return formats.Timeout{Total: r.duration(n)}
	}
	var t formats.Timeout
	r.fields(n, "", func(key, value *md.Node) {
		switch key.Value {
		case "total":
			t.Total = r.duration(value)
		case "idle":
			t.Idle = r.duration(value)
		default:
			r.unknown(codeUnknownKey, of(key), "key of timeout", key.Value, []string{"total", "idle"})
		}
	})
	return t
}

func (r *reader) limits(l *Limits, n *md.Node) {
	whole := func(n *md.Node) int {
		i, ok := n.Any().(int)
		if !ok || i <= 0 {
			r.wrong(n, "a whole number above 0")
			return 0
		}
		return i
	}
	r.fields(n, "a map of tokens, cost, turns", func(key, value *md.Node) {
		switch key.Value {
		case "tokens":
			l.Tokens = whole(value)
		case "turns":
			l.Turns = whole(value)
		case "cost":
			switch v := value.Any().(type) {
			case int:
				l.Cost = float64(v)
			case float64:
				l.Cost = v
			}
			if l.Cost <= 0 {
				r.wrong(value, "a number above 0")
			}
		default:
			r.unknown(codeUnknownKey, of(key), "limit", key.Value, []string{"tokens", "cost", "turns"})
		}
	})
}
