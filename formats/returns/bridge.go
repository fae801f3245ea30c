package returns

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/formats"
	"tercet/formats/record"
)

// statusRow maps a STATUS of a result block to a return.
type statusRow struct {
	word    string
	status  formats.ReturnStatus
	verdict formats.Verdict
	outcome formats.Outcome
	code    formats.Code // of the error of a failed return
}

var statusRows = []statusRow{
	{word: "success", status: formats.StatusCompleted},
	{word: "skipped", status: formats.StatusCompleted, outcome: formats.OutcomeSkipped},
	{word: "approved", status: formats.StatusCompleted, verdict: formats.VerdictApproved},
	{word: "conditional", status: formats.StatusCompleted, verdict: formats.VerdictConditional},
	{word: "rejected", status: formats.StatusCompleted, verdict: formats.VerdictRejected},
	{word: "partial", status: formats.StatusPartial},
	{word: "suspended", status: formats.StatusPartial, outcome: formats.OutcomeSuspended},
	// The work was done, and the verdict is no.
	{
		word:    "failure",
		status:  formats.StatusFailed,
		outcome: formats.OutcomeRejected,
		code:    formats.CodeValidationFailed,
	},
	{word: "error", status: formats.StatusFailed, code: formats.CodeTransient},
	{word: "blocked", status: formats.StatusBlocked},
}

// statusRowOf returns the row of a word, or all words of the table if it has none.
func statusRowOf(word string) (row statusRow, words []string) {
	for _, row := range statusRows {
		if row.word == normalizeWord(word) {
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
func (a AgentResult) Return() (formats.Return, error) {
	row, words := statusRowOf(a.Status)
	if words != nil {
		return formats.Return{}, &formats.ValueError{
			What: "STATUS of a result block",
			Got:  a.Status,
			Want: words,
		}
	}

	r := formats.Return{
		Status:    row.status,
		Verdict:   row.verdict,
		Said:      row.outcome,
		Artifacts: []formats.Artifact{},
		Errors:    []formats.ReturnError{},
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
	r.Summary = formats.FirstLine(summary, formats.MaxSummary)
	if f := cmp.Or(a.Field("ARTIFACTS"), a.Field("ARTIFACT_PATHS")); f != nil {
		var dropped []string
		r.Artifacts, dropped = artifactsOf(f)
		r.Warnings = append(r.Warnings, dropped...)
	}
	switch row.status {
	case formats.StatusFailed:
		e := formats.ReturnError{
			Type: row.code.ErrorType(),
			Message: cmp.Or(
				a.firstText("ERROR", "ERROR_REASON", "MESSAGE", "REASON", "SUMMARY"),
				summary,
			),
			Code:        row.code,
			Recoverable: row.code == formats.CodeTransient,
		}
		r.Errors = append(r.Errors, e)
		r.Class = formats.ClassOf(e)
	case formats.StatusBlocked:
		r.BlockedReason = cmp.Or(
			a.firstText("BLOCKED_REASON", "REASON", "BLOCKER", "SUMMARY", "MESSAGE"),
			summary,
		)
		r.BlockedTarget = a.Text("BLOCKED_TARGET")
	case formats.StatusCompleted, formats.StatusPartial, formats.StatusSuspended:
	}

	if row.verdict == formats.VerdictConditional {
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
func artifactsOf(f *record.Field) (out []formats.Artifact, dropped []string) {
	items := f.Items
	out = []formats.Artifact{}
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
		case record.IsNone(path):
		case path == "." || !fs.ValidPath(path) || strings.Contains(path, "\\") ||
			strings.ContainsFunc(path, unicode.IsControl) ||
			strings.ContainsFunc(path, unicode.IsSpace):
			dropped = append(
				dropped,
				fmt.Sprintf("expected a relative path with slashes in ARTIFACTS, got %q: dropped",
					path),
			)
		default:
			out = append(out, formats.Artifact{
				Type:    formats.GuessArtifactType(path),
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
func Typed(r formats.Return, fields map[string]formats.Field) formats.Return {
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
func parseText(text string, t formats.InputType) (any, bool) {
	switch t {
	case formats.TypeInteger:
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		return n, err == nil
	case formats.TypeNumber:
		f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		return f, err == nil && f == f && f-f == 0
	case formats.TypeBoolean:
		switch strings.ToLower(text) {
		case "true", "yes":
			return true, true
		case "false", "no":
			return false, true
		}
	case formats.TypeList, formats.TypeArray:
		return parseList(text), true
	case formats.TypeString, formats.TypeObject, formats.TypeAny:
	}
	return nil, false
}

// parseList parses a text as a list: none, "[a, b]", or a list of one.
func parseList(text string) []any {
	if record.IsNone(text) {
		return []any{}
	}
	if list, ok := record.ParseBracketed(text); ok {
		return list
	}
	return []any{text}
}
