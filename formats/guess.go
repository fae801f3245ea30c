package formats

import (
	"path"
	"slices"
	"strings"
)

type guess struct {
	word string
	kind ArtifactType
}

// The folders in which the engine places documents, and the words in the names of documents elsewhere.
var (
	byFolder = []guess{
		{"reports", ArtifactReport}, {"plans", ArtifactPlan}, {"summaries", ArtifactSummary}, {"reviews", ArtifactReview},
	}
	byWord = []guess{
		{"summary", ArtifactSummary},
		{"review", ArtifactReview},
		{"audit", ArtifactReview},
		{"plan", ArtifactPlan},
		{"research", ArtifactReport},
		{"report", ArtifactReport},
		{"findings", ArtifactReport},
	}
)

// GuessArtifactType tells the type of an artifact from its path: the folder that the engine would place it in, else the
// name of a text file, else implementation.
func GuessArtifactType(name string) ArtifactType {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	if !slices.Contains([]string{".md", ".markdown", ".txt", ".rst", ".adoc"}, path.Ext(name)) {
		return ArtifactImplementation
	}
	folders := strings.Split(path.Dir(name), "/")
	for _, f := range byFolder {
		if slices.Contains(folders, f.word) {
			return f.kind
		}
	}
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
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
