package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/plain"
	"tercet/project"
)

// files lists the command and subagent files, and shows one of them with its findings.
func (s *Server) files(v *view) error {
	name := v.r.URL.Query().Get("name")
	var list []project.SourceFile
	var file *project.SourceText
	var review project.TrustReview
	err := v.site.current().WithFreshSession(v.r.Context(), func(one *project.Session) error {
		list = one.Sources()
		if name == "" {
			return nil
		}
		found, err := one.Source(name)
		file = &found
		return err
	})
	if err == nil && name == "" {
		review, err = v.site.current().ReviewTrust(v.r.Context())
	}
	if err != nil {
		return err
	}
	if file == nil {
		head := h.Div(
			h.Class("lead"),
			h.H1(h.Text("Files")),
			v.trustLine(review),
		)
		return v.show(page{
			title: "Files",
			nav:   "files",
			parts: []part{{"files", h.Group{
				head,
				v.fileList("Of the project", list, true),
				v.fileList("Of tercet and of other tools", list, false),
			}}},
		})
	}
	return v.showFile(file)
}

// showFile shows one file, with its findings and steps beside its text.
func (v *view) showFile(file *project.SourceText) error {
	head := h.Div(
		h.Class("lead"),
		h.H1(h.Class("command"), line(file.Name)),
		h.P(h.Class("mono aside"), line(file.Path)),
		h.P(h.A(h.Href(v.site.path("files")), h.Text("All files"))),
	)
	columns := h.Div(
		h.Class("columns reading"),
		h.Div(h.Class("part"), v.source(file)),
		h.Div(h.Class("part"), v.findingsAndSteps(file)),
	)
	return v.show(page{
		title: file.Path,
		nav:   "files",
		wide:  true,
		parts: []part{{"file-head", head}, {"", columns}},
	})
}

// trustLine says whether the user agreed to what can start programs.
func (v *view) trustLine(r project.TrustReview) h.Node {
	words := "This project is trusted by " + r.By + "."
	switch r.By {
	case "":
		words = "You have not agreed to what can start programs here."
	case project.TrustedByRecord:
		words = "You have agreed to what can start programs here."
	case project.TrustedByEnvironment:
		words = "Nobody is asked about what can start programs here: " + byEnvironment
	}

	link := h.A(h.Href(v.site.path("trust")), h.Text("Trust"))
	return aside(h.Text(words+" "), link)
}

// fileList is the files of the project, or the others.
func (v *view) fileList(title string, list []project.SourceFile, own bool) h.Node {
	var items []h.Node
	for _, f := range list {
		if f.Own != own {
			continue
		}
		kind := "command"
		if f.Subagent {
			kind = "subagent"
		}
		address := v.site.path("files") + "?" + url.Values{"name": {f.Path}}.Encode()
		items = append(items, h.Li(h.Class("row"), h.A(
			h.Class("row-link"),
			h.Data("go", ""),
			h.Href(address),
			h.Span(
				h.Class("row-main"),
				h.Span(h.Class("command"), line(f.Name)),
				h.Span(h.Class("why mono"), line(f.Path)),
			),
			h.Span(h.Class("facts"), h.Text(kind)),
		)))
	}
	if len(items) == 0 {
		return h.Text("")
	}
	return h.Section(h.H2(h.Text(title)), h.Ul(h.Class("rows"), h.Group(items)))
}

// source is the text of a file, with each finding below its line.
func (v *view) source(f *project.SourceText) h.Node {
	found := map[int][]formats.Diagnostic{}
	for _, d := range f.Findings {
		found[max(1, d.Pos.Line)] = append(found[max(1, d.Pos.Line)], d)
	}

	lines := strings.Split(strings.TrimSuffix(plain.Text(f.Text), "\n"), "\n")
	rows := make([]h.Node, 0, len(lines))
	for i, one := range lines {
		n := i + 1
		class := "src"
		if len(found[n]) > 0 {
			class = "src marked"
		}
		rows = append(rows, h.Li(
			h.ID("L"+strconv.Itoa(n)),
			h.Class(class),
			h.Code(h.Text(one)),
			h.Map(found[n], v.finding),
		))
		delete(found, n)
	}
	for _, rest := range found { // behind the end
		rows = append(rows, h.Li(h.Class("src marked"), h.Map(rest, v.finding)))
	}

	return h.Ol(
		h.Class("source"),
		h.TabIndex("0"),
		h.Aria("label", "Text of the file"),
		h.Group(rows),
	)
}

// finding is what was found in a file.
func (v *view) finding(d formats.Diagnostic) h.Node {
	look := state{"bad", "✗", "error"}
	if d.Severity == formats.SeverityWarning {
		look = state{"waits", "◐", "warning"}
	}
	return h.Div(
		h.Class("finding"),
		look.badge(),
		h.Text(" "),
		h.Code(line(d.Code)),
		h.Text(" "),
		words(d.Message),
		h.If(d.Help != "", aside(words(d.Help))),
	)
}

// findingsAndSteps stands beside the text of a file: how many findings it has, and its steps.
func (v *view) findingsAndSteps(f *project.SourceText) h.Node {
	var list []h.Node
	switch {
	case !f.Own:
	case len(f.Findings) == 0:
		list = append(list, h.P(state{"good", "✓", "lint finds nothing"}.badge()))
	default:
		count := formats.Count(len(f.Findings), "finding")
		list = append(list, h.P(state{"waits", "◐", count}.badge()))
		for _, d := range f.Findings {
			at := fmt.Sprintf("#L%d", max(1, d.Pos.Line))
			list = append(list, h.P(h.A(
				h.Href(at),
				h.Code(line(d.Code)),
				h.Text(" line "+strconv.Itoa(d.Pos.Line)),
			)))
		}
	}

	if f.Outline != nil {
		lineLink := func(n int) string { return "#L" + strconv.Itoa(n) }
		start := v.site.path("start", strings.TrimPrefix(f.Name, "/"))
		list = append(list,
			h.H2(h.Text("Steps")),
			v.stepList(f.Outline, lineLink),
			h.P(h.A(h.Class("button"), h.Href(start), h.Text("Start it"))),
		)
	}
	return h.Group(list)
}

// document shows a document that a run or a task made.
func (s *Server) document(v *view) error {
	query := v.r.URL.Query()
	name := query.Get("path")
	known, back, err := v.documents(query)
	if err != nil {
		return err
	}
	if !known[name] {
		return formats.Fail(formats.CodeNotFound, "", "there is no such document")
	}
	d := v.site.current().Document(v.r.Context(), name)
	if d.Err != nil {
		return d.Err
	}

	lead := h.Div(
		h.Class("lead"),
		h.H1(h.Class("command"), line(name)),
		h.P(h.A(h.Href(back), h.Text("Back"))),
	)
	return v.show(page{
		title: name,
		nav:   "tasks",
		parts: []part{{"document", h.Article(
			lead,
			h.Pre(h.Class("passage"), text(d.Text)),
		)}},
	})
}

// documents are the files that the run or the task of an address has made.
func (v *view) documents(query url.Values) (known map[string]bool, back string, err error) {
	known = map[string]bool{}
	if run := query.Get("run"); run != "" {
		if _, err := v.site.findRun(run); err != nil {
			return nil, "", err
		}
		f, err := v.site.follow(run)
		if err != nil {
			return nil, "", err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, s := range f.journal.Steps() {
			for _, name := range s.Files {
				known[name] = true
			}
		}
		return known, v.site.path("runs", run), nil
	}

	t, err := v.findTask(query.Get("task"))
	if err != nil {
		return nil, "", err
	}
	for _, a := range t.Artifacts {
		known[a.Path] = true
	}
	return known, v.site.path("tasks", strconv.Itoa(t.Number)), nil
}
