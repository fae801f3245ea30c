package syntax

import (
	"regexp"
	"strconv"
	"strings"

	"tercet/internal/lazy"
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

	seen := map[string]int{}
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
				p.report(CodeStepHeading, pos,
					"write it like 'Step 3: Return the plan', at the start of the line",
					"expected 'Step <n>: <title>', got %q", text)
			}
			continue
		}
		p.numbered(seen, number, pos)
		step := &Step{
			Pos:    pos,
			Number: number,
			Title:  rest,
		}
		step.Sentence = p.sentence(rest, posIn(line, n, rest))
		if step.Sentence == nil {
			p.refused[step] = true
		}
		stack = p.attach(stack, nested{step: step, level: strings.Count(number, ".")})
	}
}

// almostStep reports a line that was meant as a plain step and is none. It is a list item, has
// another mark than the colon or none before a sentence of the list, or another case. Prose such as
// "Step 2 writes the plan" is not meant.
func almostStep(text string) bool {
	bare := cleanTitle(strings.TrimLeft(text, "-*+ \t"))
	if _, _, ok := stepLine(bare); ok {
		return true
	}
	return almost().MatchString(bare)
}

// almost is a number behind "step", and a mark other than the colon or the beginning of a sentence
// of the list.
var almost = lazy.Regexp(
	`(?i)^step +[0-9][0-9.]*(?:[:;)-]| *(?:delegate +to|extract|validate|load|for +each|return)(?: |$))`,
)

// argSentences reads the lines of Argument Parsing in the plain form.
func (p *parser) argSentences(s md.Section) {
	for n := s.Line() + 1; n <= s.EndLine; n++ {
		line := p.doc.Line(n)
		text := cleanTitle(strings.TrimLeft(line, " \t-*"))
		_, isTag := tagLine(text)
		if text == "" || isTag || p.doc.InCode(n) || strings.HasPrefix(text, "#") {
			continue
		}
		if say := p.sentence(text, posIn(line, n, text)); say != nil {
			p.file.Sentences = append(p.file.Sentences, say)
		}
	}
}

// sentenceForms are the sentences of the closed list; the first that fits counts. The case of
// letters does not matter but in names, a space stands for one or more. Without a kind, no later
// form may fit either.
var sentenceForms = []struct {
	kind SentenceKind
	none bool
	form string
}{
	{
		SayUpdateStatus, false,
		"delegate to (?P<name>(?-i:status-sync-manager))( subagent)? to update task status( to " +
			"(?P<to>[^ ]+))?",
	},
	{SayDelegate, false, "delegate to AGENT( subagent)?( with REST)?"},
	{SayExtract, false, `extract (?P<opt>optional )?ARG from (?-i:args\[(?P<index>[0-9]{1,4})\])`},
	{SayTaskReady, false, "validate task exists and is ready for (?P<verb>[^ ]+)"},
	{SayTaskExists, false, "validate task exists"},
	{SayValidateFormat, false, "validate (?P<name>[^ ]+) format"},
	{SayPositive, false, "validate ARG is( a)? positive integer"},
	{0, true, "validate (task exists|[^ ]+ (format|is( a)? positive integer)) .*"},
	{SayValidateArgument, false, "validate ARG .+"},
	{SayLoadTask, false, "load task context( .*)?"},
	{SayForEach, false, "for each (?P<name>[a-z_][a-z0-9_]*) in (?P<expr>[^ ].*?) *:"},
	{SayReturn, false, "return REST"},
}

var sentenceWords = strings.NewReplacer(
	"AGENT", "(?P<name>(?-i:(?:tercet:)?[a-z][a-z0-9-]*))", "ARG",
	"(?P<name>(?-i:[a-z][a-z0-9_]*))", "REST", "(?P<rest>.+)", "[^ ]", "[^ ]", " *", " *", " ",
	" +",
)

// sentence reads one sentence of the closed list; nil for any other, which is reported.
func (p *parser) sentence(text string, pos Pos) *Sentence {
	line := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "."))
	for _, s := range sentenceForms {
		first, _, _ := strings.Cut(s.form, " ")
		if len(line) < len(first) || !strings.EqualFold(line[:len(first)], first) {
			continue
		}
		form := p.forms[s.form]
		if form == nil {
			form = regexp.MustCompile("(?i)^" + sentenceWords.Replace(s.form) + " *$")
			p.forms[s.form] = form
		}
		found := form.FindStringSubmatchIndex(line)
		if found == nil {
			continue
		}
		if s.none {
			break
		}
		word := func(name string) (w Word) {
			i := 2 * form.SubexpIndex(name)
			if i < 0 || found[i] < 0 {
				return w
			}
			w.Pos = Pos{Line: pos.Line, Col: pos.Col + found[i]}
			w.Text = line[found[i]:found[i+1]]
			return w
		}
		say := &Sentence{
			Pos:  pos,
			Kind: s.kind,
			Name: word("name"),
			Verb: word("verb"),
			To:   word("to"),
		}
		say.Opt = word("opt").Text != ""
		say.Rest = strings.TrimSpace(word("rest").Text)
		n, err := strconv.Atoi(word("index").Text)
		switch {
		case err == nil:
			say.Index = n
		case s.kind == SayUpdateStatus:
			bare := strings.Trim(say.To.Text, "\"'`[]")
			if len(bare) < len(say.To.Text) {
				say.To.Pos.Col++
			}
			say.To.Text = bare
		case s.kind == SayForEach:
			w := word("expr")
			say.Expr = &Expr{Pos: w.Pos, Src: w.Text}
		case s.kind == SayReturn:
			say.Rest = strings.TrimSpace(strings.TrimSuffix(say.Rest, "to orchestrator"))
		}
		p.strictly(
			CodeSugar,
			pos,
			"run 'tercet lint --fix --expand'",
			"plain sentence where a block could stand",
		)
		return say
	}

	p.report(CodeSentence, pos, "write a block 'yaml step' below a heading '### Step <n>: ...'",
		"sentence is not in the list of plain steps: %q", text)
	return nil
}

// posIn is the place of a part of a line.
func posIn(line string, n int, part string) Pos {
	return Pos{Line: n, Col: strings.Index(line, part) + 1}
}
