package documents

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"tercet/internal/lazy"
)

// maxPhase bounds the number of a phase.
const maxPhase = 9999

var (
	// phaseForm matches a heading without its mark. A second number, as in Phase 1.2, is not a
	// name.
	phaseForm = lazy.Regexp(`(?is)^phase[\s\p{Z}]*([0-9]{1,9})` +
		`(?:[\s\p{Z}]*(?:[:–—-](.*)|\.(?:([^0-9].*))?)|[\s\p{Z}]+(.*))?$`)
	// phaseLike matches a heading that was probably meant as a phase.
	phaseLike = lazy.Regexp(`(?i)^[^\p{L}\p{N}]*phase[\s\p{Z}]*[0-9]`)
)

// phaseHeading parses "Phase N: name [STATUS]", also in common variants. The number is -1 if the
// text has no such form. A missing, unknown or unusual mark is a problem, and the first two leave
// not_started.
func phaseHeading(text string) (p Phase, problem string) {
	p = Phase{
		Number:       -1,
		Status:       PhaseNotStarted,
		Tasks:        []ChecklistItem{},
		Checks:       []ChecklistItem{},
		Commands:     []string{},
		Verification: []string{},
		DependsOn:    []int{},
	}
	m, marked := phaseMarkOf(text)
	rest := strings.TrimSpace(text)
	if marked {
		rest = strings.TrimSpace(text[:m.from]) + " " + strings.TrimSpace(text[m.to:])
		rest = strings.Trim(rest, "|*_ \t–—-")
	}
	form := phaseForm().FindStringSubmatch(strings.TrimLeft(rest, signs+"\ufe0f*_ \t"))
	number := maxPhase + 1
	name := ""
	if form != nil {
		number, _ = strconv.Atoi(form[1]) //nolint:errcheck // phaseForm has at most nine digits
		name = strings.TrimSpace(form[2] + form[3] + form[4])
	}
	if number > maxPhase {
		return p, "expected the heading of a phase, got " + strconv.Quote(text)
	}

	p.Number = number
	p.Name = name
	p.Status = m.status
	switch {
	case !marked:
		p.Status = PhaseNotStarted
		problem = fmt.Sprintf("expected a status after the name of phase %d, got none", number)
	case m.status == "":
		p.Status = PhaseNotStarted
		problem = fmt.Sprintf("expected the status of phase %d, got %q", number, m.word)
	case !m.exact:
		problem = fmt.Sprintf("expected the status of phase %d as [%s] at the end, got %q",
			number, m.status.Mark(), strings.TrimSpace(text[m.from:m.to]))
	}

	if name == "" {
		p.Name = fmt.Sprintf("Phase %d", number)
		problem = fmt.Sprintf("expected a name after the number of phase %d, got none", number)
	}
	return p, problem
}

// phaseMark is the status in a heading: text[from:to]. exact means the canonical form. The status
// is empty for an unknown word in brackets at the end.
type phaseMark struct {
	from, to int
	word     string
	status   PhaseStatus
	exact    bool
}

// Symbols for a status, without a variation selector.
const (
	signsDone    = "\u2705\u2714\u2611"
	signsGoing   = "\U0001f504\U0001f6a7\u23f3"
	signsPartly  = "\u26a0"
	signsBlocked = "\u26d4\U0001f6ab\U0001f6d1"
	signsOpen    = "\u2b1c\u2610"
	signs        = signsDone + signsGoing + signsPartly + signsBlocked + signsOpen
)

const (
	signForm  = `(?:[` + signs + `]\x{fe0f}?)`
	wordsForm = `(?:not[ _-]?started|pending|to[ _-]?do|in[ _-]?progress|wip|` +
		`completed?|done|finished|partial|blocked)`
)

// The positions of a status in a heading: in brackets, in capitals at the end, or as a symbol; also
// after a dash, a symbol or a bold mark.
var (
	inBrackets = lazy.Regexp(
		`(?i)` + signForm + `?\s*[\[(]\s*` + signForm + `?\s*(` + wordsForm + `?|x)\s*` + signForm +
			`?\s*[\])]\s*` + signForm + `?`,
	)
	behindMark = lazy.Regexp(
		`(?i)(?:\s[-–—|]|:|\*\*|__|` + signForm + `)[\s*_]*(` + wordsForm + `)[\s*_.]*` +
			signForm + `?\s*$`,
	)
	inCapitals = lazy.Regexp(
		`\s(NOT[ _-]?STARTED|PENDING|TO[ _-]?DO|IN[ _-]?PROGRESS|WIP|COMPLETED?|DONE|FINISHED|` +
			`PARTIAL|BLOCKED)[\s*_.]*$`,
	)
	aSign     = lazy.Regexp(`^[^\p{L}\p{N}` + signs + `]*(` + signForm + `)|(` + signForm + `)\s*$`)
	lastGroup = lazy.Regexp(`\[([^\[\]]*)\]$`)
)

// phaseMarkOf finds the status in a heading. A bare word in lower case is part of the name, because
// a phase that is wrongly taken for completed would never run.
func phaseMarkOf(text string) (m phaseMark, ok bool) {
	for _, at := range inBrackets().FindAllStringSubmatchIndex(text, -1) {
		whole := strings.TrimSpace(text[at[0]:at[1]])
		word := text[at[2]:at[3]]
		from := at[0] + strings.Index(text[at[0]:], whole)
		outside := hasNoWords(text[:from]) || hasNoWords(text[from+len(whole):])
		box := whole == "[ ]" || strings.EqualFold(whole, "[x]")
		if word != "" && !strings.EqualFold(word, "x") || strings.ContainsAny(whole, signs) ||
			box && outside {
			m = phaseMark{
				from:   from,
				to:     from + len(whole),
				word:   word,
				status: statusOf(word, whole),
			}
			ok = true
		}
	}

	if ok {
		if at := lastGroup().FindStringSubmatch(text); at != nil {
			_, err := ParsePhaseStatus(statusWord(at[1]))
			m.exact = err == nil
		}
		return m, true
	}

	at := behindMark().FindStringSubmatchIndex(text)
	if at == nil {
		at = inCapitals().FindStringSubmatchIndex(text)
	}
	if at != nil {
		word := text[at[2]:at[3]]
		return phaseMark{
			from:   at[0],
			to:     len(text),
			word:   word,
			status: statusOf(word, ""),
		}, true
	}

	if at := aSign().FindStringSubmatchIndex(text); at != nil {
		from := max(at[2], at[4])
		to := max(at[3], at[5])
		return phaseMark{
			from:   from,
			to:     to,
			status: statusOf("", text[from:to]),
		}, true
	}

	if at := lastGroup().FindStringSubmatchIndex(text); at != nil {
		return phaseMark{
			from: at[0],
			to:   at[1],
			word: text[at[2]:at[3]],
		}, true
	}
	return m, false
}

// hasNoWords reports whether a text has neither letters nor digits.
func hasNoWords(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}

// statusWord is a word in the form of the statuses.
func statusWord(word string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(word,
		func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), "_"))
}

// statusOf is the status of a word, or of the symbol in a mark without a word.
func statusOf(word, mark string) PhaseStatus {
	switch strings.ReplaceAll(statusWord(word), "_", "") {
	case "inprogress", "wip":
		return PhaseInProgress
	case "completed", "complete", "done", "finished", "x":
		return PhaseCompleted
	case "partial":
		return PhasePartial
	case "blocked":
		return PhaseBlocked
	case "":
		switch {
		case strings.ContainsAny(mark, signsDone):
			return PhaseCompleted
		case strings.ContainsAny(mark, signsGoing):
			return PhaseInProgress
		case strings.ContainsAny(mark, signsPartly):
			return PhasePartial
		case strings.ContainsAny(mark, signsBlocked):
			return PhaseBlocked
		}
	}
	return PhaseNotStarted
}

// setMark puts another status into a heading, in place of the mark or after the name.
func setMark(heading string, to PhaseStatus) string {
	kept := strings.TrimRight(heading, " \t\r#*_")
	tail := heading[len(kept):]
	mark := "[" + to.Mark() + "]"
	m, ok := phaseMarkOf(kept)
	switch {
	case !ok || m.status == "":
		return kept + " " + mark + tail
	case !strings.ContainsAny(kept[m.from:m.to], "[(") && m.word != "":
		// a word after a separator
		removed := kept[m.from:m.to]
		if strings.HasPrefix(removed, "**") || strings.HasPrefix(removed, "__") {
			tail = strings.TrimLeft(tail, "*_")
		}
		return strings.TrimRight(kept[:m.from], " \t") + " " + mark + tail
	}

	before := kept[:m.from]
	after := kept[m.to:]
	if after != "" { // at the front, or between number and name
		if hasNoWords(before) {
			after = strings.TrimLeft(after, " \t")
		} else {
			before = strings.TrimRight(before, " \t")
		}
		return before + after + " " + mark + tail
	}
	if !strings.HasSuffix(before, " ") && strings.TrimRight(before, "*_#\t") == before {
		before += " "
	}
	return before + mark + tail
}
