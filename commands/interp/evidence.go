package interp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
)

// absent stands for the hash of a file that is not there.
const absent = "absent"

// evidence gives the hashes of files: of those that the gate names, of what the run has loaded and
// made, of its command file, and of those before. What is no file of the project has no hash.
func (a *gateSession) evidence(before map[string]string) (map[string]string, error) {
	r := a.step.run
	named, err := a.source.evidenceFiles()
	if err != nil {
		return nil, err
	}

	for _, made := range r.artifacts.newest() {
		named = append(named, made.Path)
	}
	out := map[string]string{}
	for _, name := range slices.Concat(
		named,
		r.loads.paths,
		[]string{r.prog.File.Name},
		slices.Collect(maps.Keys(before)),
	) {
		if _, done := out[name]; done {
			continue
		}
		out[name] = r.hashOf(a.step.frame.ctx, name)
		// documents are in the checkout, work is in the worktree
		if tree := a.step.pathInTree(name); tree != name {
			out[name] += " " + r.hashOf(a.step.frame.ctx, tree)
		}
	}

	if a.step.frame.ctx.Err() != nil {
		return nil, context.Cause(a.step.frame.ctx)
	}
	return out, nil
}

// documents are the files among the evidence that the user may edit before the answer: what the
// gate names or shows, and what the run has made, each in the tree where the work is done.
func (a *gateSession) documents() (list []string, err error) {
	named, err := a.source.evidenceFiles()
	for _, shown := range a.gate.Show {
		named = append(named, strings.TrimSpace(shown))
	}
	for _, made := range a.step.run.artifacts.newest() {
		named = append(named, made.Path)
	}

	for _, name := range named {
		sums := strings.Fields(a.gate.Evidence[name])
		if len(sums) > 1 {
			name = a.step.pathInTree(name)
		}
		if len(sums) > 0 && len(sums[len(sums)-1]) == 2*sha256.Size &&
			!slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, err
}

// workDir is the folder of the project in which the run works; empty if its changes are not known.
func (a *gateSession) workDir() string {
	r := a.step.run
	if r.cfg.Diff == nil || r.cfg.Dir == "" {
		return ""
	}
	dir, err := filepath.Rel(r.cfg.Dir, a.step.frame.workDir())
	if err != nil || !filepath.IsLocal(dir) {
		return ""
	}
	return filepath.ToSlash(dir)
}

// hashOf is the hash of a file, or the reason why it has none.
func (r *run) hashOf(ctx context.Context, name string) string {
	sum, err := r.cfg.Docs.Sum(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent
	case err != nil:
		return string(formats.CodeOf(err))
	}
	return sum
}

// digestOf is what an answer is bound to: all that is shown, and the files.
func digestOf(g formats.Gate) string {
	parts := []string{textDigest(g)}
	if g.Subject != "" {
		parts = append(parts, g.Subject)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Evidence)) {
		parts = append(parts, name, g.Evidence[name])
	}
	return digest(parts)
}

// textDigest is the digest of what is shown, without the files.
func textDigest(g formats.Gate) string {
	return digest(slices.Concat([]string{g.Question}, labelsOf(g), g.Show))
}

func digest(parts []string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
