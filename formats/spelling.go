package formats

import "strings"

// LooseTaskStatus reads a status as people and other systems write it: case, spaces and hyphens aside, in brackets, or
// by a word that means the same. A word that means none is the *ValueError of ParseTaskStatus.
func LooseTaskStatus(word string) (TaskStatus, error) {
	plain := strings.ToLower(strings.Trim(strings.TrimSpace(word), "[]*_` "))
	plain = strings.Join(strings.FieldsFunc(plain,
		func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '\'' }), "_")
	if s, err := ParseTaskStatus(plain); err == nil {
		return s, nil
	}
	switch plain {
	case "todo", "to_do", "open", "new", "pending", "ready", "active", "backlog", "queued", "notstarted":
		return NotStarted, nil
	case "research_started", "in_research":
		return Researching, nil
	case "research_completed", "research_complete", "research_done":
		return Researched, nil
	case "planning_completed", "plan_completed", "plan_created", "plan_done", "plan_complete":
		return Planned, nil
	case "plan_revised", "revision_completed":
		return Revised, nil
	case "in_implementation", "implementation_started":
		return Implementing, nil
	case "done", "success", "implemented", "complete", "finished", "closed", "resolved", "implementation_completed",
		"completed_successfully":
		return Completed, nil
	case "in_progress", "inprogress", "wip", "started", "doing", "partially_completed", "partially_complete":
		return Partial, nil
	case "stuck", "waiting", "blocked_on":
		return Blocked, nil
	case "superseded", "cancelled", "canceled", "obsolete", "wontfix", "wont_fix", "wont_do", "won_t_fix", "won_t_do",
		"dropped", "rejected", "duplicate":
		return Abandoned, nil
	case "divided", "split":
		return Expanded, nil
	case "onhold", "hold", "paused", "deferred", "postponed":
		return OnHold, nil
	}
	_, err := ParseTaskStatus(word)
	return "", err
}
