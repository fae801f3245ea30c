package query

import (
	"maps"
	"reflect"
	"slices"

	"tercet/internal/jsonx"
)

// origins maps objects that were decoded from a source to their position in it. An object that a
// query passes through is the same map that was decoded, because gojq never changes its input. So
// it can be printed as it is in the source. A nil *origins is empty.
type origins struct {
	all   []origin
	index map[uintptr]*jsonx.Value
	// indexed is how many of all the index holds: input may have read more since.
	indexed int
}

type origin struct {
	m    map[string]any // keeps the map alive, so that its address is not reused
	from *jsonx.Value
}

func address(m map[string]any) uintptr {
	return reflect.ValueOf(m).Pointer()
}

func (o *origins) add(m map[string]any, from *jsonx.Value) {
	if o != nil {
		o.all = append(o.all, origin{m, from})
	}
}

// reset forgets all but the first n objects.
func (o *origins) reset(n int) {
	clear(o.all[n:])
	o.all = o.all[:n]
	o.index = nil
	o.indexed = 0
}

func (o *origins) find(m map[string]any) *jsonx.Value {
	if o == nil || len(m) == 0 {
		return nil
	}
	if o.index == nil {
		o.index = make(map[uintptr]*jsonx.Value, len(o.all))
	}

	for _, e := range o.all[o.indexed:] {
		o.index[address(e.m)] = e.from
	}
	o.indexed = len(o.all)
	return o.index[address(m)]
}

func appendMap(out []byte, m map[string]any, from *origins) []byte {
	out = append(out, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonx.AppendString(out, k)
		out = append(out, ':')
		out = appendValue(out, m[k], from)
	}
	return append(out, '}')
}
