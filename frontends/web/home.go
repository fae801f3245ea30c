package web

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/order"
	"tercet/project"
)

// row is a run in a list over all projects.
type row struct {
	site *site
	project.RunState
}

// home shows what needs a person, what is at work, and what ended, of every project.
func (s *Server) home(v *view) error {
	var rows []row
	var gone []h.Node
	spent := 0.0
	for _, one := range s.sites {
		list, err := one.list()
		if err != nil {
			gone = append(gone, h.Div(h.H3(line(one.name)), v.failure(err)))
			continue
		}
		for _, r := range list {
			rows = append(rows, row{one, r})
		}
		spent += one.spentToday()
	}

	order.Stable(rows, func(a, b row) int {
		return cmp.Or(int(a.State-b.State), b.Run.Started.Compare(a.Run.Started))
	})

	var asking, atWork, waiting, ended []row
	for _, r := range rows {
		switch r.State { //nolint:exhaustive // the others have ended
		case project.StateAsking:
			asking = append(asking, r)
		case project.StateRunning:
			atWork = append(atWork, r)
		case project.StateWaiting:
			waiting = append(waiting, r)
		default:
			ended = append(ended, r)
		}
	}
	ended = ended[:min(len(ended), maxFinished)]

	parts := []part{{"summary", v.summary(len(asking), len(atWork), spent)}}
	if len(gone) > 0 {
		parts = append(parts, part{"gone", h.Section(h.Class("sheet"), h.Group(gone))})
	}
	parts = append(parts,
		part{"asking", v.runSection("Waits for you", asking, v.askingRow)},
		part{"at-work", v.runSection("At work", atWork, v.runRow)},
		part{"waiting", v.runSection("Suspended", waiting, v.runRow)},
		part{"ended", v.runSection("Recent", ended, v.runRow)},
	)
	if len(rows) == 0 && len(gone) == 0 {
		parts = append(parts, part{"empty", v.noRuns()})
	}
	parts = append(parts, part{"notes", v.notes()})
	return v.show(page{title: "Home", nav: "home", about: "runs", parts: parts})
}

// summary is one line about all of it.
func (v *view) summary(asking, atWork int, spent float64) h.Node {
	words := fmt.Sprintf("%s wait for you, %d at work", formats.Count(asking, "question"), atWork)
	switch {
	case asking == 1:
		words = fmt.Sprintf("1 question waits for you, %d at work", atWork)
	case asking == 0 && atWork == 0:
		words = "Nothing waits for you, and nothing is at work"
	case asking == 0:
		words = fmt.Sprintf("Nothing waits for you, %d at work", atWork)
	}

	total := cmp.Or(dollars(spent), "$0.00")
	return h.Div(
		h.Class("lead"),
		h.H1(h.Text(words)),
		aside(h.Text("Spent today: "), h.Span(h.Class("number"), h.Text(total))),
	)
}

// runSection is a titled list of runs; nothing for none.
func (v *view) runSection(title string, rows []row, show func(row) h.Node) h.Node {
	if len(rows) == 0 {
		return h.Text("")
	}
	items := make([]h.Node, len(rows))
	for i, r := range rows {
		items[i] = show(r)
	}
	return h.Section(h.H2(h.Text(title)), h.Ul(h.Class("rows"), h.Group(items)))
}

// runRow is a run in a list.
func (v *view) runRow(r row) h.Node {
	state := r.site.runState(r.RunState)
	why := ""
	switch {
	case r.ReadError != "":
		why = r.ReadError
	case r.Answer != "":
		why = "answered by " + r.Answer
	case r.State == project.StateWaiting:
		why = r.Run.WaitReason()
	case r.State == project.StateFinished && !formats.Outcome(r.Run.Status).Passes():
		why = v.whyFailed(r)
	}

	at := ""
	if r.State == project.StateRunning || r.State == project.StateWaiting {
		at = r.Run.Place.String() //nolint:staticcheck // the place, not the run
	}
	cost := dollars(r.Run.Cost)

	return h.Li(h.Class("row"),
		h.A(
			h.Class("row-link"),
			h.Data("go", ""),
			h.Href(r.site.path("runs", r.Run.ID)),
			h.Span(
				h.Class("row-main"),
				h.Span(h.Class("command"), line(clip(r.Run.Line, maxTitle))),
				h.If(why != "", h.Span(h.Class("why"), line(clip(why, maxTitle)))),
				h.If(why == "" && at != "", h.Span(h.Class("why"), h.Text("step "), line(at))),
			),
			state.badge(),
			h.Span(
				h.Class("facts"),
				v.siteName(r.site),
				h.If(cost != "", h.Span(h.Text(cost))),
				v.ago(latest(r.Run)),
			),
		),
	)
}

// maxTitle bounds a text in a list, in characters.
const maxTitle = 200

// latest is when a run ended or began.
func latest(r project.RunInfo) time.Time {
	if r.Last.After(r.Started) {
		return r.Last
	}
	return r.Started
}

// siteName names the project of a row where there are several.
func (v *view) siteName(one *site) h.Node {
	if len(v.server.sites) == 1 {
		return h.Text("")
	}
	return h.Span(h.Class("where"), line(one.name))
}

// askingRow is an open question in a list.
func (v *view) askingRow(r row) h.Node {
	question := r.Run.Gate
	if r.Gate != nil {
		question = r.Gate.Question
	}
	return h.Li(h.Class("row asking"),
		h.A(
			h.Class("row-link"),
			h.Data("go", ""),
			h.Href(r.site.path("runs", r.Run.ID, "question")),
			h.Span(
				h.Class("row-main"),
				h.Span(h.Class("question"), line(clip(question, maxTitle))),
				h.Span(h.Class("why"), line(clip(r.Run.Line, maxTitle))),
			),
			r.site.runState(r.RunState).badge(),
			h.Span(h.Class("facts"), v.siteName(r.site), v.ago(latest(r.Run))),
		),
	)
}

// whyFailed is the reason of a run that did not pass: what its last failed step says.
func (v *view) whyFailed(r row) string {
	f, err := r.site.follow(r.Run.ID)
	if err != nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range slices.Backward(f.journal.Steps()) {
		if s.Outcome != "" && !formats.Outcome(s.Outcome).Passes() && s.Summary != "" {
			return s.Summary
		}
	}
	return ""
}

// noRuns is the page of a project without runs.
func (v *view) noRuns() h.Node {
	start := v.server.sites[0].path("start")
	return h.Section(
		h.Class("sheet empty"),
		h.H2(h.Text("No run yet")),
		h.P(
			h.Text("A slash command begins one: here, or in a terminal by "),
			h.Code(h.Text("tercet /plan 1")),
			h.Text("."),
		),
		h.P(h.A(h.Class("button primary"), h.Href(start), h.Text("Start a command"))),
	)
}

// notes are what the projects told last.
func (v *view) notes() h.Node {
	var items []h.Node
	const most = 5
	for _, one := range v.server.sites {
		one.notesMu.Lock()
		list := slices.Clone(one.notes[max(0, len(one.notes)-most):])
		one.notesMu.Unlock()
		for _, n := range slices.Backward(list) {
			items = append(items, h.Li(
				v.siteName(one),
				h.Text(" "),
				line(clip(n.text, maxText)),
				h.Text(" "),
				muted(v.ago(n.at)),
			))
		}
	}
	if len(items) == 0 {
		return h.Text("")
	}
	return h.Details(
		h.Class("notes"),
		h.Summary(h.Text("Notes of the server")),
		h.Ul(h.Group(items)),
	)
}

// maxText bounds a text that is not in a list, in characters.
const maxText = 2000
