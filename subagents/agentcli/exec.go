package agentcli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/proc"
	"tercet/subagents"
	"tercet/subagents/prompt"
)

// Runner is the name of this runner in subagent files and metadata.
const Runner = "exec"

// Exec is the Agent of one subagent file with `runner: exec`.
type Exec struct {
	Definition subagents.Definition
	Starter    *proc.Starter
	// Root is the project root. A program with a slash is looked up there, not in the working tree,
	// which other agents write. The same holds for an argument with a slash whose file differs in
	// the tree.
	Root string
	// Tercet is what starts this program in a shell: its path, quoted.
	Tercet string
	// Nonce makes a word that the executable may echo in its return; nil: none.
	Nonce func() string
	// Wrap, if not nil, sandboxes the executable and names the tier.
	Wrap Wrap
}

// Wrap gives the sandboxed command of a delegation, and the name of the tier.
type Wrap func(ctx context.Context, r formats.Request, c proc.Command) (proc.Command, string, error)

// Runner is "exec".
func (x *Exec) Runner() string {
	return Runner
}

// Run starts the executable once and reads its return.
func (x *Exec) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := x.RunMetered(ctx, r)
	return ret, err
}

// RunMetered is Run, and reports the prompt.
func (x *Exec) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	used := subagents.Measured{Runner: Runner}
	ret, err := x.run(ctx, r, &used)
	return ret, used, err
}

// run starts the program of the subagent with the request as JSON on standard input, and reads its
// return.
func (x *Exec) run(
	ctx context.Context,
	r formats.Request,
	used *subagents.Measured,
) (formats.Return, error) {
	switch {
	case len(x.Definition.Argv) == 0:
		return formats.Return{}, formats.Unset("an argv in " + x.Definition.File)
	case x.Starter == nil:
		return formats.Return{}, formats.Unset("a starter of processes")
	case x.Root == "" || r.Out == "":
		return formats.Return{}, formats.Unset("a project root and a folder for documents")
	}

	b, err := newBox(r.Out)
	if err != nil {
		return formats.Return{}, err
	}
	nonce := ""
	if x.Nonce != nil {
		nonce = x.Nonce()
	}

	in := prompt.Input{
		Request: r,
		Info:    x.Definition.Info,
		Channel: prompt.Channel{File: b.file, Nonce: nonce},
	}
	used.Told = prompt.StableSum(in) // the same on every machine
	if r.Terms.Live {
		tellBoard(&in.Request, x.Tercet)
	}
	told := prompt.Compose(in)
	used.Prompt = told.SHA256
	stdin, err := json.Marshal(newRequest(in.Request, b.file, nonce, told))
	if err != nil {
		err = &formats.Failure{
			Code:    formats.CodeBug,
			Message: "request as JSON",
			Err:     err,
		}
		return formats.Return{}, errors.Join(err, b.close())
	}

	c := proc.Command{
		Argv:    x.argv(r.Dir),
		Dir:     r.Dir,
		Stdin:   append(stdin, '\n'),
		Private: true,
		Purpose: proc.PurposeAgent,
		Env: []string{
			"TERCET_ROOT=" + x.Root,
			"TERCET_RUN=" + r.Run,
			"TERCET_OUT=" + r.Out,
			"TERCET_RETURN=" + b.file,
		},
		Timeout: proc.Timeout{Total: r.Timeout.Total, Idle: r.Timeout.Idle},
		OutFile: b.dir + outSuffix,
		ErrFile: b.dir + errSuffix,
	}

	desk, err := b.serveBoard(r.Terms.Board)
	if err != nil {
		return formats.Return{}, errors.Join(err, b.close())
	}
	c.Env = append(c.Env, desk.env()...)
	if x.Wrap != nil {
		c, used.Sandbox, err = x.Wrap(ctx, r, c)
		if err != nil {
			desk.close()
			return formats.Return{}, errors.Join(
				startFailure(ctx, err, Runner, "install it, or change argv in "+x.Definition.File),
				b.close(),
			)
		}
	}

	ret, err := x.call(ctx, r, c, b, nonce)
	desk.close()
	return ret, errors.Join(err, b.close())
}

// argv is the command line in a tree. The program is always the one at the root of the project,
// which the user agreed to, and not one that the work has changed. So is a file that an argument
// names, if the tree has another version of it.
func (x *Exec) argv(tree string) []string {
	argv := slices.Clone(x.Definition.Argv)
	for i, word := range argv {
		if !isPath(word) {
			continue
		}
		own := filepath.Join(x.Root, filepath.FromSlash(word))
		inTree := filepath.Join(tree, filepath.FromSlash(word))
		if i == 0 || differsInTree(own, inTree) {
			argv[i] = own
		}
	}
	return argv
}

// isPath tells whether a word of a command line names something below a folder.
func isPath(word string) bool {
	return strings.ContainsRune(word, '/') && !filepath.IsAbs(word)
}

// differsInTree tells whether a file of the project is another one in the tree that is worked on.
func differsInTree(own, there string) bool {
	for _, name := range []string{own, there} {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	agreed, err := os.ReadFile(own)
	if err != nil {
		return false
	}
	found, err := os.ReadFile(there)
	return err != nil || !bytes.Equal(agreed, found)
}

// call starts the program with the request and reads the return out of the box or the standard
// output.
func (x *Exec) call(
	ctx context.Context, r formats.Request, c proc.Command, b *box, nonce string,
) (formats.Return, error) {
	res, err := x.Starter.Run(ctx, c)
	if err != nil {
		return formats.Return{}, startFailure(
			ctx, err, Runner,
			"install it, or change argv in "+x.Definition.File,
		)
	}

	if f := limitFailure(r.Agent, res, r.Timeout); f != nil {
		if f.Code == formats.CodeLimit {
			f.Help = "write the return into return_path and print less"
		}
		return formats.Failed(f), nil
	}

	raw, bad, err := b.read()
	if err != nil {
		return formats.Return{}, err
	}
	if raw == nil && len(bad) == 0 {
		raw = bytes.TrimSpace(formats.WithoutBOM(res.Stdout))
		if len(raw) == 0 || raw[0] != '{' || len(res.Stdout) >= proc.DefaultCap {
			bad = []string{
				"expected a return as JSON in the file return_path, or as the whole standard " +
					"output, got neither",
			}
		}
	}

	var partial *formats.Return
	if len(bad) == 0 {
		info := x.Definition.Info
		ret, err := returns.ParseForm(raw, info.AgentResult, returns.ParseOptions{
			Agent: r.Agent,
			Nonce: nonce,
		})
		if err == nil {
			if info.AgentResult {
				ret = returns.Typed(ret, info.Fields)
			}
			if res.Exit != 0 {
				ret.Warnings = append(
					ret.Warnings,
					fmt.Sprintf("the program ended with exit code %d", res.Exit),
				)
			}
			return ret, nil
		}
		bad = strings.Split(err.Error(), "\n")
		partial = &ret
	}

	if !res.Success() {
		f := noReturnFailure(r.Agent, x.Definition.Argv[0], res, lastLines(res.Stderr))
		return formats.Failed(f), nil
	}
	return formats.Return{}, &subagents.ReturnError{
		Agent:    r.Agent,
		Raw:      raw,
		Problems: bad,
		Partial:  partial,
	}
}

// startFailure gives the reason why a program was not started or not kept the code that the command
// routes by.
func startFailure(ctx context.Context, err error, runner, install string) error {
	if ctx.Err() != nil {
		return err
	}

	code := formats.CodeOf(err)
	help := formats.HelpOf(err)
	if code == formats.CodeUnknown {
		code = formats.CodeToolUnavailable
		if errors.Is(err, proc.ErrDenied) {
			code = formats.CodeUntrusted
		}
		if errors.Is(err, proc.ErrOutput) {
			code = formats.CodeIO
		}
		if errors.Is(err, proc.ErrEvicted) {
			code = formats.CodeDenied
			help = "a worker may take no lock of tercet; look at what it ran in the folder of " +
				"the run"
		}
		if errors.As(err, new(*proc.NotFoundError)) {
			help = install
		}
	}

	return &formats.Failure{
		Code:    code,
		Message: "runner " + runner,
		Help:    help,
		Err:     err,
	}
}

// lastLines gives the end of an error output.
func lastLines(out []byte) []string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(out), "?")), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-most):]
}
