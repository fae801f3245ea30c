//go:build !linux

package proc

// Supervised is false on systems without supervisors.
func Supervised(string) bool {
	return false
}
