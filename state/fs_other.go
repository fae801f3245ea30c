//go:build !linux

package state

func fileSystem(string) string { return "" }

func pidNamespace() string { return "" }
