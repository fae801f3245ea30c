//go:build linux || darwin

package main

import (
	"fmt"
	"strings"
	"sync"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// emulator is a terminal: a grid of cells that is written as a terminal writes it. A sequence that
// it does not know is kept in odd, so that a test can tell that the grid is what a person sees. It
// may be written to and read side by side.
type emulator struct {
	mu     sync.Mutex
	parser *ansi.Parser
	grid   *uv.Buffer
	other  *uv.Buffer // the grid of before, while the alternate screen is shown
	pen    uv.Style
	x, y   int
	wrap   bool // the last column was written: the next letter begins a row
	top    int  // rows that scroll: from top to before end
	end    int
	kept   [2]int
	last   string
	modes  map[int]bool
	odd    []string
}

func newEmulator(columns, rows int) *emulator {
	e := &emulator{
		parser: ansi.NewParser(),
		grid:   uv.NewBuffer(columns, rows),
		end:    rows,
		modes:  map[int]bool{25: true},
	}

	e.parser.SetHandler(ansi.Handler{
		Print:     e.print,
		Execute:   e.control,
		HandleCsi: e.sequence,
		HandleEsc: func(cmd ansi.Cmd) {
			switch cmd.Final() {
			case '7':
				e.kept = [2]int{e.x, e.y}
			case '8':
				e.x = e.kept[0]
				e.y = e.kept[1]
			case 'M':
				if e.y == e.top {
					e.scroll(-1)
				} else {
					e.y = max(0, e.y-1)
				}
			case '\\', '=', '>', 'B', '0': // the end of a string, the keypad, sets of letters
			default:
				e.odd = append(e.odd, fmt.Sprintf("ESC %c", cmd.Final()))
			}
		},
		// titles, links, colours that are asked for and answers to other questions change no cell
	})

	return e
}

// Write shows what a program prints.
func (e *emulator) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, b := range p {
		e.parser.Advance(b)
	}
	return len(p), nil
}

func (e *emulator) print(r rune) {
	text := string(r)

	wide := ansi.StringWidth(text)
	if wide == 0 {
		return
	}

	if columns := e.grid.Width(); e.wrap || e.x+wide > columns {
		e.x = 0
		e.wrap = false
		e.feed()
	}

	e.grid.SetCell(e.x, e.y, &uv.Cell{
		Content: text,
		Width:   wide,
		Style:   e.pen,
	})

	e.last = text
	e.x += wide
	if e.x >= e.grid.Width() {
		e.x = e.grid.Width() - 1
		e.wrap = true
	}
}

// feed goes to the next row; below the last one everything moves up.
func (e *emulator) feed() {
	if e.y == e.end-1 {
		e.scroll(1)
	} else {
		e.y = min(e.y+1, e.grid.Height()-1)
	}
}

// scroll moves the rows that scroll up, or down by less than none.
func (e *emulator) scroll(n int) {
	area := uv.Rect(0, e.top, e.grid.Width(), e.end-e.top)
	if n > 0 {
		e.grid.DeleteLineArea(e.top, n, e.blank(), area)
	} else {
		e.grid.InsertLineArea(e.top, -n, e.blank(), area)
	}
}

// blank is the cell that is left where something is taken away.
func (e *emulator) blank() *uv.Cell {
	return &uv.Cell{
		Content: " ",
		Width:   1,
		Style:   uv.Style{Bg: e.pen.Bg},
	}
}

func (e *emulator) control(b byte) {
	e.wrap = e.wrap && b != '\r' && b != '\b'
	switch b {
	case '\r':
		e.x = 0
	case '\n', '\v', '\f':
		e.feed()
	case '\b':
		e.x = max(0, e.x-1)
	case '\t':
		e.x = min((e.x/8+1)*8, e.grid.Width()-1)
	}
}

func (e *emulator) sequence(cmd ansi.Cmd, params ansi.Params) {
	n := func(i int) int {
		v, _, _ := params.Param(i, 1)
		return max(v, 1)
	}
	mode, _, _ := params.Param(0, 0)
	columns := e.grid.Width()
	rows := e.grid.Height()
	if cmd.Prefix() != 0 || cmd.Intermediate() != 0 {
		e.private(cmd, params)
		return
	}

	e.wrap = e.wrap && cmd.Final() == 'm'
	switch cmd.Final() {
	case 'm':
		uv.ReadStyle(params, &e.pen)
	case 'A':
		e.y = max(0, e.y-n(0))
	case 'B', 'e':
		e.y = min(rows-1, e.y+n(0))
	case 'C', 'a':
		e.x = min(columns-1, e.x+n(0))
	case 'D':
		e.x = max(0, e.x-n(0))
	case 'E', 'F':
		e.x = 0
		e.y = min(max(0, e.y+n(0)*int(('E'-cmd.Final())*2+1)), rows-1)
	case 'G', '`':
		e.x = min(columns, n(0)) - 1
	case 'd':
		e.y = min(rows, n(0)) - 1
	case 'H', 'f':
		e.x = min(columns, n(1)) - 1
		e.y = min(rows, n(0)) - 1
	case 'J':
		e.grid.FillArea(e.blank(), [...]uv.Rectangle{
			uv.Rect(0, e.y+1, columns, rows-e.y-1),
			uv.Rect(0, 0, columns, e.y),
			uv.Rect(0, 0, columns, rows),
			{},
		}[min(mode, 3)])
		if mode < 2 {
			e.erase(mode)
		}
	case 'K':
		e.erase(mode)
	case 'X':
		e.grid.FillArea(e.blank(), uv.Rect(e.x, e.y, min(n(0), columns-e.x), 1))
	case 'L', 'M':
		area := uv.Rect(0, e.y, columns, e.end-e.y)
		if cmd.Final() == 'L' {
			e.grid.InsertLineArea(e.y, n(0), e.blank(), area)
		} else {
			e.grid.DeleteLineArea(e.y, n(0), e.blank(), area)
		}
	case 'P':
		e.grid.DeleteCell(e.x, e.y, n(0), e.blank())
	case '@':
		e.grid.InsertCell(e.x, e.y, n(0), e.blank())
	case 'S':
		e.scroll(n(0))
	case 'T':
		e.scroll(-n(0))
	case 'b':
		for range n(0) {
			for _, r := range e.last {
				e.print(r)
			}
		}
	case 'r':
		last, _, _ := params.Param(1, rows)
		e.top = n(0) - 1
		e.end = min(last, rows)
		e.x = 0
		e.y = 0
	case 'c', 'n', 't', 'h', 'l': // questions, which nobody answers, and modes that change no cell
	default:
		e.odd = append(e.odd, fmt.Sprintf("CSI %v %c", params, cmd.Final()))
	}
}

// erase empties the row behind the cursor (0), before it (1) or all of it (2).
func (e *emulator) erase(what int) {
	columns := e.grid.Width()
	e.grid.FillArea(e.blank(), [...]uv.Rectangle{
		uv.Rect(e.x, e.y, columns-e.x, 1), uv.Rect(0, e.y, e.x+1, 1), uv.Rect(0, e.y, columns, 1),
	}[min(what, 2)])
}

// private keeps the modes of the terminal; the alternate screen is one.
func (e *emulator) private(cmd ansi.Cmd, params ansi.Params) {
	on := cmd.Final() == 'h'

	if cmd.Prefix() != '?' || !on && cmd.Final() != 'l' {
		return // questions and settings of the keyboard
	}

	for _, p := range params {
		mode := p.Param(0)
		if mode == 1049 && on != e.modes[mode] {
			if on {
				e.other = e.grid
				e.grid = uv.NewBuffer(e.grid.Width(), e.grid.Height())
				e.kept = [2]int{e.x, e.y}
				e.x = 0
				e.y = 0
			} else {
				e.grid = e.other
				e.x = e.kept[0]
				e.y = e.kept[1]
			}
		}
		e.modes[mode] = on
	}
}

// rows gives the rows of the screen without what is empty at their ends.
func (e *emulator) rows() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Split(strings.TrimRight(e.grid.String(), " \n"), "\n")
}
