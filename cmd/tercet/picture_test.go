//go:build linux || darwin

package main

import (
	"encoding/xml"
	"flag"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

var picturesFlag = flag.String("pictures", "", "folder that TestScreens writes its pictures into")

// pictured are the moments of the tour, on a terminal of 80 columns, of which the documents show a
// picture.
var pictured = map[string]string{
	"menu": "The prompt with its menu: each command beside what it does",
	"gate": "A run of /release: a reviewer rejects the work, the notes are written again, both " +
		"reviewers approve, and a question waits",
	"diff": "A question after the key d: the diff of what the work has changed, and the " +
		"question again",
	"lint":  "tercet lint: three mistakes in a command file, each with its place and a correction",
	"watch": "tercet watch: the runs on the left, the steps of one of them on the right",
}

// Sizes in pixels: a cell, the letters in it, and the space around the screen.
const (
	cellWidth  = 8.4
	cellHeight = 19
	fontSize   = 14
	margin     = 16
	paper      = "#1a1b26"
	ink        = "#c8d0e8"
)

// palette are the sixteen colours that a terminal chooses itself.
var palette = [16]string{
	"#414868", "#f7768e", "#9ece6a", "#e0af68", "#7aa2f7", "#bb9af7", "#7dcfff", "#c8d0e8",
	"#6b7394", "#ff899d", "#b3e07f", "#f2c27b", "#94b6ff", "#cdb2ff", "#a4dcff", "#ffffff",
}

// hue gives a colour as SVG writes it; otherwise is for a cell that has none.
func hue(c color.Color, otherwise string) string {
	switch c := c.(type) {
	case nil:
		return otherwise
	case ansi.BasicColor:
		return palette[c%16]
	case ansi.IndexedColor:
		if c < 16 {
			return palette[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// svg draws the screen. Every piece of text has its place and its length, so that the columns stay
// in line in any font.
func (e *emulator) svg(title string) string {
	height := len(e.rows())
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.modes[25] {
		height = max(height, e.y+1)
	}
	w := float64(e.grid.Width())*cellWidth + 2*margin
	h := height*cellHeight + 2*margin
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" `+
			`role="img" xml:space="preserve" `+
			`font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" `+
			`font-size="%d" style="white-space:pre">`+
			"\n",
		w,
		h,
		w,
		h,
		fontSize,
	)
	fmt.Fprintf(&b,
		"<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"%s\"/>\n",
		escaped(title), paper)
	for y := range height {
		for x := 0; x < e.grid.Width(); {
			x = e.piece(&b, x, y)
		}
	}

	if e.modes[25] {
		fmt.Fprintf(&b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" "+
			"opacity=\"0.7\"/>\n",
			margin+float64(e.x)*cellWidth, margin+e.y*cellHeight, cellWidth, cellHeight, ink)
	}
	return b.String() + "</svg>\n"
}

// piece draws the cells from x on that look alike, and gives where the next ones begin. Signs stand
// alone: a font that lacks one takes it from another font, which may be wider.
func (e *emulator) piece(b *strings.Builder, x, y int) int {
	first := e.grid.CellAt(x, y)
	plain := func(c *uv.Cell) bool { return len(c.Content) == 1 }
	text := first.Content
	end := x + max(first.Width, 1)
	for end < e.grid.Width() && plain(first) {
		c := e.grid.CellAt(end, y)
		if !plain(c) || !c.Style.Equal(&first.Style) {
			break
		}
		text += c.Content
		end++
	}

	style := first.Style
	front := hue(style.Fg, ink)
	back := hue(style.Bg, "")
	if style.Attrs&uv.AttrReverse != 0 {
		front = hue(style.Bg, paper)
		back = hue(style.Fg, ink)
	}
	if back != "" {
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
			margin+float64(x)*cellWidth, margin+y*cellHeight, float64(end-x)*cellWidth, cellHeight,
			back)
	}
	lead := len(text) - len(strings.TrimLeft(text, " "))
	if text = strings.TrimSpace(text); text == "" {
		return end
	}

	look := ""
	if style.Attrs&uv.AttrBold != 0 {
		look += ` font-weight="bold"`
	}
	if style.Attrs&uv.AttrItalic != 0 {
		look += ` font-style="italic"`
	}
	if style.Attrs&uv.AttrFaint != 0 {
		look += ` opacity="0.65"`
	}
	if style.Underline != 0 {
		look += ` text-decoration="underline"`
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" "+
		"lengthAdjust=\"spacingAndGlyphs\" fill=\"%s\"%s>%s</text>\n",
		margin+float64(x+lead)*cellWidth, margin+y*cellHeight+fontSize,
		float64(ansi.StringWidth(text))*cellWidth, front, look, escaped(text))
	return end
}

func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}

// drawn reads the rows of a screen back from its picture.
func drawn(t *testing.T, picture []byte) []string {
	t.Helper()

	var doc struct {
		Text []struct {
			X    float64 `xml:"x,attr"`
			Y    int     `xml:"y,attr"`
			Text string  `xml:",chardata"`
		} `xml:"text"`
	}

	if err := xml.Unmarshal(picture, &doc); err != nil {
		t.Fatal(err)
	}

	var rows []string
	for _, p := range doc.Text {
		y := (p.Y - margin - fontSize) / cellHeight
		for len(rows) <= y {
			rows = append(rows, "")
		}
		x := int((p.X-margin)/cellWidth + 0.5)
		rows[y] += strings.Repeat(" ", max(0, x-ansi.StringWidth(rows[y]))) + p.Text
	}

	return rows
}

// draws writes the picture of a moment: when it was asked for, and with the golden file that it no
// longer shows.
func (s *screen) draws(name string) {
	s.t.Helper()

	title, ok := pictured[name]
	into := *picturesFlag
	if *update && into == "" {
		into = filepath.Join("..", "..", "docs", "pictures")
		old, err := os.ReadFile(filepath.Join(into, name+".svg"))
		if err == nil && ok && steady(drawn(s.t, old)) == steady(s.grid.rows()) {
			return
		}
	}

	if !ok || into == "" {
		return
	}

	err := os.WriteFile(filepath.Join(into, name+".svg"), []byte(s.grid.svg(title)), 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestPictures: the pictures of the documents show the screens of today, and a page shows each with
// words for who cannot see it.
func TestPictures(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, file := range pagesOf(t, "../..") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}

	files, err := filepath.Glob("../../docs/pictures/*.svg")
	if err != nil || len(files) != len(pictured) {
		t.Errorf("%d drawings in docs/pictures, want %d; %v", len(files), len(pictured), err)
	}
	for name, title := range pictured {
		picture, err := os.ReadFile(filepath.Join("../../docs/pictures", name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(filepath.Join("testdata", "screens", name+"-80.golden"))
		if err != nil {
			t.Fatal(err)
		}
		if got := steady(drawn(t, picture)) + "\n"; got != string(golden) {
			t.Errorf("docs/pictures/%s.svg shows\n%s\nand the screen\n%s\nrun make pictures",
				name, got, golden)
		}
		if !strings.Contains(text.String(), "!["+title+"]") ||
			!strings.Contains(text.String(), "pictures/"+name+".svg)") {
			t.Errorf("no page shows pictures/%s.svg with the words %q", name, title)
		}
	}
}

// TestPictureKeepsTheScreen: what is special to XML, colours, weight and columns come through.
func TestPictureKeepsTheScreen(t *testing.T) {
	t.Parallel()

	e := newEmulator(30, 3)
	_, err := fmt.Fprint(
		e,
		"\x1b[?25la <&\"> b\r\n\x1b[1;31mred\x1b[0m  \x1b[38;2;1;2;3mrgb\x1b[0m ✓ x\r\n"+
			"\x1b[7mrev\x1b[0m 表z",
	)
	if err != nil {
		t.Fatal(err)
	}

	got := e.svg(`a "<&`)
	rows := drawn(t, []byte(got))
	if !slices.Equal(rows, []string{`a <&"> b`, "red  rgb ✓ x", "rev 表z"}) {
		t.Errorf("the picture shows %q", rows)
	}

	for _, want := range []string{
		`>a &lt;&amp;&quot;&gt; b<`,
		`<title>a &quot;&lt;&amp;<`,
		`fill="` + palette[1] + `" font-weight="bold">red<`,
		`fill="#010203">rgb<`,
		`fill="` + paper + `">rev<`,
		`textLength="` + strconv.FormatFloat(2*cellWidth, 'f', 1, 64) + `"`,
		`xml:space="preserve"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture lacks %s:\n%s", want, got)
		}
	}
}
