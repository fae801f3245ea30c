package router

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
)

// Part is one command of a line that has several.
type Part struct {
	Line string
	// Sign precedes the command; && runs it only if the previous one ended with 0; empty for the
	// first
	Sign string
}

// Chain splits a line of the prompt at ` && /NAME` and ` ; /NAME`, outside quotes, where NAME is a
// known command. It rejects ` | /NAME`. Elsewhere these characters are text.
func (t *Table) Chain(line string) ([]Part, error) {
	var out []Part
	start := 0
	last := ""
	sign := ""
	for at := 0; at < len(line); {
		rest := line[at:]
		if rest[0] == '"' || rest[0] == '\'' {
			if n := strings.IndexByte(rest[1:], rest[0]); n >= 0 {
				at += n + 2
				last = ""
				continue
			}
		}
		if r, size := utf8.DecodeRuneInString(rest); unicode.IsSpace(r) {
			at += size
			continue
		}
		word, _ := splitFirst(rest)
		if t.isJoin(last, word) {
			if last == "|" {
				return nil, noPipe(word)
			}
			out = append(out, Part{
				strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line[start:at]), last)),
				sign,
			})
			start = at
			sign = last
		}
		at += len(word)
		last = word
	}

	return append(out, Part{strings.TrimSpace(line[start:]), sign}), nil
}

// isJoin reports whether two words separate one command from the next.
func (t *Table) isJoin(sign, word string) bool {
	return (sign == "&&" || sign == ";" || sign == "|") && t.has(word)
}

func (t *Table) has(word string) bool {
	name, ok := strings.CutPrefix(word, "/")
	return ok && (t.byName[name] != nil || t.byName[canonical(word)] != nil)
}

// CheckSingle rejects a line with a second command: a shell call of tercet runs only one.
func (t *Table) CheckSingle(l Line) error {
	sign := ""
	word := ""
	for i := range max(len(l.Words)-2, 0) {
		if t.isJoin(l.Words[i+1], l.Words[i+2]) {
			sign = l.Words[i+1]
			word = l.Words[i+2]
			break
		}
	}

	if l.Words == nil {
		parts, err := t.Chain(l.Raw)
		if err != nil {
			return err
		}
		if len(parts) > 1 {
			sign = parts[1].Sign
			word, _ = splitFirst(parts[1].Line)
		}
	}
	switch sign {
	case "":
		return nil
	case "|":
		return noPipe(word)
	}

	return formats.Fail(formats.CodeUsage,
		"call 'tercet "+printable(word)+
			"' by itself after it; as text, quote all of the text that it belongs to",
		"one call runs one command, got '%s %s' after it", sign, printable(word))
}

func noPipe(word string) error {
	return formats.Fail(formats.CodeUsage,
		"write ' && "+printable(word)+" ...' to run it next, or quote text that holds a '|'",
		"commands take no output of others: '| %s'", printable(word))
}
