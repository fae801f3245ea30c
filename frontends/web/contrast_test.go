package web_test

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The contrast that WCAG 2.2 asks for at level AA: of text, and of what shows where a control is.
const (
	textContrast    = 4.5
	controlContrast = 3
)

// TestContrast: in light and in dark every colour of text can be read on every background, and the
// edges of controls can be seen.
func TestContrast(t *testing.T) {
	t.Parallel()

	data, err := os.ReadFile(filepath.Join("static", "page.css"))
	if err != nil {
		t.Fatal(err)
	}

	sheet := string(data)

	first, rest, ok := strings.Cut(sheet, "@media (prefers-color-scheme: dark)")
	second, _, ends := strings.Cut(rest, "*, *::before")
	light := palette(first)

	dark := maps.Clone(light)
	maps.Copy(dark, palette(second))
	if !ok || !ends || len(light) == 0 || maps.Equal(light, dark) {
		t.Fatalf("expected a light and a dark palette, got %v and %v", light, dark)
	}

	texts := used(sheet, `(?:^|[\s{;])color: var\(--([\w-]+)\)`)
	grounds := used(sheet, `background: var\(--([\w-]+)\)`)
	edges := used(sheet, `(?:outline|border): [^;{}]*var\(--(accent|strong-line)\)`)

	if len(texts) < 5 || len(grounds) < 5 || len(edges) != 2 {
		t.Fatalf("the sheet uses the texts %q, the backgrounds %q and the edges %q",
			texts, grounds, edges)
	}

	for scheme, colours := range map[string]map[string]string{"light": light, "dark": dark} {
		check := func(front, ground string, want float64) {
			got := contrast(t, colours[front], colours[ground])
			if got < want {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f",
					scheme, front, ground, got, want)
			}
		}

		for _, front := range texts {
			for _, ground := range grounds {
				// text on the accent has a colour of its own, which stands nowhere else
				if (front == "accent-ink") == (ground == "accent") {
					check(front, ground, textContrast)
				}
			}
		}

		for _, edge := range edges {
			for _, ground := range []string{"paper", "sheet", "sunken"} {
				check(edge, ground, controlContrast)
			}
		}
	}
}

// palette reads the colours of a part of a style sheet, by name.
func palette(css string) map[string]string {
	out := map[string]string{}
	colour := regexp.MustCompile(`--([\w-]+): #([0-9a-f]{6});`)
	for _, m := range colour.FindAllStringSubmatch(css, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// used lists the names that the first group of an expression matches.
func used(css, expression string) []string {
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(css, -1) {
		names[m[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// contrast is that of two colours, as WCAG defines it: 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	first := luminance(t, a)
	second := luminance(t, b)
	const flare = 0.05
	return (max(first, second) + flare) / (min(first, second) + flare)
}

// luminance is the relative luminance of a colour of sRGB.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()

	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}

		part := float64(n) / math.MaxUint8
		if part <= 0.04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+0.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum
}
