package web

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/plain"
	"tercet/project"
)

// commands lists the commands of a project.
func (s *Server) commands(v *view) error {
	var list []formats.CommandInfo
	err := v.site.current().WithFreshSession(v.r.Context(), func(one *project.Session) error {
		list = one.Commands()
		return nil
	})
	if err != nil {
		return err
	}
	items := make([]h.Node, len(list))
	for i, c := range list {
		items[i] = h.Li(h.Class("row"), h.A(
			h.Class("row-link"),
			h.Data("go", ""),
			h.Href(v.site.path("start", c.Name)),
			h.Span(
				h.Class("row-main"),
				h.Span(h.Class("command"), line(c.Usage)),
				h.Span(h.Class("why"), line(clip(c.Description, maxTitle))),
			),
			h.Span(h.Class("facts"), line(c.Source)),
		))
	}

	return v.show(page{
		title: "Start",
		nav:   "start",
		parts: []part{{"commands", h.Section(
			h.Div(h.Class("lead"), h.H1(h.Text("Start a command"))),
			h.Ul(h.Class("rows"), h.Group(items)),
		)}},
	})
}

// filledForm is a form with what a user wrote into it.
type filledForm struct {
	*project.Form

	values  map[string][]string
	line    string
	wrong   map[string]string // by argument
	err     error             // about the line, or why nothing began
	outline *project.Outline
	tasks   []formats.Task
	paths   []string
}

// form shows the arguments of a command, and what it would do.
func (s *Server) form(v *view) error {
	values := map[string][]string(v.r.URL.Query())
	f, err := v.fillForm(values)
	if err != nil {
		return err
	}
	return v.showForm(f)
}

// fillForm reads a command, with values for its arguments.
func (v *view) fillForm(values map[string][]string) (*filledForm, error) {
	name := v.r.PathValue("command")
	f := &filledForm{values: map[string][]string{}}
	err := v.site.current().WithFreshSession(v.r.Context(), func(one *project.Session) error {
		form, err := one.Form(name)
		if err != nil {
			return err
		}
		f.Form = form
		for _, a := range form.Arguments {
			f.values[a.Name] = argumentValues(a, values[a.Name])
			if err := f.suggest(v.r.Context(), one, a.Type); err != nil {
				return err
			}
		}
		f.values[""] = values[""]
		f.line, f.wrong = form.Line(f.values)

		explained := "/" + form.Name
		asked := len(values) > 0
		if asked {
			f.err = form.Check(f.line)
		} else {
			f.wrong = nil // nobody has filled it in yet
		}
		if asked && f.err == nil {
			explained = f.line
		}
		f.outline, err = one.Explain(v.r.Context(), project.Line{Raw: explained})
		if asked && f.err == nil {
			f.err = err
		}
		return nil
	})
	return f, err
}

// suggest reads what an argument of a type may be chosen from.
func (f *filledForm) suggest(ctx context.Context, one *project.Session, kind string) (err error) {
	switch kind {
	case "path":
		f.paths = one.Paths(ctx)
	case "task", "tasks":
		f.tasks, err = one.Project.Tasks(ctx, project.TaskFilter{})
	}
	return err
}

// maxValues bounds the values of one argument.
const maxValues = 1000

// argumentValues gives the values of an argument in a form. One that takes several has each on a
// line of its own.
func argumentValues(a project.Argument, values []string) []string {
	if !a.Repeat {
		return values
	}
	var out []string
	for _, text := range values {
		for one := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n") {
			if one != "" && len(out) < maxValues {
				out = append(out, one)
			}
		}
	}
	return out
}

// showForm shows a form.
func (v *view) showForm(f *filledForm) error {
	var notices []h.Node
	if f.err != nil {
		v.code = statusOf(f.err)
		notices = append(notices, v.failure(f.err))
	}

	if waits, ok := errors.AsType[*project.ResumableError](f.err); ok {
		notices = append(notices, v.resumable(waits))
	}

	fields := make([]h.Node, 0, len(f.Arguments)+1)
	for _, a := range f.Arguments {
		fields = append(fields, v.field(f, a))
	}
	if f.Free != "" {
		words := strings.Join(f.values[""], " ")
		fields = append(fields, h.Div(
			h.Class("field"),
			h.Label(h.For("words"), h.Text("Words behind the command")),
			h.Textarea(h.ID("words"), h.Name(""), h.Rows("3"), text(words)),
			aside(line(f.Free)),
		))
	}

	address := v.site.path("start", f.Name)
	form := v.form(
		address,
		h.Class("start"),
		h.ID("start"),
		h.Group(fields),
		h.Group(notices),
		h.Div(
			h.Class("actions"),
			h.Button(h.Class("primary"), h.Name("do"), h.Value("start"), h.Text("Start")),
			h.Button(h.Name("do"), h.Value("look"), h.Text("What would it do?")),
		),
	)
	head := h.Div(
		h.Class("lead"),
		h.H1(h.Class("command"), line("/"+f.Name)),
		h.P(line(f.Description)),
		h.P(h.Class("mono aside"), line(f.Usage)),
	)
	columns := h.Div(
		h.Class("columns"),
		h.Div(h.Class("part"), form),
		h.Div(h.Class("part"), h.ID("outline"), v.outline(f.outline)),
	)
	return v.show(page{
		title: "/" + f.Name,
		nav:   "start",
		wide:  true,
		parts: []part{{"form-head", head}, {"", columns}},
	})
}

// resumable offers what can be done about an earlier run.
func (v *view) resumable(waits *project.ResumableError) h.Node {
	run := waits.Return().Metadata.Run
	if r := waits.Return().Resume; r != nil {
		run = r.Run
	}
	if run == "" {
		return h.Text("")
	}

	beginAnew := h.Button(
		h.Class("danger"),
		h.Name("do"),
		h.Value("anew"),
		h.Text("Begin anew"),
	)
	return notice(h.P(
		h.A(h.Href(v.site.path("runs", run)), h.Text("To that run")),
		h.Text(", or give it up: "),
		beginAnew,
	))
}

// field is an argument.
func (v *view) field(f *filledForm, a project.Argument) h.Node {
	id := "arg-" + a.Name
	wrong := f.wrong[a.Name]
	common := h.Group{h.ID(id), h.Name(a.Name)}
	if wrong != "" {
		common = append(common, h.Aria("invalid", "true"), h.Aria("describedby", id+"-wrong"))
	}

	about := a.Type
	if a.Repeat {
		about += ", one a line"
	}
	if !a.Required {
		about += ", may be empty"
	}

	return h.Div(
		h.Class("field"),
		h.Label(h.For(id), line(a.Name), h.Text(" "), muted(line(about))),
		v.control(f, a, id, common),
		h.If(a.Description != "", aside(line(a.Description))),
		h.If(wrong != "", h.P(h.Class("wrong"), h.ID(id+"-wrong"), words(wrong))),
	)
}

// control is the element in which the value of an argument is entered. Common are the attributes
// that each kind of control has.
func (v *view) control(f *filledForm, a project.Argument, id string, common h.Node) h.Node {
	value := strings.Join(f.values[a.Name], "\n")
	option := func(value, title string, chosen bool) h.Node {
		return h.Option(h.Value(plain.Line(value)), h.If(chosen, h.Selected()), line(title))
	}
	switch {
	case a.Type == "boolean":
		return h.Select(
			common,
			option("", "as without it", value == ""),
			option("true", "yes", value == "true"),
			option("false", "no", value == "false"),
		)
	case len(a.Values) > 0 && a.Type == "enum" && !a.Repeat:
		options := h.Group{option("", emptyChoice(a), value == "")}
		for _, one := range a.Values {
			options = append(options, option(one, one, value == one))
		}
		return h.Select(common, options)
	case a.Type == "task" && len(f.tasks) > 0:
		options := h.Group{option("", emptyChoice(a), value == "")}
		for _, t := range f.tasks {
			n := strconv.Itoa(t.Number)
			title := n + " " + clip(t.Title, maxChoice) + " (" + t.Status.String() + ")"
			options = append(options, option(n, title, value == n))
		}
		return h.Select(common, options)
	case a.Type == "text" || a.Repeat || a.Type == "json":
		return h.Textarea(common, h.Rows("3"), text(value))
	}

	list := v.offeredOptions(f, a)
	input := h.Input(
		common,
		h.Value(plain.Line(value)),
		h.AutoComplete("off"),
		h.Placeholder(plain.Line(a.DefaultText)),
		h.If(list != nil, h.List(id+"-list")),
	)
	return h.Group{
		input,
		h.If(list != nil, h.DataList(h.ID(id+"-list"), h.Group(list))),
	}
}

// maxChoice bounds a title in a list of choices, in characters, and maxOffers the names that are
// offered.
const (
	maxChoice = 60
	maxOffers = 2000
)

// emptyChoice is the first choice of an argument: none.
func emptyChoice(a project.Argument) string {
	switch {
	case a.DefaultText != "":
		return a.DefaultText
	case a.Required:
		return "choose"
	}
	return "none"
}

// offeredOptions are the names that fit an argument.
func (v *view) offeredOptions(f *filledForm, a project.Argument) []h.Node {
	names := a.Offers
	switch a.Type {
	case "path":
		names = f.paths
	case "tasks":
		names = a.Values
	}
	var out []h.Node
	for _, name := range names[:min(len(names), maxOffers)] {
		if name == plain.Line(name) { // another one could not be typed
			out = append(out, h.Option(h.Value(name)))
		}
	}
	return out
}

// outline is what a command would do at most.
func (v *view) outline(o *project.Outline) h.Node {
	if o == nil {
		return aside(h.Text("What it would do cannot be said yet."))
	}
	worst := o.Page.Bound.Worst
	row := func(name, value string) h.Node {
		if value == "" {
			return h.Text("")
		}
		return h.Group{h.Dt(h.Text(name)), h.Dd(line(value))}
	}

	var asks []h.Node
	for _, one := range o.Page.Asks {
		asks = append(asks, h.Li(line(one)))
	}

	missing := h.Text("")
	if o.Page.Missing != nil {
		missing = alarm(h.P(h.Text("would not begin: "), words(o.Page.Missing.Error())))
	}

	bounds := h.Dl(
		h.Class("facts-list"),
		row("calls of workers", strconv.Itoa(worst.Agents)),
		row("depth", strconv.Itoa(worst.Depth)),
		row("time", short(worst.Time)),
		row("cost", worst.Money()),
		row("subagents", strings.Join(o.Page.Agents(), ", ")),
		row("reads", strings.Join(o.Page.Effects.Reads, ", ")),
		row("writes", strings.Join(o.Page.Effects.Writes, ", ")),
	)
	return h.Section(
		h.H2(h.Text("At most")),
		missing,
		bounds,
		h.If(len(asks) > 0, h.Group{h.H3(h.Text("It asks you")), h.Ul(h.Group(asks))}),
		h.H3(h.Text("Steps")),
		v.stepList(o, nil),
		h.Details(
			h.ID("explained"),
			h.Summary(h.Text("All of it")),
			h.Pre(h.Class("code"), h.TabIndex("0"), text(o.Page.Text())),
		),
	)
}

// stepList is the steps of a command. Link gives the address of a line of its file; nil: none.
func (v *view) stepList(o *project.Outline, link func(line int) string) h.Node {
	var items []h.Node
	for _, s := range o.StepList() {
		name := line(s.ID)
		if link != nil {
			name = h.A(h.Href(link(s.Line)), name)
		}
		ways := line(strings.Join(s.Ways, "; "))
		items = append(items, h.Li(
			h.Class("d"+strconv.Itoa(min(s.Depth, maxDepth))),
			h.Span(h.Class("mono"), name),
			h.Text(" "),
			muted(line(clip(s.Does, maxTitle))),
			h.If(s.When != "", muted(h.Text(" when "), line(s.When))),
			h.If(len(s.Ways) > 0, h.Span(h.Class("ways aside"), ways)),
		))
	}
	return h.Ol(h.Class("outline"), h.Group(items))
}

// start begins a run, or shows what it would do.
func (s *Server) start(v *view) error {
	values := map[string][]string(v.r.PostForm)
	do := v.r.PostFormValue("do")
	f, err := v.fillForm(values)
	if err != nil {
		return err
	}

	if do == "look" || f.err != nil || len(f.wrong) > 0 {
		return v.showForm(f)
	}

	r, err := v.site.startLine(f.line, do == "anew")
	if _, untrusted := errors.AsType[*project.UntrustedError](err); untrusted {
		query := url.Values{"back": {v.formAddress(f)}}
		return v.redirect(v.site.path("trust") + "?" + query.Encode())
	}
	if err != nil {
		f.err = err
		return v.showForm(f)
	}

	s.hub.poke()
	if v.site.hasRun(r) {
		return v.redirect(v.site.path("runs", r.ID))
	}

	ret, err := r.Wait(v.r.Context())
	if err != nil {
		return err
	}

	if len(ret.Errors) > 0 { // a full disk keeps a run from its journal
		e := ret.Errors[0]
		f.err = formats.Fail(e.Code, e.Recommendation, "%s", e.Message)
		return v.showForm(f)
	}
	return v.showAnswer(f, ret)
}

// formAddress is the address of a form with its values.
func (v *view) formAddress(f *filledForm) string {
	query := url.Values{}
	for name, list := range f.values {
		if len(list) > 0 {
			query[name] = []string{strings.Join(list, "\n")}
		}
	}
	return v.site.path("start", f.Name) + "?" + query.Encode()
}

// showAnswer shows what a line without a run says, such as /help.
func (v *view) showAnswer(f *filledForm, ret formats.Return) error {
	return v.show(page{
		title: f.line,
		nav:   "start",
		parts: []part{{"answered", h.Section(
			h.Div(h.Class("lead"), h.H1(h.Class("command"), line(f.line))),
			h.P(text(ret.Summary)),
			passage(ret.Text),
		)}},
	})
}

// resumeFailed shows why a run did not go on; about missing trust it asks.
func (v *view) resumeFailed(err error, back string) error {
	if _, untrusted := errors.AsType[*project.UntrustedError](err); untrusted {
		return v.redirect(v.site.path("trust") + "?" + url.Values{"back": {back}}.Encode())
	}
	return err
}
