package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/project"
)

// view is one request for a page.
type view struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	site   *site // nil for a page about all projects
	sign   *session
	code   int // of the answer
}

// page is what a view shows.
type page struct {
	title string
	nav   string // the page of the menu that it belongs to
	about string // what the stream has to name for a refresh: run:ID, runs, tasks, none
	since int64  // of the state that is shown; 0: a refresh gets all parts
	wide  bool
	parts []part
}

// part is a piece of a page that the script replaces when it has changed.
type part struct {
	id   string
	node h.Node
}

// partHeader asks for the parts of a page alone, as they changed since a version.
const partHeader = "Tercet-Since"

// handle finds the project of a request, and shows its page or the error.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, f func(*view) error) {
	v := &view{server: s, w: w, r: r, sign: sessionOf(r), code: http.StatusOK}
	err := error(nil)
	if name := r.PathValue("project"); name != "" {
		v.site, err = s.site(name)
	}
	if err == nil && v.site != nil && !v.partial() { // a part of a page tells it by itself
		err = v.site.current().CheckPresent()
	}
	if err == nil {
		err = f(v)
	}
	if err != nil {
		v.fail(err)
	}
}

// fail shows an error with its advice.
func (v *view) fail(err error) {
	v.code = statusOf(err)
	show := v.show(page{
		title: "That did not work",
		parts: []part{{"failure", h.Section(h.Class("sheet"),
			h.H1(h.Text("That did not work")),
			v.failure(err),
			h.P(h.A(h.Class("button"), h.Href("/"), h.Text("Home"))),
		)}},
	})
	if show != nil {
		v.server.config.Tell("page: " + show.Error())
	}
}

// statusOf is the HTTP status of an error.
func statusOf(err error) int {
	switch formats.CodeOf(err) { //nolint:exhaustive // the others are failures of the server
	case formats.CodeNotFound:
		return http.StatusNotFound
	case formats.CodeUsage:
		return http.StatusUnprocessableEntity
	case formats.CodePrecondition, formats.CodeLocked:
		return http.StatusConflict
	case formats.CodeUntrusted, formats.CodeDenied:
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

// failure shows an error with its advice, in the words of the terminal.
func (v *view) failure(err error) h.Node {
	help := formats.HelpOf(err)
	var place h.Node
	if use, ok := errors.AsType[*project.UsageError](err); ok && use.Shown() != "" {
		place = h.Pre(h.Class("code"), text(use.Shown()+"\n"+use.Caret()))
	}
	return alarm(h.Role("alert"),
		h.P(words(err.Error())),
		h.If(place != nil, place),
		h.If(help != "", aside(words(help))),
	)
}

// redirect sends the browser to another page after a post.
func (v *view) redirect(address string) error {
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
	return nil
}

// show writes a page, or for the script the parts that have changed.
func (v *view) show(p page) error {
	body, err := v.render(p)
	if err != nil {
		return err
	}
	return v.write(body, p.since)
}

// since is the version that the script shows; 0: all of the page is asked for.
func (v *view) since() int64 {
	n, err := strconv.ParseInt(v.r.Header.Get(partHeader), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// partial reports whether only parts of the page are asked for.
func (v *view) partial() bool {
	return v.r.Header.Get(partHeader) != "" && v.code == http.StatusOK
}

func (v *view) render(p page) ([]byte, error) {
	var b bytes.Buffer
	if !v.partial() {
		err := v.document(p).Render(&b)
		return b.Bytes(), err
	}
	var err error
	for _, one := range p.parts {
		err = errors.Join(err, v.wrapPart(one).Render(&b))
	}
	return b.Bytes(), err
}

// write writes what render made of a page of a version.
func (v *view) write(body []byte, version int64) error {
	if v.partial() {
		v.w.Header().Set(partHeader, strconv.FormatInt(version, 10))
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(v.code)
	_, err := v.w.Write(body)
	return err
}

// wrapPart is a part with its id. A part without one brings its own.
func (v *view) wrapPart(p part) h.Node {
	if p.id == "" {
		return p.node
	}
	return h.Div(h.ID(p.id), h.Class("part"), p.node)
}

// document is the whole page.
func (v *view) document(p page) h.Node {
	parts := make([]h.Node, len(p.parts))
	for i, one := range p.parts {
		parts[i] = v.wrapPart(one)
	}

	where := ""
	if v.site != nil {
		where = v.site.name
	}
	title := p.title + " · tercet"
	if where != "" {
		title = p.title + " · " + where
	}

	about := p.about
	if about == "" {
		about = "none"
	}
	class := "page"
	if p.wide {
		class = "page wide"
	}

	head := h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.TitleEl(line(title)),
		h.Link(h.Rel("icon"), h.Href("/static/icon.svg"+assetVersion())),
		h.Link(h.Rel("stylesheet"), h.Href("/static/page.css"+assetVersion())),
		h.Script(h.Src("/static/page.js"+assetVersion()), h.Defer()),
	)
	offline := h.P(
		h.ID("offline"),
		h.Class("offline"),
		h.Role("status"),
		h.Attr("hidden"),
		h.Text("The server does not answer. What you see may be old. If it was started "+
			"again, open the link that it printed."),
	)
	body := h.Body(
		h.Data("about", about),
		h.Data("project", where),
		h.Data("since", strconv.FormatInt(p.since, 10)),
		h.A(h.Class("skip"), h.Href("#main"), h.Text("Skip to the page")),
		v.header(p.nav),
		offline,
		h.Main(h.ID("main"), h.Class(class), h.Group(parts)),
		v.keys(),
	)
	return h.Doctype(h.HTML(h.Lang("en"), head, body))
}

// header is the menu.
func (v *view) header(at string) h.Node {
	link := func(name, address, title string) h.Node {
		return h.A(
			h.Href(address), h.If(name == at, h.Aria("current", "page")), h.Text(title),
		)
	}

	site := v.site
	if site == nil && len(v.server.sites) == 1 {
		site = v.server.sites[0]
	}

	var more []h.Node
	if site != nil {
		more = []h.Node{
			link("start", site.path("start"), "Start"),
			link("tasks", site.path("tasks"), "Tasks"),
			link("files", site.path("files"), "Files"),
		}
	}
	if v.server.team.team != nil {
		more = append(more, link("team", "/team", "Team"))
	}

	where := h.Iff(site != nil, func() h.Node {
		return h.Span(h.Class("where"), h.TitleAttr(plain.Line(site.dir)), line(site.name))
	})
	return h.Header(
		h.Class("top"),
		h.A(h.Class("mark"), h.Href("/"), h.Aria("label", "tercet, Home"), h.Text("tercet")),
		where,
		h.Nav(h.Aria("label", "Pages"), link("home", "/", "Home"), h.Group(more)),
	)
}

// keys explains the keys. The script shows it; without the script there are none.
func (v *view) keys() h.Node {
	row := func(key, does string) h.Node {
		return h.Group{h.Dt(h.Kbd(h.Text(key))), h.Dd(h.Text(does))}
	}
	return h.Dialog(h.ID("keys"), h.Aria("label", "Keys"),
		h.H2(h.Text("Keys")),
		h.Dl(
			row("j", "the next one"),
			row("k", "the one before"),
			row("o", "opens it"),
			row("a", "to the question"),
			row("r", "to Go on of the run"),
			row("?", "these keys"),
		),
		h.Form(h.Method("dialog"), h.Button(h.Text("Close"))),
	)
}

// path is an address below the project.
func (o *site) path(parts ...string) string {
	escaped := []string{"/p", url.PathEscape(o.name)}
	for _, one := range parts {
		escaped = append(escaped, url.PathEscape(one))
	}
	return strings.Join(escaped, "/")
}

// form is a form that is posted, with the token.
func (v *view) form(action string, children ...h.Node) h.Node {
	return h.Form(
		h.Method("post"), h.Action(action),
		h.Input(h.Type("hidden"), h.Name("token"), h.Value(v.sign.token)),
		h.Group(children),
	)
}

// aside is a paragraph of less importance.
func aside(children ...h.Node) h.Node {
	return h.P(h.Class("aside"), h.Group(children))
}

// muted is a part of a line that is of less importance.
func muted(children ...h.Node) h.Node {
	return h.Span(h.Class("aside"), h.Group(children))
}

// notice is a box about what the user may have to do.
func notice(children ...h.Node) h.Node {
	return h.Div(h.Class("notice"), h.Group(children))
}

// alarm is a box about what went wrong.
func alarm(children ...h.Node) h.Node {
	return h.Div(h.Class("notice bad"), h.Group(children))
}

// tableHead has the names of the columns of a table.
func tableHead(columns ...string) h.Node {
	return h.THead(h.Tr(h.Map(columns, func(name string) h.Node {
		return h.Th(h.Text(name))
	})))
}

// line is text within one line, text a passage whose lines stay, words a message.
func line(s string) h.Node {
	return h.Text(plain.Line(s))
}

func text(s string) h.Node {
	return h.Text(plain.Text(s))
}

func words(s string) h.Node {
	return h.Text(plain.Message(s))
}

// ago is how long ago something was; the script keeps it true.
func (v *view) ago(at time.Time) h.Node {
	if at.IsZero() {
		return h.Text("")
	}
	age := max(0, v.server.config.Now().Sub(at))
	return h.Time(
		h.DateTime(at.UTC().Format(time.RFC3339)),
		h.TitleAttr(at.Local().Format(time.DateTime)),
		h.Text(style.Age(age)+" ago"),
	)
}

// span is how long something took, or takes until now.
func (v *view) span(began time.Time, seconds float64, running bool) h.Node {
	if running {
		age := max(0, v.server.config.Now().Sub(began))
		return h.Time(
			h.Class("ticks"),
			h.Data("from", strconv.FormatInt(began.UnixMilli(), 10)),
			h.Text(short(age)),
		)
	}
	if seconds == 0 {
		return h.Text("")
	}
	return h.Time(h.Text(short(time.Duration(seconds * float64(time.Second)))))
}

// short is a duration as the page's lists show it. The script writes it the same way.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < day:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d/day), int(d.Hours())%24)
}

// dollars and tokens are what something used; empty for nothing.
func dollars(usd float64) string {
	const cent = 0.01
	switch {
	case usd <= 0:
		return ""
	case usd < cent:
		return "< $0.01"
	}
	return fmt.Sprintf("$%.2f", usd)
}

func tokens(n int64) string {
	const thousand = 1000
	switch {
	case n <= 0:
		return ""
	case n < thousand:
		return fmt.Sprintf("%d tokens", n)
	}
	return fmt.Sprintf("%.1fk tokens", float64(n)/thousand)
}

// state is a state as shape, word and colour.
type state struct{ look, shape, word string }

// badge shows a state.
func (s state) badge() h.Node {
	return h.Span(
		h.Class("state "+s.look),
		h.Span(h.Class("shape"), h.Aria("hidden", "true"), h.Text(s.shape)),
		h.Text(" "),
		line(s.word),
	)
}

// runState is what a run does, in the words of the terminal. Queued, answered, resuming and at
// work are told apart.
func (o *site) runState(r project.RunState) state {
	o.mu.Lock()
	resuming := o.resuming[r.Run.ID]
	o.mu.Unlock()
	outcome := formats.Outcome(r.Run.Status)
	switch {
	case r.ReadError != "":
		return state{"bad", "!", "damaged"}
	case resuming:
		return state{"works", "◔", "resuming"}
	case r.Answer != "":
		return state{"ready", "●", "answered"}
	case r.State == project.StateAsking:
		return state{"asks", "?", style.Asks}
	case r.State == project.StateRunning && r.Run.Queue != "":
		return state{"waits", "○", r.Run.Queue}
	case r.State == project.StateRunning:
		return state{"works", "▶", style.AtWork}
	case r.Run.Status == project.RunOpen:
		return state{"bad", "!", style.Gone}
	case r.State == project.StateWaiting:
		return state{"waits", "○", r.Run.Status}
	case outcome.Passes():
		return state{"good", "✓", r.Run.Status}
	}
	return state{"bad", "✗", r.Run.Status}
}

// stepState is the state of a step. Active tells that a process works on the run.
func stepState(outcome string, active, asks bool) state {
	o := formats.Outcome(outcome)
	switch {
	case outcome == "" && asks:
		return state{"asks", "?", "asks"}
	case outcome == "" && active:
		return state{"works", "▶", style.AtWork}
	case outcome == "":
		return state{"waits", "○", "not finished"}
	case o == formats.OutcomeSkipped:
		return state{"skip", "–", outcome}
	case o == formats.OutcomeConditional, o == formats.OutcomePartial,
		o == formats.OutcomeSuspended:
		return state{"waits", "◐", outcome}
	case o.Passes():
		return state{"good", "✓", outcome}
	}
	return state{"bad", "✗", outcome}
}

// diff shows a patch, its lines by their kind.
func diff(patch string) h.Node {
	lines := strings.Split(strings.TrimRight(plain.Text(patch), "\n"), "\n")
	nodes := make([]h.Node, len(lines))
	body := false // behind the names of the files
	for i, one := range lines {
		class := ""
		switch {
		case strings.HasPrefix(one, "diff "):
			class = "file"
			body = false
		case strings.HasPrefix(one, "@@"):
			class = "hunk"
			body = true
		case !body:
			class = "file"
		case strings.HasPrefix(one, "+"):
			class = "add"
		case strings.HasPrefix(one, "-"):
			class = "del"
		}
		nodes[i] = h.Span(h.If(class != "", h.Class(class)), h.Text(one+"\n"))
	}
	return h.Pre(h.Class("code diff"), h.TabIndex("0"), h.Group(nodes))
}

// passage shows a longer text, a patch as one.
func passage(s string) h.Node {
	if style.IsPatch(s) {
		return diff(s)
	}
	return h.Pre(h.Class("passage"), text(strings.TrimRight(s, "\n")))
}

// clip shortens a text for a list.
func clip(s string, most int) string {
	return formats.Clip(formats.OneLine(s), most)
}
