//go:build !linux

package main

// underFaults does nothing: only Linux has the filter.
func underFaults() {}
