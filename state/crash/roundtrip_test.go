//go:build linux && (amd64 || arm64)

package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/state"
)

// literals are values of keys that the format does not know, in spellings that most writers would
// change.
func literals() []string {
	return []string{
		"1.0", "1e400", "-0.0", "9007199254740993", "123456789012345678901234567890", "1E+2",
		"0.10", `"\u00e9\/"`, `"é"`, `"\ud83d\ude00"`, "[1, 2,3]", "[ ]", "{ }",
		`{"b": 1.50, "a": [null,true ]}`, "null", `"a\tb"`, "[[[1]]]",
	}
}

// foreignState makes a state that no writer of ours would make, with n tasks.
func foreignState(rng *rand.Rand, n int) string {
	var b strings.Builder
	pick := func() string {
		l := literals()
		return l[rng.IntN(len(l))]
	}
	spaces := func() string {
		return []string{"", " ", "  ", "\n  ", "\n\t", "\r\n    "}[rng.IntN(6)]
	}

	fmt.Fprintf(&b, "{\n  \"x_first\": %s,\n  \"version\": \"1\", \"lineage\": "+
		"\"l\",%s\"serial\": 9,\n \"next_number\": %d, \"tasks\": [",
		pick(), spaces(), n+1)
	for i := range n {
		if i > 0 {
			b.WriteString("," + spaces())
		}

		members := []string{
			fmt.Sprintf(`"number":%s%d`, spaces(), i+1),
			fmt.Sprintf(`"title": "task %d"`, i+1),
			`"status": "not_started"`,
		}
		for j := range rng.IntN(4) {
			members = append(members, fmt.Sprintf(`"x_%d"%s:%s%s`, j, spaces(), spaces(), pick()))
		}
		if rng.IntN(3) == 0 {
			members = append(members, `"dependencies": [ ]`, fmt.Sprintf(
				`"artifacts": [{"path": "a%d.go", "type": "implementation", "mine": %s}]`,
				i, pick(),
			))
		}

		rng.Shuffle(len(
			members,
		), func(i, j int) { members[i], members[j] = members[j], members[i] })
		b.WriteString("{" + strings.Join(members, ","+spaces()) + "}")
	}

	b.WriteString("],\n  \"tail\": " + pick() + "\n}" + []string{"", "\n"}[rng.IntN(2)])
	return b.String()
}

// parts cuts a state into its tasks, byte for byte, and the text around them.
func parts(text string) (tasks map[int]string, around []string, err error) {
	var doc struct {
		Tasks []json.RawMessage `json:"tasks"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, nil, err
	}

	tasks = map[int]string{}

	for _, raw := range doc.Tasks {
		var t struct {
			Number int `json:"number"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, nil, err
		}

		tasks[t.Number] = string(raw)
		before, behind, _ := strings.Cut(text, string(raw))
		around = append(around, before)
		text = behind
	}

	return tasks, append(around, text), nil
}

// foreign gives the members of a task that the format does not know, with the bytes of their
// values.
func foreign(task string) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(task), &members); err != nil {
		return "", err
	}

	var out []string
	for key, raw := range members {
		if strings.HasPrefix(key, "x_") {
			out = append(out, key+" "+string(raw))
		}
	}

	slices.Sort(out)
	return strings.Join(out, "\n"), nil
}

// randomUpdate makes one change and says which task it is about.
func randomUpdate(rng *rand.Rand, tasks, i int) (state.Op, int) {
	n := 1 + rng.IntN(tasks)

	switch rng.IntN(4) {
	case 0:
		return state.UpdateStatus{
			Tasks: []int{n},
			To: []formats.TaskStatus{
				formats.OnHold, formats.NotStarted, formats.Blocked, formats.Planning,
			}[rng.IntN(4)],
			Reason: "why",
		}, n
	case 1:
		return state.LinkArtifacts{
			Task: n,
			Artifacts: []formats.Artifact{{
				Type: formats.ArtifactImplementation,
				Path: fmt.Sprintf("f%d.go", rng.IntN(3)),
			}},
		}, n
	}

	key := []string{"title", "effort", "description", "language"}[rng.IntN(4)]

	return state.UpdateMetadata{
		Task:   n,
		Fields: map[string]any{key: fmt.Sprint("é \"", strings.Repeat("x", rng.IntN(30)), i)},
	}, n
}

// TestRoundTrip makes random changes in files of others and looks at the bytes: outside the task
// that was changed, and but for the serial, all stay; inside it those of the members that the
// format does not know.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	files := 6
	each := 50
	if *full {
		files = 100
		each = 100
	}

	serial := regexp.MustCompile(`"serial": \d+`)
	changed := 0
	for seed := range files {
		rng := rand.New(rand.NewPCG(uint64(seed), 8))
		dir := folder(t)
		tasks := 1 + rng.IntN(12)
		w, err := openWorkspace(dir, late)
		if err != nil {
			t.Fatal(err)
		}

		before := foreignState(rng, tasks)
		if err := w.write("state.json", before); err != nil {
			t.Fatal(err)
		}

		for i := range each {
			op, n := randomUpdate(rng, tasks, i)
			res, err := w.m.Apply(context.Background(), state.Tx{
				Session: session,
				Force:   true,
				Ops:     []state.Op{op},
			})
			if err != nil {
				t.Fatalf("file %d, change %d, %+v: %v\n%s", seed, i, op, err, before)
			}

			now, err := w.read("state.json")
			if err != nil {
				t.Fatal(err)
			}
			err = sameOutside(
				serial.ReplaceAllString(before, `"serial": 0`),
				serial.ReplaceAllString(now, `"serial": 0`),
				n,
			)
			if err != nil || !res.Changed && now != before {
				t.Fatalf("file %d, change %d, %+v: %v\nbefore\n%s\nnow\n%s",
					seed, i, op, err, before, now)
			}

			if res.Changed {
				changed++
			}
			before = now
		}

		w.close()
		os.RemoveAll(dir)
	}

	if changed < files*each/2 {
		t.Errorf("%d of %d updates changed something, want most", changed, files*each)
	}
	t.Logf("R8: %d files, %d updates, %d of them changed a file: bytes outside the changed task "+
		"identical in all",
		files, files*each, changed)
}

func sameOutside(before, now string, n int) error {
	was, around, err := parts(before)
	if err != nil {
		return err
	}
	is, aroundNow, err := parts(now)
	if err != nil {
		return err
	}

	if !slices.Equal(around, aroundNow) {
		return fmt.Errorf("the text around the tasks was\n%q\nand is\n%q", around, aroundNow)
	}

	for number, raw := range was {
		if number != n && is[number] != raw {
			return fmt.Errorf("task %d was %s and is %s", number, raw, is[number])
		}
	}

	a, err := foreign(was[n])
	if err != nil {
		return err
	}
	b, err := foreign(is[n])
	if err != nil || a != b {
		return fmt.Errorf("members of others in task %d were\n%s\nand are\n%s, %w", n, a, b, err)
	}
	return nil
}
