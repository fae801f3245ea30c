//go:build !linux

package bench_test

import "os"

func datasync(f *os.File) error {
	return f.Sync()
}
