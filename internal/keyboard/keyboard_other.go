//go:build !unix

package keyboard

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Keyboard is not there on this system.
type Keyboard struct{}

// New tells that there is none.
func New(*os.File) (*Keyboard, error) { return nil, errors.ErrUnsupported }

// Wake does nothing here.
func (k *Keyboard) Wake() {}

// Read gives nothing here.
func (k *Keyboard) Read(context.Context, time.Duration) ([]byte, error) {
	return nil, errors.ErrUnsupported
}

// Typed tells of nothing here.
func (k *Keyboard) Typed(context.Context, time.Duration) bool { return false }

// Keep does nothing here.
func (k *Keyboard) Keep([]byte) {}

// Kept gives nothing here.
func (k *Keyboard) Kept() []byte { return nil }

// Drop does nothing here.
func (k *Keyboard) Drop() {}

// Restore does nothing here.
func (k *Keyboard) Restore(io.Writer) {}

// Settle does nothing here.
func (k *Keyboard) Settle(io.Writer) {}

// Guard does nothing here.
func (k *Keyboard) Guard(context.Context, func(byte)) {}

// Foreground tells that this process has the terminal.
func Foreground(*os.File) bool { return true }

// Raw is not supported here.
func (k *Keyboard) Raw(io.Writer) error { return errors.ErrUnsupported }

// Hold does nothing here.
func (k *Keyboard) Hold(io.Writer) func(bool) { return func(bool) {} }

// File is not there here.
func (k *Keyboard) File() *os.File { return nil }
