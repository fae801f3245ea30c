package scenario

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/phrase"
	"tercet/subagents"
	"tercet/subagents/cassette"
)

// Runner is the runner of scripted workers in metadata.
const Runner = "stub"

// parse gives what the engine gets of a return.
func (r Return) parse(agent string) (formats.Return, error) {
	if strings.HasPrefix(strings.TrimSpace(r.Text), "{") {
		return returns.Parse([]byte(r.Text), returns.ParseOptions{})
	}
	blocks, found := returns.ParseAgentResult([]byte(r.Text))
	own, _, ok := returns.PickResult(blocks, agent)
	if !ok {
		return formats.Return{}, formats.Fail(formats.CodeInvalidReturn,
			"begin it with AGENT_RESULT: "+agent, "expected a block of %s, got none", agent)
	}
	if d := (&formats.Diagnostics{List: found}); d.HasErrors() {
		return formats.Return{}, formats.Fail(formats.CodeInvalidReturn, d.Help(), "%s",
			d.List[0].Message)
	}
	return own.Return()
}

// Workers are the scripted workers of one test, and the answers to its gates.
type Workers struct {
	test   *Test
	record bool

	mu       sync.Mutex
	calls    map[string]int
	answers  []Answer
	recorded map[string][]Return
	missing  []string // workers that were called and have no return
	prog     *compile.Program
}

// SetProgram sets the program that runs.
func (c *Workers) SetProgram(p *compile.Program) {
	c.prog = p
}

// Program is the program of the last line; nil if it ran none.
func (c *Workers) Program() *compile.Program {
	return c.prog
}

// NewWorkers makes the workers of a test. Recording ones call the real workers and store their
// answers.
func NewWorkers(t *Test, record bool) *Workers {
	return &Workers{
		test:     t,
		record:   record,
		calls:    map[string]int{},
		answers:  slices.Clone(t.Answers),
		recorded: map[string][]Return{},
	}
}

// IsScripted reports whether a subagent is scripted: all but built-in and workflow subagents, and
// these if the test says so.
func (c *Workers) IsScripted(info formats.AgentInfo) bool {
	if info.Builtin || info.Workflow {
		return !c.record && c.test.Returns[info.Name] != nil && !Reserved(info.Name)
	}
	return true
}

// Agent replaces a subagent's own runner.
func (c *Workers) Agent(def subagents.Definition, own subagents.Agent) subagents.Agent {
	return &worker{
		workers: c,
		info:    def.Info,
		real:    own,
	}
}

// Answer gives the test's next answer to a gate, if there is one left for its step.
func (c *Workers) Answer(g formats.Gate) (formats.Decision, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.answers, func(a Answer) bool {
		return a.Gate == idOf(g.Step)
	})
	if i < 0 {
		return formats.Decision{}, false
	}
	a := c.answers[i]
	c.answers = slices.Delete(c.answers, i, i+1)
	for _, one := range g.Choices {
		if phrase.In(c.test.Language, one.Label) == a.Choose {
			a.Choose = one.Label
		}
	}
	return formats.Decision{
		Answer: a.Choose,
		Note:   a.Note,
		By:     "test",
		Person: true,
	}, true
}

// nextReturn is the return for the next call of a worker.
func (c *Workers) nextReturn(agent string) (Return, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, _, _ := strings.Cut(agent, "@")
	list := c.test.Returns[agent]
	if list == nil {
		list = c.test.Returns[name]
	}
	if len(list) == 0 {
		c.missing = append(c.missing, agent)
		return Return{}, false
	}
	n := c.calls[agent]
	c.calls[agent]++
	return list[min(n, len(list)-1)], true
}

// worker stands in for one subagent; real is the one that a recording calls.
type worker struct {
	workers *Workers
	info    formats.AgentInfo
	real    subagents.Agent
}

// Run replays one call.
func (p *worker) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := p.RunMetered(ctx, r)
	return ret, err
}

// RunMetered replays one call, or records it. A replayed worker uses nothing.
func (p *worker) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	if p.workers.record {
		return p.workers.recordCall(ctx, p, r)
	}
	used := subagents.Measured{Runner: Runner}
	said, ok := p.workers.nextReturn(p.info.Name)
	if !ok {
		return formats.Return{}, used, formats.Fail(formats.CodeUsage,
			`add it to "returns" in `+p.workers.test.File,
			"the test has no return for %s", p.info.Name)
	}

	name, _, _ := strings.Cut(p.info.Name, "@")
	ret, err := said.parse(name)
	if err != nil {
		return ret, used, err
	}

	ret = returns.Typed(ret, p.info.Fields)
	documents := map[string]string{}
	tree := map[string]string{}
	for file, text := range said.Writes {
		if p.isDocument(r, ret, file) {
			documents[file] = text
		} else {
			tree[file] = text
		}
	}

	return ret, used, errors.Join(
		cassette.WriteFiles(r.Out, documents, nil),
		cassette.WriteFiles(r.Dir, tree, said.Removes),
	)
}

// isDocument tells whether a file goes into the folder for documents. That is a document that the
// return or the contract names, and every file of a call that works in no tree.
func (p *worker) isDocument(r formats.Request, ret formats.Return, file string) bool {
	for _, a := range ret.Artifacts {
		if path.Clean(a.Path) == file && !a.Guessed {
			return a.Type.IsDocument()
		}
	}
	return r.NoTree || slices.ContainsFunc(p.info.Artifacts, func(a formats.ArtifactSpec) bool {
		return a.Type.IsDocument() &&
			(a.Name == path.Base(file) || a.Name == "" && !strings.Contains(file, "/"))
	})
}
