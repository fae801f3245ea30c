// Package completion offers completions for a place in a line, both to the prompt and to shells.
//
// Promise: every offer fits. It offers a task only if the task's status lets the command begin, and
// a file only if git does not ignore it. It is deterministic and reads only its Sources.
//
// It will not run anything, and changes no line.
//
// Concurrency: its functions keep nothing between two calls.
package completion

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/nearest"
)

// Item is one completion.
type Item struct {
	Value string
	About string
	Open  bool // the user types on: no space follows
}

// Part is one piece of the usage of the line.
type Part struct {
	Text    string
	Current bool
}

// Offer is all completions for one place in a line.
type Offer struct {
	From, To int // bytes of the line that an item replaces
	Items    []Item
	Hint     []Part
}

// Kind is a kind of names of the project.
type Kind string

// The kinds of names that Sources.Names gives.
const (
	Commands  Kind = "commands" // with their slash
	Verbs     Kind = "verbs"
	Subagents Kind = "subagents"
	Runs      Kind = "runs"
	Files     Kind = "files"
	Statuses  Kind = "statuses"
	TaskKind  Kind = "tasks"
)

// Sources supplies the names to choose from.
type Sources struct {
	// Names gives the names of a kind, best first.
	Names func(Kind) []Item
	// Command gives the arguments of a command, and the task statuses from which it may begin; nil:
	// from any.
	Command func(name string) (specs []argspec.Spec, from []formats.TaskStatus, ok bool)
	Tasks   func() []formats.Task
	// Raw leaves values as they are: a shell quotes them itself.
	Raw bool
}

// Most bounds the items of an offer.
const Most = 200

// At gives the completions at a byte of a line.
func (s Sources) At(line string, at int) Offer {
	begin := command(line[:at])
	head := line[begin:at]
	from := at - len(word(head))
	o := Offer{From: from, To: at}
	typed := line[from:at]
	switch {
	case strings.HasPrefix(typed, "@"):
		o.From++
		o.Items = s.quoted(fit(typed[1:], s.Names(Files)))
	case !strings.HasPrefix(head, "/") && from == begin:
		if len(typed) > 1 {
			o.Items = slices.DeleteFunc(fit(typed, s.Names(Verbs)), func(i Item) bool {
				return !strings.HasPrefix(i.Value, typed)
			})
		}
	case !strings.HasPrefix(head, "/"):
	case from == begin:
		o.Items = fit(typed, s.Names(Commands))
	default:
		name := head[:strings.IndexFunc(head, unicode.IsSpace)]
		rest := head[len(name) : len(head)-len(typed)]
		if specs, allow, ok := s.Command(name[1:]); ok {
			s.argument(&o, specs, allow, argument{name, rest, typed})
		}
	}

	o.Items = o.Items[:min(len(o.Items), Most)]
	return o
}

// argument is a word of a line behind its command.
type argument struct{ name, before, typed string }

// argument offers what may follow a command.
func (s Sources) argument(o *Offer, specs []argspec.Spec, allow []formats.TaskStatus, a argument) {
	turn, given := argspec.Turn(specs, a.before)
	flag := strings.HasPrefix(a.typed, "-")
	if name, value, has := strings.Cut(a.typed, "="); flag && has {
		if of, _ := argspec.Turn(specs, name); of != nil && of.Flag {
			o.From = o.To - len(value)
			a.typed = value
			turn = of
			flag = false
		}
	}
	o.Hint = append(o.Hint, Part{Text: a.name})
	for _, flags := range []bool{false, true} {
		for i := range specs {
			if sp := &specs[i]; sp.Flag == flags {
				o.Hint = append(o.Hint, Part{sp.Shape(), turn != nil && sp.Name == turn.Name})
			}
		}
	}

	if !flag && turn != nil {
		isTask := turn.Name == argspec.TaskName(specs)
		if !isTask {
			allow = nil
		}
		o.Items = s.values(turn, isTask, allow, a.typed)
		if len(o.Items) == 0 && a.typed == "" && allow != nil {
			words := make([]string, len(allow))
			for i, one := range allow {
				words[i] = one.String()
			}
			o.Hint = append(o.Hint, Part{Text: "(no task is " + strings.Join(words, ", ") + ")"})
		}
		return
	}
	if given != nil && (flag || a.typed == "") {
		var flags []Item
		for i := range specs {
			if sp := &specs[i]; sp.Flag && (!given[sp.Name] || sp.Repeat) {
				flags = append(flags, Item{Value: sp.Label(), About: sp.Description})
			}
		}
		o.Items = fit(a.typed, flags)
	}
}

// values offers what an argument may be.
func (s Sources) values(
	sp *argspec.Spec,
	isTask bool,
	allow []formats.TaskStatus,
	typed string,
) []Item {
	var out []Item
	for _, v := range sp.Values {
		out = append(out, Item{Value: v})
	}
	kind := Kind(sp.Complete)
	switch {
	case isTask, sp.Type == argspec.Task, sp.Type == argspec.Tasks, kind == TaskKind:
		if sp.Type == argspec.Tasks {
			typed = typed[strings.LastIndexAny(typed, ",-")+1:]
		}
		return append(fit(typed, out), tasks(s.Tasks(), allow, typed)...)
	case kind != "":
		return append(fit(typed, out), s.quoted(fit(typed, s.Names(kind)))...)
	case sp.Type == argspec.Path:
		return append(fit(typed, out), s.quoted(fit(typed, s.Names(Files)))...)
	}
	return fit(typed, out)
}

// tasks offers the tasks in one of some statuses whose number begins with what was typed, or whose
// title holds it.
func tasks(all []formats.Task, allow []formats.TaskStatus, typed string) []Item {
	var out []Item
	for _, t := range all {
		if allow != nil && !slices.Contains(allow, t.Status) {
			continue
		}
		number := strconv.Itoa(t.Number)
		_, ok := nearest.Within(typed, t.Title)
		if strings.HasPrefix(number, typed) || ok && len(typed) > 1 {
			out = append(out, Item{Value: number, About: t.Title + " (" + t.Status.String() + ")"})
		}
	}
	return out
}

// fit gives the items that hold the letters of a word in their order, the best first.
func fit(word string, items []Item) []Item {
	type ranked struct {
		Item
		rank int
	}
	var found []ranked
	for _, i := range items {
		rank, ok := nearest.Within(strings.TrimPrefix(word, "/"), strings.TrimPrefix(i.Value, "/"))
		if ok {
			found = append(found, ranked{i, rank})
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int {
		return cmp.Compare(a.rank, b.rank)
	})
	out := make([]Item, len(found))
	for i, f := range found {
		out[i] = f.Item
	}
	return out
}

// quoted gives values as words of a line.
func (s Sources) quoted(items []Item) []Item {
	for i := range items {
		if !s.Raw {
			items[i].Value = argspec.Join([]string{items[i].Value})
		}
	}
	return items
}

// command is where the last command of a line begins: behind && or ; with a slash.
func command(head string) int {
	begin := len(head) - len(strings.TrimLeft(head, " "))
	for _, sign := range []string{" && /", " ; /"} {
		if at := strings.LastIndex(head, sign); at >= 0 {
			begin = max(begin, at+len(sign)-1)
		}
	}
	return begin
}

// word is what a text ends with behind its last space outside of double quotes.
func word(head string) string {
	from := 0
	inside := false
	for i, r := range head {
		switch {
		case r == '"':
			inside = !inside
		case !inside && unicode.IsSpace(r):
			from = i + len(string(r))
		}
	}
	if inside {
		from = strings.LastIndexFunc(head, unicode.IsSpace) + 1
	}
	return head[from:]
}
