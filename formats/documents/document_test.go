package documents_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats/documents"
	"tercet/internal/testkit"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	testkit.Files(t, "documents/*/*", func(t *testing.T, file string, src []byte) {
		t.Helper()
		if filepath.Ext(file) == ".golden" {
			t.Skip("what is expected of a document")
		}

		profile, _, _ := strings.Cut(filepath.Base(file), ".")
		d, found := documents.Parse(profile, filepath.Base(file), src)

		good := filepath.Base(filepath.Dir(file)) == "good"
		if good == found.HasErrors() {
			t.Errorf("Parse(%s).HasErrors = %v, want %v", file, found.HasErrors(), !good)
		}

		var b strings.Builder
		if found != nil {
			for _, one := range found.List {
				fmt.Fprintf(&b, "%v\n  help: %s\n", one, one.Help)
			}
		}
		if good {
			b.WriteString(testkit.Pretty(t, d.Any()))
		}

		golden(t, file+".golden", b.String())
	})
}

func TestRenderedDocumentsPass(t *testing.T) {
	t.Parallel()
	const body = "# Top\n\nSetext\n===\n\n~~~\nopen\n<!--"
	rendered := map[string][]byte{
		documents.ProfileReport: documents.Draft{
			Profile: documents.ProfileReport,
			Title:   "x\ny",
			Texts: map[string]string{
				"Findings": body, "Executive Summary": "## Findings\n\ntext", "Effort": "<effort>",
				"Task": "1", "Started": "today", "Completed": "today", "Priority": "low",
				"Dependencies": "3", "Sources/Inputs": "a.go", "Artifacts": "b.md",
				"Standards": "c", "Context & Scope": "d", "Decisions": "e",
				"Recommendations": "f", "Appendix": "g",
			},
		}.Render(),
		documents.ProfileSummary: documents.Draft{
			Profile: documents.ProfileSummary,
			Texts: map[string]string{
				"What Changed": body, "Impacts": "TODO", "Overview": "a", "Decisions": "b",
				"Follow-ups": "c", "References": "d",
			},
		}.Render(),
		documents.ProfileReview: documents.Draft{
			Profile: documents.ProfileReview,
			Texts: map[string]string{
				"Findings": "- a.go:1: x\n", "Verdict": "<!-- nothing -->", "Scope": "a",
				"Checks": "b",
			},
		}.Render(),
	}
	for profile, src := range rendered {
		d, found := documents.Parse(profile, profile+".md", src)
		if found != nil {
			t.Errorf("%s found %v in\n%s", profile, found, src)
		}
		if d.Title == "" {
			t.Errorf("%s has no title:\n%s", profile, src)
		}
	}

	report, _ := documents.Parse(documents.ProfileReport, "", rendered[documents.ProfileReport])
	got := report.Sections["Executive Summary"]
	want := "#### Findings\n\ntext"
	if got != want {
		t.Errorf("Executive Summary = %q, want %q", got, want)
	}
	if got := report.Sections["Findings"]; !strings.Contains(got, body) {
		t.Errorf("Findings = %q, want the text in a fence", got)
	}
	_, found := documents.Parse("plam", "x.md", nil)
	if !found.HasErrors() || !strings.Contains(found.List[0].Help, "plan") {
		t.Errorf("Parse(plam) = %v, want an error that names plan", found)
	}
	for _, name := range documents.Profiles() {
		if name == documents.ProfileAutoApprove {
			continue // that it is there is all that it has to say
		}
		if _, found := documents.Parse(name, "empty", nil); !found.HasErrors() {
			t.Errorf("Parse(%s, empty) = nil, want an error", name)
		}
	}
}

func BenchmarkParsePlan(b *testing.B) {
	src := draft().Render()
	b.ReportAllocs()
	for b.Loop() {
		if _, found := documents.ParsePlan("plan.md", src); found != nil {
			b.Fatal(found)
		}
	}
}
