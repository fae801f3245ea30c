package dialect

import (
	"tercet/internal/lazy"
)

// opencodeFinish finds the placeholders. A number above 9 is one only if all lower ones occur too:
// $50 is a price.
func opencodeFinish(c *Command, keys keySet, n *notes) {
	keys.boolValue(n, "subtask")
	seen := map[int]bool{}
	eachPart(c.Parts, func(p *Part) {
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

	eachPart(c.Parts, func(p *Part) {
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

var opencodeWord = lazy.Regexp(`"[^"]*"|'[^']*'|\[Image \d+\]|[^ \t\n\r"']+`)

// opencodeWords keeps quoted texts and "[Image N]" whole and removes the quotes. An unmatched quote
// is dropped.
func opencodeWords(raw string) []string {
	out := opencodeWord().FindAllString(raw, -1)
	for i, word := range out {
		if word[0] == '"' || word[0] == '\'' {
			out[i] = word[1 : len(word)-1]
		}
	}
	return out
}
