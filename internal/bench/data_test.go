package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// task is a task as states have it, about a kilobyte in the layout pretty.
type task struct {
	Number       int        `json:"number"`
	Title        string     `json:"title"`
	Slug         string     `json:"slug"`
	Status       string     `json:"status"`
	Language     string     `json:"language"`
	Priority     string     `json:"priority"`
	Effort       string     `json:"effort"`
	Description  string     `json:"description"`
	Dependencies []int      `json:"dependencies"`
	Parent       *int       `json:"parent"`
	Created      string     `json:"created"`
	Updated      string     `json:"updated"`
	Artifacts    []artifact `json:"artifacts"`
	Prior        *string    `json:"prior"`
	Reason       *string    `json:"blocked_reason"`
	Lease        *string    `json:"lease"`
	Session      string     `json:"session_id"`
}

type artifact struct {
	Type    string `json:"type"`
	Path    string `json:"path"`
	Summary string `json:"summary"`
	Created string `json:"created"`
}

// words are what titles and descriptions are made of.
func words() []string {
	return strings.Fields(`the a of parser state writer lock file when reads writes task plan phase fails before after it is not and
		returns error path folder name config default check test query number status field list empty first last large small slow
		order commit branch merge retry limit timeout signal process child output input line column "strict" Größe journal cache`)
}

// prose makes a text of n words, always the same for a seed.
func prose(list []string, seed uint32, n int) string {
	var b strings.Builder
	for i := range n {
		seed = seed*1664525 + 1013904223
		switch {
		case i > 0 && n >= 20 && seed>>28 == 0:
			b.WriteString(".\n")
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(list[int(seed>>8)%len(list)])
	}
	return b.String()
}

func makeTask(i int) task {
	list := words()
	seed := uint32(i) * 2654435761
	statuses := []string{
		"not_started", "researched", "planned", "on_hold", "completed", "completed", "completed",
		"blocked",
	}
	priorities := []string{"medium", "high", "low"}
	efforts := []string{"2h", "30m", "1d", "4h"}
	languages := []string{"go", "general", "markdown"}
	day := fmt.Sprintf("2026-%02d-%02d", 1+i*12/1_000_001%12, 1+seed%28)
	t := task{
		Number:       i,
		Title:        prose(list, seed, 4+int(seed>>5)%5),
		Slug:         fmt.Sprintf("task_number_%d", i),
		Status:       statuses[i*7%8],
		Language:     languages[seed>>9%3],
		Priority:     priorities[seed>>12%3],
		Effort:       efforts[seed>>15%4],
		Dependencies: []int{},
		Created:      fmt.Sprintf("%sT%02d:%02d:00Z", day, seed>>3%24, seed>>7%60),
		Updated:      fmt.Sprintf("%sT%02d:%02d:30Z", day, seed>>4%24, seed>>8%60),
		Artifacts:    []artifact{},
		Description:  prose(list, seed+1, 20+int(seed>>11)%50),
		Session:      fmt.Sprintf("sess_%d_%06x", 1767610000+i*37, seed>>8),
	}
	if i%3 == 0 && i > 1 {
		t.Dependencies = []int{i - 1}
	}
	if i%2 == 0 {
		t.Artifacts = []artifact{{
			"report",
			fmt.Sprintf(".tercet/specs/%d_task/reports/research-001.md", i),
			prose(list, seed+2, 6),
			t.Created,
		}}
	}
	return t
}

// layouts of a state.
const (
	pretty = "pretty"
	lines  = "lines"
)

// writeState writes a state of n tasks and gives its name.
func writeState(t *testing.T, dir, layout string, n int) string {
	t.Helper()
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n  \"version\": \"1\",\n  \"lineage\": "+
		"\"4f0c2b0e-1111-4222-8333-444455556666\",\n  \"serial\": 412,\n  \"next_number\": %d,\n"+
		"  \"tasks\": [\n",
		n+1)
	for i := 1; i <= n; i++ {
		text, err := json.Marshal(makeTask(i))
		if err != nil {
			t.Fatal(err)
		}
		if layout == pretty {
			out.WriteString("    ")
			if err := json.Indent(&out, text, "    ", "  "); err != nil {
				t.Fatal(err)
			}
		} else {
			out.Write(text)
		}
		if i < n {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}

	out.WriteString("  ]\n}\n")
	name := filepath.Join(dir, fmt.Sprintf("%s-%d.json", layout, n))
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
