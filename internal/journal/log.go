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

// told are the members of an entry that a line of the log shows, in this order.
var told = []string{
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
	if json.Unmarshal(e.Data, &data) == nil { // what is no map has nothing to show
		for _, key := range told {
			if v, ok := data[key].(string); ok {
				parts = append(parts, v)
			}
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

// Log reads a run's events, and new ones while it runs.
type Log struct {
	root *os.Root
	run  string
	step string // empty: all of them
	at   int64  // read of the journal
	line int
	read map[string]int64 // of the files of agents
}

// NewLog makes a Log of a run, or of one step of it: a path with visits, a place, or an id.
func NewLog(root *os.Root, run, step string) *Log {
	return &Log{
		root: root,
		run:  run,
		step: step,
		read: map[string]int64{},
	}
}

// mostAtOnce is how much of a file is read at a time.
const mostAtOnce = 256 << 10

// More gives the events since the last call, and whether the run is over. An agent's output comes
// after its answer, or at the end while there is no answer.
func (l *Log) More() (events []Event, over bool, err error) {
	name := path.Join(Folder, l.run, Name)
	for {
		lines, err := l.lines(name, l.at, false)
		if err != nil {
			return nil, false, failed(formats.CodeIO, "read", err)
		}
		if len(lines) == 0 {
			break
		}
		for one := range bytes.Lines(lines) {
			l.line++
			var r Record
			e := Event{}
			if _, _, ok := intact(bytes.TrimRight(one, "\n")); !ok {
				return nil, false, damaged(l.line, "line does not match its hash")
			}
			err := json.Unmarshal(one, &struct {
				*Record
				Data *json.RawMessage `json:"data"`
			}{&r, &e.Data})
			if err != nil {
				return nil, false, damaged(l.line, err.Error())
			}
			over = r.Type != formats.EntryReopened &&
				(over || r.Type == formats.EntryRunFinished && r.Step == "")
			e.Time = r.Time
			e.Type = string(r.Type)
			e.Step = r.Step
			e.Attempt = r.Attempt
			if l.wants(r.Step) {
				events = append(events, e)
			}
			if r.Type == formats.EntryDelegationResult || r.Type == formats.EntryDelegationCut {
				printed, err := l.printed(fmt.Sprintf("%s-%d",
					plainStep(r.Step), max(r.Attempt, 1)))
				if err != nil {
					return nil, false, err
				}
				events = append(events, printed...)
			}
		}
		l.at += int64(len(lines))
	}

	printed, err := l.printed("")
	return append(events, printed...), over, err
}

// Trace gives the lines added to trace.jsonl since the last call.
func (l *Log) Trace() (lines []byte, err error) {
	name := path.Join(Folder, l.run, "trace.jsonl")
	lines, err = l.lines(name, l.read[name], true)
	l.read[name] += int64(len(lines))
	if err != nil {
		return nil, failed(formats.CodeIO, "read trace.jsonl", err)
	}
	return lines, nil
}

// wants tells whether an entry is about the step: at it, or inside of it.
func (l *Log) wants(step string) bool {
	if l.step == "" || step == l.step || strings.HasPrefix(step, l.step+"/") {
		return true
	}
	place := visit().ReplaceAllString(step, "")
	return place == l.step ||
		slices.ContainsFunc(strings.Split(place, "/"), func(part string) bool {
			id, _, _ := strings.Cut(part, "[")
			return part == l.step || id == l.step
		})
}

// printed gives the whole lines that agents printed since, those in the folders of one step or of
// all.
func (l *Log) printed(folder string) (events []Event, err error) {
	files, err := fs.Glob(atomicfile.FS(l.root), path.Join(Folder, l.run, "*", "call-*-std*"))
	if err != nil {
		return nil, failed(formats.CodeIO, "list", err)
	}

	for _, name := range files {
		own := strings.TrimPrefix(name, path.Join(Folder, l.run)+"/")
		in := path.Dir(own)
		if folder != "" && in != folder && !strings.HasPrefix(in, folder+".") ||
			!l.wantsFolder(in) {
			continue
		}
		for {
			lines, err := l.lines(name, l.read[name], true)
			if err != nil {
				return nil, failed(formats.CodeIO, "read "+own, err)
			}
			if len(lines) == 0 {
				break
			}
			l.read[name] += int64(len(lines))
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

func (l *Log) wantsFolder(name string) bool {
	return l.step == "" || slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		id, _, _ := strings.Cut(part, "-")
		return id == l.step || part == l.step
	}) || strings.HasPrefix(name, plainStep(l.step)+"-")
}

// plainStep is a step in the name of a folder.
func plainStep(step string) string {
	return formats.FolderName(visit().ReplaceAllString(step, ""))
}

// lines gives the whole lines of a file from an offset on; nothing of one that is gone. A line that
// is longer than what is read at once is cut where that is allowed.
func (l *Log) lines(name string, from int64, cut bool) ([]byte, error) {
	file, err := atomicfile.Open(l.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	most := int64(MaxBytes)
	if cut {
		most = mostAtOnce
	}
	data, err := io.ReadAll(io.NewSectionReader(file, from, most))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == 0 && cut && len(data) == mostAtOnce {
		end = len(data)
	}
	return data[:end], nil
}
