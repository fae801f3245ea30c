package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/project"
)

// taskFilter is what the user looks for in the table of tasks.
type taskFilter struct {
	status string
	search string
	jq     string

	picked map[int]bool // the tasks for which jq is true; nil: all
}

// matches reports whether a task passes the filter.
func (f taskFilter) matches(t formats.Task) bool {
	if f.status != "" && t.Status.String() != f.status {
		return false
	}
	if f.picked != nil && !f.picked[t.Number] {
		return false
	}
	text := strconv.Itoa(t.Number) + " " + t.Title + " " + t.Description
	return strings.Contains(strings.ToLower(text), strings.ToLower(f.search))
}

// tasks is a table of the tasks, with filters.
func (s *Server) tasks(v *view) error {
	all, err := v.site.current().Tasks(v.r.Context(), project.TaskFilter{})
	if err != nil {
		return err
	}

	query := v.r.URL.Query()
	filter := taskFilter{
		status: query.Get("status"),
		search: query.Get("search"),
		jq:     query.Get("jq"),
	}
	failure := h.Text("")
	if filter.status != "" {
		_, err = formats.ParseTaskStatus(filter.status)
	}
	if err == nil && filter.jq != "" {
		filter.picked, err = v.pickTasks(filter.jq)
	}
	if err != nil {
		v.code = http.StatusUnprocessableEntity
		failure = v.failure(err)
	}

	var rows []h.Node
	statuses := map[string]int{}
	for _, t := range all {
		statuses[t.Status.String()]++
		if filter.matches(t) {
			rows = append(rows, v.taskRow(t))
		}
	}

	count := formats.Count(len(all), "task")
	if len(rows) < len(all) {
		count = strconv.Itoa(len(rows)) + " of " + count
	}

	table := h.Table(
		tableHead("No.", "Title", "Status", "Priority", "Depends on"),
		h.TBody(h.Group(rows)),
	)
	return v.show(page{
		title: "Tasks",
		nav:   "tasks",
		about: "tasks",
		parts: []part{
			{"tasks-head", h.Div(h.Class("lead"), h.H1(h.Text("Tasks")), aside(h.Text(count)))},
			{"tasks-filter", h.Group{filter.form(statuses), failure}},
			{"tasks", h.Div(h.Class("scrolls"), table)},
		},
	})
}

// form is the form for the filter. Of the statuses it offers those that some task has, and the
// chosen one.
func (f taskFilter) form(statuses map[string]int) h.Node {
	options := []h.Node{h.Option(h.Value(""), h.Text("every status"))}
	for _, one := range formats.TaskStatuses() {
		name := one.String()
		n := statuses[name]
		if n == 0 && name != f.status {
			continue
		}
		options = append(options, h.Option(
			h.Value(name),
			h.If(name == f.status, h.Selected()),
			h.Text(name+" ("+strconv.Itoa(n)+")"),
		))
	}
	return h.Form(
		h.Class("filter"),
		h.Method("get"),
		h.Role("search"),
		h.Select(h.Name("status"), h.Aria("label", "Status"), h.Group(options)),
		h.Input(
			h.Type("search"),
			h.Name("search"),
			h.Value(plain.Line(f.search)),
			h.Aria("label", "Search"),
			h.Placeholder("Search"),
		),
		h.Input(
			h.Name("jq"),
			h.Value(plain.Line(f.jq)),
			h.Class("mono"),
			h.Aria("label", "jq filter of a task"),
			h.AutoComplete("off"),
			h.Placeholder(`jq, as in .priority == "high"`),
		),
		h.Button(h.Text("Filter")),
	)
}

// pickTime bounds a filter of the user.
const pickTime = 5 * time.Second

// pickTasks gives the numbers of the tasks for which a jq filter is true.
func (v *view) pickTasks(filter string) (map[int]bool, error) {
	lines, err := v.site.current().Query(v.r.Context(), project.Query{
		Filter:    filter,
		PickTasks: true,
		Most:      pickTime,
	})
	if err != nil {
		return nil, err
	}

	picked := map[int]bool{}
	for one := range strings.FieldsSeq(string(lines)) {
		if n, err := strconv.Atoi(one); err == nil {
			picked[n] = true
		}
	}
	return picked, nil
}

// taskState is the status of a task as a state.
func taskState(t formats.Task) state {
	word := t.Status.String()
	switch style.LookOf(word) {
	case style.Works:
		return state{"works", "▶", word}
	case style.Ready:
		return state{"ready", "●", word}
	case style.Good:
		return state{"good", "✓", word}
	case style.Waits:
		return state{"waits", "◐", word}
	case style.Bad:
		return state{"bad", "!", word}
	case style.Aside:
		return state{"skip", "–", word}
	case style.Plain, style.Heading, style.Error:
	}
	return state{"waits", "○", word}
}

func (v *view) taskRow(t formats.Task) h.Node {
	n := strconv.Itoa(t.Number)
	depends := make([]h.Node, len(t.Dependencies))
	for i, one := range t.Dependencies {
		d := strconv.Itoa(one)
		depends[i] = h.Group{h.A(h.Href(v.site.path("tasks", d)), h.Text(d)), h.Text(" ")}
	}

	title := h.A(
		h.Data("go", ""),
		h.Href(v.site.path("tasks", n)),
		line(clip(t.Title, maxTitle)),
	)
	return h.Tr(
		h.Td(h.Class("number"), h.Text(n)),
		h.Td(h.Class("title"), title),
		h.Td(taskState(t).badge()),
		h.Td(line(t.Priority)),
		h.Td(h.Group(depends)),
	)
}

// findTask finds a task by its number.
func (v *view) findTask(number string) (formats.Task, error) {
	list, err := v.site.current().Tasks(v.r.Context(), project.TaskFilter{})
	if err != nil {
		return formats.Task{}, err
	}
	for _, t := range list {
		if strconv.Itoa(t.Number) == number {
			return t, nil
		}
	}
	return formats.Task{}, formats.Fail(formats.CodeNotFound, "go back to Tasks",
		"there is no task %q", clip(number, maxChoice))
}

// task shows one task: its documents, its runs, and what depends on it.
func (s *Server) task(v *view) error {
	t, err := v.findTask(v.r.PathValue("task"))
	if err != nil {
		return err
	}
	all, err := v.site.current().Tasks(v.r.Context(), project.TaskFilter{})
	if err != nil {
		return err
	}
	d, err := v.site.current().Task(v.r.Context(), t.Number)
	if err != nil {
		return err
	}

	n := strconv.Itoa(t.Number)
	row := func(name, value string) h.Node {
		if value == "" {
			return h.Text("")
		}
		return h.Group{h.Dt(h.Text(name)), h.Dd(line(value))}
	}

	facts := h.Dl(
		h.Class("facts-list"),
		row("priority", t.Priority),
		row("effort", t.Effort),
		row("language", t.Language),
		row("created", t.Created),
		row("updated", t.Updated),
		row("issue", t.Issue),
		row("notes", t.Notes),
	)
	lead := h.Div(
		h.Class("lead"),
		h.P(taskState(t).badge(), h.Text(" "), muted(h.Text("task "+n))),
		h.H1(line(t.Title)),
		h.If(t.BlockedReason != "", notice(h.P(words(t.BlockedReason)))),
		h.If(t.Description != "", passage(t.Description)),
		facts,
	)
	parts := []part{
		{"task", lead},
		{"depends", v.related("Depends on", all, func(o formats.Task) bool {
			return slices.Contains(t.Dependencies, o.Number)
		})},
		{"needed-by", v.related("Needed by", all, func(o formats.Task) bool {
			return slices.Contains(o.Dependencies, t.Number)
		})},
		{"subtasks", v.related("Subtasks", all, func(o formats.Task) bool {
			return o.Parent != nil && *o.Parent == t.Number
		})},
		{"documents", v.taskDocuments(t)},
		{"runs", v.taskRuns(d.Runs)},
		{"history", v.history(d.History)},
	}
	return v.show(page{title: t.Title, nav: "tasks", about: "runs", parts: parts})
}

// related lists the tasks that fit.
func (v *view) related(title string, all []formats.Task, fits func(formats.Task) bool) h.Node {
	var items []h.Node
	for _, t := range all {
		if !fits(t) {
			continue
		}
		n := strconv.Itoa(t.Number)
		items = append(items, h.Li(h.Class("row"), h.A(
			h.Class("row-link"),
			h.Data("go", ""),
			h.Href(v.site.path("tasks", n)),
			h.Span(h.Class("row-main"), h.Span(line(n+" "+clip(t.Title, maxTitle)))),
			taskState(t).badge(),
		)))
	}
	if len(items) == 0 {
		return h.Text("")
	}
	return h.Section(h.H2(h.Text(title)), h.Ul(h.Class("rows"), h.Group(items)))
}

func (v *view) taskDocuments(t formats.Task) h.Node {
	if len(t.Artifacts) == 0 {
		return h.Text("")
	}
	items := make([]h.Node, len(t.Artifacts))
	for i, a := range t.Artifacts {
		address := v.site.document("task", strconv.Itoa(t.Number), a.Path)
		summary := line(clip(a.Summary, maxTitle))
		items[i] = h.Li(h.Class("row"), h.A(
			h.Class("row-link"),
			h.Data("go", ""),
			h.Href(address),
			h.Span(
				h.Class("row-main"),
				h.Span(h.Class("mono"), line(a.Path)),
				h.If(a.Summary != "", h.Span(h.Class("why"), summary)),
			),
			h.Span(h.Class("facts"), line(string(a.Type))),
		))
	}
	return h.Section(h.H2(h.Text("Documents")), h.Ul(h.Class("rows"), h.Group(items)))
}

func (v *view) taskRuns(runs []project.RunInfo) h.Node {
	var rows []row
	for _, r := range runs {
		state, err := v.site.findRun(r.ID)
		if err == nil {
			rows = append(rows, row{v.site, state})
		}
	}
	return v.runSection("Runs", rows, v.runRow)
}

// history is what happened to a task in the state, the newest first.
func (v *view) history(list []project.TaskChange) h.Node {
	if len(list) == 0 {
		return h.Text("")
	}
	var items []h.Node
	for _, c := range slices.Backward(list) {
		items = append(items, h.Li(line(clip(changeText(c), maxText))))
	}
	return h.Details(
		h.ID("task-history"),
		h.Summary(h.Text("History")),
		h.Ol(h.Class("history"), h.Group(items)),
	)
}

// changeText is one change of a task in a line.
func changeText(c project.TaskChange) string {
	words := []string{c.Time}
	for _, change := range c.Changes {
		text := fmt.Sprint(change["op"])
		if change["to"] != nil {
			text += fmt.Sprintf(": %v to %v", change["from"], change["to"])
		}
		words = append(words, text)
	}
	if len(c.Changes) == 0 {
		words = append(words, c.Kind)
	}
	if c.Run != "" {
		words = append(words, "by run "+c.Run)
	}
	return strings.Join(words, "  ")
}
