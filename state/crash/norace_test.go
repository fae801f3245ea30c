//go:build !race && linux && (amd64 || arm64)

package crash_test

const raceEnabled = false
