//go:build unix && !linux

package proc_test

import (
	"errors"
	"os"
)

func restrictForTest([]byte) (*os.File, error) {
	return nil, errors.ErrUnsupported
}
