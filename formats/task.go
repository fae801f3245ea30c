package formats

import "time"

// Task is a task of state.json as the layers above the state pass it on. Unknown members of the file are not in it:
// they live only in the bytes of the file.
type Task struct {
	Number        int        `json:"number"`
	Title         string     `json:"title"`
	Slug          string     `json:"slug"`
	Status        TaskStatus `json:"status"` // the effective status where it comes from a snapshot
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
}

// Newest gives the last artifact of a type, nil if there is none.
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

// Lease names the process that works on a task.
type Lease struct {
	Session  string `json:"session_id"`
	Run      string `json:"run"`
	Host     string `json:"host"`
	BootID   string `json:"boot_id"`
	PID      int    `json:"pid"`
	PIDStart string `json:"pid_start"`
	Taken    string `json:"taken"`   // RFC 3339, UTC
	Timeout  int    `json:"timeout"` // seconds after Taken at which the lease is stale
}

// DefaultLeaseTimeout is how long a lease lives when its command names no duration: the run limit.
const DefaultLeaseTimeout = 2 * time.Hour
