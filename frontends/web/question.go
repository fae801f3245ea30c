package web

import (
	"errors"
	"strconv"
	"strings"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/phrase"
	"tercet/internal/style"
	"tercet/project"
)

// question shows what a run asks, and what the answer is about, as it is now.
func (s *Server) question(v *view) error {
	id := v.r.PathValue("run")
	r, err := v.site.findRun(id)
	if err != nil {
		return err
	}
	if r.Gate == nil || r.Answer != "" {
		return v.showSettled(r)
	}

	e, err := v.site.current().Evidence(v.r.Context(), id)
	if err != nil {
		return err
	}
	return v.showQuestion(e, nil, "", "")
}

// showSettled is the page of a question that has an answer, or of a run that asks nothing.
func (v *view) showSettled(r project.RunState) error {
	words := "The run asks nothing now."
	if r.Answer != "" {
		words = "The question is answered."
	}
	return v.show(page{
		title: words,
		nav:   "home",
		about: "run:" + r.Run.ID,
		parts: []part{{"question", h.Section(h.Class("lead"),
			h.P(v.site.runState(r).badge()),
			h.H1(h.Text(words)),
			v.waits(r),
			v.actions(r),
			h.P(h.A(h.Href(v.site.path("runs", r.Run.ID)), h.Text("To the run"))),
		)}},
	})
}

// showQuestion shows a question. The error is about an answer that was not taken; its choice and
// note are kept.
func (v *view) showQuestion(e project.Evidence, failed error, chosen, note string) error {
	id := e.Run.ID
	language := v.site.current().Config.Language

	var notices []h.Node
	if failed != nil {
		notices = append(notices, v.failure(failed))
		v.code = statusOf(failed)
	}
	if len(e.Changed) > 0 {
		notices = append(notices, v.changedSince(e.Changed))
	}

	gate := e.Gate
	lead := h.Div(h.Class("lead"),
		h.P(state{"asks", "?", style.Asks}.badge(), h.Text(" "),
			h.A(h.Class("mono"), h.Href(v.site.path("runs", id)), line(e.Run.Line))),
		h.If(gate.Flow, aside(h.Text(phrase.In(language, "Confirmation needed")))),
		h.H1(h.Class("question"), line(gate.Question)),
		h.Group(notices),
		v.votes(gate),
		v.timeout(gate, language),
	)

	return v.show(page{
		title: gate.Question,
		nav:   "home",
		about: "run:" + id,
		parts: []part{{"question", h.Group{
			lead,
			v.evidence(e),
			v.choices(e, language, chosen, note),
		}}},
	})
}

// changedSince says which files are others than when the run asked.
func (v *view) changedSince(names []string) h.Node {
	items := make([]h.Node, len(names))
	for i, name := range names {
		items[i] = h.Li(h.Class("mono"), line(name))
	}
	return alarm(
		h.Role("alert"),
		h.P(h.Text("What the question is about has changed since the run asked. Below is how it "+
			"is now. The run takes no answer to what was there before: it asks again.")),
		h.Ul(h.Group(items)),
	)
}

// votes are the answers so far, if the gate needs several.
func (v *view) votes(gate formats.Gate) h.Node {
	if gate.Quorum <= 1 {
		return h.Text("")
	}
	items := make([]h.Node, len(gate.Votes))
	for i, d := range gate.Votes {
		items[i] = h.Li(h.Text("answered by "), line(d.By+": "+d.Answer))
	}

	people := formats.Count(gate.Quorum, "person")
	return h.Div(
		h.P(h.Text("It needs the same answer of "+people+".")),
		h.Ul(h.Group(items)),
	)
}

// timeout says what is taken without an answer.
func (v *view) timeout(gate formats.Gate, language string) h.Node {
	until := gate.Until()
	if until.IsZero() {
		return h.Text("")
	}
	left := style.Age(max(0, until.Sub(v.server.config.Now())))
	return aside(line("takes '" + phrase.In(language, gate.Timeout.Choose) + "' in " + left))
}

// evidence is what the answer is bound to.
func (v *view) evidence(e project.Evidence) h.Node {
	var list []h.Node
	patch := e.Diff
	for _, s := range e.Gate.ShownTexts() {
		if strings.TrimSpace(s) == "" || style.IsPatch(s) && strings.TrimSpace(patch) != "" {
			continue // the diff of the work stands below, as it is now
		}
		list = append(list, passage(s))
	}

	for i, d := range e.Documents {
		body := h.Pre(h.Class("passage"), text(d.Text))
		if d.Err != nil {
			body = v.failure(d.Err)
		}
		list = append(list, h.Details(
			h.ID("document-"+strconv.Itoa(i)),
			h.Class("document"),
			h.If(len(e.Documents) == 1, h.Attr("open")),
			h.Summary(h.Class("mono"), line(d.Path)),
			body,
		))
	}

	if strings.TrimSpace(patch) != "" {
		list = append(list, h.Details(
			h.ID("diff"),
			h.Attr("open"),
			h.Summary(h.Text("What the work has changed")),
			diff(patch),
		))
	}

	if len(list) == 0 {
		return h.Text("")
	}
	return h.Section(h.Class("evidence"), h.H2(h.Text("What it is about")), h.Group(list))
}

// choices is the form of the answer.
func (v *view) choices(e project.Evidence, language, chosen, note string) h.Node {
	gate := e.Gate
	only := v.site.current().Control.LocalOnly(gate)
	if only != "" {
		return notice(h.P(words("It is answered only at the run's own terminal: " + only)))
	}

	buttons := make([]h.Node, len(gate.Choices))
	for i, c := range gate.Choices {
		buttons[i] = choiceButton(i, c, language, c.Label == chosen)
	}

	return v.form(v.site.path("runs", e.Run.ID, "answer"),
		h.Class("answer"),
		h.Input(h.Type("hidden"), h.Name("gate"), h.Value(gate.ID)),
		h.Input(h.Type("hidden"), h.Name("digest"), h.Value(e.Digest)),
		h.Label(h.For("note"), h.Text("Note")),
		h.Textarea(h.ID("note"), h.Name("note"), h.Rows("3"), text(note)),
		h.Div(h.Class("actions"), h.Group(buttons)),
	)
}

// choiceButton answers with a choice, by its place among the choices.
func choiceButton(at int, c formats.Choice, language string, chosen bool) h.Node {
	class := ""
	if c.Approves {
		class = "primary"
	}
	if chosen {
		class += " chosen"
	}
	recommended := " " + phrase.In(language, "(recommended)")
	return h.Button(
		h.Class(strings.TrimSpace(class)),
		h.Name("choice"),
		h.Value(strconv.Itoa(at)),
		line(phrase.In(language, c.Label)),
		h.If(c.Recommended, h.Small(h.Text(recommended))),
		h.If(c.NeedsNote, h.Small(h.Text(" (needs a note)"))),
	)
}

// answer answers a question if what was shown is still so.
func (s *Server) answer(v *view) error {
	id := v.r.PathValue("run")
	form := v.r.PostForm
	note := strings.ReplaceAll(form.Get("note"), "\r\n", "\n")

	e, err := v.site.current().Evidence(v.r.Context(), id)
	if err != nil {
		return err
	}

	at, err := strconv.Atoi(form.Get("choice"))
	label := ""
	if err == nil && at >= 0 && at < len(e.Gate.Choices) {
		label = e.Gate.Choices[at].Label
	}

	_, err = v.site.current().AnswerShown(
		v.r.Context(), id, form.Get("gate"), form.Get("digest"),
		project.Reply{Label: label, Note: note},
	)
	stale, changed := errors.AsType[*project.StaleEvidenceError](err)
	switch {
	case changed:
		return v.showQuestion(stale.Now, err, label, note)
	case err != nil:
		return v.reshowQuestion(id, err, label, note)
	}

	s.hub.poke()
	return v.redirect(v.site.path("runs", id))
}

// reshowQuestion shows the question again, if it still is one, with the reason why no answer was
// taken.
func (v *view) reshowQuestion(id string, err error, label, note string) error {
	e, gone := v.site.current().Evidence(v.r.Context(), id)
	if gone != nil {
		return err
	}
	return v.showQuestion(e, err, label, note)
}
