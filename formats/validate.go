package formats

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// Validate gives every rule of returns and of the subagent's contract that r breaks, one sentence each, in a fixed
// order; nil if none. That artifacts exist is not asked here. A failed return is never held to the contract's statuses,
// fields or artifacts, so that an honest failure stays one.
func (r Return) Validate(info AgentInfo) []string {
	v := &validator{ret: r, info: info}
	v.status()
	v.texts()
	v.artifacts()
	v.errors()
	v.issues()
	v.fields()
	return v.found
}

type validator struct {
	ret   Return
	info  AgentInfo
	found []string
}

func (v *validator) add(format string, args ...any) {
	v.found = append(v.found, fmt.Sprintf(format, args...))
}

// worked tells whether the contract's promises are due: the work was done and not skipped.
func (v *validator) worked() bool {
	return v.ret.Status == StatusCompleted && v.ret.Said != OutcomeSkipped
}

func (v *validator) status() {
	r := v.ret
	if !slices.Contains(statusWords, string(r.Status)) {
		v.add("expected status %s, got %q", strings.Join(statusWords, ", "), r.Status)
		return
	}
	switch {
	case r.Verdict == "":
		if v.info.Role == RoleReviewer && v.worked() {
			v.add("expected a verdict of a reviewer, got none")
		}
	case !slices.Contains(verdictWords, string(r.Verdict)):
		v.add("expected verdict %s, got %q", strings.Join(verdictWords, ", "), r.Verdict)
	case r.Status == StatusFailed || r.Status == StatusBlocked:
		v.add("expected no verdict with status %s, got %s", r.Status, r.Verdict)
	}
	if r.Status == StatusBlocked && strings.TrimSpace(r.BlockedReason) == "" {
		v.add("expected blocked_reason with status blocked, got none")
	}
	// A contract that derives the status by jq is held to its statuses after that.
	if v.info.Statuses == nil || v.info.StatusQuery != "" || r.Status == StatusFailed {
		return
	}
	if got := r.Outcome(); !slices.Contains(v.info.Statuses, got) {
		v.add("expected outcome %s as the contract says, got %s", strings.Join(wordsOf(v.info.Statuses), ", "), got)
	}
}

func (v *validator) texts() {
	r := v.ret
	switch n := utf8.RuneCountInString(r.Summary); {
	case strings.TrimSpace(r.Summary) == "":
		v.add("expected a summary, got none")
	case n > MaxSummary:
		v.add("expected a summary of at most %d characters, got %d", MaxSummary, n)
	}
	if len(r.Text) > MaxText {
		v.add("expected a text of at most %d bytes, got %d", MaxText, len(r.Text))
	}
	if !utf8.ValidString(r.Summary) || !utf8.ValidString(r.Text) {
		v.add("expected summary and text in UTF-8, got other bytes")
	}
}

func (v *validator) artifacts() {
	for i, a := range v.ret.Artifacts {
		if !slices.Contains(ArtifactTypes(), a.Type) {
			v.add("expected the type of artifact %d to be one of %s, got %q", i+1, strings.Join(wordsOf(ArtifactTypes()), ", "),
				a.Type)
		}
		if !fs.ValidPath(a.Path) || a.Path == "." || strings.ContainsAny(a.Path, "\x00\\\n") {
			v.add("expected a relative slash-separated path for artifact %d, got %q", i+1, a.Path)
		}
	}
	if !v.worked() || v.info.NoArtifacts {
		return
	}
	if len(v.ret.Artifacts) == 0 {
		v.add("expected at least one artifact with status completed, got none")
		return
	}
	var missing []ArtifactType
	for _, want := range v.info.Artifacts {
		there := slices.ContainsFunc(v.ret.Artifacts, func(a Artifact) bool { return a.Type == want.Type })
		if !there && !slices.Contains(missing, want.Type) {
			missing = append(missing, want.Type)
			v.add("expected an artifact of type %s as the contract says, got none", want.Type)
		}
	}
}

// ArtifactTypes lists what an artifact may be.
func ArtifactTypes() []ArtifactType {
	return []ArtifactType{
		ArtifactReport, ArtifactPlan, ArtifactImplementation, ArtifactSummary, ArtifactReview, ArtifactDocumentation,
	}
}

func (v *validator) errors() {
	r := v.ret
	if r.Status == StatusCompleted && len(r.Errors) > 0 {
		v.add("expected no errors with status completed, got %d", len(r.Errors))
	}
	if r.Status == StatusFailed && len(r.Errors) == 0 {
		v.add("expected an error with status failed, got none")
	}
	for i, e := range r.Errors {
		if strings.TrimSpace(e.Message) == "" {
			v.add("expected a message in error %d, got none", i+1)
		}
		if _, err := ParseCode(string(e.Code)); err != nil {
			v.add("expected a code of the table in error %d, got %q", i+1, e.Code)
		}
		if !slices.Contains(errorTypes, e.Type) {
			v.add("expected a type of the table in error %d, got %q", i+1, e.Type)
		}
	}
}

func (v *validator) issues() {
	for i, issue := range v.ret.Issues {
		if !slices.Contains([]Level{LevelError, LevelWarning, LevelSuggestion}, issue.Level) {
			v.add("expected level error, warning or suggestion in issue %d, got %q", i+1, issue.Level)
		}
		if strings.TrimSpace(issue.Description) == "" {
			v.add("expected a description in issue %d, got none", i+1)
		}
	}
}

func (v *validator) fields() {
	if v.ret.Status == StatusFailed {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(v.info.Fields)) {
		spec := v.info.Fields[name]
		value, ok := v.ret.Fields[name]
		switch {
		case !ok || value == nil:
			if !spec.Optional && v.worked() {
				v.add("expected field %s (%s) as the contract says, got none", name, spec.Type)
			}
		case !spec.Type.Holds(value):
			v.add("expected field %s to be of type %s, got %s", name, spec.Type, TypeName(value))
		}
	}
}

// Holds tells whether a plain JSON value is of the type. Integers may come as float64 without a fraction.
func (t InputType) Holds(value any) bool {
	switch t {
	case TypeString:
		_, ok := value.(string)
		return ok
	case TypeInteger:
		return isInteger(value)
	case TypeNumber:
		return TypeName(value) == "number"
	case TypeBoolean:
		_, ok := value.(bool)
		return ok
	case TypeArray:
		return TypeName(value) == "array"
	case TypeList:
		if _, ok := value.([]string); ok {
			return true
		}
		items, ok := value.([]any)
		return ok && !slices.ContainsFunc(items, func(e any) bool { _, ok := e.(string); return !ok })
	case TypeObject:
		_, ok := value.(map[string]any)
		return ok
	case TypeAny:
		return true
	}
	return false
}

func isInteger(value any) bool {
	switch n := value.(type) {
	case int, int64, *big.Int:
		return true
	case float64:
		return n == float64(int64(n))
	case json.Number:
		_, ok := new(big.Int).SetString(n.String(), 10)
		return ok
	}
	return false
}
