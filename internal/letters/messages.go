package letters

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/order"
)

// Bounds of messages: MaxText of one in bytes, MaxWaiting of those that wait at once.
const (
	MaxText    = 16 << 10
	MaxWaiting = 16
)

const messageSchema = "tercet.message/1"

// message is a message in its file, which has its id as the name.
type message struct {
	Schema string `json:"schema"`
	Run    string `json:"run"`

	formats.Message

	MAC string `json:"mac"`
}

// CheckText refuses a text that is no message.
func CheckText(text string) error {
	isControl := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }
	at := strings.IndexFunc(text, isControl)
	switch {
	case strings.TrimSpace(text) == "":
		return formats.Fail(formats.CodeUsage, "write what the next worker should know",
			"expected a message, got an empty one")
	case len(text) > MaxText:
		return formats.Fail(formats.CodeUsage,
			"put the rest into a file of the project, and name the file",
			"expected a message of at most %d bytes, got %d", MaxText, len(text))
	case !utf8.ValidString(text):
		return formats.Fail(formats.CodeUsage, "write it in UTF-8",
			"expected a message in UTF-8, got other bytes")
	case at >= 0:
		c, _ := utf8.DecodeRuneInString(text[at:])
		return formats.Fail(formats.CodeUsage, "remove it",
			"expected a message without control characters, got %U at byte %d", c, at+1)
	}
	return nil
}

// Leave writes a message to the run. Its id must be new.
func (b Box) Leave(m formats.Message) error {
	if len(b.Key) == 0 {
		return formats.Fail(
			formats.CodeConfig,
			"set HOME or XDG_STATE_HOME",
			"found no folder of yours to keep a key in",
		)
	}
	if err := CheckText(m.Text); err != nil {
		return err
	}

	waiting, err := b.Messages()
	if err != nil {
		return err
	}
	if len(waiting) >= MaxWaiting {
		return formats.Fail(formats.CodePrecondition,
			"wait until a worker of the run has started",
			"%d messages wait for the next worker of run %s: there is room for no more",
			len(waiting), b.Run)
	}

	m.At = m.At.UTC()
	letter := message{Schema: messageSchema, Run: b.Run, Message: m}
	letter.MAC = b.seal(letter)
	return b.writeLetter(path.Join(messages, m.ID+".json"), letter)
}

// Messages gives the messages that wait, oldest first. It moves files aside that are none.
func (b Box) Messages() ([]formats.Message, error) {
	entries, err := fs.ReadDir(atomicfile.FS(b.Root), path.Join(b.Dir, messages))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, formats.OnFile("reading", path.Join(b.Dir, messages), err)
	}

	var out []formats.Message
	for _, e := range entries {
		if strings.Contains(e.Name(), ".json.tmp-") { // it is being written
			continue
		}

		name := path.Join(messages, e.Name())
		m, why := b.readMessage(name)
		if why == "" {
			out = append(out, m)
			continue
		}
		if _, gone := b.Root.Lstat(path.Join(b.Dir, name)); gone == nil {
			err = errors.Join(err, b.moveAside(name, why))
		}
	}

	order.Stable(out, func(a, b formats.Message) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return out, err
}

// readMessage gives a message, else why the file is none.
func (b Box) readMessage(name string) (m formats.Message, why string) {
	var letter message
	if why := b.readLetter(name, &letter); why != "" {
		return m, why
	}

	m = letter.Message
	switch {
	case letter.Schema != messageSchema || letter.Run != b.Run || m.ID+".json" != path.Base(name):
		return m, "it is not the message that its name says"
	case !b.isSealed(&letter.MAC, &letter):
		return m, "it was not sealed with your key"
	case m.By == "" || CheckText(m.Text) != nil:
		return m, "it names no user, or its text is no message"
	}
	return m, ""
}

// Remove removes a message; false means that it was gone already.
func (b Box) Remove(id string) (bool, error) {
	err := b.Root.Remove(path.Join(b.Dir, messages, id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
