package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/state"
)

// syncVerb lists the hand edits of TODO.md, or applies them.
func (a *app) syncVerb() *cobra.Command {
	var txn string
	var check, force bool
	cmd := &cobra.Command{
		Use: "sync", Short: "take over the hand edits of TODO.md", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				return a.syncCheck(cmd)
			}
			return a.write(cmd.Context(), txn, force, state.SyncTasks{})
		},
	}
	txnFlags(cmd, &txn)
	cmd.Flags().BoolVar(&check, "check", false, "list the edits; write nothing")
	cmd.Flags().BoolVar(&force, "force", false, "make any change, also where it is not known what TODO.md was written from")
	return cmd
}

func (a *app) syncCheck(cmd *cobra.Command) error {
	w, err := a.workspace(cmd.Context())
	if err != nil {
		return err
	}
	edits, err := w.reader.Edits(cmd.Context())
	if err != nil {
		return err
	}
	problems := 0
	for i := range edits.Proposals {
		p := &edits.Proposals[i]
		if p.Problem != "" {
			problems++
		}
		if a.flags.json {
			continue
		}
		if p.Problem == "" {
			a.term.answer("%s", p.String())
			continue
		}
		a.term.say(sprintf(".tercet/TODO.md:%d: %s", p.Line, p.Problem))
		a.term.help(p.Help)
	}
	switch {
	case a.flags.json:
		a.term.json(map[string]any{"schema": "tercet.sync/1", "edits": edits})
	case !edits.Edited:
		a.term.note("TODO.md is as it was written")
	default:
		a.syncNotes(edits)
	}
	if problems > 0 {
		return shown{formats.ExitFor(formats.CodeValidationFailed)}
	}
	return nil
}

func (a *app) syncNotes(edits state.Edits) {
	for _, warning := range edits.Warnings {
		a.term.note("warning: %s", warning)
	}
	for _, n := range edits.Missing {
		a.term.note("the line of task %d is gone; it comes back", n)
	}
	if edits.Notes > 0 {
		a.term.note("%s of other text stay", count(edits.Notes, "piece"))
	}
	if len(edits.Proposals) > 0 {
		a.term.note("apply with: tercet sync")
	}
}

// taskClaim takes a task for a session, in one transaction.
func (a *app) taskClaim() *cobra.Command {
	var txn, as string
	op := state.ClaimTask{Loose: true}
	cmd := &cobra.Command{
		Use: "claim [TASK]", Short: "take the first task that is ready, or the named one, for a session", Args: words(0, 1),
		Long: `claim takes a task and prints its number: the first that 'tercet task ready' lists, or the named one. It enters the
in-progress status that comes next in its life, with a lease of the session. Of many that claim at once each gets a task of
its own. Go on with the same session: tercet task --session ID set TASK STATUS.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				n, err := strconv.Atoi(args[0])
				if err != nil || n < 1 {
					return usage("expected a task number, got %q", args[0])
				}
				op.Task = n
			}
			if as != "" {
				to, err := formats.LooseTaskStatus(as)
				if err != nil {
					return err
				}
				op.To = to
			}
			return a.claim(cmd, txn, op)
		},
	}
	txnFlags(cmd, &txn)
	cmd.Flags().StringVar(&as, "as", "", "the in-progress `status` to enter (default: what comes next)")
	cmd.Flags().DurationVar(&op.Timeout, "timeout", formats.DefaultLeaseTimeout, "how long the claim holds")
	return cmd
}

func (a *app) claim(cmd *cobra.Command, txn string, op state.ClaimTask) error {
	res, err := a.apply(cmd.Context(), txn, false, op)
	if err != nil {
		return err
	}
	if len(res.Verdicts) != 1 {
		return &formats.Failure{Code: formats.CodeBug, Message: sprintf("expected one verdict of a claim, got %d", len(res.Verdicts))}
	}
	v, session := res.Verdicts[0], a.sessionID()
	if res.Replayed { // the session of then holds the lease
		w, err := a.workspace(cmd.Context())
		if err != nil {
			return err
		}
		if t, err := w.reader.Task(cmd.Context(), v.Task); err == nil && t.Lease != nil {
			session = t.Lease.Session
		}
	}
	if a.flags.json {
		a.term.json(map[string]any{
			"schema": "tercet.claim/1", "task": v.Task, "from": v.From, "status": v.To, "session_id": session, "serial": res.Serial,
			"txn": res.Txn, "replayed": res.Replayed,
		})
		return nil
	}
	a.term.answer("%d", v.Task)
	a.term.note("task %d is %s for session %s", v.Task, v.To, session)
	return nil
}

// taskRenumber gives a task another number.
func (a *app) taskRenumber() *cobra.Command {
	var txn string
	cmd := &cobra.Command{
		Use: "renumber TASK [NUMBER]", Short: "give a task another number; references follow, documents stay where they are", Args: words(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var list [2]int
			for i, word := range args {
				n, err := strconv.Atoi(word)
				if err != nil || n < 1 {
					return usage("expected a task number, got %q", word)
				}
				list[i] = n
			}
			return a.write(cmd.Context(), txn, false, state.Renumber{Task: list[0], To: list[1]})
		},
	}
	txnFlags(cmd, &txn)
	return cmd
}
