package main

import (
	"os"
	"testing"

	"tercet/project"
	"tercet/state"
)

// workspaceIn makes a workspace in a fresh folder, outside of any git repository.
func workspaceIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	_, err := testHost().Init(t.Context(), dir, project.Settings{}, state.InitOptions{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// testHost is a host without streams.
func testHost() project.Host {
	return newApp(stdio{}, os.Getenv).host()
}
