package control_test

import (
	"testing"
	"time"

	"tercet/formats"
)

// TestMessageIsDeliveredOnce holds that a message whose delivery is in the journal is not given
// again when its file is still there, as after a kill in between.
func TestMessageIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	d := p.desk("me")
	l := d.begin(t, "r1", "/work")
	for _, text := range []string{"one", "two"} {
		m := formats.Message{ID: text, By: "me", At: time.Now(), Text: text}
		if _, err := p.desk("me").Tell("r1", m); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.Unread("r1")
	if err != nil || len(list) != 2 {
		t.Fatalf("got %v, %v", list, err)
	}
	put(t, l, formats.Entry{
		Type: formats.EntryTold,
		Step: "work#1",
		Data: formats.Told{Messages: list[:1]},
	})
	p.killed(d)

	d = p.desk("me")
	for range 2 {
		list, err = d.Unread("r1")
		if err != nil || len(list) != 1 || list[0].ID != "two" {
			t.Fatalf("got %v, %v", list, err)
		}
	}
}

// TestTellAnEndedRun holds that nothing is left for a run that starts no more workers.
func TestTellAnEndedRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	d := p.desk("me")
	put(t, d.begin(t, "r1", "/work"), finished("completed"))
	d.close(t)
	m := formats.Message{ID: "one", By: "me", At: time.Now(), Text: "one"}
	_, err := d.Tell("r1", m)
	code(t, err, formats.CodePrecondition, "run r1 has ended (completed)")
	_, err = d.Tell("r2", m)
	code(t, err, formats.CodeNotFound, "r2")
	if list, err := d.Unread("r1"); err != nil || len(list) != 0 {
		t.Fatalf("got %v, %v", list, err)
	}
}
