package main

import (
	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/subagents/prompt"
)

// promptVerb shows what a subagent would be told. It runs nothing.
func promptVerb(cmd *cobra.Command, _ *app) run {
	task := cmd.Flags().Int("task", 0, "the `number` of the task that it works on")
	cmd.Long = `Shows the bytes that a model behind the subagent would be told, as a step without further input
would compose them, and their SHA-256. What a run adds stands in the prompt by its name: TERCET_OUT
and TERCET_RETURN, and no nonce. The journal of a run has the SHA-256 of every prompt that was
given.`
	return func(c call) error {
		r := formats.Request{Agent: c.args[0], Attempt: 1}
		if cmd.Flags().Changed("task") {
			if *task < 1 {
				return usage("expected the number of a task for --task, got %d", *task)
			}
			w, err := c.workspace(c.ctx)
			if err != nil {
				return err
			}
			if r.Task, err = w.reader.Task(c.ctx, *task); err != nil {
				return err
			}
		}
		r, info, err := c.dispatcher.Preview(r)
		if err != nil {
			return err
		}
		kind := "built in"
		if info.Workflow {
			kind = "a workflow of steps"
		}
		if info.Builtin || info.Workflow {
			return formats.Fail(formats.CodeUsage, "see its file with 'tercet which --agent "+r.Agent+"'",
				"expected a subagent that works by a prompt, got %s, which is %s", r.Agent, kind)
		}
		c.showPrompt(info.Name, *task, prompt.Stable(prompt.Input{Request: r, Info: info}))
		return nil
	}
}

func (c call) showPrompt(agent string, task int, p prompt.Prompt) {
	facets := []fields{}
	for _, f := range p.Facets {
		facets = append(facets, fields{"name": f.Name, "bytes": len(f.Text), "text": f.Text})
	}
	if c.document("tercet.prompt/1", fields{
		"agent": agent, "task": task, "sha256": p.SHA256, "bytes": len(p.Text), "facets": facets, "text": p.Text,
	}) {
		return
	}
	if c.term.outTTY {
		c.term.answer("%s", plain.Passage(p.Text))
	} else {
		c.term.raw([]byte(p.Text))
	}
	c.term.note("sha256 %s, %d bytes", p.SHA256, len(p.Text))
}
