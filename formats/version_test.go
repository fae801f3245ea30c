package formats_test

import (
	"testing"

	"tercet/formats"
)

func TestNewer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		got, known string
		newer      bool
	}{
		{"2", "1", true},
		{"1", "1", false},
		{"", "1", false},
		{"0", "1", false},
		{"10", "9", true},
		{"tercet.packs/2", "tercet.packs/1", true},
		{"tercet.packs/1", "tercet.packs/1", false},
		{"2.1", "1", false}, // the number at its end
		{"99999999999999999999", "1", false},
		{"x", "1", false},
	} {
		f := formats.Newer(formats.CodeInvalidState, "a.json", tt.got, tt.known)
		if (f != nil) != tt.newer {
			t.Errorf("Newer(%q, %q) = %v, want %t", tt.got, tt.known, f, tt.newer)
		}
	}

	f := formats.Newer(formats.CodeConfig, "a.json", "7", "2")
	if f.Code != formats.CodeConfig || f.Help == "" ||
		f.Error() !=
			"a.json has version 7, and this tercet knows up to version 2: a newer tercet wrote it" {
		t.Errorf("Newer = %v", f)
	}
}
