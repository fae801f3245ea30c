package compile_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// TestUsedUpFix: next is written behind a counted rule in each form that it may have. Then nothing
// is found.
func TestUsedUpFix(t *testing.T) {
	t.Parallel()
	const name = "testdata/used-up.md"

	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	env := shipped(t)
	_, found := try(t, env, name, src)

	_, left, made := formats.FixAll(src, found, func(next []byte) []formats.Diagnostic {
		_, found := try(t, env, name, next)
		return found
	})

	var got []string
	for _, d := range made {
		got = append(got, d.Code+" "+d.Fix.Text)
	}
	slices.Sort(got)

	want := []string{"W146 \n    - next", "W146 , next", "W146 [{redo: make, max: 2}, next]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fixes (-want +got):\n%s", diff)
	}

	if len(left) > 0 {
		t.Errorf("left = %v", left)
	}
}
