package offline

import (
	"context"
	"iter"
	"os"
	"slices"

	"tercet/formats/documents"
)

// Word is a search word with its kind in words.
type Word struct{ Text, Kind string }

// Words reads the search words of a task.
func Words(title, description string) []Word {
	var out []Word
	for _, w := range searchWords(title, description) {
		out = append(out, Word{w.Text, w.Kind.String()})
	}
	return out
}

// Reading is what a text holds that a plan can be made of.
type Reading struct {
	Names, Blocks, Items, Every, Last, Checks, Notes []string
}

// Read takes a text apart.
func Read(text string) Reading {
	r := parseText(text)
	out := Reading{
		Items: r.Items,
		Every: r.Every,
		Last:  r.Last,
		Notes: r.Notes,
	}
	for _, b := range r.Blocks {
		out.Names = append(out.Names, b.Name)
		out.Blocks = append(out.Blocks, b.Body)
	}
	for _, c := range r.Checks {
		box := "[ ] "
		if c.Done {
			box = "[x] "
		}
		out.Checks = append(out.Checks, box+c.Text)
	}
	return out
}

// Phases are the open phases of a description and texts of revisions.
func Phases(done []documents.Phase, texts ...string) []documents.Phase {
	var list []reading
	for _, t := range texts {
		list = append(list, parseText(t))
	}
	return makePhases(list, done)
}

// Hit is one line found.
type Hit struct {
	File string
	Line int
	Text string
}

// Search looks for the words of a task in files of a folder; files nil walks it.
func Search(
	ctx context.Context,
	dir string,
	files []string,
	title, description string,
) ([]Hit, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if files == nil {
		files, err = listFolder(ctx, root)
		if err != nil {
			return nil, err
		}
	}
	q := query{searchWords(title, description), title, description}
	f, err := search(ctx, root, files, q, nil)
	var out []Hit
	for _, h := range f.Hits {
		out = append(out, Hit{h.File, h.Line, h.Text})
	}
	return out, err
}

// KindOf gives the kind of a file by its path and text: 0 source, 1 test, 2 document, 3 log.
func KindOf(name, text string) int {
	return int(kindOf(name, text))
}

// Parts gives the words that a name is made of.
func Parts(name string) []string {
	return slices.Collect(iter.Seq[string](splitName(name)))
}

// Stem cuts the ending of a word.
func Stem(w string) string {
	return string(stem([]byte(w)))
}

// Walk lists the files of a folder that git does not know.
func Walk(ctx context.Context, root *os.Root) ([]string, error) {
	return listFolder(ctx, root)
}

// Revised is a description with a text appended.
func Revised(description, text string) string {
	return appendRevision(description, text)
}

// Revisions gives the texts that a plan's section Revision holds.
func Revisions(src []byte) []string {
	return revisions(src)
}
