package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/subagents"
)

// input reads the input of a request and collects what is wrong with it. A null counts as not
// given.
type input struct {
	prefix   string // put in front of names in messages: "tasks[1]."
	values   map[string]any
	raw      map[string]any // the same as it came
	problems *[]string
}

// inputOf gives the input as JSON has it, whatever types it came with.
func inputOf(r formats.Request) input {
	i := input{raw: r.Input, problems: &[]string{}}
	text, err := json.Marshal(r.Input)
	if err == nil {
		numbers := json.NewDecoder(bytes.NewReader(text))
		numbers.UseNumber()
		err = numbers.Decode(&i.values)
	}
	if err != nil {
		*i.problems = append(*i.problems, "expected input that JSON can hold: "+err.Error())
	}
	return i
}

// err is nil if nothing was wrong.
func (i input) err(agent string) error {
	if len(*i.problems) == 0 {
		return nil
	}
	return subagents.BadInput(agent, *i.problems)
}

// asReturn is the answer of a subagent: an error is a failed return, unless the delegation was
// cancelled, has to ask, or could not read or write something, such as on a full disk. Such a
// delegation is done again when the run is resumed, and a failed return would be its answer then.
func asReturn(ctx context.Context, ret formats.Return, err error) (formats.Return, error) {
	switch {
	case err == nil:
		return ret, nil
	case ctx.Err() != nil, isOpenGate(err), isStorageError(err):
		return formats.Return{}, err
	}
	failed := formats.Failed(err)
	failed.Warnings = ret.Warnings
	return failed, nil
}

// isOpenGate tells whether an error is a question that the run has to ask.
func isOpenGate(err error) bool {
	_, open := errors.AsType[*formats.GateOpenError](err)
	return open
}

// isStorageError tells whether tercet itself could not read or write something. That a file is
// missing is an answer, which a workflow may follow.
func isStorageError(err error) bool {
	code := formats.CodeOf(err)
	missing := errors.Is(err, fs.ErrNotExist)
	return code == formats.CodeNotDurable || code == formats.CodeIO && !missing
}

// needItems reports a list without elements, if nothing else is wrong.
func (i input) needItems(name, want string, n int) {
	if n == 0 && len(*i.problems) == 0 {
		i.refuse(name, "at least one "+want)
	}
}

// refuse records that a member is not what was wanted.
func (i input) refuse(name, want string) {
	got := "nothing"
	switch v := i.values[name].(type) {
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
	problem := fmt.Sprintf("expected %s as %s%s, got %s", want, i.prefix, name, got)
	*i.problems = append(*i.problems, problem)
}

func (i input) has(name string) bool {
	return i.values[name] != nil
}

// allowOnly reports names outside the given ones.
func (i input) allowOnly(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(i.values)) {
		if i.values[name] == nil || slices.Contains(names, name) {
			continue
		}
		one := fmt.Sprintf("expected %s, got %s%s", strings.Join(names, ", "), i.prefix, name)
		if help := nearest.Help(name, names); help != "" {
			one += ", " + help
		}
		*i.problems = append(*i.problems, one)
	}
}

func (i input) text(name string) string {
	s, ok := i.values[name].(string)
	if !ok && i.has(name) {
		i.refuse(name, "a string")
	}
	return s
}

// needText is text that must be given.
func (i input) needText(name, want string) string {
	s := i.text(name)
	if strings.TrimSpace(s) == "" && (!i.has(name) || i.values[name] == "") {
		i.refuse(name, want)
	}
	return s
}

func (i input) flag(name string) bool {
	b, ok := i.values[name].(bool)
	if !ok && i.has(name) {
		i.refuse(name, "true or false")
	}
	return b
}

// number reads a whole number from 1; 0 if it is not given.
func (i input) number(name string) int {
	if !i.has(name) {
		return 0
	}
	n, ok := wholeNumber(i.values[name])
	if !ok || n < 1 {
		i.refuse(name, "a whole number from 1")
		return 0
	}
	return n
}

// list reads the items of a list; nil if it is not given. want and each are what messages expect of
// the list and its items.
func list[T any](i input, name, want, each string, read func(n int, v any) (T, bool)) []T {
	if !i.has(name) {
		return nil
	}
	items, ok := i.values[name].([]any)
	if !ok {
		i.refuse(name, want)
		return nil
	}
	out := make([]T, 0, len(items))
	for n, v := range items {
		one, ok := read(n, v)
		if !ok {
			i.refuse(name, each)
			return nil
		}
		out = append(out, one)
	}
	return out
}

// paths reads a list of paths, or of artifacts with a path.
func (i input) paths(name string) []string {
	return list(
		i, name,
		"a list of paths",
		"paths or artifacts",
		func(_ int, v any) (string, bool) {
			if m, isMap := v.(map[string]any); isMap {
				v = m["path"]
			}
			p, ok := v.(string)
			return p, ok && p != ""
		},
	)
}

func (i input) numbers(name string) []int {
	return list(
		i, name,
		"a list of whole numbers",
		"whole numbers from 1",
		func(_ int, v any) (int, bool) {
			n, ok := wholeNumber(v)
			return n, ok && n > 0
		},
	)
}

func (i input) words(name string) []string {
	return list(
		i, name,
		"a list of strings",
		"a list of strings",
		func(_ int, v any) (string, bool) {
			s, ok := v.(string)
			return s, ok
		},
	)
}

func (i input) object(name string) map[string]any {
	o, ok := i.raw[name].(map[string]any)
	if !ok && i.has(name) {
		i.refuse(name, "an object")
	}
	return o
}

// objects reads a list of objects, each as an input of its own.
func (i input) objects(name string) []input {
	return list(
		i, name,
		"a list of objects",
		"a list of objects",
		func(n int, v any) (input, bool) {
			o, ok := v.(map[string]any)
			return input{
				prefix:   fmt.Sprintf("%s%s[%d].", i.prefix, name, n),
				values:   o,
				problems: i.problems,
			}, ok
		},
	)
}

func (i input) artifacts(name string) []formats.Artifact {
	var out []formats.Artifact
	for _, o := range i.objects(name) {
		out = append(out, formats.Artifact{
			Type:    formats.ArtifactType(o.text("type")),
			Path:    o.needText("path", "a path"),
			Summary: o.text("summary"),
			Deleted: o.flag("deleted"),
		})
	}
	return out
}

// wholeNumber reads a number without a fraction.
func wholeNumber(v any) (int, bool) {
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	_, number := v.(json.Number)
	return int(f), number && err == nil && f == float64(int(f))
}
