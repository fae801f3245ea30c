package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
	"tercet/subagents/agentcli"
)

// Follower reads the journal of a run as it grows, and keeps a summary of it.
type Follower = journal.Follower

// Follow reads the journal of a run as it grows. An error of Poll says that it is damaged.
func (p *Project) Follow(run string) *Follower {
	return journal.NewFollower(p.Root, run, nil)
}

// Follow is as Project.Follow. What the monitor has read of the run is not read again.
func (m *Monitor) Follow(run string) *Follower {
	if r := m.runs[run]; r != nil && r.follower != nil {
		return r.follower.Clone()
	}
	return m.project.Follow(run)
}

// Spoken is one part of the transcript of an agent.
type Spoken = agentcli.Spoken

// SpokenUse is the kind of a part in which an agent uses a tool.
const SpokenUse = agentcli.Uses

// StepDetail is what one step of a run did.
type StepDetail struct {
	Step  StepInfo
	Place string // the path without visits
	Calls []CallDetail
	Next  string // recommended
}

// CallDetail is one call of a subagent.
type CallDetail struct {
	Agent   string
	Attempt int
	Input   string          // as indented JSON
	Ended   bool            // there is a return
	Return  *formats.Return // nil: it has not ended
	Prompt  string          // of the last start; empty: it has none
	// Transcript is what the agent printed, or the end of it.
	Transcript []Spoken
	Cut        bool // the transcript begins later
}

// Transcript is what the agents of a run said and did, as text: each call below the path of its
// step. Of a long one it is the end, of at most that many bytes.
func (p *Project) Transcript(run string, most int) (string, error) {
	f := p.Follow(run)
	if _, err := f.Poll(); err != nil {
		return "", err
	}

	size := 0
	var calls []string
	for _, s := range slices.Backward(f.Steps()) {
		if s.Agent == "" {
			continue
		}
		d, err := p.Step(f, s.Path)
		if err != nil {
			return "", err
		}
		for i, c := range slices.Backward(d.Calls) {
			text := c.transcriptText(s.Path, i, len(d.Calls))
			calls = append(calls, text)
			size += len(text)
		}
		if size > most {
			break
		}
	}

	slices.Reverse(calls)
	return lastBytes(strings.Join(calls, "\n"), most), nil
}

// lastBytes is the end of a text, of at most that many bytes behind a line that says so. It begins
// with a whole line, if there is one.
func lastBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-most:], "")
	if _, rest, _ := strings.Cut(text, "\n"); rest != "" {
		text = rest
	}
	return "(what came before is left out)\n" + text
}

// transcriptText is the transcript of call i of a step.
func (c *CallDetail) transcriptText(step string, i, of int) string {
	var b strings.Builder
	b.WriteString(step + ", " + c.Agent)
	if of > 1 {
		fmt.Fprintf(&b, ", attempt %d", i+1)
	}
	b.WriteString("\n")
	if c.Cut {
		b.WriteString("\n(what came before is left out)\n")
	}

	for _, s := range c.Transcript {
		b.WriteString("\n" + strings.TrimSpace(string(s.Kind)+" "+s.Tool) + ":\n")
		if text := strings.TrimRight(s.Text, "\n"); text != "" {
			b.WriteString(text + "\n")
		}
	}
	if len(c.Transcript) == 0 {
		b.WriteString("\nIt has said nothing.\n")
	}
	return b.String()
}

// maxPrinted bounds how much of the output of an agent is read, in bytes: the end of it.
const maxPrinted = 512 << 10

// Step reads one step of a run that is followed, by its path.
func (p *Project) Step(f *Follower, step string) (StepDetail, error) {
	run := f.Run()
	all := f.Steps()
	at := slices.IndexFunc(all, func(s StepInfo) bool { return s.Path == step })
	if at < 0 {
		return StepDetail{}, formats.Fail(formats.CodeNotFound,
			"run 'tercet show "+run+"' to list its steps", "run %s has no step '%s'", run, step)
	}
	records, err := f.Records(step)
	if err != nil {
		return StepDetail{}, err
	}

	d := StepDetail{Step: all[at]}
	for _, r := range records {
		d.addEntry(r)
	}
	for i := range d.Calls {
		if err := p.readCall(run, step, &d.Calls[i]); err != nil {
			return d, err
		}
	}
	return d, nil
}

// addEntry adds what a journal entry says about the step. Data of another shape is skipped.
func (d *StepDetail) addEntry(r journal.Record) {
	switch r.Type { //nolint:exhaustive // other entries are not about calls
	case formats.EntryStepScheduled:
		d.Calls = nil // the user went back to it
	case formats.EntryDelegationStarted:
		var data struct {
			Agent string          `json:"agent"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(r.Raw(), &data) != nil {
			return
		}
		input, err := json.MarshalIndent(data.Input, "", "  ")
		if err != nil || string(input) == "null" {
			input = nil
		}
		d.Calls = append(d.Calls, CallDetail{
			Agent:   data.Agent,
			Attempt: max(1, r.Attempt),
			Input:   string(input),
		})
	case formats.EntryDelegationResult:
		var ret formats.Return
		last := len(d.Calls) - 1
		if last >= 0 && json.Unmarshal(r.Raw(), &ret) == nil {
			d.Calls[last].Return = &ret
			d.Calls[last].Ended = true
		}
	}
}

// readCall reads the prompt and the output of a call from the folder of the run.
func (p *Project) readCall(run, step string, c *CallDetail) error {
	dir := path.Join(journal.Folder, run, journal.CallFolder(step, c.Attempt))
	tree := atomicfile.FS(p.Root)
	prompts, err := fs.Glob(tree, path.Join(dir, "call-*-prompt.md"))
	if err != nil {
		return err
	}

	if len(prompts) > 0 {
		text, _, err := p.tail(prompts[len(prompts)-1])
		if err != nil {
			return err
		}
		c.Prompt = p.Mask.Values(string(text))
	}

	printed, err := fs.Glob(tree, path.Join(dir, "call-*-std*"))
	if err != nil {
		return err
	}
	for _, name := range printed {
		text, cut, err := p.tail(name)
		if err != nil {
			return err
		}
		c.Cut = c.Cut || cut
		if cut {
			_, rest, _ := strings.Cut(string(text), "\n")
			text = []byte(rest)
		}
		c.Transcript = append(c.Transcript, agentcli.Transcript(p.Mask.Line(text))...)
	}
	return nil
}

// tail reads the end of a file, and tells whether something stands before it.
func (p *Project) tail(name string) (data []byte, cut bool, err error) {
	f, err := atomicfile.Open(p.Root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}

	info, err := f.Stat()
	from := int64(0)
	if err == nil {
		from = max(0, info.Size()-maxPrinted)
		data, err = io.ReadAll(io.NewSectionReader(f, from, maxPrinted))
	}
	return data, from > 0, errors.Join(err, f.Close())
}
