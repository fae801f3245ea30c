package project

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/config"
)

// UserTeam reads the key team of the user's own config.yaml, for programs without a project. What
// it does not set is zero, but the file of the key is always an absolute path, unless there is no
// place for it.
func (h *Host) UserTeam() (config.Team, error) {
	var layer config.Layer
	dir := h.folderOf("XDG_CONFIG_HOME", ".config")
	if dir != "" {
		name := filepath.Join(dir, "config.yaml")
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return config.Team{}, formats.Broken(formats.CodeConfig, name, err,
				"make it readable, or remove it")
		}
		layer = config.Layer{Name: config.UserLayer, File: name, Data: data}
	}

	c, list := config.Load(layer)
	d := formats.Diagnostics{
		List:    list,
		Of:      formats.CodeConfig,
		Sources: map[string][]byte{layer.File: layer.Data},
	}
	if d.HasErrors() {
		return config.Team{}, &d
	}

	c.Team.Key = h.teamKey(c.Team)
	return c.Team, nil
}

// teamKey is the file with the key of a user in a team.
func (h *Host) teamKey(t config.Team) string {
	if below, ok := strings.CutPrefix(t.Key, "~/"); ok {
		return filepath.Join(h.Env("HOME"), below)
	}
	own := h.StateHome()
	if own == "" {
		return t.Key
	}
	return cmp.Or(t.Key, filepath.Join(own, "team", "member.json"))
}
