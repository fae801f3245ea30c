package config

import (
	"fmt"
	"slices"
	"strings"

	"tercet/internal/md"
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

// sandbox takes the order of tiers, alone or in a map with the details. What a project says is kept apart from what the
// person says: it may only tighten.
func (l *loader) sandbox(key, v *md.Node) {
	if v.Kind != md.Map {
		l.order(key, v)
		return
	}
	known := []string{keyOrder, keyImage, keyEngine, keyNetwork, keyAgents, keyChecks}
	for _, e := range v.Entries {
		if e.Value.Absent() {
			continue
		}
		if !slices.Contains(known, e.Key.Value) {
			l.unknown(e.Key, keySandbox, known)
			continue
		}
		if e.Key.Value == keyOrder {
			l.order(e.Key, e.Value)
			continue
		}
		l.box(e)
	}
}

// box takes one detail.
func (l *loader) box(e md.Entry) {
	key, own := keySandbox+"."+e.Key.Value, &l.config.Boxes
	project := l.layer.Name == WorkspaceLayer
	switch e.Key.Value {
	case keyImage:
		if s, ok := l.text(e.Value, key, "name of an image", isImage); ok && l.first(key, e.Key) {
			own.Image = s
		}
	case keyEngine:
		engine := func(s string) bool { return s == "docker" || s == "podman" }
		if s, ok := l.text(e.Value, key, "docker or podman", engine); ok && l.first(key, e.Key) {
			own.Engine = s
		}
	case keyAgents:
		word := e.Value
		if b, ok := word.Any().(bool); ok {
			word = &md.Node{Kind: md.Scalar, Type: md.Str, Value: map[bool]string{true: string(AgentsOn), false: string(AgentsOff)}[b], Pos: word.Pos, End: word.End}
		}
		s, ok := l.text(word, key, "auto, on or off", func(s string) bool { return s == "auto" || s == string(AgentsOn) || s == string(AgentsOff) })
		switch {
		case !ok:
		case project && s != string(AgentsOn):
			l.report(CodeNoEffect, e.Value, "a project may only tighten; the person's own configuration can say it", "expected on for %s in a project, got %s", key, s)
		case own.Agents == AgentsOn: // whoever asked for bounds has them
		case l.first(key, e.Key) && s != "auto":
			own.Agents = AgentBounds(s)
		case project:
			own.Agents = AgentsOn
		}
	case keyNetwork, keyChecks:
		b, ok := e.Value.Any().(bool)
		if !ok {
			l.wrong(e.Value, "true or false", key)
			return
		}
		if tight := e.Key.Value == keyChecks; project && b != tight {
			l.report(CodeNoEffect, e.Value, "a project may only tighten; the person's own configuration can say it", "expected %t for %s in a project, got %t", tight, key, b)
			return
		}
		if !l.first(key, e.Key) {
			return
		}
		if e.Key.Value == keyNetwork {
			own.Network = b
		} else {
			own.Checks = b
		}
	}
}

// order takes the tiers.
func (l *loader) order(key, v *md.Node) {
	name := keySandbox
	if l.layer.Name == WorkspaceLayer {
		name = keySandbox + "." + WorkspaceLayer
	}
	if !l.first(name, key) {
		return
	}
	tier := func(s string) bool {
		return slices.Contains([]string{"container", "platform_permission", "advisory_only"}, s)
	}
	var list []string
	items := v.Items
	switch v.Kind {
	case md.Scalar:
		items = []*md.Node{v}
	case md.Map:
		l.wrong(v, "a list", keySandbox)
	case md.List:
	}
	for _, item := range items {
		if s, ok := l.text(item, keySandbox, "container, platform_permission or advisory_only", tier); ok && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	if name == keySandbox {
		l.config.Sandbox = list
	} else {
		l.config.SandboxFloor = list
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
	return s != "" && len(s) <= 255 && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@") == ""
}
