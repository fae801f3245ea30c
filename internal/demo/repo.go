package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/proc"
)

// Fixture is a module with a defect: its history and its task.
type Fixture struct {
	files    []txtar.File
	subjects []string
}

// ParseFixture reads a fixture. commits.txt has one commit message a line, the folder commit-N
// holds the files of commit N, and task.md the task.
func ParseFixture(name string, data []byte) (f Fixture, err error) {
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimRight(line, "\r") == "-- --" { // the parser of txtar is not safe against it
			return f, formats.Fail(formats.CodeUsage, "write a marker as `-- NAME --`",
				"%s:%d:1: expected the name of a file, got none", name, i+1)
		}
	}
	f.files = txtar.Parse(data).Files
	for _, needed := range []string{"commits.txt", "task.md"} {
		i := slices.IndexFunc(f.files, func(f txtar.File) bool {
			return f.Name == needed
		})
		if i < 0 {
			return f, formats.Fail(formats.CodeUsage, "'tercet demo --help' says what a fixture is",
				"expected a file %s in the fixture %s, got none", needed, name)
		}
		if needed == "commits.txt" {
			f.subjects = splitLines(string(f.files[i].Data))
		}
	}
	return f, nil
}

// Repo is the folder of a demo.
type Repo struct {
	Dir     string // absolute
	Starter *proc.Starter
}

// NewFolder makes a temporary folder, or takes the named one if it is missing or empty, and marks
// it as a demo's.
func NewFolder(name string) (_ string, err error) {
	var dir string
	if name == "" {
		dir, err = os.MkdirTemp("", tempPrefix)
	} else if dir, err = filepath.Abs(name); err == nil {
		entries, rerr := os.ReadDir(dir)
		switch {
		case errors.Is(rerr, os.ErrNotExist):
			err = os.MkdirAll(dir, 0o755)
		case rerr != nil:
			return "", formats.Broken(formats.CodeIO, "demo folder", rerr)
		case len(entries) > 0:
			return "", formats.Fail(formats.CodeUsage,
				"name another folder, or none",
				"expected an empty folder for the demo, got %s with %s", dir,
				formats.Count(len(entries), "file"))
		}
	}

	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = writeMark(dir)
	}
	if err != nil {
		return "", formats.Broken(formats.CodeIO, "demo folder", err)
	}
	return dir, nil
}

// Unpack makes the repository with the commits of the fixture, and puts task.md beside them.
func (r Repo) Unpack(ctx context.Context, f Fixture) error {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // what was written is closed already
	write := func(name string, data []byte) error {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		return atomicfile.WriteLoose(root, name, data, 0o644)
	}
	if _, err := r.git(ctx, "init", "-q", "-b", "main"); err != nil {
		return err
	}

	for i, subject := range f.subjects {
		for _, file := range f.files {
			if name, ok := strings.CutPrefix(file.Name, fmt.Sprintf("commit-%d/", i+1)); ok {
				if err := write(name, file.Data); err != nil {
					return err
				}
			}
		}
		for _, args := range [][]string{
			{"add", "-A"},
			{
				"-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m",
				subject,
			},
		} {
			if _, err := r.git(ctx, args...); err != nil {
				return err
			}
		}
	}

	for _, file := range f.files {
		if file.Name == "task.md" {
			return write(file.Name, file.Data)
		}
	}

	return nil
}

func (r Repo) git(ctx context.Context, args ...string) (string, error) {
	argv := append([]string{"git"}, args...)
	res, err := r.Starter.Run(ctx, proc.Command{
		Argv:    argv,
		Dir:     r.Dir,
		Purpose: proc.PurposeGit,
	})
	if err == nil && !res.Success() {
		err = formats.Fail(formats.CodeIO, "",
			"git %s: %s", args[0], strings.TrimSpace(string(res.Stderr)))
	}
	return string(res.Stdout), err
}

// Diff is the module's changes since the commits of the fixture.
func (r Repo) Diff(ctx context.Context, f Fixture) (string, error) {
	first, err := r.git(ctx, "rev-list", "--first-parent", "--reverse", "HEAD")
	if err != nil {
		return "", err
	}
	commits := splitLines(first)
	from := commits[min(len(f.subjects), len(commits))-1]
	return r.git(
		ctx, "diff",
		"--no-color",
		"--no-ext-diff",
		from,
		"HEAD",
		"--",
		".",
		":!"+formats.Workspace,
	)
}

// Test runs the module's own test and gives its output.
func (r Repo) Test(ctx context.Context) (said string, green bool, err error) {
	argv := []string{"go", "test", "./..."}
	res, err := r.Starter.Run(ctx, proc.Command{
		Argv:    argv,
		Dir:     r.Dir,
		Purpose: proc.PurposeCheck,
	})
	return string(res.Stdout) + string(res.Stderr), res.Success(), err
}

// GoFlags is GOFLAGS for the demo: the flags of the user, because go compiles the standard library
// anew for other ones, and -mod=mod, because the module of a demo vendors nothing.
func GoFlags(ctx context.Context, s *proc.Starter) (string, error) {
	res, err := s.Run(ctx, proc.Command{
		Argv:    []string{"go", "env", "GOFLAGS"},
		Purpose: proc.PurposeCheck,
	})
	if err == nil && !res.Success() {
		err = formats.Fail(formats.CodeToolUnavailable, "the demo needs go",
			"go env GOFLAGS: %s", strings.TrimSpace(string(res.Stderr)))
	}
	return strings.TrimSpace(strings.TrimSpace(string(res.Stdout)) + " -mod=mod"), err
}

// ColourName is "green" or "red" for the result of a test.
func ColourName(green bool) string {
	if green {
		return "green"
	}
	return "red"
}

func splitLines(text string) []string {
	return strings.Split(strings.TrimSpace(text), "\n")
}
