package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/proc"
)

// Run runs c in dir, an absolute path, in the sandbox of confine (nil: none). A failed check is a
// Result; an error means that it could not run. The error is TOOL_UNAVAILABLE if its program, or
// one that it starts, is missing; else proc.ErrDenied, another cause, or the context's error.
func Run(
	ctx context.Context,
	s *proc.Starter,
	dir string,
	c Check,
	confine Confine,
) (Result, error) {
	if len(c.Argv) == 0 {
		return Result{}, &formats.ValueError{What: "the command of a check", Got: ""}
	}

	cmd := proc.Command{
		Argv:    c.Argv,
		Dir:     dir,
		Purpose: proc.PurposeCheck,
		Private: true,
		Env: []string{
			"CI=true", "NO_COLOR=1", "FORCE_COLOR=0", "CARGO_TERM_COLOR=never",
			"PYTHONDONTWRITEBYTECODE=1",
		},
	}

	if c.Stack == Python {
		// Compiled files would stand among the changed files of the project.
		cache, err := os.MkdirTemp(s.Temp, "tercet-python-")
		if err != nil {
			return Result{}, &formats.Failure{Code: formats.CodeIO, Err: err}
		}
		defer func() { _ = os.RemoveAll(cache) }() //nolint:errcheck // reason: a cache of its own in the temporary folder
		cmd.Env = append(cmd.Env, "PYTHONPYCACHEPREFIX="+cache)
	}

	tier := ""
	if confine != nil {
		bounded, name, err := confine(ctx, dir, cmd)
		if err != nil {
			return Result{}, runError(c, err)
		}
		cmd = bounded
		tier = name
	}

	res, err := s.Run(ctx, cmd)
	if err != nil {
		return Result{}, runError(c, err)
	}

	out := strings.Join([]string{string(res.Stdout), string(res.Stderr)}, "\n")
	r := Result{
		Check:    c,
		Passed:   res.Success(),
		Exit:     res.Exit,
		Output:   shortenOutput(plainText(out)),
		TimedOut: res.TimedOut != proc.TimeoutNone,
		Duration: res.Duration,
		Sandbox:  tier,
	}
	if why := startFailure(c, res.Exit, plainText(out)); why != "" {
		return Result{}, formats.Fail(formats.CodeToolUnavailable, "install what is missing",
			"%s cannot run: %s", c, why)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, &formats.Failure{Code: formats.CodeIO, Err: err}
	}
	p := &parser{
		stack:   c.Stack,
		module:  modulePath(root),
		resolve: pathResolver(root, dir),
		vet:     c.Stack == Go && c.Kind == Lint,
	}
	r.Issues, r.Dropped = p.parse(out)
	if err := root.Close(); err != nil {
		return Result{}, &formats.Failure{Code: formats.CodeIO, Err: err}
	}

	r.matchOutcome(res)
	return r, nil
}

// noProgram finds what a shell and make say of a program that is not there.
var noProgram = lazy.Regexp(`(?m)^.*(?:not found|No such file or directory|[Pp]ermission denied)$`)

// startFailure tells what kept a check from checking anything. Exit codes 126 and 127 come from a
// shell that could not start a program, and make passes them on in words. python ends with 1 if it
// lacks the module to run.
func startFailure(c Check, exit int, out string) string {
	module := slices.Index(c.Argv, "-m") + 1
	switch {
	case exit == 126, exit == 127, strings.Contains(out, "] Error 127"):
		return cmp.Or(
			strings.TrimSpace(noProgram().FindString(out)),
			fmt.Sprintf("it ended with exit %d", exit),
		)
	case exit == 1 && module > 0 && module < len(c.Argv) &&
		strings.HasSuffix(strings.TrimSpace(out), ": No module named "+c.Argv[module]):
		return lastLine(out)
	}
	return ""
}

func runError(c Check, err error) error {
	if errors.As(err, new(*proc.NotFoundError)) {
		return &formats.Failure{
			Code:    formats.CodeToolUnavailable,
			Err:     err,
			Message: c.String() + " cannot run",
			Help:    fmt.Sprintf("install %s, or leave this check out with --only", c.Argv[0]),
		}
	}
	if errors.Is(err, proc.ErrStart) {
		return &formats.Failure{Code: formats.CodeIO, Err: err}
	}
	return err
}

// matchOutcome makes issues and outcome agree: a check that passed has no error among its issues,
// one that did not has one.
func (r *Result) matchOutcome(res proc.Result) {
	isError := func(i formats.Issue) bool {
		return i.Level == formats.LevelError
	}
	if r.Passed {
		r.Issues = slices.DeleteFunc(r.Issues, isError)
	}
	if r.Passed || slices.ContainsFunc(r.Issues, isError) {
		return
	}

	how := fmt.Sprintf("ended with exit %d", res.Exit)
	switch {
	case r.TimedOut:
		how = "reached its limit of time"
	case res.Flooded:
		how = "printed more than is read"
	case res.Signal != "":
		how = "was ended by " + res.Signal
	}

	what := r.Check.String() + " " + how
	if last := lastLine(r.Output); last != "" {
		what += ": " + last
	}
	issue := formats.Issue{
		Level:       formats.LevelError,
		Description: limitDescription(what),
		Source:      issueSource,
	}
	r.Issues = append([]formats.Issue{issue}, r.Issues[:min(len(r.Issues), MaxIssues-1)]...)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// shortenOutput keeps the first and the last half of what fits: a tool names the cause at the start
// and the sum at the end.
func shortenOutput(s string) string {
	if len(s) <= MaxOutput {
		return s
	}
	const cut = "\n... shortened ...\n"
	half := (MaxOutput - len(cut)) / 2
	head := half
	tail := len(s) - half
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + cut + s[tail:]
}

// modulePath returns the module path of the project's go.mod, or nothing.
func modulePath(root *os.Root) string {
	for line := range strings.Lines(string(readManifest(root.FS(), "go.mod"))) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "module" {
			return strings.Trim(f[1], `"`)
		}
	}
	return ""
}

// pathResolver returns a function that turns a name out of a tool's output into the path of a file
// of the project, or "".
func pathResolver(root *os.Root, dir string) func(string) string {
	bases := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		bases = append(bases, real)
	}

	return func(name string) string {
		name = filepath.FromSlash(name)
		if filepath.IsAbs(name) {
			rel := ""
			for _, b := range bases {
				if r, err := filepath.Rel(b, name); err == nil && filepath.IsLocal(r) {
					rel = r
				}
			}
			name = rel
		}

		name = filepath.Clean(name)
		if !filepath.IsLocal(name) || name == "." {
			return ""
		}

		if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
			return ""
		}
		return filepath.ToSlash(name)
	}
}
