package meta_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
	"tercet/templates/meta"
)

// inert is what a dry run reaches besides the sample: nothing of it may be called but the clock.
type inert struct{ t *testing.T }

func (i inert) Delegate(context.Context, formats.Request) (formats.Return, error) {
	i.t.Error("a dry run delegates")
	return formats.Return{}, nil
}

func (inert) Record(context.Context, formats.Problem) error {
	return nil
}

func (inert) Append(context.Context, formats.Entry, bool) (bool, error) {
	return false, nil
}

func (inert) Live(bool) error {
	return nil
}

func (inert) Recall(formats.Entry) (json.RawMessage, bool) {
	return nil, false
}

func (inert) Resumable() bool {
	return false
}

func (inert) Now() time.Time {
	return time.Unix(0, 0)
}

func (inert) Sleep(context.Context, time.Duration) error {
	return nil
}
func (inert) Remember(string, string, formats.Decision) {}

func (inert) Approve(_ context.Context, g formats.Gate) (formats.Decision, error) {
	return formats.Decision{}, &formats.GateOpenError{Gate: g}
}

// compiled parses and compiles the command among the files.
func compiled(known meta.Agents, files []meta.File) (*compile.Program, error) {
	env, found := meta.With(known, files)
	if len(found) > 0 {
		return nil, &formats.Diagnostics{List: found}
	}
	f := meta.Commands(files)[0]
	parsed, err := syntax.Parse(f.Name, f.Data)
	if err != nil {
		return nil, err
	}
	return compile.Compile(parsed, env)
}

// real wires the builder to layer 2 as the program does.
func real(t *testing.T, b *bench) {
	t.Helper()
	b.Lint = func(files []meta.File) []formats.Diagnostic {
		prog, err := compiled(b.Agents, files)
		if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
			return d.List
		}
		if err != nil {
			t.Error(err)
			return nil
		}
		return prog.Warnings
	}
	b.DryRun = func(ctx context.Context, files []meta.File, name string) (formats.Return, error) {
		prog, err := compiled(b.Agents, files)
		if err != nil {
			return formats.Return{}, err
		}

		sample := meta.Sample{Planned: true}
		runner, err := interp.New(interp.Config{
			Agents:   inert{t},
			State:    sample,
			Docs:     sample,
			Problems: inert{t},
			Approve:  inert{t},
			Journal:  inert{t},
			Clock:    inert{t},
			Lint: func(string, []byte, bool) []formats.Diagnostic {
				return nil
			},
			Trace: trace.Discard{},
			Show:  func(formats.Table) {},
			IDs: interp.IDs{
				Run:     "r1",
				Session: "sess_1_aaaaaa",
				Command: "/" + name + " 1",
			},
			DryRun: true,
		})
		if err != nil {
			return formats.Return{}, err
		}

		line := "1"
		if len(prog.Args) == 0 || prog.Args[0].Flag {
			line = ""
		}
		values, err := argspec.Bind(name, prog.Args, line, nil)
		if err != nil {
			return formats.Return{}, err
		}
		return runner.Run(ctx, prog, values, formats.CommandDepth())
	}
}

// TestWiredToLayerTwo: what /meta writes compiles and runs dry, new subagents of every role
// included.
func TestWiredToLayerTwo(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"single log-reader", "single api-researcher", "single api-planner",
		"single api-implementer", "single api-reviewer",
		"sequential api-researcher,api-planner,api-reviewer",
		"sequential log-reader,api-implementer,api-reviewer",
		"conditional api-implementer,api-planner", "conditional planner,task-reviser",
		"iterative log-reader", "iterative api-implementer,api-reviewer", "iterative planner",
		"iterative api-reviewer,log-reader",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			real(t, b)
			shape, agents, _ := strings.Cut(line, " ")
			ret := b.run(
				t, request("triage", shape, agents, "Sort ${{ a }} `new` report of a task"),
			)
			if ret.Outcome() != formats.OutcomeCompleted || len(ret.Warnings) > 0 {
				t.Fatalf("Run = %s %+v with warnings %q, want completed without",
					ret.Outcome(), ret.Errors, ret.Warnings)
			}
			if !strings.Contains(ret.Text, "delegate") {
				t.Errorf("text shows no dry run:\n%s", ret.Text)
			}
			first, _, _ := strings.Cut(agents, ",")
			if info, known := b.Agents.Agent(first); !known {
				if _, err := b.Root.Stat(".tercet/subagents/" + first + ".md"); err != nil {
					t.Errorf("no file for %s: %v", first, err)
				}
			} else if info.Name != first {
				t.Errorf("Agent(%s) = %s", first, info.Name)
			}
		})
	}
}
