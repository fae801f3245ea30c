package formats

// Role is the kind of work a subagent does; it implies the task statuses before and after, and the artifact.
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
	return []Role{RoleResearcher, RolePlanner, RoleImplementer, RoleReviewer, RoleWriter, RoleUtility}
}

// String is the word as it stands in a subagent file.
func (r Role) String() string { return string(r) }

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

// Statuses gives the task status while the role works and the one after it; both are empty for roles that imply none.
func (r Role) Statuses() (during, after TaskStatus) { return roles[r].during, roles[r].after }

// Artifact is the type of document the role makes; empty where its contract says.
func (r Role) Artifact() ArtifactType { return roles[r].artifact }
