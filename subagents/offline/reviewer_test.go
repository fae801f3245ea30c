package offline_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/subagents/offline"
)

func TestReviewer(t *testing.T) {
	t.Parallel()
	task := &formats.Task{Number: 9, Title: "Work"}
	npm := t.TempDir() // a script of the project starts a program that is not there
	err := os.WriteFile(
		filepath.Join(npm, "npm"),
		[]byte("#!/bin/sh\necho 'sh: 1: bun: not found' >&2\nexit 127\n"),
		0o755,
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		files   map[string]string
		task    *formats.Task
		only    string
		outcome formats.Outcome
		issues  int
	}{
		"make passes": {
			map[string]string{"Makefile": "check:\n\t@test \"$$TERCET_RUN\" = r1\n"},
			task,
			"",
			formats.OutcomeApproved,
			0,
		},
		"make fails": {
			map[string]string{"Makefile": "check:\n\t@echo it is wrong; exit 3\n"},
			task,
			"",
			formats.OutcomeRejected,
			1,
		},
		// A check that could not start is neither passed nor failed.
		"one not run": {map[string]string{
			"Makefile": "check:\n\t@true\n", "package.json": `{"scripts": {"test": "bun test"}}`,
		}, task, "", formats.OutcomePartial, 0},
		"one not run, one fails": {map[string]string{
			"Makefile":     "check:\n\t@echo it is wrong; exit 3\n",
			"package.json": `{"scripts": {"test": "bun test"}}`,
		}, task, "", formats.OutcomeRejected, 1},
		"nothing known": {map[string]string{"notes.txt": "x"}, nil, "", formats.OutcomePartial, 0},
		"only another": {
			map[string]string{"Makefile": "check:\n\t@exit 3\n"},
			nil,
			"go",
			formats.OutcomePartial,
			0,
		},
		"go fails": {map[string]string{
			"go.mod":   "module example.org/a\n\ngo 1.24\n",
			"a.go":     "package a\n",
			"Makefile": "check:\n\t@exit 3\n",
			"a_test.go": "package a\n\nimport \"testing\"\n\n" +
				"func TestA(t *testing.T) { t.Error(\"it is wrong\") }\n",
		}, task, "go", formats.OutcomeRejected, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(t, tree(t, tc.files), tc.task, map[string]any{"only": tc.only})
			s := *starter(t)
			s.Env = append(slices.Clone(s.Env), "PATH="+npm+":"+os.Getenv("PATH"))
			ret, err := offline.Reviewer{Starter: &s}.Run(t.Context(), r)
			if err != nil || ret.Outcome() != tc.outcome || len(ret.Issues) != tc.issues {
				t.Fatalf("Run = %+v, %v, want %s with %d issues", ret, err, tc.outcome, tc.issues)
			}
			valid(t, ret, formats.RoleReviewer)
			doc := document(t, r, ret, formats.ArtifactReview)
			doc = regexp.MustCompile(`\d+\.\d+s`).ReplaceAllString(doc, "TIME")
			golden(t, "review_"+strings.ReplaceAll(name, " ", "_")+".md", doc)
		})
	}
}

func TestReviewerKeepsTheContract(t *testing.T) {
	t.Parallel()
	s := starter(t)
	contract := formats.AgentInfo{
		Name:        "tester",
		Role:        formats.RoleReviewer,
		NoArtifacts: true,
		Statuses: []formats.Outcome{
			formats.OutcomeApproved, formats.OutcomeRejected, formats.OutcomeFailed,
		},
	}
	agent := offline.Workers{Starter: s}.For(contract)
	ret, err := agent.Run(
		t.Context(),
		request(t, tree(t, map[string]string{"Makefile": "check:\n\t@true\n"}), nil, nil),
	)
	if err != nil || len(ret.Artifacts) != 0 || !strings.Contains(ret.Text, "make check") ||
		ret.Verdict != formats.VerdictApproved {
		t.Errorf("Run = %+v, %v, want approved with text and no document", ret, err)
	}
	if bad := returns.Validate(ret, contract); bad != nil {
		t.Errorf("%+v breaks its contract: %q", ret, bad)
	}
	ret, err = agent.Run(t.Context(), request(t, t.TempDir(), nil, nil))
	if err != nil || ret.Status != formats.StatusFailed ||
		ret.Errors[0].Code != formats.CodeToolUnavailable {
		t.Errorf("Run without checks = %+v, %v, want failed TOOL_UNAVAILABLE", ret, err)
	}
}

func TestReviewerWithoutTheTool(t *testing.T) {
	t.Parallel()
	s := *starter(t)
	s.Env = []string{"PATH=" + t.TempDir()}
	r := request(
		t,
		tree(t, map[string]string{
			"go.mod": "module example.org/a\n\ngo 1.24\n",
			"a.go":   "package a\n",
		}),
		nil,
		nil,
	)
	ret, err := offline.Reviewer{Starter: &s}.Run(t.Context(), r)
	if err != nil || ret.Status != formats.StatusFailed ||
		ret.Errors[0].Code != formats.CodeToolUnavailable {
		t.Errorf("Run without go = %+v, %v, want failed TOOL_UNAVAILABLE", ret, err)
	}
	ret, err = (offline.Reviewer{Starter: &s}).Run(
		t.Context(),
		request(t, r.Dir, nil, map[string]any{"only": 1}),
	)
	if err != nil || ret.Status != formats.StatusFailed {
		t.Errorf("Run with only: 1 = %+v, %v, want failed", ret, err)
	}
	if _, err := (offline.Reviewer{}).Run(t.Context(), r); formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Run without a starter = %v, want BUG", err)
	}
}

// Passed checks are no answer to what another reviewer is told to look at.
func TestReviewerSaysWhatItDidNotRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"": 0, "reviewer": 0, "reviewer@2": 0, "lawyer": 1} {
		r := request(t, tree(t, map[string]string{"Makefile": "check:\n\t@true\n"}), nil, nil)
		ret, err := offline.Reviewer{
			Starter:  starter(t),
			Contract: formats.AgentInfo{Name: name},
		}.Run(t.Context(), r)
		if err != nil || len(ret.Warnings) != want ||
			want > 0 && !strings.Contains(ret.Warnings[0], name) {
			t.Errorf("warnings of %q = %q, %v, want %d", name, ret.Warnings, err, want)
		}
	}
}
