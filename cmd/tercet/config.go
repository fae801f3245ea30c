package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tercet/formats"
	"tercet/internal/config"
)

// configure reads the configuration of the workspace and that of the person, which alone can set the order of tiers; an
// unknown key is a warning.
func (w *world) configure() error {
	var layers []config.Layer
	add := func(layer, name string, data []byte, err error, help ...string) error {
		switch {
		case err == nil:
			layers = append(layers, config.Layer{Name: layer, File: name, Data: data})
		case !errors.Is(err, fs.ErrNotExist):
			return broken(formats.CodeConfig, name, err, help...)
		}
		return nil
	}
	if w.has {
		data, err := fs.ReadFile(w.gate.FS("."), configFile)
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			err = of.Err // the name stands before it
		}
		if err := add(config.WorkspaceLayer, configFile, data, err); err != nil {
			return err
		}
	}
	if dir := w.app.folderOf("XDG_CONFIG_HOME", ".config"); dir != "" {
		name := filepath.Join(dir, "config.yaml")
		data, err := os.ReadFile(name)
		if err := add("user", name, data, err, "make it readable, or remove it"); err != nil {
			return err
		}
	}
	var d formats.Diagnostics
	w.cfg, d.List = config.Load(layers...)
	d.Of, d.Sources = formats.CodeConfig, map[string][]byte{}
	for _, l := range layers {
		d.Sources[l.File] = l.Data
	}
	if d.HasErrors() {
		return &d
	}
	w.warn(d)
	return nil
}
