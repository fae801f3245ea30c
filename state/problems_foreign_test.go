package state_test

import (
	"testing"

	"tercet/state"
)

func FuzzForeignErrors(f *testing.F) {
	f.Add(
		`{"errors": [{"id": "err_1", "message": "no", "severity": "low", "context": {"task": 3}}]}`,
	)
	f.Add(`[{"message": "no"}, 1]`)
	f.Add(`{"errors": {}}`)

	f.Fuzz(func(t *testing.T, src string) {
		got, err := state.ReadForeignErrors("errors.json", []byte(src))
		if err != nil {
			return
		}

		if len(got.Errors) > state.MaxErrors {
			t.Errorf("%d errors, want at most %d", len(got.Errors), state.MaxErrors)
		}

		for _, one := range got.Errors {
			if one.ID == "" || one.Message == "" || one.Severity == "" || one.FixStatus == "" {
				t.Errorf("error without id, message, severity or fix status: %+v", one)
			}
		}
	})
}
