package todo

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tercet/formats"
	"tercet/state/statefile"
)

// Proposal is one hand edit of TODO.md.
type Proposal struct {
	Line    int    `json:"line"`
	Task    int    `json:"task"`  // 0: a task to create
	Field   string `json:"field"` // status, title, ..., create, artifact
	From    string `json:"from"`
	To      string `json:"to"`
	Problem string `json:"problem"` // why it is invalid; empty if valid
	Help    string `json:"help"`

	item *todoItem
}

// String is the proposal in one line.
func (p *Proposal) String() string {
	switch {
	case p.Task == 0:
		return fmt.Sprintf("line %d: new task: %s", p.Line, p.To)
	case p.From == "":
		return fmt.Sprintf("line %d: task %d: %s: %s", p.Line, p.Task, p.Field, p.To)
	}
	return fmt.Sprintf("line %d: task %d: %s: %s -> %s", p.Line, p.Task, p.Field, p.From, p.To)
}

// NewTask returns the fields of a task to create.
func (p *Proposal) NewTask() (Fields, error) {
	return parseFields(p.item.text, nil)
}

// Reason returns why a task is blocked, if the file says so.
func (p *Proposal) Reason() string {
	return p.item.blocked
}

// Value returns what the field becomes.
func (p *Proposal) Value() any {
	switch p.Field {
	case "dependencies":
		list, _ := numberList(p.To) // joinNumbers wrote it; an empty text is an empty list
		return list
	case "parent":
		n, err := strconv.Atoi(p.To)
		if err != nil {
			return nil
		}
		return n
	}
	return p.To
}

// Edits is the user's changes of TODO.md since tercet wrote it.
type Edits struct {
	Edited    bool       `json:"edited"`
	Serial    uint64     `json:"serial"` // of the state in the file
	Proposals []Proposal `json:"proposals"`
	// tasks whose line is gone; it comes back, so no task is lost
	Missing  []int    `json:"missing"`
	Notes    int      `json:"notes"` // pieces of foreign text, which stay
	Warnings []string `json:"warnings"`
}

// States are the states that TODO.md is compared with.
type States struct {
	Current *statefile.Document
	Archive *statefile.Document // nil if there is none
	// At returns the state of a serial: TODO.md shows one.
	At func(serial uint64) (*statefile.Document, error)
	// Force compares with the current state if the one that TODO.md shows cannot be read.
	Force bool
}

// Compare returns the edits of TODO.md: what differs from the state that it shows, and is not in
// the current state yet. src is nil if there is no file.
func Compare(src []byte, states States) (Edits, error) {
	edits := Edits{
		Proposals: []Proposal{},
		Missing:   []int{},
		Warnings:  []string{},
	}
	if src == nil {
		return edits, nil
	}
	text := parseTodo(src)
	if string(text.bytes()) != string(src) {
		return edits, formats.Fail(formats.CodeBug, "",
			"reading TODO.md loses a part of it")
	}

	edits.Edited = !text.intact
	edits.Serial = text.serial
	edits.Notes = len(text.notes())
	if text.intact || len(src) == 0 {
		return edits, nil
	}

	base := states.Current
	if !text.hasHead || text.serial != states.Current.Serial {
		then, err := shownState(text, states)
		switch {
		case err == nil:
			base = then
		case !states.Force:
			return edits, formats.Fail(formats.CodePrecondition,
				"compare it with the state as it is now, with: tercet task sync --force",
				"tercet cannot find the state that TODO.md was written from, so it cannot tell "+
					"edits from old text: %v", err)
		default:
			edits.Warnings = append(edits.Warnings,
				"TODO.md is compared with the state as it is now")
		}
	}
	c := comparison{
		base:    base,
		current: states.Current,
		archive: states.Archive,
		edits:   &edits,
	}
	c.run(text)
	return edits, nil
}

// shownState returns the state that TODO.md was rendered from.
func shownState(text *todoText, states States) (*statefile.Document, error) {
	if !text.hasHead {
		return nil, errors.New("its first line is gone")
	}
	return states.At(text.serial)
}

// comparison finds the edits: what differs from the rendered state and is not in the current state
// yet.
type comparison struct {
	base, current, archive *statefile.Document
	edits                  *Edits
}

func (c *comparison) run(text *todoText) {
	seen := map[int]int{}
	for _, item := range text.items() {
		if first, twice := seen[item.number]; item.number > 0 && twice {
			c.addProblem(
				item,
				"title",
				fmt.Sprintf("task %d stands on line %d as well", item.number, first),
				"remove one of the two lines",
			)
			continue
		}
		seen[item.number] = item.line
		c.compareItem(item)
	}

	for i := range c.base.Tasks {
		if n := c.base.Tasks[i].Number; seen[n] == 0 && c.current.Find(n) != nil {
			c.edits.Missing = append(c.edits.Missing, n)
		}
	}
	slices.Sort(c.edits.Missing)
}

func (c *comparison) addProblem(item *todoItem, field, problem, help string) {
	c.edits.Proposals = append(c.edits.Proposals,
		Proposal{
			Line:    item.line,
			Task:    item.number,
			Field:   field,
			To:      item.text,
			Problem: problem,
			Help:    help,
		})
}

func (c *comparison) propose(item *todoItem, field, from, to string) {
	c.edits.Proposals = append(c.edits.Proposals,
		Proposal{
			Line:  item.line,
			Task:  item.number,
			Field: field,
			From:  from,
			To:    to,
			item:  item,
		})
}

func (c *comparison) compareItem(item *todoItem) {
	before := c.base.Find(item.number)
	now := c.current.Find(item.number)
	archived := c.archive.Find(item.number) != nil

	switch {
	case item.number == 0, before == nil && now == nil && !archived,
		before == nil && now != nil && !sameLine(item, now):
		c.proposeTask(item)
	case before == nil:
		// A sync created the same task meanwhile but did not get to write the file.
	case now == nil && sameLine(item, before) && item.section == before.Status:
		// It was archived meanwhile, and its line stayed the same.
	case now == nil:
		c.addProblem(
			item,
			"title",
			fmt.Sprintf("task %d is archived", item.number),
			"unarchive it first, or take the edit back",
		)
	default:
		c.compareTask(item, before, now)
	}
}

func sameLine(item *todoItem, t *formats.Task) bool {
	var b bytes.Buffer
	writeTaskText(&b, t)
	return item.text == b.String()
}

// proposeTask proposes a task that the user wrote by hand, unless it was created meanwhile.
func (c *comparison) proposeTask(item *todoItem) {
	f, err := parseFields(item.text, nil)
	if err != nil {
		c.addProblem(item, "create", err.Error(), "")
		return
	}

	for i := range c.current.Tasks {
		if t := &c.current.Tasks[i]; t.Title == f.Title && c.base.Find(t.Number) == nil {
			return
		}
	}

	if item.section != "" && item.section != formats.NotStarted {
		c.edits.Warnings = append(
			c.edits.Warnings,
			fmt.Sprintf("line %d: a new task begins as %s, not as %s",
				item.line, formats.NotStarted, item.section),
		)
	}

	p := Proposal{
		Line:  item.line,
		Field: "create",
		To:    f.Title,
		item:  item,
	}
	c.edits.Proposals = append(c.edits.Proposals, p)
}

// compareTask finds the edits of one task. A field that also changed in the state is a problem.
func (c *comparison) compareTask(item *todoItem, before, now *formats.Task) {
	field := func(name, was, is, meanwhile string) {
		switch {
		case was == is || is == meanwhile:
		case was != meanwhile:
			c.addProblem(
				item, name,
				fmt.Sprintf("%s is changed to %q here and to %q in the state, from %q",
					name, is, meanwhile, was),
				"take one of the two changes back",
			)
		default:
			c.propose(item, name, was, is)
		}
	}

	if !sameLine(item, before) && !sameLine(item, now) {
		f, err := parseFields(item.text, before)
		if err != nil {
			c.addProblem(item, "title", err.Error(), "")
			return
		}
		field("title", asRendered(before.Title), f.Title, asRendered(now.Title))
		field("language", asRendered(before.Language), f.Language, asRendered(now.Language))
		field("priority", asRendered(before.Priority), f.Priority, asRendered(now.Priority))
		field("effort", asRendered(before.Effort), f.Effort, asRendered(now.Effort))
		field(
			"dependencies",
			statefile.JoinNumbers(before.Dependencies),
			statefile.JoinNumbers(f.Dependencies),
			statefile.JoinNumbers(now.Dependencies),
		)
		field(
			"parent",
			parentText(before.Parent),
			parentText(orNil(f.Parent)),
			parentText(now.Parent),
		)
	}

	to, why := item.status(before.Status)
	if why != "" {
		c.addProblem(item, "status", why, "")
		return
	}

	field("status", before.Status.String(), to.String(), now.Status.String())
	is := asRendered(before.BlockedReason)
	switch {
	case to == formats.Blocked && before.Status == formats.Blocked:
		field("blocked_reason", is, item.blocked, asRendered(now.BlockedReason))
	case to != formats.Blocked && item.blocked != is && item.blocked != "":
		c.addProblem(item, "blocked_reason", "a reason stands below a task that is not blocked",
			"move the task below the heading "+heading(formats.Blocked))
	}

	for _, a := range item.artifacts {
		known := func(t *formats.Task) bool {
			return slices.ContainsFunc(t.Artifacts, func(b formats.Artifact) bool {
				return asRendered(b.Path) == a.Path
			})
		}
		if !known(before) && !known(now) {
			c.propose(item, "artifact", "", string(a.Type)+": "+a.Path)
		}
	}
}

// status derives the status from the heading above the line and its box. A ticked box completes a
// task, a cleared one reopens it, and the heading counts if the line was moved below it.
func (item *todoItem) status(before formats.TaskStatus) (formats.TaskStatus, string) {
	moved := item.section != "" && item.section != before
	ticked := item.checked != before.Terminal()

	switch {
	case moved && ticked && item.checked != item.section.Terminal():
		return "", fmt.Sprintf("the box and the heading %q say two things", heading(item.section))
	case moved:
		return item.section, ""
	case ticked && item.checked:
		return formats.Completed, ""
	case ticked:
		return formats.NotStarted, ""
	}
	return before, ""
}

// asRendered is a text as it reads after a round trip through TODO.md.
func asRendered(s string) string {
	return unescapeLine(escapeLine(s))
}

func parentText(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func orNil(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
