package agentcli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
)

// Found is an agent CLI of this machine.
type Found struct {
	Name    string
	Path    string
	Version string // as the program says it, empty if it does not
}

// Installed lists the agent CLIs on the PATH of the Starter, in the order of Drivers. Nothing is started.
func Installed(s *proc.Starter) []string {
	var out []string
	for _, d := range Drivers() {
		if _, err := s.Look(d.Name); err == nil {
			out = append(out, d.Name)
		}
	}
	return out
}

// LoggedIn tells by what a program would be let in, as far as files and variables show it; empty if they show nothing,
// which does not mean that it is not.
func (d Driver) LoggedIn(lookup func(string) string) string {
	for _, key := range d.Keys {
		if lookup(key) != "" {
			return key
		}
	}
	for _, l := range d.Logins {
		base := lookup(l.Var)
		if base == "" {
			base = filepath.Join(lookup("HOME"), filepath.FromSlash(l.Home))
		}
		name := filepath.Join(base, filepath.FromSlash(l.File))
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// probeTime bounds a question for a version: the slowest of the programs takes some seconds when the disk is cold.
const probeTime = 30 * time.Second

// Probe asks an installed CLI for its version. One that is not installed, and one that does not run, is an error with
// code TOOL_UNAVAILABLE.
func Probe(ctx context.Context, s *proc.Starter, d Driver) (Found, error) {
	f := Found{Name: d.Name}
	gone := func(message string, err error) error {
		return &formats.Failure{
			Code: formats.CodeToolUnavailable, Message: message, Err: err, Help: faultHelp{d}.of(formats.CodeToolUnavailable),
		}
	}
	path, err := s.Look(d.Name)
	if err != nil {
		return f, gone("runner "+d.Name+" is not installed", nil)
	}
	f.Path = path
	res, err := s.Run(ctx, proc.Command{
		Argv: []string{d.Name, "--version"}, Private: true, Purpose: proc.PurposeProbe,
		Timeout: proc.Timeout{Total: probeTime},
	})
	switch {
	case err != nil:
		return f, gone("runner "+d.Name+" does not start", err)
	case !res.Success():
		return f, gone("runner "+d.Name+" does not tell its version: "+firstLine(string(res.Stderr)), nil)
	}
	f.Version = regexp.MustCompile(`\d+\.\d+\.\d+[0-9A-Za-z.+-]*`).FindString(string(res.Stdout))
	return f, nil
}

// ProbeACP starts an agent of the Agent Client Protocol, asks who it is and lets it go. One that is not installed, and
// one that does not answer as the protocol says, is an error with code TOOL_UNAVAILABLE.
func ProbeACP(ctx context.Context, s *proc.Starter, a Speaker, root string) (Found, error) {
	f := Found{Name: a.Name}
	driver := a.Driver
	driver.Name = filepath.Base(driver.Name)
	gone := func(message string, err error) error {
		return &formats.Failure{
			Code: formats.CodeToolUnavailable, Message: message, Err: err,
			Help: faultHelp{driver}.of(formats.CodeToolUnavailable),
		}
	}
	path, err := s.Look(a.Program(root))
	if err != nil {
		return f, gone(driver.Name+" is not installed", nil)
	}
	f.Path = path
	client := &acpClient{}
	res, err := s.Run(ctx, proc.Command{
		Argv: append([]string{a.Program(root)}, a.Driver.Argv(Call{})...), Private: true, Purpose: proc.PurposeProbe,
		Timeout: proc.Timeout{Total: probeTime},
		Talk:    client.greet,
	})
	reading, _ := client.end()
	if err == nil && !res.Killed {
		client.gate.judge(&reading, res)
	}
	switch {
	case err != nil:
		return f, gone(driver.Name+" does not start", err)
	case reading.Fault != nil:
		return f, gone(driver.Name+": "+firstLine(reading.Fault.Message), nil)
	case !client.greeted:
		return f, gone(driver.Name+" does not speak the Agent Client Protocol: "+firstLine(string(res.Stderr)), nil)
	}
	f.Version = client.version
	return f, nil
}
