package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/subagents/prompt"
)

// promptVerb shows what a subagent would be told. It runs nothing.
func (a *app) promptVerb() *cobra.Command {
	var task int
	cmd := &cobra.Command{
		Use: "prompt SUBAGENT", Short: "show the composed prompt of a subagent and its SHA-256", Args: words(1, 1),
		Long: `Shows the bytes that a model behind the subagent would be told, as a step without further input would compose them, and
their SHA-256. What a run adds stands in the prompt by its name: TERCET_OUT and TERCET_RETURN, and no nonce. The journal of
a run has the SHA-256 of every prompt that was given.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("task") && task < 1 {
				return usage("expected the number of a task for --task, got %d", task)
			}
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			return w.showPrompt(cmd.Context(), args[0], task)
		},
	}
	cmd.Flags().IntVar(&task, "task", 0, "the `number` of the task that it works on")
	return cmd
}

func (w *world) showPrompt(ctx context.Context, agent string, number int) error {
	r := formats.Request{Agent: agent, Attempt: 1}
	if number > 0 {
		if w.reader == nil {
			return noWorkspace()
		}
		t, err := w.taskOf(ctx, number)
		if err != nil {
			return err
		}
		r.Task = t
	}
	r, info, err := w.dispatcher.Preview(r)
	if err != nil {
		return err
	}
	if info.Builtin || info.Workflow {
		kind := "built in"
		if info.Workflow {
			kind = "a workflow of steps"
		}
		return &formats.Failure{
			Code: formats.CodeUsage, Message: fmt.Sprintf("expected a subagent that works by a prompt, got %s, which is %s", agent, kind),
			Help: "see its file with 'tercet which --agent " + agent + "'",
		}
	}
	p := prompt.Stable(prompt.Input{Request: r, Info: info})
	if !w.app.flags.json {
		if w.app.term.outTTY {
			w.app.term.answer("%s", passage(p.Text))
		} else {
			w.app.term.raw([]byte(p.Text))
		}
		w.app.term.note("sha256 %s, %d bytes", p.SHA256, len(p.Text))
		return nil
	}
	facets := make([]map[string]any, 0, len(p.Facets))
	for _, f := range p.Facets {
		facets = append(facets, map[string]any{"name": f.Name, "bytes": len(f.Text), "text": f.Text})
	}
	w.app.term.json(map[string]any{
		"schema": "tercet.prompt/1", "agent": info.Name, "task": number, "sha256": p.SHA256, "bytes": len(p.Text), "facets": facets, "text": p.Text,
	})
	return nil
}

// taskOf gives a task as a step of a command gets it.
func (w *world) taskOf(ctx context.Context, number int) (*formats.Task, error) {
	list, err := w.tasks(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Number == number {
			return &list[i], nil
		}
	}
	return nil, &formats.Failure{
		Code: formats.CodeNotFound, Message: fmt.Sprintf("task %d does not exist", number), Help: "run 'tercet query \".tasks[].number\"' to list the tasks",
	}
}
