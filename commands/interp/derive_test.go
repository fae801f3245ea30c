package interp_test

import (
	"testing"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/formats/returns"
)

// TestDerive: the jq of a contract sees the verdict that the subagent gave as its status.
func TestDerive(t *testing.T) {
	t.Parallel()
	const query = `if .fields.CRITICAL_COUNT > 0 then "rejected" else .status end`
	block := func(status string, count int) formats.Return {
		r, err := returns.AgentResult{Agent: "reviewer", Status: status}.Return()
		if err != nil {
			t.Fatal(err)
		}
		r.Fields = map[string]any{"CRITICAL_COUNT": count}
		return r
	}
	info := formats.AgentInfo{
		Name:        "reviewer",
		Role:        formats.RoleReviewer,
		StatusQuery: query,
		NoArtifacts: true,
		AgentResult: true,
	}
	for _, tt := range []struct {
		ret  formats.Return
		want formats.Outcome
	}{
		{block("approved", 0), formats.OutcomeApproved},
		{block("conditional", 0), formats.OutcomeConditional},
		{block("rejected", 0), formats.OutcomeRejected},
		{block("approved", 2), formats.OutcomeRejected},
		{block("failure", 0), formats.OutcomeRejected},
		{block("failure", 2), formats.OutcomeRejected},
	} {
		got, err := interp.Derive(t.Context(), info, tt.ret)
		if bad := returns.Validate(got, info); err != nil || got.Outcome() != tt.want || bad != nil {
			t.Errorf("Derive(%s, %v) = %s, %v, %q, want %s",
				tt.ret.Outcome(), tt.ret.Fields, got.Outcome(), err, bad, tt.want)
		}
	}

	if got, err := interp.Derive(t.Context(), info, block("success", 0)); err == nil {
		t.Errorf("Derive of a review without a verdict = %s, want an error", got.Outcome())
	}
	info = formats.AgentInfo{
		Name:        "poc-engineer",
		StatusQuery: `if .fields.CRITICAL_COUNT > 0 then "blocked" else "completed" end`,
		NoArtifacts: true,
	}
	stuck, err := interp.Derive(t.Context(), info, block("success", 1))
	bad := returns.Validate(stuck, info)
	if err != nil || stuck.Outcome() != formats.OutcomeBlocked || stuck.BlockedReason == "" ||
		bad != nil {
		t.Errorf("Derive of work whose count blocks it = %+v, %v, %q, want blocked with a reason",
			stuck, err, bad)
	}
}
