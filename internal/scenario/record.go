package scenario

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/subagents"
	"tercet/subagents/cassette"
)

// recordCall calls a worker and keeps what it answers, with the files that it wrote.
func (c *Workers) recordCall(
	ctx context.Context,
	p *worker,
	r formats.Request,
) (ret formats.Return, used subagents.Measured, err error) {
	before, err := cassette.Snapshot(r.Dir)
	if err != nil {
		return ret, used, err
	}

	if m, ok := p.real.(subagents.Metered); ok {
		ret, used, err = m.RunMetered(ctx, r)
	} else {
		ret, err = p.real.Run(ctx, r)
	}

	var answer Return
	broken, unread := errors.AsType[*subagents.ReturnError](err)
	switch {
	case err != nil && !unread || ctx.Err() != nil:
		return ret, used, err
	case unread:
		answer.Text = string(broken.Raw)
	default:
		plain := ret
		plain.Metadata = formats.Metadata{}
		plain.Class = ""
		plain.Schema = ""
		text, err := jsonx.Marshal(plain, "")
		if err != nil {
			return ret, used, err
		}
		answer.Text = string(text)
	}

	documents, _, err := cassette.ChangedFiles(nil, r.Out)
	if err != nil {
		return ret, used, err
	}
	answer.Writes, answer.Removes, err = cassette.ChangedFiles(before, r.Dir)
	if err != nil {
		return ret, used, err
	}

	maps.Copy(answer.Writes, documents)
	c.mu.Lock()
	c.recorded[p.info.Name] = append(c.recorded[p.info.Name], answer)
	c.mu.Unlock()
	if unread {
		return ret, used, broken
	}
	return ret, used, nil
}

// RecordedFile is the test file with the workers' answers, and with the results as expectations if
// it has none. It omits unreadable returns: the next one is the result of the repair.
func (c *Workers) RecordedFile(o Outcome) ([]byte, error) {
	root, err := jsonx.Parse(c.test.Src, jsonx.Limits{Bytes: MaxFile})
	if err != nil {
		return nil, err
	}

	doc := &jsonx.Object{}
	for _, m := range root.Members {
		doc.Set(m.Key, m.Value)
	}

	returns := &jsonx.Object{}
	for _, name := range slices.Sorted(maps.Keys(c.recorded)) {
		var list []any
		for _, one := range c.recorded[name] {
			v, err := jsonx.Parse([]byte(one.Text), jsonx.Limits{})
			if err != nil || !v.Is(jsonx.Dict) {
				continue
			}
			ret := &jsonx.Object{}
			for _, m := range v.Members {
				if m.Key != "metadata" {
					ret.Set(m.Key, m.Value)
				}
			}

			if len(one.Writes) > 0 {
				ret.Set("writes", one.Writes)
			}
			if len(one.Removes) > 0 {
				ret.Set("removes", one.Removes)
			}
			list = append(list, ret)
		}
		returns.Set(name, list)
	}

	doc.Set("returns", returns)
	if !c.test.HasExpect {
		run := summarizeRun(o.Records)
		expect := new(jsonx.Object).
			Set("exit", o.Exit).
			Set("outcome", string(o.Return.Outcome())).
			Set("sequence", nonNil(run.sequence)).
			Set("rollbacks", run.rollbacks).
			Set("gates", nonNil(run.gates))
		doc.Set("expect", expect)
	}

	text, err := jsonx.Marshal(doc, "  ")
	return append(text, '\n'), err
}
