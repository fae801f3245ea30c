package documents_test

import (
	"testing"

	"tercet/formats/documents"
)

func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, name := range documents.Profiles() {
		_, found := documents.ParseDocument(name, "f", nil)
		if found != nil && found.List[0].Code == "E460" {
			t.Errorf("ParseDocument(%q) knows no such profile", name)
		}
	}
	const count = 21
	if n := len(documents.Profiles()); n != count {
		t.Errorf("there are %d profiles, want %d", n, count)
	}
	for _, name := range []string{"", "Plan", "plans"} {
		_, found := documents.ParseDocument(name, "f", nil)
		if found == nil || found.List[0].Code != "E460" {
			t.Errorf("ParseDocument(%q) = %v, want E460", name, found)
		}
	}
}
