package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/router"
	"tercet/subagents"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: words(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.version/1", "version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
				return nil
			}
			a.term.answer("tercet %s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

func (a *app) exitCodesVerb() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "print the table of exit codes", Args: words(0, 0),
		RunE: func(*cobra.Command, []string) error {
			tab := formats.Table{Columns: []string{"code", "name", "when"}}
			exits := []map[string]any{}
			for _, e := range formats.Exits() {
				words := make([]string, len(e.Codes))
				for i, c := range e.Codes {
					words[i] = c.String()
				}
				when := e.Meaning
				if len(words) > 0 {
					when += " (" + strings.Join(words, ", ") + ")"
				}
				tab.Rows = append(tab.Rows, []string{sprintf("%d", e.Number), e.Name, when})
				exits = append(exits, map[string]any{"code": e.Number, "name": e.Name, "codes": words, "meaning": e.Meaning})
			}
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.exit-codes/1", "exits": exits})
				return nil
			}
			a.term.table(tab)
			a.term.note("tercet query keeps jq's own codes")
			return nil
		},
	}
}

// routeVerb prints the routing decision and runs nothing.
func (a *app) routeVerb() *cobra.Command {
	return &cobra.Command{
		Use: "route LINE", Short: "show which file a slash command is routed to", Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := a.routes()
			if err != nil {
				return err
			}
			line := rest(args)
			r, err := table.Route(router.Line{Raw: line})
			if err != nil {
				return a.notRouted("tercet.route/1", err)
			}
			if a.flags.json {
				a.term.json(map[string]any{
					"schema": "tercet.route/1", "command": r.Name, "file": r.Source + "/" + r.File, "rest": r.Raw, "depth": formats.CommandDepth().Int(),
					"dialect": dialectOf(r.Dialect), "shadows": nonNil(r.Shadows),
				})
				return nil
			}
			a.term.answer("/%s -> %s/%s", r.Name, r.Source, r.File)
			for _, s := range r.Shadows {
				a.term.note("shadows %s", s)
			}
			return nil
		},
	}
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// lint checks one file: a command if its frontmatter says so, a subagent otherwise.
func (w *world) lint(name string, src []byte) []formats.Diagnostic {
	if list, ok := lintForeign(name, src); ok {
		return list
	}
	var err error
	if isSubagent(src) {
		def, derr := subagents.ParseDefinition(name, src)
		if derr == nil {
			return append(def.Warnings, w.lintSteps(name, src, def)...)
		}
		return append(findingsOf(name, derr), stepErrors(name, src)...)
	} else {
		prog, cerr := w.library.Compile(name, src)
		if prog != nil {
			return prog.Warnings
		}
		err = cerr
	}
	return findingsOf(name, err)
}

func findingsOf(name string, err error) []formats.Diagnostic {
	var d *formats.Diagnostics
	switch {
	case err == nil:
		return nil
	case errors.As(err, &d):
		return d.List
	}
	return []formats.Diagnostic{{Code: formats.CodeIO.String(), Severity: formats.SeverityError, File: name, Message: err.Error()}}
}

// isSubagent tells the two kinds of file apart by the first key that only one of them has.
func isSubagent(src []byte) bool {
	for i, line := range strings.Split(string(src), "\n") {
		if i > 0 && strings.HasPrefix(line, "---") {
			return false
		}
		if strings.HasPrefix(line, "command:") {
			return false
		}
		if strings.HasPrefix(line, "name:") || strings.HasPrefix(line, "role:") {
			return true
		}
	}
	return false
}

// markdownFiles lists the files that are named and the markdown files below folders; of a workspace those that hold commands
// and subagents, because its other files are documents. What lies in a folder and cannot be read is a finding, not the end.
func markdownFiles(paths []string) ([]string, []formats.Diagnostic, error) {
	var out []string
	var unread []formats.Diagnostic
	for _, p := range paths {
		err := filepath.WalkDir(p, func(name string, d os.DirEntry, err error) error {
			if err != nil && name != p {
				unread = append(unread, cannotRead(name, err))
				return nil
			}
			if err != nil {
				return err
			}
			inWorkspace := name != p && isWorkspace(filepath.Dir(name))
			switch {
			case d.IsDir() && inWorkspace && !slices.Contains([]string{"commands", "subagents"}, d.Name()):
				return filepath.SkipDir
			case !d.IsDir() && (name == p || (strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".toml") && isForeign(name)) && !inWorkspace):
				if err := readable(name, name == p); err != nil {
					unread = append(unread, cannotRead(name, err))
					return nil
				}
				out = append(out, name)
			}
			return nil
		})
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil, &formats.Failure{Code: formats.CodeUsage, Message: fmt.Sprintf("no file and no folder stands at %q", p), Help: "write its path from the folder you are in"}
			}
			return nil, nil, &formats.Failure{Code: formats.CodeUsage, Message: p, Err: err}
		}
	}
	return out, unread, nil
}

// readable says why a file found in a folder cannot be read; one that was named is told by who reads it.
func readable(name string, named bool) error {
	if named {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNoFile
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}

func cannotRead(name string, err error) formats.Diagnostic {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return formats.Diagnostic{
		Code: formats.CodeIO.String(), Severity: formats.SeverityError, File: name, Pos: formats.Pos{Line: 1, Col: 1},
		Message: "cannot be read: " + err.Error(), Help: "make it a regular file that can be read, or take it away",
	}
}

// count is a number with its noun: 1 file, 2 files.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return sprintf("%d %ss", n, noun)
}

func isWorkspace(dir string) bool {
	full, err := filepath.Abs(dir)
	return err == nil && filepath.Base(full) == formats.Workspace
}

// formatVerb checks a document against its profile.
func (a *app) formatVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "format", Short: "check documents"}
	var profile string
	check := &cobra.Command{
		Use: "check FILE", Short: "check a document against a profile", Args: words(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			src, err := readInput(a.io.in, args[0])
			if err != nil {
				return &formats.Failure{Code: formats.CodeUsage, Message: args[0], Err: err}
			}
			if profile == "" {
				profile = string(formats.GuessArtifactType(args[0]))
			}
			if !slices.Contains(formats.Profiles(), profile) {
				return usage("expected --profile %s, got %q", strings.Join(formats.Profiles(), "|"), profile)
			}
			_, bad := formats.ParseDocument(profile, args[0], src)
			if bad == nil {
				bad = &formats.Diagnostics{}
			}
			bad.Sources = map[string][]byte{args[0]: src}
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.format-check/1", "profile": profile, "diagnostics": diagnosticsOf(bad)})
			} else {
				a.term.diagnostics(bad)
			}
			if bad.HasErrors() {
				return shown{formats.ExitFor(formats.CodeInvalidReturn)}
			}
			a.term.note("%s is a valid %s", args[0], profile)
			return nil
		},
	}
	check.Flags().StringVar(&profile, "profile", "", "plan, report, summary, review or a short one (default: guessed from the path)")
	return group(cmd, check)
}

// resultVerb reads what a subagent printed.
func (a *app) resultVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "result", Short: "read subagents' output"}
	var opt resultOptions
	parse := &cobra.Command{
		Use: "parse FILE", Short: "read a return, as JSON or as an AGENT_RESULT block", Args: words(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			src, err := readInput(a.io.in, args[0])
			if err != nil {
				return &formats.Failure{Code: formats.CodeUsage, Message: args[0], Err: err}
			}
			return a.parseResult(args[0], src, opt)
		},
	}
	parse.Flags().StringVar(&opt.agent, "agent", "", "the subagent whose return it is")
	parse.Flags().StringVar(&opt.nonce, "nonce", "", "the `word` that the delegation was given; a return without it is unauthenticated")
	parse.Flags().BoolVar(&opt.strict, "strict", false, "repair nothing")
	return group(cmd, parse)
}
