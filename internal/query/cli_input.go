package query

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"tercet/internal/jsonx"
)

// readArguments returns the variables and their values, $ARGS last.
func (r *cli) readArguments() (vars []string, values []any, err error) {
	named := map[string]any{}
	for _, a := range r.req.Args {
		if _, ok := named[a.Name]; ok {
			continue
		}
		v, err := r.readArgument(a)
		if err != nil {
			return nil, nil, err
		}
		named[a.Name] = v
		vars = append(vars, "$"+a.Name)
		values = append(values, v)
	}

	positional := []any{}
	for _, a := range r.req.Positional {
		a.Name = "ARGS.positional"
		v, err := r.readArgument(a)
		if err != nil {
			return nil, nil, err
		}
		positional = append(positional, v)
	}

	vars = append(vars, "$ARGS")
	values = append(values, map[string]any{"named": named, "positional": positional})
	return vars, values, nil
}

func (r *cli) readArgument(a Arg) (any, error) {
	if a.Kind == ArgText {
		return string(a.Data), nil
	}

	list := []any{}
	s := jsonx.NewStream(a.Data, limits())
	for {
		v, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("$%s:%w", a.Name, err)
		}
		list = append(list, decode(v, r.origins))
	}

	if a.Kind == ArgSlurp {
		return list, nil
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("$%s:1:1: expected one JSON value, got %d", a.Name, len(list))
	}
	return list[0], nil
}

// eachInput yields the values of the inputs, or with Slurp one array of them.
func (r *cli) eachInput(yield func(any) bool) {
	if r.req.RawInput {
		r.eachLine(yield)
		return
	}

	list := []any{}
	for ; r.inputErr == nil && r.file < len(r.req.Inputs); r.file++ {
		src := r.readInput()
		stream := jsonx.NewStream(src, limits())
		for r.inputErr == nil {
			v, err := stream.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				r.inputErr = fmt.Errorf("%s:%w", r.req.Inputs[r.file].Name, err)
			} else if r.req.Slurp {
				list = append(list, decode(v, r.origins))
			} else if !yield(decode(v, r.origins)) {
				return
			}
		}
	}

	if r.req.Slurp && r.inputErr == nil {
		yield(list)
	}
}

// eachLine yields the lines of all inputs as if they were one text, or with Slurp the text.
func (r *cli) eachLine(yield func(any) bool) {
	var all bytes.Buffer
	for ; r.inputErr == nil && r.file < len(r.req.Inputs); r.file++ {
		all.Write(r.readInput())
	}

	text := strings.ToValidUTF8(all.String(), "\ufffd")
	switch {
	case r.inputErr != nil:
	case r.req.Slurp:
		yield(text)
	default:
		for line := range strings.Lines(text) {
			if !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// Next is the source of input and inputs.
func (r *cli) Next() (any, bool) {
	v, ok := r.next()
	if !ok && r.inputErr != nil {
		return r.inputErr, true
	}
	return v, ok
}

// readInput reads the next input in full. With Strict it must be one value without duplicate keys.
func (r *cli) readInput() []byte {
	in := r.req.Inputs[r.file]
	out := bytes.Buffer{}
	if in.File == nil {
		out = *bytes.NewBuffer(in.Data)
	} else {
		if f, ok := in.File.(File); ok {
			if info, err := f.Stat(); err == nil && info.Size() < math.MaxInt32 {
				out.Grow(int(info.Size()) + bytes.MinRead)
			}
		}
		_, r.inputErr = out.ReadFrom(io.NewSectionReader(in.File, 0, math.MaxInt64))
	}

	if r.req.Strict && r.inputErr == nil {
		_, err := jsonx.Parse(out.Bytes(), jsonx.Limits{Depth: maxDepth, Bytes: math.MaxInt})
		if err != nil {
			r.inputErr = fmt.Errorf("%s:%w", in.Name, err)
		}
	}
	return out.Bytes()
}
