package formats

// The names of the profiles of documents.
const (
	ProfilePlan         = "plan"
	ProfileReport       = "report"
	ProfileSummary      = "summary"
	ProfileReview       = "review"
	ProfilePlanShort    = "plan-short"
	ProfileReportShort  = "report-short"
	ProfileSummaryShort = "summary-short"
	ProfileTask         = "task"
	ProfileErrors       = "errors"
)

// profile says what a document of one kind has to have. A kind that declares typed fields or another source than
// markdown gets a further member here.
type profile struct {
	name     string
	fields   []string // metadata bullets, each required and not empty
	sections []string // level-2 sections, each required and not empty
	phases   string   // the section that holds the phases; empty: none
	strict   bool     // phases are required, each with its parts
	titled   bool     // a heading of level 1 is required, not only advised
	records  bool     // errors.json instead of markdown
	handoff  bool     // fields instead of sections
	file     string   // name of the file of a handoff; empty: any
}

// profiles is the one table of them.
func profiles() []profile {
	return append([]profile{
		{
			name: ProfilePlan,
			fields: []string{
				"Task", "Status", "Effort", "Priority", "Dependencies", "Research Inputs", "Artifacts", "Standards", "Type",
			},
			sections: []string{
				"Overview", "Goals & Non-Goals", "Risks & Mitigations", sectionPhases, "Testing & Validation",
				"Artifacts & Outputs", "Rollback/Contingency",
			},
			phases: sectionPhases, strict: true,
		},
		{
			name: ProfileReport,
			fields: []string{
				"Task", "Started", "Completed", "Effort", "Priority", "Dependencies", "Sources/Inputs", "Artifacts", "Standards",
			},
			sections: []string{"Executive Summary", "Context & Scope", "Findings", "Decisions", "Recommendations", "Appendix"},
		},
		{name: ProfileSummary, sections: []string{"Overview", "What Changed", "Decisions", "Impacts", "Follow-ups", "References"}},
		{name: ProfileReview, sections: []string{"Scope", "Checks", "Findings", "Verdict"}},
		{
			name:     ProfilePlanShort,
			sections: []string{"Overview", "Phases", "Dependencies", "Risks and Mitigations", "Success Criteria"},
			phases:   "Phases",
		},
		{name: ProfileReportShort, sections: []string{"Summary", "Findings", "Recommendations", "References", "Next Steps"}},
		{name: ProfileSummaryShort, sections: []string{"Changes Made", "Files Modified", "Verification", "Notes"}},
		{name: ProfileTask, titled: true},
		{name: ProfileErrors, records: true},
	}, handoffs()...)
}

const sectionPhases = "Implementation Phases"

// IsProfile tells whether a name is one of Profiles, without making the table.
func IsProfile(name string) bool {
	switch name {
	case ProfilePlan, ProfileReport, ProfileSummary, ProfileReview, ProfilePlanShort, ProfileReportShort, ProfileSummaryShort, ProfileTask, ProfileErrors,
		ProfileAutoApprove, ProfileDiscovery, ProfileDelivery, ProfileOperations, ProfileMaintenance, ProfileDoc, ProfileArchitecture:
		return true
	}
	return false
}

// Profiles lists the names of the profiles that ParseDocument knows.
func Profiles() []string {
	var out []string
	for _, p := range profiles() {
		out = append(out, p.name)
	}
	return out
}

func profileOf(name string) (profile, bool) {
	for _, p := range profiles() {
		if p.name == name {
			return p, true
		}
	}
	return profile{}, false
}

// ProfileFor is the profile that documents of an artifact type have by default; empty for types without one.
func ProfileFor(t ArtifactType) string {
	if t.IsDocument() {
		return string(t)
	}
	return ""
}
