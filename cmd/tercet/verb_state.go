package main

import (
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/state"
)

// stateVerb looks at the state file.
func (a *app) stateVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "state", Short: "look at the state file, and bring it in order"}
	return group(
		cmd, a.stateShow(), a.stateVerify(), a.stateTransitions(), a.stateAdopt(), a.stateRestore(), a.stateImport(), a.stateExport(), a.stateLayout(),
		a.stateHistory(), a.stateDiff(), a.stateMerge(), a.stateMergeDriver(),
	)
}

func (a *app) stateShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [TASK]", Short: "print the state, or one task", Args: words(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				src, err := w.reader.Bytes(cmd.Context())
				if err != nil {
					return err
				}
				if a.flags.json {
					a.term.rawJSON(src)
				} else {
					a.term.raw(src)
				}
				if notice := w.reader.Notice(cmd.Context()); notice != "" {
					a.term.note("warning: %s", notice)
				}
				return nil
			}
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return usage("expected a task number, got %q", args[0])
			}
			task, err := w.reader.Task(cmd.Context(), n)
			if err != nil {
				return err
			}
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.task-show/1", "task": task})
				return nil
			}
			data, err := json.MarshalIndent(task, "", "  ")
			if err != nil {
				return err
			}
			a.term.raw(append(data, '\n'))
			return nil
		},
	}
}

func (a *app) stateVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "check the state, its log and the documents it names", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			found, err := w.reader.Verify(cmd.Context())
			if err != nil {
				return err
			}
			d := &formats.Diagnostics{List: found, Of: formats.CodeInvalidState}
			d.Sort()
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.state-verify/1", "diagnostics": diagnosticsOf(d)})
			} else {
				a.term.diagnostics(d)
			}
			if d.HasErrors() {
				return shown{formats.ExitFor(formats.CodeInvalidState)}
			}
			a.term.note("state.json is valid")
			return nil
		},
	}
}

func (a *app) stateTransitions() *cobra.Command {
	return &cobra.Command{
		Use: "transitions", Short: "print which status may follow which", Args: words(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.flags.json {
				table := map[string][]map[string]any{}
				for _, s := range formats.TaskStatuses() {
					table[s.String()] = []map[string]any{}
					for _, m := range formats.Moves(s) {
						table[s.String()] = append(table[s.String()], map[string]any{
							"to": m.To, "reason": m.NeedsReason, "children_terminal": m.ChildrenTerminal, "recover": m.Recover,
						})
					}
				}
				a.term.json(map[string]any{"schema": "tercet.transitions/1", "transitions": table})
				return nil
			}
			a.term.answer("%s", passage(state.TransitionsText()))
			return nil
		},
	}
}

func (a *app) stateAdopt() *cobra.Command {
	return &cobra.Command{
		Use: "adopt", Short: "accept a state file that was changed from outside", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.mayCommand(); err != nil {
				return err
			}
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			res, err := w.manager.Adopt(cmd.Context())
			if err != nil {
				return err
			}
			a.term.note("adopted, serial %d", res.Serial)
			return nil
		},
	}
}

func (a *app) stateRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore [SERIAL]", Short: "write a backup back as the state, the newest one if none is named", Args: words(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.mayCommand(); err != nil {
				return err
			}
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			serial, ok := w.manager.NewestBackup()
			if len(args) == 1 {
				if serial, err = strconv.ParseUint(args[0], 10, 64); err != nil {
					return usage("expected the serial of a backup, got %q", args[0])
				}
			} else if !ok {
				return &formats.Failure{Code: formats.CodeNotFound, Message: "there is no backup", Help: "mend the file by hand"}
			}
			res, err := w.manager.Restore(cmd.Context(), serial)
			if err != nil {
				return err
			}
			for _, warning := range res.Warnings {
				a.term.note("warning: %s", warning)
			}
			a.term.note("restored the backup of serial %d, now serial %d", serial, res.Serial)
			return nil
		},
	}
}
