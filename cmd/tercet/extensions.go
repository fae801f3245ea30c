package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// extension is one of Gemini CLI's that is there.
type extension struct{ name, dir, label string }

// maxExtensions bounds how many folders are looked into.
const maxExtensions = 200

// extensions lists the extensions of Gemini CLI in the folder of a project, whose base is ".", or of a person, whose base is
// the home folder. One is a folder with a file gemini-extension.json; one that was linked lies elsewhere. The person's file of
// rules says which are switched off for a project.
func extensions(tree fs.FS, base, project string) []extension {
	const folder = ".gemini/extensions"
	entries, err := fs.ReadDir(tree, folder)
	if err != nil {
		return nil
	}
	own := base == "."
	rules := map[string]struct {
		Overrides []string `json:"overrides"`
	}{}
	if !own {
		readConfig(tree, folder+"/extension-enablement.json", &rules)
	}
	var out []extension
	for _, e := range entries[:min(len(entries), maxExtensions)] {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := path.Join(folder, e.Name())
		one := extension{dir: path.Join(base, at), label: path.Join("~", at)}
		from, inside := tree, at
		var install struct {
			Type   string `json:"type"`
			Source string `json:"source"`
		}
		if own {
			one.dir, one.label = at, at
		} else if readConfig(tree, at+"/.gemini-extension-install.json", &install) && install.Type == "link" && filepath.IsAbs(install.Source) {
			one.dir, one.label = filepath.ToSlash(install.Source), "extension "+e.Name()
			from, inside = os.DirFS(install.Source), "."
		}
		var manifest struct {
			Name string `json:"name"`
		}
		if !readConfig(from, path.Join(inside, "gemini-extension.json"), &manifest) || !isExtension(manifest.Name) {
			continue
		}
		if one.name = manifest.Name; switchedOn(rules[one.name].Overrides, filepath.ToSlash(project)) {
			out = append(out, one)
		}
	}
	return out
}

// isExtension tells whether a name can be one of an extension: it stands before the names of commands.
func isExtension(name string) bool {
	return name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// switchedOn reads rules such as /work/* and !/work/old/*, of which the last that matches a folder counts. Without one an
// extension is on.
func switchedOn(rules []string, folder string) bool {
	folder = "/" + strings.Trim(folder, "/") + "/"
	on := true
	for _, rule := range rules {
		rule, off := strings.CutPrefix(rule, "!")
		parent, below := strings.CutSuffix(rule, "*")
		parent = "/" + strings.Trim(parent, "/") + "/"
		if parent == "//" {
			parent = "/"
		}
		if folder == parent || below && strings.HasPrefix(folder, parent) {
			on = !off
		}
	}
	return on
}
