package project

import (
	"context"
	"errors"
	"strings"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/router"
	"tercet/subagents/builtin"
)

// LinePart is a line of several that were typed as one, and what joins it with the one before.
type LinePart = router.Part

// Chain splits a line at ` && /NAME` and ` ; /NAME`, outside quotes, where NAME is a command.
// Elsewhere these characters are text. A pipe between two commands is an error.
func (p *Project) Chain(line string) ([]LinePart, error) {
	return p.Table.Chain(line)
}

// HasCommand reports whether a line begins with a command.
func (p *Project) HasCommand(line string) bool {
	_, err := p.Table.Route(Line{Raw: line})
	return err == nil
}

// Words splits a line as its commands do: at blanks, outside quotes. An error has its place.
func Words(line string) ([]string, error) {
	words, err := argspec.Split(line)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out, nil
}

// MaxLine is the length of the longest line that is read, in bytes.
const MaxLine = argspec.MaxRaw

// CheckParallel is an error if a text is no number of tasks to do at once.
func CheckParallel(text string) error {
	_, err := argspec.Parallel(text)
	return err
}

// JoinWords makes a line of words, quoted where they need it.
func JoinWords(words []string) string {
	return argspec.Join(words)
}

// Commands describes the commands of the project as its files are now, with their arguments.
func (p *Project) Commands(ctx context.Context) ([]formats.CommandInfo, error) {
	fresh, err := Open(ctx, p.Dir, p.HasWorkspace, p.Host)
	if err != nil {
		return nil, err
	}
	s, err := fresh.Session(Options{TellsBroken: true})
	if err != nil {
		return nil, errors.Join(err, fresh.release())
	}
	return s.Commands(), fresh.release()
}

// Commands describes the commands of this session.
func (s *Session) Commands() []formats.CommandInfo {
	return s.Catalog.List()
}

// Menu lists the commands of the project as a text with a title, also where a file has taken the
// name of /help.
func (s *Session) Menu(ctx context.Context) (title, text string, err error) {
	ret, err := builtin.Reference{Catalog: s.Catalog}.Run(ctx, formats.Request{})
	return ret.Summary, ret.Text, err
}

// WithFlags gives the options with flags of tercet itself that stand behind the command of a line,
// as Session.EngineFlags gives them. What concerns only what is shown is left out. Who lets others
// write lines must not use it: --yes is among these flags.
func (o Options) WithFlags(flags []string) Options {
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--dry-run":
			o.DryRun = true
		case "--yes":
			o.Yes = true
		case "--new":
			o.New = true
		case "--if-needed":
			o.IfNeeded = true
		case "--runner":
			o.Runner = value
		case "--model":
			o.Model = value
		case "--parallel":
			o.Parallel = value
		}
	}
	return o
}
