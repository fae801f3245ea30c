package hub //nolint:testpackage // what it tests is not exported

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/engine/nats/link"
	"tercet/formats"
)

// TestInvitations: an invitation lets in as many as it says within its time, also after the hub was
// started again, and its token is kept nowhere.
func TestInvitations(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()

	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	open := func() *members {
		t.Helper()
		m, err := readMembers(folder, "")
		if err != nil {
			t.Fatal(err)
		}
		m.now = func() time.Time { return now }
		return m
	}

	join := func(m *members, token, name string) (string, error) {
		t.Helper()
		_, public, err := link.NewMember(name, "")
		if err != nil {
			t.Fatal(err)
		}
		one, err := m.join(link.TokenID(token), link.JoinRequest{Name: name, Key: public})
		return one.Name, err
	}

	m := open()
	token, until, err := m.invite(link.InviteRequest{Role: link.Agent, Uses: 3, For: time.Hour})
	if err != nil || !until.Equal(now.Add(time.Hour)) {
		t.Fatalf("invite = %v, %v", until, err)
	}

	for _, want := range []string{"build", "build-2"} {
		if got, err := join(m, token, "build"); got != want || err != nil {
			t.Errorf("join = %q, %v, want %q", got, err, want)
		}
	}

	if _, err := join(m, "another", "eve"); formats.CodeOf(err) != formats.CodeDenied {
		t.Errorf("join with another token: %v", err)
	}
	if _, err := join(m, token, "a.>"); formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("join with the name of a subject: %v", err)
	}

	m = open()
	if got, err := join(m, token, strings.Repeat("x", 40)); len(got) != 40 || err != nil {
		t.Errorf("join = %q, %v", got, err)
	}
	if _, err := join(m, token, "late"); formats.CodeOf(err) != formats.CodeDenied {
		t.Errorf("a fourth use: %v", err)
	}

	token, _, err = m.invite(link.InviteRequest{Role: link.Person, Name: "anna", Uses: 1, For: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	now = now.Add(time.Hour)
	if _, err := join(m, token, ""); formats.CodeOf(err) != formats.CodeDenied {
		t.Errorf("an invitation that is too old: %v", err)
	}

	if n := len(m.list()); n != 3 {
		t.Errorf("%d members, want 3", n)
	}

	if _, err := m.remove("build"); err != nil {
		t.Error(err)
	}

	m = open()
	if slices.ContainsFunc(m.list(), func(one link.MemberInfo) bool { return one.Name == "build" }) {
		t.Error("a removed member is back")
	}
}

// TestConnections: of a member that connects again and again only the live connections are kept,
// and all of them are ended when it is removed.
func TestConnections(t *testing.T) {
	t.Parallel()
	m, err := readMembers(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}

	token, _, err := m.invite(link.InviteRequest{Role: link.Agent, Uses: 1, For: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	_, public, err := link.NewMember("build", "")
	if err == nil {
		_, err = m.join(link.TokenID(token), link.JoinRequest{Name: "build", Key: public})
	}
	if err != nil {
		t.Fatal(err)
	}

	const last = 1000
	m.alive = func(id uint64) bool { return id == 1 || id >= last-1 }
	for id := range uint64(last) {
		m.addConnection("build", id+1)
	}

	if !m.isConnected("build") || m.isConnected("eve") {
		t.Error("present does not tell who has a connection")
	}

	ids, err := m.remove("build")
	if want := []uint64{1, last - 1, last}; !slices.Equal(ids, want) || err != nil {
		t.Errorf("remove = %d connections, %v, want %d", len(ids), err, want)
	}
}
