//go:build !linux || !(amd64 || arm64)

package nats_test

// otherPrograms are what this test's program is under another name. Each returns an exit code.
var otherPrograms = map[string]func() int{tapName: runTap}
