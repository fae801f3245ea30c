package commands

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/nearest"
)

//go:embed library/*.md
var library embed.FS

// Embedded holds the command files inside the binary; its root holds the files.
func Embedded() (fs.FS, error) {
	return fs.Sub(library, "library")
}

// MaxFile bounds a command file, in bytes.
const MaxFile = 256 << 10

// Tasks reports whether a task is active, and whether it is in the archive.
type Tasks interface {
	HasTask(ctx context.Context, number int) (bool, error)
	ArchivedTask(ctx context.Context, number int) (bool, error)
}

// Docs reports whether a path of the project root exists.
type Docs interface {
	Exists(ctx context.Context, path string) (bool, error)
}

// Person is how commands talk to the user who typed a line.
type Person struct {
	// Begin is called after binding, before anything runs; its error ends the line. Nil lets every
	// line begin.
	Begin func(ctx context.Context, inv formats.Invocation) error
	// Ask gives one answer to each question, empty where an optional one is skipped. Its error ends
	// the line. Nil never asks.
	Ask func(ctx context.Context, missing MissingArguments) (answers []string, err error)
	// Typed means that an incomplete line goes back to the user for editing, unless its command
	// asks for the missing arguments.
	Typed bool
	// Warn shows findings that do not refuse the file.
	Warn func([]formats.Diagnostic)
	// Tell gives the user a line, once. Nil tells nothing.
	Tell func(text string)
	// Inject runs the commands and reads the files that another tool's prompt embeds, after the
	// user approved them, and gives the whole text. Nil leaves the marks as they are.
	Inject func(
		ctx context.Context,
		inv formats.Invocation,
		c *dialect.Command,
		pieces []dialect.Output,
	) (string, error)
}

// Library runs commands. Open, Env, Tasks, Docs and Config are required.
type Library struct {
	Person

	// Open reads a command file of a source, at most MaxFile bytes.
	Open func(source, file string) ([]byte, error)
	Env  compile.Env
	// Tasks and Docs are nil without a workspace; then arguments that need them are refused.
	Tasks Tasks
	Docs  Docs
	// Elsewhere names a file of another system whose tasks the state lacks, and the line that takes
	// them over; has tells whether that task is in it. Nil, or no file: there is none.
	Elsewhere func(ctx context.Context, number int) (file, line string, has bool)
	// Files lists what the user may mean by a path at which there is no file, the likeliest first;
	// nil: nothing.
	Files func(ctx context.Context) []string
	// Rules reads the rules of the project, for arguments that they answer; nil: there are none.
	Rules func(ctx context.Context) (map[string]any, error)
	// Config gives a run everything that it can reach; it is called once, after binding.
	Config func(ctx context.Context, inv formats.Invocation) (interp.Config, error)
	// Several is needed only for lines that name several tasks.
	Several Several
	// Admit refuses a program that may exceed its ceiling, before anything is written; nil admits
	// all.
	Admit func(*compile.Program, argspec.Values) error
	// Foreign holds the sources that are folders of other tools, by name.
	Foreign map[string]dialect.Place
	// Loaded says which files are those of other tools; nil: only the names of folders do.
	Loaded *dialect.Loaded
	// Dir is the project root, absolute, with slashes; other tools' files may refer to it.
	Dir string
}

// Load reads and compiles a command file. For the prompt of another tool it also gives the Prompt;
// for a workflow that is nil.
func (l *Library) Load(source, file string) (*compile.Program, *dialect.Command, error) {
	src, err := l.read(source, file)
	if err != nil {
		return nil, nil, err
	}
	name := display(source, file)
	if place, ok := l.foreignPlace(source, file, src); ok {
		return l.loadForeign(place, file, src)
	}
	if place, inside, ok := dialect.PlaceOf(name); ok && !place.Agents {
		return l.loadForeign(place, inside, src)
	}
	prog, err := compile.Compile(syntax.Read(name, src), l.Env)
	return prog, nil, err
}

// read opens a command file; the error names it.
func (l *Library) read(source, file string) ([]byte, error) {
	src, err := l.Open(source, file)
	if err == nil {
		return src, nil
	}

	code := formats.CodeOf(err)
	if code == formats.CodeUnknown {
		code = formats.CodeIO
	}

	return nil, &formats.Failure{
		Code:    code,
		Message: "command file " + display(source, file),
		Err:     err,
		Help:    formats.HelpOf(err),
	}
}

// Compile parses and compiles the text of a command file. A file in another tool's folder is read
// by that tool's rules.
func (l *Library) Compile(name string, src []byte) (*compile.Program, error) {
	place, inside, ok := l.PlaceOf(name)
	if !ok {
		place, inside, ok = OwnPrompt(name, src)
	}
	if ok && !place.Agents {
		prog, _, err := l.loadForeign(place, inside, src)
		return prog, err
	}
	return compile.Compile(syntax.Read(name, src), l.Env)
}

// PlaceOf finds the folder of another tool from which a file is loaded, and the file's path there.
func (l *Library) PlaceOf(name string) (place dialect.Place, inside string, ok bool) {
	return l.Loaded.PlaceOf(name)
}

// IsDocument reports whether a file lies in a folder of another tool and is no file that the tool
// would load.
func (l *Library) IsDocument(name string) bool {
	return l.Loaded.IsDocument(name)
}

// display names a file in messages: project files by their path, those of the library with its name
// before them.
func display(source, file string) string {
	return source + "/" + file
}

// RunCommand implements router.Runner: it loads the file, binds the arguments and runs the program.
// The error is the engine's; the result of the command is the return.
func (l *Library) RunCommand(ctx context.Context, inv formats.Invocation) (formats.Return, error) {
	if c, flow, err := l.Prompt(inv.Source, inv.File); err != nil {
		return formats.Return{}, err
	} else if c != nil && !flow {
		return l.runPrompt(ctx, inv, c)
	}

	prog, _, err := l.Load(inv.Source, inv.File)
	if err != nil {
		return formats.Return{}, err
	}
	if l.Warn != nil && len(prog.Warnings) > 0 {
		l.Warn(prog.Warnings)
	}
	values, err := argspec.Bind(inv.Name, prog.Args, inv.Raw, inv.Words)
	if use, ok := errors.AsType[*argspec.UsageError](err); ok && len(use.Open) > 0 {
		inv, values, err = l.completeLine(ctx, inv, prog, use)
	}
	if err == nil {
		err = l.choose(ctx, &inv, &prog, &values)
	}
	if err != nil {
		return formats.Return{}, err
	}

	err = l.checkExisting(ctx, inv.Name, prog, values)
	if err == nil {
		err = l.begin(ctx, inv)
	}
	if err != nil {
		return formats.Return{}, err
	}
	if len(values.Tasks()) > 1 {
		return l.runEach(ctx, inv, prog, values)
	}
	return l.run(ctx, inv, prog, values, nil)
}

// EngineFlags gives the engine's flags in a line, if the command does not declare them; the error
// is the line's. An unusable file has none.
func (l *Library) EngineFlags(e Entry, raw string, words []string) ([]string, error) {
	all := words
	if all == nil {
		all = strings.Fields(raw)
	}

	if !slices.ContainsFunc(all, argspec.IsEngineFlag) {
		return nil, nil
	}

	prog, prompt, err := l.Load(e.Source, e.File)
	if err != nil || prompt != nil {
		return nil, nil //nolint:nilerr // it is told when the line runs
	}

	values, err := argspec.Bind(e.Name, prog.Args, raw, words)
	if err != nil && slices.Contains(all, "--json") {
		return []string{"--json"}, err
	}
	return values.Engine, err
}

func (l *Library) begin(ctx context.Context, inv formats.Invocation) error {
	if l.Begin == nil {
		return nil
	}
	return l.Begin(ctx, inv)
}

func (l *Library) run(ctx context.Context, inv formats.Invocation, prog *compile.Program,
	values argspec.Values, mine *turn,
) (formats.Return, error) {
	if l.Admit != nil {
		if err := l.Admit(prog, values); err != nil {
			return formats.Return{}, err
		}
	}

	cfg, err := l.Config(ctx, inv)
	if err != nil {
		return formats.Return{}, err
	}

	if mine != nil {
		mine.Delegator = cfg.Agents
		cfg.Agents = mine
	}

	runner, err := interp.New(cfg)
	if err != nil {
		return formats.Return{}, err
	}
	return runner.Run(ctx, prog, values, inv.Depth)
}

// Missing names a task or a file that the arguments name and that does not exist; nil without a
// workspace.
func (l *Library) Missing(ctx context.Context, prog *compile.Program, values argspec.Values) error {
	if l.Tasks == nil {
		return nil
	}
	return l.checkExisting(ctx, prog.Name, prog, values)
}

// checkExisting asks for every task and path that the arguments name.
func (l *Library) checkExisting(
	ctx context.Context,
	name string,
	prog *compile.Program,
	values argspec.Values,
) error {
	for _, spec := range prog.Args {
		v, ok := values.Get(spec.Name)
		if !ok || v == nil {
			continue
		}
		if spec.Type == argspec.Path {
			if err := l.checkPath(ctx, name, prog, spec, values); err != nil {
				return err
			}
		}
		if spec.Type == argspec.Task || spec.Type == argspec.Tasks {
			isList := spec.Type == argspec.Tasks
			if err := l.checkTasks(ctx, name, isList, numbers(v)...); err != nil {
				return err
			}
		}
	}
	if err := l.checkTasks(ctx, name, false, values.Tasks()...); err != nil {
		return err
	}
	if n, ok := values.Task(); ok {
		return l.checkTasks(ctx, name, false, n)
	}
	return nil
}

// noWorkspaceError refuses an argument that only a workspace can answer for.
func noWorkspaceError(command string) error {
	return formats.Fail(formats.CodeNoWorkspace, "run tercet init",
		"/%s needs a workspace", command)
}

func (l *Library) checkPath(
	ctx context.Context,
	name string,
	prog *compile.Program,
	spec argspec.Spec,
	values argspec.Values,
) error {
	if spec.Pattern != nil {
		return nil
	}
	if l.Docs == nil {
		return noWorkspaceError(name)
	}

	v, _ := values.Get(spec.Name)
	list, repeated := v.([]any)
	if !repeated {
		list = []any{v}
	}
	for _, one := range list {
		p := fmt.Sprint(one)
		ok, err := l.Docs.Exists(ctx, p)
		if err != nil {
			return err
		}
		if !ok {
			e := noFileError(
				name,
				prog.Args,
				spec.Expected("an existing file of the project", p),
				p,
				values.Raw,
			)
			e.Advice = l.nearFile(ctx, p, values)
			return e
		}
	}

	return nil
}

// nearFile names the file that is meant by a path at which there is none: one whose path or name is
// similar, or the newest report of the task; empty if there is none of these.
func (l *Library) nearFile(ctx context.Context, wanted string, values argspec.Values) string {
	if l.Files == nil {
		return ""
	}
	files := l.Files(ctx)
	if help := nearest.Help(wanted, files); help != "" {
		return help
	}
	byName := map[string]string{}
	for _, file := range slices.Backward(files) {
		byName[path.Base(file)] = file
	}
	names := nearest.Names(path.Base(wanted), slices.Collect(maps.Keys(byName)))
	if len(names) > 0 {
		return "did you mean '" + byName[names[0]] + "'?"
	}

	number, ok := values.Task()
	if !ok {
		return ""
	}
	reports := fmt.Sprintf("%s/specs/%03d_*/reports/*", formats.Workspace, number)
	for _, file := range slices.Backward(files) {
		if ok, _ := path.Match(reports, file); ok { //nolint:errcheck // the pattern is well formed
			return fmt.Sprintf("task %d has the report '%s'", number, file)
		}
	}
	return ""
}

// noFileError is the usage error about a path at which there is no file, with the place where it
// was named.
func noFileError(
	command string, specs []argspec.Spec, message, file, raw string,
) *argspec.UsageError {
	e := &argspec.UsageError{
		Command: command,
		Message: message,
		Specs:   specs,
		Line:    "/" + command + " " + raw,
	}
	e.Pos = len(e.Line)
	e.End = len(e.Line)
	if at := strings.LastIndex(e.Line, file); at >= 0 {
		e.Pos = at
		e.End = at + len(file)
	}
	return e
}

// checkTasks asks for each number of a list. With old an archived task counts too: the state says
// what may be done with it.
func (l *Library) checkTasks(ctx context.Context, command string, old bool, list ...int) error {
	if l.Tasks == nil && len(list) > 0 {
		return noWorkspaceError(command)
	}
	for _, n := range list {
		if ok, err := l.Tasks.HasTask(ctx, n); err != nil {
			return err
		} else if ok {
			continue
		}
		archived, err := l.Tasks.ArchivedTask(ctx, n)
		switch {
		case archived && old:
			continue
		case archived:
			return formats.Fail(formats.CodeNotFound,
				fmt.Sprintf("run 'tercet task unarchive %d' to work on it again", n),
				"task %d is archived",
				n)
		}
		fail := formats.Fail(formats.CodeNotFound, "'tercet task list' shows the tasks",
			"task %d does not exist", n)
		if err != nil {
			return errors.Join(fail, err)
		}
		return fail
	}

	return nil
}

func numbers(v any) []int {
	switch v := v.(type) {
	case int:
		return []int{v}
	case []any:
		var out []int
		for _, one := range v {
			out = append(out, numbers(one)...)
		}
		return out
	}
	return nil
}
