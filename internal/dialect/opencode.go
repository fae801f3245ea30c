package dialect

import "strings"

// opencodeSettle finds the placeholders. A number above 9 is one only if all lower ones stand there too: $50 is a
// price.
func opencodeSettle(c *Command, keys keySet, n *notes) {
	keys.flag(n, "subtask")
	seen := map[int]bool{}
	each(c.Parts, func(p *Part) {
		if p.Kind == Nth {
			seen[p.Index] = true
		}
	})
	highest := 0
	for i := 1; i <= 9; i++ {
		if seen[i] {
			highest = i
		}
	}
	for highest >= 9 && seen[highest+1] {
		highest++
	}
	each(c.Parts, func(p *Part) {
		switch {
		case p.Kind != Nth:
		case p.Index < 1 || p.Index > highest:
			*p = Part{Kind: Literal, Text: p.Text}
		default:
			p.Rest = p.Index == highest
			p.Index--
		}
	})
}

// opencodeWords keeps quoted texts and "[Image N]" whole and takes the quotes off.
func opencodeWords(raw string) []string {
	var out []string
	for i := 0; i < len(raw); {
		rest := raw[i:]
		switch c := rest[0]; {
		case strings.IndexByte(" \t\n\r", c) >= 0:
			i++
		case (c == '"' || c == '\'') && strings.IndexByte(rest[1:], c) >= 0:
			end := strings.IndexByte(rest[1:], c) + 1
			out = append(out, rest[1:end])
			i += end + 1
		case strings.HasPrefix(rest, "[Image ") && imageEnd(rest) > 0:
			end := imageEnd(rest)
			out = append(out, rest[:end])
			i += end
		case c == '"' || c == '\'':
			i++ // a quote that nothing closes
		default:
			end := strings.IndexAny(rest, " \t\n\r\"'")
			if end < 0 {
				end = len(rest)
			}
			out = append(out, rest[:end])
			i += end
		}
	}
	return out
}

// imageEnd is the length of "[Image N]", 0 if that is not what stands there.
func imageEnd(text string) int {
	digits := strings.TrimLeft(text[len("[Image "):], "0123456789")
	at := len(text) - len(digits)
	if at == len("[Image ") || !strings.HasPrefix(digits, "]") {
		return 0
	}
	return at + 1
}
