package web_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullDisk: on a full disk the pages still show what is there, and what cannot be written says
// so. With room again all goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs the superuser")
	}
	dir := filepath.Join(t.TempDir(), "shop")
	home := t.TempDir()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("mounting tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	workspace(t, dir, home, nil)
	b := serve(t, dir, home)
	run := b.begin(url.Values{"what": {"1"}})
	b.until(run, "Ship 1?")
	question := b.get(run + "/question")

	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	form := b.get("/p/shop/start/ask")
	for name, w := range map[string]*httptest.ResponseRecorder{
		"start":  b.post(form, "/p/shop/start/ask", url.Values{"what": {"2"}, "do": {"start"}}),
		"answer": b.post(question, run+"/answer", url.Values{"choice": {"0"}}),
	} {
		if w.Code != http.StatusInternalServerError ||
			!strings.Contains(w.Body.String(), "no space left on device") {
			t.Errorf("%s on a full disk gives %d: %s", name, w.Code, w.Body)
		}
	}
	for _, address := range []string{"/", run, run + "/question", "/p/shop/tasks"} {
		b.get(address)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w := b.post(b.get(run+"/question"), run+"/answer", url.Values{"choice": {"0"}})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("with room again the answer gives %d: %s", w.Code, w.Body)
	}
	b.until(run, "shipped 1")
}

// fill takes all room of a file system.
func fill(t *testing.T, name string) {
	t.Helper()

	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}

	block := make([]byte, 1<<12)
	for err == nil {
		_, err = f.Write(block)
	}

	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
