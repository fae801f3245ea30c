package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/md"
	"tercet/internal/phrase"
	"tercet/internal/strict"
	"tercet/subagents/cassette"
)

// CodeTest is the code of findings in test files.
const CodeTest = "E472"

// MaxFile bounds a test file, in bytes.
const MaxFile = 4 << 20

// Test is one test file.
type Test struct {
	File string
	Src  []byte
	Line string
	Yes  bool // gates take the choice of --yes
	// Language is that of the fixed texts of flows; answers may use its labels.
	Language  string
	Before    []string          // lines to run first, each must pass
	Files     map[string]string // files of the workspace, by path
	Answers   []Answer          // of gates, in order
	Returns   map[string][]Return
	Expect    Expect
	HasExpect bool // the file has expectations
}

// Answer is an answer to a gate, named by its step.
type Answer struct{ Gate, Choose, Note string }

// Return is a worker's answer to one call, with the files that it writes and removes.
type Return struct {
	Text    string // text of an AGENT_RESULT block, or a return as JSON
	Writes  map[string]string
	Removes []string
}

// Expect is the expected result of a line; nil fields expect nothing.
type Expect struct {
	Exit      int
	Outcome   string
	Summary   string
	Rollbacks *int
	Sequence  []string // the started workers
	Gates     []string // steps of the opened gates
	// Given are inputs by subagent, one map for each of its calls in order. Inputs that a map does
	// not name may be anything; null also stands for one that was left out.
	Given map[string][]map[string]any
	Files map[string][]string
	Shown []string // texts in the output to the user
}

// The keys of a test file, of an answer, and of an expectation.
var (
	testForm = strict.Form{
		Unknown: "unknown key %q in a test",
		Keys: []string{
			"line", "yes", "language", "before", "files", "answers", "returns", "expect",
		},
	}
	answerForm = strict.Form{
		Unknown: "unknown key %q in an answer",
		Keys:    []string{"gate", "choose", "note"},
	}
	expectForm = strict.Form{
		Unknown: "unknown key %q in what is expected",
		Keys: []string{
			"exit", "outcome", "summary", "sequence", "rollbacks", "gates", "given", "files",
			"shown",
		},
	}
)

// Parse reads a test file. The error is a *formats.Diagnostics with all findings.
func Parse(file string, src []byte) (Test, error) {
	r := &reader{file: file}
	r.Decoder = strict.Decoder{
		Report: r.report,
		Value:  CodeTest,
		Key:    CodeTest,
		All:    "one of ",
	}

	t := Test{File: file, Src: src}
	_, err := jsonx.Parse(src, jsonx.Limits{Bytes: MaxFile})
	if syntax, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		r.report(strict.Finding{
			Code:    CodeTest,
			Pos:     md.Pos{Line: syntax.Line, Col: syntax.Col},
			Message: syntax.Msg,
		})
	} else { // JSON is YAML too, of which the reader knows each place
		root, problems := md.ParseYAML(src, md.Pos{Line: 1, Col: 1})
		for _, one := range problems {
			r.report(strict.Finding{
				Code:    CodeTest,
				Pos:     one.Pos,
				Message: one.Msg,
			})
		}
		if root != nil && len(problems) == 0 {
			r.test(&t, root)
		}
	}

	if len(r.list) > 0 {
		d := &formats.Diagnostics{List: r.list, Sources: map[string][]byte{file: src}}
		d.Sort()
		return t, d
	}
	return t, nil
}

type reader struct {
	strict.Decoder

	file string
	list []formats.Diagnostic
}

func (r *reader) report(f strict.Finding) {
	d := formats.Found(f.Code, f.Pos, f.Help, "%s", f.Message)
	d.File = r.file
	d.End = f.End
	r.list = append(r.list, d)
}

func (r *reader) test(t *Test, root *md.Node) {
	for key, n := range r.Map(root, "an object", testForm) {
		switch key.Value {
		case "line":
			t.Line = r.command(n)
		case "yes":
			t.Yes, _ = strict.As(&r.Decoder, n, "true or false", strict.Bool)
		case "language":
			t.Language, _ = strict.As(
				&r.Decoder,
				n,
				"en or ja",
				strict.Word(phrase.English, phrase.Japanese),
			)
		case "before":
			for _, item := range r.items(n) {
				t.Before = append(t.Before, r.command(item))
			}
		case "files":
			t.Files = r.files(n, isProjectPath)
		case "answers":
			for _, item := range r.items(n) {
				t.Answers = append(t.Answers, r.answer(item))
			}
		case "returns":
			t.Returns = r.returns(n)
		case "expect":
			t.HasExpect = true
			r.expect(&t.Expect, n)
		}
	}

	if root.Kind == md.Map && root.Get("line") == nil {
		r.Refuse(
			CodeTest,
			root,
			`write the slash command, such as "line": "/plan 1"`,
			"expected a line, got none",
		)
	}
}

// items are the elements of an array; anything else is reported.
func (r *reader) items(n *md.Node) []*md.Node {
	if n.Kind != md.List {
		r.Wrong(n, "an array", "")
		return nil
	}
	return n.Items
}

func (r *reader) command(n *md.Node) string {
	fits := func(s string) bool {
		return strings.HasPrefix(s, "/") && !strings.ContainsAny(s, "\n\x00")
	}
	line, _ := strict.As(&r.Decoder, n, "a slash command", strict.Text(fits))
	return line
}

func (r *reader) text(n *md.Node) string {
	text, _ := strict.As(&r.Decoder, n, "a string", strict.Text(func(string) bool {
		return true
	}))
	return text
}

func (r *reader) words(n *md.Node) []string {
	out := []string{}
	for _, item := range r.items(n) {
		out = append(out, r.text(item))
	}
	return out
}

// checkPath tells whether a path fits, and reports one that does not. Workers do not write into the
// workspace.
func (r *reader) checkPath(n *md.Node, fits func(string) bool) bool {
	ok := n.IsStr() && utf8.ValidString(n.Value) && fits(n.Value)
	if !ok {
		r.Wrong(
			n,
			"a path inside the project",
			"it is relative, with slashes, and leads into no .git",
		)
	}
	return ok
}

// isProjectPath is a path of the project that a test may name.
func isProjectPath(name string) bool {
	return cassette.MayWrite(strings.TrimPrefix(name, formats.Workspace+"/"))
}

func (r *reader) files(n *md.Node, fits func(string) bool) map[string]string {
	out := map[string]string{}
	for key, value := range r.Entries(n, "an object from paths to texts") {
		text := r.text(value)
		if r.checkPath(key, fits) {
			out[key.Value] = text
		}
	}
	return out
}

func (r *reader) answer(n *md.Node) (a Answer) {
	for key, value := range r.Map(n, "an object with gate and choose", answerForm) {
		*map[string]*string{
			"gate":   &a.Gate,
			"choose": &a.Choose,
			"note":   &a.Note,
		}[key.Value] = r.text(value)
	}
	if n.Kind == md.Map && (a.Gate == "" || a.Choose == "") {
		r.Refuse(
			CodeTest,
			n,
			`write {"gate": "STEP", "choose": "LABEL"}`,
			"expected a gate and a choice, got none",
		)
	}
	return a
}

func (r *reader) returns(n *md.Node) map[string][]Return {
	out := map[string][]Return{}
	for key, list := range r.Entries(n, "an object from subagents to returns") {
		for _, item := range r.items(list) {
			out[key.Value] = append(out[key.Value], r.workerReturn(key.Value, item))
		}
		if list.Kind == md.List && len(list.Items) == 0 {
			r.Refuse(
				CodeTest,
				list,
				"leave the subagent out, or write what it returns",
				"expected a return, got none",
			)
		}
	}
	return out
}

// workerReturn reads one return: an object, or the text of an AGENT_RESULT block.
func (r *reader) workerReturn(agent string, n *md.Node) (out Return) {
	out.Text = n.Value
	if n.Kind == md.Map {
		kept := map[string]any{}
		for _, e := range n.Entries {
			value := e.Value
			switch e.Key.Value {
			case "writes":
				out.Writes = r.files(value, cassette.MayWrite)
			case "removes":
				for _, item := range r.items(value) {
					if r.checkPath(item, cassette.MayWrite) {
						out.Removes = append(out.Removes, item.Value)
					}
				}
			case "result": // an AGENT_RESULT block that writes files
				out.Text = r.text(value)
			default:
				kept[e.Key.Value] = value.Any()
			}
		}

		if out.Text == "" {
			text, err := jsonx.Marshal(kept, "")
			if err != nil {
				r.Refuse(CodeTest, n, "", err.Error())
			}
			out.Text = string(text)
		} else if len(kept) > 0 {
			r.Refuse(
				CodeTest,
				n,
				"put them into the block",
				`expected nothing beside "result" but writes and removes`,
			)
		}
	} else if !n.IsStr() {
		r.Wrong(n, "a return as an object, or the text of an AGENT_RESULT block", "")
		return out
	}

	if _, err := out.parse(agent); err != nil {
		r.Refuse(
			CodeTest,
			n,
			formats.HelpOf(err),
			fmt.Sprintf("the return of %s: %v", agent, plainMessage(err)),
		)
	}
	return out
}

// plainMessage is an error without a place in a text that is no file.
func plainMessage(err error) string {
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok && len(d.List) > 0 {
		return d.List[0].Message
	}
	return err.Error()
}

func (r *reader) expect(e *Expect, n *md.Node) {
	for key, value := range r.Map(n, "an object", expectForm) {
		switch key.Value {
		case "exit":
			e.Exit, _ = strict.As(&r.Decoder, value, "an exit number", strict.Int)
		case "outcome":
			known := func(s string) bool {
				return slices.Contains(formats.Outcomes(), formats.Outcome(s))
			}
			e.Outcome, _ = strict.As(
				&r.Decoder,
				value,
				"an outcome such as completed or partial",
				strict.Text(known),
			)
		case "summary":
			e.Summary = r.text(value)
		case "rollbacks":
			number, _ := strict.As(&r.Decoder, value, "a number", strict.Int)
			e.Rollbacks = &number
		case "sequence":
			e.Sequence = r.words(value)
		case "gates":
			e.Gates = r.words(value)
		case "shown":
			e.Shown = r.words(value)
		case "given":
			e.Given = r.given(value)
		case "files":
			e.Files = map[string][]string{}
			for key, parts := range r.Entries(
				value,
				"an object from paths to texts that stand in them",
			) {
				if r.checkPath(key, isProjectPath) {
					e.Files[key.Value] = r.words(parts)
				}
			}
		}
	}
}

// given reads the inputs that are expected of each call, by subagent.
func (r *reader) given(n *md.Node) map[string][]map[string]any {
	out := map[string][]map[string]any{}
	for agent, calls := range r.Entries(n, "an object from subagents to their inputs") {
		for _, call := range r.items(calls) {
			inputs := map[string]any{}
			for name, value := range r.Entries(call, "an object from inputs to values") {
				inputs[name.Value] = value.Any()
			}
			out[agent.Value] = append(out[agent.Value], inputs)
		}
	}
	return out
}
