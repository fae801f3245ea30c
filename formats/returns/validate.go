package returns

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/formats/documents"
)

// Validate returns every violation of the rules for returns and of the subagent's contract; nil:
// none. Each is one sentence, and their order is fixed. It does not check that artifacts exist. It
// never applies the contract's statuses, fields or artifacts to a failed return, so that an honest
// failure stays one.
func Validate(r formats.Return, info formats.AgentInfo) (found []string) {
	for _, b := range violations(r, info, nil) {
		found = append(found, b.text)
	}
	return found
}

// ruleViolation is a violated rule: of a member, and which item of it, from 1; zero for the member
// as a whole.
type ruleViolation struct {
	member string
	item   int
	text   string
}

// violations is Validate with the position of each violation. faulty, if not nil, is called for
// each existing artifact.
func violations(
	r formats.Return,
	info formats.AgentInfo,
	faulty func(formats.Artifact) string,
) []ruleViolation {
	v := &validator{
		ret:    r,
		info:   info,
		faulty: faulty,
	}
	v.checkStatus()
	v.checkTexts()
	v.checkArtifacts()
	v.checkErrors()
	v.checkIssues()
	v.checkFields()
	return v.found
}

type validator struct {
	ret    formats.Return
	info   formats.AgentInfo
	faulty func(formats.Artifact) string
	found  []ruleViolation
	member string // current member, as in ruleViolation
	item   int
}

// setPlace sets what is checked next.
func (v *validator) setPlace(member string, item int) {
	v.member = member
	v.item = item
}

// require adds a sentence if a rule is violated, and reports whether it is kept.
func (v *validator) require(kept bool, format string, args ...any) bool {
	if !kept {
		v.found = append(v.found, ruleViolation{v.member, v.item, fmt.Sprintf(format, args...)})
	}
	return kept
}

// mustDeliver reports whether the contract's promises are due: the work was done and not skipped.
func (v *validator) mustDeliver() bool {
	return v.ret.Status == formats.StatusCompleted && v.ret.Said != formats.OutcomeSkipped
}

func notBlank(s string) bool {
	return strings.TrimSpace(s) != ""
}

func (v *validator) checkStatus() {
	r := v.ret
	v.setPlace("status", 0)
	if !v.require(slices.Contains(statusWords, string(r.Status)), "expected status %s, got %q",
		strings.Join(statusWords, ", "), r.Status) {
		return
	}

	over := r.Status == formats.StatusFailed || r.Status == formats.StatusBlocked
	if r.Verdict == "" {
		v.require(
			v.info.Role != formats.RoleReviewer || !v.mustDeliver(),
			"expected a verdict of a reviewer, got none",
		)
	} else if v.require(slices.Contains(verdictWords, string(r.Verdict)),
		"expected verdict %s, got %q", strings.Join(verdictWords, ", "), r.Verdict) {
		v.require(!over, "expected no verdict with status %s, got %s", r.Status, r.Verdict)
	}
	v.require(
		r.Status != formats.StatusBlocked || notBlank(r.BlockedReason),
		"expected blocked_reason with status blocked, got none",
	)

	// A contract that derives the status by jq is checked against its statuses afterwards.
	free := v.info.Statuses == nil || v.info.StatusQuery != "" || r.Status == formats.StatusFailed
	v.require(free || slices.Contains(v.info.Statuses, r.Outcome()),
		"expected outcome %s as the contract says, got %s",
		strings.Join(formats.Words(v.info.Statuses), ", "), r.Outcome())
}

func (v *validator) checkTexts() {
	r := v.ret
	v.setPlace("summary", 0)
	n := utf8.RuneCountInString(r.Summary)
	v.require(notBlank(r.Summary), "expected a summary, got none")
	v.require(n <= formats.MaxSummary || !notBlank(r.Summary),
		"expected a summary of at most %d characters, got %d", formats.MaxSummary, n)
	v.require(len(r.Text) <= formats.MaxText, "expected a text of at most %d bytes, got %d",
		formats.MaxText, len(r.Text))
	v.require(
		utf8.ValidString(r.Summary) && utf8.ValidString(r.Text),
		"expected summary and text in UTF-8, got other bytes",
	)
}

func (v *validator) checkArtifacts() {
	types := formats.ArtifactTypes()
	for i, a := range v.ret.Artifacts {
		v.setPlace("artifacts", i+1)
		v.require(slices.Contains(types, a.Type),
			"expected the type of artifact %d to be one of %s, got %q",
			i+1, strings.Join(formats.Words(types), ", "), a.Type)
		ok := v.require(
			fs.ValidPath(a.Path) && a.Path != "." && !strings.ContainsAny(a.Path, "\x00\\\n"),
			"expected a relative slash-separated path for artifact %d, got %q",
			i+1,
			a.Path,
		)
		if ok && v.faulty != nil {
			why := v.faulty(a)
			v.require(why == "", "artifact %q %s", a.Path, why)
		}
	}

	v.setPlace("artifacts", 0)
	required := slices.DeleteFunc(slices.Clone(
		v.info.Artifacts,
	), func(a formats.ArtifactSpec) bool { return a.Optional })
	if !v.mustDeliver() || v.info.NoArtifacts || v.info.Open ||
		v.info.Artifacts != nil && len(required) == 0 ||
		!v.require(
			len(v.ret.Artifacts) > 0,
			"expected at least one artifact with status completed, got none",
		) {
		return
	}

	for _, kind := range types {
		due := slices.ContainsFunc(required, func(a formats.ArtifactSpec) bool {
			return a.Type == kind
		})
		v.require(
			!due ||
				slices.ContainsFunc(v.ret.Artifacts, func(a formats.Artifact) bool {
					return a.Type == kind
				}),
			"expected an artifact of type %s as the contract says, got none",
			kind,
		)
	}
}

func (v *validator) checkErrors() {
	r := v.ret
	v.setPlace("errors", 0)
	v.require(r.Status != formats.StatusCompleted || len(r.Errors) == 0,
		"expected no errors with status completed, got %d", len(r.Errors))
	v.require(
		r.Status != formats.StatusFailed || len(r.Errors) > 0,
		"expected an error with status failed, got none",
	)
	for i, e := range r.Errors {
		v.setPlace("errors", i+1)
		v.require(notBlank(e.Message), "expected a message in error %d, got none", i+1)
		v.require(slices.Contains(
			formats.Codes(), e.Code,
		), "expected a code of the table in error %d, got %q",
			i+1, e.Code)
		v.require(slices.Contains(formats.ErrorTypes(), e.Type),
			"expected a type of the table in error %d, got %q", i+1, e.Type)
	}
}

func (v *validator) checkIssues() {
	levels := []formats.Level{formats.LevelError, formats.LevelWarning, formats.LevelSuggestion}
	for i, issue := range v.ret.Issues {
		v.setPlace("issues", i+1)
		v.require(slices.Contains(levels, issue.Level),
			"expected level error, warning or suggestion in issue %d, got %q", i+1, issue.Level)
		v.require(notBlank(issue.Description), "expected a description in issue %d, got none", i+1)
	}
}

func (v *validator) checkFields() {
	if v.ret.Status == formats.StatusFailed {
		return
	}
	v.setPlace("fields", 0)
	for _, name := range slices.Sorted(maps.Keys(v.info.Fields)) {
		spec := v.info.Fields[name]
		value := v.ret.Fields[name]
		v.require(value != nil || spec.Optional || !v.mustDeliver(),
			"expected field %s (%s) as the contract says, got none", name, spec.Type)
		if name == formats.FieldQuestions && value != nil {
			if v.ret.Status == formats.StatusBlocked && v.ret.BlockedTarget == formats.TargetUser {
				_, faults := formats.Questions(value)
				for _, fault := range faults {
					v.require(false, "%s", fault)
				}
			}
			continue
		}
		v.require(value == nil ||
			spec.Type.Holds(value), "expected field %s to be of type %s, got %s",
			name, spec.Type, formats.TypeName(value))
		if name == documents.FieldPayload && value != nil {
			for _, fault := range documents.PayloadFaults(value) {
				v.require(false, "%s", fault)
			}
		}
	}
}
