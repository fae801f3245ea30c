package hub

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/internal/atomicfile"
)

// members are those who are let in, and the invitations that are open. They are kept in a file and
// say to the server who may connect, and what for. They are safe for concurrent use.
type members struct {
	file     string
	password string // of the hub's own connection
	now      func() time.Time
	alive    func(connection uint64) bool // set once the server is there, as objects
	server   *server.Server
	// objects gives the account with the objects of a job that the member holds; nil: it holds
	// none.
	objects func(member, job string, connection uint64) *server.Account

	mu   sync.Mutex
	book book
	// by name: the connections of the member, and those that ended since it last connected
	connections map[string][]uint64
}

// book is the file.
type book struct {
	Members     []member     `json:"members"`
	Invitations []invitation `json:"invitations"`
}

type member struct {
	Name  string    `json:"name"`
	Role  link.Role `json:"role"`
	Key   string    `json:"key"` // the public one
	Since time.Time `json:"since"`
}

// invitation lets somebody in. The token itself is not kept.
type invitation struct {
	ID    string    `json:"id"`             // of the token
	Name  string    `json:"name,omitempty"` // empty: the guest says it
	Role  link.Role `json:"role"`
	Uses  int       `json:"uses"` // that are left
	Until time.Time `json:"until"`
}

var _ server.Authentication = (*members)(nil)

// readMembers reads the members of a hub from its folder.
func readMembers(folder, password string) (*members, error) {
	m := &members{
		file:        filepath.Join(folder, "members.json"),
		password:    password,
		now:         time.Now,
		connections: map[string][]uint64{},
	}

	data, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, formats.OnFile("read", m.file, err)
	}

	if err := json.Unmarshal(data, &m.book); err != nil {
		return nil, formats.Fail(formats.CodeConfig,
			"move the file away; everybody then needs a new invitation",
			"%s: expected the members of a team: %s", m.file, err)
	}
	return m, nil
}

// write replaces the book in the file and in memory. The caller holds m.mu.
func (m *members) write(next book) error {
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	err = atomicfile.Write(m.file, append(data, '\n'), atomicfile.Options{Mode: 0o600})
	if err != nil {
		return formats.OnFile("write", m.file, err)
	}
	m.book = next
	return nil
}

// Check implements server.Authentication: it tells who may connect, and gives the permissions.
func (m *members) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	switch {
	case o.Nkey != "":
		return m.checkKey(c, o.Nkey, o.Sig)
	case o.Username == link.Invited:
		return m.checkToken(c, o.Password)
	case o.Username == hubUser:
		return m.isHub(o.Password)
	}

	if member, ok := strings.CutPrefix(o.Username, hubUser+"."); ok && m.isHub(o.Password) {
		account, _ := m.server.LookupOrRegisterAccount(accountOf(member))
		c.RegisterUser(&server.User{Username: o.Username, Account: account})
		return true
	}
	if member, ok := link.MemberOfJob(o.Username); ok {
		return m.checkJob(c, member, o.Password)
	}
	return false
}

func (m *members) isHub(password string) bool {
	return subtle.ConstantTimeCompare([]byte(password), []byte(m.password)) == 1
}

// checkJob lets a worker reach the objects of a job that it holds, and nothing else.
func (m *members) checkJob(c server.ClientAuthentication, member, job string) bool {
	account := m.objects(member, job, c.GetID())
	if account == nil {
		return false
	}
	user := userOf(job, link.ObjectSubjects(job))
	user.Account = account
	c.RegisterUser(user)
	return true
}

// hubUser is the name of the hub's own connection.
const hubUser = "hub"

// checkKey lets a member in who signed the nonce of the connection.
func (m *members) checkKey(c server.ClientAuthentication, key, signature string) bool {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	public, err := nkeys.FromPublicKey(key)
	if err != nil || public.Verify(c.GetNonce(), sig) != nil {
		return false
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.book.Members, func(one member) bool { return one.Key == key })
	if i < 0 {
		return false
	}

	one := m.book.Members[i]
	var services []string
	for _, service := range link.Services(one.Role) {
		services = append(services, link.Subject(one.Name, service))
	}
	c.RegisterUser(userOf(one.Name, services))
	m.addConnection(one.Name, c.GetID())
	return true
}

// addConnection notes a connection of a member, and forgets those that have ended: a member on a
// weak line connects thousands of times. The caller holds m.mu.
func (m *members) addConnection(name string, id uint64) {
	live := slices.DeleteFunc(m.connections[name], func(old uint64) bool { return !m.alive(old) })
	m.connections[name] = append(live, id)
}

// checkToken lets somebody in who has an invitation, to become a member and for nothing else.
func (m *members) checkToken(c server.ClientAuthentication, password string) bool {
	token, err := base64.RawURLEncoding.DecodeString(password)
	if err != nil {
		return false
	}

	id := link.TokenID(string(token))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.findInvitation(id) < 0 {
		return false
	}

	c.RegisterUser(userOf(id, []string{link.JoinService + id}))
	return true
}

// userOf may publish to these subjects, and reads its own inbox.
func userOf(name string, subjects []string) *server.User {
	return &server.User{
		Username: name,
		Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: subjects},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX." + name + ".>"}},
		},
	}
}

// findInvitation is the index of an invitation that can be used; -1: there is none. The caller
// holds m.mu.
func (m *members) findInvitation(id string) int {
	return slices.IndexFunc(m.book.Invitations, func(one invitation) bool {
		return one.ID == id && one.Uses > 0 && m.now().Before(one.Until)
	})
}

// invite makes an invitation and gives its token.
func (m *members) invite(q link.InviteRequest) (token string, until time.Time, err error) {
	if err := checkInviting(q); err != nil {
		return "", until, err
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	if q.Name != "" && m.find(q.Name) >= 0 {
		return "", until, nameTaken(q.Name)
	}

	token = newToken()
	until = m.now().Add(q.For).UTC().Truncate(time.Second)

	next := m.book
	next.Invitations = slices.DeleteFunc(slices.Clone(next.Invitations), func(one invitation) bool {
		return one.Uses == 0 || !m.now().Before(one.Until)
	})
	next.Invitations = append(next.Invitations, invitation{
		ID:    link.TokenID(token),
		Name:  q.Name,
		Role:  q.Role,
		Uses:  q.Uses,
		Until: until,
	})

	return token, until, m.write(next)
}

// The bounds of an invitation.
const (
	mostUses    = 1000
	longestTime = 90 * 24 * time.Hour
)

func checkInviting(q link.InviteRequest) error {
	const help = "tercet --on team invite anna, or invite --worker --uses 3 --for 24h"
	switch {
	case q.Role != link.Person && q.Role != link.Agent:
		return formats.Fail(formats.CodeUsage, help,
			"expected a person or a worker, got %q", q.Role)
	case q.Uses < 1 || q.Uses > mostUses:
		return formats.Fail(formats.CodeUsage, help,
			"expected 1 to %d uses, got %d", mostUses, q.Uses)
	case q.For < time.Minute || q.For > longestTime:
		return formats.Fail(formats.CodeUsage, help,
			"expected a time from one minute to 90 days, got %s", q.For)
	case q.Role == link.Person && q.Name == "":
		return formats.Fail(formats.CodeUsage, help,
			"expected the name of the person, by which answers are recorded")
	case q.Name != "" && q.Uses > 1:
		return formats.Fail(formats.CodeUsage, help,
			"expected one use for one name, got %d", q.Uses)
	case q.Name != "":
		return link.CheckName(q.Name)
	}
	return nil
}

func nameTaken(name string) error {
	return formats.Fail(formats.CodePrecondition, "tercet --on team remove "+name+
		", if it has lost its key; or take another name",
		"the team has a member %s already", name)
}

// find is the index of a member; -1: there is none. The caller holds m.mu.
func (m *members) find(name string) int {
	return slices.IndexFunc(m.book.Members, func(one member) bool { return one.Name == name })
}

// join makes somebody with an invitation a member.
func (m *members) join(id string, q link.JoinRequest) (member, error) {
	if !nkeys.IsValidPublicUserKey(q.Key) {
		return member{}, formats.Fail(formats.CodeUsage, "join with tercet of the same version",
			"expected the public key of a member")
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.findInvitation(id)
	if i < 0 {
		return member{}, formats.Fail(formats.CodeDenied, "ask the owner for another one",
			"the invitation is used up or too old")
	}

	one := m.book.Invitations[i]
	name := one.Name
	if name == "" {
		if err := link.CheckName(q.Name); err != nil {
			return member{}, err
		}
		name = m.freeName(q.Name)
	}
	if m.find(name) >= 0 {
		return member{}, nameTaken(name)
	}

	added := member{
		Name:  name,
		Role:  one.Role,
		Key:   q.Key,
		Since: m.now().UTC().Truncate(time.Second),
	}
	next := book{
		Members:     append(slices.Clone(m.book.Members), added),
		Invitations: slices.Clone(m.book.Invitations),
	}
	next.Invitations[i].Uses--
	return added, m.write(next)
}

// freeName is the name, or the name with a number, that nobody has. The caller holds m.mu.
func (m *members) freeName(name string) string {
	const most = 36 // leaves room for the number
	free := name
	for n := 2; m.find(free) >= 0; n++ {
		free = fmt.Sprintf("%s-%d", strings.TrimRight(name[:min(len(name), most)], "-"), n)
	}
	return free
}

// setOwner adds the owner, whose key stands for the user at the home.
func (m *members) setOwner(name, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.book
	next.Members = slices.DeleteFunc(slices.Clone(next.Members), func(one member) bool {
		return one.Role == link.Owner
	})

	next.Members = append(next.Members, member{
		Name:  m.freeName(name),
		Role:  link.Owner,
		Key:   key,
		Since: m.now().UTC().Truncate(time.Second),
	})
	return m.write(next)
}

// has reports whether somebody is a member.
func (m *members) has(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(name) >= 0
}

// isConnected reports whether a member has a connection. One whose process was killed has none, at
// once; one whose machine went away still seems to have one.
func (m *members) isConnected(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.connections[name], m.alive)
}

// findOwner is the member who owns the team; false: there is none yet.
func (m *members) findOwner() (member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.book.Members {
		if one.Role == link.Owner {
			return one, true
		}
	}
	return member{}, false
}

// remove takes a membership back and gives the connections to end.
func (m *members) remove(name string) ([]uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(name)
	switch {
	case i < 0:
		return nil, formats.Fail(formats.CodeNotFound, "tercet --on team members lists them",
			"the team has no member %q", name)
	case m.book.Members[i].Role == link.Owner:
		return nil, formats.Fail(formats.CodeUsage, "the home belongs to the owner",
			"%s owns the team and cannot be removed", name)
	}

	next := m.book
	next.Members = slices.Delete(slices.Clone(next.Members), i, i+1)
	if err := m.write(next); err != nil {
		return nil, err
	}

	connections := m.connections[name]
	delete(m.connections, name)
	return connections, nil
}

// list lists the members as others see them.
func (m *members) list() []link.MemberInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []link.MemberInfo{}
	for _, one := range m.book.Members {
		list = append(list, link.MemberInfo{Name: one.Name, Role: one.Role, Since: one.Since})
	}
	slices.SortFunc(list, func(a, b link.MemberInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// invite lets somebody in.
func (h *Hub) invite(data []byte) link.InviteReply {
	var q link.InviteRequest
	if err := json.Unmarshal(data, &q); err != nil {
		return link.InviteReply{Fault: fault(err)}
	}
	word, until, err := h.Invitation(q)
	return link.InviteReply{Word: word, Until: until, Fault: fault(err)}
}

// Invitation makes a join word.
func (h *Hub) Invitation(q link.InviteRequest) (word string, until time.Time, err error) {
	token, until, err := h.members.invite(q)
	if err != nil {
		return "", until, err
	}
	return link.Invitation{
		Address:     h.Address(),
		Fingerprint: h.fingerprint,
		Token:       token,
	}.String(), until, nil
}

// join makes somebody a member. The end of the subject is the id of the invitation.
func (h *Hub) join(subject string, data []byte) link.JoinReply {
	var q link.JoinRequest
	if err := json.Unmarshal(data, &q); err != nil {
		return link.JoinReply{Fault: fault(err)}
	}
	one, err := h.members.join(strings.TrimPrefix(subject, link.JoinService), q)
	if err != nil {
		return link.JoinReply{Fault: fault(err)}
	}
	h.cfg.Tell("%s %s has joined", one.Role, one.Name)
	return link.JoinReply{Name: one.Name, Role: one.Role}
}

// remove takes a membership back. A run that the member has goes on elsewhere at once.
func (h *Hub) remove(data []byte) link.RemoveReply {
	var q link.RemoveRequest
	err := json.Unmarshal(data, &q)
	var connections []uint64
	if err == nil {
		connections, err = h.members.remove(q.Name)
	}
	if err != nil {
		return link.RemoveReply{Fault: fault(err)}
	}

	for _, id := range connections {
		_ = h.server.DisconnectClientByID(id) //nolint:errcheck // it may have gone
	}
	h.cfg.Tell("%s was removed", q.Name)

	h.mu.Lock()
	defer h.mu.Unlock()
	for name, s := range h.slots {
		if s.member == q.Name {
			delete(h.slots, name)
		}
	}
	return link.RemoveReply{Fault: fault(h.requeue(func(one *assignment) bool {
		return one.worker == q.Name
	}))}
}

// WriteOwnerKey gives the user at the home the key of the owner, in a file, unless the file is that
// of another team.
func (h *Hub) WriteOwnerKey(file, name string) error {
	one, err := link.ReadMember(file)
	owner, there := h.members.findOwner()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && string(one.Fingerprint) != string(h.fingerprint[:]):
		return formats.Fail(formats.CodePrecondition,
			"this user answers there; remove the file to belong to this one",
			"%s: this user belongs to the team at %s", file, one.Address)
	case err == nil && there && one.Public() == owner.Key:
		one.Address = h.Address()
		return one.Write(file)
	}

	if link.CheckName(name) != nil {
		name = string(link.Owner)
	}
	one, public, err := link.NewMember(name, link.Owner)
	if err != nil {
		return err
	}
	if err := h.members.setOwner(name, public); err != nil {
		return err
	}

	owner, _ = h.members.findOwner()
	one.Name = owner.Name
	one.Address = h.Address()
	one.Fingerprint = h.fingerprint[:]
	return one.Write(file)
}
