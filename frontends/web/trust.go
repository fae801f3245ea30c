package web

import (
	"fmt"
	"strings"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/project"
)

// trust shows the files of a project that can start programs, and asks for the user's agreement.
func (s *Server) trust(v *view) error {
	review, err := v.site.current().ReviewTrust(v.r.Context())
	if err != nil {
		return err
	}
	return v.showTrust(review, v.r.URL.Query().Get("back"), nil)
}

// byEnvironment is why nobody is asked about a project that a variable trusts.
const byEnvironment = "it is trusted by the environment, " +
	"where TERCET_TRUST=1 was set for this server."

func (v *view) showTrust(r project.TrustReview, back string, failed error) error {
	lead := "You have agreed to every file here that can start a program."
	them := "them"
	switch {
	case r.By == project.TrustedByEnvironment:
		lead = "Nobody is asked: " + byEnvironment
	case r.By != "" && r.By != project.TrustedByRecord:
		lead = "This project is trusted by " + r.By + "."
	case r.By == "" && r.Pending == 0:
		lead = "git and this project's own checks would run here, and you have not agreed to " +
			"that yet."
		them = "it"
	case r.By == "":
		files := formats.Count(len(r.Files), "file")
		if r.Pending < len(r.Files) {
			files = fmt.Sprintf("%d of %s", r.Pending, files)
		}
		lead = "You have not agreed to " + files + " that can start programs:"
		if r.Pending == 1 {
			them = "it"
		}
	}

	failure := h.Text("")
	if failed != nil {
		v.code = statusOf(failed)
		failure = v.failure(failed)
	}

	items := make([]h.Node, len(r.Files))
	for i, f := range r.Files {
		items[i] = v.reviewedFile(f)
	}

	ask := h.Text("")
	if r.By == "" {
		buttons := h.Div(
			h.Class("actions"),
			h.Button(h.Class("primary"), h.Text("Trust "+them)),
			h.A(h.Class("button"), h.Href("/"), h.Text("Not now")),
		)
		ask = v.form(
			v.site.path("trust"),
			h.Class("answer"),
			h.Input(h.Type("hidden"), h.Name("digest"), h.Value(r.Digest)),
			h.Input(h.Type("hidden"), h.Name("back"), h.Value(back)),
			h.P(h.Class("mono aside"), line("sha256:"+r.Digest)),
			buttons,
		)
	}

	head := h.Div(
		h.Class("lead"),
		h.H1(h.Text("Trust")),
		h.P(line(lead)),
		h.P(h.Class("mono aside"), line(r.Dir)),
	)
	return v.show(page{
		title: "Trust",
		nav:   "files",
		parts: []part{{"trust", h.Group{
			head,
			failure,
			ask,
			h.Ul(h.Class("reviewed"), h.Group(items)),
		}}},
	})
}

// reviewedFile shows a file that can start programs.
func (v *view) reviewedFile(f project.ReviewedFile) h.Node {
	look := state{"good", "✓", f.Kind}
	if f.Kind != "trusted" {
		look = state{"asks", "?", f.Kind}
	}

	changes := text(strings.Join(f.Changes, "\n"))
	return h.Li(
		look.badge(),
		h.Text(" "),
		h.Span(h.Class("mono"), line(f.Path)),
		h.If(f.LeadsTo != "", aside(line(f.LeadsTo))),
		h.P(h.Class("mono aside digest"), line(f.SHA256)),
		h.If(len(f.Changes) > 0, h.Pre(h.Class("code"), h.TabIndex("0"), changes)),
	)
}

// agree takes the user's agreement to exactly the files that were shown.
func (s *Server) agree(v *view) error {
	p := v.site.current()
	back := v.r.PostFormValue("back")
	err := p.AgreeTrust(v.r.Context(), v.r.PostFormValue("digest"))
	if formats.CodeOf(err) == formats.CodePrecondition {
		review, failed := p.ReviewTrust(v.r.Context())
		if failed != nil {
			return failed
		}
		return v.showTrust(review, back, err)
	}

	if err == nil {
		err = v.site.reopen(s.runs)
	}
	if err != nil {
		return err
	}

	ofProject := strings.HasPrefix(back, v.site.path("start")) ||
		strings.HasPrefix(back, v.site.path("runs"))
	if !ofProject {
		back = "/"
	}
	return v.redirect(back)
}
