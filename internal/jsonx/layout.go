package jsonx

// toOneLine drops the white space of valid JSON; spaced puts one space after each colon and comma.
func toOneLine(raw []byte, spaced bool) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		c := raw[i]
		if isSpace(c) {
			i++
			continue
		}
		if c == '"' {
			end := stringEnd(raw, i)
			out = append(out, raw[i:end]...)
			i = end
			continue
		}
		out = append(out, c)
		if spaced && (c == ',' || c == ':') {
			out = append(out, ' ')
		}
		i++
	}
	return out
}

// AppendIndent appends valid JSON with each member and element on its own line. Empty arrays and
// objects stay on one line.
func AppendIndent(out, raw []byte, unit string) []byte {
	depth := 0
	line := func() {
		out = append(out, '\n')
		for range depth {
			out = append(out, unit...)
		}
	}

	opened := false // the last token opened a container
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if isSpace(c) {
			continue
		}

		closes := c == ']' || c == '}'
		if closes {
			depth--
		}
		if opened != closes && (opened || closes) {
			line()
		}
		opened = c == '[' || c == '{'

		switch c {
		case '"':
			end := stringEnd(raw, i)
			out = append(out, raw[i:end]...)
			i = end - 1
		case ',':
			out = append(out, c)
			line()
		case ':':
			out = append(out, ':', ' ')
		default:
			if opened {
				depth++
			}
			out = append(out, c)
		}
	}

	return out
}

// stringEnd gives the offset after the closing quote of the string that starts at i.
func stringEnd(raw []byte, i int) int {
	i++
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
