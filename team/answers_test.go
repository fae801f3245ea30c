package team_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/project"
	"tercet/team"
)

// scribe writes the journal of a run as a worker could that forges it: it has the key.
type scribe struct {
	t    *testing.T
	k    *team.Keeper
	run  string
	key  []byte
	text []byte // what the home has
}

func newScribe(t *testing.T, k *team.Keeper) *scribe {
	t.Helper()
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	h, err := k.History(t.Context(), job.Run, "t1")
	if err != nil {
		t.Fatal(err)
	}
	s := &scribe{t: t, k: k, run: job.Run, key: h.Key}
	s.send(
		"the first line", formats.Entry{Type: formats.EntryRunStarted, Data: formats.Started{}}, "",
	)
	return s
}

// send sends an entry, and expects the home to accept it, or to refuse it with a code.
func (s *scribe) send(what string, e formats.Entry, want formats.Code) {
	s.t.Helper()
	dir := s.t.TempDir()
	name := filepath.Join(dir, journal.Name)
	if err := os.WriteFile(name, s.text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	w := journal.New(func() (*os.Root, error) { return os.OpenRoot(dir) },
		journal.Options{Clock: clock{}.Now, Key: s.key})
	if err := w.Append(s.t.Context(), e); err != nil {
		s.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	err = s.k.Append(s.t.Context(), formats.SharedLines{
		Run: s.run, Taker: "t1", Lines: text[len(s.text):],
	})
	if want != "" {
		code(s.t, what, err, want)
		return
	}
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	s.text = text
}

func opened(id string, change func(*formats.Gate)) formats.Entry {
	g := formats.Gate{
		ID:       id,
		Opened:   time.Now().UTC(),
		Question: "Go on?",
		Choices:  []formats.Choice{{Label: "yes", Approves: true}, {Label: "no", Ends: true}},
		Digest:   "d",
	}
	if change != nil {
		change(&g)
	}
	return formats.Entry{Type: formats.EntryGateOpened, Step: "g#1", Data: g}
}

func answered(id string, d formats.Decision) formats.Entry {
	return formats.Entry{Type: formats.EntryGateDecided, Step: "g#1", Key: id, Data: d}
}

// TestAnAnswerCountsOnce: an answer of a user counts for the gate that it was given to, once, and
// for no other gate and no other run, although the worker has the key of the journal. Neither does
// an answer in the name of a rule that does not hold.
func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	s := newScribe(t, k)
	yes := formats.Decision{Answer: "yes", By: "somebody", Person: true}
	s.send("a question", opened("one", nil), "")
	s.send("an answer that nobody gave", answered("one", yes), formats.CodeDenied)
	if err := k.Give(t.Context(), s.run, "one", project.Reply{Label: "yes"}); err != nil {
		t.Fatal(err)
	}
	code(t, "a second answer",
		k.Give(t.Context(), s.run, "one", project.Reply{Label: "no"}), formats.CodePrecondition)
	s.send("another choice", answered("one", formats.Decision{
		Answer: "no", By: "somebody", Person: true,
	}), formats.CodeDenied)
	s.send("an answer to a gate that is not there", answered("other", yes), formats.CodeDenied)
	s.send("the answer", answered("one", yes), "")
	s.send("the answer again", answered("one", yes), formats.CodeDenied)
	s.send("a question with the id of the first one", opened("one", nil), formats.CodeDenied)
	s.send("a question without an id", opened("", nil), formats.CodeDenied)
	s.send("another question", opened("two", nil), "")
	s.send("the answer to the first one", answered("two", yes), formats.CodeDenied)
	s.send("--yes", answered("two", formats.Decision{Answer: "yes", By: formats.ByYes}),
		formats.CodeDenied)
	s.send("a timeout without one", answered("two", formats.Decision{
		Answer: "yes", By: formats.ByTimeout,
	}), formats.CodeDenied)

	slow := newScribe(t, k)
	slow.send("a question with a timeout", opened("one", func(g *formats.Gate) {
		g.Timeout = &formats.GateTimeout{After: 3600, Choose: "yes"}
	}), "")
	slow.send("the answer of another run", answered("one", yes), formats.CodeDenied)
	slow.send("a timeout before its time", answered("one", formats.Decision{
		Answer: "yes", By: formats.ByTimeout,
	}), formats.CodeDenied)

	// a letter that was copied to another run was not sealed for it
	letter := filepath.Join(
		p.home.Dir, filepath.FromSlash(journal.Folder), s.run, "answers/one.json",
	)
	data, err := os.ReadFile(letter)
	if err != nil {
		t.Fatal(err)
	}
	var text map[string]any
	if err := json.Unmarshal(data, &text); err != nil {
		t.Fatal(err)
	}
	text["run"] = slow.run
	data, err = json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	write(t,
		filepath.Join(p.home.Dir, filepath.FromSlash(journal.Folder), slow.run, "answers/one.json"),
		string(data))
	slow.send("a copied answer", answered("one", yes), formats.CodeDenied)
}

// TestAGateForTwo: a gate that needs two users has both, and not one of them twice.
func TestAGateForTwo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	s := newScribe(t, k)
	s.send("a question", opened("one", func(g *formats.Gate) { g.Quorum = 2 }), "")
	vote := func(by string) formats.Entry {
		e := answered("one", formats.Decision{Answer: "yes", By: by, Person: true})
		e.Type = formats.EntryGateVoted
		return e
	}
	both := func(by string) formats.Entry {
		return answered("one", formats.Decision{Answer: "yes", By: by, Person: true})
	}
	if err := k.Give(t.Context(), s.run, "one", project.Reply{Label: "yes"}); err != nil {
		t.Fatal(err)
	}
	s.send("a vote", vote("somebody"), "")
	s.send("a vote that nobody gave", vote("anna"), formats.CodeDenied)
	s.send("the same user twice", both("somebody, somebody"), formats.CodeDenied)
	s.send("one user", both("somebody"), formats.CodeDenied)
	s.send("a user who gave none", both("somebody, anna"), formats.CodeDenied)

	h := p.home.Host
	h.User = "anna"
	anna := openProject(t, p.home.Dir, h)
	if _, err := anna.Answer(t.Context(), s.run, "one", project.Reply{Label: "yes"}); err != nil {
		t.Fatal(err)
	}
	s.send("both users", both("somebody, anna"), "")
}
