package query

// need says how much of one place of an input a query looks at. What it does not look at need not be decoded: a scalar always
// is, an array or object only as far as it says. The zero value is a query that asks at most for the type.
type need struct {
	all    bool // everything below
	object bool // everything, if it is an object: the query asks for its keys
	count  bool // if it is an array: how many elements it has, and which one stands where
	fields []field
	elems  *need   // of each element, if it is an array; nil if the query does not look at them
	sites  []*site // where the query goes through the elements
}

type field struct {
	name string
	need *need
}

// site is one place of a query that goes through the elements of an array.
type site struct {
	// pred holds for every element that this place has a use for; nil if it may have one for any.
	pred *pred
}

// field gives the need of a key, a new one if there is none.
func (n *need) field(name string) *need {
	if i := n.index(name); i >= 0 {
		return n.fields[i].need
	}
	n.fields = append(n.fields, field{name, &need{}})
	return n.fields[len(n.fields)-1].need
}

func (n *need) index(name string) int {
	for i := range n.fields {
		if n.fields[i].name == name {
			return i
		}
	}
	return -1
}

// preds gives the conditions of which an element must meet one to be looked at, nothing if every element is.
func (n *need) preds() []*pred {
	if n.all || n.count || n.elems == nil {
		return nil
	}
	var list []*pred
	for _, s := range n.sites {
		if s.pred == nil {
			return nil
		}
		list = append(list, s.pred)
	}
	return list
}

// flow is where the values of one place of a query can come from: places of the input, or, if list is set, an array the
// query made whose elements come from there. A flow without both is of values that hold nothing of the input that is not
// asked for in full.
type flow struct {
	at   []*need
	list *flow
	site *site // the elements are handed on one by one, and nothing else has looked at them yet
}

func (f flow) plain() flow { return flow{at: f.at, list: f.list} }

func join(a, b flow) flow {
	out := flow{at: append(append([]*need(nil), a.at...), b.at...)}
	switch {
	case a.list != nil && b.list != nil:
		both := join(*a.list, *b.list)
		out.list = &both
	case a.list != nil:
		out.list = a.list
	default:
		out.list = b.list
	}
	return out
}

// demand asks for all of the values.
func demand(f flow) {
	for _, n := range f.at {
		n.all = true
	}
	if f.list != nil {
		demand(*f.list)
	}
}

// key is the flow of .name.
func (f flow) key(name string) flow {
	var out flow
	for _, n := range f.at {
		out.at = append(out.at, n.field(name))
	}
	return out
}

// iterate is the flow of .[].
func (f flow) iterate() flow {
	s := &site{}
	out := f.elements(s)
	if len(f.at) == 1 && f.list == nil {
		out.site = s
	}
	return out
}

func (f flow) elements(s *site) flow {
	var out flow
	for _, n := range f.at {
		n.object = true
		if n.elems == nil {
			n.elems = &need{}
		}
		n.sites = append(n.sites, s)
		out.at = append(out.at, n.elems)
	}
	if f.list != nil {
		out = join(out, *f.list)
	}
	return out
}

// element is the flow of .[0] and its like: the place of an element counts.
func (f flow) element() flow {
	f.counted()
	return f.elements(&site{})
}

// ready is the flow of the tasks that are ready.
func (f flow) ready() flow {
	elems := f.key(readyTasks).element()
	elems.key(readyNumber)
	elems.key(readyStatus)
	demand(elems.key(readyDeps))
	return elems
}

// counted asks for the number of elements.
func (f flow) counted() {
	for _, n := range f.at {
		n.count, n.object = true, true
	}
}
