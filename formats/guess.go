package formats

import (
	"path"
	"slices"
	"strings"
)

// GuessArtifactType tells the type of an artifact from its path: the folder that the engine would place it in, else the
// name of a text file, else implementation.
func GuessArtifactType(name string) ArtifactType {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	folders := strings.Split(path.Dir(name), "/")
	byFolder := []struct {
		folder string
		kind   ArtifactType
	}{
		{"reports", ArtifactReport},
		{"plans", ArtifactPlan},
		{"summaries", ArtifactSummary},
		{"reviews", ArtifactReview},
	}
	text := slices.Contains([]string{".md", ".markdown", ".txt", ".rst", ".adoc"}, path.Ext(name))
	if !text {
		return ArtifactImplementation
	}
	for _, f := range byFolder {
		if slices.Contains(folders, f.folder) {
			return f.kind
		}
	}
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	byWord := []struct {
		word string
		kind ArtifactType
	}{
		{"summary", ArtifactSummary},
		{"review", ArtifactReview},
		{"audit", ArtifactReview},
		{"plan", ArtifactPlan},
		{"research", ArtifactReport},
		{"report", ArtifactReport},
		{"findings", ArtifactReport},
	}
	for _, w := range byWord {
		if strings.Contains(base, w.word) {
			return w.kind
		}
	}
	if number, ok := strings.CutPrefix(base, "implementation-"); ok && strings.Trim(number, "0123456789") == "" {
		return ArtifactPlan
	}
	return ArtifactDocumentation
}
