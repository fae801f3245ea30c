//go:build !unix

package proc

import (
	"context"
	"errors"
)

// Run is not supported here.
func (f Foreground) Run(context.Context) (Result, error) {
	return Result{}, errors.ErrUnsupported
}
