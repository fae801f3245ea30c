package formats

import (
	"slices"
	"strconv"
	"strings"

	"tercet/internal/lazy"
)

// checkInterfaces checks that the statements of a discovery about the user interface agree.
func (r *handoffReader) checkInterfaces() {
	has, told := r.out.Values["has_ui"].(bool)
	kind, ok := r.out.Values["ui_type"].(string)
	if !told || !ok || has == (kind != "none") {
		return
	}
	want := "none"
	if has {
		want = strings.Join(uiTypes[:len(uiTypes)-1], ", ")
	}
	for _, p := range r.parts {
		for _, e := range p.entries {
			if e.key == "ui_type" {
				r.add(codeContradiction, e.valued, "make the two agree",
					"HAS_UI is %t, so UI_TYPE is %s; got '%s'", has, want, kind)
				return
			}
		}
	}
}

// presence matches the row of an artifact: whether it exists, and where.
var presence = lazy.Regexp(
	`^(\S+)(?:[ \t]*[(（][ \t]*resolved path[:：][ \t]*([^()（）]*?)[ \t]*[)）])?$`,
)

// readDelivery reads the artifacts of a delivery, and sums its tests.
func (r *handoffReader) readDelivery() {
	r.overrides()
	if p := r.chapter(secArtifacts); p != nil {
		rows := map[string]any{}
		for _, e := range p.entries {
			if name, ok := strings.CutSuffix(e.key, ".md"); ok {
				r.artifact(strings.ToUpper(name)+".md", e, rows)
			}
		}
		for _, name := range []string{"SPEC.md", "ARCHITECTURE.md"} {
			if _, ok := rows[name]; !ok {
				r.add(codeNoField, p.at, "add the line '- "+name+": present'",
					"expected a line '%s: ...', got none", name)
			}
		}
		r.out.Values["artifacts"] = rows
	}
	total, ok := r.out.Values["total"].(int)
	pass, ok1 := r.out.Values["pass"].(int)
	fail, ok2 := r.out.Values["fail"].(int)
	if ok && ok1 && ok2 && pass+fail > total {
		r.add(codeContradiction, r.chapter(secTests).at, "count again",
			"expected Pass + Fail of at most Total; got %d + %d > %d", pass, fail, total)
	}
}

// overrides reads every line about what the user overrode.
func (r *handoffReader) overrides() {
	var list []any
	for _, e := range r.parts[0].entries {
		if e.key == "overrides" && e.value != "" {
			list = append(list, e.value)
		}
	}
	if list != nil {
		r.out.Values["overrides"] = list
	}
}

// artifact reads one row of the artifacts of a delivery. Only SPEC.md and ARCHITECTURE.md must be
// valid.
func (r *handoffReader) artifact(name string, e entry, rows map[string]any) {
	if _, twice := rows[name]; twice {
		r.add(codeTwice, e.at, "keep one", "key '%s' stands twice", name)
		return
	}

	required := name == "SPEC.md" || name == "ARCHITECTURE.md"
	form := presence().FindStringSubmatchIndex(e.value)
	k := keyRule{
		name:  name,
		kind:  aWord,
		words: presences,
		same:  presencesJa,
	}
	rows[name] = nil
	if form == nil || e.value == "" {
		form = []int{0, len(e.value), 0, len(e.value), -1, -1}
	}
	v, want, help := k.parse(entry{value: e.value[form[2]:form[3]]})
	switch {
	case required && placeholder(e.value, false):
		r.add(codeEmptyField, e.at, "write "+name+": present", "key '%s' says nothing", name)
		return
	case required && want != "":
		r.add(codeValue, e.valued, help, "expected %s for %s; got '%s'", want, name,
			Clip(e.value, maxQuotedValue))
		return
	case want != "":
		return
	}

	row := map[string]any{"status": v, "path": nil}
	rows[name] = row
	if form[4] >= 0 {
		at := Pos{Line: e.valued.Line, Col: e.valued.Col + form[4]}
		if file := unquote(e.value[form[4]:form[5]]); v != presences[0] || r.checkFile(file, at) {
			row["path"] = file
		}
	}
}

// checkFile reports a path without a file.
func (r *handoffReader) checkFile(file string, at Pos) bool {
	if r.opt.Exists == nil || r.opt.Exists(file) {
		return true
	}
	r.add(codeValue, at, "name the file as it lies from the project root",
		"expected a file at '%s'; got none", file)
	return false
}

// row is a row of a table with the requested columns.
type row struct {
	cells []string
	at    []Pos
}

// table reads the table of a section with the given columns, each with its alternative spellings. A
// missing table or row is a finding.
func (r *handoffReader) table(section string, columns ...[]string) (rows []row) {
	p := r.chapter(section)
	if p == nil {
		return nil
	}

	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c[0]
	}
	var head []int // index of each column
	for _, l := range p.lines {
		text := strings.TrimRight(l.text, " \t")
		if !strings.HasPrefix(strings.TrimLeft(text, " \t"), "|") {
			continue
		}
		cells, at := cellsOf(text, l.n)
		switch {
		case head == nil:
			for i, c := range columns {
				n := slices.IndexFunc(cells, func(s string) bool {
					_, ok := canonical(s, c)
					return ok
				})
				if n < 0 {
					r.add(codeNoField, at[0], "the columns are "+strings.Join(names, ", "),
						"expected a column '%s', got none", names[i])
					return nil
				}
				head = append(head, n)
			}
		case strings.Trim(text, "|-: \t") == "":
		default:
			one := row{make([]string, len(columns)), make([]Pos, len(columns))}
			for i, n := range head {
				one.at[i] = (Pos{Line: l.n, Col: len(text) + 1})
				if n < len(cells) {
					one.cells[i] = unquote(cells[n])
					one.at[i] = at[n]
				}
			}
			rows = append(rows, one)
		}
	}

	if len(rows) == 0 {
		r.add(codeEmptySection, p.at, "write a table with the columns "+strings.Join(names, ", "),
			"expected a table with at least one row in '%s', got none", section)
	}
	return rows
}

// cellsOf splits a row of a table.
func cellsOf(text string, n int) (cells []string, at []Pos) {
	from := strings.IndexByte(text, '|') + 1
	for i := from; i <= len(text); i++ {
		if i < len(text) && (text[i] != '|' || text[i-1] == '\\') {
			continue
		}
		cell := text[from:i]
		if i == len(text) && strings.TrimSpace(cell) == "" && len(cells) > 0 {
			break
		}
		at = append(at, Pos{
			Line: n,
			Col:  from + 1 + len(cell) - len(strings.TrimLeft(cell, " \t")),
		})
		cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), `\|`, "|"))
		from = i + 1
	}
	return cells, at
}

// readOperations reads the table and the checklist of an operations result.
func (r *handoffReader) readOperations() {
	list := []any{}
	status := keyRule{
		name:  "Status",
		kind:  aWord,
		words: presences[:2],
		same:  presencesJa[:2],
	}
	rows := r.table(
		secArtifacts,
		[]string{"File", "ファイル"},
		[]string{"Description", "内容"},
		[]string{"Status", "状態"},
	)
	for _, one := range rows {
		v, want, help := status.parse(entry{value: one.cells[2]})
		if want != "" {
			r.add(codeValue, one.at[2], help, "expected %s for Status; got '%s'", want,
				Clip(one.cells[2], maxQuotedValue))
		}
		list = append(list, map[string]any{
			"file":        one.cells[0],
			"description": one.cells[1],
			"status":      v,
		})
	}

	r.out.Values["artifacts"] = list
	ready := []any{}
	p := r.chapter(secReady)
	if p == nil {
		return
	}

	for _, l := range p.lines {
		form := bullet().FindStringSubmatch(l.text)
		if form != nil && form[3] != "" && form[4] != "" {
			ready = append(ready, map[string]any{"text": form[4], "done": form[3] != " "})
		}
	}

	r.out.Values["readiness"] = ready
	if len(ready) == 0 {
		r.add(codeEmptySection, p.at, "write items such as '- [x] Container images'",
			"expected a checklist with at least one item in '%s', got none", secReady)
	}
}

// readDocFlow reads the table of a doc flow.
func (r *handoffReader) readDocFlow() {
	list := []any{}
	rows := r.table(
		secMade,
		[]string{"Type"},
		[]string{"Path"},
		[]string{"Status"},
		[]string{"Template Version"},
	)
	for _, one := range rows {
		var file any
		if r.checkFile(one.cells[1], one.at[1]) {
			file = one.cells[1]
		}
		list = append(list, map[string]any{
			"type":             one.cells[0],
			"path":             file,
			"status":           one.cells[2],
			"template_version": one.cells[3],
		})
	}
	r.out.Values["deliverables"] = list
}

// nothingWords are texts of a section that mean that there is nothing.
var nothingWords = []string{"none", "n/a", "なし", "no", "false"}

// dataNames are parts of the names of sections about a database.
var dataNames = []string{"data model", "database", "データモデル", "データベース"}

// readArchitecture reads from an architecture whether there is a database, and the order of
// implementation.
func (r *handoffReader) readArchitecture() {
	nothing := func(text string) bool {
		return slices.Contains(nothingWords, strings.ToLower(strings.Trim(text, " \t-*+._。")))
	}
	var data any
	for _, p := range r.parts[1:] {
		about := func(name string) bool {
			return strings.Contains(strings.ToLower(p.name), name)
		}
		if data != nil || !p.hasText || !slices.ContainsFunc(dataNames, about) {
			continue
		}
		data = slices.ContainsFunc(p.lines, func(l line) bool {
			return strings.TrimSpace(l.text) != "" && !nothing(l.text)
		})
	}

	if !slices.ContainsFunc(r.parts[1:], func(p chapter) bool { return p.hasText }) {
		r.add(
			codeEmptySection,
			r.title,
			"describe the architecture in sections",
			"the document says nothing in any section",
		)
	}
	if text, ok := r.out.Values["database"].(string); ok {
		data = !nothing(text)
	}
	r.out.Values["database"] = data
	r.out.Values["tasks"] = []any{}
	if p := r.chapter(secOrder); p != nil {
		r.out.Values["tasks"] = tasksOf(p.lines, false)
	}
}

// taskForm matches "TASK-001: name" or "name"; fileForm matches "Target file: path" after a bar.
var (
	taskForm = lazy.Regexp(`^(?:\*\*)?(?:TASK-(\d+)(?:\*\*)?[:：][ \t]*)?(.*)$`)
	fileForm = lazy.Regexp(`^(?i:target files?|対象ファイル)[ \t]*[:：][ \t]*(.*)$`)
)

// tasksOf are the items of a list; deeper items belong to them. With boxes only those with a check
// box count.
func tasksOf(lines []line, boxes bool) []any {
	out := []any{}
	depth := -1
	for _, l := range lines {
		form := bullet().FindStringSubmatch(l.text)
		if form == nil || form[4] == "" || depth >= 0 && len(form[1]) > depth ||
			boxes && form[3] == "" {
			continue
		}
		depth = len(form[1])
		out = append(out, taskOf(form, len(out)+1))
	}
	return out
}

// taskOf converts an item that bullet matched.
func taskOf(form []string, number int) map[string]any {
	if n, err := strconv.Atoi(form[2]); err == nil {
		number = n
	}
	files := []any{}
	var words []string
	for piece := range strings.SplitSeq(form[4], " | ") {
		if named := fileForm().FindStringSubmatch(strings.TrimSpace(piece)); named != nil {
			more, _ := parseBracketed(named[1])
			files = append(files, more...)
			continue
		}
		words = append(words, strings.TrimSpace(piece))
	}
	name := taskForm().FindStringSubmatch(strings.Join(words, " | "))
	if n, err := strconv.Atoi(name[1]); err == nil {
		number = n
	}
	return map[string]any{
		"number": number,
		"name":   unquote(name[2]),
		"files":  files,
		"done":   form[3] != "" && form[3] != " ",
	}
}
