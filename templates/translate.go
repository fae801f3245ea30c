package templates

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
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
// prompt's text outside the steps, and the previous step's result. most bounds the file, in bytes.
func Translate(p Prompt, most int) ([]byte, error) {
	purpose := shorten(cmp.Or(cleanLine(p.Purpose), "Translated from "+p.Source), maxDescription)
	purpose, err := checkText("command", p.Name, purpose)
	if err != nil {
		return nil, err
	}

	type view struct {
		Number, Last int // the step, and the previous step of a subagent
		Title, From  string
		Gate         bool
		Lost, Lines  []string
	}
	var steps []view
	all := block(p.Before)
	last := 0
	size := 0
	for i, part := range p.Parts {
		title := shorten(cleanLine(part.Title), maxDescription)
		v := view{
			Number: i + 1,
			Last:   last,
			From:   plainLine(fmt.Sprintf("from %s:%d", p.Source, part.Line), "`!@$"),
		}
		short, _, _ := strings.Cut(title, ". ")
		v.Title = cmp.Or(
			shorten(plainLine(short, "&<>`*[]\\~{}$@#|!:."), 80),
			fmt.Sprintf("Do part %d", i+1),
		)
		for _, lost := range part.Untranslated {
			v.Lost = append(v.Lost, plainLine(lost, "`!@$"))
		}
		v.Gate = part.Gate
		v.Lines = block(part.Pieces)
		if !v.Gate {
			last = i + 1
		}
		steps = append(steps, v)
		size += len(strings.Join(all, "")) + len(strings.Join(v.Lines, ""))
		if size > most {
			return nil, refuse(
				"make the prompt shorter: what stands outside its steps goes to each of them",
				"expected a prompt whose steps fit into %d bytes, got more", most,
			)
		}
	}

	return fill("translated.tmpl", struct {
		Name, Description, Source string
		Args                      []Arg
		All                       []string // text for all steps
		Steps                     []view
		Next, Last                int
	}{p.Name, scalar(purpose), prose(cleanLine(p.Source)), p.Args, all, steps, len(steps) + 1, last})
}

// block writes pieces as the lines of a YAML block, with expressions in place of their texts. Text
// that another tool or an expression would interpret becomes an expression.
func block(pieces []Piece) []string {
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
