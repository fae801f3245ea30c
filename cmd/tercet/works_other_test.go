//go:build !linux

package main

// landlocked is false: landlock is a part of Linux.
func landlocked() bool {
	return false
}
