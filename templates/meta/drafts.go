package meta

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/interp"
	"tercet/commands/lint"
	"tercet/formats"
	"tercet/internal/trace"
)

// New makes the builder of a project. It checks unwritten files, and dry-runs them with the
// library's fakes, together with the commands of the catalog.
func New(root *os.Root, agents Agents, catalog *commands.Catalog) *Builder {
	b := &Builder{Root: root, Agents: agents, Catalog: catalog}
	b.Lint = b.lint
	b.DryRun = b.dryRun
	return b
}

// library is the library including the files.
func (b *Builder) library(files []File) (*commands.Library, []formats.Diagnostic) {
	agents, found := With(b.Agents, files)
	lib := *b.Catalog.Library
	lib.Env = commands.Contracts{Env: agents, Root: b.Root}
	return &lib, found
}

// lint checks the files.
func (b *Builder) lint(files []File) []formats.Diagnostic {
	lib, found := b.library(files)
	for _, f := range Commands(files) {
		prog, err := lib.Compile(f.Name, f.Data)
		found = append(found, lint.Of(f.Name, prog, err)...)
	}
	return found
}

// dryRun runs a command of the files without effects, on a sample task.
func (b *Builder) dryRun(ctx context.Context, files []File, name string) (formats.Return, error) {
	lib, _ := b.library(files)
	list := Commands(files)
	i := slices.IndexFunc(list, func(f File) bool {
		return strings.TrimSuffix(path.Base(f.Name), ".md") == name
	})
	if i < 0 {
		return formats.Return{}, formats.Broken(
			formats.CodeBug,
			"no command "+name+" among the drafts",
			fs.ErrNotExist,
		)
	}

	prog, err := lib.Compile(list[i].Name, list[i].Data)
	if err != nil {
		return formats.Return{}, err
	}

	values, err := argspec.Bind(name, prog.Args, "", sampleWords(prog.Args))
	if err != nil {
		return formats.Return{}, err
	}

	cfg, err := lib.Config(ctx, formats.Invocation{
		Name:    name,
		Run:     "dry",
		Session: "dry",
		Line:    "/" + name,
		Path:    []string{"router", "/" + name},
		DryRun:  true,
	})
	if err != nil {
		return formats.Return{}, err
	}

	sample := Sample{Planned: prog.Allow == nil || slices.Contains(prog.Allow, formats.Planned)}
	cfg.State = sample
	cfg.Docs = sample
	cfg.Trace = trace.Discard{}
	cfg.Show = func(formats.Table) {}
	runner, err := interp.New(cfg)
	if err != nil {
		return formats.Return{}, err
	}
	return runner.Run(ctx, prog, values, formats.CommandDepth())
}

// sampleWords is a line with a value for every required argument of the types that templates know.
func sampleWords(specs []argspec.Spec) []string {
	words := []string{}
	for i := range specs {
		s := &specs[i]
		word := "sample"
		switch {
		case !s.Required:
			continue
		case s.Type == argspec.Boolean:
			word = "true"
		case s.Type == argspec.Task || s.Type == argspec.Integer:
			word = strconv.Itoa(SampleTask)
		}
		words = append(words, "--"+s.Name+"="+word)
	}
	return words
}
