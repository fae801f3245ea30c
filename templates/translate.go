package templates

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"tercet/internal/parts"
)

// Piece is a part of a prompt: a text, or an expression that replaces it.
type Piece struct {
	Text string
	Jq   string // the expression; empty: the text itself
}

// Part is one numbered step of a prompt.
type Part struct {
	Line         int
	Title        string
	Gate         bool // it asks the user
	Pieces       []Piece
	Untranslated []string // untranslated parts with their places
}

// Prompt is a prompt command with numbered steps.
type Prompt struct {
	Name, Purpose, Source string
	Args                  []Arg
	Before                []Piece // text outside the steps
	Parts                 []Part
}

// Translate converts a prompt to a command file: one step for each number. Each step gets the
// prompt's text outside the steps, and the previous step's result. maxBytes bounds the file.
func Translate(p Prompt, maxBytes int) ([]byte, error) {
	purpose := shorten(cmp.Or(cleanLine(p.Purpose), "Translated from "+p.Source), maxDescription)
	purpose, err := checkText(p.Name, purpose)
	if err != nil {
		return nil, err
	}

	texts := commandParts()
	var steps []string
	all := blockLines(p.Before)
	previous := 0 // the last step of a subagent
	size := 0
	for i, part := range p.Parts {
		lines := blockLines(part.Pieces)
		size += len(strings.Join(all, "")) + len(strings.Join(lines, ""))
		if size > maxBytes {
			return nil, refuse(
				"make the prompt shorter: what stands outside its steps goes to each of them",
				"expected a prompt whose steps fit into %d bytes, got more", maxBytes,
			)
		}

		title := shorten(cleanLine(part.Title), maxDescription)
		title, _, _ = strings.Cut(title, ". ")
		title = shorten(plainLine(title, "&<>`*[]\\~{}$@#|!:."), 80)

		var untranslated []string
		for _, one := range part.Untranslated {
			untranslated = append(untranslated, "# "+plainLine(one, "`!@$"))
		}

		number := strconv.Itoa(i + 1)
		values := parts.Values{
			"title":  cmp.Or(title, "Do part "+number),
			"from":   plainLine(fmt.Sprintf("from %s:%d", p.Source, part.Line), "`!@$"),
			"lost":   strings.Join(untranslated, "\n"),
			"number": number,
			"count":  strconv.Itoa(len(p.Parts)),
			"name":   p.Name,
			"lines":  indentLines(lines),
			"all":    "",
			"before": "",
		}
		if len(all) > 0 {
			values["all"] = texts.Fill("translated all", parts.Values{"lines": indentLines(all)})
		}
		if previous > 0 {
			last := parts.Values{"last": strconv.Itoa(previous)}
			values["before"] = texts.Fill("translated before", last)
		}
		kind := "translated gate"
		if !part.Gate {
			kind = "translated delegate"
			previous = i + 1
		}
		steps = append(steps, texts.Fill(kind, values))
	}

	text := ""
	if previous > 0 {
		text = fmt.Sprintf(", text: $steps.step_%d.text", previous)
	}
	steps = append(steps, texts.Fill("translated return", parts.Values{"text": text}))
	for i, s := range steps {
		steps[i] = texts.Fill("step", parts.Values{
			"mark":   "###",
			"number": strconv.Itoa(i + 1),
			"step":   s,
		})
	}
	out := texts.Fill("translated", parts.Values{
		"head":   commandHead(p.Name, yamlScalar(purpose), p.Args, nil),
		"source": escapeMarkdown(cleanLine(p.Source)),
		"steps":  strings.Join(steps, "\n"),
	})
	return []byte(out + "\n"), nil
}

// indentLines writes lines into a YAML block.
func indentLines(lines []string) string {
	var out []string
	for _, line := range lines {
		if line != "" {
			line = "    " + line
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// blockLines writes pieces as the lines of a YAML block, with expressions in place of their texts.
// Text that another tool or an expression would interpret becomes an expression.
func blockLines(pieces []Piece) []string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Jq != "" {
			b.WriteString("${{ " + p.Jq + " }}")
			continue
		}
		for i, r := range p.Text {
			before := byte(' ')
			if i > 0 {
				before = p.Text[i-1]
			}
			switch {
			case r == '\n':
				b.WriteByte('\n')
			case r == '$', r == '@' && before <= ' ',
				r == '!' && strings.HasPrefix(p.Text[i+1:], "`"):
				fmt.Fprintf(&b, `${{ "\u%04x" }}`, r)
			case r == '\t':
				b.WriteString("    ")
			case r != ' ' && !unicode.IsPrint(r):
				// controls, marks of direction, separators of lines
			default:
				b.WriteRune(r)
			}
		}
	}

	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(b.String(), "\n "), "\n") {
		line = strings.TrimRight(line, " ")
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" { // at most one empty line
			lines = append(lines, line)
		}
	}

	return lines
}

// plainLine removes characters that would be interpreted.
func plainLine(s, without string) string {
	return cleanLine(strings.Map(func(r rune) rune {
		if strings.ContainsRune(without, r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s))
}
