package main

import (
	"errors"

	"tercet/formats"
	"tercet/router"
)

// routeLine prints the routing decision and runs nothing.
func routeLine(c call) error {
	w, err := c.lookAround()
	if err = errors.Join(err, w.close()); err != nil {
		return err
	}
	r, err := w.table.Route(router.Line{Raw: rest(c.args)})
	if err != nil {
		return c.notRouted("tercet.route/1", err)
	}
	if c.document("tercet.route/1", fields{
		"command": r.Name, "file": r.Source + "/" + r.File, "rest": r.Raw, "depth": formats.CommandDepth().Int(),
		"dialect": dialectOf(r.Dialect), "shadows": nonNil(r.Shadows),
	}) {
		return nil
	}
	c.term.answer("/%s -> %s/%s", r.Name, r.Source, r.File)
	for _, s := range r.Shadows {
		c.term.note("shadows %s", s)
	}
	return nil
}

// notRouted tells that a line leads nowhere, as JSON if that was asked for: with the names that were probably meant, or
// with those that a last part stands for.
func (c call) notRouted(schema string, err error) error {
	out := fields{"error": err.Error()}
	if unknown, ok := errors.AsType[*router.UnknownCommandError](err); ok {
		out["did_you_mean"] = nonNil(unknown.DidYouMean)
	} else if several, ok := errors.AsType[*router.AmbiguousCommandError](err); ok {
		out["candidates"] = several.Candidates
	} else {
		return err
	}
	if c.document(schema, out) {
		return shownAs(formats.CodeUsage)
	}
	return err
}
