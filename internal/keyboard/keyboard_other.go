//go:build !unix

package keyboard

import (
	"context"
	"errors"
	"os"
	"time"
)

// New tells that there is none on this system, so that nothing else is called.
func New(*os.File) (*Keyboard, error) { return nil, errors.ErrUnsupported }

// Wake does nothing here.
func (k *Keyboard) Wake() {}

// Typed tells of nothing here.
func (k *Keyboard) Typed(context.Context, time.Duration) (bool, error) { return false, nil }

func (k *Keyboard) read(context.Context, time.Duration) ([]byte, error) { return nil, nil }

// Guard does nothing here.
func (k *Keyboard) Guard(context.Context, func(byte)) {}

// Foreground tells that this process has the terminal.
func Foreground(*os.File) bool { return true }
