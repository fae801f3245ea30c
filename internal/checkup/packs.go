package checkup

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/packs"
)

// Packs reports the packs of a workspace. shipped maps the packs that come with tercet to their
// versions.
func Packs(project fs.FS, shipped map[string]string) (out []Finding) {
	const name = "packs"
	record, err := packs.Load(project)
	if err != nil {
		return []Finding{failure(
			name,
			err.Error(),
			"take "+packs.RecordFile+" and "+packs.Folder+" back from git",
		)}
	}

	texts := map[packs.State]string{
		packs.NoBase:     "the base of %s is not as the pack had it, so an update cannot merge",
		packs.Missing:    "%s is gone; an update leaves it so",
		packs.Conflicted: "%s.new of an update lies beside your file",
	}
	fixes := map[packs.State]string{
		packs.NoBase:     "take " + packs.Folder + " back from git",
		packs.Missing:    "to have it again: tercet pack remove %[1]s, then tercet pack add %[1]s",
		packs.Conflicted: "merge it into your file, and remove it",
	}
	for _, p := range record.Packs {
		brought, ok := shipped[p.Name]
		if ok && p.Source == packs.Builtin && packs.IsNewer(p.Version, brought) {
			out = append(out, warning(
				name,
				fmt.Sprintf("%s %s is newer than the one of this tercet, %s",
					p.Name, p.Version, brought),
				"update tercet",
			))
		}

		files := packs.States(project, p)
		for _, file := range slices.Sorted(maps.Keys(files)) {
			if text, ok := texts[files[file]]; ok {
				advice := fixes[files[file]]
				if strings.Contains(advice, "%") {
					advice = fmt.Sprintf(advice, p.Name)
				}
				out = append(out, warning(name, fmt.Sprintf(text, file), advice))
			}
		}
	}

	if len(record.Packs) > 0 && len(out) == 0 {
		out = append(out, okFinding(
			name,
			formats.Count(len(record.Packs), "pack")+", as installed or as you edited them",
		))
	}
	return out
}
