package main

import (
	"context"
	"os"
	"strings"

	"github.com/google/uuid"

	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// image is what a container of docker or podman is made of, as the configuration says.
func (w *world) image() sandbox.Image {
	b := w.cfg.Boxes
	return sandbox.Image{
		Name: b.Image, Engine: sandbox.Means(b.Engine), Net: b.Network, Client: engineEnv(),
		Env:     append([]string{"LANG", "LC_ALL", "TZ", "TERM", "TERCET_ROOT", "GOFLAGS", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"}, w.cfg.Env...),
		NewName: func() string { return strings.ReplaceAll(uuid.NewString(), "-", "") },
	}
}

// engineEnv is what the program of an engine needs to find its daemon, its images and its settings. Nothing else sees it.
func engineEnv() []string {
	var out []string
	for _, name := range []string{
		"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_HOST", "CONTAINERS_CONF",
		"CONTAINERS_STORAGE_CONF", "CONTAINERS_REGISTRIES_CONF", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	} {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// sweepContainer removes the container of a child whose owner and supervisor were killed at once. A record that names anything
// else than a container of ours does nothing.
func (w *world) sweepContainer(ctx context.Context, after []string) {
	argv, ok := sandbox.Removal(after)
	if !ok {
		return
	}
	if _, err := w.starter.Run(ctx, proc.Command{Argv: argv, Env: engineEnv(), Purpose: proc.PurposeProbe, Private: true}); err != nil {
		w.app.term.note("a container may be left, remove it by hand: %s", strings.Join(argv, " "))
	}
}
