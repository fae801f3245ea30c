package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/subagents"
)

// DocumentWriter is document-writer: it turns the results of a flow's phases into the document that
// the next flow reads, and fills templates of deliverables. It only copies: if a source lacks a
// fact, it names the fact and writes nothing.
type DocumentWriter struct {
	Clock subagents.Clock
	// Templates are those of the workspace, Shipped those of the pack flows; each may be nil.
	Templates, Shipped fs.FS
	// Project is the name of the project, for documents whose sources give none.
	Project string
}

// Run writes one handoff document, or fills in one template.
func (d DocumentWriter) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	in := inputOf(r)
	if in.text("document") == "draft" {
		return d.draft(ctx, r, in)
	}

	in.allowOnly(
		"document", "results", "args", "tier", "product_type", "ui", "ui_type", "documents",
		"overrides", "request", "artifacts", "language",
	)
	kind := in.text("document")
	write, ok := map[string]func(*handoff){
		"discovery":   (*handoff).writeDiscovery,
		"delivery":    (*handoff).writeDelivery,
		"maintenance": (*handoff).writeMaintenance,
		"doc":         (*handoff).writeDeliverables,
	}[kind]
	if !ok {
		in.refuse("document", "one of delivery, discovery, doc, draft, maintenance")
	}

	h := &handoff{
		in:        in,
		args:      in.object("args"),
		tier:      in.text("tier"),
		product:   in.text("product_type"),
		documents: in.object("documents"),
		day:       d.Clock.Now().UTC().Format("2006-01-02"),
		language:  in.text("language"),
		project:   d.Project,
	}
	collectPhases(in.object("results"), &h.phases)
	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}

	ret, err := h.write(r, kind, write)
	return asReturn(ctx, ret, err)
}

func (h *handoff) write(
	r formats.Request,
	kind string,
	body func(*handoff),
) (_ formats.Return, err error) {
	h.tree, err = os.OpenRoot(r.Dir)
	if err != nil {
		return formats.Return{}, err
	}
	defer func() { err = errors.Join(err, h.tree.Close()) }()
	body(h)
	if len(h.missing) > 0 {
		return formats.Return{}, formats.Fail(formats.CodePrecondition,
			"run the phase that gives it, or write the document",
			"the %s result needs %s", kind, strings.Join(h.missing, "; "))
	}

	name := documents.HandoffFiles(kind)[0]
	text := h.out.String()
	_, found := documents.Options{Exists: h.exists}.Parse(kind, name, []byte(text))
	if found.HasErrors() { // a phase returned what the document may not hold
		found.Of = formats.CodeValidationFailed
		return formats.Return{}, found
	}

	out, err := os.OpenRoot(r.Out)
	if err != nil {
		return formats.Return{}, err
	}
	if err := errors.Join(out.WriteFile(name, []byte(text), 0o600), out.Close()); err != nil {
		return formats.Return{}, err
	}
	return formats.Return{
		Status:  formats.StatusCompleted,
		Summary: name + " written",
		Artifacts: []formats.Artifact{{
			Type:    formats.ArtifactDocumentation,
			Path:    name,
			Summary: "the " + kind + " result",
		}},
	}, nil
}

// handoff is a document being written.
type handoff struct {
	in                           input
	args, documents              map[string]any
	listedOnly                   bool // read no document but those that `documents` names
	tier, product, day, language string
	project                      string
	// results that have fields, in the order of their ids
	phases  []map[string]any
	tree    *os.Root
	out     strings.Builder
	missing []string // what no source gave
}

// collectPhases gathers the results that have fields, those of the children of loops too.
func collectPhases(v any, into *[]map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			collectPhases(one, into)
		}
	case map[string]any:
		if _, ok := v["fields"].(map[string]any); ok && v["status"] != nil {
			*into = append(*into, v)
			collectPhases(v["children"], into)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collectPhases(v[key], into)
		}
	}
}

// phaseFields gives the fields of the last phase that has all of them, and says whose they are
// where there is none.
func (h *handoff) phaseFields(agent string, names ...string) map[string]any {
	for _, p := range slices.Backward(h.phases) {
		f, _ := p["fields"].(map[string]any) //nolint:errcheck // phasesOf saw it
		if !slices.ContainsFunc(names, func(name string) bool { return f[name] == nil }) {
			return f
		}
	}
	h.addMissing("%s of %s", strings.Join(names, ", "), agent)
	return map[string]any{}
}

func (h *handoff) addMissing(format string, args ...any) {
	h.missing = append(h.missing, fmt.Sprintf(format, args...))
}

// oneLine is a value as a line of a document has it.
func oneLine(v any) string {
	if list, ok := v.([]any); ok {
		words := make([]string, len(list))
		for i, one := range list {
			words[i] = oneLine(one)
		}
		return strings.Join(words, ", ")
	}
	if v == nil {
		return ""
	}
	return strings.Join(strings.Fields(fmt.Sprint(v)), " ")
}

// writeHeader writes the title and the header. pairs are further keys and values; a key without a
// value is left out.
func (h *handoff) writeHeader(title, name string, pairs ...string) {
	fmt.Fprintf(&h.out, "# %s Result: %s\n\n> Created: %s\n", title, oneLine(name), h.day)
	if h.tier != "" {
		pairs = append([]string{title + " Plan", h.tier}, pairs...)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(&h.out, "> %s: %s\n", pairs[i], pairs[i+1])
		}
	}
	for _, o := range h.in.objects("overrides") {
		fmt.Fprintf(&h.out, "> Overrides: %s, %s%s\n",
			oneLine(o.values["step"]), oneLine(o.values["summary"]),
			h.acceptedFailures(o.text("step")))
	}
}

// acceptedFailures names the tests of a step that fail, which the user accepted with the step.
func (h *handoff) acceptedFailures(step string) string {
	result, _ := h.in.object("results")[step].(map[string]any) //nolint:errcheck // nothing else has fields
	fields, _ := result["fields"].(map[string]any)             //nolint:errcheck // the same
	if tests := oneLine(fields["FAILED_TESTS"]); tests != "" {
		return "; accepted as failing: " + tests
	}
	return ""
}

// writeSection writes a section of a text; one without a text is missing.
func (h *handoff) writeSection(name, text, source string) {
	if text = strings.TrimSpace(text); text == "" {
		h.addMissing("%s, which %s should have given", name, source)
	}
	fmt.Fprintf(&h.out, "\n## %s\n\n%s\n", name, text)
}

// writeRows writes a section of `- key: value`, without keys that have no value.
func (h *handoff) writeRows(name string, pairs ...any) {
	fmt.Fprintf(&h.out, "\n## %s\n\n", name)
	for i := 0; i+1 < len(pairs); i += 2 {
		list, isList := pairs[i+1].([]any)
		if isList && len(list) > 0 {
			fmt.Fprintf(&h.out, "- %s:\n", pairs[i])
			for _, one := range list {
				fmt.Fprintf(&h.out, "  - %s\n", oneLine(one))
			}
		} else if text := oneLine(pairs[i+1]); text != "" {
			fmt.Fprintf(&h.out, "- %s: %s\n", pairs[i], text)
		}
	}
}

func (h *handoff) exists(name string) bool {
	info, err := h.tree.Lstat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

// findDocument gives the path of a document: the one that the flow names, else a usual place of
// documents. Empty: there is none.
func (h *handoff) findDocument(name string) string {
	listed, _ := h.documents[name].(string) //nolint:errcheck // anything else is no path
	places := []string{listed, "docs/" + name, name}
	if h.listedOnly {
		places = places[:1]
	}
	for _, at := range places {
		if at != "" && fs.ValidPath(at) && h.exists(at) {
			return at
		}
	}
	return ""
}

// readSections gives the sections of a document, and its title.
func (h *handoff) readSections(name string) (title string, sections map[string]string) {
	at := h.findDocument(name)
	if at == "" {
		return "", nil
	}
	text, err := h.tree.ReadFile(filepath.FromSlash(at))
	if err != nil {
		return "", nil
	}

	doc, _ := md.ParseUpTo(text, documents.MaxSize)
	for _, b := range doc.Blocks {
		if b.Kind == md.Heading && b.Level == 1 && title == "" {
			title = b.Text
		}
	}

	sections = map[string]string{}
	for _, s := range doc.Sections(2) {
		var lines []string
		for n := s.Line() + 1; n <= s.EndLine; n++ {
			lines = append(lines, doc.Line(n))
		}
		if _, twice := sections[s.Title()]; !twice {
			sections[s.Title()] = strings.TrimSpace(strings.Join(lines, "\n"))
		}
	}
	return title, sections
}

// findSection gives the first section whose name has one of some words, in the order of the words.
func findSection(sections map[string]string, words ...string) string {
	for _, word := range words {
		for _, name := range slices.Sorted(maps.Keys(sections)) {
			if strings.Contains(strings.ToLower(name), word) &&
				strings.TrimSpace(sections[name]) != "" {
				return sections[name]
			}
		}
	}
	return ""
}

// genericTitle is a title that says what a document is, and not of which product.
var genericTitle = lazy.Regexp(
	`(?i)^(?:(?:software|system|product|technical|functional|requirements?|architecture|design)` +
		`[ _-]+)*` +
		`(?:spec(?:ification)?s?|requirements?|architecture|design|interview(?:[ _-]results?)?)` +
		`(?:[ _-]document)?(?:\.md)?$|` +
		`^(?:仕様書?|要件定義書?|アーキテクチャ(?:設計書?)?|設計書|インタビュー結果)$`,
)

// productName is the name of the product: what follows the colon of a title, else a title that is
// more than the kind of its document, else the slug, else the name of the project.
func (h *handoff) productName(titles ...string) string {
	for _, title := range titles {
		kind, name, ok := strings.Cut(strings.ReplaceAll(title, "：", ":"), ":")
		if !ok {
			name = kind
		}
		if name = strings.TrimSpace(name); name != "" && !genericTitle().MatchString(name) {
			return name
		}
	}
	return cmp.Or(oneLine(h.args["slug"]), h.project, path.Base(filepath.ToSlash(h.tree.Name())))
}

// productType is that of the flow, else that of the first phase which says one.
func (h *handoff) productType() string {
	given := []map[string]any{
		{"PRODUCT_TYPE": h.product},
		{"PRODUCT_TYPE": h.args["product_type"]},
	}
	for _, f := range append(given, h.allFields()...) {
		if text := oneLine(f["PRODUCT_TYPE"]); text != "" {
			return text
		}
	}
	h.addMissing("a PRODUCT_TYPE")
	return ""
}

func (h *handoff) allFields() (out []map[string]any) {
	for _, p := range h.phases {
		f, _ := p["fields"].(map[string]any) //nolint:errcheck // phasesOf saw it
		out = append(out, f)
	}
	return out
}

// uiTypes are the kinds of interface by what the question of discovery offers.
var uiTypes = map[string]string{
	"web":     "web",
	"mobile":  "mobile",
	"desktop": "desktop",
	"tui":     "cli-tui",
	"cli":     "none",
	"api":     "none",
}

// headerKeys are the lines of a source with keys that stand in the header of a discovery.
var headerKeys = lazy.Regexp(`(?im)^[ \t>*_+-]*(?:product[ _]type|has[ _]ui|ui[ _]type)[*_` + "`" +
	`]*[ \t]*[:：].*$`)

func (h *handoff) writeDiscovery() {
	title, sections := h.readSections("INTERVIEW_RESULT.md")
	for name, text := range sections { // the header says them
		sections[name] = strings.TrimSpace(headerKeys().ReplaceAllString(text, ""))
	}

	if sections == nil {
		h.addMissing("INTERVIEW_RESULT.md, which interviewer writes")
		return
	}
	ui := cmp.Or(h.in.text("ui_type"), uiTypes[oneLine(h.args["ui"])])
	if ui == "" {
		h.addMissing("a UI_TYPE: pass ui_type, or args with ui")
	}
	h.writeHeader(
		"Discovery",
		h.productName(title),
		"PRODUCT_TYPE", h.productType(),
		"HAS_UI", fmt.Sprint(ui != "none"),
		"UI_TYPE", ui,
	)
	overview := findSection(sections, "overview", "概要")
	h.writeSection("Project Overview", overview, "INTERVIEW_RESULT.md")

	var wanted []string
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		text := strings.TrimSpace(sections[name])
		low := strings.ToLower(name)
		if text != "" && (strings.Contains(low, "requirement") || strings.Contains(low, "要件")) {
			wanted = append(wanted, "### "+name+"\n\n"+text)
		}
	}

	h.writeSection("Requirements Summary", strings.Join(wanted, "\n\n"), "INTERVIEW_RESULT.md")
	if scope := findSection(sections, "out of scope", "scope", "スコープ"); scope != "" {
		h.writeSection("Scope", scope, "")
	}
	if open := findSection(sections, "open", "unresolved", "未解決", "未決"); open != "" {
		h.writeSection("Unresolved Items", open, "")
	}
}

// deliveryDocuments are the documents that a delivery may have.
var deliveryDocuments = []string{
	"SPEC.md", "UI_SPEC.md", "VISUAL_SPEC.md", "ARCHITECTURE.md", "TEST_PLAN.md",
	"SECURITY_AUDIT.md",
}

func (h *handoff) writeDelivery() {
	title, sections := h.readSections("ARCHITECTURE.md")
	spec, _ := h.readSections("SPEC.md")
	h.writeHeader("Delivery", h.productName(spec, title), "PRODUCT_TYPE", h.productType())

	var rows []any
	for _, name := range deliveryDocuments {
		status := "absent"
		if at := h.findDocument(name); at != "" {
			status = "present (resolved path: " + at + ")"
		}
		rows = append(rows, name, status)
	}

	h.writeRows("Artifacts", rows...)
	stack := findSection(sections, "tech stack", "technology", "技術スタック", "stack")
	if stack == "" {
		fields := h.phaseFields("architect, and no such section in ARCHITECTURE.md", "TECH_STACK")
		stack = documents.Prose(oneLine(fields["TECH_STACK"]))
	}
	h.writeSection("Tech Stack", stack, "ARCHITECTURE.md or TECH_STACK of architect")

	tests := h.phaseFields("tester", "TOTAL", "PASSED", "FAILED")
	h.writeRows(
		"Test Results",
		"Total", tests["TOTAL"],
		"Pass", tests["PASSED"],
		"Fail", tests["FAILED"],
	)

	audit := h.phaseFields("security-auditor", "CRITICAL_COUNT", "WARNING_COUNT", "INFO_COUNT")
	h.writeRows(
		"Security Audit Results",
		"CRITICAL", audit["CRITICAL_COUNT"],
		"WARNING", audit["WARNING_COUNT"],
	)

	if conditions := h.conditions(); len(conditions) > 0 {
		h.writeSection("Conditions", strings.Join(conditions, "\n"), "")
	}
	if environment := findSection(sections, "environment", "環境"); environment != "" {
		h.writeSection("Handoff to Operations", environment, "")
	}
}

// conditions are those on which agents approved, one a line with the agent in front: its summary,
// then its issues.
func (h *handoff) conditions() (lines []string) {
	for _, p := range h.phases {
		if p["status"] != string(formats.OutcomeConditional) {
			continue
		}
		texts := []string{cmp.Or(
			oneLine(p["summary"]),
			"approved on conditions that it does not name",
		)}
		issues, _ := p["issues"].([]any) //nolint:errcheck // nothing else is a list
		for _, one := range issues {
			issue, _ := one.(map[string]any) //nolint:errcheck // nothing else has a description
			if text := oneLine(issue["description"]); text != "" {
				texts = append(texts, text)
			}
		}
		for _, text := range texts {
			lines = append(lines, "- "+cmp.Or(oneLine(p["agent"]), "an agent")+": "+text)
		}
	}
	return lines
}

func (h *handoff) writeMaintenance() {
	verdict := h.phaseFields("change-classifier", "TRIGGER_TYPE", "BREAKING_CHANGE")
	impact := h.phaseFields("impact-analyzer", "TARGET_FILES", "REGRESSION_RISK")
	design := h.phaseFields("analyst-core", "ISSUE_SUMMARY")
	audit := h.phaseFields("security-auditor", "CRITICAL_COUNT", "WARNING_COUNT")

	overview := oneLine(design["ISSUE_SUMMARY"])
	h.tier = "Major"
	h.writeHeader(
		"Maintenance",
		h.productName(clip(overview)),
		"Trigger type", oneLine(verdict["TRIGGER_TYPE"]),
		"Priority", oneLine(verdict["PRIORITY"]),
		"PRODUCT_TYPE", h.productType(),
	)
	h.writeSection(
		"Change Overview",
		documents.Prose(fmt.Sprint(design["ISSUE_SUMMARY"])),
		"ISSUE_SUMMARY of analyst-core",
	)

	h.writeRows(
		"change-classifier Verdict",
		"ESTIMATED_FILES", verdict["ESTIMATED_FILES"],
		"BREAKING_CHANGE", verdict["BREAKING_CHANGE"],
		"SPEC_IMPACT", verdict["SPEC_IMPACT"],
		"RATIONALE", verdict["RATIONALE"],
	)
	h.writeRows(
		"impact-analyzer Findings",
		"TARGET_FILES", impact["TARGET_FILES"],
		"BREAKING_API_CHANGES", impact["BREAKING_API_CHANGES"],
		"DB_SCHEMA_CHANGES", impact["DB_SCHEMA_CHANGES"],
		"RECOMMENDED_TEST_SCOPE", impact["RECOMMENDED_TEST_SCOPE"],
		"REGRESSION_RISK", impact["REGRESSION_RISK"],
	)

	brief := oneLine(design["ARCHITECT_BRIEF"])
	h.writeRows(
		"analyst-core Differential Design Approach",
		"ISSUE_TYPE", design["ISSUE_TYPE"],
		"ARCHITECT_BRIEF", brief,
	)
	h.writeRows(
		"security-auditor Pre-audit Results",
		"CRITICAL", audit["CRITICAL_COUNT"],
		"WARNING", audit["WARNING_COUNT"],
	)

	plan := "Standard"
	if verdict["BREAKING_CHANGE"] == true || impact["REGRESSION_RISK"] == "high" {
		plan = "Full"
	}
	h.writeRows(
		"Handoff to delivery-flow",
		"Recommended plan", plan,
		"ARCHITECTURE.md impact", brief,
		"Required pre-remediation items", audit["CRITICAL_ITEMS"],
	)
}

func (h *handoff) writeDeliverables() {
	lang := oneLine(h.args["lang"])
	slug := oneLine(h.args["slug"])
	lang = cmp.Or(lang, h.language)
	h.writeHeader("Doc Flow", slug, "Slug", slug, "Output Language", lang)
	h.out.WriteString(
		"\n## Generated Deliverables\n\n| Type | Path | Status | Template Version |\n" +
			"|---|---|---|---|\n",
	)

	cell := func(v any) string {
		return strings.ReplaceAll(oneLine(v), "|", `\|`)
	}

	written := []string{}
	skipped := []string{}
	for _, p := range h.phases {
		f, _ := p["fields"].(map[string]any) //nolint:errcheck // phasesOf saw it
		file := oneLine(f["OUTPUT_FILE"])
		kind, _, _ := strings.Cut(path.Base(file), ".")
		switch {
		case file == "", slices.Contains(written, file):
			// a loop gives its child, and the last step of that
		case p["status"] == string(formats.OutcomeSkipped):
			skipped = append(skipped, "- "+kind+": "+oneLine(f["SKIP_REASON"]))
		default:
			written = append(written, file)
			fmt.Fprintf(&h.out, "| %s | %s | created | %s |\n",
				cell(kind), cell(file), cell(f["TEMPLATE_VERSION"]))
		}
	}

	if len(written) == 0 {
		h.addMissing("at least one OUTPUT_FILE of an author")
	}
	left, _ := h.args["skipped"].([]any) //nolint:errcheck // nothing else is a list
	for _, one := range left {
		m, _ := one.(map[string]any) //nolint:errcheck // nothing else has a type
		skipped = append(skipped, "- "+oneLine(m["type"])+": "+oneLine(m["reason"]))
	}

	fmt.Fprintf(&h.out, "\n## Skipped Types\n\n%s\n", strings.Join(skipped, "\n"))
	h.writeSection(
		"Suggested Next Steps",
		"Let someone review the documents who did not write them.",
		"",
	)
}
