package cassette

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/subagents"
	"tercet/subagents/prompt"
)

// Schema is the format of a recorded call.
const Schema = "tercet.cassette/1"

// Runner is the runner of a replayed call in metadata.
const Runner = "replay"

// recording is one recorded call.
type recording struct {
	Schema    string            `json:"schema"`
	Agent     string            `json:"agent"`
	Step      string            `json:"step"`
	Sum       string            `json:"prompt_sha256"`
	Prompt    string            `json:"prompt"`
	Return    *formats.Return   `json:"return,omitempty"`
	Said      formats.Outcome   `json:"said,omitempty"`
	Problems  []string          `json:"problems,omitempty"` // of a return that could not be read
	Raw       string            `json:"raw,omitempty"`
	Documents map[string]string `json:"documents,omitempty"` // by name in the folder for documents
	// files that were changed or made, by path in the tree
	Tree      map[string]string `json:"tree,omitempty"`
	Removed   []string          `json:"removed,omitempty"`   // files of the tree that were removed
	Published []string          `json:"published,omitempty"` // on the board of the step
	// ids that stood in the return, replaced by those of the run that plays it
	Run     string `json:"run"`
	Session string `json:"session_id"`
}

// Recorder is an Agent that stores the answers of another one.
type Recorder struct {
	Info  formats.AgentInfo
	Agent subagents.Agent
	To    *os.Root
	Root  string              // the project root, absolute
	Mask  func(string) string // masks known secrets in what it stores
}

// Run calls the agent and stores the result.
func (c *Recorder) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := c.RunMetered(ctx, r)
	return ret, err
}

// RunMetered calls the agent and stores the result. It does not store an error of the engine.
func (c *Recorder) RunMetered(
	ctx context.Context,
	r formats.Request,
) (ret formats.Return, used subagents.Measured, err error) {
	before, err := Snapshot(r.Dir)
	if err != nil {
		return ret, used, err
	}

	board := &recordingBoard{Board: r.Terms.Board}
	if r.Terms.Board != nil {
		r.Terms.Board = board
	}
	if m, ok := c.Agent.(subagents.Metered); ok {
		ret, used, err = m.RunMetered(ctx, r)
	} else {
		ret, err = c.Agent.Run(ctx, r)
	}

	if used.Runner == "" {
		if named, ok := c.Agent.(interface{ Runner() string }); ok {
			used.Runner = named.Runner()
		} else {
			used.Runner = ret.Metadata.Runner
		}
	}

	broken, unread := errors.AsType[*subagents.ReturnError](err)
	if err != nil && !unread || ctx.Err() != nil {
		return ret, used, err
	}

	text := stablePrompt(c.Info, r, c.Root)
	t := recording{
		Schema:    Schema,
		Agent:     r.Agent,
		Step:      r.Step,
		Sum:       formats.Sum([]byte(text)),
		Prompt:    text,
		Published: board.texts,
		Run:       r.Run,
		Session:   r.Session,
	}
	if unread {
		t.Problems = broken.Problems
		t.Raw = string(broken.Raw)
	} else {
		t.Return = &ret
		t.Said = ret.Said
	}

	t.Documents, _, err = ChangedFiles(nil, r.Out)
	if err != nil {
		return ret, used, err
	}
	t.Tree, t.Removed, err = ChangedFiles(before, r.Dir)
	if err != nil {
		return ret, used, err
	}

	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return ret, used, formats.OnFile("encode", fileName(r), err)
	}
	if c.Mask != nil {
		data = []byte(c.Mask(string(data)))
	}
	if err := refuseNewer(c.To, fileName(r)); err != nil {
		return ret, used, err
	}

	options := atomicfile.Options{Mode: 0o600}
	if err := atomicfile.WriteIn(c.To, fileName(r), append(data, '\n'), options); err != nil {
		return ret, used, formats.OnFile("record", fileName(r), err)
	}
	if unread {
		return ret, used, broken
	}
	return ret, used, nil
}

// recordingBoard is a board that keeps what is published. The call is over when it is read.
type recordingBoard struct {
	formats.Board

	mu    sync.Mutex
	texts []string
}

// Publish implements formats.Board.
func (h *recordingBoard) Publish(text string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.Board.Publish(text)
	if err == nil {
		h.texts = append(h.texts, text)
	}
	return err
}

// refuseNewer refuses a recording that a newer version of the program made, to be played or
// replaced.
func refuseNewer(root *os.Root, file string) error {
	var t struct{ Schema string }
	data, err := root.ReadFile(file)
	if err != nil || json.Unmarshal(data, &t) != nil {
		return nil //nolint:nilerr // there is none, or who reads it says what is wrong with it
	}
	if f := formats.Newer(formats.CodeInvalidState, file, t.Schema, Schema); f != nil {
		return f
	}
	return nil
}

// Player is an Agent that replays what a Recorder stored.
type Player struct {
	Info formats.AgentInfo
	From *os.Root
	Root string              // the project root, absolute
	Mask func(string) string // that of the Recorder, because recorded prompts are masked
}

// Run replays the call.
func (p *Player) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := p.RunMetered(ctx, r)
	return ret, err
}

// RunMetered replays the call. It uses nothing, so tokens and cost are zero.
func (p *Player) RunMetered(
	_ context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	used := subagents.Measured{Runner: Runner}
	if err := refuseNewer(p.From, fileName(r)); err != nil {
		return formats.Return{}, used, err
	}

	data, err := p.From.ReadFile(fileName(r))
	if errors.Is(err, fs.ErrNotExist) {
		return formats.Return{}, used, formats.Fail(formats.CodeUsage,
			"record the whole command with --record",
			"expected a recording of %s in step %s as %s, got none", r.Agent, r.Step, fileName(r))
	}
	if err != nil {
		return formats.Return{}, used, formats.OnFile("read", fileName(r), err)
	}

	var t recording
	if err := json.Unmarshal(data, &t); err != nil {
		return formats.Return{}, used, formats.OnFile("read", fileName(r), err)
	}
	if t.Schema != Schema || t.Return == nil && len(t.Problems) == 0 {
		return formats.Return{}, used, formats.OnFile("read", fileName(r),
			fmt.Errorf("expected schema %s and a return, got %q", Schema, t.Schema))
	}

	text := stablePrompt(p.Info, r, p.Root)
	if p.Mask != nil {
		text = p.Mask(text)
	}
	used.Prompt = formats.Sum([]byte(text))
	if t.Agent != r.Agent || t.Prompt != text {
		return formats.Return{}, used, formats.Fail(formats.CodeUsage,
			"record again with --record if you mean the change",
			"the prompt of %s in step %s differs from the recorded one in %s:\n%s", r.Agent, r.Step,
			fileName(r), Diff(t.Prompt, text))
	}

	if r.Terms.Board != nil {
		for _, text := range t.Published {
			if err := r.Terms.Board.Publish(text); err != nil {
				return formats.Return{}, used, err
			}
		}
	}
	if err := WriteFiles(r.Out, t.Documents, nil); err != nil {
		return formats.Return{}, used, err
	}
	if err := WriteFiles(r.Dir, t.Tree, t.Removed); err != nil {
		return formats.Return{}, used, err
	}
	if t.Return == nil {
		return formats.Return{}, used, &subagents.ReturnError{
			Agent:    r.Agent,
			Raw:      []byte(t.Raw),
			Problems: t.Problems,
		}
	}

	ret := *t.Return
	ret.Said = t.Said
	ret.Metadata = formats.Metadata{}
	return ret, used, nil
}

// stablePrompt is the prompt of a call without what differs from one run to the next: places, ids,
// times, hashes of commits.
func stablePrompt(info formats.AgentInfo, r formats.Request, root string) string {
	text := prompt.Stable(prompt.Input{Request: r, Info: info}).Text
	var pairs []string
	for _, p := range [][2]string{
		{r.Out, "(out)"},
		{r.Dir, "(tree)"},
		{root, "(root)"},
		{r.Run, "(run)"},
		{r.Session, "(session)"},
	} {
		if len(p[0]) > 1 {
			pairs = append(pairs, p[0], p[1])
		}
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	for _, rule := range [][2]string{
		{`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`, "(time)"},
		{`\b(implementation-summary-)\d{8}\b`, "${1}(day)"},
		{`\b[0-9a-f]{40}\b`, "(commit)"},
	} {
		text = regexp.MustCompile(rule[0]).ReplaceAllString(text, rule[1])
	}
	return text
}

// fileName is the file of a call: command and task, step, visit and attempt, and which call of the
// attempt it is.
func fileName(r formats.Request) string {
	step := cmp.Or(r.Step, r.Agent)
	if r.Task != nil {
		step = fmt.Sprintf("%d-%s", r.Task.Number, step)
	}
	if len(r.Path) > 1 {
		step = strings.TrimPrefix(r.Path[1], "/") + "-" + step
	}
	step = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' ||
			c == '_' {
			return c
		}
		return '.'
	}, step)

	kind := ""
	if len(r.Repair) > 0 {
		kind = "-repair"
	}
	if r.Question != "" {
		kind += "-question-" + formats.Sum([]byte(r.Question))[:8]
	}

	const longest = 120
	if len(step) > longest {
		step = step[:longest-8] + formats.Sum([]byte(step))[:8]
	}
	return fmt.Sprintf("%s-%d-%d%s.json",
		strings.Trim(step, "."), max(1, r.Visit), max(1, r.Attempt), kind)
}
