package compile_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// sameAnew compiles a text with and without what is kept from one place for another.
func sameAnew(t *testing.T, env compile.Env, src string) {
	t.Helper()
	_, rest, _ := strings.Cut(src, "command: ")
	word, _, _ := strings.Cut(rest, "\n")
	file := syntax.Read(word+".md", []byte(src))
	kept, err := compile.Compile(file, env)
	anew, errAnew := compile.CompileAnew(file, env)
	if (err == nil) != (errAnew == nil) || err != nil && err.Error() != errAnew.Error() {
		t.Fatalf("Compile = %v\nmade anew at each place: %v\n%s", err, errAnew, src)
	}
	if same(reflect.ValueOf(anew), reflect.ValueOf(kept)) {
		return
	}
	everything := cmp.Exporter(func(reflect.Type) bool { return true })
	code := cmp.Comparer(func(a, b *query.Code) bool { return (a == nil) == (b == nil) && (a == nil || a.Source() == b.Source()) })
	t.Fatalf("program (-made anew +kept):\n%s\n%s", cmp.Diff(anew, kept, everything, code), src)
}

// same compares programs in depth as package cmp does, in a tenth of its time; code is the same if its source is.
func same(a, b reflect.Value) bool {
	if !a.IsZero() != !b.IsZero() || !a.IsZero() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() { //nolint:exhaustive // the others are compared as they are
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		if a.Type() == reflect.TypeFor[*query.Code]() {
			return a.Elem().FieldByName("src").String() == b.Elem().FieldByName("src").String()
		}
		return a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() || same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() {
			if !same(a.MapIndex(key), b.MapIndex(key)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// onceOnly are texts in which a place matters to what stands there.
func onceOnly() map[string]string {
	const head = "---\ncommand: x\ndescription: x\n---\n\n## Workflow Execution\n\nEach gets it.\n\n"
	block := func(kind, text string) string { return "```yaml " + kind + "\n" + text + "\n```\n\n" }
	return map[string]string{
		"a variable of a loop": head + block("defaults", "with: {n: $item}") +
			"### Step 1: Loop\n\n" + block("step", "foreach: \"[1]\"\ndelegate: any") + "### Step 2: Alone\n\n" + block("step", "delegate: any"),
		"a step that comes later": head + block("defaults", "with: {n: $steps.b.fields.nothing}\non: {blocked: {if: $steps.b.fields.none == 1, return: x}, failed: {redo: [a]}}") +
			"### Step 1: A\n\n" + block("step", "id: a\ndelegate: any") + "### Step 2: B\n\n" + block("step", "id: b\ndelegate: typed") +
			"### Step 3: C\n\n" + block("step", "id: c\ndelegate: any"),
		"a field of the host": head + "### Step 1: A\n\n" + block("step", "id: a\ndelegate: any") + "### Step 2: B\n\n" + block("step", "id: b\ndelegate: typed") +
			"### Step 3: C\n\n" + block("step", "id: c\nforeach: \"[1]\"\nas: one\ndelegate: typed") +
			"## Between Steps\n\n### After each: ask\n\n" + block("step", "id: q\nafter: each\ngate: ${{ $it.fields.A }} ${{ $it.fields.none }}\nchoices: {again: {redo: it}, go: next, out: {goto: c}}") +
			"### After b: review\n\n" + block("step", "id: r\nafter: [a, b]\ndelegate: any\nwith: {x: $steps.a.fields.A, y: $steps.c.summary}\non: {rejected: {rollback: [a, it]}, failed: {if: .summary == \"x\", fail: true}}"),
	}
}

// TestMadeOnce: what is compiled once for many places is what would have been compiled for each, in the larger flows and in all that
// one slip makes of them.
func TestMadeOnce(t *testing.T) {
	t.Parallel()
	env, typed := stubbed(t), stubbed(t)
	for _, name := range []string{"spec-designer", "codebase-analyzer", "developer"} {
		typed.extra[name] = formats.AgentInfo{Name: name, Fields: map[string]formats.Field{"FIX": {Type: formats.TypeString}}}
	}
	env.extra["typed"] = formats.AgentInfo{Name: "typed", Fields: map[string]formats.Field{"A": {Type: formats.TypeBoolean}}}
	texts := onceOnly()
	for name, src := range read(t, "../syntax/testdata/flows/*.md") {
		texts[name] = string(src)
	}
	for name, src := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAnew(t, env, src)
			sameAnew(t, typed, src)
			lines := strings.SplitAfter(src, "\n")
			for i, line := range lines {
				before, after := strings.Join(lines[:i], ""), strings.Join(lines[i+1:], "")
				sameAnew(t, env, before+after)
				sameAnew(t, env, before+line+line+after)
				if testing.Short() {
					continue
				}
				for at := range len(line) {
					if c := line[at]; (i+at)%4 == 0 && c >= 'a' && c <= 'z' && (at == 0 || strings.IndexByte(" ${[(.:\"", line[at-1]) >= 0) {
						sameAnew(t, env, before+line[:at]+"q"+line[at+1:]+after)
					}
				}
			}
		})
	}
}
