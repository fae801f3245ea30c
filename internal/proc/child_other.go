//go:build !unix

package proc

import (
	"errors"
	"os"
	"os/exec"
)

// launch refuses: without process groups, descendants of a child could not be ended.
func launch(*exec.Cmd) error {
	return errors.ErrUnsupported
}

func detach(*exec.Cmd) error {
	return errors.ErrUnsupported
}

// RedirectOutput is not supported here.
func RedirectOutput(*os.File) error {
	return errors.ErrUnsupported
}

func interrupt(*exec.Cmd) {}
func terminate(*exec.Cmd) {}
func kill(*exec.Cmd)      {}

func blockUntilExit(*exec.Cmd) {}

func reap(*exec.Cmd) {}

func sweep(*exec.Cmd, string) {}

func signalName(*os.ProcessState) string {
	return ""
}

func openSpill(string) (*os.File, error) {
	return nil, errors.ErrUnsupported
}
