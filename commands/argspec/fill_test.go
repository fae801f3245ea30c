package argspec_test

import (
	"fmt"
	"testing"

	"tercet/commands/argspec"
)

// TestFillWithGaps: whichever values are left out, what Fill makes binds to the same values again,
// each in its own place.
func TestFillWithGaps(t *testing.T) {
	t.Parallel()
	all := specs(t, arg("name", argspec.String), arg("count", argspec.Integer),
		flag(arg("level", argspec.String)), arg("place", argspec.String), arg("rest", argspec.Text))
	values := []string{"a b", "5", "-high", "here", "say \"it\" twice"}
	for mask := range 1 << len(values) {
		answers := make([]string, len(values))
		want := map[string]string{}
		for i, one := range values {
			if mask&(1<<i) != 0 {
				answers[i] = one
				want[all[i].Name] = one
			}
		}
		raw, words := argspec.Fill(all, answers)
		for name, bind := range map[string]func() (argspec.Values, error){
			raw: func() (argspec.Values, error) {
				return argspec.Bind("c", all, raw, nil)
			},
			fmt.Sprintf("%q", words): func() (argspec.Values, error) {
				return argspec.Bind("c", all, "", words)
			},
		} {
			got, err := bind()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, s := range all {
				text := ""
				if v, _ := got.Get(s.Name); v != nil {
					text = fmt.Sprint(v)
				}
				if text != want[s.Name] {
					t.Errorf("%s gives %s as %q, want %q", name, s.Name, text, want[s.Name])
				}
			}
		}
	}
}
