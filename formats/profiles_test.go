package formats_test

import (
	"testing"

	"tercet/formats"
)

func TestIsProfile(t *testing.T) {
	t.Parallel()
	for _, name := range formats.Profiles() {
		if !formats.IsProfile(name) {
			t.Errorf("IsProfile(%q) = false for one of Profiles", name)
		}
	}
	const count = 16 // of the names in IsProfile
	if n := len(formats.Profiles()); n != count {
		t.Errorf("there are %d profiles, IsProfile names %d", n, count)
	}
	for _, name := range []string{"", "Plan", "plans", "pla", "errors.json"} {
		if formats.IsProfile(name) {
			t.Errorf("IsProfile(%q) = true", name)
		}
	}
}
