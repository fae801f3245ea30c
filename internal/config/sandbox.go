package config

import (
	"fmt"
	"slices"
	"strings"

	"tercet/internal/md"
	"tercet/internal/strict"
)

// The keys below sandbox, where it is a map. A list alone is the order.
const (
	keyOrder   = "order"
	keyImage   = "image"
	keyEngine  = "engine"
	keyNetwork = "network"
	keyAgents  = "agents"
	keyChecks  = "checks"
)

// AgentBounds says whether agent CLIs get bounds besides their own permissions.
type AgentBounds string

// The words for it.
const (
	AgentsAuto AgentBounds = ""    // where a probe saw bounds at work
	AgentsOn   AgentBounds = "on"  // always; where none work the agent is not started
	AgentsOff  AgentBounds = "off" // never, unless the order accepts nothing but a container
)

// Boxes are the details of the sandbox, beside the order of its tiers.
type Boxes struct {
	Image   string // of a container of docker or podman; empty means that neither is used
	Engine  string // docker or podman; empty means the first that works
	Network bool   // a container of the image has a network
	Agents  AgentBounds
	Checks  bool // a project's checks are run in the best tier too
}

// boxKeys is what a map below sandbox may hold.
var boxKeys = strict.Form{
	Unknown: `unknown key "sandbox.%s"`, Keys: []string{keyOrder, keyImage, keyEngine, keyNetwork, keyAgents, keyChecks},
}

// sandbox takes the order of tiers, alone or in a map with the details. What a project says is kept apart from what the
// person says: it may only tighten.
func (l *loader) sandbox(key, v *md.Node) {
	if v.Kind != md.Map {
		l.order(key, v)
		return
	}
	own := &l.config.Boxes
	for key, v := range l.Map(v, "", boxKeys) {
		name := keySandbox + "." + key.Value
		switch key.Value {
		case keyOrder:
			l.order(key, v)
		case keyImage:
			take(l, entry{name, key, v}, &own.Image, "name of an image", strict.Text(isImage))
		case keyEngine:
			take(l, entry{name, key, v}, &own.Engine, "docker or podman", strict.Word("docker", "podman"))
		case keyAgents:
			l.agents(name, key, v)
		case keyNetwork:
			l.tighten(name, key, v, false, &own.Network)
		case keyChecks:
			l.tighten(name, key, v, true, &own.Checks)
		}
	}
}

// tighten takes a word of which a project can say but one.
func (l *loader) tighten(name string, key, v *md.Node, tight bool, to *bool) {
	b, ok := strict.As(&l.Decoder, v, "true or false for "+name, strict.Bool)
	switch {
	case !ok:
	case l.layer.Name == WorkspaceLayer && b != tight:
		l.loosened(name, v, fmt.Sprint(tight), fmt.Sprint(b))
	case l.first(name, key):
		*to = b
	}
}

func (l *loader) loosened(name string, v *md.Node, want, got string) {
	l.Refuse(CodeNoEffect, v, "a project may only tighten; the person's own configuration can say it",
		fmt.Sprintf("expected %s for %s in a project, got %s", want, name, got))
}

// agents takes the bounds of agent CLIs; YAML reads on and off as true and false where somebody writes these.
func (l *loader) agents(name string, key, v *md.Node) {
	s, ok := strict.As(&l.Decoder, v, "auto, on or off for "+name, func(n *md.Node) (string, bool) {
		if b, isBool := strict.Bool(n); isBool {
			return map[bool]string{true: string(AgentsOn), false: string(AgentsOff)}[b], true
		}
		return strict.Word("auto", string(AgentsOn), string(AgentsOff))(n)
	})
	own, project := &l.config.Boxes, l.layer.Name == WorkspaceLayer
	switch {
	case !ok:
	case project && s != string(AgentsOn):
		l.loosened(name, v, "on", s)
	case own.Agents == AgentsOn: // whoever asked for bounds has them
	case l.first(name, key) && s != "auto":
		own.Agents = AgentBounds(s)
	case project:
		own.Agents = AgentsOn
	}
}

// order takes the tiers.
func (l *loader) order(key, v *md.Node) {
	name, to := keySandbox, &l.config.Sandbox
	if l.layer.Name == WorkspaceLayer {
		name, to = keySandbox+"."+WorkspaceLayer, &l.config.SandboxFloor
	}
	if !l.first(name, key) {
		return
	}
	const want = "container, platform_permission or advisory_only for " + keySandbox
	tier := strict.Word("container", "platform_permission", "advisory_only")
	for _, item := range l.Items(v, "a list for "+keySandbox) {
		if s, ok := strict.As(&l.Decoder, item, want, tier); ok && !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
}

// items lists the details that a layer names.
func (b Boxes) items() []Item {
	var out []Item
	add := func(key, value string, set bool) {
		if set {
			out = append(out, Item{Key: keySandbox + "." + key, Value: value})
		}
	}
	add(keyImage, b.Image, b.Image != "")
	add(keyEngine, b.Engine, b.Engine != "")
	add(keyNetwork, fmt.Sprint(b.Network), b.Network)
	add(keyAgents, string(b.Agents), b.Agents != AgentsAuto)
	add(keyChecks, fmt.Sprint(b.Checks), b.Checks)
	return out
}

// isImage tells the name of an image: it must not be taken for an option.
func isImage(s string) bool {
	return s != "" && len(s) <= 255 && s[0] != '-' && strings.Trim(s, wordBytes+".-/:@") == ""
}
