package interp_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/outline"
	"tercet/commands/syntax"
	"tercet/formats"
)

// example compiles a file of the specification with stub subagents.
func (w *world) example(name string) *compile.Program {
	w.tb.Helper()
	src, err := os.ReadFile(filepath.Join("..", "syntax", "testdata", "flows", name+".md"))
	if err != nil {
		w.tb.Fatal(err)
	}
	f, err := syntax.Parse(name+".md", src)
	if err != nil {
		w.tb.Fatal(err)
	}
	for word := range strings.FieldsSeq(`ux-designer supervisor spec-designer visual-designer scaffolder developer e2e-test-designer doc-writer releaser document-writer
		doc-reviewer interviewer poc-engineer concept-validator rules-designer scope-planner hld-author lld-author api-reference-author ops-manual-author
		user-manual-author handover-author codebase-analyzer change-classifier impact-analyzer analyst-intake analyst-core infra-builder db-ops observability
		ops-planner sandbox-runner architect test-designer implementer planner researcher task-reviser`) {
		w.infos[word] = formats.AgentInfo{Name: word, Tools: []string{"read", "write"}}
	}

	for _, word := range []string{"tester", "reviewer", "security-auditor", "doc-reviewer"} {
		w.infos[word] = formats.AgentInfo{
			Name:  word,
			Role:  formats.RoleReviewer,
			Tools: []string{"read", "shell"},
		}
	}

	w.infos["developer"] = formats.AgentInfo{Name: "developer", Tools: []string{"write", "shell"}}
	w.infos[compile.GitWorkflow] = formats.AgentInfo{
		Name:        compile.GitWorkflow,
		Builtin:     true,
		NoArtifacts: true,
	}
	p, err := compile.Compile(f, w)
	if err != nil {
		w.tb.Fatal(err)
	}
	return p
}

// exampleRun is one run of an example: its line, what is known of the world, and the exact order of
// steps that call someone.
type exampleRun struct {
	file, line string
	docs       map[string]string
	by         replies
	answers    string // labels of gates in order, separated by |
	auto       bool
	want       string
	end        string
}

func fieldsOf(pairs ...any) formats.Return {
	ret := ok("done")
	ret.Fields = map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		ret.Fields[name] = pairs[i+1]
	}
	return ret
}

func wrote(path string) formats.Return {
	return made(formats.ArtifactDocumentation, path)
}

// handed is a valid handoff document of the conformance kit, without the paths that it names.
func handed(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile("../../formats/documents/testdata/documents/good/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`[ ]?[(（]resolved path: [^)）]*[)）]`).ReplaceAllString(string(src), "")
}

// exampleRuns: for every tier and condition the order of subagents is exactly the expanded one.
func exampleRuns(t *testing.T) map[string]exampleRun {
	t.Helper()
	handoff := map[string]string{"docs/DELIVERY_RESULT.md": handed(t, "delivery.en")}
	delivery := replies{"handoff": {wrote("docs/DELIVERY_RESULT.md")}}

	with := func(base, more replies) replies {
		out := replies{}
		maps.Copy(out, base)
		maps.Copy(out, more)
		return out
	}

	return map[string]exampleRun{
		"delivery, minimal": {
			file: "delivery-flow",
			line: "--scope single-function a clock",
			docs: handoff,
			by:   delivery,
			auto: true,
			want: "spec spec.doc_review architecture architecture.doc_review code test security " +
				"handoff handoff.commit",
			end: "completed 0: Delivered as Minimal.",
		},
		"delivery, light with a user interface": {
			file: "delivery-flow",
			line: "--scope personal a clock",
			docs: handoff,
			auto: true,
			by:   with(delivery, replies{"spec": {fieldsOf("HAS_UI", true)}}),
			want: "spec spec.doc_review ux ux.doc_review architecture architecture.doc_review " +
				"code cases e2e test review security handoff handoff.commit",
			end: "completed 0: Delivered as Light.",
		},
		"delivery, standard by hand, asked after each": {
			file:    "delivery-flow",
			line:    "--scope personal --tier Standard a clock",
			docs:    handoff,
			by:      delivery,
			answers: "Approve and start" + strings.Repeat("|Approve and continue", 11),
			want: "spec spec.doc_review architecture architecture.doc_review scaffold code " +
				"cases test review security docs handoff handoff.commit",
			end: "completed 0: Delivered as Standard.",
		},
		"delivery, full without a person": {
			file: "delivery-flow",
			line: "--scope public a clock",
			docs: handoff,
			by:   delivery,
			auto: true,
			want: "spec spec.doc_review architecture architecture.doc_review scaffold code cases " +
				"test review security docs release handoff handoff.commit",
			end: "completed 0: Delivered as Full.",
		},
		"delivery, a failing end-to-end test goes to its designer": {
			file: "delivery-flow",
			line: "--scope personal --tier Light a clock",
			docs: handoff,
			auto: true,
			by: with(delivery, replies{
				"spec": {fieldsOf("HAS_UI", true)},
				"test": {
					func() formats.Return {
						r := no("x")
						r.Fields = map[string]any{"FAILED_TESTS": []any{"TC-E2E-1"}}
						return r
					}(),
					func() formats.Return {
						r := no("x")
						r.Fields = map[string]any{"FAILED_TESTS": []any{"TC-1"}}
						return r
					}(), yes(),
				},
			}),
			want: "spec spec.doc_review ux ux.doc_review architecture architecture.doc_review " +
				"code cases e2e test e2e code test cases code test review security handoff " +
				"handoff.commit",
			end: "completed 0: Delivered as Light.",
		},
		"delivery, three rollbacks and no fourth": {
			file: "delivery-flow",
			line: "--scope single-function a clock",
			docs: handoff,
			auto: true,
			by: with(delivery, replies{"security": {
				no("hole"),
				no("gap"),
				no("leak"),
				no("hole"),
			}}),
			want: "spec spec.doc_review architecture architecture.doc_review code test security " +
				"code test security code test security code test security",
			end: "failed 7 LIMIT: the limit of 3 rollbacks is reached: rejected",
		},
		"delivery, a document that is sent back": {
			file: "delivery-flow",
			line: "--scope single-function a clock",
			docs: handoff,
			auto: true,
			by:   with(delivery, replies{"spec.doc_review": {no("gap"), yes()}}),
			want: "spec spec.doc_review spec spec.doc_review architecture " +
				"architecture.doc_review code test security handoff handoff.commit",
			end: "completed 0: ",
		},
		"delivery, a question is answered and not counted": {
			file: "delivery-flow",
			line: "--scope single-function a clock",
			docs: handoff,
			auto: true,
			by: with(delivery, replies{"code": {
				{
					Status:        formats.StatusBlocked,
					Summary:       "q",
					BlockedReason: "which port?",
					BlockedTarget: "architect",
				},
				ok("done"),
			}}),
			want: "spec spec.doc_review architecture architecture.doc_review code code.ask code " +
				"test security handoff handoff.commit",
			end: "completed 0: ",
		},
		"delivery, continued where documents exist": {
			file: "delivery-flow",
			line: "--scope single-function a clock",
			auto: true,
			by:   delivery,
			docs: map[string]string{
				"docs/DELIVERY_RESULT.md":                         handed(t, "delivery.en"),
				"docs/{SPEC,UI_SPEC,VISUAL_SPEC,ARCHITECTURE}.md": "x",
			},
			want: "spec spec.doc_review architecture architecture.doc_review code test security " +
				"handoff handoff.commit",
			end: "completed 0: ",
		},
		"discovery, minimal": {
			file: "discovery-flow",
			line: "--scale script --ui cli --no-dependencies --no-integration --complexity " +
				"simple --product-type tool",
			auto: true,
			docs: map[string]string{"docs/DISCOVERY_RESULT.md": handed(t, "discovery.en")},
			want: "interview handoff",
			end:  "completed 0: Discovered.",
		},
		"discovery, light, scope is blocked": {
			file: "discovery-flow",
			line: "--scale personal --ui cli --no-dependencies --no-integration --complexity " +
				"simple --product-type tool",
			docs: map[string]string{"docs/DISCOVERY_RESULT.md": handed(t, "discovery.en")},
			by:   replies{"scope": {blocked("who?"), ok("1")}},
			answers: "Approve and start|Escalate to Standard|Approve and continue|Approve and " +
				"continue",
			want: "interview rules scope research scope scope.doc_review",
			end:  "completed 0: Discovered.",
		},
		"discovery, standard by hand": {
			file: "discovery-flow",
			line: "--scale team --ui cli --dependencies --no-integration --complexity " +
				"moderate --product-type service",
			docs:    map[string]string{"docs/DISCOVERY_RESULT.md": handed(t, "discovery.en")},
			by:      replies{"poc": {blocked("which port?"), ok("1")}},
			answers: "Approve and start" + strings.Repeat("|Approve and continue", 8),
			want:    "interview research poc interview research poc rules scope scope.doc_review",
			end:     "completed 0: Discovered.",
		},
		"discovery, standard": {
			file: "discovery-flow",
			line: "--scale personal --ui cli --no-dependencies --integration --complexity simple " +
				"--product-type tool",
			auto: true,
			docs: map[string]string{"docs/DISCOVERY_RESULT.md": handed(t, "discovery.en")},
			want: "interview research poc rules scope scope.doc_review",
			end:  "completed 0: Discovered.",
		},
		"discovery, full": {
			file: "discovery-flow",
			line: "--scale large --ui web --dependencies --integration --complexity complex " +
				"--product-type service",
			auto: true,
			docs: map[string]string{"docs/DISCOVERY_RESULT.md": handed(t, "discovery.en")},
			want: "interview research poc concept rules scope scope.doc_review",
			end:  "completed 0: ",
		},
		"maintenance, patch": {
			file: "maintenance-flow",
			line: "fix it",
			auto: true,
			by:   replies{"classify": {fieldsOf("PLAN", "Patch", "TRIGGER_TYPE", "bug")}},
			want: "classify intake analysis code test",
			end:  "completed 0: Patch change done.",
		},
		"maintenance, a patch for security": {
			file: "maintenance-flow",
			line: "fix it",
			auto: true,
			by: replies{
				"classify": {fieldsOf("PLAN", "Patch", "TRIGGER_TYPE", "security")},
				"security": {no("x"), yes()},
			},
			want: "classify intake analysis code test security code test security",
			end:  "completed 0: Patch change done.",
		},
		"maintenance, minor, documents missing": {
			file: "maintenance-flow",
			line: "fix it",
			auto: true,
			by: replies{
				"classify": {
					fieldsOf("PLAN", "Minor", "REQUIRES_CODEBASE_ANALYZER", true),
					fieldsOf("PLAN", "Minor"),
				},
				"code": {blocked("arch"), ok("1")},
			},
			want: "classify analyze classify impact intake analysis analysis.doc_review " +
				"architecture code architecture code test review",
			end: "completed 0: Minor change done.",
		},
		"maintenance, major by hand": {
			file: "maintenance-flow",
			line: "fix it",
			by: replies{
				"classify": {fieldsOf("PLAN", "Patch")},
				"handoff":  {wrote("docs/MAINTENANCE_RESULT.md")},
			},
			docs: map[string]string{"docs/MAINTENANCE_RESULT.md": handed(t, "maintenance.en")},
			answers: "Change to Major" + strings.Repeat("|Approve and continue", 5) +
				"|Hand off to delivery-flow",
			want: "classify impact intake analysis analysis.doc_review security handoff",
			end:  "completed 0: Handed off.",
		},
		"documents": {
			file: "doc-flow",
			line: "--types hld --types lld --lang en --slug x",
			auto: true,
			docs: map[string]string{
				"docs/DOC_FLOW_RESULT.md":           handed(t, "doc.en"),
				"docs/deliverables/clock/hld.en.md": "x",
			},
			by:   replies{"author": {ok("1"), blocked("template_major_bump"), ok("2")}},
			want: "author author author document_writer",
			end:  "completed 0: 2 documents written.",
		},
		"operations, standard": {
			file: "operations-flow",
			line: "--users internal",
			auto: true,
			docs: map[string]string{
				"docs/DELIVERY_RESULT.md": handed(t, "delivery.en"),
				"docs/ARCHITECTURE.md":    "database: postgres\n",
				"docs/OPS_RESULT.md":      handed(t, "operations.en"),
			},
			want: "infra db.probe db plan",
			end:  "completed 0: Ready.",
		},
		"operations, full": {
			file: "operations-flow",
			line: "--users external",
			auto: true,
			docs: map[string]string{
				"docs/DELIVERY_RESULT.md": handed(t, "delivery.en"),
				"docs/ARCHITECTURE.md":    "database: postgres\n",
				"docs/OPS_RESULT.md":      handed(t, "operations.en"),
			},
			want: "infra db.probe db observe.probe observe plan",
			end:  "completed 0: Ready.",
		},
		"operations, for no service": {
			file: "operations-flow",
			line: "--users internal",
			auto: true,
			docs: map[string]string{
				"docs/DELIVERY_RESULT.md": handed(t, "delivery.ja"),
				"docs/ARCHITECTURE.md":    "database: postgres\n",
			},
			want: "",
			end:  "failed 1 PRECONDITION: Operations are not needed for a cli.",
		},
		"consensus": {
			file: "consensus",
			line: "why?",
			by: replies{"supervisor": {
				fieldsOf("decision", "deliberate"),
				fieldsOf("decision", "yes"),
			}},
			want: "architect security user supervisor architect security user supervisor",
			end:  "completed 0: done",
		},
		"no consensus": {
			file: "consensus",
			line: "why?",
			by:   replies{"supervisor": {fieldsOf("decision", "deliberate")}},
			want: strings.TrimSpace(strings.Repeat("architect security user supervisor ", 3)),
			end:  "partial 3: not reached in 3 passes: ",
		},
		"review loop": {
			file: "review-loop",
			line: "do it",
			by: replies{
				"security":             {no("x"), yes()},
				"publish_the_worktree": {no("conflict"), ok("merged")},
			},
			want: "worktree code correctness gatekeeper security tests code correctness " +
				"gatekeeper security tests publish_the_worktree code correctness gatekeeper " +
				"security tests publish_the_worktree close",
			end: "completed 0: Merged after 2 rollbacks.",
		},
		"implement": {
			file:    "implement",
			line:    "7",
			answers: "reject: not so|approve",
			by: replies{
				"code":     {blocked("which?"), ok("1"), ok("2")},
				"security": {no("x"), yes()},
			},
			want: "worktree code code.ask code correctness project security tests cause code " +
				"correctness project security tests commit code correctness project security " +
				"tests commit publish_the_worktree close",
			end: "completed 0: Task 7 implemented in 1 phases.",
		},
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	for name, c := range exampleRuns(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			maps.Copy(w.docs, c.docs)
			w.cfg.AutoApprove = c.auto
			if c.answers != "" {
				w.person(strings.Split(c.answers, "|")...)
			}
			if c.auto {
				w.answer = byItself
			}
			by := replies{}
			maps.Copy(by, c.by)
			for _, id := range []string{
				"tests", "correctness", "security", "review", "test", "project", "gatekeeper",
				"spec.doc_review", "ux.doc_review", "architecture.doc_review",
				"analysis.doc_review", "scope.doc_review",
			} {
				if by[id] == nil {
					by[id] = []formats.Return{yes()}
				}
			}

			if by["worktree"] == nil {
				open := ok("open")
				open.Metadata.Worktree = "/project/.tercet/worktrees/r1"
				by["worktree"] = []formats.Return{open}
			}

			w.tasks[7].Status = formats.Planned
			w.tasks[7].Artifacts = []formats.Artifact{{Type: formats.ArtifactPlan, Path: "plan.md"}}
			plan, err := os.ReadFile(filepath.Join(
				"..", "..", "cmd", "tercet", "testdata", "fixtures", "plan.md",
			))
			if err != nil {
				t.Fatal(err)
			}
			w.docs["plan.md"] = string(plan)

			p := w.play(by)
			prog := w.example(c.file)

			values, err := argspec.Bind(c.file, prog.Args, c.line, nil)
			if err != nil {
				t.Fatal(err)
			}
			runner, err := interp.New(w.cfg)
			if err != nil {
				t.Fatal(err)
			}

			ret, err := runner.Run(t.Context(), prog, values, formats.CommandDepth())
			if err != nil {
				t.Fatal(err)
			}

			if got := settled(p.steps); got != c.want {
				t.Errorf("steps = %s\nwant    %s", got, c.want)
			}
			if got := describeReturn(ret); !strings.HasPrefix(got, c.end) {
				t.Errorf("Run = %s %v, want %s", got, ret.Issues, c.end)
			}
			if tier, ok := exampleTiers()[name]; ok {
				asExplained(t, prog, tier, p.steps)
			}

			for _, r := range p.reqs {
				if r.Agent == "implementer" && r.Dir != "/project/.tercet/worktrees/r1" {
					t.Errorf("%s works in %s", r.Step, r.Dir)
				}
			}
		})
	}
}

// exampleTiers names the tier of the runs that go through it without a step that is sent back
// before others had their turn.
func exampleTiers() map[string]string {
	return map[string]string{
		"delivery, minimal":                            "Minimal",
		"delivery, light with a user interface":        "Light",
		"delivery, standard by hand, asked after each": "Standard",
		"delivery, full without a person":              "Full",
		"discovery, minimal":                           "Minimal",
		"discovery, standard":                          "Standard",
		"discovery, standard by hand":                  "Standard",
		"discovery, full":                              "Full",
		"maintenance, patch":                           "Patch",
		"maintenance, major by hand":                   "Major",
		"operations, standard":                         "Standard",
		"operations, full":                             "Full",
		"documents":                                    "Light",
	}
}

// asExplained holds the steps that a run called against what 'explain --tiers' lists for its tier:
// nothing else is called, what is called first stands before what is called later, and what stands
// there without a condition is called.
func asExplained(t *testing.T, prog *compile.Program, tier string, called []string) {
	t.Helper()
	var listed []string
	must := map[string]bool{}
	over := false

	var list func(nodes []*outline.Node, sure bool)
	list = func(nodes []*outline.Node, sure bool) {
		for _, n := range nodes {
			if !n.InTier(tier) {
				continue
			}
			sure := sure && n.Info.Step.When == nil && n.Many == ""
			if len(n.Agents) > 0 {
				listed = append(listed, n.Info.ID)
				must[n.Info.ID] = sure && n.Role == "" && n.Timeout > 0 && !over
			}
			// what stands behind a return under a condition may not be reached
			over = over || n.Kind == "return" ||
				slices.ContainsFunc(n.Ways, func(w outline.Way) bool {
					return strings.HasPrefix(w.To, "return")
				})
			list(n.Children, sure)
		}
	}

	list(outline.Of(prog).Steps, true)
	seen := map[string]bool{}
	at := -1

	for _, id := range called {
		id = strings.TrimSuffix(id, ".ask")
		i := slices.Index(listed, id)
		switch {
		case seen[id]:
			continue
		case i < 0:
			t.Errorf("step %s was called, but is not among those of tier %s: %v", id, tier, listed)
		case i < at:
			t.Errorf("step %s was called behind %s, but stands before it in tier %s: %v",
				id, listed[at], tier, listed)
		default:
			at = i
		}
		seen[id] = true
	}

	for _, id := range listed {
		if must[id] && !seen[id] {
			t.Errorf("step %s of tier %s was not called: %v", id, tier, called)
		}
	}

	if len(listed) == 0 {
		t.Errorf("tier %s has no steps", tier)
	}
}

// TestExamplesDry: a dry run of each example calls nobody and comes to an end.
func TestExamplesDry(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range exampleRuns(t) {
		if seen[c.file] {
			continue
		}

		seen[c.file] = true

		w := newWorld(t)
		maps.Copy(w.docs, c.docs)
		w.cfg.DryRun = true
		w.tasks[7].Status = formats.Planned
		w.tasks[7].Artifacts = []formats.Artifact{{Type: formats.ArtifactPlan, Path: "plan.md"}}

		plan, err := os.ReadFile(filepath.Join(
			"..", "..", "cmd", "tercet", "testdata", "fixtures", "plan.md",
		))
		if err != nil {
			t.Fatal(err)
		}

		w.docs["plan.md"] = string(plan)
		prog := w.example(c.file)

		values, err := argspec.Bind(c.file, prog.Args, c.line, nil)
		if err != nil {
			t.Fatal(err)
		}

		runner, err := interp.New(w.cfg)
		if err != nil {
			t.Fatal(err)
		}

		ret, err := runner.Run(t.Context(), prog, values, formats.CommandDepth())
		if err != nil || len(w.entries) > 0 || len(w.requests) > 0 ||
			c.end[:9] == "completed" && !ret.Outcome().Passes() {
			t.Errorf("dry run of %s = %s, %v\n%s", c.file, describeReturn(ret), err, ret.Text)
		}
	}
}

// settled is the order of steps in which neighbours that run side by side are sorted: which of them
// is first is open.
func settled(steps []string) string {
	side := map[string]bool{
		"architect":   true,
		"security":    true,
		"user":        true,
		"correctness": true,
		"tests":       true,
		"gatekeeper":  true,
		"project":     true,
	}

	out := append([]string{}, steps...)
	for range out {
		for i := 1; i < len(out); i++ {
			if side[out[i]] && side[out[i-1]] && out[i] < out[i-1] {
				out[i], out[i-1] = out[i-1], out[i]
			}
		}
	}
	return strings.Join(out, " ")
}

// byItself answers as approval without a person does.
func byItself(g formats.Gate) (formats.Decision, error) {
	if g.Auto != "" {
		return formats.Decision{Answer: g.Auto, By: "--yes"}, nil
	}
	for _, ch := range g.Choices {
		if ch.Approves {
			return formats.Decision{Answer: ch.Label, By: "--yes"}, nil
		}
	}
	return formats.Decision{}, &formats.GateOpenError{Gate: g}
}
