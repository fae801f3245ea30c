package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// gitattributes are the lines that have git call the merge driver.
func gitattributes() []string {
	var out []string
	for _, name := range []string{"state.json", "archive/state.json", "TODO.md"} {
		out = append(out, formats.Workspace+"/"+name+" merge=tercet")
	}
	return out
}

// driverConfig is what a person runs once in each clone: git takes no configuration out of a repository.
const driverConfig = "git config merge.tercet.driver 'tercet state merge-driver %O %A %B %P'"

// missingAttributes gives the lines that .gitattributes lacks, and what is in it.
func missingAttributes(dir string) (have []byte, missing []string, err error) {
	have, err = os.ReadFile(filepath.Join(dir, ".gitattributes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &formats.Failure{Code: formats.CodeIO, Message: ".gitattributes", Err: err}
	}
	lines := strings.Split(string(have), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	for _, want := range gitattributes() {
		there := false
		for _, line := range lines {
			there = there || line == want
		}
		if !there {
			missing = append(missing, want)
		}
	}
	return have, missing, nil
}

// installDriver adds the lines to .gitattributes of the project root.
func installDriver(dir string, dry bool) ([]string, error) {
	have, missing, err := missingAttributes(dir)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if dry {
		return []string{".gitattributes"}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, ioFailure(err)
	}
	defer root.Close() //nolint:errcheck // only written through; each write is checked
	if len(have) > 0 && !bytes.HasSuffix(have, []byte("\n")) {
		have = append(have, '\n')
	}
	text := append(have, strings.Join(missing, "\n")+"\n"...)
	if err := atomicfile.WriteIn(root, ".gitattributes", text, atomicfile.Options{}); err != nil {
		return nil, ioFailure(err)
	}
	return []string{".gitattributes"}, nil
}

// offerDriver says what is left to do for the merge driver, or, on a terminal and in a git repository, that there is one.
func (a *app) offerDriver(dir string, asked bool) {
	if asked {
		a.term.note("run once in each clone: %s", driverConfig)
		return
	}
	if !a.interactive() || !exists(filepath.Join(dir, ".git")) {
		return
	}
	if _, missing, err := missingAttributes(dir); err == nil && len(missing) > 0 {
		a.term.note("git can merge state.json by task; install that with: tercet init --merge-driver")
	}
}
