package formats

import (
	"encoding/json"
	"time"
)

// SharedLines are lines of the journal of a run on their way to the home of its team, with what
// they announce. All of it arrives, or nothing does.
type SharedLines struct {
	Run   string `json:"run"`
	Taker string `json:"taker"` // the attempt that has the run; an earlier one is refused
	Lines []byte `json:"lines"`
	// Trees are all worktrees of the run as they are now; nil: they are as they were.
	Trees *[]TreeSnapshot `json:"trees,omitempty"`
	// Bundles are those of snapshots that the remote did not take, by commit.
	Bundles map[string][]byte `json:"bundles,omitempty"`
	// Files are documents that changed, by path below the project root; Gone were removed.
	Files map[string][]byte `json:"files,omitempty"`
	Gone  []string          `json:"gone,omitempty"`
}

// TreeSnapshot is a commit of a worktree with its uncommitted work. Its first parent is the last
// commit of the branch.
type TreeSnapshot struct {
	Name   string `json:"name"` // of the folder among the worktrees of the project
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	Ref    string `json:"ref"` // of the remote, where the commit was pushed
	// Bundled means that the remote did not take it: the home has it under this ref.
	Bundled bool `json:"bundled,omitempty"`
	// Head and Tree are the branch's last commit and the hash of the files, which tell whether
	// anything changed.
	Head string `json:"head"`
	Tree string `json:"tree"`
}

// RunHistory is what the home of a team has of a run, for the attempt that takes it.
type RunHistory struct {
	Run     string            `json:"run"`
	Taker   string            `json:"taker"`
	Line    string            `json:"line"`
	Yes     bool              `json:"yes,omitempty"`    // every gate is approved
	Cancel  bool              `json:"cancel,omitempty"` // it is to be given up
	Lines   []byte            `json:"lines,omitempty"`
	Trees   []TreeSnapshot    `json:"trees,omitempty"`
	Bundles map[string][]byte `json:"bundles,omitempty"` // of Trees that are Bundled, by commit
	Base    string            `json:"base,omitempty"`    // commit of the home's checkout, if any
	Files   map[string][]byte `json:"files,omitempty"`
	Letters map[string][]byte `json:"letters,omitempty"` // answers, by file name
	// Key seals the journal of this run and no other.
	Key []byte `json:"key"`
	// Now is the time at the home, by which the attempt goes: the clocks of two machines may
	// differ.
	Now time.Time `json:"now"`
}

// The requests that a run makes of the home of its team.
const (
	HomeApply    = "apply"    // a transaction on the state
	HomeReserve  = "reserve"  // a worker of the team's budget
	HomePublish  = "publish"  // the work of a worktree
	HomeMessages = "messages" // what the run was told and no worker has got, as []Message
	HomeAccount  = "account"  // whether an account may be used now, or that it may not
)

// HomeRequest asks the home for an effect that only it may have.
type HomeRequest struct {
	Run   string          `json:"run"`
	Taker string          `json:"taker"`
	Do    string          `json:"do"`
	Tx    json.RawMessage `json:"tx,omitempty"`  // for HomeApply
	Txn   string          `json:"txn,omitempty"` // for HomeReserve: the id of the delegation
	// Account is for HomeAccount. Limit says that the run met its usage limit; nil: it asks.
	Account string        `json:"account,omitempty"`
	Limit   *AccountLimit `json:"limit,omitempty"`
	// Call is the delegation for HomePublish, and Trees are the worktrees as they are, with Bundles
	// of what the remote did not take.
	Call    *Request          `json:"call,omitempty"`
	Trees   []TreeSnapshot    `json:"trees,omitempty"`
	Bundles map[string][]byte `json:"bundles,omitempty"`
}

// AccountLimit is a usage limit that a run met.
type AccountLimit struct {
	Why string `json:"why"`
	// For is how long it lasts, by the clock of the machine that met it; 0: its agent did not say.
	For time.Duration `json:"for"`
}

// HomeReply is what an effect of the home gave, and the files of the workspace that it changed.
type HomeReply struct {
	Result json.RawMessage   `json:"result,omitempty"`
	Files  map[string][]byte `json:"files,omitempty"`
	Gone   []string          `json:"gone,omitempty"`
	// Bundles are those of snapshots that the remote did not take from the home, by commit.
	Bundles map[string][]byte `json:"bundles,omitempty"`
}
