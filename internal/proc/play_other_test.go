//go:build unix && !linux

package proc_test

func playMore(string) int {
	return 99
}
