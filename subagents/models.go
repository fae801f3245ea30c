package subagents

import (
	"cmp"
	"strings"

	"tercet/formats"
)

// Models are the requested models besides those in subagent files. The zero value requests none.
type Models struct {
	Flag string // for every worker of the run
	// from the configuration: runner → model; the key "" is for every runner
	Config map[string]string
	// origin in the configuration, by "model" or "model.RUNNER"; may be nil
	Origin func(key string) string
	// Unused is called with a runner without models, in a run that requests one; repeatedly and
	// concurrently. May be nil.
	Unused func(runner, model string)
}

// For gives the model of a subagent on a runner, and who requested it. The flag goes before the
// command's file, that before the subagent's, the file before the configuration, and in each this
// runner before every runner. Empty is the runner's own choice.
func (m Models) For(def Definition, runner string, wishes *formats.Wishes) (model, from string) {
	if m.Flag != "" {
		return m.Flag, "--model"
	}
	if wishes != nil && wishes.Model[runner] != "" {
		return wishes.Model[runner], "the command's file"
	}
	if model = cmp.Or(def.Model[runner], def.Model[""]); model != "" {
		return model, def.File
	}
	for _, key := range []string{runner, ""} {
		if model := m.Config[key]; model != "" {
			if m.Origin != nil {
				from = m.Origin(strings.TrimSuffix("model."+key, "."))
			}
			return model, from
		}
	}
	return "", ""
}
