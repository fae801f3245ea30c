package lint

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
	"tercet/subagents"
)

// File checks one file by its kind; strict turns warnings and plain sentences into errors.
func File(lib *commands.Library, name string, src []byte, strict bool) []formats.Diagnostic {
	list := Check(lib, name, src, Subagent(src))
	if !strict {
		return list
	}
	if !Subagent(src) {
		list = append(list, syntax.Read(name, src).Strict...)
	}
	for i := range list {
		list[i].Severity = formats.SeverityError
	}
	return list
}

// Check checks one file: another tool's if it is in that tool's folder, else a subagent or a
// command.
func Check(lib *commands.Library, name string, src []byte, subagent bool) []formats.Diagnostic {
	return append(check(lib, name, src, subagent), checkScopeName(lib, name)...)
}

func check(lib *commands.Library, name string, src []byte, subagent bool) []formats.Diagnostic {
	if place, inside, ok := lib.PlaceOf(name); ok {
		return foreign(lib, place, inside, name, src)
	}
	if !subagent {
		if place, inside, ok := commands.OwnPrompt(name, src); ok {
			return foreign(lib, place, inside, name, src)
		}
		prog, err := lib.Compile(name, src)
		return Of(name, prog, err)
	}

	def, err := subagents.ParseDefinition(name, src)
	if err != nil {
		return append(Of(name, nil, err), stepErrors(name, src)...)
	}
	found := append(def.Warnings, compile.Contract(&def.Info)...)
	// the facets lie beside the folder of the subagents, those of a pack too
	folder := filepath.Dir(name)
	if full, err := filepath.Abs(folder); err == nil &&
		filepath.Base(filepath.Dir(full)) == "subagents" {
		folder = filepath.Join(folder, "..")
		def.Info.Pack = filepath.Base(full)
	}
	if err := def.Resolve(
		os.DirFS(filepath.Join(folder, "..", "facets")),
		def.Info.Pack,
	); err != nil {
		found = append(found, Of(name, nil, err)...)
	}
	project := os.DirFS(filepath.Join(folder, "..", ".."))
	if err := def.ResolveSkills(project); err != nil {
		found = append(found, Of(name, nil, err)...)
	}
	known := len(def.Warnings)
	if err := def.ResolveServers(project); err != nil {
		found = append(found, Of(name, nil, err)...)
	}
	found = append(found, def.Warnings[known:]...)
	if err := def.CheckProgram(project); err != nil {
		found = append(found, Of(name, nil, err)...)
	}
	if !def.Info.Workflow {
		return found
	}

	flow := &commands.Workflow{
		File: name,
		Src:  src,
		Info: def.Info,
		Env:  lib.Env,
	}
	prog, err := flow.Program()
	return append(found, Of(name, prog, err)...)
}

// foreign checks a file of another tool: as that does, or by its steps.
func foreign(
	lib *commands.Library,
	p dialect.Place,
	inside, name string,
	src []byte,
) []formats.Diagnostic {
	c, err := dialect.Parse(p, inside, src)
	if p.Agents || err != nil {
		return dialect.Check(p, inside, name, src)
	}

	var list []formats.Diagnostic
	if f := commands.Flow(c); f != nil {
		prog, err := compile.Compile(f, lib.Env)
		list = Of(name, prog, err)
	} else {
		list = c.Warnings
	}

	list = slices.Clone(list)
	for i := range list {
		if list[i].File == c.File {
			list[i].File = name
		}
	}
	return list
}

// checkScopeName warns of a folder of commands that has the name of a scope: the scope wins.
func checkScopeName(lib *commands.Library, name string) []formats.Diagnostic {
	place, inside, ok := lib.PlaceOf(name)
	if full, err := filepath.Abs(name); !ok && err == nil {
		_, inside, ok = strings.Cut(filepath.ToSlash(full), "/"+formats.Workspace+"/commands/")
	}

	folder, _, below := strings.Cut(inside, "/")
	if !ok || place.Agents || place.Skills || !below || !dialect.IsScope(folder) {
		return nil
	}

	called := strings.ReplaceAll(strings.TrimSuffix(inside, path.Ext(inside)), "/", ":")
	found := formats.AboutFile(
		dialect.CodeName,
		name,
		"folder "+folder+" has the name of a scope: /"+called+
			" means the command of that scope first",
		"rename the folder; until then call this file as /project:"+called,
	)
	found.Severity = formats.SeverityWarning
	return []formats.Diagnostic{found}
}

// Foreign reports whether another tool's folder of commands or agents loads a file.
func Foreign(lib *commands.Library, name string) bool {
	_, _, ok := lib.PlaceOf(name)
	return ok
}

// stepErrors are the findings in the form of the steps of a subagent file whose definition cannot
// be read.
func stepErrors(name string, src []byte) []formats.Diagnostic {
	if !strings.Contains(string(src), "\n## Workflow Execution") {
		return nil
	}
	f := syntax.ReadWorkflow(name, src)
	return slices.DeleteFunc(f.Found, func(d formats.Diagnostic) bool {
		return d.Pos.Line < f.BodyLine
	})
}

// Of gives a compiler's findings: warnings of the program, or errors of the file.
func Of(name string, prog *compile.Program, err error) []formats.Diagnostic {
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		return d.List
	}
	if prog != nil {
		return prog.Warnings
	}
	return []formats.Diagnostic{{
		Code:     formats.CodeOf(err).String(),
		Severity: formats.SeverityError,
		File:     name,
		Message:  err.Error(),
	}}
}

// Subagent recognises a subagent file by the first key that only one of the two kinds has.
func Subagent(src []byte) bool {
	first := firstKey().FindString(strings.TrimPrefix(string(src), "---"))
	return strings.HasSuffix(first, "name:") || strings.HasSuffix(first, "role:")
}

var firstKey = lazy.Regexp(`(?m)^(?:---|command:|name:|role:)`)

// Mended is a file after 'tercet lint --fix'.
type Mended struct {
	Text []byte
	Made []formats.Diagnostic // the corrections
	Left []formats.Diagnostic // findings in Text
}

// Mend applies all fixes with a single candidate, and gives the text its standard form. It does not
// touch other files, such as a schema. A file of another tool, or one that cannot be read, keeps
// its form.
func Mend(lib *commands.Library, name string, src []byte, strict, expand bool) (Mended, error) {
	check := func(text []byte) []formats.Diagnostic {
		return File(lib, name, text, strict)
	}
	m := Mended{Text: src, Left: check(src)}

	text, _, made := formats.FixAll(
		src,
		ownFixes(name, m.Left),
		func(next []byte) []formats.Diagnostic {
			return ownFixes(name, check(next))
		},
	)
	if len(made) > 0 {
		m.Text = text
		m.Made = made
	}

	if !Foreign(lib, name) {
		formatted, err := Format(lib, name, m.Text, expand)
		if _, unreadable := errors.AsType[*formats.Diagnostics](err); err != nil && !unreadable {
			return Mended{}, err
		}
		if err == nil {
			m.Text = formatted
		}
	}

	if !bytes.Equal(m.Text, src) {
		m.Left = check(m.Text)
	}
	return m, nil
}

// Format gives the standard form of one file; the error holds the findings of an unreadable file.
func Format(lib *commands.Library, name string, src []byte, expand bool) ([]byte, error) {
	if Subagent(src) {
		_, err := subagents.ParseDefinition(name, src)
		return syntax.FormatText(src), err
	}

	if name == "-" {
		name = InputName(src)
	}
	if _, _, ok := commands.OwnPrompt(name, src); ok {
		return src, nil
	}

	f, err := syntax.Parse(name, src)
	if err != nil {
		return nil, err
	}

	if !expand {
		return syntax.Format(f), nil
	}

	prog, err := compile.Compile(f, lib.Env)
	if err != nil {
		return nil, err
	}
	return syntax.FormatText(compile.Expand(f, prog)), nil
}

// InputName is the name of the file that standard input would be in: a command says itself what it
// is called.
func InputName(src []byte) string {
	for line := range bytes.Lines(src) {
		if rest, ok := bytes.CutPrefix(line, []byte("command:")); ok {
			return string(bytes.Trim(rest, " \t\r\n\"'")) + ".md"
		}
	}
	return "-"
}

// ownFixes leaves out the changes of other files: a schema that the file names is mended by hand.
func ownFixes(name string, list []formats.Diagnostic) []formats.Diagnostic {
	list = slices.Clone(list)
	for i := range list {
		if list[i].File != name {
			list[i].Fix = nil
		}
	}
	return list
}
