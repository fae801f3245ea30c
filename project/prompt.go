package project

import (
	"context"

	"tercet/formats"
	"tercet/subagents/agentcli"
	"tercet/subagents/prompt"
)

// Prompt is the prompt of a subagent, with its parts and its digest.
type Prompt = prompt.Prompt

// Prompt gives the prompt that a step without further input would give to a subagent, for a task or
// with 0 for none, and the name of the subagent. Folders that only a run knows stand in it by name.
func (s *Session) Prompt(ctx context.Context, agent string, task int) (Prompt, string, error) {
	r := formats.Request{Agent: agent, Attempt: 1}
	if task > 0 {
		if s.Project.Reader == nil {
			return Prompt{}, "", NoWorkspace()
		}
		var err error
		r.Task, err = s.Project.Reader.Task(ctx, task)
		if err != nil {
			return Prompt{}, "", err
		}
	}

	r, info, err := s.Dispatcher.Preview(r)
	if err != nil {
		return Prompt{}, "", err
	}

	kind := "built in"
	if info.Workflow {
		kind = "a workflow of steps"
	}
	if info.Builtin || info.Workflow {
		return Prompt{}, "", formats.Fail(formats.CodeUsage,
			"see its file with 'tercet which --agent "+r.Agent+"'",
			"expected a subagent with a prompt, got %s, which is %s", r.Agent, kind)
	}

	in := prompt.Input{Request: r, Info: info}
	if runner := s.promptRunner(info); runner != "" {
		list, err := s.Project.readInstructions(ctx)
		if err != nil {
			return Prompt{}, "", err
		}
		in.Instructions = promptTexts(list, runner)
	}
	return prompt.Stable(in), info.Name, nil
}

// promptRunner is the agent CLI that a subagent would run on first; empty: it is none.
func (s *Session) promptRunner(info formats.AgentInfo) string {
	runner := s.runnersOf(info)[0]
	switch runner {
	case "", agentcli.RunnerOffline, agentcli.Runner:
		return ""
	}
	return runner
}
