package packs_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"tercet/formats"
	"tercet/internal/packs"
)

func TestNewer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"1.2.0", "1.1.9", true},
		{"1.2.0", "1.2.0", false},
		{"1.10.0", "1.9.0", true},
		{"1.0.0", "1.0.0-rc.1", true},
		{"1.0.0-rc.1", "1.0.0", false},
		{"1.0.0-b", "1.0.0-a", true},
		{"", "0.1.0", false},
	} {
		if got := packs.IsNewer(tt.a, tt.b); got != tt.want {
			t.Errorf("Newer(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

// FuzzRead: a pack is read or refused with findings, and what is placed lies in the workspace.
func FuzzRead(f *testing.F) {
	f.Add([]byte("name: a\nversion: 1.0.0\ndescription: x\n"), []byte("---\ncommand: a\n---\n"))
	f.Add([]byte("name: tercet\n"), []byte(""))
	f.Add([]byte("# nothing but a comment\n"), []byte("---\nsubagents:\n---\n"))
	f.Fuzz(func(t *testing.T, manifest, command []byte) {
		p, err := packs.Read("p", fstest.MapFS{
			"pack.yaml":     {Data: manifest},
			"commands/a.md": {Data: command},
		})
		var d *formats.Diagnostics
		if err != nil && (!errors.As(err, &d) || len(d.List) == 0) {
			t.Errorf("Read = %v, want findings", err)
		}
		placed := p.WorkspaceFiles()
		if err == nil &&
			(len(placed) != 1 || placed[0].Path != ".tercet/commands/a.md" ||
				!packs.IsName(p.Name)) {
			t.Errorf("%q is placed as %v", p.Name, placed)
		}
	})
}

// FuzzLoad: a record is read or refused, and no file of it lies where a pack has none.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(
		`{"schema": "tercet.packs/1", "packs": [{"name": "a", "files": [{"path": ".tercet/commands/a.md", "sha256": ""}]}]}`,
	))
	f.Add([]byte(`{"schema": "tercet.packs/2", "packs": [{"name": "../x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := packs.Load(fstest.MapFS{packs.RecordFile: {Data: data}})
		if err != nil && formats.CodeOf(err) != formats.CodeInvalidState {
			t.Errorf("Load(%q) = %v", data, err)
		}
		for _, p := range r.Packs {
			if err == nil && !packs.IsName(p.Name) {
				t.Errorf("Load(%q) takes the pack %q", data, p.Name)
			}
		}
	})
}
