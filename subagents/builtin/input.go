package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/subagents"
)

// input reads the input of a request and collects what is wrong with it. A null counts as not given.
type input struct {
	at  string // put in front of names in messages: "tasks[1]."
	in  map[string]any
	bad *[]string
}

func inputOf(r formats.Request) input { return input{in: r.Input, bad: &[]string{}} }

// err is nil if nothing was wrong.
func (i input) err(agent string) error {
	if len(*i.bad) == 0 {
		return nil
	}
	return &subagents.InputError{Agent: agent, Problems: *i.bad}
}

func (i input) wrong(name, want string) {
	got := "nothing"
	switch v := i.in[name].(type) {
	case nil:
	case string:
		got = fmt.Sprintf("%q", v)
	case map[string]any:
		got = "an object"
	case []any:
		got = fmt.Sprintf("a list of %d", len(v))
	default:
		got = fmt.Sprint(v)
	}
	*i.bad = append(*i.bad, fmt.Sprintf("expected %s as %s%s, got %s", want, i.at, name, got))
}

func (i input) has(name string) bool { return i.in[name] != nil }

// only reports names outside the given ones.
func (i input) only(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(i.in)) {
		if i.in[name] == nil || slices.Contains(names, name) {
			continue
		}
		one := fmt.Sprintf("expected %s, got %s%s", strings.Join(names, ", "), i.at, name)
		if help := nearest.Help(name, names); help != "" {
			one += ", " + help
		}
		*i.bad = append(*i.bad, one)
	}
}

func (i input) text(name string) string {
	s, ok := i.in[name].(string)
	if !ok && i.has(name) {
		i.wrong(name, "a string")
	}
	return s
}

// need is text that must be given.
func (i input) need(name, want string) string {
	s := i.text(name)
	if strings.TrimSpace(s) == "" && (!i.has(name) || i.in[name] == "") {
		i.wrong(name, want)
	}
	return s
}

func (i input) flag(name string) bool {
	b, ok := i.in[name].(bool)
	if !ok && i.has(name) {
		i.wrong(name, "true or false")
	}
	return b
}

// number reads a whole number from 1; 0 if it is not given.
func (i input) number(name string) int {
	if !i.has(name) {
		return 0
	}
	n, ok := whole(i.in[name])
	if !ok || n < 1 {
		i.wrong(name, "a whole number from 1")
		return 0
	}
	return n
}

// paths reads a list of paths, or of artifacts with a path; nil if it is not given.
func (i input) paths(name string) []string {
	if !i.has(name) {
		return nil
	}
	list, ok := i.in[name].([]any)
	if !ok {
		i.wrong(name, "a list of paths")
		return nil
	}
	out := []string{}
	for _, v := range list {
		if m, isMap := v.(map[string]any); isMap {
			v = m["path"]
		}
		p, ok := v.(string)
		if !ok || p == "" {
			i.wrong(name, "paths or artifacts")
			return nil
		}
		out = append(out, p)
	}
	return out
}

func (i input) numbers(name string) []int {
	if !i.has(name) {
		return nil
	}
	switch list := i.in[name].(type) {
	case []int:
		return list
	case []any:
		out := make([]int, 0, len(list))
		for _, v := range list {
			n, ok := whole(v)
			if !ok || n < 1 {
				i.wrong(name, "whole numbers from 1")
				return nil
			}
			out = append(out, n)
		}
		return out
	}
	i.wrong(name, "a list of whole numbers")
	return nil
}

func (i input) words(name string) []string {
	if !i.has(name) {
		return nil
	}
	switch list := i.in[name].(type) {
	case []string:
		return list
	case []any:
		out := make([]string, 0, len(list))
		for _, v := range list {
			s, ok := v.(string)
			if !ok {
				i.wrong(name, "a list of strings")
				return nil
			}
			out = append(out, s)
		}
		return out
	}
	i.wrong(name, "a list of strings")
	return nil
}

func (i input) object(name string) map[string]any {
	o, ok := i.in[name].(map[string]any)
	if !ok && i.has(name) {
		i.wrong(name, "an object")
	}
	return o
}

// objects reads a list of objects, each as an input of its own.
func (i input) objects(name string) []input {
	if !i.has(name) {
		return nil
	}
	list, ok := i.in[name].([]any)
	if !ok {
		i.wrong(name, "a list of objects")
		return nil
	}
	var out []input
	for n, v := range list {
		o, ok := v.(map[string]any)
		if !ok {
			i.wrong(name, "a list of objects")
			return nil
		}
		out = append(out, input{at: fmt.Sprintf("%s%s[%d].", i.at, name, n), in: o, bad: i.bad})
	}
	return out
}

func (i input) artifacts(name string) []formats.Artifact {
	if list, ok := i.in[name].([]formats.Artifact); ok {
		return list
	}
	var out []formats.Artifact
	for _, o := range i.objects(name) {
		out = append(out, formats.Artifact{
			Type: formats.ArtifactType(o.text("type")), Path: o.need("path", "a path"), Summary: o.text("summary"), Deleted: o.flag("deleted"),
		})
	}
	return out
}

// whole reads a number without a fraction.
func whole(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		return int(n), n == float64(int(n))
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}

func anyInts(list []int) []any {
	out := make([]any, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}
