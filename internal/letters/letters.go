package letters

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/order"
)

// The files of letters in a run's folder, and the folder for files moved aside.
const (
	answers     = "answers"
	messages    = "messages"
	control     = "control.json"
	asideFolder = "aside"
)

// maxLetter bounds a letter. A byte of a note or a message takes up to six in JSON.
const maxLetter = 128 << 10

// MaxNote bounds a note, in bytes.
const MaxNote = 16 << 10

// The schemas of answers and orders.
const (
	answerSchema = "tercet.answer/1"
	orderSchema  = "tercet.control/1"
)

// Box is the place of the letters to one run.
type Box struct {
	Root *os.Root // the project
	Dir  string   // the run's folder in it
	Run  string
	Key  []byte            // the user's; without a key no letter is written or counts
	Tell func(line string) // reports a file that was moved aside
}

// Answer is one user's answer to a gate.
type Answer struct {
	Schema  string    `json:"schema"`
	Run     string    `json:"run"`
	Gate    string    `json:"gate"` // id of the gate's opening
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Choice  string    `json:"choice"`
	Note    string    `json:"note,omitempty"`
	Edited  string    `json:"edited,omitempty"`
	Channel string    `json:"channel,omitempty"`
	Digest  string    `json:"digest"` // digest of the content that the user saw
	MAC     string    `json:"mac"`
}

// The actions of an order.
const (
	Pause  = "pause"
	Cancel = "cancel"
)

// Order asks a running run to pause or to end.
type Order struct {
	Schema string    `json:"schema"`
	Run    string    `json:"run"`
	Do     string    `json:"do"` // Pause or Cancel
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	MAC    string    `json:"mac"`
}

// Answer writes a user's answer to an open gate. If another answer counts already, the error is a
// *TakenError.
func (b Box) Answer(g formats.Gate, d formats.Decision) error {
	if len(b.Key) == 0 {
		return formats.Fail(
			formats.CodeConfig,
			"set HOME or XDG_STATE_HOME",
			"found no folder of yours to keep a key in",
		)
	}
	if len(d.Note) > MaxNote || !utf8.ValidString(d.Note) {
		return formats.Fail(formats.CodeUsage, "",
			"expected a note of at most %d bytes of UTF-8", MaxNote)
	}

	a := Answer{
		Schema:  answerSchema,
		Run:     b.Run,
		Gate:    g.ID,
		By:      d.By,
		At:      d.At.UTC(),
		Choice:  d.Answer,
		Note:    d.Note,
		Edited:  d.Edited,
		Channel: d.Channel,
		Digest:  g.Digest,
	}
	a.MAC = b.seal(a)
	name := path.Join(answers, fileOf(g, d.By))
	for try := 0; ; try++ {
		err := b.writeLetter(name, a)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		first, why := b.read(name, g)
		if why == "" {
			return &TakenError{first}
		}
		if try == 3 {
			return err
		}
		if err := b.moveAside(name, why); err != nil {
			return err
		}
	}
}

// Taken is the *TakenError that another answer of the user would get; nil if there is none.
func (b Box) Taken(g formats.Gate, by string) error {
	if first, why := b.read(path.Join(answers, fileOf(g, by)), g); why == "" {
		return &TakenError{first}
	}
	return nil
}

// fileOf names the file of an answer: one for a gate, one for each user where a gate needs several.
func fileOf(g formats.Gate, by string) string {
	if g.Quorum <= 1 {
		return g.ID + ".json"
	}
	sum := sha256.Sum256([]byte(by))
	return g.ID + "." + hex.EncodeToString(sum[:8]) + ".json"
}

// Answers gives the valid answers to an open gate, oldest first. It moves files aside that fit no
// gate.
func (b Box) Answers(g formats.Gate) ([]formats.Decision, error) {
	entries, err := fs.ReadDir(atomicfile.FS(b.Root), path.Join(b.Dir, answers))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, formats.OnFile("reading", path.Join(b.Dir, answers), err)
	}

	var out []formats.Decision
	for _, e := range entries {
		name := path.Join(answers, e.Name())
		id, _, _ := strings.Cut(e.Name(), ".")
		switch {
		case strings.Contains(e.Name(), ".json.tmp-"): // it is being written
			continue
		case id != g.ID:
			if why := b.whyInvalid(name); why != "" {
				err = errors.Join(err, b.moveAside(name, why))
			}
			continue
		}
		a, why := b.read(name, g)
		if why != "" {
			err = errors.Join(err, b.moveAside(name, why))
			continue
		}
		out = append(out, formats.Decision{
			Answer:  a.Choice,
			By:      a.By,
			Person:  true,
			Note:    a.Note,
			At:      a.At,
			Edited:  a.Edited,
			Channel: a.Channel,
		})
	}

	order.Stable(out, func(a, b formats.Decision) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.By, b.By))
	})
	return out, err
}

// read gives an answer that counts for a gate, else why it does not.
func (b Box) read(name string, g formats.Gate) (a Answer, why string) {
	if why := b.readLetter(name, &a); why != "" {
		return a, why
	}

	_, offered := g.Choice(a.Choice)
	until := g.Until()
	switch {
	case a.Schema != answerSchema || a.Run != b.Run || a.Gate != g.ID ||
		path.Base(name) != fileOf(g, a.By):
		return a, "it is not the answer that its name says"
	case !b.isSealed(&a.MAC, &a):
		return a, "it was not sealed with your key"
	case a.Digest != g.Digest:
		return a, "it answers what was not shown"
	case a.At.Before(g.Opened):
		return a, "it is older than the question"
	case !until.IsZero() && a.At.After(until):
		return a, "it came when the time of the gate was over"
	case !offered && a.Edited == "":
		return a, fmt.Sprintf("%q is no choice of the gate", a.Choice)
	case a.By == "":
		return a, "it names no user"
	}
	return a, ""
}

// whyInvalid says why a file that answers no gate that is open now is no answer at all; empty: it
// answered another one.
func (b Box) whyInvalid(name string) string {
	var a Answer
	why := b.readLetter(name, &a)
	if why == "" && (a.Schema != answerSchema || a.Run != b.Run || !b.isSealed(&a.MAC, &a)) {
		return "it was not sealed with your key"
	}
	return why
}

// Give writes an order. If an unread order exists, the error wraps fs.ErrExist.
func (b Box) Give(o Order) error {
	if len(b.Key) == 0 {
		return formats.Fail(
			formats.CodeConfig,
			"set HOME or XDG_STATE_HOME",
			"found no folder of yours to keep a key in",
		)
	}

	o.Schema = orderSchema
	o.Run = b.Run
	o.At = o.At.UTC()
	o.MAC = ""
	o.MAC = b.seal(o)
	return b.writeLetter(control, o)
}

// Take reads and removes the order to a run; start is when its process took the run.
func (b Box) Take(since time.Time) (o Order, ok bool, err error) {
	if _, err := b.Root.Lstat(path.Join(b.Dir, control)); err != nil {
		return o, false, nil //nolint:nilerr // there is none, which is the usual case
	}

	why := b.readLetter(control, &o)
	switch {
	case why != "":
	case o.Schema != orderSchema || o.Run != b.Run || o.Do != Pause && o.Do != Cancel || o.By == "":
		why = "it is no order to this run"
	case !b.isSealed(&o.MAC, &o):
		why = "it was not sealed with your key"
	case o.At.Before(since):
		why = "it is older than the process"
	}

	if why != "" {
		return Order{}, false, b.moveAside(control, why)
	}
	return o, true, b.Withdraw()
}

// Withdraw removes an unread order.
func (b Box) Withdraw() error {
	if err := b.Root.Remove(path.Join(b.Dir, control)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeLetter makes a letter, whole or not at all, unless there is one.
func (b Box) writeLetter(name string, letter any) error {
	data, err := json.Marshal(letter)
	if err != nil {
		return err
	}

	name = path.Join(b.Dir, name)
	if err := atomicfile.MkdirAll(b.Root, path.Dir(name), 0o700); err != nil {
		return formats.OnFile("making", path.Dir(name), err)
	}
	if err := atomicfile.Create(b.Root, name, append(data, '\n'), 0o600); err != nil {
		return formats.OnFile("writing", name, err)
	}
	return nil
}

// readLetter reads a file that may be a letter, else it says why it is none.
func (b Box) readLetter(name string, into any) (why string) {
	name = path.Join(b.Dir, name)
	info, err := b.Root.Lstat(name)
	switch {
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is no plain file"
	case info.Size() > maxLetter:
		return "it is too large"
	}

	file, err := b.Root.Open(name)
	if err != nil {
		return err.Error()
	}
	data, err := io.ReadAll(io.LimitReader(file, maxLetter+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return err.Error()
	}
	return decode(data, into)
}

// decode reads a letter strictly, else it says why it is none.
func decode(data []byte, into any) (why string) {
	if len(data) > maxLetter || !utf8.Valid(data) {
		return "it is too large, or no UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err.Error()
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "something stands after it"
	}
	return ""
}

// seal is the HMAC of a letter whose member for it is empty.
func (b Box) seal(letter any) string {
	data, err := json.Marshal(letter)
	if err != nil {
		return "" // not reached: letters are texts and times
	}
	mac := hmac.New(sha256.New, b.Key)
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil))
}

// isSealed tells whether a letter, in which mac stands, was made with the key.
func (b Box) isSealed(mac *string, letter any) bool {
	got := *mac
	*mac = ""
	want := b.seal(letter)
	*mac = got
	return len(b.Key) > 0 && hmac.Equal([]byte(got), []byte(want))
}

// moveAside moves away what is no letter, and tells it.
func (b Box) moveAside(name, why string) error {
	from := path.Join(b.Dir, name)
	base := strings.ReplaceAll(name, "/", "-")
	if err := atomicfile.MkdirAll(b.Root, path.Join(b.Dir, asideFolder), 0o700); err != nil {
		return formats.OnFile("making", path.Join(b.Dir, asideFolder), err)
	}

	for n := 1; ; n++ {
		to := path.Join(b.Dir, asideFolder, fmt.Sprintf("%s.%d", base, n))
		if _, err := b.Root.Lstat(to); err == nil {
			continue
		}

		err := b.Root.Rename(from, to)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process has moved it
			return nil
		case err != nil:
			return formats.OnFile("moving", from, err)
		}
		if b.Tell != nil {
			b.Tell(fmt.Sprintf("warning: %s was set aside as %s: %s", from, to, why))
		}
		return nil
	}
}
