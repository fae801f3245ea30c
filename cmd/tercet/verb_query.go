package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/query"
)

// queryVerb reads state.json, or the files named, with jq's flags and exit codes.
func (a *app) queryVerb() *cobra.Command {
	var q query.CLIRequest
	var pairs, jsonPairs, filePairs []string
	var at string
	cmd := &cobra.Command{
		Use: "query [FLAGS] FILTER [FILE...]", Short: "read state.json with a jq filter", Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Filter, q.Out, q.Err = args[0], a.io.out, a.io.err
			if q.Indent < 0 || q.Indent > 7 {
				return usage("expected --indent from 0 to 7, got %d", q.Indent)
			}
			q.Compact = q.Compact || q.Indent == 0
			if err := named(&q, pairs, jsonPairs, filePairs); err != nil {
				return err
			}
			inputs, err := a.inputs(args[1:], q.NullInput)
			if at != "" {
				inputs, err = a.inputAt(cmd.Context(), at, args[1:])
			}
			if err != nil {
				return err
			}
			q.Inputs = inputs
			code, err := query.RunCLI(cmd.Context(), q)
			if err != nil {
				a.term.say(err.Error())
			}
			if code != 0 {
				return shown{code}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&q.Raw, "raw-output", "r", false, "print strings without quotes")
	f.BoolVarP(&q.Compact, "compact-output", "c", false, "one line a result")
	f.BoolVarP(&q.ExitStatus, "exit-status", "e", false, "exit 1 if the last result is false or null, 4 if there is none")
	f.BoolVarP(&q.NullInput, "null-input", "n", false, "use null as the input")
	f.BoolVarP(&q.Slurp, "slurp", "s", false, "read all inputs into one array")
	f.BoolVarP(&q.Join, "join-output", "j", false, "print without line feeds")
	f.BoolVar(&q.Tab, "tab", false, "indent with tabs")
	f.IntVar(&q.Indent, "indent", 2, "indent with `n` spaces, 0 to 7")
	f.StringVar(&at, "at", "", "read the state as it was with this `serial`; 'tercet state history' says which can be read")
	f.StringArrayVar(&pairs, "arg", nil, "NAME VALUE: $NAME is a string")
	f.StringArrayVar(&jsonPairs, "argjson", nil, "NAME JSON: $NAME is a value")
	f.StringArrayVar(&filePairs, "slurpfile", nil, "NAME FILE: $NAME is the array of the file's values")
	return cmd
}

// named collects the variables that --arg, --argjson and --slurpfile set.
func named(q *query.CLIRequest, pairs, jsonPairs, filePairs []string) error {
	for _, group := range []struct {
		kind  query.ArgKind
		flag  string
		pairs []string
	}{{query.ArgText, "--arg", pairs}, {query.ArgJSON, "--argjson", jsonPairs}, {query.ArgSlurp, "--slurpfile", filePairs}} {
		for _, pair := range group.pairs {
			name, text, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return usage("expected NAME VALUE for %s, got %q", group.flag, pair)
			}
			data := []byte(text)
			if group.kind == query.ArgSlurp {
				var err error
				if data, err = os.ReadFile(text); err != nil {
					return &formats.Failure{Code: formats.CodeUsage, Message: group.flag + " " + name, Err: err}
				}
			}
			q.Args = append(q.Args, query.Arg{Name: name, Kind: group.kind, Data: data})
		}
	}
	return nil
}

// inputs reads the files; without any it is the workspace's state.
func (a *app) inputs(files []string, null bool) ([]query.Input, error) {
	if null && len(files) == 0 {
		return nil, nil
	}
	if len(files) == 0 {
		root, err := a.findRoot()
		if err != nil {
			return nil, err
		}
		if root == "" {
			return nil, noWorkspace()
		}
		files = []string{filepath.Join(root, formats.Workspace, "state.json")}
	}
	var out []query.Input
	for _, name := range files {
		data, err := readInput(a.io.in, name)
		if err != nil {
			return nil, &formats.Failure{Code: formats.CodeUsage, Message: fmt.Sprintf("input %s", name), Err: err}
		}
		out = append(out, query.Input{Name: name, Data: data})
	}
	return out, nil
}

func readInput(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

func noWorkspace() error {
	return &formats.Failure{Code: formats.CodeNoWorkspace, Message: "no workspace here or above", Help: "run 'tercet init'"}
}

// jqWords joins jq's flags of two words, --arg NAME VALUE, into the one word that the parser of flags takes.
func jqWords(args []string) []string {
	verb := slices.Index(args, "query")
	if verb < 0 || slices.ContainsFunc(args[:verb], func(w string) bool { return strings.HasPrefix(w, "/") }) {
		return args
	}
	out := slices.Clone(args[:verb+1])
	for rest := args[verb+1:]; len(rest) > 0; rest = rest[1:] {
		word := rest[0]
		if (word == "--arg" || word == "--argjson" || word == "--slurpfile") && len(rest) > 2 {
			out = append(out, word, rest[1]+"="+rest[2])
			rest = rest[2:]
			continue
		}
		out = append(out, word)
	}
	return out
}
