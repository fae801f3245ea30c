//go:build linux || darwin

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tercet/commands/syntax"
	"tercet/internal/question"
)

// TestEveryLabelHasItsJapanese: each label of a gate in the flows has one, no two of a gate the same, but for the names
// of tiers, which are not translated.
func TestEveryLabelHasItsJapanese(t *testing.T) {
	t.Parallel()
	tiers, seen := []string{"Minimal", "Light", "Standard", "Full"}, map[string]string{}
	files, err := filepath.Glob("../../templates/packs/flows/commands/*.md")
	if err != nil || len(files) < 6 {
		t.Fatalf("flows: %q, %v", files, err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, _ := syntax.Parse(name, src)
		syntax.Walk(file, func(node any) bool {
			if g, ok := node.(*syntax.Gate); ok {
				own := map[string]string{}
				for _, ch := range g.Choices {
					word := question.Shown(ch.Label.Text, question.Japanese)
					if other := own[word]; other != "" {
						t.Errorf("%s: %q and %q are both %q", name, other, ch.Label.Text, word)
					}
					own[word] = ch.Label.Text
					if word == ch.Label.Text && !slices.Contains(tiers, word) {
						t.Errorf("%s:%d: label %q has no Japanese", name, ch.Label.Pos.Line, word)
					}
				}
				maps.Copy(seen, own)
			}
			return true
		})
	}
	if len(seen) < 30 {
		t.Errorf("only %d labels were looked at: %q", len(seen), seen)
	}
}
