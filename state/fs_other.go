//go:build !linux

package state

func pidNamespace() string {
	return ""
}
