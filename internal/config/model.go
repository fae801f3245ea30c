package config

import (
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// modelKey is a key of the map of models, with its layer.
type modelKey struct {
	layer Layer
	key   *md.Node
}

// readModel parses the name of one model for every runner, or a map from runner to model. A name
// for every runner takes precedence over lower layers.
func (l *loader) readModel(e entry) {
	const want = "name of a model, which does not begin with a dash,"
	name := strict.Text(formats.IsModel)
	if _, above := l.config.origins[e.name]; above {
		return
	}
	if l.config.Model == nil {
		l.config.Model = map[string]string{}
	}
	if e.v.Kind != md.Map {
		one := ""
		setValue(l, e, &one, want, name)
		if one != "" {
			l.config.Model[""] = one
		}
		return
	}

	for key, v := range l.Entries(e.v, "") {
		runner, ok := l.readName(e, key, "name of a runner")
		one := ""
		at := (entry{e.name + "." + runner, key, v})
		if ok {
			setValue(l, at, &one, want, name)
		}
		if one != "" {
			l.config.Model[runner] = one
			l.models = append(l.models, modelKey{l.layer, key})
		}
	}
}

// checkModelRunners reports keys of the map of models that are not runners, or runners without a
// choice of models.
func (l *loader) checkModelRunners() {
	runners := append(formats.AgentCLIs(), RunnerACP)
	for name := range l.config.ACP {
		runners = append(runners, name)
	}
	slices.Sort(runners)
	l.checkRunner(runners)

	for _, one := range l.models {
		l.layer = one.layer
		if !slices.Contains(runners, one.key.Value) {
			l.Unknown(CodeUnknownKey, one.key, strict.Form{
				Unknown: "no runner with a choice of models is named %q",
				Keys:    slices.Compact(runners),
			})
		}
	}
}

// checkRunner reports an unknown runner and falls back to the default. choosing are the runners
// with a choice of models.
func (l *loader) checkRunner(choosing []string) {
	all := slices.DeleteFunc(Reserved(), func(name string) bool {
		return name == "builtin"
	})
	all = append(all, choosing...)
	slices.Sort(all)
	all = slices.Compact(all)

	c := &l.config
	if slices.Contains(all, c.Runner) {
		return
	}

	o := c.Origin("runner")
	d := formats.Found(CodeValue, o.Pos, nearest.Help(c.Runner, all),
		"expected a runner (%s), got %q", strings.Join(all, ", "), c.Runner)
	d.File = o.File
	if d.File == "" {
		d.Message = o.Layer + ": " + d.Message
	}
	l.found = append(l.found, d)
	c.Runner = DefaultRunner
}
