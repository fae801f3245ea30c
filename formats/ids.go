package formats

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tercet/internal/lazy"
)

const idAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789"

func idWord(random []byte, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = idAlphabet[int(random[i%len(random)])%len(idAlphabet)]
	}
	return string(out)
}

// NewSessionID makes sess_{unix}_{6 of a-z0-9} from a time and at least six random bytes.
func NewSessionID(now time.Time, random [6]byte) string {
	return fmt.Sprintf("sess_%d_%s", now.Unix(), idWord(random[:], 6))
}

var sessionID = lazy.Regexp(`^sess_[0-9]{1,12}_[a-z0-9]{6}$`)

// CheckSessionID rejects strings that are no session id, such as an unexpanded shell expression.
func CheckSessionID(id string) error {
	if !sessionID().MatchString(id) {
		return &ValueError{What: "session id sess_{unix}_{6 of a-z0-9}", Got: id}
	}
	return nil
}

// NewRunID makes a short run id that sorts by time: r, the unix second in base 36, and three random
// letters or digits.
func NewRunID(now time.Time, random [6]byte) string {
	return "r" + strconv.FormatInt(now.Unix(), 36) + idWord(random[:], 3)
}

// Sum is the SHA-256 of content in hex, as in all files of tercet.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Specs is the default folder for the folders of tasks.
const Specs = Workspace + "/specs"

// TaskFolder is the name of the folder of a task's documents: {NNN}_{slug}.
func TaskFolder(number int, slug string) string {
	return fmt.Sprintf("%03d_%s", number, slug)
}

// TaskOfFolder is the task number of a documents folder; 0: not such a folder.
func TaskOfFolder(name string) int {
	digits, _, ok := strings.Cut(name, "_")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 {
		return 0
	}
	return n
}

// Workspace is the name of the workspace folder inside the project root.
const Workspace = ".tercet"

// PackLibrary is the pack of what ships with tercet, where a pack decides which subagent a name
// means.
const PackLibrary = "tercet"

// The names of the shipped files in messages: the folder before the file's name.
const (
	LibraryCommands  = "library"
	LibrarySubagents = "subagents"
)

// WorktreeFolder is the folder of the workspace with the worktrees, one for each run.
const WorktreeFolder = "worktrees"

// MaxDepth is the deepest level of delegation: router 0, command 1, subagent 2, subagent of a
// subagent 3.
const MaxDepth = 3

// Depth is a level of delegation; the zero value is the router's. Other packages cannot set its
// number, so an over-deep call cannot be written by accident.
type Depth struct{ n int }

// CommandDepth is the depth at which a routed command runs.
func CommandDepth() Depth {
	return Depth{n: 1}
}

// Next is the depth one level deeper, or MAX_DEPTH_EXCEEDED above MaxDepth. Only the Dispatcher
// calls it.
func (d Depth) Next() (Depth, error) {
	if d.n >= MaxDepth {
		return d, Fail(CodeMaxDepth, "let the command delegate to the subagent itself",
			"expected delegation depth at most %d, got %d", MaxDepth, d.n+1)
	}
	return Depth{n: d.n + 1}, nil
}

// Int is the level as a number for messages, traces and metadata.
func (d Depth) Int() int {
	return d.n
}

// FolderName converts a step path to a folder name: phases[2]/commit becomes phases.2.commit. A
// long one is cut.
func FolderName(step string) string {
	const limit = 120
	name := strings.Trim(invalidNameChars().ReplaceAllString(step, "."), ".")
	return cmp.Or(name[:min(len(name), limit)], "step")
}

// invalidNameChars matches what is not allowed in a folder name.
var invalidNameChars = lazy.Regexp(`[^A-Za-z0-9_-]+`)

// IsModel reports whether a text may be a model's name. The name becomes a command-line argument,
// so it must not begin with a dash or hold invisible characters.
func IsModel(name string) bool {
	const most = 200 // characters
	return name != "" && name == strings.TrimSpace(name) && !strings.HasPrefix(name, "-") &&
		len([]rune(name)) <= most &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return !unicode.IsPrint(r)
		})
}
