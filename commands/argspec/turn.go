package argspec

import "strings"

// NextArgument reports which argument the next word belongs to (nil: none). before is the part of
// the line between the command and that word. given holds the arguments that before sets; nil:
// before is not a line. Turn skips words that do not fit.
func NextArgument(specs []Spec, before string) (turn *Spec, given map[string]bool) {
	b := &binder{
		specs: specs,
		raw:   before,
		given: map[string]bool{},
	}
	var waits *Spec // the flag whose value comes next
	for {
		w, ok, err := b.next()
		if err != nil {
			return nil, nil
		}
		if !ok {
			break
		}
		switch {
		case waits != nil:
			waits = nil
		case w.Text == "--" && !w.Quoted:
			b.ended = true
		case !b.ended && !w.Quoted && isFlag(w.Text):
			name, _, has := strings.Cut(w.Text, "=")
			if s, _ := b.lookup(name); s != nil {
				b.given[s.Name] = true
				if !has && s.Type != Boolean {
					waits = s
				}
			}
		default:
			s := b.nextPositional()
			if s == nil {
				continue
			}
			if s.Type == Text {
				return s, b.given
			}
			b.given[s.Name] = true
		}
	}

	if waits != nil {
		return waits, b.given
	}
	return b.nextPositional(), b.given
}
