package subagents

import (
	"cmp"
	"strings"
)

// Models are the models that are asked for beside those of the subagents' files. The zero value asks for none.
type Models struct {
	Flag   string                  // for every worker of this run
	Config map[string]string       // of the configuration: runner → model; the key "" is the model for every runner
	Origin func(key string) string // where the configuration has it, by "model" or "model.RUNNER"; may be nil
	// Unused is told which runner has no choice of models, of a run that asks for one; it may be called often, and at the
	// same time. Nil tells nobody.
	Unused func(runner, model string)
}

// For gives the model of a subagent on a runner, and who asks for it: the flag, else the subagent's file, else the
// configuration, each for this runner before every runner. Empty is the runner's own choice.
func (m Models) For(def Definition, runner string) (model, from string) {
	if m.Flag != "" {
		return m.Flag, "--model"
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
