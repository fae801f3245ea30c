package documents

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/formats/record"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// The modes of approval: whether a flow asks after each phase.
const (
	Interactive = "interactive"
	Autonomous  = "autonomous"
)

// checkFilled reports a document that says nothing where its profile wants something.
func (r *handoffReader) checkFilled() {
	parts := r.parts
	help := ""
	where := ""
	switch r.rules.Filled {
	case "":
		return
	case "sections":
		parts = parts[1:]
		help = "describe the " + r.rules.name + " in sections"
		where = " in any section"
	}

	if !slices.ContainsFunc(parts, func(p chapter) bool { return p.hasText }) {
		r.Add(codeEmptySection, r.title, help, "the document says nothing%s", where)
	}
}

// readParts reads what stands in sections in other forms than keys.
func (r *handoffReader) readParts() {
	for i := range r.rules.Sections {
		s := &r.rules.Sections[i]
		switch {
		case s.Table != nil:
			r.readTable(s)
		case s.Checklist != nil:
			r.readChecklist(s)
		case s.Files != nil:
			r.readFiles(s)
		case s.Modes != nil:
			r.readModes(s)
		}
	}

	if r.rules.Tasks != nil {
		r.readTasks(r.rules.Tasks)
	}
	if r.rules.Topic != nil {
		r.readTopic(r.rules.Topic)
	}
	if r.rules.Issue {
		r.readIssue()
	}
}

// runChecks runs the checks over more than one value.
func (r *handoffReader) runChecks() {
	for _, c := range r.rules.Checks {
		found, err := c.code.First(query.Normalize(r.out.Values))
		if err != nil {
			found = err.Error()
		}
		if text, ok := found.(string); ok {
			r.Add(codeContradiction, r.placeOf(c.At), c.Help, "%s", text)
		}
	}
}

// placeOf is the place of a section's heading or of a key's value, else of the title.
func (r *handoffReader) placeOf(name string) formats.Pos {
	if p := r.findChapter(name); p != nil {
		return p.at
	}
	for _, p := range r.parts {
		for _, e := range p.entries {
			if e.key == fieldKey(name) {
				return e.valueAt
			}
		}
	}
	return r.title
}

// addWrongValue reports a value that is not what its rule wants.
func (r *handoffReader) addWrongValue(at formats.Pos, name, want, got, help string) {
	r.Add(codeValue, at, help, "expected %s for %s; got '%s'", want, name,
		formats.Clip(got, maxQuotedValue))
}

// presence matches the row of an artifact: whether it exists, and where.
var presence = lazy.Regexp(
	`^(\S+)(?:[ \t]*[(（][ \t]*resolved path[:：][ \t]*([^()（）]*?)[ \t]*[)）])?$`,
)

// readFiles reads the lines of a section that name files.
func (r *handoffReader) readFiles(s *sectionRule) {
	p := r.findChapter(s.Name)
	if p == nil {
		return
	}

	rows := map[string]any{}
	for _, e := range p.entries {
		if name, ok := strings.CutSuffix(e.key, ".md"); ok {
			r.readNamedFile(s.Files, strings.ToUpper(name)+".md", e, rows)
		}
	}

	for _, name := range s.Files.Required {
		if _, ok := rows[name]; !ok {
			line := name + ": " + s.Files.Words[0]
			r.Add(codeNoField, p.at, "add the line '- "+line+"'",
				"expected a line '%s: ...', got none", name)
		}
	}
	r.out.Values[s.Files.As] = rows
}

// readNamedFile reads one line of a section that names files.
func (r *handoffReader) readNamedFile(rule *filesRule, name string, e entry, rows map[string]any) {
	if _, twice := rows[name]; twice {
		r.Add(codeTwice, e.at, "keep one", "key '%s' stands twice", name)
		return
	}

	rows[name] = nil
	form := presence().FindStringSubmatchIndex(e.value)
	if form == nil || e.value == "" {
		form = []int{0, len(e.value), 0, len(e.value), -1, -1}
	}
	required := slices.Contains(rule.Required, name)

	v, want, help := rule.parse(e.value[form[2]:form[3]])
	switch {
	case required && isPlaceholder(e.value, false):
		r.Add(codeEmptyField, e.at, "write "+name+": "+rule.Words[0],
			"key '%s' says nothing", name)
		return
	case required && want != "":
		r.addWrongValue(e.valueAt, name, want, e.value, help)
		return
	case want != "":
		return
	}

	row := map[string]any{"status": v, "path": nil}
	rows[name] = row
	if form[4] >= 0 {
		at := formats.Pos{Line: e.valueAt.Line, Col: e.valueAt.Col + form[4]}
		file := unquote(e.value[form[4]:form[5]])
		if v != rule.Words[0] || r.checkFile(file, at) {
			row["path"] = file
		}
	}
}

// checkFile reports a path without a file.
func (r *handoffReader) checkFile(file string, at formats.Pos) bool {
	if r.opt.Exists == nil || r.opt.Exists(file) {
		return true
	}
	r.Add(codeValue, at, "name the file as it lies from the project root",
		"expected a file at '%s'; got none", file)
	return false
}

// readTable reads the table of a section. A missing column or row is a finding.
func (r *handoffReader) readTable(s *sectionRule) {
	list := []any{}
	defer func() { r.out.Values[s.Table.As] = list }()
	p := r.findChapter(s.Name)
	if p == nil {
		return
	}

	columns := s.Table.Columns
	titles := strings.Join(keyNames(columns), ", ")
	var head []int // index of each column
	for _, l := range p.lines {
		text := strings.TrimRight(l.text, " \t")
		if !strings.HasPrefix(strings.TrimLeft(text, " \t"), "|") {
			continue
		}
		cells, at := cellsOf(text, l.n)
		switch {
		case head == nil:
			for _, c := range columns {
				n := slices.IndexFunc(cells, func(cell string) bool {
					_, ok := matchName(cell, append([]string{c.Name}, c.Also...))
					return ok
				})
				if n < 0 {
					r.Add(codeNoField, at[0], "the columns are "+titles,
						"expected a column '%s', got none", c.Name)
					return
				}
				head = append(head, n)
			}
		case strings.Trim(text, "|-: \t") == "":
		default:
			row := map[string]any{}
			for i, n := range head {
				cell := entry{valueAt: formats.Pos{Line: l.n, Col: len(text) + 1}}
				if n < len(cells) {
					cell.value = unquote(cells[n])
					cell.valueAt = at[n]
				}
				row[columns[i].field()] = r.readCell(&columns[i], cell)
			}
			list = append(list, row)
		}
	}

	if len(list) == 0 {
		r.Add(codeEmptySection, p.at, "write a table with the columns "+titles,
			"expected a table with at least one row in '%s', got none", s.Name)
	}
}

// readCell reads a cell of a table; the value of an invalid one is null.
func (r *handoffReader) readCell(column *keyRule, cell entry) any {
	switch {
	case column.Type == typeFile:
		if !r.checkFile(cell.value, cell.valueAt) {
			return nil
		}
	case column.Words != nil:
		v, want, help := column.wordRule.parse(cell.value)
		if want != "" {
			r.addWrongValue(cell.valueAt, column.Name, want, cell.value, help)
		}
		return v
	}
	return cell.value
}

// cellsOf splits a row of a table.
func cellsOf(text string, n int) (cells []string, at []formats.Pos) {
	from := strings.IndexByte(text, '|') + 1
	for i := from; i <= len(text); i++ {
		if i < len(text) && (text[i] != '|' || text[i-1] == '\\') {
			continue
		}
		cell := text[from:i]
		if i == len(text) && strings.TrimSpace(cell) == "" && len(cells) > 0 {
			break
		}
		at = append(at, formats.Pos{
			Line: n,
			Col:  from + 1 + len(cell) - len(strings.TrimLeft(cell, " \t")),
		})
		cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), `\|`, "|"))
		from = i + 1
	}
	return cells, at
}

// readChecklist reads the checklist of a section.
func (r *handoffReader) readChecklist(s *sectionRule) {
	p := r.findChapter(s.Name)
	if p == nil {
		return
	}

	list := []any{}
	for _, l := range p.lines {
		form := bullet().FindStringSubmatch(l.text)
		if form != nil && form[3] != "" && form[4] != "" {
			list = append(list, map[string]any{"text": form[4], "done": form[3] != " "})
		}
	}

	r.out.Values[s.Checklist.As] = list
	if len(list) == 0 {
		r.Add(codeEmptySection, p.at, "write items such as '- [x] "+s.Checklist.Example+"'",
			"expected a checklist with at least one item in '%s', got none", s.Name)
	}
}

// readModes reads the mode of approval of each tier of a section.
func (r *handoffReader) readModes(s *sectionRule) {
	modes := map[string]any{}
	r.out.Values[s.Modes.As] = modes
	p := r.findChapter(s.Name)
	if p == nil {
		return
	}

	words := wordRule{Words: []string{Interactive, Autonomous}}
	tiers := append(slices.Clone(s.Modes.Settable), s.Modes.Asking...)
	for _, e := range p.entries {
		i := slices.IndexFunc(tiers, func(tier string) bool { return fieldKey(tier) == e.key })
		if i < 0 {
			r.Add(codeValue, e.at, nearest.Help(e.key, tiers),
				"expected a tier, one of %s; got '%s'",
				strings.Join(tiers, ", "), formats.Clip(e.key, maxQuotedValue))
			continue
		}
		tier := tiers[i]
		mode, want, help := words.parse(e.value)
		_, twice := modes[tier]
		switch {
		case want != "":
			r.addWrongValue(e.valueAt, tier, want, e.value, help)
		case twice:
			r.Add(codeTwice, e.at, "keep one", "key '%s' stands twice", tier)
		case mode == Autonomous && slices.Contains(s.Modes.Asking, tier):
			r.Add(codeAsksAlways, e.valueAt, "take the line out",
				"%s asks after every phase, whatever the rules say", tier)
		default:
			modes[tier] = mode
		}
	}
}

// readTopic reads whether a document says something about a topic; null if no section is about it.
func (r *handoffReader) readTopic(rule *topicRule) {
	nothing := func(text string) bool {
		text = strings.ToLower(strings.Trim(text, " \t-*+._。"))
		return slices.Contains(rule.Nothing, text)
	}
	if text, ok := r.out.Values[rule.As].(string); ok {
		r.out.Values[rule.As] = !nothing(text)
		return
	}

	r.out.Values[rule.As] = nil
	for _, p := range r.parts[1:] {
		about := func(name string) bool { return strings.Contains(strings.ToLower(p.name), name) }
		if p.hasText && slices.ContainsFunc(rule.In, about) {
			r.out.Values[rule.As] = slices.ContainsFunc(p.lines, func(l line) bool {
				return strings.TrimSpace(l.text) != "" && !nothing(l.text)
			})
			return
		}
	}
}

// boxForm matches an item with a check box or another mark; taskNumber matches the number in a
// task's name.
var (
	boxForm    = lazy.Regexp(`^[ \t]*[-*+][ \t]+(\[[^\]\[]?\])(?:[ \t]+(\S.*)|[ \t]*)$`)
	taskNumber = lazy.Regexp(`TASK-\d+`)
)

// readTasks reads the tasks of a document.
func (r *handoffReader) readTasks(rule *tasksRule) {
	var lines []line
	for _, p := range r.parts {
		names := append([]string{rule.In}, rule.Also...)
		same := func(n string) bool { return fieldKey(n) == fieldKey(p.name) }
		if slices.ContainsFunc(names, same) {
			lines = p.lines
			break
		}
		if rule.Boxes {
			lines = append(lines, p.lines...)
		}
	}

	tasks := tasksOf(lines, rule.Boxes)
	r.out.Values[rule.As] = tasks
	if !rule.Boxes {
		return
	}
	r.checkBoxes(lines)
	if len(tasks) == 0 {
		r.Add(codeEmptySection, r.title, "write '- [ ] TASK-001: name | Target file: path'",
			"expected tasks, got none")
	}
}

// checkBoxes checks the marks, the names and the numbers of tasks with boxes.
func (r *handoffReader) checkBoxes(lines []line) {
	seen := map[string]int{}
	for _, l := range lines {
		form := boxForm().FindStringSubmatchIndex(l.text)
		if form == nil {
			continue
		}
		at := formats.Pos{Line: l.n, Col: form[2] + 1}
		number := taskNumber().FindString(l.text[form[3]:])
		first, twice := seen[number]
		mark := l.text[form[2]:form[3]]
		switch {
		case !slices.Contains([]string{"[ ]", "[x]", "[X]"}, mark):
			r.Add(codeValue, at, "", "expected [ ] or [x]; got '%s'", mark)
		case form[4] < 0:
			r.Add(codeEmptyField, at, "write '- [ ] TASK-001: name'", "a task has no name")
		case number != "" && twice:
			help := fmt.Sprintf("give it another number; the first is on line %d", first)
			r.Add(codeTwice, at, help, "%s stands twice", number)
		default:
			seen[number] = l.n
		}
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
			more, _ := record.ParseBracketed(named[1])
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
