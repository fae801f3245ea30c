package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// Event is a line of a run's log: an entry of its journal, or a line of an agent's output.
type Event struct {
	Time    time.Time       `json:"time,omitzero"`
	Type    string          `json:"type"`
	Step    string          `json:"step_path,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	File    string          `json:"file,omitempty"` // file of the output, below the run's folder
	Text    string          `json:"text,omitempty"` // line of the output
}

// Output is the type of an event with an agent's output.
const Output = "output"

// shownMembers are the members of an entry that a line of the log shows, in this order.
var shownMembers = []string{
	"command", "agent", "status", "summary", "question", "answer", "choice", "by", "note", "target",
	"code", "message", "why", "until",
}

// String is the event in one line.
func (e Event) String() string {
	if e.Type == Output {
		return fmt.Sprintf("%s | %s", path.Dir(e.File), e.Text)
	}
	parts := []string{e.Time.Local().Format(time.TimeOnly), e.Type, e.Step}
	var data map[string]any
	if json.Unmarshal(e.Data, &data) == nil { // other data has no members to show
		for _, key := range shownMembers {
			if v, ok := data[key].(string); ok {
				parts = append(parts, v)
			}
		}
	}

	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

// Log reads a run's events, and new ones while it runs.
type Log struct {
	root    *os.Root
	run     string
	step    string // empty: all steps
	offset  int64  // next offset in the journal
	line    int
	offsets map[string]int64 // next offset in each output file
}

// NewLog returns a Log of a run, or of one step: a path with visits, a place, or an id.
func NewLog(root *os.Root, run, step string) *Log {
	return &Log{
		root:    root,
		run:     run,
		step:    step,
		offsets: map[string]int64{},
	}
}

// maxRead bounds one read, in bytes.
const maxRead = 256 << 10

// Poll returns the events since the last call, and whether the run is finished. An agent's output
// follows its result, or comes last while there is no result.
func (l *Log) Poll() (events []Event, over bool, err error) {
	name := path.Join(Folder, l.run, Name)
	for {
		lines, err := l.readLines(name, l.offset, false)
		if err != nil {
			return nil, false, failure(formats.CodeIO, "read", err)
		}
		if len(lines) == 0 {
			break
		}
		for one := range bytes.Lines(lines) {
			l.line++
			var r Record
			e := Event{}
			if _, _, ok := checkLine(bytes.TrimRight(one, "\n")); !ok {
				return nil, false, damagedError(l.line, "line does not match its hash")
			}
			err := json.Unmarshal(one, &struct {
				*Record
				Data *json.RawMessage `json:"data"`
			}{&r, &e.Data})
			if err != nil {
				return nil, false, damagedError(l.line, err.Error())
			}
			over = r.Type != formats.EntryReopened &&
				(over || r.Type == formats.EntryRunFinished && r.Step == "")
			e.Time = r.Time
			e.Type = string(r.Type)
			e.Step = r.Step
			e.Attempt = r.Attempt
			if l.matches(r.Step) {
				events = append(events, e)
			}
			if r.Type == formats.EntryDelegationResult || r.Type == formats.EntryDelegationCut {
				printed, err := l.readOutput(CallFolder(r.Step, r.Attempt))
				if err != nil {
					return nil, false, err
				}
				events = append(events, printed...)
			}
		}
		l.offset += int64(len(lines))
	}

	printed, err := l.readOutput("")
	return append(events, printed...), over, err
}

// Trace returns the lines added to trace.jsonl since the last call.
func (l *Log) Trace() (lines []byte, err error) {
	name := path.Join(Folder, l.run, "trace.jsonl")
	lines, err = l.readLines(name, l.offsets[name], true)
	l.offsets[name] += int64(len(lines))
	if err != nil {
		return nil, failure(formats.CodeIO, "read trace.jsonl", err)
	}
	return lines, nil
}

// matches reports whether an entry is about the selected step or inside it.
func (l *Log) matches(step string) bool {
	if l.step == "" || step == l.step || strings.HasPrefix(step, l.step+"/") {
		return true
	}
	place := visitSuffix().ReplaceAllString(step, "")
	return place == l.step ||
		slices.ContainsFunc(strings.Split(place, "/"), func(part string) bool {
			id, _, _ := strings.Cut(part, "[")
			return part == l.step || id == l.step
		})
}

// readOutput returns the complete lines that agents printed since the last call, in the folders of
// one step or of all.
func (l *Log) readOutput(folder string) (events []Event, err error) {
	files, err := fs.Glob(atomicfile.FS(l.root), path.Join(Folder, l.run, "*", "call-*-std*"))
	if err != nil {
		return nil, failure(formats.CodeIO, "list", err)
	}

	for _, name := range files {
		own := strings.TrimPrefix(name, path.Join(Folder, l.run)+"/")
		in := path.Dir(own)
		if folder != "" && in != folder && !strings.HasPrefix(in, folder+".") ||
			!l.matchesFolder(in) {
			continue
		}
		for {
			lines, err := l.readLines(name, l.offsets[name], true)
			if err != nil {
				return nil, failure(formats.CodeIO, "read "+own, err)
			}
			if len(lines) == 0 {
				break
			}
			l.offsets[name] += int64(len(lines))
			for one := range bytes.Lines(lines) {
				if text := strings.TrimRight(string(one), "\r\n"); text != "" {
					events = append(events, Event{
						Type: Output,
						File: own,
						Text: text,
					})
				}
			}
		}
	}

	return events, nil
}

func (l *Log) matchesFolder(name string) bool {
	return l.step == "" || slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		id, _, _ := strings.Cut(part, "-")
		return id == l.step || part == l.step
	}) || strings.HasPrefix(name, plainStep(l.step)+"-")
}

// CallFolder is the folder of an attempt to call a subagent, below that of the run.
func CallFolder(step string, attempt int) string {
	return fmt.Sprintf("%s-%d", plainStep(step), max(attempt, 1))
}

// plainStep is a step in the form of a folder name.
func plainStep(step string) string {
	return formats.FolderName(visitSuffix().ReplaceAllString(step, ""))
}

// readLines returns the complete lines of a file from an offset on; nothing if the file is gone.
// With cut, a line longer than maxRead is split.
func (l *Log) readLines(name string, from int64, cut bool) ([]byte, error) {
	file, err := atomicfile.Open(l.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	most := int64(MaxBytes)
	if cut {
		most = maxRead
	}
	data, err := io.ReadAll(io.NewSectionReader(file, from, most))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}

	end := bytes.LastIndexByte(data, '\n') + 1
	if end == 0 && cut && len(data) == maxRead {
		end = len(data)
	}
	return data[:end], nil
}
