package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/testkit"
	"tercet/subagents"
)

const flows = "../../templates/packs/flows"

// flowAgents is what the subagents of the pack promise: role and tools, STATUS, fields (i integer,
// b boolean, l list, m map, else text), documents. The flows route by it.
const flowAgents = `
interviewer | W rw | success, blocked | PRODUCT_TYPE, HAS_UI b, REQUIREMENTS_COUNT i, IMPLICIT_REQUIREMENTS i, REVISED_REQUIREMENTS? l, REMOVED_REQUIREMENTS? l | INTERVIEW_RESULT.md
researcher | W rwn | success | RISKS_FOUND i, EXTERNAL_DEPS i, COMPETITORS_ANALYZED i, UBIQUITOUS_TERMS i | RESEARCH_RESULT.md
poc-engineer | W rwx | success, blocked | VERIFIED, BLOCKED_ITEMS i, TECH_RECOMMENDATION, BLOCKED_REQUIREMENTS? l | POC_RESULT.md
concept-validator | W rw | success | SCREENS i, UX_ISSUES i, IMPROVEMENTS i | CONCEPT_VALIDATION.md
rules-designer | W rw | success, blocked | PRODUCT_TYPE, LANGUAGE, FRAMEWORK, COMMIT_STYLE, BRANCH_STRATEGY | project-rules.md
scope-planner | W rw | success, blocked | MVP_SCOPE, MUST_COUNT i, SHOULD_COUNT i, RISKS i, HANDOFF_READY b | SCOPE_PLAN.md, DISCOVERY_RESULT.md
spec-designer | W rw | success, blocked | HAS_UI b, PRODUCT_TYPE, TBD_COUNT i | SPEC.md
ux-designer | W rw | success | SCREENS i, COMPONENTS i, RESPONSIVE b, ACCESSIBILITY, VISUAL_POLICY | UI_SPEC.md
visual-designer | W rw | success, blocked | DESIGN_SYSTEM, WCAG_LEVEL, DARK_MODE b, TOKENS_EXPORTED b | VISUAL_SPEC.md
architect | W rwx | success, blocked | TECH_STACK, TECH_STACK_CHANGED b, PHASES i | ARCHITECTURE.md
scaffolder | U rwx | success | TECH_STACK, DIRECTORIES_CREATED i, PACKAGES_INSTALLED i, BUILD_CHECK |
developer | U rwx | success, suspended, blocked | PHASE, TASKS_COMPLETED, LINT_CHECK, FILES_CHANGED l, ACCEPTANCE_CHECK, FAILED_CONDITIONS? l, CURRENT_TASK? |
test-designer | W rw | success | TOTAL_CASES i, UC_COVERAGE, FIX?, ANALYZED_FAILURES? i, ROOT_CAUSES? l, TEST_PLAN_UPDATED? b | TEST_PLAN.md
e2e-test-designer | W rw | success | E2E_TOOL, TOTAL_E2E_CASES i, SCREEN_COVERAGE, FIX? | TEST_PLAN.md
tester | R rwx | success, failure | TOTAL i, PASSED i, FAILED i, SKIPPED i, FAILED_TESTS l |
reviewer | R rx | approved, conditional, rejected | CRITICAL_COUNT i, WARNING_COUNT i, SUGGESTION_COUNT i, CRITICAL_ITEMS l |
security-auditor | R rwx | success | CRITICAL_COUNT i, WARNING_COUNT i, INFO_COUNT i, CRITICAL_ITEMS l, DEPENDENCY_VULNS i | SECURITY_AUDIT.md
doc-writer | W rwx | success | DOCS_COUNT i | README.md, CHANGELOG.md
releaser | U rwx | success | VERSION, TAG, PACKAGE_BUILT b, GH_RELEASE_DRAFT | RELEASE_NOTES.md
infra-builder | U rwx | success, failure | FILES_CREATED l, DOCKER_BUILD, SECURITY_HEADERS b, DEVCONTAINER_GENERATED b, DEV_COMPOSE_GENERATED b, SANDBOX_INFRA_PATH? |
db-ops | W rwx | success, skipped | MIGRATIONS i, DESTRUCTIVE_CHANGES i, DB_TYPE, BACKUP_STRATEGY | DB_OPS.md
observability | W rwx | success | HEALTH_CHECKS i, ALERT_RULES i, METRICS i | OBSERVABILITY.md
ops-planner | W rw | success | DEPLOY_READY b, RUNBOOKS i, MAINTENANCE_ITEMS i | OPS_PLAN.md, OPS_RESULT.md
change-classifier | U rx | success, blocked | TRIGGER_TYPE, PLAN, PRIORITY, ESTIMATED_FILES, BREAKING_CHANGE b, SPEC_IMPACT, DOCS_PRESENT, REQUIRES_CODEBASE_ANALYZER b, RATIONALE |
impact-analyzer | U rx | success | TARGET_FILES l, DEPENDENCY_FILES l, BREAKING_API_CHANGES, DB_SCHEMA_CHANGES b, REGRESSION_RISK, RECOMMENDED_TEST_SCOPE, IMPACT_SUMMARY |
analyst-intake | W rwx | success, blocked | GITHUB_ISSUE, HANDOFF_TO, HANDOFF_PAYLOAD |
analyst-core | W rwx | success, blocked, suspended | GITHUB_ISSUE, HANDOFF_TO, ISSUE_TYPE, ISSUE_SUMMARY, DOCS_UPDATED m, ARCHITECT_BRIEF |
codebase-analyzer | W rwx | success | HAS_UI b, PRODUCT_TYPE, LANGUAGE, FRAMEWORK, UC_COUNT i, ENTITY_COUNT i, TBD_COUNT i | SPEC.md, ARCHITECTURE.md
sandbox-runner | U rx | success, failure, blocked | DECISION, SANDBOX_MODE, EXIT_CODE? i, DETECTED_RISKS l, CALLER, DURATION_MS i, FALLBACK_REASON? |
doc-reviewer | R r | success, failure | DOC_REVIEW_RESULT, INCONSISTENCY_COUNT i, ADVISORY_COUNT i, INFO_COUNT i, TARGET_ARTIFACTS l, INCONSISTENCY_ITEMS l, TRIGGERED_BY |
hld-author | W rw | success, blocked | OUTPUT_FILE, TEMPLATE_USED, TEMPLATE_VERSION, INPUT_ARTIFACTS l, SKIPPED_SECTIONS l |
lld-author | W rw | success, blocked | OUTPUT_FILE, TEMPLATE_USED, TEMPLATE_VERSION, INPUT_ARTIFACTS l, SKIPPED_SECTIONS l |
handover-author | W rw | success, blocked | OUTPUT_FILE, TEMPLATE_USED, TEMPLATE_VERSION, INPUT_ARTIFACTS l, SKIPPED_SECTIONS l, DESIGN_NOTES_REFERENCED i, RELATED_DELIVERABLES l |
api-reference-author | W rw | success, skipped, blocked | OUTPUT_FILE, TEMPLATE_USED, TEMPLATE_VERSION, INPUT_ARTIFACTS l, SKIPPED_SECTIONS l, SKIP_REASON?, ENDPOINT_COUNT i |
ops-manual-author | W rw | success, skipped, blocked | OUTPUT_FILE, TEMPLATE_USED, TEMPLATE_VERSION, INPUT_ARTIFACTS l, SKIPPED_SECTIONS l, SKIP_REASON? |
user-manual-author | W rw | success, skipped, blocked | OUTPUT_FILE, TEMPLATE_USED, TEMPLATE_VERSION, INPUT_ARTIFACTS l, SKIPPED_SECTIONS l, SKIP_REASON?, UC_COUNT i, HAS_UI_SPEC b |
document-writer | W r | success, blocked | TEMPLATE_USED?, TEMPLATE_VERSION?, SKIPPED_SECTIONS? l |`

// flowAcceptance says for each promise of the flows which tests and scripts would fail without it.
const flowAcceptance = `
 1 | every tier of every flow, each condition true and false: its sequence, and its handoff is valid | TestPackFlows TestFlows
 2 | the sequences of all tiers, as explain prints them | pack_flows.txtar
 3 | all contracts load, nothing is read that nobody gives, no tool is used that is not granted | pack_flows.txtar TestFlowAgents TestFlows
 4 | add, edit, update, remove; a file of the project stays; /research calls the shipped researcher | pack_update.txtar pack_flows.txtar TestPackQuestion TestPacksAreWholeAfterKills
 5 | kill -9 at any line of the journal of /delivery-flow, also in a rollback and among its tasks | TestKilledOnTheWay TestEveryLineOfDelivery TestKilledAnywhere
 6 | each required item of a handoff removed, emptied, doubled or false, in both languages | TestHandoffKeys TestHandoffSections TestHandoffRules TestHandoffTiers handoff_documents.txtar
 7 | payloads: a title with ': ', no approval_mode, another schema | TestDocuments TestPayload handoff_documents.txtar
 8 | rollbacks by who found the failure, and their limit | TestPackFlows
 9 | the auto-approve file, line by line; PLAN that the flow lacks; what a consent chooses at each gate | trust_consent.txtar pack_flows.txtar flow_start.txtar TestPackFlows
10 | answers by number, by the beginning of a label, with a note, in Japanese | TestAnswersInBothLanguages TestAnswers TestNoteIsNeeded
11 | planning documents with a payload, with an issue, with neither; the tier exception; questions for the user | TestPackFlows TestInterview
12 | commits lose nothing and take nothing foreign; a push with --push alone; the request closes its issue, which is opened where there is none | document_commits.txtar push_states.txtar publish_request.txtar TestFlowsCloseTheirIssue
13 | each class of secrets, and the value never printed | TestLine TestName TestLogins implement_secrets.txtar
14 | operations on any ARCHITECTURE.md; a library is refused | TestPackFlows TestFlows
15 | twelve templates in both languages, with sources and without; another version of a template | TestEveryTemplate TestFlowTemplates TestPackFlows pack_doc_flow.txtar
16 | /agent: a name of a pack, a missing input, a built-in one; /architect is told of it | agent_alone.txtar pack_flows.txtar
17 | NEXT is noted and not obeyed; a question outside of the sequence; the fourth question | TestNextIsNotObeyed TestPackFlows
18 | English and Japanese have the same texts, and a run in either the same journal | TestBothLanguagesHaveEveryText TestEveryLabelHasItsJapanese TestLanguageChangesNoJournal
`

// TestFlowAcceptance holds that each test of the table is there.
func TestFlowAcceptance(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	for _, dir := range []string{
		"cmd/tercet", "commands/interp", "formats/documents", "internal/*", "subagents/builtin",
	} {
		files, err := filepath.Glob("../../" + dir + "/*_test.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", dir, files, err)
		}
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(src, -1) {
				tests[string(m[1])] = true
			}
		}
	}

	rows := strings.Split(strings.TrimSpace(flowAcceptance), "\n")
	if len(rows) != 18 {
		t.Errorf("%d rows, want 18", len(rows))
	}
	for _, row := range rows {
		names := strings.Fields(row[strings.LastIndex(row, "|")+1:])
		for _, name := range names {
			_, err := os.Stat("testdata/script/" + name)
			if !tests[name] && err != nil {
				t.Errorf("%s: no such test or script", name)
			}
		}
		if len(names) == 0 {
			t.Errorf("no test for %s", row)
		}
	}
}

// TestFlows lints the pack as a workspace has it, and runs tests of each flow with the engine as it
// is: those for which document-writer has to read files, which TestPackFlows leaves out, and some
// others.
func TestFlows(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "whole runs of the largest flows")
	w := packWorld{
		t:    t,
		dir:  t.TempDir(),
		home: t.TempDir(),
	}
	w.must("git", "init", "-q", "-b", "main")
	w.must("tercet", "init")
	w.add(os.DirFS(flows))
	w.must("tercet", "lint", "--strict", ".tercet/commands", ".tercet/subagents")
	names, err := filepath.Glob(flows + "/tests/written-*.json")
	if err != nil || len(names) < 9 {
		t.Fatalf("%q, %v, want at least 9 tests", names, err)
	}
	names = append(names, "analyst-push.json", "discovery-nobody.json", "operations-full.json")
	args := []string{"test"}
	for _, name := range names {
		name = filepath.Base(name)
		w.put(filepath.Join(w.dir, name), readIn(t, os.DirFS(flows+"/tests"), name))
		args = append(args, name)
	}

	code, out, bad := w.run("tercet", args...)
	if code != 0 || !strings.HasSuffix(bad, sprintf("tercet: %d tests, 0 failed\n", len(names))) {
		t.Fatalf("tercet %q = %d\n%s%s", args, code, out, bad)
	}
	// of it every inserted step ran but the end for tools and the gate of documents that are not
	// committed
	_, line, _ := strings.Cut(out, "coverage: /operations-flow ")
	line, _, _ = strings.Cut(line, "\n")
	if !strings.HasPrefix(line, "started 17 of 22 steps ") ||
		!strings.Contains(
			line,
			"; not started: stop_where_operations_are_not_needed, data, taking, kept, fail;",
		) {
		t.Errorf("coverage of /operations-flow: %s", line)
	}
}

// TestFlowAgents holds each subagent of the pack against what the flows need of it, and its prompt
// against what it promises.
func TestFlowAgents(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob(flows + "/subagents/*.md")
	rows := strings.Split(strings.TrimSpace(flowAgents), "\n")
	if err != nil || len(files) != len(rows) {
		t.Errorf("%d subagents, %v, want %d", len(files), err, len(rows))
	}

	for _, row := range rows {
		cells := strings.Split(row, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}

		t.Run(cells[0], func(t *testing.T) {
			t.Parallel()

			src, err := os.ReadFile(flows + "/subagents/" + cells[0] + ".md")
			if err != nil {
				t.Fatal(err)
			}
			def, err := subagents.ParseDefinition(cells[0]+".md", src)
			if err != nil {
				t.Fatal(err)
			}

			promises(t, def, cells)
			prompted(t, def, cells)
		})
	}
}

func promises(t *testing.T, def subagents.Definition, cells []string) {
	t.Helper()
	role, letters, _ := strings.Cut(cells[1], " ")
	want := map[string]formats.Role{
		"W": "writer",
		"U": formats.RoleUtility,
		"R": formats.RoleReviewer,
	}[role]
	var tools []string
	for _, letter := range letters {
		tools = append(tools, map[rune][]string{
			'r': {"read", "search"},
			'w': {"write"},
			'x': {"shell"},
			'n': {"net"},
		}[letter]...)
	}

	if def.Info.Role != want || !slices.Equal(def.Info.Tools, tools) || !def.Info.AgentResult ||
		def.Info.Timeout.Total == 0 {
		t.Errorf("role %s, tools %q, timeout %s, want %s, %q",
			def.Info.Role, def.Info.Tools, def.Info.Timeout.Total, want, tools)
	}
	for word := range strings.SplitSeq(cells[2]+", error", ", ") {
		ret, err := returns.AgentResult{Agent: def.Info.Name, Status: word}.Return()
		if outcome := ret.Outcome(); err != nil || !slices.Contains(def.Info.Statuses, outcome) {
			t.Errorf("STATUS %s is %s (%v), and statuses are %s",
				word, outcome, err, def.Info.Statuses)
		}
	}

	kinds := map[string]formats.InputType{
		"i": formats.TypeInteger,
		"b": formats.TypeBoolean,
		"l": formats.TypeList,
		"m": formats.TypeObject,
		"":  formats.TypeString,
	}
	for field := range strings.FieldsFuncSeq(cells[3], func(r rune) bool { return r == ',' }) {
		name, kind, _ := strings.Cut(strings.TrimSpace(field), " ")
		name, optional := strings.CutSuffix(name, "?")
		got, ok := def.Info.Fields[name]
		if !ok || got != (formats.Field{Type: kinds[kind], Optional: optional}) {
			t.Errorf("field %s is %+v, want %s, optional %v", name, got, kinds[kind], optional)
		}
	}

	for _, name := range []string{
		"ARTIFACT_PATHS", "NOTES", "ESCALATION_REQUIRED", "ESCALATION_REASON", "ERROR_REASON",
	} {
		if !def.Info.Fields[name].Optional {
			t.Errorf("field %s is missing, or not optional", name)
		}
	}

	blocked := strings.Contains(cells[2], "blocked")
	if blocked != def.Info.Fields["BLOCKED_TARGET"].Optional {
		t.Errorf("BLOCKED_TARGET, but blocked is %v", blocked)
	}
	for _, name := range []string{
		"request", "product_type", "ui", "tier", "documents", "artifacts", "language",
	} {
		if _, ok := def.Info.Inputs[name]; !ok {
			t.Errorf("no input %s", name)
		}
	}
}

// TestFlowTemplates holds the twelve templates against their form: in both languages the same
// chapters with the same placeholders, and none that is not filled in.
func TestFlowTemplates(t *testing.T) {
	t.Parallel()
	chapters := map[string]string{
		"hld": "System Overview, Architecture, Subsystems, External Integrations, " +
			"Non-functional Requirements, Technology, Constraints",
		"lld": "Module Structure, Class and Function Specifications, Data Structures, " +
			"API Signatures, Algorithms, Error Handling",
		"api-reference": "Authentication, Common Specifications, Endpoints, Samples, Rate Limits",
		"ops-manual": "Overview, Start and Stop, Monitoring, Backup and Restore, Incidents, " +
			"Maintenance Windows, Contacts",
		"user-manual": "Introduction, Getting Started, Use Cases, FAQ, Glossary, Support",
		"handover": "Project Overview, Design Decisions, Known Issues and Open Tasks, Tests " +
			"and Security, Operations Notes, Document Index",
	}

	known := strings.Fields(
		"project.name project.slug doc.lang doc.generated_at doc.type doc.template_version " +
			"spec.summary spec.use_cases " +
			"architecture.overview architecture.modules architecture.tech_stack ops.runbook " +
			"security.summary tests.summary ui_spec.screens",
	)

	heading := regexp.MustCompile(`(?m)^## (.+)$`)
	placeholder := regexp.MustCompile(`{{(.*?)}}`)

	all := func(re *regexp.Regexp, text string) (out []string) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}

	for kind, want := range chapters {
		var both [2]string
		for i, lang := range []string{"en", "ja"} {
			both[i] = readIn(t, os.DirFS(flows+"/templates"), kind+"."+lang+".md")
			head := "---\ntemplate_version: 1.0\ndoc_type: " + kind + "\nlanguage: " + lang +
				"\n---\n\n# {{project.name}}"

			_, rest, _ := strings.Cut(both[i], "\n# ")
			_, rest, _ = strings.Cut(rest, "\n")
			if !strings.HasPrefix(both[i], head) ||
				!strings.HasPrefix(
					rest,
					"<!-- template_version: 1.0 -->\n<!-- generated_at: {{doc.generated_at}} -->\n",
				) {
				t.Errorf("%s.%s.md begins with\n%.200s", kind, lang, both[i])
			}
			for _, name := range all(placeholder, both[i]) {
				if !slices.Contains(known, name) {
					t.Errorf("%s.%s.md has {{%s}}", kind, lang, name)
				}
			}
		}

		if got := strings.Join(all(heading, both[0]), ", "); got != want {
			t.Errorf("%s has the chapters %s, want %s", kind, got, want)
		}

		en := all(heading, both[0])
		ja := all(heading, both[1])
		if len(en) != len(ja) ||
			!slices.Equal(all(placeholder, both[0]), all(placeholder, both[1])) {
			t.Errorf("%s has %d chapters in English, %d in Japanese, or other placeholders",
				kind, len(en), len(ja))
		}

		author := readIn(t, os.DirFS(flows+"/subagents"), kind+"-author.md")
		if !strings.Contains(strings.Join(strings.Fields(author), " "), want) {
			t.Errorf("%s-author does not name the chapters %s", kind, want)
		}
	}
}

// prompted holds the words of a subagent: all parts, each required field and document named, and
// what it may not do.
func prompted(t *testing.T, def subagents.Definition, cells []string) {
	t.Helper()
	if n := strings.Count(string(def.Src), "\n"); n > 120 {
		t.Errorf("%d lines, want at most 120", n)
	}
	if lines := strings.Count(def.Facets.Persona, "\n") + 1; lines != 2 {
		t.Errorf("a persona of %d lines, want 2", lines)
	}
	policy := strings.Join(def.Facets.Policy, "\n")
	for _, want := range []string{"Never commit", "never an instruction", "secret"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %q", want)
		}
	}

	if !strings.Contains(policy, "TERCET_OUT") &&
		!strings.Contains(policy, "Change nothing in the project") {
		t.Error("the policy does not say where to write")
	}
	if !strings.Contains(def.Facets.Instruction, "\n2. ") ||
		!regexp.MustCompile(`(?i)fix request|second (round|reading|call)`).MatchString(
			def.Facets.Instruction,
		) {
		t.Error("the instruction has no numbered work, or no second round")
	}
	for name, field := range def.Info.Fields {
		if !field.Optional && !strings.Contains(def.Facets.Output, name) {
			t.Errorf("Output does not name the field %s", name)
		}
	}

	for name := range strings.FieldsSeq(strings.ReplaceAll(cells[4], ",", " ")) {
		if !strings.Contains(def.Facets.Output, name) {
			t.Errorf("Output does not name %s", name)
		}
	}

	for _, a := range def.Info.Artifacts {
		if a.Name != "" && !strings.Contains(def.Facets.Output, "`"+a.Name+"`") {
			t.Errorf("Output does not name %s", a.Name)
		}
	}
}
