//go:build !linux

package proc

// IsSupervised is false on systems without supervisors.
func IsSupervised(string) bool {
	return false
}
