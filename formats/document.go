package formats

// Heading is a heading of a document outside its code fences.
type Heading struct {
	Level int
	Text  string
	Line  int
}

// Document is a document as its profile reads it.
type Document struct {
	Path     string
	Profile  string
	Title    string
	Fields   map[string]string
	Sections map[string]string
	Phases   []Phase
	Headings []Heading
}

// Any is what jq sees of a loaded document: {path, profile, title, fields, sections, phases}.
func (d *Document) Any() map[string]any { return nil }

// ParseDocument reads a document by its profile. The document is never nil and holds what could be read.
func ParseDocument(profile, file string, src []byte) (*Document, *Diagnostics) {
	return &Document{Path: file, Profile: profile}, nil
}

// GuessArtifactType tells the type of an artifact from its path.
func GuessArtifactType(path string) ArtifactType { return ArtifactImplementation }
