package formats

import (
	"slices"
	"strings"
)

// LooseTaskStatus reads a status as people and other systems write it: case, spaces and hyphens aside, in brackets, or
// by a word that means the same. A word that means none is the *ValueError of ParseTaskStatus.
func LooseTaskStatus(word string) (TaskStatus, error) {
	plain := strings.ToLower(strings.Trim(strings.TrimSpace(word), "[]*_` "))
	plain = strings.Join(strings.FieldsFunc(plain,
		func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '\'' }), "_")
	if s, err := ParseTaskStatus(plain); err == nil {
		return s, nil
	}
	for status, words := range loose {
		if slices.Contains(strings.Fields(words), plain) {
			return status, nil
		}
	}
	_, err := ParseTaskStatus(word)
	return "", err
}

// loose are the words of others for the statuses.
var loose = map[TaskStatus]string{
	NotStarted:   "todo to_do open new pending ready active backlog queued notstarted",
	Researching:  "research_started in_research",
	Researched:   "research_completed research_complete research_done",
	Planned:      "planning_completed plan_completed plan_created plan_done plan_complete",
	Revised:      "plan_revised revision_completed",
	Implementing: "in_implementation implementation_started",
	Completed: "done success implemented complete finished closed resolved implementation_completed " +
		"completed_successfully",
	Partial: "in_progress inprogress wip started doing partially_completed partially_complete",
	Blocked: "stuck waiting blocked_on",
	Abandoned: "superseded cancelled canceled obsolete wontfix wont_fix wont_do won_t_fix won_t_do dropped rejected " +
		"duplicate",
	Expanded: "divided split",
	OnHold:   "onhold hold paused deferred postponed",
}
