package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdPlantCanaries: plant-canaries FILE; puts 50 secrets into the environment of what the script
// starts, under names of every kind that holds one, and their values into FILE, one a line.
func cmdPlantCanaries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: plant-canaries FILE")
	}

	names := []string{"A%d_TOKEN", "B%d_KEY", "C%d_SECRET", "D%d_PASSWORD", "e%d_token"}
	var all strings.Builder

	for n := range 50 {
		value := fmt.Sprintf("canary/%02d+%x", n, []byte(ts.Name())[:1])
		ts.Setenv(fmt.Sprintf(names[n%len(names)], n), value)
		fmt.Fprintln(&all, value)
	}

	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(all.String()), 0o600))
}

// cmdNoCanaries: no-canaries FILE PATH...; no value of FILE stands in one of the files, or in a
// file below one of the folders.
func cmdNoCanaries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: no-canaries FILE PATH...")
	}
	values := strings.Fields(ts.ReadFile(args[0]))
	if len(values) != 50 {
		ts.Fatalf("%d canaries, want 50", len(values))
	}
	files := 0
	look := func(name string, data []byte) {
		files++
		for _, v := range values {
			if bytes.Contains(data, []byte(v)) {
				ts.Fatalf("%s holds %s:\n%s", name, v, data)
			}
		}
	}
	for _, arg := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(arg), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(name)
			look(name, data)
			return err
		}))
	}

	if files < len(args)-1 {
		ts.Fatalf("looked into %d files only", files)
	}
}

// cmdPrivate: private DIR; only the owner may enter its folders and read its files.
func cmdPrivate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: private DIR")
	}
	top := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == top {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			ts.Fatalf("%s has mode %v, want it for its owner only", name, info.Mode().Perm())
		}
		return err
	}))
}
