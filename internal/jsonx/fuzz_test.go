package jsonx_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"tercet/internal/jsonx"
)

// FuzzParse: what Parse accepts, encoding/json accepts with the same value, and writing it keeps
// the value.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.50,-0,1e9,"x\u00e9\ud83d\ude00\n"],"b":{"c":null,"d":true}}`, "\xef\xbb\xbf[]",
		`"\ud800"`, `[1,]`, "{\n<<<<<<< x\n}", `{"a":1,"a":2}`, "\"\xff\"", `01`, `-`, `1e400`,
		`[[[[`, `"\`, "\"\u2028\x7f\"",
	} {
		f.Add([]byte(s))
	}

	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := jsonx.Parse(src, jsonx.Limits{})
		if err != nil {
			return
		}

		plain := bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
		dec := json.NewDecoder(bytes.NewReader(plain))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("Parse(%q) accepts, encoding/json says %v", src, err)
		}
		// reflect.DeepEqual, because cmp takes exponential time on deep slices.
		if got := v.Any(); !reflect.DeepEqual(got, want) {
			t.Fatalf("Parse(%q) = %v, encoding/json has %v", src, got, want)
		}
		for _, indent := range []string{"", "\t"} {
			out, err := jsonx.Marshal(v, indent)
			if err != nil {
				t.Fatal(err)
			}
			again, err := jsonx.Parse(out, jsonx.Limits{})
			if err != nil {
				t.Fatalf("Marshal(%q) = %q: %v", src, out, err)
			}
			if got := again.Any(); !reflect.DeepEqual(got, want) {
				t.Fatalf("Marshal(%q) = %v, want %v", src, got, want)
			}
		}
	})
}

// tasks makes a state file of n tasks, about 800 bytes each.
func tasks(n int) []byte {
	var b strings.Builder
	b.WriteString("{\n  \"version\": \"1\",\n  \"serial\": 412,\n  \"tasks\": [")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    {\n      \"number\": " + strconv.Itoa(i) + `,
      "title": "Fix the parser of the command language",
      "slug": "fix_the_parser_of_the_command_language",
      "status": "researched",
      "language": "go",
      "priority": "high",
      "effort": "2h",
      "description": "A description of some length that says what is to be done, and why it is \"needed\" at all.",
      "dependencies": [` + strconv.Itoa(i/2) + `],
      "parent": null,
      "created": "2026-01-05T10:00:00Z",
      "updated": "2026-01-05T11:30:00Z",
      "artifacts": [
        {
          "type": "report",
          "path": ".tercet/specs/196_fix_the_parser/reports/research-001.md",
          "summary": "What was found",
          "created": "2026-01-05T11:30:00Z"
        }
      ],
      "prior": null,
      "blocked_reason": null,
      "lease": null,
      "session_id": "sess_1767610000_k3x9qa"
    }`)
	}

	b.WriteString("\n  ]\n}\n")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		src := tasks(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, err := jsonx.Parse(src, jsonx.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAny(b *testing.B) {
	v, err := jsonx.Parse(tasks(1000), jsonx.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		v.Any()
	}
}

func BenchmarkSetMember(b *testing.B) {
	src := tasks(10000)
	v, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	task := v.Get("tasks").Elems[5000]
	b.ReportAllocs()
	for b.Loop() {
		_, err := jsonx.Splice(src, []jsonx.Edit{jsonx.SetMember(
			src, task,
			"status",
			[]byte(`"planned"`),
		)})
		if err != nil {
			b.Fatal(err)
		}
	}
}
