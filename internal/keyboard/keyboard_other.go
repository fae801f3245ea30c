//go:build !unix

package keyboard

import (
	"context"
	"errors"
	"os"
	"time"
)

// New returns no keyboard: this system is not supported, so nothing else here is called.
func New(*os.File) (*Keyboard, error) {
	return nil, errors.ErrUnsupported
}

// Wake does nothing here.
func (k *Keyboard) Wake() {}

// Typed does nothing here.
func (k *Keyboard) Typed(context.Context, time.Duration) (bool, error) {
	return false, nil
}

func (k *Keyboard) read(context.Context, time.Duration) ([]byte, error) {
	return nil, nil
}

// Guard does nothing here.
func (k *Keyboard) Guard(context.Context, func(byte)) {}

// Foreground says that this process has the terminal.
func Foreground(*os.File) bool {
	return true
}
