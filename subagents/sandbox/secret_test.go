package sandbox //nolint:testpackage // it tests what is not exported

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPaths: a file has a path for each place at which its part of the file system is mounted.
func TestPaths(t *testing.T) {
	t.Parallel()
	mounts := parseMounts(`21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 8:2 / /people rw,relatime shared:1 - ext4 /dev/sda2 rw
23 21 8:2 /ann /srv/the\040people rw - ext4 /dev/sda2 rw
24 21 8:2 /bob /mnt/bob rw - ext4 /dev/sda2 rw
25 21 0:5 / /ann rw - tmpfs tmpfs rw
26 21 8:3 / /data rw - ext4 /dev/sdb rw
27 21 8:1 /var/lib /lib2 rw - ext4 /dev/sda1 rw
28 22 8:3 /keys /people/ann/.local/state rw - ext4 /dev/sdb rw
short line
`)
	for name, want := range map[string][]string{
		"/people/ann/x":                   {"/people/ann/x", "/srv/the people/x"},
		"/people/ann":                     {"/people/ann", "/srv/the people"},
		"/people":                         {"/people"},
		"/people/ann/.local/state/tercet": {"/data/keys/tercet", "/people/ann/.local/state/tercet"},
		"/var/lib/tercet":                 {"/lib2/tercet", "/var/lib/tercet"},
		"/ann/x":                          {"/ann/x"},
	} {
		if diff := cmp.Diff(want, pathsOf(name, mounts)); diff != "" {
			t.Errorf("pathsOf(%s) differs (-want +got):\n%s", name, diff)
		}
	}

	if got := pathsOf("/x", nil); len(got) != 1 || got[0] != "/x" {
		t.Errorf("paths without mounts = %q, want the path itself", got)
	}
}

// TestAround: what is secret is left out, with the links beside the way to it; everything else is
// seen.
func TestAround(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{
		"home/state/own/keys", "home/state/other", "home/.ssh", "work/deep",
	} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	for _, file := range []string{"home/.profile", "home/state/own/keys/k"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink(at("home/state/own"), at("home/way")); err != nil {
		t.Fatal(err)
	}
	got, err := viewWithout(top, []string{at("home/state/own"), at("home/.ssh"), at("home/none/below")})
	if err != nil {
		t.Fatal(err)
	}
	want := view{
		listed:  []string{top, at("home"), at("home/state")},
		folders: []string{at("home/state/other"), at("work")},
		files:   []string{at("home/.profile")},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(view{})); diff != "" {
		t.Errorf("viewWithout differs (-want +got):\n%s", diff)
	}
}

// TestParseSockets: the list of the kernel has sockets without a name, abstract ones, and paths
// with blanks.
func TestParseSockets(t *testing.T) {
	t.Parallel()
	got := parseSockets(`Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01   141 /run/user/1000/bus
0000000000000000: 00000002 00000000 00000000 0002 01 14192
0000000000000000: 00000002 00000000 00010000 0001 01  9141 @/tmp/.X11-unix/X0
0000000000000000: 00000003 00000000 00000000 0001 03  9142 relative.sock
0000000000000000: 00000002 00000000 00010000 0001 01 12345678 /tmp/with  two blanks
`)
	if diff := cmp.Diff([]string{"/run/user/1000/bus", "/tmp/with  two blanks"}, got); diff != "" {
		t.Errorf("parseSockets differs (-want +got):\n%s", diff)
	}
}
