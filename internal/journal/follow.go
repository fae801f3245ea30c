package journal

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"os"
	"path"
	"slices"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// Follower reads the journal of a run as it grows, and keeps a summary of it. Each line is read and
// checked once. It belongs to one goroutine.
type Follower struct {
	root *os.Root
	run  string
	key  []byte // nil: the author of the lines is not checked

	offset   int64
	seq      int
	sha      string
	last     Record
	steps    steps
	gates    []Record // entries that Gates looks at
	wentBack bool     // the whole journal is read again for each change
	open     *formats.Gate
	answered []AnsweredGate
	messages []Message
	places   map[string][]place // of the records of a step, by its path
}

// place is where a record stands in the journal.
type place struct {
	offset int64
	length int
	seq    int
}

// NewFollower follows a run. The key is that of the run.
func NewFollower(root *os.Root, run string, key []byte) *Follower {
	return &Follower{root: root, run: run, key: key, places: map[string][]place{}}
}

// Clone gives a follower that goes on from the same place, and does not check who wrote the lines.
func (f *Follower) Clone() *Follower {
	c := *f
	c.key = nil
	c.steps = f.steps.clone()
	c.gates = slices.Clone(f.gates)
	c.messages = slices.Clone(f.messages)

	c.places = make(map[string][]place, len(f.places))
	for path, list := range f.places {
		c.places[path] = slices.Clip(list)
	}
	return &c
}

// Run is the id of the run.
func (f *Follower) Run() string {
	return f.run
}

// Poll reads what is new, and reports whether there was anything. After an error the Follower is of
// no use: the journal is damaged, or not of this user.
func (f *Follower) Poll() (changed bool, err error) {
	log := Log{root: f.root, run: f.run}
	lines, err := log.readLines(path.Join(Folder, f.run, Name), f.offset, false)
	if err != nil {
		return false, failure(formats.CodeIO, "read", err)
	}

	for line := range bytes.Lines(lines) {
		if err := f.addLine(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return false, err
		}
		f.offset += int64(len(line))
	}
	if len(lines) == 0 {
		return false, nil
	}

	if f.wentBack {
		records, err := Load(f.root, f.run)
		if err != nil {
			return false, err
		}
		f.steps = steps{}
		for _, r := range currentRecords(records) {
			f.steps.add(r)
		}
	}

	gates := f.gates
	if n := len(gates); n > 0 && gates[n-1].Seq < f.seq {
		gates = append(gates[:n:n], f.last) // it tells a gate that a stop has closed
	}
	f.open, f.answered = Gates(gates)
	return true, nil
}

// addLine takes in one line without its line feed.
func (f *Follower) addLine(line []byte) error {
	sha, mac, ok := checkLine(line)
	if !ok {
		return damagedError(f.seq+1, "line does not match its hash")
	}

	r, wrong := decode(line, f.seq+1, f.sha)
	if wrong != "" {
		return damagedError(f.seq+1, wrong)
	}
	if f.key != nil && !hmac.Equal([]byte(mac), []byte(macOf(f.key, sha))) {
		return foreignLineError(f.seq + 1)
	}

	f.seq = r.Seq
	f.sha = sha
	switch r.Type { //nolint:exhaustive // the rest changes none of these
	case formats.EntryWentBack:
		f.wentBack = true
	case formats.EntryGateOpened, formats.EntryGateRefused, formats.EntryGateVoted,
		formats.EntryGateDecided, formats.EntryStopped:
		f.gates = append(f.gates, r)
	case formats.EntryRunFinished:
		if r.Step == "" {
			f.gates = append(f.gates, r)
		}
	case formats.EntryTold:
		f.messages = append(f.messages, Told([]Record{r})...)
	}

	f.last = r
	f.steps.add(r)
	if r.Step != "" {
		f.places[r.Step] = append(f.places[r.Step], place{f.offset, len(line), r.Seq})
	}
	return nil
}

// Records reads the records of one step again, also those from before somebody went back to it.
func (f *Follower) Records(step string) ([]Record, error) {
	file, err := atomicfile.Open(f.root, path.Join(Folder, f.run, Name))
	if err != nil {
		return nil, failure(formats.CodeIO, "read", err)
	}
	defer file.Close() //nolint:errcheck // it was read

	var records []Record
	for _, at := range f.places[step] {
		line := make([]byte, at.length)
		if _, err := file.ReadAt(line, at.offset); err != nil {
			return nil, failure(formats.CodeIO, "read", err)
		}

		r := Record{}
		var data json.RawMessage
		err := json.Unmarshal(line, &struct {
			*Record
			Data *json.RawMessage `json:"data"`
		}{&r, &data})
		_, _, whole := checkLine(line)
		if err != nil || !whole || r.Seq != at.seq || r.Step != step {
			return nil, damagedError(at.seq, "the line has changed since it was read")
		}
		if data != nil {
			r.Data = data
		}
		records = append(records, r)
	}
	return records, nil
}

// Finish is how a run ended.
type Finish struct {
	Status  string  `json:"status"`
	Summary string  `json:"summary"`
	Next    string  `json:"next_steps"` // what it recommends
	Cost    float64 `json:"cost_usd"`
}

// Finish is how the run ended; nil: it has not.
func (f *Follower) Finish() *Finish {
	if f.last.Type != formats.EntryRunFinished || f.last.Step != "" {
		return nil
	}
	var end Finish
	if json.Unmarshal(f.last.Raw(), &end) != nil {
		return nil
	}
	return &end
}

// Seq is the number of records that were read.
func (f *Follower) Seq() int {
	return f.seq
}

// Steps are the steps in the order in which they began. They change with the next Poll.
func (f *Follower) Steps() []Step {
	return f.steps.list
}

// Told are the messages of the user that workers got.
func (f *Follower) Told() []Message {
	return slices.Clone(f.messages)
}

// Gates returns the open gate, or nil, and the answered gates in order.
func (f *Follower) Gates() (open *formats.Gate, answered []AnsweredGate) {
	return f.open, f.answered
}
