// Package link is what the hub of a team and its members say to each other over NATS, and how they
// know each other: a member knows the fingerprint of the hub's certificate, and the hub knows the
// member's public key. A member talks to those services of the hub that its role may use, and to
// nothing else.
package link

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"tercet/formats"
)

// Invited is the name of a user with an invitation in the place of a key.
const Invited = "invited"

// JoinService is where an invited user becomes a member; the id of the token follows it.
const JoinService = "join."

// The services of the hub for its members.
const (
	Take   = "take"   // a job for a worker
	Beat   = "beat"   // the worker is alive
	Done   = "done"   // the work on a job is over
	Call   = "call"   // of a run to its home
	Store  = "store"  // the bucket of a job, for large calls and answers
	Submit = "submit" // a line
	State  = "state"  // runs and workers
	Verb   = "verb"   // of tercet, at the home
	Order  = "order"  // pause, resume or cancel a run
	Invite = "invite" // lets somebody in
	Remove = "remove" // takes a membership back
)

// Services are those that a role may use.
func Services(r Role) []string {
	switch r {
	case Agent:
		return []string{Take, Beat, Done, Call, Store, State}
	case Person:
		return []string{Submit, State, Verb, Order}
	case Owner:
		return []string{Submit, State, Verb, Order, Invite, Remove}
	}
	return nil
}

// MaxPayload bounds a message, in bytes.
const MaxPayload = 64 << 20

// JoinRequest is a request of somebody with an invitation.
type JoinRequest struct {
	Name string `json:"name"`
	Key  string `json:"key"` // the public one
}

// JoinReply is the answer: who the member is.
type JoinReply struct {
	Name  string `json:"name"`
	Role  Role   `json:"role"`
	Fault *Fault `json:"fault,omitempty"`
}

// InviteRequest asks the hub for an invitation.
type InviteRequest struct {
	Name string        `json:"name,omitempty"` // empty: the guest says it
	Role Role          `json:"role"`
	Uses int           `json:"uses"`
	For  time.Duration `json:"for"`
}

// InviteReply is an invitation as a join word.
type InviteReply struct {
	Word  string    `json:"word"`
	Until time.Time `json:"until"`
	Fault *Fault    `json:"fault,omitempty"`
}

// RemoveRequest takes the membership of somebody back.
type RemoveRequest struct {
	Name string `json:"name"`
}

// RemoveReply is the answer to it.
type RemoveReply struct {
	Fault *Fault `json:"fault,omitempty"`
}

// TakeRequest is a request of a worker for a job.
type TakeRequest struct {
	Slot    int      `json:"slot,omitempty"` // of the worker; 0 and 1 are the first one
	Version string   `json:"version"`
	Labels  []string `json:"labels,omitempty"`
	// Files are the SHA-256 of the files of the clone that can start a program, by path. Base is
	// the commit of the home that the clone was brought to.
	Files   map[string]string `json:"files,omitempty"`
	Base    string            `json:"base,omitempty"`
	Refuses string            `json:"refuses,omitempty"` // why it takes no run now
}

// TakeReply is a job; an empty id means that there is none now.
type TakeReply struct {
	ID        string        `json:"id,omitempty"`
	Run       string        `json:"run,omitempty"`
	Line      string        `json:"line,omitempty"`
	DeadAfter time.Duration `json:"dead_after"`
	// Base, without an id, is a commit of the home: the clone is to be brought to it first.
	Base  string `json:"base,omitempty"`
	Fault *Fault `json:"fault,omitempty"`
}

// Report is a sign of life, or the end of the work on a job with the exit code of its process and
// what it said.
type Report struct {
	ID   string `json:"id"`
	Code int    `json:"code"`
	Said string `json:"said,omitempty"`
	// Stopped is the code of the error that suspended the run; empty: no error did.
	Stopped formats.Code `json:"stopped,omitempty"`
}

// ReportReply is the answer to a Report. Stop means that the process of the run is to be ended.
type ReportReply struct {
	Stop bool `json:"stop,omitempty"`
}

// LineRequest is a line to run.
type LineRequest struct {
	Text  string   `json:"text"`
	Yes   bool     `json:"yes,omitempty"`
	Needs []string `json:"needs,omitempty"` // labels of its worker
}

// RunsReply are the runs of a line, or the run of an order with what is told about it.
type RunsReply struct {
	Run   string   `json:"run,omitempty"`
	Runs  []string `json:"runs,omitempty"`
	Notes []string `json:"notes,omitempty"`
	Fault *Fault   `json:"fault,omitempty"`
}

// OrderRequest asks to pause, resume or cancel a run. From is the step from which it is to be
// resumed, empty for where it stopped, and Yes agrees to drop the results since then.
type OrderRequest struct {
	Run  string `json:"run"`
	Do   string `json:"do"`
	From string `json:"from,omitempty"`
	Yes  bool   `json:"yes,omitempty"`
}

// VerbRequest are a verb of tercet with its arguments.
type VerbRequest struct {
	Args []string `json:"args"`
}

// VerbReply is what a verb printed, and its exit code.
type VerbReply struct {
	Out   []byte `json:"out"`
	Err   []byte `json:"err"`
	Code  int    `json:"code"`
	Fault *Fault `json:"fault,omitempty"`
}

// Team is the state of runs, workers and members.
type Team struct {
	Runs    []Run        `json:"runs"`
	Workers []Worker     `json:"workers"`
	Members []MemberInfo `json:"members"`
}

// MemberInfo is a member as others see it.
type MemberInfo struct {
	Name  string    `json:"name"`
	Role  Role      `json:"role"`
	Since time.Time `json:"since"`
}

// Run is a run of the team. State is queued, running, waiting, paused, stuck or ended.
type Run struct {
	Run    string `json:"run"`
	Line   string `json:"line"`
	State  string `json:"state"`
	Worker string `json:"worker,omitempty"`
	Why    string `json:"why,omitempty"`
	Lines  int    `json:"lines"` // of its journal, so that a reader sees that it went on
	Code   int    `json:"code"`  // the exit code of a run that has ended
}

// Worker is one that asked for work, or one of its slots. Ago is when the hub heard of it last, in
// seconds.
type Worker struct {
	Name    string   `json:"name"`
	Run     string   `json:"run,omitempty"`
	Ago     float64  `json:"seconds_ago"`
	Labels  []string `json:"labels,omitempty"`
	Version string   `json:"version,omitempty"`
	Refuses string   `json:"refuses,omitempty"` // why it takes no run now
}

// Fault is an error that crossed the wire.
type Fault struct {
	Code    formats.Code `json:"code"`
	Message string       `json:"message"`
	Help    string       `json:"help,omitempty"`
}

// FaultOf makes an error cross the wire; nil for nil.
func FaultOf(err error) *Fault {
	if err == nil {
		return nil
	}
	return &Fault{formats.CodeOf(err), err.Error(), formats.HelpOf(err)}
}

// Err is the error that crossed the wire.
func (f *Fault) Err() error {
	if f == nil {
		return nil
	}
	return formats.Fail(f.Code, f.Help, "%s", f.Message)
}

// Conn is a connection of a member.
type Conn struct {
	*nats.Conn

	name        string
	address     string
	fingerprint []byte
}

// Connect connects a member to its hub, whose certificate has to be the known one. It waits for no
// hub that is not there.
func Connect(m Member) (*Conn, error) {
	pair, err := nkeys.FromSeed(m.Seed)
	if err != nil {
		return nil, err
	}

	nc, err := connect(m.Address, m.Fingerprint, m.Name, nats.Nkey(m.Public(), pair.Sign))
	if err != nil {
		return nil, err
	}
	return &Conn{
		Conn:        nc,
		name:        m.Name,
		address:     m.Address,
		fingerprint: m.Fingerprint,
	}, nil
}

// connect connects to a hub whose certificate has the fingerprint. Answers come to an inbox that
// nobody else may read.
func connect(
	address string, fingerprint []byte, inbox string, who nats.Option,
) (*nats.Conn, error) {
	pinned := &tls.Config{
		MinVersion: tls.VersionTLS13,
		//nolint:gosec // the certificate is known by its fingerprint, whoever signed it
		InsecureSkipVerify: true,
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 {
				return errors.New("the hub showed no certificate")
			}
			sum := sha256.Sum256(raw[0])
			if !bytes.Equal(sum[:], fingerprint) {
				return errors.New("the hub has another certificate than the one that was joined")
			}
			return nil
		},
	}

	nc, err := nats.Connect("tls://"+address, nats.Secure(pinned), who,
		nats.CustomInboxPrefix("_INBOX."+inbox), nats.MaxReconnects(-1),
		nats.ReconnectWait(500*time.Millisecond),
		// what the server refuses shows in the next call
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.Timeout(10*time.Second))
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, refusedError(address)
	case err != nil:
		return nil, formats.Broken(formats.CodeTransient, "the hub at "+address, err,
			"start it: tercet hub; or join again")
	}
	return nc, nil
}

// refusedError says that the hub knows neither the key nor the join word.
func refusedError(address string) error {
	return formats.Fail(formats.CodeDenied,
		"ask the owner of the team for an invitation, and join again",
		"the hub at %s does not let this key or join word in: "+
			"it is used up, too old, or its member was removed", address)
}

// Refused is why a connection was closed by the hub: the member was removed.
func (c *Conn) Refused() error { return refusedError(c.address) }

// Join makes its caller a member by an invitation. name is what it is to be called where the
// invitation says nothing.
func Join(ctx context.Context, i Invitation, name string) (m Member, err error) {
	m, public, err := NewMember(name, "")
	if err != nil {
		return m, err
	}

	token := base64.RawURLEncoding.EncodeToString([]byte(i.Token))
	nc, err := connect(i.Address, i.Fingerprint[:], i.TokenID(), nats.UserInfo(Invited, token))
	if err != nil {
		return m, err
	}

	defer nc.Close()
	var joined JoinReply
	err = request(ctx, nc, JoinService+i.TokenID(), JoinRequest{Name: name, Key: public}, &joined)
	if err == nil {
		err = joined.Fault.Err()
	}

	m.Address = i.Address
	m.Fingerprint = i.Fingerprint[:]
	m.Name = joined.Name
	m.Role = joined.Role
	return m, err
}

// Ask asks a service of the hub.
func (c *Conn) Ask(ctx context.Context, service string, question, answer any) error {
	return request(ctx, c.Conn, Subject(c.name, service), question, answer)
}

// RequestUntilLost sends a message and waits for its answer, which does not come any more once the
// connection was lost.
func (c *Conn) RequestUntilLost(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	within, end := untilLost(ctx, c.Conn)
	defer end()
	answer, err := c.RequestMsgWithContext(within, m)
	if err != nil && within.Err() != nil {
		err = context.Cause(within)
	}
	return answer, err
}

// untilLost is a context that also ends when a connection is lost.
func untilLost(ctx context.Context, nc *nats.Conn) (within context.Context, end func()) {
	lost := nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	within, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-lost:
			cancel(nats.ErrConnectionReconnecting)
		case <-within.Done():
		}
	}()

	return within, func() {
		cancel(nil)
		nc.RemoveStatusListener(lost)
	}
}

// Subject is where a member reaches a service. The hub lets it use no other member's.
func Subject(member, service string) string { return "team." + member + "." + service }

func request(ctx context.Context, nc *nats.Conn, subject string, question, answer any) error {
	data, err := json.Marshal(question)
	if err != nil {
		return err
	}

	m, err := nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		return formats.Broken(formats.CodeTransient, "the hub", err,
			"see whether it runs: tercet hub")
	}

	if err := json.Unmarshal(m.Data, answer); err != nil {
		return fmt.Errorf("the answer of the hub: %w", err)
	}
	return nil
}
