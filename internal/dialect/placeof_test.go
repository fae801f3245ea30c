package dialect_test

import (
	"strings"
	"testing"

	"tercet/internal/dialect"
)

// TestPlacesStartWithADot holds what PlaceOf takes for granted.
func TestPlacesStartWithADot(t *testing.T) {
	t.Parallel()
	homes := dialect.Homes{Config: "/.config", Codex: "/.codex"}
	places := append(dialect.Commands(homes), dialect.AgentPlaces(homes)...)
	if len(places) == 0 {
		t.Fatal("there are no places")
	}
	for _, p := range places {
		if !strings.Contains("/"+strings.Trim(p.Dir, "/"), "/.") {
			t.Errorf("the folder %s has no part that starts with a dot", p.Dir)
		}
	}
}
