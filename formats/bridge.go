package formats

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/formats/record"
)

// statusRow maps a STATUS of a result block to a return.
type statusRow struct {
	word    string
	status  ReturnStatus
	verdict Verdict
	outcome Outcome
	code    Code // of the error of a failed return
}

var statusRows = []statusRow{
	{word: "success", status: StatusCompleted},
	{word: "skipped", status: StatusCompleted, outcome: OutcomeSkipped},
	{word: "approved", status: StatusCompleted, verdict: VerdictApproved},
	{word: "conditional", status: StatusCompleted, verdict: VerdictConditional},
	{word: "rejected", status: StatusCompleted, verdict: VerdictRejected},
	{word: "partial", status: StatusPartial},
	{word: "suspended", status: StatusPartial, outcome: OutcomeSuspended},
	// The work was done, and the verdict is no.
	{word: "failure", status: StatusFailed, outcome: OutcomeRejected, code: CodeValidationFailed},
	{word: "error", status: StatusFailed, code: CodeTransient},
	{word: "blocked", status: StatusBlocked},
}

// statusRowOf returns the row of a word, or all words of the table if it has none.
func statusRowOf(word string) (row statusRow, words []string) {
	for _, row := range statusRows {
		if row.word == canon(word) {
			return row, nil
		}
		words = append(words, row.word)
	}
	return statusRow{}, words
}

// Return converts the block to a return; an unknown STATUS is a *ValueError. Fields holds every
// field except NONCE under its own name. SUMMARY, ARTIFACTS (or ARTIFACT_PATHS), BLOCKED_REASON (or
// REASON), BLOCKED_TARGET and ERROR (or ERROR_REASON, MESSAGE) also set the members of the same
// meaning. NEXT stays a field and has no effect.
func (a AgentResult) Return() (Return, error) {
	row, words := statusRowOf(a.Status)
	if words != nil {
		return Return{}, &ValueError{
			What: "STATUS of a result block",
			Got:  a.Status,
			Want: words,
		}
	}

	r := Return{
		Status:    row.status,
		Verdict:   row.verdict,
		Said:      row.outcome,
		Artifacts: []Artifact{},
		Errors:    []ReturnError{},
		Warnings:  slices.Clone(a.Warnings),
		Fields:    map[string]any{},
	}
	for i := range a.Fields {
		if f := &a.Fields[i]; f.Key != "NONCE" {
			r.Fields[f.Key] = f.Value()
		}
	}

	if a.Next != "" {
		r.Fields["NEXT"] = a.Next
	}
	summary := cmp.Or(
		a.firstText("SUMMARY", "MESSAGE", "REASON", "BLOCKED_REASON", "ERROR"),
		a.Agent+" reports "+row.word,
	)
	r.Summary = FirstLine(summary, MaxSummary)
	if f := cmp.Or(a.Field("ARTIFACTS"), a.Field("ARTIFACT_PATHS")); f != nil {
		var dropped []string
		r.Artifacts, dropped = artifactsOf(f)
		r.Warnings = append(r.Warnings, dropped...)
	}
	switch row.status {
	case StatusFailed:
		e := ReturnError{
			Type: row.code.ErrorType(),
			Message: cmp.Or(
				a.firstText("ERROR", "ERROR_REASON", "MESSAGE", "REASON", "SUMMARY"),
				summary,
			),
			Code:        row.code,
			Recoverable: row.code == CodeTransient,
		}
		r.Errors = append(r.Errors, e)
		r.Class = ClassOf(e)
	case StatusBlocked:
		r.BlockedReason = cmp.Or(
			a.firstText("BLOCKED_REASON", "REASON", "BLOCKER", "SUMMARY", "MESSAGE"),
			summary,
		)
		r.BlockedTarget = a.Text("BLOCKED_TARGET")
	case StatusCompleted, StatusPartial, StatusSuspended:
	}

	if row.verdict == VerdictConditional {
		r.Warnings = append(r.Warnings, a.Agent+" approves on conditions")
	}
	if len(r.Fields) == 0 {
		r.Fields = nil
	}
	return r, nil
}

// firstText returns the text of the first non-empty field.
func (a *AgentResult) firstText(keys ...string) string {
	for _, key := range keys {
		if text := strings.TrimSpace(a.Text(key)); text != "" {
			return text
		}
	}
	return ""
}

// artifactsOf reads the paths in a field. An item is a path, or a pair with a path on the right; a
// remark in brackets after the path becomes its summary. Anything else is dropped, with a message.
func artifactsOf(f *record.AgentField) (out []Artifact, dropped []string) {
	items := f.Items
	out = []Artifact{}
	if f.Kind == record.FieldText {
		items = strings.Split(strings.Trim(f.String(), "[]"), ", ")
	}
	for _, it := range items {
		if _, value, ok := record.SplitPair(it); ok {
			it = value
		}
		path, remark, _ := strings.Cut(strings.TrimSpace(it), " (")
		path = strings.Trim(path, "`\"' ")
		switch {
		case slices.Contains(record.NoneWords, strings.ToLower(path)):
		case path == "." || !fs.ValidPath(path) || strings.Contains(path, "\\") ||
			strings.ContainsFunc(path, unicode.IsControl) ||
			strings.ContainsFunc(path, unicode.IsSpace):
			dropped = append(
				dropped,
				fmt.Sprintf("expected a relative path with slashes in ARTIFACTS, got %q: dropped",
					path),
			)
		default:
			out = append(out, Artifact{
				Type:    GuessArtifactType(path),
				Guessed: true,
				Path:    path,
				Summary: strings.TrimSuffix(remark, ")"),
			})
		}
	}

	return out, dropped
}

// Typed returns r with text fields converted to the types of the contract, if the text spells such
// a value; Validate reports the others. The maps of r do not change.
func Typed(r Return, fields map[string]Field) Return {
	r.Fields = maps.Clone(r.Fields)
	for key, value := range r.Fields {
		if text, isText := value.(string); isText {
			if typed, ok := parseText(strings.TrimSpace(text), fields[key].Type); ok {
				r.Fields[key] = typed
			}
		}
	}
	return r
}

// parseText parses a text as a value of a type.
func parseText(text string, t InputType) (any, bool) {
	switch t {
	case TypeInteger:
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		return n, err == nil
	case TypeNumber:
		f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		return f, err == nil && f == f && f-f == 0
	case TypeBoolean:
		switch strings.ToLower(text) {
		case "true", "yes":
			return true, true
		case "false", "no":
			return false, true
		}
	case TypeList, TypeArray:
		return parseList(text), true
	case TypeString, TypeObject, TypeAny:
	}
	return nil, false
}

// parseList parses a text as a list: none, "[a, b]", or a list of one.
func parseList(text string) []any {
	if slices.Contains(record.NoneWords, strings.ToLower(text)) {
		return []any{}
	}
	if list, ok := record.ParseBracketed(text); ok {
		return list
	}
	return []any{text}
}
