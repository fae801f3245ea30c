package project

import (
	"bytes"
	"context"

	"tercet/formats"
	"tercet/state"
	"tercet/state/exchange"
)

// ForeignState is a file of tasks of another system in the project. Its tasks may differ from those
// of state.json.
type ForeignState struct {
	File  string           `json:"file"`
	Is    ForeignRelation  `json:"is"`
	Holds string           `json:"holds"` // in a few words; empty for one that is imported
	Tasks int              `json:"tasks"` // that an import would read; 0 for one that is imported
	Line  string           `json:"line"`  // what takes its tasks over
	file  *exchange.Import // nil for one that is imported
}

// ForeignRelation is how a file of tasks and state.json are related.
type ForeignRelation string

// The relations.
const (
	ForeignNew      ForeignRelation = "not_imported"
	ForeignChanged  ForeignRelation = "changed"
	ForeignImported ForeignRelation = "imported"
)

// String says in one line what is to be done about the file; empty for one that is imported.
func (f ForeignState) String() string {
	switch {
	case f.Is == ForeignImported:
		return ""
	case f.file.Err() != nil:
		return f.File + " has tasks of another system and cannot be imported as it is; " +
			"what is wrong with it says: " + f.Line + " --dry-run"
	case f.Is == ForeignChanged:
		return f.File + " changed after its import; take the change over with: " + f.Line
	}
	return f.File + " holds " + f.Holds + ", of which tercet knows nothing; take them over with: " +
		f.Line
}

// ForeignStates lists the files of tasks that other systems keep in the project.
func (p *Project) ForeignStates(ctx context.Context) []ForeignState {
	if p.Root == nil || !p.HasWorkspace {
		return nil
	}

	reader := p.Reader
	var err error
	if reader == nil { // only the command files were read
		reader, err = state.NewReader(p.StateConfig(0, nil))
	}
	var sources map[string]string
	if err == nil {
		sources, err = reader.ImportedFrom(ctx)
	}
	if err != nil {
		return nil // what is wrong with the state is told elsewhere
	}

	var out []ForeignState
	for _, found := range exchange.Find(p.Root, p.Config.Specs) {
		one := ForeignState{
			File: found.File,
			Is:   ForeignNew,
			Line: "tercet state import " + JoinWords([]string{found.Import}),
		}
		switch sources[found.File] {
		case "":
		case formats.Sum(found.Src):
			one.Is = ForeignImported
		default:
			one.Is = ForeignChanged
		}

		if one.Is != ForeignImported {
			one.file = exchange.Read(found.File, found.Src, exchange.Options{})
			one.Tasks = one.file.Count()
			one.Holds = one.file.Describe()
		}
		out = append(out, one)
	}
	return out
}

// reexportCommand gives the command that writes an imported file anew if it lacks what changed in
// state.json since; else it is empty.
func (p *Project) reexportCommand(ctx context.Context, file string) string {
	const shape = exchange.ShapeProjects
	src, err := p.Docs.Open(ctx, file)
	if err != nil || !bytes.Contains(src, []byte(shape)) {
		return ""
	}
	out, err := p.Reader.Export(ctx, shape, false)
	if err != nil || exchange.SameJSON(src, out) {
		return ""
	}
	return "tercet state export --shape " + shape + " >" + JoinWords([]string{file})
}

// foreignDigests gives the digests of the files of tasks that other systems keep here, by path.
func (p *Project) foreignDigests() map[string]string {
	out := map[string]string{}
	if p.Root == nil || !p.HasWorkspace {
		return out
	}
	for _, found := range exchange.Find(p.Root, p.Config.Specs) {
		out[found.File] = formats.Sum(found.Src)
	}
	return out
}

// noteForeignChanges notes which files of tasks of other systems a run changed.
func (p *Project) noteForeignChanges(ctx context.Context, before map[string]string) {
	after := p.foreignDigests()
	for _, f := range p.ForeignStates(ctx) {
		if f.Is != ForeignImported && before[f.File] != after[f.File] {
			p.note("%s changed during this run, and tercet's state did not; "+
				"take the change over with: %s", f.File, f.Line)
		}
	}
}

// findForeignTask names the file of another system that has a task which state.json lacks, and the
// line that takes it over; has is false if it has not that task.
func (p *Project) findForeignTask(ctx context.Context, number int) (file, line string, has bool) {
	for _, f := range p.ForeignStates(ctx) {
		if f.Is == ForeignImported {
			continue
		}
		file, line = f.File, f.Line
		if f.file.Has(number) {
			return file, line, true
		}
	}
	return file, line, false
}
