package formats

import (
	"path"
	"slices"
	"strings"
)

// ArtifactTypes lists every artifact type.
func ArtifactTypes() []ArtifactType {
	return []ArtifactType{
		ArtifactReport, ArtifactPlan, ArtifactImplementation, ArtifactSummary, ArtifactReview,
		ArtifactDocumentation,
	}
}

type typeGuess struct {
	word string
	kind ArtifactType
}

// The folders in which the engine places documents, and the words in documents' names elsewhere.
var (
	byFolder = []typeGuess{
		{"reports", ArtifactReport},
		{"plans", ArtifactPlan},
		{"summaries", ArtifactSummary},
		{"reviews", ArtifactReview},
	}
	byWord = []typeGuess{
		{"summary", ArtifactSummary},
		{"review", ArtifactReview},
		{"audit", ArtifactReview},
		{"plan", ArtifactPlan},
		{"research", ArtifactReport},
		{"report", ArtifactReport},
		{"findings", ArtifactReport},
	}
)

// GuessArtifactType derives an artifact's type from its path: the engine's folder, else the name of
// a text file, else implementation.
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

	number, ok := strings.CutPrefix(base, "implementation-")
	if ok && strings.Trim(number, "0123456789") == "" {
		return ArtifactPlan
	}
	return ArtifactDocumentation
}
