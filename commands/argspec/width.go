package argspec

import "unicode"

// Width is the number of columns that a text takes on a terminal: two for characters of East Asian width and most
// emoji, none for marks that combine and characters without a form, four for a tab, one for the rest.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r == '	':
		return 4
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(&wide, r):
		return 2
	}
	return 1
}

// wide are the characters that take two columns: those with the Unicode property East Asian Width W and F, rounded to
// whole blocks.
var wide = unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115F, 1}, // Hangul Jamo, leading
		{0x2E80, 0x303E, 1}, // CJK radicals to CJK symbols
		{0x3041, 0xA4CF, 1}, // kana to Yi
		{0xA960, 0xA97F, 1}, // Hangul Jamo Extended-A
		{0xAC00, 0xD7A3, 1}, // Hangul syllables
		{0xF900, 0xFAFF, 1}, // CJK compatibility ideographs
		{0xFE30, 0xFE6F, 1}, // CJK compatibility forms
		{0xFF01, 0xFF60, 1}, // fullwidth forms
		{0xFFE0, 0xFFE6, 1},
	},
	R32: []unicode.Range32{
		{0x1F300, 0x1F64F, 1}, // pictographs, emoticons
		{0x1F680, 0x1F6FF, 1},
		{0x1F900, 0x1FAFF, 1},
		{0x20000, 0x3FFFD, 1}, // CJK extensions
	},
}
