//go:build linux && (amd64 || arm64)

package crash_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tercet/formats"
	"tercet/state"
)

// TestFullDisk writes to a small file system that is full but for a few pages, so that writes are
// cut short: the state is the old one or the new one as the answer says, and all goes on when there
// is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs the superuser")
	}

	at := filepath.Join(folder(t), "mounted")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("mounting tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	setUp(t, at, five)

	const page = 4096
	done := 0
	refused := 0

	for pages := range 24 {
		filler := filepath.Join(at, "filler")
		fill(t, filler, pages*page)
		w, err := openWorkspace(at, hit)
		if err != nil {
			t.Fatal(err)
		}

		title := fmt.Sprint("with ", pages, " pages")
		before := mustView(t, at)
		res, err := w.apply(fmt.Sprint(
			"tx-", pages,
		),
			state.CreateTasks{Tasks: []state.NewTask{{
				Title:       title,
				Description: strings.Repeat("long ", 2*page/5),
			}}})
		w.close()

		now := mustView(t, at)
		switch {
		case err == nil:
			done++
			if !strings.Contains(now, title) || !res.Changed {
				t.Errorf("%s: acknowledged and not there", title)
			}
		case formats.CodeOf(err) != formats.CodeIO || !errors.Is(err, unix.ENOSPC) ||
			!strings.Contains(err.Error(), ".tercet/"):
			t.Errorf("%s: %v, want IO that names a file and that no space is left", title, err)
		case now != before:
			t.Errorf("%s: refused with %v, and the state is\n%s", title, err, now)
		default:
			refused++
		}

		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}

		after, err := openWorkspace(at, late)
		if err != nil {
			t.Fatal(err)
		}
		_, err = after.apply(fmt.Sprint(
			"tx-after-",
			pages,
		), state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": title}})
		if err := errors.Join(err, after.sound()); err != nil {
			t.Errorf("%s: with room again: %v", title, err)
		}
		after.close()
	}

	if done == 0 || refused == 0 {
		t.Errorf("%d writes done, %d refused; want some of both", done, refused)
	}
	t.Logf("%d writes done, %d refused", done, refused)
}

// fill makes a file that leaves so many bytes free.
func fill(t *testing.T, name string, free int) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(name), &st); err != nil {
		t.Fatal(err)
	}

	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}

	room := int64(st.Bavail)*st.Bsize - int64(free)
	if err := errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, max(room, 1)), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func mustView(t *testing.T, dir string) string {
	t.Helper()
	v, err := view(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
