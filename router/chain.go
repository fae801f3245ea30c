package router

import (
	"errors"
	"slices"
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
// known command. It rejects ` | /NAME` and a name that is nearly one of a command. Behind a command
// that has no words but numbers and flags it also rejects any other name, and a pipe to a program
// or a file. Elsewhere these characters are text.
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
		if err := t.checkMisspelt(line[start:at], last, word); err != nil {
			return nil, err
		}
		if t.isJoin(last, word) {
			if last == "|" {
				return nil, pipeError(word)
			}
			out = append(out, Part{
				strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line[start:at]), last)),
				sign,
			})
			start = at
			sign = last
		} else if isOutput(last) && !hasText(line[start:at]) {
			return nil, outputError(line[start:])
		}
		at += len(word)
		last = word
	}

	return append(out, Part{strings.TrimSpace(line[start:]), sign}), nil
}

// isJoin reports whether two words separate one command from the next.
func (t *Table) isJoin(sign, word string) bool {
	return isSign(sign) && t.hasCommand(word)
}

func isSign(word string) bool {
	return word == "&&" || word == ";" || word == "|"
}

// checkMisspelt is an error if the word behind a sign looks like a command and is none: if it is
// nearly the name of one, or if nothing before the sign is text. As text of the command before it,
// the slip would go to a worker.
func (t *Table) checkMisspelt(before, sign, word string) error {
	name, slash := strings.CutPrefix(word, "/")
	if !isSign(sign) || !slash || t.hasCommand(word) {
		return nil
	}
	unknown, ok := errors.AsType[*UnknownCommandError](t.unknownCommandError(name))
	if !ok || len(unknown.DidYouMean) == 0 && (hasText(before) || strings.Contains(name, "/")) {
		return nil
	}
	return unknown
}

// isOutput reports whether a word sends what a shell prints elsewhere.
func isOutput(sign string) bool {
	return sign == "|" || sign == ">" || sign == ">>"
}

// hasText reports whether a command has words before the sign at its end that are neither numbers
// nor flags. In those the sign is text as well.
func hasText(line string) bool {
	words := strings.Fields(line)
	return slices.ContainsFunc(words[1:max(1, len(words)-1)], func(word string) bool {
		return word[0] != '-' && strings.Trim(word, "0123456789,-") != ""
	})
}

func (t *Table) hasCommand(word string) bool {
	name, ok := strings.CutPrefix(word, "/")
	return ok && (t.byName[name] != nil || t.byName[canonicalName(word)] != nil)
}

// CheckSingle rejects a line with a second command: a shell call of tercet runs only one.
func (t *Table) CheckSingle(l Line) error {
	sign := ""
	word := ""
	for i := range max(len(l.Words)-2, 0) {
		before := strings.Join(l.Words[:i+2], " ")
		if err := t.checkMisspelt(before, l.Words[i+1], l.Words[i+2]); err != nil {
			return err
		}
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
		return pipeError(word)
	}

	return formats.Fail(formats.CodeUsage,
		"call 'tercet "+printable(word)+
			"' by itself after it; as text, quote all of the text that it belongs to",
		"one call runs one command, got '%s %s' after it", sign, printable(word))
}

func pipeError(word string) error {
	return formats.Fail(formats.CodeUsage,
		"write ' && "+printable(word)+" ...' to run it next, or quote text that holds a '|'",
		"commands take no output of others: '| %s'", printable(word))
}

func outputError(line string) error {
	line = printable(strings.TrimSpace(line))
	return formats.Fail(formats.CodeUsage,
		"write !tercet "+line+" at the prompt, the same without ! in a shell, or put quotes "+
			"around a text",
		"a command sends its answer to no program or file: '%s'", line)
}
