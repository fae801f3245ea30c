package router_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tercet/router"
)

// TestPrefix: a source with a prefix hides nothing and is hidden by nothing, but for one of the
// same prefix.
func TestPrefix(t *testing.T) {
	t.Parallel()
	files := func(names ...string) fs.FS {
		m := fstest.MapFS{}
		for _, name := range names {
			m[name] = &fstest.MapFile{}
		}
		return m
	}
	command := func(file string) (string, bool) {
		return strings.TrimSuffix(file, ".md"), true
	}
	table, err := router.Scan(router.Names{},
		router.Source{Name: "own", FS: files("deploy.md")},
		router.Source{
			Name:    "one",
			FS:      files("deploy.md", "sync.md"),
			Prefix:  "one",
			Command: command,
		},
		router.Source{
			Name:    "two",
			FS:      files("deploy.md", "sync.md"),
			Prefix:  "two",
			Command: command,
		},
		router.Source{
			Name:    "again",
			FS:      files("sync.md"),
			Prefix:  "two",
			Command: command,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"deploy":     "own",
		"one.deploy": "one",
		"two.deploy": "two",
		"sync":       "one",
		"two.sync":   "two",
	} {
		got, err := table.Route(router.Line{Raw: "/" + name})
		if err != nil || got.Source != want {
			t.Errorf("Route(/%s) = %v, %v, want one of %s", name, got, err, want)
		}
	}

	got, err := table.Route(router.Line{Raw: "/two.sync"})
	if err != nil || !slices.Equal(got.Shadows, []string{"again/sync.md"}) {
		t.Errorf("Route(/two.sync) shadows %v, %v, want again/sync.md", got.Shadows, err)
	}
	for _, name := range []string{"own.deploy", "one.sync"} {
		if got, err := table.Route(router.Line{Raw: "/" + name}); err == nil {
			t.Errorf("Route(/%s) = %v, want an error", name, got)
		}
	}
}
