package formats

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
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

var sessionID = regexp.MustCompile(`^sess_[0-9]{1,12}_[a-z0-9]{6}$`)

// CheckSessionID refuses strings that are no session id, such as an unexpanded shell expression.
func CheckSessionID(id string) error {
	if !sessionID.MatchString(id) {
		return &ValueError{What: "session id sess_{unix}_{6 of a-z0-9}", Got: id}
	}
	return nil
}

// NewRunID makes a short run id that sorts by time: r, the unix second in base 36, and three random letters or digits.
func NewRunID(now time.Time, random [6]byte) string {
	return "r" + strconv.FormatInt(now.Unix(), 36) + idWord(random[:], 3)
}

// TaskFolder is the folder of a task's documents, relative to the project root: .tercet/specs/{NNN}_{slug}.
func TaskFolder(number int, slug string) string {
	return fmt.Sprintf("%s/specs/%03d_%s", Workspace, number, slug)
}

// Workspace is the name of the workspace folder inside the project root.
const Workspace = ".tercet"
