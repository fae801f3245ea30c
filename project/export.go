package project

import (
	"crypto/rand"
	"os"
	"slices"

	"tercet/formats"
	"tercet/templates/shims"
)

// ExportChange is what an export does with one file.
type ExportChange = shims.Change

// ExportPlugin is the export that is a plugin in a folder of its own.
const ExportPlugin = shims.Plugin

// Exports are the tools for which the commands can be exported.
func Exports() []string { return shims.Tools() }

// Export are the files that an agent CLI reads as its own commands, each of which calls tercet.
type Export struct {
	Tool   string // one of Exports
	Dir    string // the folder of a plugin; of other tools empty
	Remove bool   // remove what was written
	DryRun bool
}

// IsPlugin reports whether the export is written into a folder that the user names.
func (e Export) IsPlugin() bool { return e.Tool == ExportPlugin }

// KeepsFiles reports whether a file stays as it is because tercet did not write it, or because it
// was changed since.
func KeepsFiles(changes []ExportChange) bool {
	return slices.ContainsFunc(changes, func(one ExportChange) bool {
		return one.Did == shims.Kept
	})
}

// Does says in a word what becomes of a file.
func (e Export) Does(one ExportChange) string {
	if e.DryRun && (one.Did == shims.Written || one.Did == shims.Removed) {
		return "would be " + one.Did
	}
	return one.Did
}

// Export writes or removes the files of an export, and lists them.
func (s *Session) Export(e Export) ([]ExportChange, error) {
	root, err := s.exportRoot(e)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // what was written is closed

	w := shims.Writer{Root: root, Word: rand.Text, Version: s.Project.Host.Version}
	var list []formats.CommandInfo
	if !e.Remove {
		list = s.exportable()
	}

	changes, err := w.Plan(e.Tool, list)
	if err != nil {
		return nil, err
	}
	if err := checkPlugin(changes); err != nil {
		return nil, err
	}
	if e.DryRun {
		return changes, nil
	}
	return changes, w.Apply(changes)
}

// exportable are the commands of tercet's own that can be called, without /help: an agent has these
// files instead.
func (s *Session) exportable() []formats.CommandInfo {
	return slices.DeleteFunc(s.Commands(), func(one formats.CommandInfo) bool {
		_, foreign := s.Library.Foreign[one.Source]
		_, _, err := s.Library.Load(one.Source, one.File)
		if err != nil {
			s.Project.note("warning: /%s is left out: run 'tercet lint %s/%s'",
				one.Name, one.Source, one.File)
		}
		return foreign || err != nil || one.Source == LibrarySource && one.Name == "help"
	})
}

// exportRoot is the folder below which the files of a tool are written: the project, or that of a
// plugin.
func (s *Session) exportRoot(e Export) (*os.Root, error) {
	dir := s.Project.Dir
	if e.IsPlugin() {
		dir = e.Dir
		if !e.DryRun {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, formats.Broken(formats.CodeIO, "folder of the plugin", err)
			}
		}
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, formats.Broken(formats.CodeUsage, "folder "+dir, err, "make it first")
	}
	return root, nil
}

// checkPlugin refuses a folder that is another plugin.
func checkPlugin(changes []ExportChange) error {
	for _, one := range changes {
		if one.File == shims.PluginFile && one.Did == shims.Kept {
			return formats.Fail(formats.CodePrecondition, "name another folder",
				"expected a folder for a plugin, got one with a plugin that tercet did not write, "+
					"or that was changed since")
		}
	}
	return nil
}
