package web

import (
	"strings"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/project"
)

// messages lists what the user told the run, and who got it.
func (v *view) messages(list []project.RunMessage, err error) h.Node {
	if err != nil {
		return v.failure(err)
	}
	if len(list) == 0 {
		return h.Text("")
	}
	items := make([]h.Node, len(list))
	for i, m := range list {
		items[i] = v.message(m)
	}

	return h.Section(
		h.Class("told"),
		h.H2(h.Class("small"), h.Text("Told to the run")),
		h.Ul(h.Group(items)),
	)
}

// maxMessage is how much of a message is shown, in bytes: each change of the run sends it again.
const maxMessage = 2 << 10

// message is one message to the run.
func (v *view) message(m project.RunMessage) h.Node {
	look := state{"good", "✓", "told to " + m.Step}
	if m.Step == "" {
		look = state{"waits", "○", "waits for the next worker"}
	}
	by := "by " + m.By
	if m.Channel != "" {
		by += " through " + m.Channel
	}

	shown := text(formats.Clip(m.Text, maxMessage))
	return h.Li(
		look.badge(),
		h.Text(" "),
		muted(line(by+", "), v.ago(m.At)),
		h.Pre(h.Class("passage"), shown),
	)
}

// tellForm is the form for a message to the next worker, where one may start.
func (v *view) tellForm(r project.RunState, written string) h.Node {
	if r.State == project.StateFinished || r.ReadError != "" {
		return h.Text("")
	}
	hint := "The next worker that starts gets it, ahead of its instruction. Workers that are at " +
		"work do not see it."
	if !r.Live {
		hint = "Its next worker gets it when the run goes on, ahead of its instruction."
	}

	form := v.form(
		v.site.path("runs", r.Run.ID, "tell"),
		h.Class("answer"),
		h.Label(h.For("message"), h.Text("Message")),
		h.Textarea(h.ID("message"), h.Name("message"), h.Rows("3"), text(written)),
		aside(h.Text(hint)),
		h.Div(h.Class("actions"), h.Button(h.Text("Tell"))),
	)
	return h.Details(
		h.ID("tell-run"),
		h.Class("tell"),
		h.If(written != "", h.Attr("open")),
		h.Summary(h.Text("Tell the run's agents")),
		form,
	)
}

// tell leaves a message for the next worker of a run.
func (s *Server) tell(v *view) error {
	id := v.r.PathValue("run")
	message := strings.ReplaceAll(v.r.PostForm.Get("message"), "\r\n", "\n")
	if _, _, err := v.site.current().Tell(id, message, ""); err != nil {
		return v.tellFailed(id, message, err)
	}
	s.hub.poke()
	return v.redirect(v.site.path("runs", id) + "#messages")
}

// tellFailed says why a message was not left. What was written is not lost.
func (v *view) tellFailed(id, message string, failed error) error {
	r, err := v.site.findRun(id)
	if err != nil {
		return failed
	}
	v.code = statusOf(failed)
	return v.show(page{
		title: "Nothing was told",
		nav:   "home",
		parts: []part{{"tell", h.Section(h.Class("lead"),
			h.P(v.site.runState(r).badge()),
			h.H1(h.Class("command"), line(r.Run.Line)),
			v.failure(failed),
			v.tellForm(r, message),
			h.P(h.A(h.Href(v.site.path("runs", id)), h.Text("To the run"))),
		)}},
	})
}
