package project

import (
	"context"

	"tercet/formats"
)

// Tasks lists the tasks of the project, by number.
func (p *Project) Tasks(ctx context.Context) ([]formats.Task, error) {
	return p.Reader.Tasks(ctx)
}
