package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tercet/internal/testkit"
)

// standIn stands for the binaries of a release, which 'make release-check' builds: it tells its
// arguments, and ends as they say.
const standIn = "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done\n" +
	"[ \"$1\" != wait ] || { trap 'echo ended; exit 143' TERM; echo; while :; do sleep 0.1; " +
	"done; }\nexit \"$1\"\n"

// TestRelease packs binaries that stand in for those of a release: twice the same bytes whatever
// the umask, an image whose digests are those of its files, and an npm package that is installed
// without a network and passes arguments, signals and exit codes on.
func TestRelease(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "packs a release twice")
	out, err := exec.Command("tar", "--version").Output()
	if err != nil || !bytes.Contains(out, []byte("GNU tar")) {
		t.Skip("a release is packed by GNU tar")
	}
	certificates := filepath.Join(t.TempDir(), "certificates")
	put(t, certificates, "a certificate\n")
	release := func(umask string) (dist, sums string) {
		dist = filepath.Join(t.TempDir(), "dist")
		host := runtime.GOOS + "_" + runtime.GOARCH
		for _, name := range []string{
			"bin/tercet_linux_amd64",
			"bin/tercet_linux_arm64",
			"bin/tercet_" + host,
			"words/LICENSE",
			"words/man/tercet.1",
		} {
			put(t, filepath.Join(dist, filepath.FromSlash(name)), standIn)
		}

		cmd := exec.Command(
			"sh", "-c",
			"umask "+umask+" && exec sh ../../scripts/release.sh archives image npm sums",
		)

		cmd.Env = append(
			os.Environ(),
			"DIST="+dist,
			"TARGETS=linux/amd64 linux/arm64 "+strings.ReplaceAll(host, "_", "/"),
			"COMMIT=c0ffee",
			"SOURCE_DATE_EPOCH=1700000000",
			"CERTIFICATES="+certificates,
		)

		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return dist, read(t, filepath.Join(dist, "checksums.txt"))
	}

	dist, sums := release("022")
	if _, again := release("077"); again != sums {
		t.Errorf("two releases differ:\n%s\n%s", sums, again)
	}

	archive := "tercet_" + version + "_linux_amd64"
	files := unpacked(t, read(t, filepath.Join(dist, archive+".tar.gz")))
	h := files[archive+"/tercet"]
	if h == nil || h.Mode != 0o755 || h.ModTime.Unix() != 1700000000 || h.Uid != 0 ||
		files[archive+"/man/tercet.1"] == nil {
		t.Errorf(
			"the archive has %v, want %s/tercet that everybody may run and the words beside it",
			files, archive,
		)
	}

	t.Run("image", func(t *testing.T) {
		t.Parallel()
		checkImage(t, filepath.Join(dist, "tercet_"+version+"_image"))
	})
	t.Run("npm", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("npm is not installed")
		}
		checkNPM(t, filepath.Join(dist, "tercet-"+version+".tgz"))
	})
}

// TestMethodsAreEliminated: no code that is linked finds a method by its name, because the linker
// would then keep every exported method.
func TestMethodsAreEliminated(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "links the program")

	binary := filepath.Join(t.TempDir(), "tercet")
	build := exec.Command("go", "build", "-ldflags=-dumpdep", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")

	edges, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, edges)
	}

	if !bytes.Contains(edges, []byte("main.main -> ")) {
		t.Fatal("the linker dumps no dependencies")
	}

	for edge := range strings.Lines(string(edges)) {
		if strings.Contains(edge, "<ReflectMethod>") {
			t.Errorf("a method is found by its name: %s", edge)
			break
		}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := testkit.WriteProgram(file, text); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func inflated(t *testing.T, data string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// unpacked gives what a tar holds, by name.
func unpacked(t *testing.T, data string) map[string]*tar.Header {
	t.Helper()

	out := map[string]*tar.Header{}
	r := tar.NewReader(strings.NewReader(inflated(t, data)))

	for {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(h.Name, "/")] = h
	}
}

// checkImage follows an OCI image layout from its index down, and holds every digest and size
// against the bytes.
func checkImage(t *testing.T, layout string) {
	t.Helper()

	type descriptor struct {
		MediaType, Digest string
		Size              int
		Platform          struct{ Architecture string }
		Annotations       map[string]string
	}
	var doc struct {
		Manifests, Layers []descriptor
		Config            descriptor
	}
	var config struct {
		Architecture, OS string
		Config           struct{ Entrypoint []string }
		RootFS           struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}

	sum := func(s string) string {
		return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s)))
	}

	blob := func(d descriptor) string {
		data := read(t, filepath.Join(layout, "blobs", strings.ReplaceAll(d.Digest, ":", "/")))
		if len(data) != d.Size || sum(data) != d.Digest {
			t.Errorf("%s has %d bytes and the digest %s, its descriptor says %+v",
				d.MediaType, len(data), sum(data), d)
		}
		return data
	}

	parse := func(text string, into any) {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}

	parse(read(t, filepath.Join(layout, "index.json")), &doc)
	if len(doc.Manifests) != 1 ||
		doc.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != version {
		t.Fatalf("the index names %+v, want one image of version %s", doc.Manifests, version)
	}

	parse(blob(doc.Manifests[0]), &doc)
	platforms := doc.Manifests
	if len(platforms) < 2 {
		t.Fatalf("the image is for %+v, want two architectures", platforms)
	}

	for _, p := range platforms {
		parse(blob(p), &doc)
		parse(blob(doc.Config), &config)
		layer := blob(doc.Layers[0])

		got := sum(inflated(t, layer))
		if len(doc.Layers) != 1 || config.RootFS.DiffIDs[0] != got ||
			config.Architecture != p.Platform.Architecture {
			t.Errorf("the configuration is %+v, want that of %s with the layer %s",
				config, p.Platform.Architecture, got)
		}

		files := unpacked(t, layer)
		for name, mode := range map[string]int64{
			"usr/bin/tercet":                    0o755,
			"etc/ssl/certs/ca-certificates.crt": 0o644,
			"tmp":                               0o777,
			"work":                              0o777,
		} {
			if h := files[name]; h == nil || h.Mode&0o777 != mode {
				t.Errorf("the image has %+v as %s, want it with mode %o", h, name, mode)
			}
		}
	}
}

func checkNPM(t *testing.T, tarball string) {
	t.Helper()

	dir := t.TempDir()
	cmd := exec.Command(
		"npm",
		"install",
		"--offline",
		"--ignore-scripts",
		"--no-audit",
		"--no-fund",
		"--cache",
		t.TempDir(),
		tarball,
	)

	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	bin := filepath.Join(dir, "node_modules", ".bin", "tercet")
	out, err := exec.Command(bin, "5", "/task a \"b\"", "", "--x").Output()
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok || e.ExitCode() != 5 || string(out) != "<5></task a \"b\"><><--x>" {
		t.Errorf("%s gives %q and %v, want its arguments as they are and exit status 5",
			bin, out, err)
	}

	cmd = exec.Command(bin, "wait")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	first := make([]byte, len("<wait>\n"))
	if _, err := io.ReadFull(pipe, first); err != nil {
		t.Fatal(err)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	rest, err := io.ReadAll(pipe)
	if err != nil {
		t.Fatal(err)
	}

	err = cmd.Wait()
	if string(rest) != "ended\n" || cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("after SIGTERM: %q and %v, want the binary told of it, and its exit status 143",
			rest, err)
	}
}
