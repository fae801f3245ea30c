package query

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"tercet/internal/jsonx"
)

// arguments gives the variables with their values, $ARGS last.
func (r *cli) arguments() (vars []string, values []any, err error) {
	named := map[string]any{}
	for _, a := range r.req.Args {
		if _, ok := named[a.Name]; ok {
			continue
		}
		v, err := r.argument(a)
		if err != nil {
			return nil, nil, err
		}
		named[a.Name] = v
		vars, values = append(vars, "$"+a.Name), append(values, v)
	}
	positional := []any{}
	for _, a := range r.req.Positional {
		a.Name = "ARGS.positional"
		v, err := r.argument(a)
		if err != nil {
			return nil, nil, err
		}
		positional = append(positional, v)
	}
	return append(vars, "$ARGS"), append(values, map[string]any{"named": named, "positional": positional}), nil
}

func (r *cli) argument(a Arg) (any, error) {
	if a.Kind == ArgText {
		return string(a.Data), nil
	}
	var list []any
	s := jsonx.NewStream(a.Data, limits())
	for {
		v, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, inputError("$"+a.Name, err)
		}
		list = append(list, decode(v, r.from))
	}
	if a.Kind == ArgSlurp {
		if list == nil {
			list = []any{}
		}
		return list, nil
	}
	if len(list) != 1 {
		msg := fmt.Sprintf("expected one JSON value, got %d", len(list))
		return nil, fmt.Errorf("$%s:1:1: %s", a.Name, msg)
	}
	return list[0], nil
}

func inputError(name string, err error) error {
	return fmt.Errorf("%s:%w", name, err)
}

// input gives the next value of the inputs, with Slurp the array of all of them once.
func (r *cli) input() (any, bool) {
	if !r.req.Slurp {
		return r.value()
	}
	if r.file > len(r.req.Inputs) {
		return nil, false
	}
	if r.req.RawInput {
		text, ok := r.text()
		r.file = len(r.req.Inputs) + 1
		return text, ok
	}
	all := []any{}
	for {
		v, ok := r.value()
		if !ok {
			break
		}
		all = append(all, v)
	}
	r.file = len(r.req.Inputs) + 1
	return all, r.broken == nil
}

func (r *cli) value() (any, bool) {
	if r.req.RawInput {
		return r.line()
	}
	for r.broken == nil && r.file < len(r.req.Inputs) {
		if r.stream == nil {
			src, err := r.req.Inputs[r.file].read()
			if err != nil {
				r.broken = err
				return nil, false
			}
			r.stream = jsonx.NewStream(src, limits())
			if err := r.strict(src); err != nil {
				r.broken = inputError(r.req.Inputs[r.file].Name, err)
				return nil, false
			}
		}
		v, err := r.stream.Next()
		if err == nil {
			return decode(v, r.from), true
		}
		if !errors.Is(err, io.EOF) {
			r.broken = inputError(r.req.Inputs[r.file].Name, err)
			return nil, false
		}
		r.stream = nil
		r.file++
	}
	return nil, false
}

// strict gives the error of an input that has to be one value without duplicate keys.
func (r *cli) strict(src []byte) (err error) {
	if r.req.Strict {
		_, err = jsonx.Parse(src, jsonx.Limits{Depth: maxDepth, Bytes: math.MaxInt})
	}
	return err
}

// Next makes the run the source of input and inputs.
func (r *cli) Next() (any, bool) {
	v, ok := r.input()
	if !ok && r.broken != nil {
		return r.broken, true
	}
	return v, ok
}

// read gives all of an input.
func (in Input) read() ([]byte, error) {
	if in.File == nil {
		return in.Data, nil
	}
	var out bytes.Buffer
	if f, ok := in.File.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := f.Stat(); err == nil && info.Size() < math.MaxInt32 {
			out.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	_, err := out.ReadFrom(io.NewSectionReader(in.File, 0, math.MaxInt64))
	return out.Bytes(), err
}

// lines are the lines of all inputs that are not taken yet, as if these were one text.
type lines struct{ rest string }

// text gives all inputs as one string.
func (r *cli) text() (any, bool) {
	var text strings.Builder
	for ; r.file < len(r.req.Inputs); r.file++ {
		src, err := r.req.Inputs[r.file].read()
		if err != nil {
			r.broken = err
			return nil, false
		}
		text.Write(src)
	}
	return strings.ToValidUTF8(text.String(), "\ufffd"), true
}

// line gives the next line without its end.
func (r *cli) line() (any, bool) {
	if r.lines == nil {
		text, ok := r.text()
		s, isText := text.(string)
		if !ok || !isText {
			return nil, false
		}
		r.lines = &lines{rest: s}
	}
	if r.lines.rest == "" {
		return nil, false
	}
	var line string
	line, r.lines.rest, _ = strings.Cut(r.lines.rest, "\n")
	return line, true
}
