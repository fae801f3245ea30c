package state

import (
	"context"
	"slices"

	"tercet/formats"
	"tercet/state/exchange"
	"tercet/state/statefile"
)

// Export returns the state in a shape: tercet is the file itself, active_projects the shape of
// other systems. foreignArchive asks for the archive of an imported system.
func (r *Reader) Export(ctx context.Context, shape string, foreignArchive bool) ([]byte, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}

	switch {
	case shape == exchange.ShapeTercet && !foreignArchive:
		return slices.Clone(d.Src), nil
	case shape == exchange.ShapeProjects:
		archive, _, err := readArchive(r.cfg, statefile.ArchivePath)
		if err != nil {
			return nil, err
		}
		return exchange.Export(r.effectiveDocument(d), archive, foreignArchive)
	}

	if foreignArchive && shape == exchange.ShapeTercet {
		return nil, formats.Fail(formats.CodeUsage, "",
			"expected --shape %s with --archive", exchange.ShapeProjects)
	}
	return nil, formats.Fail(formats.CodeUsage, "",
		"expected shape %s or %s, got %q", exchange.ShapeTercet, exchange.ShapeProjects, shape)
}

// effectiveDocument returns a copy of a document whose tasks have their effective statuses.
func (r *Reader) effectiveDocument(d *statefile.Document) *statefile.Document {
	out := *d
	out.Tasks = slices.Clone(d.Tasks)
	now := r.cfg.now()
	for i := range out.Tasks {
		out.Tasks[i].Status, _ = r.cfg.effectiveStatus(&d.Tasks[i], now)
	}
	return &out
}

// ImportedFrom returns the files that were imported and their SHA-256 at that time, by their path
// from the project root.
func (r *Reader) ImportedFrom(ctx context.Context) (map[string]string, error) {
	d, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	return exchange.ImportedFrom(d), nil
}
