package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"tercet/internal/md"
	"tercet/internal/strict"
)

// AgentBounds says whether agent CLIs run in a sandbox in addition to their own permissions.
type AgentBounds string

// The values of AgentBounds.
const (
	AgentsAuto AgentBounds = ""    // if a probe shows that it works
	AgentsOn   AgentBounds = "on"  // always; without a working sandbox the agent does not start
	AgentsOff  AgentBounds = "off" // never, unless the order accepts only a container
)

// SandboxOptions are the details of the sandbox besides the order of tiers.
type SandboxOptions struct {
	Image   string // for docker or podman; empty: neither is used
	Engine  string // docker or podman; empty: the first that works
	Network bool   // gives the container a network
	Agents  AgentBounds
	Checks  bool // run a project's checks in the best tier too
	// Sockets are files of sockets that programs with a grant for the network may use, absolute.
	Sockets []string
}

// readSandbox parses the order of tiers, alone or in a map with the details. What a project sets is
// kept apart from what the user sets: it may only tighten.
func (l *loader) readSandbox(e entry) {
	if e.v.Kind != md.Map {
		l.readTiers(e)
		return
	}
	own := &l.config.SandboxOptions
	for e := range l.entries(e, "", formOf("sandbox")) {
		switch e.key.Value {
		case "order":
			l.readTiers(e)
		case "image":
			setValue(l, e, &own.Image, "name of an image", strict.Text(IsImage))
		case "engine":
			setValue(l, e, &own.Engine, "docker or podman", strict.Word("docker", "podman"))
		case "agents":
			l.readAgents(e)
		case "network":
			l.readTightening(e, false, &own.Network)
		case "checks":
			l.readTightening(e, true, &own.Checks)
		case "sockets":
			l.readSockets(e)
		}
	}
}

// readTightening parses a boolean that a project may set to one value only.
func (l *loader) readTightening(e entry, tight bool, to *bool) {
	b, ok := read(l, e, "true or false", strict.Bool)
	switch {
	case !ok:
	case l.layer.Name == WorkspaceLayer && b != tight:
		l.refuseLoosening(e, tight, b)
	case l.claimOrigin(e):
		*to = b
	}
}

func (l *loader) refuseLoosening(e entry, want, got any) {
	l.Refuse(
		CodeNoEffect,
		e.v,
		"a project may only tighten the sandbox; set it in your own config.yaml",
		fmt.Sprintf("expected %v for %s in a project, got %v", want, e.name, got),
	)
}

// readSockets parses the sockets that programs may use.
func (l *loader) readSockets(e entry) {
	switch {
	case l.layer.Name == WorkspaceLayer:
		l.refuseLoosening(e, "no value", "a list")
	case l.claimOrigin(e):
		for _, item := range l.Items(e.v, "a list for "+e.name) {
			s, ok := read(
				l,
				entry{e.name, item, item},
				"the absolute path of a socket",
				strict.Text(filepath.IsAbs),
			)
			if ok {
				l.config.SandboxOptions.Sockets = append(l.config.SandboxOptions.Sockets, s)
			}
		}
	}
}

// readAgents parses the bounds of agent CLIs; YAML may read on and off as true and false.
func (l *loader) readAgents(e entry) {
	s, ok := read(l, e, "auto, on or off", func(n *md.Node) (string, bool) {
		if b, isBool := strict.Bool(n); isBool {
			return map[bool]string{true: string(AgentsOn), false: string(AgentsOff)}[b], true
		}
		return strict.Word("auto", string(AgentsOn), string(AgentsOff))(n)
	})

	own := &l.config.SandboxOptions
	project := l.layer.Name == WorkspaceLayer
	switch {
	case !ok:
	case project && s != string(AgentsOn):
		l.refuseLoosening(e, AgentsOn, s)
	case own.Agents == AgentsOn: // a layer of higher precedence requires bounds
	case l.claimOrigin(e) && s != "auto":
		own.Agents = AgentBounds(s)
	case project:
		own.Agents = AgentsOn
	}
}

// readTiers parses the order of tiers.
func (l *loader) readTiers(e entry) {
	e.name = "sandbox"
	at := e
	to := &l.config.Sandbox
	if l.layer.Name == WorkspaceLayer {
		at.name = "sandbox." + WorkspaceLayer
		to = &l.config.SandboxFloor
	}
	if !l.claimOrigin(at) {
		return
	}

	tier := strict.Word("container", "platform_permission", "advisory_only")
	for _, item := range l.Items(e.v, "a list for "+e.name) {
		s, ok := read(
			l,
			entry{e.name, item, item},
			"container, platform_permission or advisory_only",
			tier,
		)
		if ok && !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
}
