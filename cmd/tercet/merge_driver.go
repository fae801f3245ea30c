package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// gitattributes are the lines that have git call the merge driver.
var gitattributes = []string{
	formats.Workspace + "/state.json merge=tercet", formats.Workspace + "/archive/state.json merge=tercet",
	formats.Workspace + "/TODO.md merge=tercet",
}

// driverConfig is what a person runs once in each clone: git takes no configuration out of a repository.
const driverConfig = "git config merge.tercet.driver 'tercet state merge-driver %O %A %B %P'"

// missingAttributes gives the lines that .gitattributes lacks, and what is in it.
func missingAttributes(dir string) (have []byte, missing []string, err error) {
	have, err = os.ReadFile(filepath.Join(dir, ".gitattributes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, broken(formats.CodeIO, ".gitattributes", err)
	}
	missing = slices.Clone(gitattributes)
	for line := range strings.Lines(string(have)) {
		line = strings.Join(strings.Fields(line), " ")
		missing = slices.DeleteFunc(missing, func(want string) bool { return want == line })
	}
	return have, missing, nil
}

// installDriver adds the lines to .gitattributes of the project root.
func installDriver(dir string, dry bool) ([]string, error) {
	have, missing, err := missingAttributes(dir)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if len(have) > 0 && !bytes.HasSuffix(have, []byte("\n")) {
		have = append(have, '\n')
	}
	if !dry {
		err = intoRoot(dir, ".gitattributes", append(have, strings.Join(missing, "\n")+"\n"...))
	}
	return []string{".gitattributes"}, err
}

// intoRoot writes a file of a project root. No link leads out of it.
func intoRoot(dir, name string, text []byte) error {
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = errors.Join(atomicfile.WriteIn(root, name, text, atomicfile.Options{}), root.Close())
	}
	if err != nil {
		return ioFailure(err)
	}
	return nil
}

// offerDriver says what is left to do for the merge driver, or, on a terminal and in a git repository, that there is
// one.
func (c call) offerDriver(dir string, asked bool) {
	if asked {
		c.term.note("run once in each clone: %s", driverConfig)
		return
	}
	if !c.interactive() || !exists(filepath.Join(dir, ".git")) {
		return
	}
	if _, missing, err := missingAttributes(dir); err == nil && len(missing) > 0 {
		c.term.note("git can merge state.json by task; install that with: tercet init --merge-driver")
	}
}
