package argspec_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
)

func TestSpecsFindings(t *testing.T) {
	t.Parallel()
	at := func(a syntax.Argument, line int) syntax.Argument {
		a.Pos = formats.Pos{Line: line, Col: 5}
		a.Name.Pos = formats.Pos{Line: line, Col: 12}
		a.Type.Pos = formats.Pos{Line: line, Col: 30}
		return a
	}
	tests := []struct {
		name string
		args []syntax.Argument
		want []string
	}{
		{
			"sound",
			[]syntax.Argument{required(arg("a", argspec.Text)), flag(arg("b", argspec.Boolean))},
			nil,
		},
		{
			"order",
			[]syntax.Argument{
				at(arg("a", argspec.String), 3),
				at(required(arg("b", argspec.String)), 4),
				at(required(flag(arg("c", argspec.String))), 5),
			},
			[]string{"f.md:4:5: E014: required argument 'b' stands after optional 'a'"},
		},
		{
			"names",
			[]syntax.Argument{
				at(arg("A", argspec.String), 3),
				at(arg("help", argspec.String), 4),
				at(arg("", argspec.String), 5),
				at(arg("a-b", argspec.String), 6),
				at(arg("1a", argspec.String), 7),
			},
			[]string{
				"f.md:3:12: E050: expected name of lower case letters, digits and '_', got \"A\"",
				"f.md:4:12: E050: name 'help' is taken by --help",
				"f.md:5:12: E050: expected name of lower case letters, digits and '_', got \"\"",
				"f.md:6:12: E050: expected name of lower case letters, digits and '_', got \"a-b\"",
				"f.md:7:12: E050: expected name of lower case letters, digits and '_', got \"1a\"",
			},
		},
		{
			"types",
			[]syntax.Argument{at(arg("a", "integr"), 3), at(arg("b", ""), 4)},
			[]string{
				"f.md:3:30: E051: expected argument type, got \"integr\"",
				"f.md:4:5: E051: argument 'b' has no type",
			},
		},
		{
			"twice",
			[]syntax.Argument{
				at(arg("dry", argspec.Boolean), 3),
				at(arg("no_dry", argspec.String), 4),
				at(arg("dry", argspec.String), 5),
			},
			[]string{
				"f.md:4:12: E052: arguments 'dry' and 'no_dry' cannot be told apart",
				"f.md:5:12: E052: arguments 'dry' and 'dry' cannot be told apart",
			},
		},
		{
			"unless",
			[]syntax.Argument{
				at(with(arg("a", argspec.String), func(a *syntax.Argument) {
					a.Unless = []syntax.Word{
						{Text: "b", Pos: formats.Pos{Line: 3, Col: 40}},
						{Text: "a", Pos: formats.Pos{Line: 3, Col: 43}},
						{Text: "c", Pos: formats.Pos{Line: 3, Col: 46}},
					}
				}), 3),
				at(arg("b", argspec.String), 4),
			},
			[]string{
				"f.md:3:43: E054: no other argument is named 'a'",
				"f.md:3:46: E054: no other argument is named 'c'",
			},
		},
		{
			"of",
			[]syntax.Argument{
				at(arg("who", argspec.Subagent), 2),
				at(
					with(arg(
						"a",
						argspec.Text,
					), func(a *syntax.Argument) {
						a.Of = &syntax.Word{Text: "who"}
					}),
					3,
				),
				at(with(arg("b", argspec.String), func(a *syntax.Argument) {
					a.Of = &syntax.Word{Text: "who", Pos: formats.Pos{Line: 4, Col: 40}}
					a.Flag = true
				}), 4),
				at(with(arg("c", argspec.String), func(a *syntax.Argument) {
					a.Of = &syntax.Word{Text: "b", Pos: formats.Pos{Line: 5, Col: 40}}
					a.Flag = true
					a.Repeat = true
				}), 5),
			},
			[]string{
				"f.md:4:40: E054: 'of' belongs to a text, or to a string that may be repeated",
				"f.md:5:40: E054: no argument of type subagent is named 'b'",
			},
		},
		{
			"path",
			[]syntax.Argument{
				at(flag(arg("report", argspec.Path)), 2),
				at(with(arg("a", argspec.Text), func(a *syntax.Argument) {
					a.Path = &syntax.Word{Text: "report"}
				}), 3),
				at(with(flag(arg("b", argspec.String)), func(a *syntax.Argument) {
					a.Path = &syntax.Word{Text: "a", Pos: formats.Pos{Line: 4, Col: 40}}
				}), 4),
			},
			[]string{
				"f.md:4:40: E054: 'path' belongs to an optional text",
				"f.md:4:40: E054: no flag of type path is named 'a'",
			},
		},
		{
			"letters",
			[]syntax.Argument{
				at(with(arg("a", argspec.String), func(a *syntax.Argument) {
					a.Short = "x"
				}), 3),
				at(with(arg("b", argspec.String), func(a *syntax.Argument) {
					a.Short = "x"
				}), 4),
				at(with(arg("c", argspec.String), func(a *syntax.Argument) {
					a.Short = "xy"
				}), 5),
			},
			[]string{
				"f.md:4:5: E052: arguments 'a' and 'b' have the same letter 'x'",
				"f.md:5:5: E050: expected one letter for short, got \"xy\"",
			},
		},
		{
			"keys",
			[]syntax.Argument{
				at(with(arg("a", argspec.Integer), func(a *syntax.Argument) {
					a.Values = []string{"x"}
					a.Min = new(3.0)
					a.Max = new(1.0)
				}), 3),
				at(with(arg("b", argspec.String), func(a *syntax.Argument) {
					a.Min = new(1.0)
					a.Pattern = &syntax.Word{Text: "(", Pos: formats.Pos{Line: 4, Col: 40}}
				}), 4),
				at(arg("c", argspec.Enum), 5),
				at(
					with(arg(
						"d",
						argspec.Enum,
					), func(a *syntax.Argument) {
						a.Values = []string{"x", "x"}
					}),
					6,
				),
				at(flag(arg("e", argspec.Text)), 7),
				at(
					with(arg("f", argspec.Boolean), func(a *syntax.Argument) {
						a.Repeat = true
					}),
					8,
				),
			},
			[]string{
				"f.md:3:5: E054: an argument of type integer has no 'values'",
				"f.md:3:5: E054: expected min of at most max, got 3 and 1",
				"f.md:4:5: E054: an argument of type string has no 'min'",
				"f.md:4:40: E054: expected pattern, got \"(\": error parsing regexp: missing " +
					"closing ): `(`",
				"f.md:5:5: E054: an argument of type enum needs 'values'",
				"f.md:6:5: E054: expected different words as values, got \"x\" twice or empty",
				"f.md:7:5: E054: an argument of type text cannot be a flag",
				"f.md:8:5: E054: an argument of type boolean has no 'repeat'",
			},
		},
		{
			"last",
			[]syntax.Argument{at(arg("a", argspec.Text), 3), at(arg("b", argspec.String), 4)},
			[]string{
				"f.md:4:5: E055: argument 'b' stands after 'a', which takes the rest of the line",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, found := argspec.Specs(tt.args)
			var got []string
			for _, d := range found {
				d.File = "f.md"
				got = append(got, d.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpecsDefaults(t *testing.T) {
	t.Parallel()
	list := func(items ...any) *syntax.Value {
		v := &syntax.Value{Kind: syntax.List}
		for _, item := range items {
			v.Items = append(v.Items, lit(item))
		}
		return v
	}
	tests := []struct {
		kind   argspec.Type
		change func(*syntax.Argument)
		value  *syntax.Value
		want   any
		fault  string
	}{
		{argspec.String, nil, lit("x"), "x", ""},
		{argspec.String, nil, lit(5), nil, "expected string as default of 'a', got 5"},
		{argspec.String, nil, lit(nil), nil, ""},
		{argspec.Integer, nil, lit(5), 5, ""},
		{argspec.Integer, nil, lit("5"), nil, "expected integer as default of 'a', got \"5\""},
		{
			argspec.Integer,
			func(a *syntax.Argument) { a.Max = new(4.0) },
			lit(5),
			nil,
			"expected integer of at most 4 as default of 'a', got 5",
		},
		{argspec.Number, nil, lit(2.5), 2.5, ""},
		{argspec.Number, nil, lit(2), 2.0, ""},
		{argspec.Boolean, nil, lit(true), true, ""},
		{
			argspec.Boolean,
			nil,
			lit("true"),
			nil,
			"expected boolean as default of 'a', got \"true\"",
		},
		{argspec.Duration, nil, lit("2h"), 7200, ""},
		{argspec.Duration, nil, lit(5), nil, "expected duration as default of 'a', got 5"},
		{
			argspec.Path,
			nil,
			lit("../x"),
			nil,
			"expected path inside the project as default of 'a', got \"../x\"",
		},
		{argspec.Tasks, nil, lit("3, 5"), []any{3, 5}, ""},
		{argspec.Tasks, nil, list(3, "5-6"), []any{3, 5, 6}, ""},
		{argspec.JSON, nil, list(1, "x", nil), []any{1, "x", nil}, ""},
		{
			argspec.JSON,
			nil,
			&syntax.Value{
				Kind:   syntax.Map,
				Fields: []syntax.Field{{Key: syntax.Word{Text: "k"}, Value: lit(1)}},
			},
			map[string]any{"k": 1},
			"",
		},
		{
			argspec.JSON,
			nil,
			&syntax.Value{Kind: syntax.Jq},
			nil,
			"expected value without an expression as default of 'a', got an expression",
		},
		{
			argspec.String,
			func(a *syntax.Argument) { a.Repeat = true },
			list("x", "y"),
			[]any{"x", "y"},
			"",
		},
		{
			argspec.String,
			func(a *syntax.Argument) { a.Repeat = true },
			lit("x"),
			nil,
			"expected list as default of 'a', got \"x\"",
		},
		{
			argspec.String,
			nil,
			&syntax.Value{Kind: syntax.Template},
			nil,
			"expected string without an expression as default of 'a', got an expression",
		},
		{
			argspec.String,
			func(a *syntax.Argument) { a.Required = true },
			lit("x"),
			nil,
			"a required argument has no use for a default",
		},
	}
	for _, tt := range tests {
		a := arg("a", tt.kind)
		a.Default = tt.value
		if tt.change != nil {
			tt.change(&a)
		}
		got, found := argspec.Specs([]syntax.Argument{a})
		fault := ""
		if len(found) > 0 {
			fault = found[0].Message
		}
		if fault != tt.fault {
			t.Errorf("default %v of %s: %q, want %q", tt.value, tt.kind, fault, tt.fault)
			continue
		}
		if diff := cmp.Diff(tt.want, got[0].Default); diff != "" {
			t.Errorf("default %v of %s differs (-want +got):\n%s", tt.value, tt.kind, diff)
		}
	}
}

func TestAtLeast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind argspec.Type
		min  *float64
		want *float64
	}{
		{argspec.Integer, nil, new(1.0)},
		{argspec.Integer, new(0.0), new(1.0)},
		{argspec.Integer, new(5.0), new(5.0)},
		{argspec.String, nil, nil},
	} {
		s := argspec.Spec{
			Name: "a",
			Type: tt.kind,
			Min:  tt.min,
		}
		s.AtLeast(1)
		if diff := cmp.Diff(tt.want, s.Min); diff != "" {
			t.Errorf("AtLeast(1) on %s from %v (-want +got):\n%s", tt.kind, tt.min, diff)
		}
	}
}

func TestParseTasks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]int{
		"196":                   {196},
		"105-107":               {105, 106, 107},
		"3, 5-7":                {3, 5, 6, 7},
		" 7 , 3,7, 6-7":         {7, 3, 6},
		"":                      nil,
		"0":                     nil,
		"-1":                    nil,
		"3,":                    nil,
		"7-5":                   nil,
		"1-2-3":                 nil,
		"1-100000":              nil,
		"1-9223372036854775807": nil,
		"1-600,700-1300":        nil,
		"x":                     nil,
	} {
		got, err := argspec.ParseTasks(in)
		if (err != nil) != (want == nil) {
			t.Errorf("ParseTasks(%q) = %v, %v, want %v", in, got, err, want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseTasks(%q) differs (-want +got):\n%s", in, diff)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const bad = time.Duration(-1)
	for in, want := range map[string]time.Duration{
		"30m":          30 * time.Minute,
		"2h":           2 * time.Hour,
		"1h30m":        90 * time.Minute,
		"90s":          90 * time.Second,
		"1h0m5s":       time.Hour + 5*time.Second,
		"0s":           0,
		"":             bad,
		"5":            bad,
		"m":            bad,
		"30m1h":        bad,
		"1.5h":         bad,
		"-1h":          bad,
		"1h1h":         bad,
		"1d":           bad,
		"99999999999h": bad,
		"2562047h59m":  bad,
	} {
		got, err := argspec.ParseDuration(in)
		if err != nil {
			got = bad
		}
		if got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for word, known := range map[string]bool{
		"string":   true,
		"path":     true,
		"enum":     true,
		"text":     true,
		"integer":  true,
		"number":   true,
		"boolean":  true,
		"duration": true,
		"task":     true,
		"tasks":    true,
		"json":     true,
		"text ":    false,
		"":         false,
	} {
		a := syntax.Argument{Name: syntax.Word{Text: "x"}, Type: syntax.Word{Text: word}}
		_, found := argspec.Specs([]syntax.Argument{a})
		refused := slices.ContainsFunc(found, func(d formats.Diagnostic) bool {
			return d.Code == argspec.CodeType
		})
		if refused == known {
			t.Errorf("type %q: %v", word, found)
		}
	}
}

// TestRanges: numbers are written as a list of tasks is typed, and read back the same.
func TestRanges(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]int{
		"":        nil,
		"7":       {7},
		"1-3":     {1, 2, 3},
		"1-2":     {2, 1},
		"1,3-5,9": {9, 3, 4, 5, 1},
		"4":       {4, 4},
	} {
		if got := argspec.Ranges(list); got != want {
			t.Errorf("Ranges(%v) = %q, want %q", list, got, want)
		}
	}
}
