package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tercet/formats"
)

// Evidence is what an answer to an open gate is about, as it is now.
type Evidence struct {
	Run  RunInfo
	Gate formats.Gate
	// Changed are files that are not what they were when the run asked. The run refuses an answer
	// then, and asks again.
	Changed   []string
	Documents []Document // that the gate names
	Diff      string     // of the work; empty: none
	// Digest is of all that is shown; an answer gives the digest that its user saw.
	Digest string
}

// Document is a text file of the project.
type Document struct {
	Path string
	Text string
	Err  error // why it cannot be shown
}

// maxDocument bounds a document that is shown, in bytes.
const maxDocument = 1 << 20

// Evidence reads what the open gate of a run is about.
func (p *Project) Evidence(ctx context.Context, run string) (Evidence, error) {
	r, gate, err := p.Control.Gate(run)
	if err != nil {
		return Evidence{}, err
	}

	e := Evidence{Run: r, Gate: gate}
	for _, name := range slices.Sorted(maps.Keys(gate.Evidence)) {
		if p.sumsOf(ctx, gate, name) != gate.Evidence[name] {
			e.Changed = append(e.Changed, name)
		}
	}
	for _, name := range gate.Documents {
		e.Documents = append(e.Documents, p.Document(ctx, name))
	}

	if diff := p.AboutGate(gate, "").Diff; diff != nil {
		e.Diff, err = diff(ctx)
		if err != nil {
			return e, err
		}
		e.Diff = p.Mask.Values(e.Diff)
	}

	e.Digest = e.digest()
	return e, nil
}

// sumsOf gives the hashes of a file as the run notes them in Gate.Evidence: of the file in the
// checkout, and of that in the run's worktree if it looks there too.
func (p *Project) sumsOf(ctx context.Context, g formats.Gate, name string) string {
	sum := p.sumOf(ctx, name)
	if strings.Contains(g.Evidence[name], " ") {
		sum += " " + p.sumOf(ctx, path.Join(g.Place, name))
	}
	return sum
}

// sumOf is the hash of a file, or why it has none.
func (p *Project) sumOf(ctx context.Context, name string) string {
	sum, err := p.Docs.Sum(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case err != nil:
		return string(formats.CodeOf(err))
	}
	return sum
}

// digest is the digest of all that is shown.
func (e *Evidence) digest() string {
	h := sha256.New()
	add := func(text string) {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}

	add(e.Gate.ID)
	add(e.Diff)
	for _, name := range e.Changed {
		add(name)
	}
	for _, d := range e.Documents {
		add(d.Path)
		add(d.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Document reads a text file of the project, such as an artifact of a task.
func (p *Project) Document(ctx context.Context, name string) Document {
	d := Document{Path: name}
	data, err := p.Docs.Open(ctx, name)
	switch {
	case err != nil:
		d.Err = err
		return d
	case len(data) > maxDocument:
		d.Err = formats.Fail(formats.CodeIO, "open the file itself",
			"%s has %d bytes, which is too long to be shown", name, len(data))
		return d
	}
	d.Text = p.Mask.Values(string(data))
	return d
}

// AnswerShown is Answer for a frontend that showed evidence at another time: if anything of it is
// different now, nothing is answered, and the error is a *StaleEvidenceError.
func (p *Project) AnswerShown(
	ctx context.Context, run, gate, digest string, reply Reply,
) (AnswerEffect, error) {
	now, err := p.Evidence(ctx, run)
	if err != nil {
		return AnswerEffect{}, err
	}

	if now.Gate.ID != gate || now.Digest != digest {
		return AnswerEffect{}, &StaleEvidenceError{
			formats.Fail(
				formats.CodePrecondition,
				"look at what is shown now, and answer again",
				"nothing was answered: what the question is about has changed",
			),
			now,
		}
	}

	if now.Gate.Lacks(reply.Label, reply.Note) {
		return AnswerEffect{}, formats.Fail(formats.CodeUsage, "write what to do into the note",
			"the choice '%s' needs a note", reply.Label)
	}
	if _, ok := now.Gate.Choice(reply.Label); !ok {
		return AnswerEffect{}, formats.Fail(formats.CodeUsage, "",
			"expected one choice of the gate, got %q", reply.Label)
	}
	return p.Answer(ctx, run, gate, reply)
}
