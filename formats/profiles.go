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

// The profiles of tercet's own files. lint checks them; ParseDocument does not know them.
const (
	ProfileCommand  = "command"
	ProfileSubagent = "subagent"
)

// The profiles of handoff documents: what one flow passes to the next one, as fields.
const (
	ProfileAutoApprove  = "auto-approve"
	ProfileDiscovery    = "discovery"
	ProfileDelivery     = "delivery"
	ProfileOperations   = "operations"
	ProfileMaintenance  = "maintenance"
	ProfileDoc          = "doc"
	ProfileArchitecture = "architecture"
	ProfilePlanning     = "planning"
	ProfilePayload      = "payload"
	ProfileRules        = "rules"
	ProfileSpec         = "spec"
	ProfileTasks        = "tasks"
)

// profile is the rules of one kind of document.
type profile struct {
	name     string
	label    string   // prefix of the title of a rendered document
	fields   []string // metadata bullets, each required and not empty
	sections []string // level-2 sections, each required and not empty
	phases   string   // section with the phases; empty: none
	strict   bool     // phases are required, each with its parts
	titled   bool     // a heading of level 1 is required, not only advised
	records  bool     // errors.json instead of markdown
	payload  bool     // a record of keys instead of markdown
}

// profiles is the table of profiles.
var profiles = []profile{
	{
		name:  ProfilePlan,
		label: "Implementation Plan: ",
		fields: []string{
			"Task", "Status", "Effort", "Priority", "Dependencies", "Research Inputs", "Artifacts",
			"Standards", "Type",
		},
		sections: []string{
			"Overview", "Goals & Non-Goals", "Risks & Mitigations", sectionPhases,
			"Testing & Validation", "Artifacts & Outputs", "Rollback/Contingency",
		},
		phases: sectionPhases,
		strict: true,
	},
	{
		name:  ProfileReport,
		label: "Research Report: ",
		fields: []string{
			"Task", "Started", "Completed", "Effort", "Priority", "Dependencies", "Sources/Inputs",
			"Artifacts", "Standards",
		},
		sections: []string{
			"Executive Summary", "Context & Scope", "Findings", "Decisions", "Recommendations",
			"Appendix",
		},
	},
	{
		name:  ProfileSummary,
		label: "Implementation Summary: ",
		sections: []string{
			"Overview", "What Changed", "Decisions", "Impacts", "Follow-ups", "References",
		},
	},
	{
		name:     ProfileReview,
		label:    "Review: ",
		sections: []string{"Scope", "Checks", "Findings", "Verdict"},
	},
	{
		name:   ProfilePlanShort,
		phases: "Phases",
		sections: []string{
			"Overview", "Phases", "Dependencies", "Risks and Mitigations", "Success Criteria",
		},
	},
	{
		name:     ProfileReportShort,
		sections: []string{"Summary", "Findings", "Recommendations", "References", "Next Steps"},
	},
	{
		name:     ProfileSummaryShort,
		sections: []string{"Changes Made", "Files Modified", "Verification", "Notes"},
	},
	{name: ProfileTask, titled: true},
	{name: ProfileErrors, records: true},
	{name: ProfileAutoApprove},
	{name: ProfileDiscovery},
	{name: ProfileDelivery},
	{name: ProfileOperations},
	{name: ProfileMaintenance},
	{name: ProfileDoc},
	{name: ProfileArchitecture},
	{name: ProfilePlanning},
	{name: ProfilePayload, payload: true},
	{name: ProfileRules},
	{name: ProfileSpec},
	{name: ProfileTasks},
}

const sectionPhases = "Implementation Phases"

// Profiles lists the profiles that ParseDocument knows.
func Profiles() []string {
	var out []string
	for _, p := range profiles {
		out = append(out, p.name)
	}
	return out
}

// FileProfiles lists the profiles of tercet's own files.
func FileProfiles() []string {
	return []string{ProfileCommand, ProfileSubagent}
}

// HandoffFiles lists the file names of a handoff profile, the current one first; none for other
// profiles.
func HandoffFiles(name string) []string {
	h, _ := handoffOf(name)
	if h.file == "" {
		return nil
	}
	return append([]string{h.file}, h.legacy...)
}

// IsHandoff reports whether a profile has fields instead of sections. Errors in such a document do
// not prevent loading it.
func IsHandoff(name string) bool {
	_, ok := handoffOf(name)
	return ok
}

func profileOf(name string) (profile, bool) {
	for _, p := range profiles {
		if p.name == name {
			return p, true
		}
	}
	return profile{}, false
}
