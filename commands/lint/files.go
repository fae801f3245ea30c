package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/dialect"
	"tercet/internal/md"
)

// Each reads files and collects the findings of do. An error of do that is not findings ends it.
func Each(files []string, do func(name string, src []byte) ([]byte, []formats.Diagnostic, error)) (
	*formats.Diagnostics, error,
) {
	all := &formats.Diagnostics{Sources: map[string][]byte{}}
	for _, name := range files {
		src, err := Read(name)
		var list []formats.Diagnostic
		if err == nil {
			src, list, err = do(name, src)
			all.Sources[name] = src
		}
		if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
			list = d.List
		} else if err != nil {
			return nil, err
		}
		all.List = append(all.List, list...)
	}
	return all, nil
}

// Read reads a file up to the size limit of commands; a larger file is a finding.
func Read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, formats.Broken(formats.CodeUsage, name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, formats.Fail(formats.CodeUsage, "", "%s: expected a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, name, err)
	}
	src, err := commands.ReadAll(f, commands.MaxFile)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, name, err)
	}
	if len(src) <= commands.MaxFile {
		return src, nil
	}
	text := fmt.Sprintf("text of %d bytes, the limit is %d",
		max(info.Size(), int64(len(src))), commands.MaxFile)
	return nil, &formats.Diagnostics{List: []formats.Diagnostic{
		formats.AboutFile(md.CodeTooLarge, name, text, "split the file"),
	}}
}

// Rewrite replaces the text that was read; a link stays a link. It fails if the file has changed
// since.
func Rewrite(name string, was, text []byte) error {
	full, err := filepath.EvalSymlinks(name)
	if err == nil {
		full, err = filepath.Abs(full)
	}
	if err == nil {
		err = atomicfile.Write(full, text, atomicfile.Options{Before: func() error {
			if now, err := os.ReadFile(full); err != nil || !bytes.Equal(now, was) {
				return errors.Join(errors.New("the file was changed meanwhile"), err)
			}
			return nil
		}})
	}
	if err != nil {
		return formats.Broken(formats.CodeIO, name, err, "run the command again")
	}
	return nil
}

// Files lists the named files and the markdown files below named folders. It leaves out documents:
// in a workspace and in the folders of other tools all but commands and subagents, around a
// workspace the files that declare neither. An unreadable file in a folder is a finding.
func Files(paths []string) (files []string, unread []formats.Diagnostic, err error) {
	for _, p := range paths {
		top, _ := filepath.Abs(p) //nolint:errcheck // without a name it is no folder of a tool
		_, apart := os.Stat(filepath.Join(p, formats.Workspace))
		err := filepath.WalkDir(p, func(name string, d os.DirEntry, err error) error {
			if name == p && (err != nil || !d.IsDir()) {
				files = append(files, name)
				return err
			}

			around, _ := filepath.Abs(filepath.Dir(name)) //nolint:errcheck // without a name it is no workspace
			inWorkspace := name != p && filepath.Base(around) == formats.Workspace
			ofTool := dialect.Within(filepath.ToSlash(strings.TrimPrefix(
				around,
				filepath.Dir(top),
			) + "/"))
			switch {
			case err != nil:
			case d.IsDir():
				if inWorkspace && d.Name() != "commands" && d.Name() != "subagents" {
					return filepath.SkipDir
				}
				return nil
			case !inWorkspace && (strings.HasSuffix(name, ".md") && !ofTool || Foreign(name)):
				inside := ofTool ||
					strings.Contains(filepath.ToSlash(around)+"/", "/"+formats.Workspace+"/")
				if err = readable(name); err == nil && apart == nil && !inside && !declares(name) {
					return nil
				}
			default:
				return nil
			}
			if err == nil {
				files = append(files, name)
			} else {
				unread = append(unread, cannotRead(name, err))
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, formats.Fail(formats.CodeUsage,
				"write its path from the folder you are in",
				"no file and no folder stands at %q", p)
		}
		if err != nil {
			return nil, nil, formats.Broken(formats.CodeUsage, p, err)
		}
	}

	return files, unread, nil
}

// declares tells a command or subagent from the documents of a project, by its keys.
func declares(name string) bool {
	src, err := Read(name)
	text := "\n" + string(src)
	return err != nil || strings.Contains(text, "\ncommand:") || strings.Contains(text, "\nname:")
}

// readable says why a file cannot be read.
func readable(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("expected a file or a folder")
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
	return formats.AboutFile(formats.CodeIO.String(), name, "cannot be read: "+err.Error(),
		"make it a regular file that can be read, or take it away")
}
