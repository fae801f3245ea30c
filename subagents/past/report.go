package past

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
)

// Bundle is the content of a report besides the run's folder.
type Bundle struct {
	About  map[string]string // versions and the like
	Config string            // the configuration of the project
	Mask   *journal.Masker
	Hide   map[string]string // texts that identify a user or a machine, with their replacements
}

// maxTrace is how much of the end of a trace is in a report.
const maxTrace = 1 << 20

// Report writes one file for finding a defect into the run's folder: journal, end of the trace,
// configuration. It masks what looks like a secret, and gives the file's path.
func (p Project) Report(run string, b Bundle) (string, error) {
	dir := path.Join(journal.Folder, run)
	entries, err := p.maskedLines(path.Join(dir, journal.Name), journal.MaxBytes, b.Mask)
	if err != nil {
		return "", err
	}

	trace, err := p.maskedLines(path.Join(dir, "trace.jsonl"), maxTrace, b.Mask)
	if err != nil {
		return "", err
	}
	about, err := json.Marshal(b.About)
	if err != nil {
		return "", err
	}

	data, err := json.MarshalIndent(map[string]any{
		"schema":  "tercet.report/1",
		"run":     run,
		"about":   json.RawMessage(b.Mask.Line(about)),
		"journal": entries,
		"trace":   trace,
		"config":  b.Mask.Text(b.Config),
	}, "", "  ")
	if err != nil {
		return "", err
	}

	text := string(data)
	// the longest first: the project may lie below the user's own folder
	longestFirst := func(a, b string) int { return len(b) - len(a) }
	for _, hidden := range slices.SortedFunc(maps.Keys(b.Hide), longestFirst) {
		if len(hidden) > 1 {
			text = strings.ReplaceAll(text, hidden, b.Hide[hidden])
		}
	}

	to := path.Join(dir, "report.json")
	if err := atomicfile.WriteLoose(p.Root, to, append([]byte(text), '\n'), 0o600); err != nil {
		return "", formats.OnFile("write", to, err)
	}
	return to, nil
}

// maskedLines reads the end of a file of JSON lines, at most maxBytes, and masks secrets. A line
// that is no JSON becomes a text. A missing file has no lines.
func (p Project) maskedLines(
	name string,
	maxBytes int,
	mask *journal.Masker,
) ([]json.RawMessage, error) {
	data, err := atomicfile.ReadFile(p.Root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, formats.OnFile("read", name, err)
	}

	if cut := len(data) - maxBytes; cut > 0 {
		_, data, _ = bytes.Cut(data[cut:], []byte("\n"))
	}

	var out []json.RawMessage
	for line := range bytes.Lines(data) {
		line = mask.Line(bytes.TrimSpace(line))
		if !json.Valid(line) { // torn, or damaged: as a text
			text, err := json.Marshal(string(line))
			if err != nil {
				return nil, err
			}
			line = text
		}
		out = append(out, line)
	}
	return out, nil
}
