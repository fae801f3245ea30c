//go:build race && linux && (amd64 || arm64)

package crash_test

// raceEnabled: with the race detector a child takes many times as long to begin.
const raceEnabled = true
