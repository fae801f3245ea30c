package syntax

import (
	"strconv"
	"strings"

	"tercet/internal/md"
)

// plainWorkflow reads the plain form: lines "Step N: sentence", wherever they stand.
func (p *parser) plainWorkflow(s md.Section, list []draft) {
	for _, d := range list {
		for _, b := range d.fences {
			p.report(CodeFencePlace, b.Pos, "put a heading '### Step <n>: <title>' before it",
				"block 'yaml step' without a step heading")
			p.stepBlock(&Step{}, b)
		}
	}
	seen := map[string]Pos{}
	var stack []nested
	for n := s.Line() + 1; n <= s.EndLine; n++ {
		line := p.doc.Line(n)
		text := strings.TrimLeft(line, " \t")
		number, rest, ok := stepLine(cleanTitle(text))
		if p.doc.InCode(n) {
			continue
		}
		pos := Pos{Line: n, Col: len(line) - len(text) + 1}
		if !ok {
			if almostStep(text) {
				p.report(CodeStepHeading, pos, "write it like 'Step 3: Return the plan', at the start of the line",
					"expected 'Step <n>: <title>', got %q", text)
			}
			continue
		}
		if first, ok := seen[number]; ok {
			p.report(CodeNumber, pos, "number the steps in order", "second step %s, the first is on line %d", number, first.Line)
		}
		seen[number] = pos
		step := &Step{Pos: pos, Number: number, Title: rest}
		step.Sentence = p.sentence(rest, Pos{Line: n, Col: strings.Index(line, rest) + 1})
		if step.Sentence == nil {
			p.refuse(step)
		}
		stack = p.attach(stack, nested{step: step, level: strings.Count(number, ".")})
	}
	p.bodies(p.file.Steps)
	if len(p.file.Steps) == 0 {
		p.report(CodeSection, s.Heading.Pos, "add '### Step 1: <title>' with a block below it", "section '%s' has no steps",
			sectionWorkflow)
	}
}

// almostStep reports a line that was meant as a plain step and is none: a list item, another mark than the colon or
// none before a sentence of the list, another case. Prose such as "Step 2 writes the plan" is not meant.
func almostStep(text string) bool {
	bare := cleanTitle(strings.TrimLeft(text, "-*+ \t"))
	if _, _, ok := stepLine(bare); ok {
		return true
	}
	first, rest, _ := strings.Cut(bare, " ")
	rest = strings.TrimLeft(rest, " ")
	if !strings.EqualFold(first, "step") || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return false
	}
	rest = strings.TrimLeft(rest, "0123456789.")
	if rest != "" && strings.ContainsRune(":;)-", rune(rest[0])) {
		return true
	}
	s := &scanner{text: rest}
	return s.accept("delegate", "to") || s.accept("extract") || s.accept("validate") || s.accept("load") ||
		s.accept("for", "each") || s.accept("return")
}

// argSentences reads the lines of Argument Parsing in the plain form.
func (p *parser) argSentences(s md.Section) {
	for n := s.Line() + 1; n <= s.EndLine; n++ {
		line := p.doc.Line(n)
		text := cleanTitle(strings.TrimLeft(line, " \t-*"))
		if _, isTag := tagLine(text); text == "" || isTag || p.doc.InCode(n) || strings.HasPrefix(text, "#") {
			continue
		}
		if say := p.sentence(text, Pos{Line: n, Col: strings.Index(line, text) + 1}); say != nil {
			p.file.Sentences = append(p.file.Sentences, say)
		}
	}
}

// scanner reads a sentence word by word.
type scanner struct {
	text string
	pos  Pos
	i    int
}

// next takes the next word; empty at the end.
func (s *scanner) next() Word {
	for s.i < len(s.text) && s.text[s.i] == ' ' {
		s.i++
	}
	start := s.i
	for s.i < len(s.text) && s.text[s.i] != ' ' {
		s.i++
	}
	return Word{Pos: Pos{Line: s.pos.Line, Col: s.pos.Col + start}, Text: s.text[start:s.i]}
}

// accept takes the given words if they come next.
func (s *scanner) accept(words ...string) bool {
	back := s.i
	for _, w := range words {
		if !strings.EqualFold(s.next().Text, w) {
			s.i = back
			return false
		}
	}
	return true
}

func (s *scanner) rest() string { return strings.TrimSpace(s.text[s.i:]) }
func (s *scanner) atEnd() bool  { return s.rest() == "" }

// sentence reads one sentence of the closed list; nil for any other, which is reported.
func (p *parser) sentence(text string, pos Pos) *Sentence {
	s := &scanner{text: strings.TrimSuffix(strings.TrimSpace(text), "."), pos: pos}
	say := &Sentence{Pos: pos}
	ok := false
	switch {
	case s.accept("delegate", "to"):
		ok = s.delegate(say)
	case s.accept("extract"):
		ok = s.extract(say)
	case s.accept("validate"):
		ok = s.validate(say)
	case s.accept("load", "task", "context"):
		say.Kind, ok = SayLoadTask, true
	case s.accept("for", "each"):
		ok = s.forEach(say)
	case s.accept("return"):
		say.Kind, ok = SayReturn, !s.atEnd()
		say.Rest = strings.TrimSpace(strings.TrimSuffix(s.rest(), "to orchestrator"))
	}
	if !ok {
		p.report(CodeSentence, pos, "write a block 'yaml step' below a heading '### Step <n>: ...'",
			"sentence is not in the list of plain steps: %q", text)
		return nil
	}
	return say
}

// delegate: NAME [subagent] [with WORDS], or status-sync-manager to update task status [to "X"].
func (s *scanner) delegate(say *Sentence) bool {
	say.Kind, say.Name = SayDelegate, s.next()
	if !isName(say.Name.Text, '-') {
		return false
	}
	s.accept("subagent")
	switch {
	case s.atEnd():
		return true
	case s.accept("with"):
		say.Rest = s.rest()
		return say.Rest != ""
	case say.Name.Text == "status-sync-manager" && s.accept("to", "update", "task", "status"):
		say.Kind = SayUpdateStatus
		if s.accept("to") {
			w := s.next()
			say.To = Word{w.Pos, strings.Trim(w.Text, "\"'`[]")}
			if len(say.To.Text) < len(w.Text) {
				say.To.Pos.Col++
			}
			return say.To.Text != "" && s.atEnd()
		}
		return s.atEnd()
	}
	return false
}

// extract: [optional] ARG from args[i].
func (s *scanner) extract(say *Sentence) bool {
	say.Kind = SayExtract
	say.Opt = s.accept("optional")
	say.Name = s.next()
	if !isName(say.Name.Text, '_') || !s.accept("from") {
		return false
	}
	index, ok := strings.CutPrefix(s.next().Text, "args[")
	index, closed := strings.CutSuffix(index, "]")
	i, err := strconv.Atoi(index)
	say.Index = i
	return ok && closed && err == nil && i >= 0 && s.atEnd()
}

// validate: ARG is positive integer; ARG ...; task exists [and is ready for VERBing]; NOUN format.
func (s *scanner) validate(say *Sentence) bool {
	if s.accept("task", "exists") {
		say.Kind = SayTaskExists
		if s.accept("and", "is", "ready", "for") {
			say.Kind, say.Verb = SayTaskReady, s.next()
			return say.Verb.Text != "" && s.atEnd()
		}
		return s.atEnd()
	}
	say.Name = s.next()
	switch {
	case s.accept("format"):
		say.Kind = SayValidateFormat
		return s.atEnd()
	case !isName(say.Name.Text, '_') || s.atEnd():
		return false
	case s.accept("is", "positive", "integer") || s.accept("is", "a", "positive", "integer"):
		say.Kind = SayPositive
		return s.atEnd()
	default:
		say.Kind = SayValidateArgument
		return true
	}
}

// forEach: X in JQ:
func (s *scanner) forEach(say *Sentence) bool {
	say.Kind, say.Name = SayForEach, s.next()
	if !isVariable(say.Name.Text) || !s.accept("in") {
		return false
	}
	rest := s.rest()
	src := strings.TrimSpace(strings.TrimSuffix(rest, ":"))
	start := len(s.text) - len(strings.TrimLeft(s.text[s.i:], " "))
	say.Expr = &Expr{Pos: Pos{Line: s.pos.Line, Col: s.pos.Col + start}, Src: src}
	return src != "" && src != rest
}
