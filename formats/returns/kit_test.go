package returns_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with a file of the kit.
func golden(t *testing.T, file, got string) {
	t.Helper()

	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestValidReturns(t *testing.T) {
	t.Parallel()
	testkit.Files(t, "returns/valid/*.json", func(t *testing.T, file string, src []byte) {
		t.Helper()

		r, err := returns.Parse(src, returns.ParseOptions{})
		if err != nil {
			t.Fatalf("Parse(%s) = %v, want nil", file, err)
		}

		if bad := returns.Validate(r, formats.AgentInfo{}); bad != nil {
			t.Errorf("Validate(%s) = %q, want nil", file, bad)
		}
		golden(t, testkit.Beside(file, ".golden"), testkit.Pretty(t, r))

		_, strict := returns.Parse(src, returns.ParseOptions{Strict: true})

		repaired := 0
		for _, w := range r.Warnings {
			if strings.Contains(w, "was") || strings.Contains(w, "were left out") ||
				strings.Contains(w, "is read as") {
				repaired++
			}
			if strings.Contains(w, "is the engine's") {
				repaired--
			}
		}

		if (strict != nil) != (repaired > 0) {
			t.Errorf("Parse(%s, strict) = %v, want an error for %d repairs",
				file, strict, repaired)
		}
	})
}

func TestInvalidReturns(t *testing.T) {
	t.Parallel()
	testkit.Files(t, "returns/invalid/*.json", func(t *testing.T, file string, src []byte) {
		t.Helper()
		r, err := returns.Parse(src, returns.ParseOptions{File: filepath.Base(file)})

		var got string
		if err != nil {
			if formats.CodeOf(err) != formats.CodeInvalidReturn {
				t.Errorf("CodeOf = %s, want INVALID_RETURN", formats.CodeOf(err))
			}
			got = err.Error() + "\nhelp: " + formats.HelpOf(err) + "\n"
		} else {
			bad := returns.Validate(r, formats.AgentInfo{})
			if bad == nil {
				t.Errorf("Validate(%s) = nil, want violations", file)
			}
			got = strings.Join(bad, "\n") + "\n"
		}

		golden(t, testkit.Beside(file, ".golden"), got)
	})
}

func TestAgentResults(t *testing.T) {
	t.Parallel()
	testkit.Files(t, "agent_results/*.txt", func(t *testing.T, file string, src []byte) {
		t.Helper()
		results, found := returns.ParseAgentResult(src)

		var b strings.Builder
		for _, d := range found {
			fmt.Fprintf(&b, "%d:%d: %v\n", d.Pos.Line, d.Pos.Col, d)
		}

		for _, a := range results {
			b.WriteString(testkit.Pretty(t, a))
			r, err := a.Return()
			if err != nil {
				fmt.Fprintf(&b, "return: %v\n", err)
				continue
			}

			fmt.Fprintf(&b, "outcome %s, return %s", r.Outcome(), testkit.Pretty(t, r))
			if bad := returns.Validate(r, formats.AgentInfo{NoArtifacts: true}); bad != nil {
				t.Errorf("Validate(Return of %s) = %q, want nil", a.Agent, bad)
			}
		}

		golden(t, testkit.Beside(file, ".golden"), b.String())
	})
}

func FuzzParse(f *testing.F) {
	for _, dir := range []string{"valid", "invalid"} {
		files, _ := filepath.Glob(filepath.Join("testdata/returns", dir, "*.json"))
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}

	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := returns.Parse(src, returns.ParseOptions{})
		if err != nil {
			return
		}

		if r.Metadata.Session != "" || r.Said != "" || r.Schema != "" || r.Status == "" {
			t.Fatalf("Parse(%q) = %+v, want no claims and a status", src, r)
		}

		out, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("Marshal(Parse(%q)) = %v", src, err)
		}

		again, err := returns.Parse(out, returns.ParseOptions{})
		if err != nil {
			t.Fatalf("Parse(%s) = %v, want nil for what was read from %q", out, err, src)
		}

		for i := range r.Artifacts {
			r.Artifacts[i].Guessed = false // the first time
		}

		diff := cmp.Diff(r.Artifacts, again.Artifacts)
		if diff != "" || again.Status != r.Status || again.Summary != r.Summary {
			t.Fatalf("read twice, %q gives another return: %s", src, out)
		}
	})
}

func FuzzAgentResult(f *testing.F) {
	files, _ := filepath.Glob("testdata/agent_results/*.txt")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}

	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := returns.ParseForm(src, true, returns.ParseOptions{Agent: "reviewer"})
		if err == nil && r.Status == "" {
			t.Fatalf("ParseForm(%q) = %+v, want a status or an error", src, r)
		}

		results, found := returns.ParseAgentResult(src)
		if len(results) == 0 && len(found) == 0 {
			t.Fatalf("ParseAgentResult(%q) gave neither a block nor a finding", src)
		}

		for _, a := range results {
			r, err := a.Return()
			if err != nil {
				continue
			}

			if bad := returns.Validate(r, formats.AgentInfo{NoArtifacts: true}); bad != nil {
				t.Fatalf("Validate(Return of %q) = %q, want nil", src, bad)
			}

			own, nested, ok := returns.PickResult(results, a.Agent)
			if !ok || len(nested) != len(results)-1 || !strings.EqualFold(own.Agent, a.Agent) {
				t.Fatalf("PickResult(%q) = %v", a.Agent, ok)
			}
		}
	})
}
