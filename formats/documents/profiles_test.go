package documents_test

import (
	"os"
	"slices"
	"testing"

	"tercet/formats/documents"
)

func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, name := range documents.Profiles() {
		_, found := documents.Parse(name, "f", nil)
		if found != nil && found.List[0].Code == "E460" {
			t.Errorf("Parse(%q) knows no such profile", name)
		}
	}

	const count = 21
	if n := len(documents.Profiles()); n != count {
		t.Errorf("there are %d profiles, want %d", n, count)
	}

	for _, name := range []string{"", "Plan", "plans"} {
		_, found := documents.Parse(name, "f", nil)
		if found == nil || found.List[0].Code != "E460" {
			t.Errorf("Parse(%q) = %v, want E460", name, found)
		}
	}
}

// TestShippedProfilesAreFiles: what a project's file can say, the shipped formats say in files,
// too.
func TestShippedProfilesAreFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plan", "report", "summary", "review"} {
		if _, err := os.Stat("profiles/" + name + ".yaml"); err != nil {
			t.Error(err)
		}
		if !slices.Contains(documents.Profiles(), name) {
			t.Errorf("%s is no profile", name)
		}
	}
}
