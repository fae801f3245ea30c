package link

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nats-io/nkeys"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// Role is what a member of a team may do.
type Role string

// The roles. A worker takes runs and answers no question. A person submits lines and answers. The
// owner is a person who also invites and removes members.
const (
	Owner  Role = "owner"
	Person Role = "person"
	Agent  Role = "worker"
)

// Name of a member, which is a part of the subjects of NATS.
var memberName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// CheckName refuses a name that no member can have.
func CheckName(name string) error {
	if memberName.MatchString(name) {
		return nil
	}
	return formats.Fail(formats.CodeUsage, "such as anna or build-2",
		"expected a name of at most 40 small letters, digits, - and _, got %q", name)
}

// Invitation is the join word: where the hub is, how its certificate is known, and a token that
// lets somebody in.
type Invitation struct {
	Address     string // HOST:PORT
	Fingerprint [sha256.Size]byte
	Token       string
}

// tokenBytes is the length of a token.
const tokenBytes = 20

// TokenBytes is how long a token is.
func TokenBytes() int { return tokenBytes }

// String is the join word.
func (i Invitation) String() string {
	secret := append(i.Fingerprint[:], i.Token...)
	return i.Address + "#" + base64.RawURLEncoding.EncodeToString(secret)
}

// TokenID names the token without telling it.
func (i Invitation) TokenID() string { return TokenID(i.Token) }

// TokenID names a token without telling it.
func TokenID(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ParseInvitation reads a join word.
func ParseInvitation(word string) (i Invitation, err error) {
	wrong := formats.Fail(formats.CodeUsage, "'tercet hub' and 'tercet --on team invite' print it",
		"expected a join word such as HOST:PORT#SECRET, got one of %d characters", len(word))
	address, rest, ok := strings.Cut(word, "#")
	if _, _, err := net.SplitHostPort(address); err != nil || !ok {
		return i, wrong
	}

	data, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || len(data) != sha256.Size+tokenBytes {
		return i, wrong
	}

	i.Address = address
	copy(i.Fingerprint[:], data)
	i.Token = string(data[sha256.Size:])
	return i, nil
}

// Member is what a machine or person keeps of its membership. Seed is the secret key.
type Member struct {
	Address     string `json:"address"`
	Fingerprint []byte `json:"fingerprint"` // of the certificate of the hub, SHA-256
	Name        string `json:"name"`
	Role        Role   `json:"role"`
	Seed        []byte `json:"seed"`
}

// NewMember makes a key pair for a member. The public one is what the hub learns.
func NewMember(name string, role Role) (m Member, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return m, "", err
	}
	public, err = pair.PublicKey()
	if err != nil {
		return m, "", err
	}
	seed, err := pair.Seed()
	return Member{Name: name, Role: role, Seed: seed}, public, err
}

// Public is the public key; empty if the seed is damaged.
func (m Member) Public() string {
	pair, err := nkeys.FromSeed(m.Seed)
	if err != nil {
		return ""
	}

	public, err := pair.PublicKey()
	if err != nil {
		return ""
	}
	return public
}

// WorkerFile is where the membership of a worker in a clone is kept.
func WorkerFile(stateHome, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(stateHome, "team", "workers", hex.EncodeToString(sum[:8])+".json")
}

// ReadMember reads a membership; the error wraps fs.ErrNotExist if there is none.
func ReadMember(file string) (m Member, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if err != nil {
		return m, formats.OnFile("read", file, err)
	}

	if json.Unmarshal(data, &m) == nil {
		_, err = nkeys.FromSeed(m.Seed)
	}
	if err != nil || len(m.Fingerprint) != sha256.Size || CheckName(m.Name) != nil {
		return m, formats.Fail(formats.CodeConfig, "remove the file and join again",
			"%s: expected address, name and key of a member of a team", file)
	}
	return m, nil
}

// Write keeps a membership in a file that only this user reads.
func (m Member) Write(file string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return formats.OnFile("make", filepath.Dir(file), err)
	}
	err = atomicfile.Write(file, append(data, '\n'), atomicfile.Options{Mode: 0o600})
	if err != nil {
		return formats.OnFile("write", file, err)
	}
	return nil
}
