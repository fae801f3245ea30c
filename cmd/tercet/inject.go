package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/proc"
	"tercet/internal/trace"
)

// Bounds of what the marks of a prompt bring in.
const (
	scriptTime   = time.Minute
	scriptOutput = 64 << 10
	includeBytes = 256 << 10 // of one file
	includeSum   = 1 << 20   // of all
	includeFiles = 100
)

// included is a file that a prompt refers to.
type included struct {
	path string
	data []byte
}

// injection is one prompt whose marks are dealt with.
type injection struct {
	w       *world
	command *dialect.Command
	pieces  []dialect.Output
	files   map[*dialect.File][]included
	sum     int
	nothing map[*dialect.File]string // why a reference brings nothing, where that is no matter of course
	behind  map[string]bool          // files that were put behind the text
}

// inject runs the commands and reads the files of a prompt after a person agreed to exactly these, with these arguments.
// References to files that are not there stay as they are written; commands that may not run leave a remark in their place.
func (w *world) inject(ctx context.Context, inv formats.Invocation, c *dialect.Command, pieces []dialect.Output) (string, error) {
	in := &injection{w: w, command: c, pieces: pieces, files: map[*dialect.File][]included{}, nothing: map[*dialect.File]string{}, behind: map[string]bool{}}
	for _, o := range pieces {
		if o.Include != nil {
			in.find(o.Include)
		}
	}
	if err := in.approve(ctx, inv); err != nil {
		return "", err
	}
	var text, behind strings.Builder
	for _, o := range pieces {
		switch {
		case o.Script != nil:
			out, err := in.run(ctx, inv, o.Script)
			if err != nil {
				return "", err
			}
			text.WriteString(out)
		case o.Include != nil:
			in.put(&text, &behind, o.Include)
		default:
			text.WriteString(o.Text)
		}
	}
	return text.String() + behind.String(), nil
}

// find reads what a reference means. Outside of the project root, and for what is not there, it means nothing.
func (in *injection) find(f *dialect.File) {
	name := path.Clean(strings.TrimPrefix(f.Path, "./"))
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.HasPrefix(name, "~/") {
		in.nothing[f] = "leads out of the project"
		return
	}
	if name == "." && !f.Inline {
		return
	}
	tree := in.w.gate.Files()
	info, err := fs.Stat(tree, name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		in.nothing[f] = "cannot be reached inside of the project"
	case err != nil && (f.Inline || strings.Contains(name, "/") && path.Ext(name) != ""): // another word behind @ may be anything
		in.nothing[f] = "is not there"
	case err != nil:
	case info.Mode().IsRegular():
		in.take(f, tree, name)
	case info.IsDir() && f.Inline:
		in.folder(f, tree, name)
	}
}

func (in *injection) take(f *dialect.File, tree fs.FS, name string) {
	data, err := dialect.ReadFile(tree, name)
	switch {
	case err != nil:
		in.w.app.term.note("warning: %s: %s is not put in: %v", in.command.File, name, err)
		return
	case len(data) > includeBytes || in.sum+len(data) > includeSum:
		in.w.app.term.note("warning: %s: %s is not put in: expected at most %d bytes a file and %d in all", in.command.File, name, includeBytes, includeSum)
		return
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		in.w.app.term.note("warning: %s: %s is not put in: it is no text", in.command.File, name)
		return
	}
	in.sum += len(data)
	in.files[f] = append(in.files[f], included{name, data})
}

// folder takes the files below a folder but for hidden ones and those that the project's .gitignore names by plain patterns.
func (in *injection) folder(f *dialect.File, tree fs.FS, name string) {
	ignored := ignores(tree)
	err := fs.WalkDir(tree, name, func(inside string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if inside != name && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || ignored(inside, d.Name())) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			if len(in.files[f]) >= includeFiles {
				in.w.app.term.note("warning: %s: only the first %d files of %s are put in", in.command.File, includeFiles, name)
				return fs.SkipAll
			}
			in.take(f, tree, inside)
		}
		return nil
	})
	if err != nil {
		in.w.app.term.note("warning: %s: %v", in.command.File, err)
	}
}

// ignores reads the plain patterns of the project's ignore files: names and paths with * and ?, no exceptions.
func ignores(tree fs.FS) func(inside, base string) bool {
	var patterns []string
	for _, name := range []string{".gitignore", ".geminiignore"} {
		data, err := dialect.ReadFile(tree, name)
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if line = strings.Trim(strings.TrimSpace(line), "/"); line != "" && line[0] != '#' && line[0] != '!' {
				patterns = append(patterns, line)
			}
		}
	}
	return func(inside, base string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			byName, err := path.Match(p, base)
			byPath, err2 := path.Match(p, inside)
			return err == nil && byName || err2 == nil && byPath
		})
	}
}

// approve asks for exactly the scripts, their values and the files, if there are any.
func (in *injection) approve(ctx context.Context, inv formats.Invocation) error {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", in.command.File)
	var show []string
	for _, o := range in.pieces {
		switch {
		case o.Script != nil && o.Script.Refused == "":
			fmt.Fprintf(sum, "run %q %q\n", o.Script.Text, o.Script.Env)
			show = append(show, "runs: "+strings.TrimSpace(o.Script.Text))
			for _, kv := range o.Script.Env {
				name, value, _ := strings.Cut(kv, "=")
				show = append(show, fmt.Sprintf("      with %s=%q", name, value))
			}
		case o.Include != nil:
			for _, one := range in.files[o.Include] {
				fmt.Fprintf(sum, "read %q %x\n", one.path, sha256.Sum256(one.data))
				show = append(show, fmt.Sprintf("reads: %s (%d bytes)", one.path, len(one.data)))
			}
		}
	}
	if len(show) == 0 {
		return nil
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	const yes = "approve"
	d, err := in.w.approver.Approve(ctx, formats.Gate{
		Question: "Run and read this for /" + in.command.Name + " (" + in.command.File + ")?", Show: append(show, "sha256:"+digest),
		Choices: []formats.Choice{{Label: yes, Approves: true}, {Label: "reject"}},
		Digest:  digest, NeedsPerson: true, Run: inv.Run,
	})
	if _, open := errors.AsType[*formats.GateOpenError](err); open {
		for _, line := range show {
			in.w.app.term.note("%s", line)
		}
		return &formats.Failure{
			Code: formats.CodeUntrusted, Message: fmt.Sprintf("%s runs commands or reads files that nobody has agreed to", in.command.File),
			Help: "run it on a terminal, or pass --trust=sha256:" + digest + " for exactly this, or --yes",
		}
	}
	if err != nil {
		return err
	}
	in.w.sink.Emit(trace.Event{
		Run: inv.Run, Kind: trace.Gate, Name: "/" + in.command.Name, Outcome: d.Answer, Message: "answered by " + d.By,
		Attrs: map[string]any{"file": in.command.File, "sha256": digest, "show": show},
	})
	if d.Answer != yes {
		return &formats.Failure{Code: formats.CodeDenied, Message: "the commands and files of /" + in.command.Name + " were refused"}
	}
	return nil
}

// run gives the output of a script. Its text goes to sh as a file; the arguments are in the environment.
func (in *injection) run(ctx context.Context, inv formats.Invocation, s *dialect.Script) (string, error) {
	if s.Refused != "" {
		in.w.app.term.note("warning: %s:%d: not run: %s", in.command.File, s.Pos.Line, s.Refused)
		return fmt.Sprintf("[not run: %s; it was %s]", s.Refused, s.Source), nil
	}
	dir, err := os.MkdirTemp("", "tercet-prompt-")
	if err != nil {
		return "", &formats.Failure{Code: formats.CodeIO, Message: "folder for the commands of a prompt", Err: err}
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is one script in the system's temporary folder
	file := filepath.Join(dir, "command.sh")
	if err := os.WriteFile(file, []byte(s.Text+"\n"), 0o600); err != nil {
		return "", &formats.Failure{Code: formats.CodeIO, Message: "commands of a prompt", Err: err}
	}
	shell := "sh"
	if in.command.Shell == "bash" {
		shell = "bash"
	}
	res, err := in.w.starter.Run(ctx, proc.Command{
		Argv: []string{shell, file}, Dir: in.w.dir, Env: append(slices.Clone(s.Env), "TERCET_RUN="+inv.Run), Private: true, Purpose: proc.PurposeScript,
		Timeout: proc.Timeout{Total: scriptTime}, StdoutCap: scriptOutput, StderrCap: scriptOutput, Limit: 8 << 20,
	})
	if err != nil {
		return "", &formats.Failure{Code: formats.CodeToolUnavailable, Message: "command of " + in.command.File, Err: err}
	}
	out := strings.TrimRight(strings.ToValidUTF8(string(res.Stdout), "\ufffd"), "\n")
	if res.Truncated {
		out += "\n[cut: the output is longer]"
	}
	if res.Success() || in.command.Dialect == dialect.OpenCode && res.TimedOut == "" && !res.Flooded {
		return out, nil
	}
	how := fmt.Sprintf("exit status %d", res.Exit)
	switch {
	case res.TimedOut != "":
		how = "stopped after " + scriptTime.String()
	case res.Flooded:
		how = "stopped: too much output"
	case res.Signal != "":
		how = res.Signal
	}
	in.w.app.term.note("warning: %s:%d: %s", in.command.File, s.Pos.Line, how)
	if last := strings.TrimSpace(strings.ToValidUTF8(string(res.Stderr), "\ufffd")); last != "" {
		out = strings.TrimLeft(out+"\n"+last, "\n")
	}
	return strings.TrimLeft(out+"\n["+how+"]", "\n"), nil
}

// put writes what a reference brings: in its place, or behind the text with the reference left standing.
func (in *injection) put(text, behind *strings.Builder, f *dialect.File) {
	list := in.files[f]
	if !f.Inline || len(list) == 0 {
		text.WriteString(f.Text())
	}
	if reason := in.nothing[f]; len(list) == 0 && reason != "" {
		in.w.app.term.note("warning: %s:%d: %s %s; it stays as it is written", in.command.File, f.Pos.Line, f.Path, reason)
	}
	for _, one := range list {
		if f.Inline && len(list) == 1 {
			text.Write(one.data)
			continue
		}
		to := behind
		if f.Inline {
			to = text
		} else if in.behind[one.path] {
			continue // it stands there already
		} else {
			in.behind[one.path] = true
		}
		fmt.Fprintf(to, "\n\n<file path=%q>\n%s\n</file>", one.path, bytes.TrimRight(one.data, "\n"))
	}
}
