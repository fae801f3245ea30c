package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"slices"
	"sync"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
	"tercet/state/files"
	"tercet/state/statefile"
)

// Errors stores errors.json, the list of critical errors and warnings. It has its own lock and a
// size limit: a full file becomes errors.json.1, and a new one begins.
type Errors struct {
	cfg Config
	mu  sync.Mutex
}

// MaxErrors bounds errors.json, in errors, before it rotates.
const MaxErrors = 500

// maxErrorsFile bounds errors.json in bytes.
const maxErrorsFile = 4 << 20

// Recorded is one error in errors.json.
type Recorded struct {
	ID         string                 `json:"id"`
	Time       string                 `json:"timestamp"`
	Type       string                 `json:"type"`
	Severity   string                 `json:"severity"`
	Message    string                 `json:"message"`
	Context    formats.ProblemContext `json:"context"`
	Trajectory struct {
		Path  []string `json:"delegation_path"`
		Depth int      `json:"depth"`
	} `json:"trajectory"`
	Recovery struct {
		Action string `json:"suggested_action"`
		Auto   bool   `json:"auto_recoverable"`
	} `json:"recovery"`
	FixStatus string `json:"fix_status"` // unfixed, investigating, fixed
}

// NewErrors makes the store of a workspace.
func NewErrors(cfg Config) (*Errors, error) {
	if cfg.Root == nil || cfg.Clock == nil || cfg.Dir == "" || cfg.NewID == nil {
		return nil, formats.Fail(
			formats.CodeBug,
			"",
			"state.Config without Root, Dir, Clock or NewID",
		)
	}
	return &Errors{cfg: cfg}, nil
}

// Record adds an error, unless the same run already recorded it for the same step.
func (e *Errors) Record(ctx context.Context, p formats.Problem) (err error) {
	if !canWrite {
		return formats.Fail(
			formats.CodeDenied,
			"",
			"writing errors is not supported on this system",
		)
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	h, err := locker{cfg: e.cfg, file: errorsLock}.take(ctx, p.Context.Session)
	if err != nil {
		return err
	}
	defer func() {
		unlocking := release(h)
		if err == nil && unlocking != nil {
			err = notDurable(errorsFile, 0, unlocking)
			return
		}
		err = errors.Join(err, unlocking)
	}()
	resolved, err := files.ResolveLinks(e.cfg.Root, errorsFile)
	if err != nil {
		return err
	}

	if err := e.cfg.sweep(resolved, path.Base(errorsFile)+".1"); err != nil {
		return err
	}
	raw, err := e.encode(p)
	if err != nil {
		return err
	}

	src, tree, err := readErrors(e.cfg.Root, resolved)
	if err != nil {
		return err
	}
	list := tree.Get("errors")
	if alreadyRecorded(list, p) {
		return nil
	}

	if v, present := tree.Get("version").Str(); present && v != errorsVersion {
		// The old version of the file stays readable under another name.
		if err := atomicfile.BackupLoose(
			e.cfg.Root, resolved, errorsFile+".v"+statefile.Slug(v),
		); err != nil {
			return files.Failure("keeping a copy of", errorsFile, err)
		}
		list = nil
	}
	if list != nil && (len(list.Elems) >= MaxErrors || len(src)+len(raw) > maxErrorsFile) {
		if err := atomicfile.BackupLoose(e.cfg.Root, resolved, errorsFile+".1"); err != nil {
			return files.Failure("rotating", errorsFile, err)
		}
		list = nil
	}
	if list == nil {
		src = []byte("{\n  \"version\": \"" + errorsVersion + "\",\n  \"errors\": []\n}\n")
		tree, err := jsonx.Parse(src, jsonx.Limits{})
		if err != nil {
			return err
		}
		list = tree.Get("errors")
	}
	out, err := jsonx.Splice(
		src,
		jsonx.EditElems(src, list, jsonx.ElemChanges{Append: [][]byte{raw}}),
	)
	if err != nil {
		return err
	}

	if err := atomicfile.WriteIn(e.cfg.Root, resolved, out, atomicfile.Options{}); err != nil {
		if _, done := errors.AsType[*atomicfile.NotDurableError](err); done {
			return notDurable(errorsFile, 0, err)
		}
		return files.Failure("writing", errorsFile, err)
	}
	return nil
}

// alreadyRecorded reports whether the run has recorded the same error: a run that was killed at its
// end records it again when it is resumed, and the run of a command records what the workflow of
// its subagent has recorded with a longer path.
func alreadyRecorded(list *jsonx.Value, p formats.Problem) bool {
	if list == nil || p.Context.Run == "" {
		return false
	}
	text := func(v *jsonx.Value, key string) string {
		s, _ := v.Get(key).Str()
		return s
	}
	return slices.ContainsFunc(list.Elems, func(one *jsonx.Value) bool {
		at := one.Get("context")
		return text(at, "run") == p.Context.Run && text(one, "message") == p.Message
	})
}

func (e *Errors) encode(p formats.Problem) ([]byte, error) {
	out := Recorded{
		ID:        "err_" + e.cfg.NewID(),
		Time:      timestamp(e.cfg.now()),
		Type:      p.Type,
		Severity:  cmp.Or(p.Severity, "critical"),
		Message:   p.Message,
		Context:   p.Context,
		FixStatus: "unfixed",
	}
	out.Trajectory.Path = append([]string{}, p.Path...)
	out.Trajectory.Depth = p.Depth
	out.Recovery.Action = p.Action
	out.Recovery.Auto = p.Auto
	return jsonx.Marshal(out, "  ")
}

// errorsVersion is the version of errors.json that is written.
const errorsVersion = "2"

// readErrors reads the file; it returns nil if there is none. It checks that errors is an array and
// the version is not newer than errorsVersion.
func readErrors(root *os.Root, name string) ([]byte, *jsonx.Value, error) {
	src, err := files.ReadIfExists(root, name, files.MaxState)
	if err != nil || src == nil {
		return nil, nil, err
	}
	tree, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		return nil, nil, statefile.ParseFailure(errorsFile, src, err)
	}
	if err := statefile.Newer(errorsFile, src, tree, errorsVersion); err != nil {
		return nil, nil, err
	}
	if !tree.Get("errors").Is(jsonx.Array) {
		return nil, nil, statefile.Invalid(errorsFile, src, statefile.Finding(formats.SeverityError, errorsFile,
			statefile.Position(src, tree.Start), "", `expected key "errors" with an array`))
	}
	return src, tree, nil
}

// List returns the errors of errors.json, oldest first. It takes no lock.
func (e *Errors) List(ctx context.Context) ([]Recorded, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	src, tree, err := readErrors(e.cfg.Root, errorsFile)
	if err != nil || tree == nil {
		return nil, err
	}
	list := tree.Get("errors")
	out := make([]Recorded, len(list.Elems))
	for i, v := range list.Elems {
		json.Unmarshal(v.Raw(src), &out[i]) //nolint:errcheck // what the user wrote by hand is shown as far as it goes
	}
	return out, nil
}
