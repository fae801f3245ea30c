package formats

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Task is a task of state.json for the layers above the state. It has no unknown members: they stay
// in the bytes of the file.
type Task struct {
	Number        int        `json:"number"`
	Title         string     `json:"title"`
	Slug          string     `json:"slug"`
	Status        TaskStatus `json:"status"` // the effective status if from a snapshot
	Language      string     `json:"language,omitempty"`
	Priority      string     `json:"priority,omitempty"`
	Effort        string     `json:"effort,omitempty"`
	Description   string     `json:"description"`
	Dependencies  []int      `json:"dependencies"`
	Parent        *int       `json:"parent"`
	Created       string     `json:"created"` // RFC 3339, UTC
	Updated       string     `json:"updated"`
	Artifacts     []Artifact `json:"artifacts"`
	Prior         TaskStatus `json:"prior,omitempty"`
	BlockedReason string     `json:"blocked_reason,omitempty"`
	Lease         *Lease     `json:"lease,omitempty"`
	Session       string     `json:"session_id,omitempty"`
	// address of the issue that the task was made from
	Issue string `json:"issue_url,omitempty"`
	// what the other members cannot hold; only imports write it
	Notes string `json:"notes,omitempty"`
}

// Rows shows the task as two tables: its fields and its documents.
func (t Task) Rows() (about, documents Table) {
	about = Table{
		Columns: []string{
			"number", "title", "status", "priority", "language", "effort", "depends_on",
			"waits_for", "notes",
		},
		Rows: [][]string{{
			strconv.Itoa(t.Number), t.Title, t.Status.String(), t.Priority, t.Language, t.Effort,
			strings.Trim(fmt.Sprint(t.Dependencies), "[]"), t.BlockedReason, t.Notes,
		}},
	}
	documents = Table{Columns: []string{"document", "path", "summary"}}
	for _, a := range t.Artifacts {
		documents.Rows = append(documents.Rows, []string{string(a.Type), a.Path, a.Summary})
	}
	return about, documents
}

// Newest returns the last artifact of a type, or nil.
func (t *Task) Newest(kind ArtifactType) *Artifact {
	if t == nil {
		return nil
	}
	for i := len(t.Artifacts) - 1; i >= 0; i-- {
		if t.Artifacts[i].Type == kind {
			return &t.Artifacts[i]
		}
	}
	return nil
}

// Lease is the claim of a process on a task.
type Lease struct {
	Session  string `json:"session_id"`
	Run      string `json:"run"`
	Host     string `json:"host"`
	BootID   string `json:"boot_id"`
	PID      int    `json:"pid"`
	PIDStart string `json:"pid_start"`
	Taken    string `json:"taken"`   // RFC 3339, UTC
	Timeout  int    `json:"timeout"` // seconds from Taken until the lease is stale
	// Suspended marks the lease of a waiting run. It holds without a process and does not expire.
	Suspended bool `json:"suspended,omitempty"`
}

// DefaultLeaseTimeout is the lifetime of a lease whose command sets no duration.
const DefaultLeaseTimeout = 2 * time.Hour

// Role is the kind of work of a subagent; it implies the task statuses before and after, and the
// artifact.
type Role string

// The roles.
const (
	RoleResearcher  Role = "researcher"
	RolePlanner     Role = "planner"
	RoleImplementer Role = "implementer"
	RoleReviewer    Role = "reviewer"
	RoleWriter      Role = "writer"
	RoleUtility     Role = "utility"
)

// Roles lists every role.
func Roles() []Role {
	return []Role{
		RoleResearcher, RolePlanner, RoleImplementer, RoleReviewer, RoleWriter, RoleUtility,
	}
}

// String is the role as written in a subagent file.
func (r Role) String() string {
	return string(r)
}

// roleRow is what a role implies; members are empty for roles that imply none.
type roleRow struct {
	during, after TaskStatus
	artifact      ArtifactType
}

var roles = map[Role]roleRow{
	RoleResearcher:  {Researching, Researched, ArtifactReport},
	RolePlanner:     {Planning, Planned, ArtifactPlan},
	RoleImplementer: {Implementing, Completed, ArtifactSummary},
	RoleReviewer:    {artifact: ArtifactReview},
}

// Statuses returns the task status during the work and after it; both are empty for roles that
// imply none.
func (r Role) Statuses() (during, after TaskStatus) {
	return roles[r].during, roles[r].after
}

// Artifact is the type of the role's document; empty if the contract decides.
func (r Role) Artifact() ArtifactType {
	return roles[r].artifact
}
