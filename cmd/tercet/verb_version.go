package main

import "runtime"

const version = "0.1.0"

func showVersion(c call) error {
	if !c.document("tercet.version/1", fields{
		"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
	}) {
		c.term.answer("tercet %s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	}
	return nil
}
