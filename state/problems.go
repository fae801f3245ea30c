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
func (e *Errors) Record(ctx context.Context, p formats.Problem) error {
	return e.add(ctx, p.Context.Session, func(list *jsonx.Value) ([][]byte, error) {
		if isRecorded(list, p) {
			return nil, nil
		}
		raw, err := e.encode(p)
		return [][]byte{raw}, err
	})
}

// add appends the errors that encode gives for those that are recorded.
func (e *Errors) add(
	ctx context.Context,
	session string,
	encode func(list *jsonx.Value) ([][]byte, error),
) (err error) {
	if !canWrite {
		return formats.Fail(
			formats.CodeDenied,
			"",
			"writing errors is not supported on this system",
		)
	}

	e.mu.Lock()

	defer e.mu.Unlock()

	h, err := locker{cfg: e.cfg, file: errorsLock}.take(ctx, session)
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
	src, tree, err := readErrors(e.cfg.Root, resolved)
	if err != nil {
		return err
	}
	list := tree.Get("errors")
	raws, err := encode(list)
	if err != nil || len(raws) == 0 {
		return err
	}

	size := len(src)
	for _, raw := range raws {
		size += len(raw)
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
	if list != nil && (len(list.Elems)+len(raws) > MaxErrors || size > maxErrorsFile) {
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

	out, err := jsonx.Splice(src, jsonx.EditElems(src, list, jsonx.ElemChanges{Append: raws}))
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

// isRecorded reports whether the run has recorded the same error: a run that was killed at its
// end records it again when it is resumed, and the run of a command records what the workflow of
// its subagent has recorded with a longer path.
func isRecorded(list *jsonx.Value, p formats.Problem) bool {
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
	if err := statefile.CheckVersion(errorsFile, src, tree, errorsVersion); err != nil {
		return nil, nil, err
	}

	if !tree.Get("errors").Is(jsonx.Array) {
		found := statefile.Finding(formats.SeverityError, errorsFile,
			statefile.Position(src, tree.Start), "", `expected key "errors" with an array`)
		return nil, nil, statefile.Invalid(errorsFile, src, found)
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
		//nolint:errcheck // what the user wrote by hand is shown as far as it goes
		json.Unmarshal(v.Raw(src), &out[i])
	}
	return out, nil
}

// ForeignErrors are the errors that another system recorded.
type ForeignErrors struct {
	Errors  []Recorded
	LeftOut int // records without a message
}

// ReadForeignErrors reads the errors.json of another system, at most its newest MaxErrors. Its
// members have the names that tercet uses, as far as it has them.
func ReadForeignErrors(file string, src []byte) (ForeignErrors, error) {
	var out ForeignErrors
	tree, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		return out, statefile.ParseFailure(file, src, err)
	}

	list := tree.Get("errors")
	if tree.Is(jsonx.Array) {
		list = tree
	}

	if !list.Is(jsonx.Array) {
		return out, statefile.Invalid(file, src, statefile.Finding(formats.SeverityError, file,
			statefile.Position(src, tree.Start), "", `expected key "errors" with an array`))
	}

	for _, v := range list.Elems[max(0, len(list.Elems)-MaxErrors):] {
		one := Recorded{
			ID:        statefile.TextOf(v, "id"),
			Time:      statefile.TextOf(v, "timestamp"),
			Type:      statefile.TextOf(v, "type"),
			Message:   statefile.TextOf(v, "message"),
			Severity:  "critical",
			FixStatus: "unfixed",
		}
		if !v.Is(jsonx.Dict) || one.Message == "" {
			out.LeftOut++
			continue
		}

		if slices.Contains([]string{"warning", "low", "medium"}, statefile.TextOf(v, "severity")) {
			one.Severity = string(formats.SeverityWarning)
		}
		if slices.Contains([]string{"fixed", "resolved"}, statefile.TextOf(v, "fix_status")) {
			one.FixStatus = "fixed"
		}

		at := v.Get("context")
		one.Context.Command = statefile.TextOf(at, "command")
		one.Context.Session = statefile.TextOf(at, "session_id")
		if n, ok := at.Get("task").Int(); ok && n > 0 {
			one.Context.Task = int(n)
		}
		one.Trajectory.Path = []string{}
		one.Recovery.Action = statefile.TextOf(v.Get("recovery"), "suggested_action")

		if one.ID == "" {
			one.ID = "err_" + formats.Sum(v.Raw(src))[:16]
		}
		out.Errors = append(out.Errors, one)
	}
	return out, nil
}

// Import adds the errors of another system, except those that are recorded already.
func (e *Errors) Import(ctx context.Context, session string, from ForeignErrors) error {
	return e.add(ctx, session, func(list *jsonx.Value) ([][]byte, error) {
		known := map[string]bool{}
		for i := 0; list != nil && i < len(list.Elems); i++ {
			known[statefile.TextOf(list.Elems[i], "id")] = true
		}
		var out [][]byte
		for _, one := range from.Errors {
			if known[one.ID] {
				continue
			}
			raw, err := jsonx.Marshal(one, "  ")
			if err != nil {
				return nil, err
			}
			out = append(out, raw)
		}
		return out, nil
	})
}
