package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tercet/formats"
	"tercet/internal/config"
)

// config reads the configuration of the workspace and of the person; an unknown key is a warning.
func (a *app) config(tree fs.FS, has bool) (config.Config, error) {
	var layers []config.Layer
	if has {
		data, err := fs.ReadFile(tree, configFile)
		switch {
		case err == nil:
			layers = append(layers, config.Layer{Name: config.WorkspaceLayer, File: configFile, Data: data})
		case !errors.Is(err, fs.ErrNotExist):
			return config.Config{}, broken(formats.CodeConfig, configFile, err)
		}
	}
	own, err := a.personConfig()
	if err != nil {
		return config.Config{}, err
	}
	layers = append(layers, own...)
	cfg, found := config.Load(layers...)
	d := &formats.Diagnostics{List: found, Of: formats.CodeConfig, Sources: map[string][]byte{}}
	for _, l := range layers {
		d.Sources[l.File] = l.Data
	}
	if d.HasErrors() {
		return cfg, d
	}
	if !a.flags.quiet {
		a.term.diagnostics(d)
	}
	return cfg, nil
}

// personConfig reads the configuration of the person: it alone can set the order of tiers.
func (a *app) personConfig() ([]config.Layer, error) {
	dir := a.env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := a.env("HOME")
		if !filepath.IsAbs(home) {
			return nil, nil
		}
		dir = filepath.Join(home, ".config")
	}
	name := filepath.Join(dir, "tercet", "config.yaml")
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &formats.Failure{
			Code: formats.CodeConfig, Message: name, Err: err, Help: "make it readable, or remove it",
		}
	}
	return []config.Layer{{Name: "user", File: name, Data: data}}, nil
}
