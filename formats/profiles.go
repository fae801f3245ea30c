package formats

// The profiles of documents.
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

// Profiles lists the names of the profiles that ParseDocument knows.
func Profiles() []string {
	return []string{
		ProfilePlan, ProfileReport, ProfileSummary, ProfileReview, ProfilePlanShort, ProfileReportShort,
		ProfileSummaryShort, ProfileTask, ProfileErrors,
	}
}
