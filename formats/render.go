package formats

// PlanDraft is what a plan document is rendered from. Empty texts are written as "None.".
type PlanDraft struct {
	Title, Task, Status, Effort, Priority, Dependencies, ResearchInputs, Artifacts, Standards, Type string

	Overview string
	Goals    []string
	NonGoals []string
	Risks    []string
	Phases   []Phase
	Testing  []string
	Outputs  []string
	Rollback string
	Revision string // text that a revision adds; no section if empty
}

// ReportDraft is what a research report is rendered from.
type ReportDraft struct {
	Title, Task, Started, Completed, Effort, Priority, Dependencies, Sources, Artifacts, Standards string

	Summary, Context, Findings, Decisions, Recommendations, Appendix string
}

// SummaryDraft is what an implementation summary is rendered from.
type SummaryDraft struct {
	Title                                                        string
	Overview, Changed, Decisions, Impacts, FollowUps, References string
}

// ReviewDraft is what a review is rendered from.
type ReviewDraft struct {
	Title                            string
	Scope, Checks, Findings, Verdict string
}

// RenderPlan gives the document of a draft; it passes the profile plan.
func RenderPlan(d PlanDraft) []byte { return nil }

// RenderReport gives the document of a draft; it passes the profile report.
func RenderReport(d ReportDraft) []byte { return nil }

// RenderSummary gives the document of a draft; it passes the profile summary.
func RenderSummary(d SummaryDraft) []byte { return nil }

// RenderReview gives the document of a draft; it passes the profile review.
func RenderReview(d ReviewDraft) []byte { return nil }
