package commands

import (
	"strconv"

	"tercet/commands/argspec"
	"tercet/formats"
)

// Parts gives the tasks of a line that names several, each with its own line; for any other line
// the one part that it is. needs are the labels that a worker of a team has to have. A line whose
// arguments are wrong is refused. inv needs the name, the file and what was typed.
func (l *Library) Parts(inv formats.Invocation) (parts []Part, needs []string, err error) {
	c, flow, err := l.Prompt(inv.Source, inv.File)
	if err != nil {
		return nil, nil, err
	}
	if c != nil && !flow {
		return []Part{{Inv: inv}}, nil, nil
	}

	prog, _, err := l.Load(inv.Source, inv.File)
	if err != nil {
		return nil, nil, err
	}

	values, err := argspec.Bind(inv.Name, prog.Args, inv.Raw, inv.Words)
	if err != nil {
		return nil, nil, err
	}

	for _, label := range prog.File.Front.Needs {
		needs = append(needs, label.Text)
	}

	if list := values.Tasks(); len(list) > 1 {
		return partsOf(inv, values, list), needs, nil
	}
	n, _ := values.Task()
	return []Part{{Task: n, Inv: inv}}, needs, nil
}

// partsOf gives each task of a list its line.
func partsOf(inv formats.Invocation, values argspec.Values, list []int) []Part {
	var parts []Part
	for _, n := range list {
		p := Part{Task: n, Inv: inv}
		p.Inv.Raw, p.Inv.Words = values.Line(strconv.Itoa(n))
		parts = append(parts, p)
	}
	return parts
}
