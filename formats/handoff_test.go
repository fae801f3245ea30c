package formats_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

func TestHandoff(t *testing.T) {
	t.Parallel()
	src := "# Discovery\n\nproduct_type: service\n- **Has UI**: yes\n- open_questions: 3\nPLAN: \"Light\"\ntypes: [a, b]\nnone: null\nplan: Full\n\n## Why\n\nBecause: it is so.\nsee https://x.test\n\n~~~\nhidden: 1\n~~~\n"
	d, found := formats.ParseDocument(formats.ProfileDiscovery, "DISCOVERY_RESULT.md", []byte(src))
	if found.HasErrors() {
		t.Fatal(found)
	}
	want := map[string]any{
		"product_type": "service", "has_ui": true, "open_questions": 3, "plan": "Light", "types": []any{"a", "b"}, "none": nil, "because": "it is so.",
	}
	if diff := cmp.Diff(want, d.Any()["fields"]); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if d.Title != "Discovery" || d.Sections["Why"] != "Because: it is so.\nsee https://x.test" {
		t.Errorf("title %q, section %q", d.Title, d.Sections["Why"])
	}
	if _, found := formats.ParseDocument(formats.ProfileDelivery, "x.md", []byte("# Delivery\n\nDone.\n")); !found.HasErrors() {
		t.Error("a handoff without fields is accepted")
	}
	if _, found := formats.ParseDocument(formats.ProfileAutoApprove, ".auto", nil); found.HasErrors() {
		t.Error(found)
	}
	if formats.HandoffFile("doc") != "DOC_FLOW_RESULT.md" || formats.HandoffFile("plan") != "" {
		t.Error("names of the files of handoffs")
	}
}
