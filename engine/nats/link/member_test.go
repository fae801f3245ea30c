package link_test

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"tercet/engine/nats/link"
	"tercet/formats"
)

func FuzzParseInvitation(f *testing.F) {
	f.Add("127.0.0.1:4333#")
	f.Add("nonsense")
	f.Add(link.Invitation{
		Address:     "[::1]:4333",
		Fingerprint: sha256.Sum256(nil),
		Token:       "01234567890123456789",
	}.String())
	f.Fuzz(func(t *testing.T, word string) {
		i, err := link.ParseInvitation(word)
		if err != nil {
			if formats.CodeOf(err) != formats.CodeUsage {
				t.Errorf("ParseInvitation: %v, want a wrong use", err)
			}
			return
		}

		again, err := link.ParseInvitation(i.String())
		if err != nil || again != i {
			t.Errorf("ParseInvitation(%q) = %v, %v, want %v", i.String(), again, err, i)
		}
	})
}

// TestRoles: a worker can neither answer a question nor run a line, and only the owner decides who
// is let in.
func TestRoles(t *testing.T) {
	t.Parallel()
	for role, never := range map[link.Role][]string{
		link.Agent:  {link.Verb, link.Submit, link.Order, link.Invite, link.Remove},
		link.Person: {link.Take, link.Beat, link.Done, link.Call, link.Invite, link.Remove},
		link.Owner:  {link.Take, link.Beat, link.Done, link.Call},
		"":          {link.State},
	} {
		for _, service := range never {
			if slices.Contains(link.Services(role), service) {
				t.Errorf("a %s may use %s", role, service)
			}
		}
	}
}

// TestMemberFile: what is written is read again, and a damaged file is no key.
func TestMemberFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "team", "member.json")
	if _, err := link.ReadMember(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadMember = %v, want fs.ErrNotExist", err)
	}

	m, public, err := link.NewMember("anna", link.Person)
	if err != nil {
		t.Fatal(err)
	}

	m.Fingerprint = make([]byte, sha256.Size)
	if err := m.Write(name); err != nil {
		t.Fatal(err)
	}

	got, err := link.ReadMember(name)
	if err != nil || got.Public() != public || got.Name != "anna" {
		t.Errorf("ReadMember = %+v, %v", got, err)
	}

	m.Seed = []byte("damaged")
	if err := m.Write(name); err != nil {
		t.Fatal(err)
	}
	if _, err := link.ReadMember(name); formats.CodeOf(err) != formats.CodeConfig {
		t.Errorf("ReadMember of a damaged file: %v", err)
	}
}
