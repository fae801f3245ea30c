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

// CheckSessionID refuses strings that are no session id, such as an unexpanded shell expression.
func CheckSessionID(id string) error {
	if !sessionID().MatchString(id) {
		return &ValueError{What: "session id sess_{unix}_{6 of a-z0-9}", Got: id}
	}
	return nil
}

// NewRunID makes a short run id that sorts by time: r, the unix second in base 36, and three random letters or digits.
func NewRunID(now time.Time, random [6]byte) string {
	return "r" + strconv.FormatInt(now.Unix(), 36) + idWord(random[:], 3)
}

// Sum is the SHA-256 of a content in hexadecimal digits, as all files of tercet have it.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Specs is the folder that holds the folders of tasks, unless the configuration names another one of the project.
const Specs = Workspace + "/specs"

// TaskFolder is the name of the folder of a task's documents: {NNN}_{slug}.
func TaskFolder(number int, slug string) string { return fmt.Sprintf("%03d_%s", number, slug) }

// TaskOfFolder is the number of the task whose documents a folder of this name holds; 0: it is no such folder.
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

// MaxDepth is the deepest level a delegation may reach: router 0, command 1, subagent 2, subagent of a subagent 3.
const MaxDepth = 3

// Depth is a level of delegation. Its number cannot be set from outside the package, so that an over-deep call cannot
// be written by accident; the zero value is the router's depth.
type Depth struct{ n int }

// CommandDepth is the depth at which a routed command runs.
func CommandDepth() Depth { return Depth{n: 1} }

// Next returns the depth one level deeper, or MAX_DEPTH_EXCEEDED past MaxDepth. Only the Dispatcher calls it.
func (d Depth) Next() (Depth, error) {
	if d.n >= MaxDepth {
		return d, Fail(CodeMaxDepth, "let the command delegate to the subagent itself",
			"expected delegation depth at most %d, got %d", MaxDepth, d.n+1)
	}
	return Depth{n: d.n + 1}, nil
}

// Int returns the level as a number for messages, traces and metadata.
func (d Depth) Int() int { return d.n }

// FolderName makes a step path fit for a folder: phases[2]/commit becomes phases.2.commit. One that is too long is cut.
func FolderName(step string) string {
	const limit = 120
	name := strings.Trim(noName().ReplaceAllString(step, "."), ".")
	return cmp.Or(name[:min(len(name), limit)], "step")
}

// noName is what stands in no name of a folder.
var noName = lazy.Regexp(`[^A-Za-z0-9_-]+`)

// IsModel tells whether a text may be the name of a model. It becomes an argument of a program, so that it does not
// begin with a dash and holds nothing that cannot be seen.
func IsModel(name string) bool {
	const most = 200 // characters
	return name != "" && name == strings.TrimSpace(name) && !strings.HasPrefix(name, "-") && len([]rune(name)) <= most &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
