package syntax

import (
	"reflect"
	"slices"
	"strings"

	"tercet/internal/md"
	"tercet/internal/strict"
)

// fill reads a map by its form into a struct. Each key goes into the field of its name (next_steps
// into NextSteps), whose type says how to read it. other comes first and tells whether it took the
// key; nil takes none.
func (p *parser) fill(to any, form Form, n *md.Node, other func(key string, v *md.Node) bool) {
	for key, v := range p.Map(n, "a map of keys", form.keys()) {
		if other == nil || !other(key.Value, v) {
			p.readField(to, form, key.Value, v)
		}
	}
}

// record reads a map by its form into a struct that keeps its place, or the value that is short for
// one.
func record[T any](p *parser, form Form, n *md.Node) *T {
	to := new(T)
	reflect.ValueOf(to).Elem().FieldByName("Pos").Set(reflect.ValueOf(n.Pos))
	if form.Short != "" && n.Kind != md.Map {
		p.readField(to, form, form.Short, n)
		return to
	}
	p.fill(to, form, n, nil)
	p.checkNeeds(form, n)
	return to
}

// checkNeeds reports a map without the key that its form needs.
func (p *parser) checkNeeds(form Form, n *md.Node) {
	key, _, _ := strings.Cut(form.Needs, ":")
	if key != "" && n.Kind == md.Map && n.Get(key) == nil {
		p.report(CodeValue, n.Pos, "add '"+form.Needs+"'", "expected '%s' in %s", key, form.What)
	}
}

// readField reads one value into the field of its key, if the struct has it.
func (p *parser) readField(to any, form Form, key string, v *md.Node) {
	name := strings.ReplaceAll(key, "_", "")
	field := reflect.ValueOf(to).Elem().FieldByNameFunc(func(f string) bool {
		return strings.EqualFold(f, name)
	})
	if field.IsValid() {
		p.readInto(field.Addr().Interface(), form.key(key), wordDescriptions[form.Name+"."+key], v)
	}
}

// readInto reads a value by the type of its place. want says what a word is.
func (p *parser) readInto(to any, key Key, want string, n *md.Node) {
	switch to := to.(type) {
	case *string:
		*to = p.str(n)
	case *[]string:
		*to = p.strs(n)
	case *bool:
		*to, _ = strict.As(&p.Decoder, n, "true or false", strict.Bool) // what is wrong is false
	case *int:
		*to = p.integer(n, 1)
	case *float64:
		*to = p.duration(n)
	case *Word:
		*to = p.wordOf(key, want, n)
	case **Word:
		if w := p.wordOf(key, want, n); w.Text != "" {
			*to = &w
		}
	case *[]Word:
		if key.Name == "tiers" {
			*to = p.tiers(n)
			return
		}
		*to = p.words(n, want)
	case *[]Argument:
		*to = p.arguments(n)
	case *[]Load:
		*to = p.loads(n)
	case *[]Require:
		*to = p.requires(n)
	case **Expr:
		*to = p.jq(n)
	case **Text:
		*to = p.text(n)
	case *[]*Text:
		*to = p.texts(n)
	case **Value:
		if want != "" && !isScalar(n) {
			p.Wrong(n, want, "")
			return
		}
		*to = p.value(n)
	case *[]*Value:
		*to = p.argv(n)
	case *[]Field:
		*to = p.fields(n)
	case **Shape:
		*to = p.schema(n)
	case **Tier:
		*to = p.tier(n)
	case **Timeout:
		*to = p.timeout(n)
	case **Retry:
		*to = p.retry(n)
	case **Expect:
		*to = p.expect(n)
	case **Return:
		*to = record[Return](p, returnForm, n)
	case **During:
		*to = p.during(n)
	case **Worktree:
		*to = p.worktree(n)
	case **Step:
		*to = p.compensation(n)
	case **Board:
		*to = record[Board](p, boardForm, n)
	case **Around:
		*to = p.around(key.Name, n)
	case *[]*Expr:
		for _, item := range itemsOf(n) {
			if e := p.jq(item); e != nil {
				*to = append(*to, e)
			}
		}
	case *[]GateChoice:
		*to = p.choices(n)
	case *[]Rule:
		*to = p.rules(n)
	}
}

// wordOf reads a text as it is, a label with spaces in it, a name, or a word, perhaps of a closed
// list.
func (p *parser) wordOf(key Key, want string, n *md.Node) Word {
	list, closed := strings.CutPrefix(want, "one of ")
	switch {
	case key.Name == "as", key.Name == "topic":
		return p.variable(n, want)
	case key.Is == "text":
		return Word{n.ValuePos(0), p.str(n)}
	case want == "a choice":
		return p.label(n)
	case closed:
		return p.oneOf(n, strings.Split(list, ", ")...)
	}
	return p.word(n, want)
}

// readParts reads the keys that are part of an action into it.
func (b *block) readParts(key string, to any) {
	for _, e := range b.node.Entries {
		first := b.node.Get(e.Key.Value) == e.Value
		if first && slices.Contains(partOf[e.Key.Value], key) && !e.Value.Absent() {
			b.p.readField(to, stepForm, e.Key.Value, e.Value)
		}
	}
}
