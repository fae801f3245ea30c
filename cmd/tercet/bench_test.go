package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStart measures whole processes: a Go program that only returns, and tercet answering a question. Compare with
// benchstat; the ratio to hello is the figure that counts.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	hello := filepath.Join(dir, "hello.go")
	if err := os.WriteFile(hello, []byte("package main\n\nfunc main() { println() }\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		b.Fatal(err)
	}
	build := func(bin, pkg string) string {
		out := filepath.Join(dir, bin)
		if msg, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s", "-o", out, pkg).CombinedOutput(); err != nil {
			b.Fatalf("go build: %v\n%s", err, msg)
		}
		return out
	}
	tercet := build("tercet", ".")
	start := exec.Command(tercet, "init", "-q")
	start.Dir = work
	if msg, err := start.CombinedOutput(); err != nil {
		b.Fatalf("init: %v\n%s", err, msg)
	}
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"hello", []string{build("hello", hello)}},
		{"version", []string{tercet, "version"}},
		{"route", []string{tercet, "route", "/plan 196"}},
		{"query", []string{tercet, "query", ".serial"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cmd := exec.Command(c.argv[0], c.argv[1:]...)
				cmd.Dir = work
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
