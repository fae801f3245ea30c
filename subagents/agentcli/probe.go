package agentcli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
)

// Found is an installed agent CLI.
type Found struct {
	Name    string
	Path    string
	Version string // as reported; empty if not
}

// Installed lists the agent CLIs on the Starter's PATH, in the order of Drivers. It starts nothing.
func Installed(s *proc.Starter) []string {
	var out []string
	for _, d := range Drivers() {
		if _, err := s.LookPath(d.Name); err == nil {
			out = append(out, d.Name)
		}
	}
	return out
}

// LoggedIn says which file or variable logs an agent CLI in; empty if none is known, which does not
// prove that it is logged out.
func (d Driver) LoggedIn(lookup func(string) string) string {
	for _, key := range d.Keys {
		if lookup(key) != "" {
			return key
		}
	}
	for _, l := range d.Logins {
		base := cmp.Or(lookup(l.Var), filepath.Join(lookup("HOME"), filepath.FromSlash(l.Home)))
		name := filepath.Join(base, filepath.FromSlash(l.File))
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(name)
		if l.Holds == "" || err == nil && strings.Contains(string(text), l.Holds) {
			return name
		}
	}
	return ""
}

// probeTime bounds a question for a version: the slowest of the programs takes some seconds when
// the disk is cold.
const probeTime = 30 * time.Second

// Probe asks an installed CLI for its version. If it is missing or does not run, the error has code
// TOOL_UNAVAILABLE.
func Probe(ctx context.Context, s *proc.Starter, d Driver) (Found, error) {
	f, res, err := start(ctx, s, d, "runner "+
		d.Name, proc.Command{Argv: []string{d.Name, "--version"}})
	switch {
	case err != nil:
		return f, err
	case !res.Success():
		return f, d.unavailable(
			"runner "+d.Name+" does not print its version: "+firstLine(string(res.Stderr)),
			nil,
		)
	}
	version := regexp.MustCompile(`\d+\.\d+\.\d+[0-9A-Za-z.+-]*`).FindString(string(res.Stdout))
	f.Version = strings.TrimRight(version, ".") // which ends a sentence
	return f, nil
}

// unavailable is the failure of a program that is no runner.
func (d Driver) unavailable(message string, err error) error {
	code := formats.CodeToolUnavailable
	return &formats.Failure{
		Code:    code,
		Message: message,
		Err:     err,
		Help:    d.help(code),
	}
}

// start starts a program for a question; what is how messages name it.
func start(
	ctx context.Context,
	s *proc.Starter,
	d Driver,
	what string,
	c proc.Command,
) (Found, proc.Result, error) {
	f := Found{Name: d.Name}
	path, err := s.LookPath(c.Argv[0])
	if err != nil {
		return f, proc.Result{}, d.unavailable(what+" is not installed", nil)
	}

	f.Path = path
	c.Private = true
	c.Purpose = proc.PurposeProbe
	c.Timeout = proc.Timeout{Total: probeTime}
	res, err := s.Run(ctx, c)
	if err != nil {
		err = d.unavailable(what+" does not start", err)
	}
	return f, res, err
}

// ProbeACP starts an ACP agent, asks for its name and ends it. If it is missing or does not speak
// the protocol, the error has code TOOL_UNAVAILABLE.
func ProbeACP(ctx context.Context, s *proc.Starter, a Speaker, root string) (Found, error) {
	d := a.Driver
	client := &acpClient{}
	d.Name = filepath.Base(d.Name)
	f, res, err := start(ctx, s, d, d.Name, proc.Command{
		Argv: append([]string{a.Program(root)}, a.Driver.Argv(Call{})...),
		Talk: client.talkWith(client.initialize), // it is asked who it is, and nothing else
	})
	f.Name = a.Name
	if err == nil && !res.Killed {
		client.judge(&client.reading, res)
	}

	switch {
	case err != nil:
		return f, err
	case client.reading.Fault != nil:
		return f, d.unavailable(d.Name+": "+firstLine(client.reading.Fault.Message), nil)
	case client.agent == nil:
		return f, d.unavailable(
			d.Name+" does not speak the Agent Client Protocol: "+firstLine(string(res.Stderr)),
			nil,
		)
	}
	f.Version = client.agent.Version
	return f, nil
}
