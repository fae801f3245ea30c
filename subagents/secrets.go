package subagents

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tercet/formats"
)

// Masker masks secrets in texts: Text also what looks like one, Values only the known ones.
type Masker interface {
	Text(text string) string
	Values(text string) string
}

// text masks a text of a worker, which is written into logs and shown. A text of tercet's own may
// hold what a program printed, but nothing that only looks like a secret.
func (g *delegation) text(s string) string {
	switch {
	case g.d.Mask == nil:
		return s
	case g.info.Builtin:
		return g.d.Mask.Values(s)
	}
	return g.d.Mask.Text(s)
}

func (g *delegation) texts(list []string) []string {
	for i := range list {
		list[i] = g.text(list[i])
	}
	return list
}

// withoutSecrets masks what a worker returned. Slices and maps are not shared with ret. Of a
// built-in subagent it masks what may come from a program: the rest is tercet's own.
func (g *delegation) withoutSecrets(ret formats.Return) formats.Return {
	if g.d.Mask == nil {
		return ret
	}
	ret = g.withoutPrinted(ret)
	if g.info.Builtin {
		return ret
	}
	ret.Text = g.text(ret.Text)
	ret.NextSteps = g.text(ret.NextSteps)
	ret.BlockedTarget = g.text(ret.BlockedTarget)
	ret.Artifacts = append([]formats.Artifact{}, ret.Artifacts...)
	for i := range ret.Artifacts {
		ret.Artifacts[i].Summary = g.text(ret.Artifacts[i].Summary)
	}
	if fields, ok := g.value(ret.Fields).(map[string]any); ok && ret.Fields != nil {
		ret.Fields = fields
	}
	return ret
}

// withoutPrinted masks summary, warnings, findings and errors, which quote what programs print.
func (g *delegation) withoutPrinted(ret formats.Return) formats.Return {
	ret.Summary = g.text(ret.Summary)
	ret.BlockedReason = g.text(ret.BlockedReason)
	ret.Warnings = g.texts(slices.Clone(ret.Warnings))
	ret.Issues = slices.Clone(ret.Issues)
	for i := range ret.Issues {
		one := &ret.Issues[i]
		one.Description = g.text(one.Description)
		one.SuggestedFix = g.text(one.SuggestedFix)
		one.Files = g.texts(slices.Clone(one.Files))
	}
	ret.Errors = append([]formats.ReturnError{}, ret.Errors...)
	for i := range ret.Errors {
		one := &ret.Errors[i]
		one.Message = g.text(one.Message)
		one.Recommendation = g.text(one.Recommendation)
	}
	return ret
}

// value masks the strings of a plain value.
func (g *delegation) value(v any) any {
	switch v := v.(type) {
	case string:
		return g.text(v)
	case []string:
		return g.texts(slices.Clone(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = g.value(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[g.text(key)] = g.value(one)
		}
		return out
	}
	return v
}

// maxMasked is the largest file of a run's folder that is looked through: what a program may print.
const maxMasked = 64 << 20

// cleanse masks the files that a worker left in the folder of its delegation, and lets only their
// owner read them. What it printed is a log; its documents lose the known values alone.
func (f *folder) cleanse(m Masker) error {
	if m == nil || f.own == nil {
		return nil
	}
	return fs.WalkDir(f.own.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			mask := m.Text
			if strings.Contains(name, "/") {
				mask = m.Values
			}
			err = f.mask(name, mask)
		}
		if err != nil {
			return onFile("mask", f.path+"/"+name, err)
		}
		return nil
	})
}

// mask puts what is left of a file in its place.
func (f *folder) mask(name string, mask func(string) string) (err error) {
	info, err := f.own.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) ||
		err == nil && (!info.Mode().IsRegular() || info.Size() > maxMasked) {
		return nil
	}
	if err == nil {
		err = f.own.Chmod(name, 0o600)
	}
	if err != nil || info.Size() == 0 {
		return err
	}

	in, err := f.own.Open(name)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // reason: nothing was written through it
	found := false
	err = inPieces(in, info.Size(), func(piece string) error {
		found = found || mask(piece) != piece
		return nil
	})
	if err != nil || !found {
		return err
	}

	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	masked := name + ".masked"
	out, err := f.own.OpenFile(masked, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	err = inPieces(in, info.Size(), func(piece string) error {
		_, err := out.WriteString(mask(piece))
		return err
	})
	if err = errors.Join(err, out.Close()); err == nil {
		return f.own.Rename(masked, name)
	}
	return errors.Join(err, f.own.Remove(masked))
}

// piece is how much of a file is looked through at once: a program may print a lot, and this one
// must stay small.
const piece = 1 << 20

// inPieces reads a text in pieces that end where no secret is likely to. That is behind a line,
// else at white space or a control, and before a private key that has begun and not ended. size is
// about how much there is.
func inPieces(in io.Reader, size int64, do func(string) error) error {
	buf := make([]byte, 0, min(2*piece, size+bytes.MinRead))
	for {
		n, err := io.ReadFull(in, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}

		cut := len(buf)
		if !last {
			cut = seam(buf)
		}
		if err := do(string(buf[:cut])); err != nil || last {
			return err
		}
		buf = buf[:copy(buf, buf[cut:])]
	}
}

// seam is where to cut a text, behind its first piece; at the end of it where there is no place for
// a cut.
func seam(text []byte) int {
	cut := bytes.LastIndexByte(text, '\n') + 1
	if cut < piece {
		cut = bytes.LastIndexFunc(text, func(r rune) bool {
			return r <= ' '
		}) + 1
	}
	if cut < piece {
		return len(text)
	}
	if begin := bytes.LastIndex(text[:cut], []byte("-----BEGIN ")); begin > 0 &&
		!bytes.Contains(text[begin:cut], []byte("-----END ")) {
		cut = begin
	}
	return cut
}
