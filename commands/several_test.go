package commands_test

import (
	"testing"

	"tercet/commands"
	"tercet/formats"
)

// TestNextOf: advice that differs by the task's number alone is given once; other advice, and that
// of tasks which did not pass, is not mixed into it.
func TestNextOf(t *testing.T) {
	t.Parallel()
	came := func(task int, status formats.ReturnStatus, next string) formats.TaskReturn {
		return formats.TaskReturn{
			Task:   task,
			Return: formats.Return{Status: status, NextSteps: next},
		}
	}
	done := formats.StatusCompleted
	failed := formats.StatusFailed
	for want, list := range map[string][]formats.TaskReturn{
		"/implement 1-3": {
			came(1, done, "/implement 1"),
			came(2, done, "/implement 2"),
			came(3, done, "/implement 3"),
		},
		"/implement 1,3": {
			came(1, done, "/implement 1"),
			came(2, failed, "look"),
			came(3, done, "/implement 3"),
		},
		"/implement 1, or /revise 1 TEXT": {came(1, done, "/implement 1, or /revise 1 TEXT")},
		"/plan 1,3; /implement 2": {
			came(1, done, "/plan 1"),
			came(2, done, "/implement 2"),
			came(3, done, "/plan 3"),
		},
		"commit it": {
			came(1, done, "commit it"),
			came(2, done, "commit it"),
		},
		"see 12 places; see 13 places": {
			came(1, done, "see 12 places"),
			came(2, done, "see 13 places"),
		},
		"/implement 10-11, then /review 10-11": {
			came(10, done, "/implement 10, then /review 10"),
			came(11, done, "/implement 11, then /review 11"),
		},
	} {
		if got := commands.NextOf(list); got != want {
			t.Errorf("NextOf = %q, want %q", got, want)
		}
	}
}
