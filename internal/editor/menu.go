package editor

import (
	"slices"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"tercet/internal/nearest"
)

// menu is what may stand at the cursor, as it is shown.
type menu struct {
	offer  Offer
	picked int // -1: none
	closed bool
}

func (m *menu) open() bool {
	return !m.closed && len(m.offer.Items) > 0
}

func (m *menu) close() {
	m.closed = true
	m.picked = -1
}

// move picks another item; before the first one there is none.
func (m *menu) move(step int) {
	if m.open() {
		m.picked = min(max(m.picked+step, -1), len(m.offer.Items)-1)
	}
}

// search looks for lines of the history.
type search struct {
	query  string
	found  []string // best first
	picked int
}

// find looks for lines that hold the letters of the query in their order, newest first among those
// that fit alike.
func (s *search) find(past []string) {
	s.found = nil
	s.picked = 0

	ranks := map[string]int{}
	for _, line := range slices.Backward(past) {
		if rank, ok := nearest.Within(s.query, line); ok {
			if _, twice := ranks[line]; !twice {
				ranks[line] = max(rank, 1)
				s.found = append(s.found, line)
			}
		}
	}

	if s.query != "" {
		slices.SortStableFunc(s.found, func(a, b string) int {
			return ranks[a] - ranks[b]
		})
	}
}

// searchKey does what a key means in a search.
func (e *Editor) searchKey(name string, k tea.KeyPressMsg) {
	s := e.search
	switch name {
	case "enter", "ctrl+j", "tab", "right":
		e.search = nil
		if len(s.found) > 0 {
			line := s.found[s.picked]
			e.set(line, len(line))
			e.updateMenu()
			e.menu.close()
		}
	case "ctrl+c", "ctrl+g", "esc", "ctrl+d":
		e.search = nil
	case "ctrl+r", "down", "ctrl+n":
		s.picked = min(s.picked+1, max(len(s.found)-1, 0))
	case "ctrl+s", "up", "ctrl+p":
		s.picked = max(s.picked-1, 0)
	case "backspace", "ctrl+h":
		_, n := utf8.DecodeLastRuneInString(s.query)
		s.query = s.query[:len(s.query)-n]
		s.find(e.history.lines)
	case "ctrl+u", "ctrl+w":
		s.query = ""
		s.find(e.history.lines)
	default:
		if k.Text != "" {
			s.query += k.Text
			s.find(e.history.lines)
		}
	}
}
