package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/proc"
	"tercet/internal/shell"
	"tercet/subagents"
	"tercet/subagents/sandbox"
)

// Approver answers a gate; a *formats.GateOpenError means that there is no answer now.
type Approver interface {
	Approve(ctx context.Context, g formats.Gate) (formats.Decision, error)
}

// SandboxRunner is sandbox-runner: it runs one shell command, once, after approval, in the sandbox
// that its risks and the flow's tier require. It returns the tier that it really used.
type SandboxRunner struct {
	Keeper   *sandbox.Keeper
	Starter  *proc.Starter
	Approver Approver
	Clock    subagents.Clock
}

const (
	// seconds that a command may take: unless it says otherwise, at most
	shortLimit     = 60
	longLimit      = 600
	shownLines     = 20 // of the output
	bypassed       = "bypassed"
	decidedSkipped = "skipped" // a probe or a dry run
)

// Run classifies the command of the request, asks for approval, and runs it in the sandbox that it
// needs.
func (s SandboxRunner) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := s.RunMetered(ctx, r)
	return ret, err
}

// RunMetered is Run, and reports the tier of the sandbox.
func (s SandboxRunner) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	tree, err := os.OpenRoot(r.Dir)
	if err != nil {
		return formats.Return{}, subagents.Measured{}, formats.OnFile("open", "the tree", err)
	}
	defer tree.Close() //nolint:errcheck // it holds no file that is written through it

	b := &sandboxCall{
		s:    s,
		r:    r,
		in:   inputOf(r),
		tree: tree,
		used: subagents.Measured{Runner: "builtin"},
	}
	ret, err := b.run(ctx)
	if err == nil && b.command != "" && (b.flow == "Full" || b.flow == "Major") {
		err = b.appendAudit()
	}
	ret, err = asReturn(ctx, ret, err)
	return ret, b.used, err
}

// sandboxCall is one call of the sandbox-runner.
type sandboxCall struct {
	s             SandboxRunner
	r             formats.Request
	in            input
	tree          *os.Root
	used          subagents.Measured
	command, flow string
	dir           string   // absolute, in which the command runs
	writePaths    []string // absolute; empty: the tree
	report        shell.Report
	fields        map[string]any
	warnings      []string
}

// readInput checks the input, finds the folders that it names, and classifies the command.
func (b *sandboxCall) readInput() (err error) {
	in := b.in
	in.allowOnly(
		"command", "working_directory", "timeout", "allow_network", "allow_write_paths", "dry_run",
		"reason", "caller", "tier", "request", "product_type", "ui", "documents", "artifacts",
		"language",
	)
	b.command = strings.TrimSpace(in.text("command"))
	b.flow = in.text("tier")
	if in.number("timeout") > longLimit {
		in.refuse("timeout", fmt.Sprintf("at most %d seconds", longLimit))
	}
	place := func(key, name string) string {
		info, err := b.tree.Stat(filepath.FromSlash(name))
		if err != nil || !info.IsDir() && key == "working_directory" {
			in.refuse(key, "what is there, inside the tree,")
		}
		return filepath.Join(b.r.Dir, filepath.FromSlash(name))
	}
	b.dir = place("working_directory", cmp.Or(in.text("working_directory"), "."))
	for _, name := range in.words("allow_write_paths") {
		b.writePaths = append(b.writePaths, place("allow_write_paths", name))
	}

	in.flag("dry_run")
	in.flag("allow_network")
	b.fields = map[string]any{
		"CALLER":         cmp.Or(in.text("caller"), "unknown"),
		"DETECTED_RISKS": []string{},
		"DURATION_MS":    0,
	}
	if err := in.err(b.r.Agent); err != nil || b.command == "" {
		return err
	}

	home := b.s.Keeper.Getenv("HOME")
	b.report, err = shell.Classify(b.command, shell.Place{
		Root: b.r.Dir,
		Dir:  b.dir,
		Home: home,
	})
	if err != nil {
		return err
	}

	b.fields["DETECTED_RISKS"] = b.report.Risks()
	return nil
}

func (b *sandboxCall) run(ctx context.Context) (formats.Return, error) {
	if err := b.readInput(); err != nil {
		return formats.Return{}, err
	}
	reason := b.in.text("reason")
	net := b.in.flag("allow_network")
	need, why, bare := sandbox.ForFlow(b.flow, reason, b.report)
	probe, err := b.s.Keeper.Best(ctx, need, why)
	switch {
	case formats.CodeOf(err) == formats.CodeDenied:
		return b.deniedReturn(err.Error(), formats.HelpOf(err)), nil
	case err != nil:
		return formats.Return{}, err
	case bare:
		b.used.Sandbox = bypassed
	case probe.Tier != sandbox.Container:
		b.fields["FALLBACK_REASON"] = cmp.Or(reason, "no container works here")
		fallthrough
	default:
		b.used.Sandbox = probe.Tier.String()
	}

	b.fields["SANDBOX_MODE"] = b.used.Sandbox
	if !net && slices.ContainsFunc(b.report.Findings, func(f shell.Finding) bool {
		return f.Category == shell.ExternalNet
	}) {
		return b.deniedReturn("it asks for the network, and allow_network is not given",
			"give allow_network, or run it yourself: "+b.command), nil
	}

	switch {
	case b.command == "":
		return b.completedReturn(decidedSkipped, "commands run in "+b.used.Sandbox), nil
	case b.in.flag("dry_run"):
		summary := "dry run: " + b.command + " would run in " + b.used.Sandbox
		return b.completedReturn(decidedSkipped, summary), nil
	case len(b.r.Repair) > 0:
		return formats.Return{}, formats.Fail(formats.CodePrecondition,
			"take the contract of the pack",
			"the file of %s asks for what Go does not return: %s", b.r.Agent,
			strings.Join(b.r.Repair, "; "))
	case b.r.Begun == formats.BegunAgain:
		return b.deniedReturn("it was started before tercet was killed, and may have run",
			"look what it did, and run it yourself: "+b.command), nil
	}

	if ret, err := b.approve(ctx, bare); err != nil || ret.Status != "" {
		return ret, err
	}
	return b.runScript(ctx, probe, bare)
}

// approve asks for the command. Only the user, not --yes, can allow one that runs without a
// sandbox.
func (b *sandboxCall) approve(ctx context.Context, bare bool) (formats.Return, error) {
	risks := b.report.Risks()
	g := formats.Gate{
		Question: "Run this command in " + b.used.Sandbox + "?",
		Show:     append([]string{b.command}, risks...),
		Choices: []formats.Choice{
			{Label: "approve", Approves: true},
			{Label: "reject", Leaves: true},
		},
		NeedsPerson: true,
		Run:         b.r.Run,
		Step:        b.r.Step,
		Digest: formats.Sum(fmt.Appendf(nil, "%q %q %v %q %s",
			b.command, b.dir, b.in.flag("allow_network"), b.writePaths, b.used.Sandbox)),
	}
	if bare {
		g.Question = "Run this command without a sandbox?"
		g.Choices[0] = formats.Choice{Label: "run it without"}
	}

	d, err := b.s.Approver.Approve(ctx, g)
	switch {
	case err != nil: // also a gate that is open: the run asks it then
		return formats.Return{}, err
	case d.Answer != g.Choices[0].Label:
		return b.deniedReturn(
			strings.TrimSuffix("the command was not approved: "+d.Note, ": "),
			"run it yourself: "+b.command,
		), nil
	}

	b.fields["DECISION"] = "allowed"
	if d.Person {
		b.fields["DECISION"] = "asked_and_allowed"
	}
	if bare {
		b.fields["FALLBACK_REASON"] = d.By + " let it run without a sandbox"
	} else if b.report.Level == shell.Recommended {
		b.warnings = append(b.warnings, "a sandbox is recommended for this command: "+risks[0])
	}
	return formats.Return{}, nil
}

// runScript runs the command as a file, so that nothing of it is ever part of a command line.
func (b *sandboxCall) runScript(
	ctx context.Context,
	probe sandbox.Probe,
	bare bool,
) (formats.Return, error) {
	folder, err := os.OpenRoot(filepath.Dir(b.r.Out))
	if err != nil {
		return formats.Return{}, formats.OnFile("open", "the folder of the delegation", err)
	}

	err = atomicfile.WriteIn(folder, "command.sh", []byte(b.command+"\n"), atomicfile.Options{
		Mode: 0o600,
	})
	if err = errors.Join(err, folder.Close()); err != nil {
		return formats.Return{}, err
	}

	script := filepath.Join(folder.Name(), "command.sh")
	limit := cmp.Or(b.in.number("timeout"), shortLimit)
	c := proc.Command{
		Argv:    []string{"sh", "-eu", script},
		Dir:     b.dir,
		Env:     []string{"TERCET_RUN=" + b.r.Run},
		Timeout: proc.Timeout{Total: time.Duration(limit) * time.Second},
		Private: true,
		Purpose: proc.PurposeScript,
		OutFile: filepath.Join(folder.Name(), "stdout"),
		ErrFile: filepath.Join(folder.Name(), "stderr"),
	}
	if !bare {
		c, b.used.Sandbox, err = b.s.Keeper.Command(
			probe, b.r, c,
			b.in.flag("allow_network"),
			b.writePaths,
		)
		if err != nil {
			return formats.Return{}, err
		}
	}

	res, err := b.s.Starter.Run(ctx, c)
	if err != nil {
		return formats.Return{}, err
	}

	b.fields["DURATION_MS"] = int(res.Duration.Milliseconds())
	output := strings.ReplaceAll(string(res.Stdout)+string(res.Stderr), script, "command.sh")
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(output, "\uFFFD")), "\n")
	if lines[0] != "" {
		b.fields["NOTES"] = strings.Join(lines[max(0, len(lines)-shownLines):], "\n")
	}
	if res.Signal == "" && !res.Killed {
		b.fields["EXIT_CODE"] = res.Exit
	}

	decision := fmt.Sprint(b.fields["DECISION"])
	if res.Success() {
		return b.completedReturn(decision, b.command+" ended with 0"), nil
	}

	how := fmt.Sprintf("exit code %d", res.Exit)
	switch {
	case res.TimedOut != proc.TimeoutNone:
		how = fmt.Sprintf("no end after %ds", limit)
	case res.Flooded:
		how = "more output than is allowed"
	case res.Signal != "":
		how = res.Signal
	}

	help := b.diagnose(res, output, !bare && probe.Tier != sandbox.Advisory)
	ret := formats.Failed(formats.Fail(formats.CodeValidationFailed, help, "%s ended with %s",
		b.command, how))
	ret.Said = formats.OutcomeRejected
	ret.Fields = b.fields
	ret.Warnings = b.warnings
	return ret, nil
}

// denials are signs in the output of what kept a command from its work; the first that fits counts.
// within: only of a command in a sandbox. Landlock refuses as the owner of a file does, so
// os_permission names both.
var denials = []struct {
	category string
	within   bool
	signs    []string
	recovery string
}{
	{
		"sandbox_policy", true,
		[]string{
			"read-only file system", "network is unreachable", "could not resolve host",
			"name resolution",
		},
		"give allow_write_paths or allow_network, or run it yourself",
	},
	{
		"os_permission", false,
		[]string{"permission denied", "operation not permitted", "eacces", "eperm"},
		"look at owner and mode of what it names; within platform_permission a write outside of " +
			"the tree is refused so too",
	},
	{
		"file_not_found", false,
		[]string{"no such file or directory", "enoent", "not found"},
		"look at the path, and at PATH",
	},
}

// diagnose tells what kept a command that failed from its work, where something shows that, and
// what helps.
func (b *sandboxCall) diagnose(res proc.Result, output string, within bool) string {
	output = strings.ToLower(output)
	for _, d := range denials {
		shows := func(sign string) bool { return strings.Contains(output, sign) }
		if (within || !d.within) && slices.ContainsFunc(d.signs, shows) {
			return b.recordDenial(d.category, d.recovery)
		}
	}
	// so a shell, and a container, tells of a signal
	if !res.Killed && (res.Signal != "" || res.Exit > 128) {
		return b.recordDenial("platform_heuristic", "a signal ended it: report it with its output")
	}
	return "read the end of its output in NOTES"
}

func (b *sandboxCall) recordDenial(category, recovery string) string {
	b.fields["DENIAL_CATEGORY"] = category
	b.fields["DENIAL_COMMAND"] = b.command
	b.fields["DENIAL_RECOVERY"] = recovery
	return recovery
}

// deniedReturn is the return for a command that is not run.
func (b *sandboxCall) deniedReturn(why, help string) formats.Return {
	b.recordDenial("sandbox_policy", help)
	b.used.Sandbox = sandbox.Blocked.String()
	b.fields["SANDBOX_MODE"] = b.used.Sandbox
	ret := b.completedReturn("denied", "not run: "+why)
	ret.Status = formats.StatusBlocked
	ret.BlockedReason = why
	ret.NextSteps = help
	return ret
}

func (b *sandboxCall) completedReturn(decision, summary string) formats.Return {
	b.fields["DECISION"] = decision
	return formats.Return{
		Status:   formats.StatusCompleted,
		Summary:  formats.Clip(strings.ReplaceAll(summary, "\n", " "), formats.MaxSummary),
		Fields:   b.fields,
		Warnings: b.warnings,
	}
}

// appendAudit adds what was decided to the audit of the tree.
func (b *sandboxCall) appendAudit() error {
	name := "docs/SECURITY_AUDIT.md"
	text, err := b.tree.ReadFile(name)
	if top, terr := b.tree.ReadFile("SECURITY_AUDIT.md"); err != nil && terr == nil {
		name = "SECURITY_AUDIT.md"
		text = top
		err = nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return formats.OnFile("read", name, err)
	}

	const heading = "## Commands in the Sandbox\n"
	if !strings.Contains(string(text), heading) {
		text = append(text, "\n"+heading+"\n"...)
	}

	text = fmt.Appendf(text, "- %s %s: %s, %s: `%s`\n",
		b.s.Clock.Now().UTC().Format(time.RFC3339), b.fields["CALLER"], b.fields["DECISION"],
		b.fields["SANDBOX_MODE"], strings.ReplaceAll(formats.Clip(b.command, 200), "\n", " "))
	return errors.Join(atomicfile.MkdirAll(b.tree, filepath.Dir(name), 0o755),
		atomicfile.WriteIn(b.tree, name, text, atomicfile.Options{}))
}
