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

// maskText masks a text of a worker, which is written into logs and shown. A text of tercet's own
// may hold what a program printed, but nothing that only looks like a secret.
func (g *delegation) maskText(s string) string {
	switch {
	case g.dispatcher.Mask == nil:
		return s
	case g.info.Builtin:
		return g.dispatcher.Mask.Values(s)
	}
	return g.dispatcher.Mask.Text(s)
}

func (g *delegation) maskTexts(list []string) []string {
	for i := range list {
		list[i] = g.maskText(list[i])
	}
	return list
}

// maskReturn masks what a worker returned. Slices and maps are not shared with ret. Of a
// built-in subagent it masks what may come from a program: the rest is tercet's own.
func (g *delegation) maskReturn(ret formats.Return) formats.Return {
	if g.dispatcher.Mask == nil {
		return ret
	}
	ret = g.maskPrinted(ret)
	if g.info.Builtin {
		return ret
	}
	ret.Text = g.maskText(ret.Text)
	ret.NextSteps = g.maskText(ret.NextSteps)
	ret.BlockedTarget = g.maskText(ret.BlockedTarget)
	ret.Artifacts = append([]formats.Artifact{}, ret.Artifacts...)
	for i := range ret.Artifacts {
		ret.Artifacts[i].Summary = g.maskText(ret.Artifacts[i].Summary)
	}
	if fields, ok := g.maskValue(ret.Fields).(map[string]any); ok && ret.Fields != nil {
		ret.Fields = fields
	}
	return ret
}

// maskPrinted masks summary, warnings, findings and errors, which quote what programs print.
func (g *delegation) maskPrinted(ret formats.Return) formats.Return {
	ret.Summary = g.maskText(ret.Summary)
	ret.BlockedReason = g.maskText(ret.BlockedReason)
	ret.Warnings = g.maskTexts(slices.Clone(ret.Warnings))
	ret.Issues = slices.Clone(ret.Issues)
	for i := range ret.Issues {
		one := &ret.Issues[i]
		one.Description = g.maskText(one.Description)
		one.SuggestedFix = g.maskText(one.SuggestedFix)
		one.Files = g.maskTexts(slices.Clone(one.Files))
	}
	ret.Errors = append([]formats.ReturnError{}, ret.Errors...)
	for i := range ret.Errors {
		one := &ret.Errors[i]
		one.Message = g.maskText(one.Message)
		one.Recommendation = g.maskText(one.Recommendation)
	}
	return ret
}

// maskValue masks the strings of a plain value.
func (g *delegation) maskValue(v any) any {
	switch v := v.(type) {
	case string:
		return g.maskText(v)
	case []string:
		return g.maskTexts(slices.Clone(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = g.maskValue(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[g.maskText(key)] = g.maskValue(one)
		}
		return out
	}
	return v
}

// maxMasked is the largest file of a run's folder that is looked through: what a program may print.
const maxMasked = 64 << 20

// maskFiles masks the files that a worker left in the folder of its delegation, and lets only their
// owner read them. What it printed is a log; its documents lose the known values alone.
func (f *folder) maskFiles(m Masker) error {
	if m == nil || f.root == nil {
		return nil
	}
	return fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			mask := m.Text
			if strings.Contains(name, "/") {
				mask = m.Values
			}
			err = f.maskFile(name, mask)
		}
		if err != nil {
			return onFile("mask", f.path+"/"+name, err)
		}
		return nil
	})
}

// maskFile replaces a file by its masked text, if that differs.
func (f *folder) maskFile(name string, mask func(string) string) (err error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) ||
		err == nil && (!info.Mode().IsRegular() || info.Size() > maxMasked) {
		return nil
	}
	if err == nil {
		err = f.root.Chmod(name, 0o600)
	}
	if err != nil || info.Size() == 0 {
		return err
	}

	in, err := f.root.Open(name)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // reason: nothing was written through it
	found := false
	err = eachPiece(in, info.Size(), func(piece string) error {
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
	out, err := f.root.OpenFile(masked, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	err = eachPiece(in, info.Size(), func(piece string) error {
		_, err := out.WriteString(mask(piece))
		return err
	})
	if err = errors.Join(err, out.Close()); err == nil {
		return f.root.Rename(masked, name)
	}
	return errors.Join(err, f.root.Remove(masked))
}

// piece is how much of a file is looked through at once: a program may print a lot, and this one
// must stay small.
const piece = 1 << 20

// eachPiece reads a text in pieces that end where no secret is likely to. That is behind a line,
// else at white space or a control, and before a private key that has begun and not ended. size is
// about how much there is.
func eachPiece(in io.Reader, size int64, do func(string) error) error {
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
			cut = cutPoint(buf)
		}
		if err := do(string(buf[:cut])); err != nil || last {
			return err
		}
		buf = buf[:copy(buf, buf[cut:])]
	}
}

// cutPoint gives the place at which to cut a text, behind its first piece; the end if no place
// fits.
func cutPoint(text []byte) int {
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
