package subagents

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/md"
)

// skillFolders are the folders of a project that hold skills, one in each folder below.
var skillFolders = []string{
	".claude/skills", ".agents/skills", ".github/skills", ".gemini/skills", ".opencode/skills",
}

// maxSkill bounds the text of a skill, in bytes.
const maxSkill = 64 << 10

// ResolveSkills adds the texts of the skills that the file names to its knowledge. A skill that is
// not there is an error.
func (d *Definition) ResolveSkills(project fs.FS) error {
	list := &formats.Diagnostics{Sources: map[string][]byte{d.File: d.Src}}
	for _, skill := range d.Refs.Skills {
		folder, src := findSkill(project, skill.Name)
		why := ""
		switch {
		case folder == "":
			why = "is not in " + strings.Join(skillFolders, ", ")
		case len(src) > maxSkill:
			why = fmt.Sprintf("has more than %d KiB", maxSkill>>10)
		case !utf8.Valid(src):
			why = "is no text in UTF-8"
		}

		doc, problems := md.Parse(src)
		text := lines(doc, doc.BodyLine, doc.LineCount())
		if why == "" && (len(problems) > 0 || text == "") {
			why = "has no text that can be read"
		}
		if why != "" {
			bad := atStart(codeMissing, d.File,
				fmt.Sprintf("skill %q of subagent %q %s", skill.Name, d.Info.Name, why),
				"write "+skillFolders[0]+"/"+skill.Name+"/SKILL.md")
			bad.Pos = skill.Pos
			list.List = append(list.List, bad)
			continue
		}

		if d.Info.Facets == nil {
			d.Info.Facets = map[string]string{}
		}
		d.Info.Facets[folder+"/SKILL.md"] = formats.Sum(src)
		d.Facets.Knowledge = append(d.Facets.Knowledge, fmt.Sprintf(
			"The skill %s. Paths in it are below %s/:\n\n%s", skill.Name, folder, text))
	}
	if len(list.List) > 0 {
		return list
	}
	return nil
}

// findSkill gives the folder of a skill and its file; an empty folder means that there is none.
func findSkill(project fs.FS, name string) (folder string, src []byte) {
	if project == nil {
		return "", nil
	}
	for _, dir := range skillFolders {
		at := dir + "/" + name
		src, err := fs.ReadFile(project, at+"/SKILL.md")
		if err == nil {
			return at, src
		}
	}
	return "", nil
}
