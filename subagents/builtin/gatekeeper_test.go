package builtin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/subagents/builtin"
	"tercet/subagents/checks"
)

func TestGatekeeper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	issue := formats.Issue{
		Level:       formats.LevelError,
		Description: "TestX failed",
		Files:       []string{"x_test.go"},
		Line:        3,
		Source:      "check",
	}
	tests := []struct {
		name  string
		input map[string]any
		red   string // word of the commands that do not pass
		ran   []string
		want  formats.Outcome
		sum   string
	}{
		{
			"command passes",
			map[string]any{"command": []any{"make", "check"}},
			"-",
			[]string{"make check"},
			formats.OutcomeApproved,
			"make check passes",
		},
		{
			"command fails",
			map[string]any{"command": []any{"make", "check"}},
			"make",
			[]string{"make check"},
			formats.OutcomeRejected,
			"make check ends with 1",
		},
		{
			"project",
			map[string]any{"project": []any{"test", "lint"}},
			"-",
			[]string{"go vet ./...", "go test ./..."},
			formats.OutcomeApproved,
			"go vet ./... passes; go test ./... passes",
		},
		{
			"project fails",
			map[string]any{"project": []any{"lint", "test"}},
			"vet",
			[]string{"go vet ./...", "go test ./..."},
			formats.OutcomeRejected,
			"go vet ./... ends with 1; go test ./... passes",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			g := builtin.Gatekeeper{
				Check: func(
					_ context.Context,
					r formats.Request,
					c checks.Check,
				) (checks.Result, error) {
					if r.Dir != dir {
						t.Errorf("ran in %s, want %s", r.Dir, dir)
					}
					ran = append(ran, c.String())
					if strings.Contains(c.String(), tt.red) {
						return checks.Result{
							Check:   c,
							Exit:    1,
							Issues:  []formats.Issue{issue},
							Dropped: 2,
						}, nil
					}
					return checks.Result{Check: c, Passed: true}, nil
				},
			}
			ret, err := g.Run(t.Context(), formats.Request{
				Agent: "gatekeeper",
				Dir:   dir,
				Input: tt.input,
			})
			if err != nil || ret.Outcome() != tt.want || ret.Summary != tt.sum ||
				!slices.Equal(ran, tt.ran) {
				t.Errorf("Run(%v) = %+v, %v after %v", tt.input, ret, err, ran)
			}
			var want []formats.Issue
			if tt.want == formats.OutcomeRejected {
				want = []formats.Issue{issue}
				if len(ret.Warnings) != 1 || !strings.Contains(ret.Warnings[0], "2 more issues") {
					t.Errorf("warnings = %v", ret.Warnings)
				}
			}
			if diff := cmp.Diff(want, ret.Issues); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGatekeeperCannotRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		input map[string]any
		err   error
		want  formats.Code
	}{
		{nil, nil, formats.CodeValidationFailed},
		{map[string]any{"command": "make check"}, nil, formats.CodeValidationFailed},
		{
			map[string]any{"command": []any{"make"}, "project": []any{"test"}},
			nil,
			formats.CodeValidationFailed,
		},
		{map[string]any{"project": []any{"deploy"}}, nil, formats.CodeValidationFailed},
		{map[string]any{"project": []any{"test"}}, nil, formats.CodePrecondition},
		{
			map[string]any{"command": []any{"make"}},
			&formats.Failure{Code: formats.CodeToolUnavailable, Message: "no make"},
			formats.CodeToolUnavailable,
		},
		{
			map[string]any{"command": []any{"make"}},
			errors.New("not allowed"),
			formats.CodeToolUnavailable,
		},
	} {
		g := builtin.Gatekeeper{
			Check: func(context.Context, formats.Request, checks.Check) (checks.Result, error) {
				if tt.err == nil {
					t.Errorf("Run(%v) ran something", tt.input)
				}
				return checks.Result{}, tt.err
			},
		}
		ret, err := g.Run(t.Context(), formats.Request{
			Agent: "gatekeeper",
			Dir:   t.TempDir(),
			Input: tt.input,
		})
		if err != nil || ret.Status != formats.StatusFailed || ret.Errors[0].Code != tt.want {
			t.Errorf("Run(%v) = %+v, %v, want %s", tt.input, ret, err, tt.want)
		}
	}
}
