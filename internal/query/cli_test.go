package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/query"
)

// cliResult is what a run of a filter leaves.
type cliResult struct {
	Out, Err string
	Exit     int
}

// fromArgs makes the request that the options of jq's command line stand for.
func fromArgs(args []string, inputs ...string) query.CLIRequest {
	var r query.CLIRequest
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-r":
			r.Raw = true
		case "-j":
			r.Join = true
		case "-c":
			r.Compact = true
		case "-e":
			r.ExitStatus = true
		case "-n":
			r.NullInput = true
		case "-s":
			r.Slurp = true
		case "--tab":
			r.Tab = true
		case "--indent":
			i++
			if _, err := fmt.Sscan(args[i], &r.Indent); err != nil || r.Indent == 0 {
				r.Compact = true
			}
		case "--arg":
			r.Args = append(r.Args, query.Arg{Name: args[i+1], Data: []byte(args[i+2])})
			i += 2
		case "--argjson":
			r.Args = append(r.Args, query.Arg{
				Name: args[i+1],
				Kind: query.ArgJSON,
				Data: []byte(args[i+2]),
			})
			i += 2
		default:
			r.Filter = args[i]
		}
	}

	for i, in := range inputs {
		r.Inputs = append(r.Inputs, query.Input{
			Name: fmt.Sprintf("in%d.json", i),
			Data: []byte(in),
		})
	}

	return r
}

func runCLI(ctx context.Context, r query.CLIRequest) (cliResult, error) {
	var out, stderr bytes.Buffer
	r.Out = &out
	r.Err = &stderr
	exit, err := query.RunCLI(ctx, r)
	return cliResult{out.String(), stderr.String(), exit}, err
}

// cliCase is a command line whose result is jq's own too, unless own says why not.
type cliCase struct {
	args  []string
	input string
	want  cliResult
	err   string
	own   bool
}

func cliCases() []cliCase {
	nested := `{"a":[],"b":{},"c":[1,{"d":null}]}`
	return []cliCase{
		{
			args:  []string{"."},
			input: nested,
			want: cliResult{
				Out: "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n" +
					"      \"d\": null\n    }\n  ]\n}\n",
			},
		},
		{args: []string{"-c", "."}, input: nested, want: cliResult{Out: nested + "\n"}},
		{
			args:  []string{"--tab", ".c"},
			input: nested,
			want:  cliResult{Out: "[\n\t1,\n\t{\n\t\t\"d\": null\n\t}\n]\n"},
		},
		{
			args:  []string{"--indent", "1", ".c"},
			input: nested,
			want:  cliResult{Out: "[\n 1,\n {\n  \"d\": null\n }\n]\n"},
		},
		{
			args:  []string{"--indent", "0", ".c"},
			input: nested,
			want:  cliResult{Out: "[1,{\"d\":null}]\n"},
		},
		{
			args:  []string{"-c", ".tasks[] | select(.n == 2)"},
			input: `{"tasks":[{"z":1,"n":1},{"z":"é\u00e9<>&","n":2,"a":{"y":1,"b":2}}]}`,
			want:  cliResult{Out: `{"z":"éé<>&","n":2,"a":{"y":1,"b":2}}` + "\n"},
		},
		{
			args:  []string{"-c", "[.[] | {b: .b, a: .a}]"},
			input: `[{"a":{"z":1,"x":2},"b":1}]`,
			want:  cliResult{Out: `[{"a":{"z":1,"x":2},"b":1}]` + "\n"},
			own:   true,
		},
		{
			args:  []string{"-c", "."},
			input: `{"z":1.0,"a":1e400,"m":12345678901234567890123,"n":[-0,1E2]}`,
			want: cliResult{
				Out: `{"z":1.0,"a":1e400,"m":12345678901234567890123,"n":[-0,1E2]}` + "\n",
			},
			own: true,
		},
		{
			args:  []string{"-c", ".z = 2"},
			input: `{"z":1,"a":{"z":1,"b":1.0}}`,
			want:  cliResult{Out: `{"a":{"z":1,"b":1.0},"z":2}` + "\n"},
			own:   true,
		},
		{
			args:  []string{"-r", ".[]"},
			input: `["a\nb","c",1,["d"]]`,
			want:  cliResult{Out: "a\nb\nc\n1\n[\n  \"d\"\n]\n"},
		},
		{args: []string{"-j", ".[]"}, input: `["a","b",[1]]`, want: cliResult{Out: "ab[\n  1\n]"}},
		{
			args:  []string{"-r", `.[] | "\(.a)\t\(.b)"`},
			input: `[{"a":1,"b":"x"},{"a":[1,{"q":"r"}],"b":null}]`,
			want:  cliResult{Out: "1\tx\n[1,{\"q\":\"r\"}]\tnull\n"},
		},
		{args: []string{"."}, input: "1 [2]\n\"x\"", want: cliResult{Out: "1\n[\n  2\n]\n\"x\"\n"}},
		{args: []string{"-c", "-s", "."}, input: "1 2 3", want: cliResult{Out: "[1,2,3]\n"}},
		{args: []string{"-c", "-s", "."}, input: "", want: cliResult{Out: "[]\n"}},
		{args: []string{"-n", "1 + 1"}, input: "garbage", want: cliResult{Out: "2\n"}},
		{args: []string{"-c", "-n", "[inputs]"}, input: "1 2 3", want: cliResult{Out: "[1,2,3]\n"}},
		{
			args:  []string{"-c", "-n", "-s", "[inputs]"},
			input: "1 2 3",
			want:  cliResult{Out: "[[1,2,3]]\n"},
		},
		{
			args:  []string{"-c", "[., input]"},
			input: "1 2 3 4",
			want:  cliResult{Out: "[1,2]\n[3,4]\n"},
		},
		{
			args:  []string{"-c", "[., input]"},
			input: "1 2 3",
			want:  cliResult{Out: "[1,2]\n", Exit: 5},
			err:   "break",
		},
		{
			args: []string{
				"-c", "[$x, $y, $ARGS]", "--arg", "x", "1", "--argjson", "y", "[1, 2]", "--arg",
				"x", "2",
			},
			input: "null",
			want: cliResult{
				Out: `["1",[1,2],{"named":{"x":"1","y":[1,2]},"positional":[]}]` + "\n",
			},
			own: true,
		},
		{args: []string{"-e", "."}, input: "1 false", want: cliResult{Out: "1\nfalse\n", Exit: 1}},
		{args: []string{"-e", "."}, input: "false 1", want: cliResult{Out: "false\n1\n"}},
		{
			args:  []string{"-e", ".[]"},
			input: "[1,null]",
			want:  cliResult{Out: "1\nnull\n", Exit: 1},
		},
		{args: []string{"-e", "empty"}, input: "1", want: cliResult{Exit: 4}},
		{args: []string{"-e", "."}, input: "", want: cliResult{Exit: 4}, own: true},
		{args: []string{"."}, input: "", want: cliResult{}},
		{args: []string{""}, input: "1", want: cliResult{Out: "1\n"}},
		{args: []string{"# no filter"}, input: "1", want: cliResult{Out: "1\n"}},
		{
			args:  []string{".a.b"},
			input: `{"a":{"b":1}} "x"`,
			want:  cliResult{Out: "1\n", Exit: 5},
			err:   `expected an object but got: string ("x")`,
		},
		{
			args:  []string{".a.b"},
			input: `"x" {"a":{"b":1}}`,
			want:  cliResult{Out: "1\n"},
			err:   `expected an object but got: string ("x")`,
		},
		{
			args:  []string{"-e", ".a.b"},
			input: `"x" {"a":{"b":1}}`,
			want:  cliResult{Out: "1\n"},
			err:   `expected an object but got: string ("x")`,
		},
		{
			args:  []string{"-e", ".a.b"},
			input: `"x" {"a":{"b":false}}`,
			want:  cliResult{Out: "false\n", Exit: 1},
			err:   `expected an object but got: string ("x")`,
		},
		{
			args:  []string{"-e", ".a.b"},
			input: `{"a":{"b":null}} 1`,
			want:  cliResult{Out: "null\n", Exit: 5},
			err:   "expected an object but got: number (1)",
		},
		{
			args:  []string{"-e", `if . == 1 then 1, error("x") else empty end`},
			input: "1 2",
			want:  cliResult{Out: "1\n", Exit: 4},
			err:   "x",
		},
		{args: []string{"error(\"x\")"}, input: "1", want: cliResult{Exit: 5}, err: "x"},
		{
			args:  []string{"foo"},
			input: "1",
			want:  cliResult{Exit: 3},
			err:   "column 1: unknown function foo/0",
		},
		{
			args:  []string{".["},
			input: "1",
			want:  cliResult{Exit: 3},
			err:   "column 3: unexpected end of the query",
		},
		{
			args:  []string{"$x"},
			input: "1",
			want:  cliResult{Exit: 3},
			err:   "column 1: unknown variable $x",
		},
		{
			args:  []string{"env"},
			input: "1",
			want:  cliResult{Exit: 3},
			err:   "column 1: env is not available",
			own:   true,
		},
		{
			args:  []string{"."},
			input: "1 [2",
			want:  cliResult{Out: "1\n", Exit: 2},
			err:   `in0.json:1:5: expected "," or "]", got end of input`,
			own:   true,
		},
		{
			args:  []string{"-s", "."},
			input: "1 [2",
			want:  cliResult{Exit: 2},
			err:   `in0.json:1:5: expected "," or "]", got end of input`,
			own:   true,
		},
		{
			args:  []string{"-c", "-n", "[inputs]"},
			input: "1 [2",
			want:  cliResult{Exit: 2},
			err:   `in0.json:1:5: expected "," or "]", got end of input`,
			own:   true,
		},
		{
			args:  []string{".", "--argjson", "x", "{"},
			input: "1",
			want:  cliResult{Exit: 2},
			err:   "$x:1:2: expected a key in double quotes, got end of input",
		},
		{
			args:  []string{".", "--argjson", "x", "1 2"},
			input: "1",
			want:  cliResult{Exit: 2},
			err:   "$x:1:1: expected one JSON value, got 2",
		},
		{
			args:  []string{"-c", "."},
			input: `{"a":1,"b":2,"a":3}`,
			want:  cliResult{Out: `{"a":3,"b":2}` + "\n"},
		},
		{args: []string{"1, halt, 2"}, input: "1", want: cliResult{Out: "1\n"}},
		{args: []string{"1, halt, 2"}, input: "1 2", want: cliResult{Out: "1\n"}, own: true},
		{
			args:  []string{`"bye\n" | halt_error`},
			input: "1",
			want:  cliResult{Err: "bye\n", Exit: 5},
		},
		{
			args:  []string{`"bye\n" | halt_error`},
			input: "1 2",
			want:  cliResult{Err: "bye\n", Exit: 5},
			own:   true,
		},
		{
			args:  []string{`{a: 1} | halt_error(3)`},
			input: "1",
			want:  cliResult{Err: "{\"a\":1}\n", Exit: 3},
		},
		{
			args:  []string{`{a: 1} | halt_error(3)`},
			input: "1 2",
			want:  cliResult{Err: "{\"a\":1}\n", Exit: 3},
			own:   true,
		},
		{args: []string{"debug"}, input: "1", want: cliResult{Out: "1\n", Err: "[\"DEBUG:\",1]\n"}},
		{
			args:  []string{"-c", "stderr"},
			input: `{"b":1,"a":2}`,
			want:  cliResult{Out: "{\"b\":1,\"a\":2}\n", Err: "{\"b\":1,\"a\":2}"},
		},
		{
			args:  []string{`"\u007f\u0001\u001b\u0000\b\f"`},
			input: "1",
			want:  cliResult{Out: `"\u007f\u0001\u001b\u0000\b\f"` + "\n"},
		},
		{
			args: []string{
				"-c",
				"map(.n) | add, length, (sort | first), min, max, (. | tostring), @csv, @sh",
			},
			input: `[{"n":3},{"n":1.5},{"n":-2}]`,
			want: cliResult{
				Out: "2.5\n3\n-2\n-2\n3\n\"[3,1.5,-2]\"\n\"3,1.5,-2\"\n\"3 1.5 -2\"\n",
			},
		},
		{
			args: []string{
				"-c",
				"group_by(.s) | map({key: .[0].s, value: length}) | from_entries",
			},
			input: `[{"s":"b"},{"s":"a"},{"s":"b"}]`,
			want:  cliResult{Out: `{"a":1,"b":2}` + "\n"},
		},
		{
			args:  []string{"-c", `.[] as {a: $x, b: [$y, $z]} | [$x, $y, $z]`},
			input: `[{"a":1,"b":[2,3]},{"a":4}]`,
			want:  cliResult{Out: "[1,2,3]\n[4,null,null]\n"},
		},
		{
			args:  []string{"-c", `[paths], [.. | numbers], (path(..) | select(length == 2))`},
			input: `{"a":[1,2]}`,
			want:  cliResult{Out: "[[\"a\"],[\"a\",0],[\"a\",1]]\n[1,2]\n[\"a\",0]\n[\"a\",1]\n"},
		},
		{
			args: []string{
				"-c",
				`def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; ` +
					`[.[] | fac], (.[0] |= . * 7), ([.[] | select(. % 2 == 1)] | any)`,
			},
			input: `[1,5,10]`,
			want:  cliResult{Out: "[1,120,3628800]\n[7,5,10]\ntrue\n"},
		},
		{
			args: []string{
				"-c",
				`test("^a.c$"), [match("[a-c]"; "g").string], sub("(?<x>b)"; ` +
					`"<\(.x)>"), gsub("[ac]"; "-"), ascii_upcase, split("b"), ltrimstr("a"), ` +
					`(explode | implode), @uri, @html, @base64`,
			},
			input: `"abc"`,
			want: cliResult{
				Out: "true\n[\"a\",\"b\",\"c\"]\n\"a<b>c\"\n\"-b-\"\n\"ABC\"\n[\"a\",\"c\"]\n" +
					"\"bc\"\n\"abc\"\n\"abc\"\n\"abc\"\n\"YWJj\"\n",
			},
		},
		{
			args: []string{
				"-c",
				`to_entries, with_entries(.value += 1), keys, has("a"), del(.a), ` +
					`([.[]] | indices(2)), (.b as $b | $b // "none"), (.zz // "none"), ` +
					`(try error("q") catch .), ([limit(2; .[])] | length)`,
			},
			input: `{"a":1,"b":2}`,
			want: cliResult{
				Out: `[{"key":"a","value":1},{"key":"b","value":2}]` + "\n" + `{"a":2,"b":3}` +
					"\n" + `["a","b"]` + "\ntrue\n" + `{"b":2}` + "\n[1]\n2\n\"none\"\n\"q\"\n2\n",
			},
		},
		{
			args:  []string{"-c", `[tostream] | fromstream(.[])`},
			input: `{"a":[1e3,99999999]}`,
			want:  cliResult{Out: "{\"a\":[1e3,99999999]}\n"},
			own:   true,
		},
		{
			args:  []string{"-c", `fromstream([[536870911], 1], [[536870911]])`},
			input: "1",
			want:  cliResult{Exit: 5},
			err:   "index 536870911 is over the limit of 16777216",
			own:   true,
		},
		{
			args:  []string{"-c", `input_filename`},
			input: "1",
			want:  cliResult{Out: "\"in0.json\"\n"},
			own:   true,
		},
		{
			args: []string{
				"-c",
				`first(range(10; 0; -3)), [range(0; 10; ` +
					`4)], (tojson | fromjson), ([3, 1, 2] | sort_by(-.)), (now | type), ` +
					`("2015-03-05T23:51:47Z" | fromdate)`,
			},
			input: `{"x":[1]}`,
			want:  cliResult{Out: "10\n[0,4,8]\n{\"x\":[1]}\n[3,2,1]\n\"number\"\n1425599507\n"},
		},
	}
}

func TestRunCLI(t *testing.T) {
	t.Parallel()
	for _, tt := range cliCases() {
		got, err := runCLI(t.Context(), fromArgs(tt.args, tt.input))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("RunCLI(%q) of %q (-want +got):\n%s", tt.args, tt.input, diff)
		}
		if msg := fmt.Sprint(err); tt.err == "" && err != nil || tt.err != "" && msg != tt.err {
			t.Errorf("RunCLI(%q) of %q = error %v, want %s", tt.args, tt.input, err, tt.err)
		}
	}
}

// TestLikeJQ runs the same command lines with the jq that is installed.
func TestLikeJQ(t *testing.T) {
	t.Parallel()
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("jq is not installed")
	}
	for _, tt := range cliCases() {
		if tt.own {
			continue
		}

		var out, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), jq, tt.args...)
		cmd.Stdin = strings.NewReader(tt.input)
		cmd.Stdout = &out
		cmd.Stderr = &stderr

		exit := 0
		if err := cmd.Run(); err != nil {
			var ee *exec.ExitError
			if !errors.As(err, &ee) {
				t.Fatal(err)
			}
			exit = ee.ExitCode()
		}

		got := cliResult{
			Out:  out.String(),
			Exit: exit,
			Err:  tt.want.Err,
		}

		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("jq %q of %q (-want +got):\n%s", tt.args, tt.input, diff)
		}
		if tt.want.Err != "" && tt.want.Err != stderr.String() {
			t.Errorf("jq %q wrote %q, want %q", tt.args, stderr.String(), tt.want.Err)
		}
	}
}

func TestRunCLIFiles(t *testing.T) {
	t.Parallel()

	r := fromArgs([]string{"-c", "[input_filename, ., ($s | length)]"}, "1", "", "2 3")
	r.Args = []query.Arg{
		{Name: "s", Kind: query.ArgSlurp, Data: []byte("1 [2]")},
		{Name: "empty", Kind: query.ArgSlurp},
	}

	got, err := runCLI(t.Context(), r)
	want := "[\"in0.json\",1,2]\n[\"in2.json\",2,2]\n[\"in2.json\",3,2]\n"
	if err != nil || got.Out != want {
		t.Errorf("RunCLI = %q, %v, want %q", got.Out, err, want)
	}
}

// TestManyObjects: objects keep their order however many are printed, however they were read.
func TestManyObjects(t *testing.T) {
	t.Parallel()

	var in, want strings.Builder
	for i := range 100 {
		fmt.Fprintf(&in, "{\"z\":%d.0,\"a\":{\"y\":1,\"b\":%d}} ", i, i)
		fmt.Fprintf(&want, "{\"z\":%d.0,\"a\":{\"y\":1,\"b\":%d}}\n", i, i)
	}

	for _, args := range [][]string{
		{"-c", "."},
		{"-c", "-s", ".[]"},
		{"-c", "-n", "inputs"},
		{"-c", "-n", "[inputs] | .[]"},
	} {
		got, err := runCLI(t.Context(), fromArgs(args, in.String()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.Out); diff != "" {
			t.Errorf("RunCLI(%q) (-want +got):\n%s", args, diff)
		}
	}
}

func TestRunCLIManyErrors(t *testing.T) {
	t.Parallel()
	got, err := runCLI(t.Context(), fromArgs([]string{".a"}, strings.Repeat("1 ", 25)+`{"a":7}`))
	if err == nil || got.Out != "7\n" || got.Exit != 0 || strings.Count(err.Error(), "\n") != 10 ||
		!strings.HasSuffix(err.Error(), "\n15 more errors") {
		t.Errorf("RunCLI = %+v, %v, want ten errors and 15 more", got, err)
	}
}

func TestRunCLICancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped by the user")
	cancel(why)
	got, err := runCLI(ctx, fromArgs([]string{"def f: f; f"}, "1"))
	if !errors.Is(err, why) || got.Exit != 5 {
		t.Errorf("RunCLI = %+v, %v, want %v", got, err, why)
	}
}

// broken is a writer that is closed.
type broken struct{}

func (broken) Write([]byte) (int, error) {
	return 0, errors.New("closed")
}

func TestRunCLIBrokenWriter(t *testing.T) {
	t.Parallel()
	r := fromArgs([]string{"."}, "1")
	r.Out = broken{}
	exit, err := query.RunCLI(t.Context(), r)
	if exit != 2 || err == nil || err.Error() != "closed" {
		t.Errorf("RunCLI = %d, %v, want 2, closed", exit, err)
	}
}

func BenchmarkRunCLI(b *testing.B) {
	src := tasks(1000)

	b.ReportAllocs()
	b.SetBytes(int64(len(src)))

	for b.Loop() {
		got, err := runCLI(
			b.Context(),
			fromArgs([]string{".tasks[] | select(.number == 700)"}, src),
		)
		if err != nil || got.Exit != 0 {
			b.Fatal(got, err)
		}
	}
}
