package jsonx

// ParseAt reads the one value that stands at start to end of src, as a value depth levels deep in it; offsets count from the
// start of src. The error is a *SyntaxError whose place counts from start.
func ParseAt(src []byte, start, end, depth int) (*Value, error) {
	if start < 0 || end < start || end > len(src) {
		return nil, &SyntaxError{Line: 1, Col: 1, Msg: "range is not inside the source"}
	}
	p := newParser(src[start:end], Limits{})
	p.i = 0
	v := p.value(depth)
	if v == nil {
		return nil, p.err
	}
	if p.i < len(p.s) {
		p.expected(p.i, "end of input")
		return nil, p.err
	}
	v.shift(start)
	return v, nil
}

// Moved gives a copy of a value as it stands when its bytes are by bytes further on in their source.
func (v *Value) Moved(by int) *Value {
	if v == nil {
		return nil
	}
	out := *v
	out.Members = append([]Member(nil), v.Members...)
	for i := range out.Members {
		out.Members[i].KeyStart += by
		out.Members[i].Value = out.Members[i].Value.Moved(by)
	}
	out.Elems = append([]*Value(nil), v.Elems...)
	for i := range out.Elems {
		out.Elems[i] = out.Elems[i].Moved(by)
	}
	out.Start += by
	out.End += by
	return &out
}

func (v *Value) shift(by int) {
	v.Start += by
	v.End += by
	for i := range v.Members {
		v.Members[i].KeyStart += by
		v.Members[i].Value.shift(by)
	}
	for _, e := range v.Elems {
		e.shift(by)
	}
}
