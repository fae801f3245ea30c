package interp

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tercet/formats"
	"tercet/internal/query"
)

// Derive applies the jq of a subagent's contract to finished work. It sets the verdict, or the
// status blocked, and the issues. The outcome is the verdict if there is one, else the subagent's
// status.
func Derive(
	ctx context.Context,
	info formats.AgentInfo,
	ret formats.Return,
) (formats.Return, error) {
	in := normalize(object{"status": ret.Outcome(), "fields": fieldsOf(ret)})

	// else the answer is no already
	if info.StatusQuery != "" && ret.Status == formats.StatusCompleted {
		v, err := evalContractQuery(ctx, "status", info.StatusQuery, in)
		if err != nil {
			return ret, err
		}
		ret.Verdict = formats.Verdict(query.Text(v))
		// its own counts say that it cannot go on
		if text := query.Text(v); text == string(formats.StatusBlocked) {
			ret.Verdict = ""
			ret.Status = formats.StatusBlocked
			ret.BlockedReason = cmp.Or(
				ret.BlockedReason,
				formats.As[string](ret.Fields["BLOCKED_REASON"]),
				ret.Summary,
			)
		} else if ret.Verdict == formats.Verdict(formats.OutcomeCompleted) &&
			info.Role != formats.RoleReviewer {
			ret.Verdict = "" // done, without a judgement
		} else if !slices.Contains(verdicts, ret.Verdict) {
			const what = "approved, conditional, rejected or blocked from returns.status"
			return ret, &formats.ValueError{What: what, Got: query.Text(v)}
		}
	}

	if info.IssuesQuery != "" {
		v, err := evalContractQuery(ctx, "issues", info.IssuesQuery, in)
		if err != nil {
			return ret, err
		}
		var issues []formats.Issue
		if err := decode(v, &issues); err != nil {
			return ret, &formats.ValueError{
				What: "a list of issues from returns.issues",
				Got:  query.Text(v),
			}
		}
		ret.Issues = append(ret.Issues, issues...)
	}
	return ret, nil
}

var verdicts = []formats.Verdict{
	formats.VerdictApproved,
	formats.VerdictConditional,
	formats.VerdictRejected,
}

// evalContractQuery evaluates the jq of a member of the contract. What is wrong with it is said of
// the subagent's file: its worker has no part in it.
func evalContractQuery(ctx context.Context, member, src string, in any) (any, error) {
	code, err := query.Compile(src, query.Options{Strict: true})
	var v any
	if err == nil {
		v, err = code.One(ctx, in, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("the jq of returns.%s in the subagent's file: %w", member, err)
	}
	return v, nil
}
