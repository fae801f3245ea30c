package syntax

import (
	"slices"
	"strings"

	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// blockWords are what may follow `yaml` behind the backticks.
var blockWords = []string{string(fenceStep), string(fenceArgs), string(fenceDefaults)}

// splitYAMLWord puts the space back into words such as yamlstep.
func splitYAMLWord(info string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(info), "yaml")
	if ok && rest != "" && len(strings.Fields(info)) == 1 &&
		len(nearest.Names(rest, blockWords)) > 0 {
		return "yaml " + rest
	}
	return info
}

// reportNearFences reports lines that were meant to open a block but have too few backticks, or a
// misspelt yaml behind them.
func (p *parser) reportNearFences() {
	report := func(at Pos, kind, got string) {
		p.nearFenceLines[at.Line] = true
		p.reportFenceInfo(at, fenceKind(kind), "expected '```yaml %s', got '%.40s'", got)
	}
	for n, line := range p.doc.ProseLines() {
		text := strings.TrimSpace(line)
		if !strings.HasPrefix(text, "`") && !strings.HasPrefix(text, "y") {
			continue
		}

		ticks := len(text) - len(strings.TrimLeft(text, "`"))
		fields := strings.Fields(splitYAMLWord(text[ticks:]))
		if ticks > 2 || len(fields) != 2 || ticks == 0 && fields[0] != "yaml" ||
			!isNear(fields[0], "yaml") {
			continue
		}
		if kind := nearest.Names(fields[1], blockWords); len(kind) > 0 {
			report(Pos{Line: n, Col: strings.Index(line, text) + 1}, kind[0], text)
		}
	}

	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		if b.Kind != md.Fence || strings.HasPrefix(b.Info, "yaml ") {
			continue
		}
		fields := strings.Fields(b.Info)
		if len(fields) == 1 && slices.Contains(blockWords, fields[0]) {
			report(b.Pos, fields[0], "```"+b.Info)
		}
		if len(fields) != 2 || fields[0] == "yaml" || fields[0] == "yml" {
			continue
		}
		if isNear(fields[0], "yaml") && slices.Contains(blockWords, fields[1]) {
			report(b.Pos, fields[1], "```"+b.Info)
		}
	}
}

func isNear(word, wanted string) bool {
	return len(nearest.Names(strings.ToLower(word), []string{wanted})) > 0
}

// hasNearFence tells whether a line that almost opens a block stands below a heading.
func (p *parser) hasNearFence(d *draft) bool {
	if d.heading == nil {
		return false
	}
	for n := d.heading.Pos.Line + 1; n <= p.doc.LineCount(); n++ {
		if p.nearFenceLines[n] {
			return true
		}
		if strings.HasPrefix(p.doc.Line(n), "#") && !p.doc.InCode(n) {
			return false
		}
	}
	return false
}

// foreignKeyAdvice are keys of a step in other tools, by what is written here.
var foreignKeyAdvice = map[string][]string{
	"write check: {command: [PROGRAM, ARGUMENT]}, such as {command: [npm, test]}": {
		"run", "command", "cmd", "shell", "script", "exec", "bash", "sh",
	},
	"write when: with jq, such as when: $args.fast":      {"if", "condition", "unless", "only_if"},
	"write delegate: with the name of a subagent":        {"agent", "subagent", "call", "uses"},
	"write with: {NAME: VALUE}":                          {"input", "inputs", "args", "params"},
	"write gate: with the question":                      {"ask", "confirm", "approve", "approval"},
	"the heading is the name of the step; 'id' is a key": {"name", "step", "description"},
	"steps run in the order of the file":                 {"needs", "depends_on", "after_step"},
}

// adviseKey is the advice for a key of a step that another tool has.
func adviseKey(word string, form strict.Form) string {
	if !slices.Contains(form.Keys, "delegate") {
		return ""
	}
	for advice, words := range foreignKeyAdvice {
		if slices.Contains(words, word) {
			return advice
		}
	}
	return ""
}

// shellLine gives the words of a check that is a line of a shell, nil if it may be jq.
func shellLine(text string) []string {
	words := strings.Fields(text)
	if len(words) == 0 || slices.ContainsFunc(words, isNotShellWord) {
		return nil
	}

	if len(words) == 1 {
		if slices.Contains([]string{"make", "pytest", "tox", "gradle", "mvn"}, words[0]) {
			return words
		}
		return nil
	}
	// two words in a row are jq only if one of them is a keyword
	joins := []string{"and", "or", "as", "then", "if", "try", "reduce", "foreach", "def", "label"}
	if slices.Contains(joins, words[0]) || slices.Contains(joins, words[1]) {
		return nil
	}
	return words
}

// isNotShellWord tells whether a word cannot be a program or a plain argument.
func isNotShellWord(word string) bool {
	if slices.Contains([]string{"==", "//", "-", "/", "."}, word) {
		return true
	}
	return strings.ContainsFunc(word, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("-_./:@=", r)
	})
}

// checkStrays reports values that end with a quote or a bracket without its partner, and odd
// indentations. YAML takes both, but they are more often a slip than meant.
func (p *parser) checkStrays(n *md.Node) {
	p.checkIndentation(n, 1)
	p.checkStrayEnds(n)
}

func (p *parser) checkStrayEnds(n *md.Node) {
	if n == nil {
		return
	}
	if n.Kind != md.Scalar {
		for i := range n.Entries {
			p.checkStrayEnds(n.Entries[i].Value)
		}
		for _, item := range n.Items {
			p.checkStrayEnds(item)
		}
		return
	}
	if n.Style != md.Plain || n.Type != md.Str {
		return
	}

	last := n.Value[len(n.Value)-1]
	if what := strayEnd(n.Value); what != "" {
		p.report(CodeStray, n.ValuePos(len(n.Value)-1),
			"quote the whole value, or remove the "+what,
			"value ends with %q, but nothing opens it", last)
	}
}

// strayEnd names the quote or bracket at the end of an unquoted value that has no partner in it.
func strayEnd(v string) string {
	last := v[len(v)-1:]
	more := func(opening string) bool {
		return strings.Count(v, last) > strings.Count(v, opening)
	}
	switch {
	case (last == `"` || last == "'" && !strings.HasSuffix(v, "s'")) &&
		strings.Count(v, last)%2 == 1:
		return "quote"
	case last == "]" && more("["):
		return "bracket"
	case last == "}" && more("{"):
		return "brace"
	}
	return ""
}

// checkIndentation warns of a map or list in lines of its own that stands an odd number of columns
// inside the one around it.
func (p *parser) checkIndentation(n *md.Node, column int) {
	if n == nil || n.Style != md.BlockStyle {
		return
	}
	if by := n.Pos.Col - column; by%2 != 0 {
		p.report(CodeIndent, n.Pos,
			"indent by two columns a level, or run 'tercet lint --fix=form'",
			"expected an indentation of %d columns, got %d", (by+1)/2*2, by)
		return
	}

	for _, e := range n.Entries {
		p.checkIndentation(e.Value, n.Pos.Col)
	}
	for _, item := range n.Items {
		p.checkIndentation(item, n.Pos.Col)
	}
}
