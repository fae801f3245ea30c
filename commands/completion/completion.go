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
	"tercet/internal/order"
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
	Lines     Kind = "lines" // whole lines: a command with its arguments
)

// Sources supplies the names to choose from.
type Sources struct {
	// Names gives the names of a kind, best first.
	Names func(Kind) []Item
	// Command gives the arguments of a command, and the task statuses from which it may begin; nil:
	// from any.
	Command func(name string) (specs []argspec.Spec, from []formats.TaskStatus, ok bool)
	Tasks   func() []formats.Task
	// Hint gives the hint about its arguments in a command's own file, empty without one; nil: none
	// has any.
	Hint func(name string) string
	// Verb gives what may follow the words of a verb: the verbs behind it, or names of a kind. nil:
	// nothing.
	Verb func(words []string) ([]Item, Kind)
	// Raw leaves values as they are: a shell quotes them itself.
	Raw bool
}

// Most bounds the items of an offer.
const Most = 200

// At gives the completions at a byte of a line.
func (s Sources) At(line string, at int) Offer {
	begin := commandStart(line[:at])
	head := line[begin:at]
	from := at - len(lastWord(head))
	o := Offer{From: from, To: at}
	typed := line[from:at]
	switch {
	case strings.HasPrefix(typed, "@"):
		o.From++
		o.Items = s.quoteItems(rankItems(typed[1:], s.Names(Files)))
	case !strings.HasPrefix(head, "/") && from == begin:
		if len(typed) > 1 {
			o.Items = slices.DeleteFunc(rankItems(typed, s.Names(Verbs)), func(i Item) bool {
				return !strings.HasPrefix(i.Value, typed)
			})
		}
	case !strings.HasPrefix(head, "/"):
		if inner := s.lineBehind(head); inner > 0 {
			return s.atInnerLine(line, begin+inner, at)
		}
		o.Items = s.behindVerb(head[:len(head)-len(typed)], typed)
	case from == begin:
		o.Items = rankItems(typed, s.Names(Commands))
	default:
		name := head[:strings.IndexFunc(head, unicode.IsSpace)]
		rest := head[len(name) : len(head)-len(typed)]
		if specs, allow, ok := s.Command(name[1:]); ok {
			s.argument(&o, specs, allow, argument{name, rest, typed})
		} else {
			o.Items = s.behindVerb(head[1:len(head)-len(typed)], typed)
		}
	}

	o.Items = o.Items[:min(len(o.Items), Most)]
	return o
}

// lineBehind is where a line begins that stands behind a verb, as in "explain /plan 1"; 0 if none
// does.
func (s Sources) lineBehind(head string) int {
	verb, rest, _ := strings.Cut(head, " ")
	rest = strings.TrimLeft(rest, " ")
	if s.Verb == nil || !strings.HasPrefix(rest, "/") {
		return 0
	}
	if _, kind := s.Verb([]string{verb}); kind != Lines {
		return 0
	}
	return len(head) - len(rest)
}

// atInnerLine gives the completions at a byte of a line of which a part is a line of its own.
func (s Sources) atInnerLine(line string, begin, at int) Offer {
	o := s.At(line[begin:], at-begin)
	o.From += begin
	o.To += begin
	return o
}

// behindVerb offers what may follow the words of a verb.
func (s Sources) behindVerb(words, typed string) []Item {
	if s.Verb == nil || strings.HasPrefix(typed, "-") {
		return nil
	}
	items, kind := s.Verb(strings.Fields(words))
	switch kind {
	case "":
		return rankItems(typed, items)
	case TaskKind:
		return tasks(s.Tasks(), nil, typed)
	case Commands, Lines:
		return rankItems(typed, s.Names(Commands))
	case Verbs, Subagents, Runs, Files, Statuses:
	}
	return s.quoteItems(rankItems(typed, s.Names(kind)))
}

// argument is a word of a line behind its command.
type argument struct{ name, before, typed string }

// argument offers what may follow a command.
func (s Sources) argument(o *Offer, specs []argspec.Spec, allow []formats.TaskStatus, a argument) {
	turn, given := argspec.NextArgument(specs, a.before)
	all := specs
	flag := strings.HasPrefix(a.typed, "-")
	if name, value, has := strings.Cut(a.typed, "="); flag && has {
		if of, _ := argspec.NextArgument(all, name); of != nil && of.Flag {
			o.From = o.To - len(value)
			a.typed = value
			turn = of
			flag = false
		}
	}
	o.Hint = append(o.Hint, Part{Text: a.name})
	if s.Hint != nil {
		if text := s.Hint(a.name[1:]); text != "" {
			o.Hint = append(o.Hint, Part{Text: text})
			specs = nil
		}
	}
	for _, flags := range []bool{false, true} {
		for i := range specs {
			if sp := &specs[i]; sp.Flag == flags {
				o.Hint = append(o.Hint, Part{sp.Shape(), turn != nil && sp.Name == turn.Name})
			}
		}
	}

	if !flag && turn != nil {
		isTask := turn.Name == argspec.TaskName(all)
		if !isTask {
			allow = nil
		}
		if turn.Type == argspec.Tasks { // the last of several
			first := strings.LastIndexAny(a.typed, ",-") + 1
			o.From += first
			a.typed = a.typed[first:]
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
		for i := range all {
			if sp := &all[i]; sp.Flag && (!given[sp.Name] || sp.Repeat) {
				flags = append(flags, Item{Value: sp.Label(), About: sp.Description})
			}
		}
		o.Items = rankItems(a.typed, flags)
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
		return append(rankItems(typed, out), tasks(s.Tasks(), allow, typed)...)
	case kind != "":
		return append(rankItems(typed, out), s.quoteItems(rankItems(typed, s.Names(kind)))...)
	case sp.Type == argspec.Path:
		return append(rankItems(typed, out), s.quoteItems(rankItems(typed, s.Names(Files)))...)
	}
	return rankItems(typed, out)
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

// rankItems gives the items that hold the letters of a word in their order, the best first.
func rankItems(word string, items []Item) []Item {
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
	order.Stable(found, func(a, b ranked) int {
		return cmp.Compare(a.rank, b.rank)
	})

	out := make([]Item, len(found))
	for i, f := range found {
		out[i] = f.Item
	}
	return out
}

// quoteItems gives values as words of a line.
func (s Sources) quoteItems(items []Item) []Item {
	for i := range items {
		if !s.Raw {
			items[i].Value = argspec.Join([]string{items[i].Value})
		}
	}
	return items
}

// commandStart is where the last command of a line begins: behind && or ; with a slash.
func commandStart(head string) int {
	begin := len(head) - len(strings.TrimLeft(head, " "))
	if strings.HasPrefix(head[begin:], "tercet ") { // as a line for a shell is copied
		begin += len("tercet ")
	}
	for _, sign := range []string{" && /", " ; /"} {
		if at := strings.LastIndex(head, sign); at >= 0 {
			begin = max(begin, at+len(sign)-1)
		}
	}
	return begin
}

// lastWord is what a text ends with behind its last space outside of double quotes.
func lastWord(head string) string {
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
