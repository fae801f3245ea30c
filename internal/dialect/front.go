package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/md"
)

// Key is one key of a file's head: of the frontmatter, or of a TOML file.
type Key struct {
	Name  string
	Pos   formats.Pos
	Raw   string // text of the value, without quotes around the whole
	Value any    // string, int, float64, bool, nil, []any or map[string]any
}

// head is the part of a file before its text, and the text.
type head struct {
	keys []Key
	body string
	line int // of the first line of the body
	// lenient means that the head is not YAML and was read line by line.
	lenient bool
	front   []string // the lines before the body; nil if they are not markdown
}

// flowSection is the heading of the steps in a command file of tercet.
var flowSection = lazy.Regexp(`(?mi)^## +Workflow Execution\s*$`)

// flow is the file with a YAML head: invalid values become quoted strings. Every key stays on its
// line, so that positions match the file.
func (h head) flow() string {
	lines := make([]string, h.line-1)
	for _, k := range h.keys {
		from := k.Pos.Line - 1
		if from >= len(h.front)-1 || from == 0 {
			continue
		}
		end := from + 1
		for end < len(h.front)-1 {
			if _, _, ok := keyLine(h.front[end]); ok {
				break
			}
			end++
		}

		entry := h.front[from:end]
		// by the rules of tercet's own files
		_, problems := md.ParseYAML([]byte(strings.Join(entry, "\n")), md.Pos{})
		if again := (&Key{}); again.parseYAML(entry, from+1) == nil && len(problems) == 0 {
			copy(lines[from:end], h.front[from:end])
		} else {
			lines[from] = k.Name + ": '" + strings.ReplaceAll(oneLine(k.Raw), "'", "''") + "'"
		}
		lines[0] = fence
		lines[len(lines)-1] = fence
	}
	return strings.Join(append(lines, h.body), "\n")
}

const (
	bom   = "\xef\xbb\xbf"
	fence = "---"
)

// decodeText decodes the bytes of a file to lines with line feeds. False means that they are
// unreadable, which is reported.
func (n *notes) decodeText(src []byte) (string, bool) {
	first := formats.Pos{Line: 1, Col: 1}
	if len(src) > MaxBytes {
		n.add(codeTooLarge, first, "split the file",
			fmt.Sprintf("expected at most %d bytes, got %s", MaxBytes, formatSize(len(src))))
		return "", false
	}
	if bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff")) {
		n.add(codeNotText, first, "save the file as UTF-8", "expected UTF-8 text, got UTF-16")
		return "", false
	}

	if at := bytes.IndexByte(src, 0); at >= 0 {
		n.add(
			codeNotText,
			posAt(string(src), at),
			"save the file as UTF-8 text",
			"expected text, got a NUL byte",
		)
		return "", false
	}

	text := strings.TrimPrefix(string(src), bom)
	if !utf8.ValidString(text) {
		at := 0
		for i, r := range text {
			if r == utf8.RuneError {
				if _, width := utf8.DecodeRuneInString(text[i:]); width == 1 {
					at = i
					break
				}
			}
		}
		n.add(
			warnBytes,
			posAt(text, at),
			"save the file as UTF-8",
			"bytes that are not UTF-8 were replaced",
		)

		text = strings.ToValidUTF8(text, "\ufffd")
		n.movedPositions = true
	}
	if strings.IndexByte(text, '\r') >= 0 {
		n.movedPositions = n.movedPositions ||
			strings.Count(text, "\r") != strings.Count(text, "\r\n")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text, true
}

// formatSize formats a number of bytes; a reader that stopped at the limit only knows that there
// are more.
func formatSize(n int) string {
	if n == MaxBytes+1 {
		return "more"
	}
	return fmt.Sprint(n)
}

// readMarkdown splits the frontmatter off a markdown file and reads it.
func (n *notes) readMarkdown(src []byte) (head, bool) {
	h := head{line: 1}
	text, ok := n.decodeText(src)
	if !ok {
		return h, false
	}

	h.body = text
	lines := strings.Split(text, "\n")
	open := frontmatterStart(text)
	if open < 0 {
		n.noteOtherFence(lines)
		return h, true
	}

	end := -1
	for i := open + 1; i < len(lines); i++ {
		if line := strings.TrimRight(lines[i], " \t"); line == fence || line == "..." {
			end = i
			break
		}
	}

	at := formats.Pos{Line: open + 1, Col: 1}
	if end < 0 {
		n.add(warnUnclosed, at, "end it with a line that holds only ---",
			"frontmatter opened here is not closed; the whole file is read as text")
		return h, true
	}

	block := lines[open+1 : end]
	if prose := proseIn(block); prose >= 0 && !isYAML(block) {
		n.add(
			warnUnclosed,
			at,
			"end it with a line that holds only ---",
			fmt.Sprintf("frontmatter opened here is not closed; the text begins on line %d",
				open+2+prose),
		)
		block = block[:prose]
		end = open + prose
	}

	keys, lenient, ok := n.parseKeys(block, open+2)
	if !ok {
		n.add(warnUnclosed, at, "write key: value lines, or remove the --- lines",
			"no keys between the --- lines; they are read as text")
		return h, true
	}

	h.keys = keys
	h.lenient = lenient
	h.body = strings.Join(lines[end+1:], "\n")
	h.line = end + 2
	h.front = lines[:end+1]
	return h, true
}

// proseIn returns the index of the first line that only a text has: a code fence, or a heading
// after a blank line; or -1. A rule further down would otherwise close a block that its author
// forgot to close.
func proseIn(block []string) int {
	for i, line := range block {
		hashes := strings.TrimLeft(line, "#")
		heading := len(hashes) < len(line) && strings.HasPrefix(hashes, " ") && i > 0 &&
			strings.TrimSpace(block[i-1]) == ""
		if heading || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			return i
		}
	}
	return -1
}

// isYAML reports whether a block is YAML as it stands.
func isYAML(block []string) bool {
	node, problems := md.ParseYAMLWithAliases([]byte(strings.Join(block, "\n")), md.Pos{
		Line: 1,
		Col:  1,
	})
	return (node == nil || node.Kind == md.Map) && onlyDuplicates(problems)
}

var (
	blankLines = lazy.Regexp(`^(?:[ \t]*\n)*`)
	openLine   = lazy.Regexp(`^---(?:yaml)?[ \t]*(?:\n|$)`)
	keyForm    = lazy.Regexp(`^["']*([\w.][\w.-]{0,63})["']*[ \t]*:(?:$|[ \t](.*))`)
)

// frontmatterStart returns the index of the line that opens frontmatter, or -1. Blank lines and one
// comment may precede it.
func frontmatterStart(text string) int {
	at := len(blankLines().FindString(text))
	if strings.HasPrefix(text[at:], "<!--") {
		_, rest, ok := strings.Cut(text[at:], "-->")
		blank := blankLines().FindString(rest)
		at = len(text) - len(rest) + len(blank)
		if !ok || blank == "" {
			return -1
		}
	}
	if !openLine().MatchString(text[at:]) {
		return -1
	}
	return strings.Count(text[:at], "\n")
}

// noteOtherFence reports a file that begins like frontmatter of another kind; it is all text.
func (n *notes) noteOtherFence(lines []string) {
	if len(lines) < 3 {
		return
	}

	first := strings.TrimRight(lines[0], " \t")
	other := slices.Contains([]string{"+++", ";;;", "---json", "---toml", "--"}, first) ||
		len(first) > len(fence) && strings.Trim(first, "-") == ""
	name, _, _ := strings.Cut(lines[1], "=")
	_, _, isKey := keyLine(lines[1])
	if other && (isKey || len(name) < len(lines[1]) || strings.HasPrefix(lines[1], "{")) {
		n.add(warnUnclosed, formats.Pos{Line: 1, Col: 1},
			"begin and end it with a line that holds only ---, with key: value lines between",
			fmt.Sprintf("%s opens no frontmatter here; the whole file is read as text", first))
	}
}

// parseKeys parses the lines of a frontmatter block: as YAML, else line by line. ok is false if
// there is no key in it.
func (n *notes) parseKeys(block []string, line int) (keys []Key, lenient, ok bool) {
	text := strings.Join(block, "\n")
	node, problems := md.ParseYAMLWithAliases([]byte(text), md.Pos{Line: line, Col: 1})
	if node == nil && len(problems) == 0 {
		return nil, false, true // empty
	}
	if node != nil && node.Kind == md.Map && onlyDuplicates(problems) {
		return n.mergeDuplicates(entries(node, block, line)), false, true
	}

	keys = n.parseLines(block, line)
	if len(keys) == 0 {
		return nil, false, strings.TrimSpace(text) == ""
	}

	if !n.hasCode(warnLenient) {
		p := md.Problem{Pos: md.Pos{Line: line, Col: 1}, Msg: "expected a map of keys"}
		if len(problems) > 0 {
			p = problems[0]
		}
		n.add(warnLenient, p.Pos, p.Help, "not YAML, read line by line: "+p.Msg)
	}
	return n.mergeDuplicates(keys), true, true
}

func (n *notes) hasCode(code string) bool {
	return slices.ContainsFunc(n.list, func(one formats.Diagnostic) bool {
		return one.Code == code
	})
}

func onlyDuplicates(problems []md.Problem) bool {
	return !slices.ContainsFunc(problems, func(p md.Problem) bool {
		return p.Code != md.CodeDuplicateKey
	})
}

// mergeDuplicates keeps the last of keys with the same name, at the position of the first, and
// reports it.
func (n *notes) mergeDuplicates(keys []Key) []Key {
	index := make(map[string]int, len(keys))
	out := keys[:0]
	for _, k := range keys {
		at, again := index[k.Name]
		if !again {
			index[k.Name] = len(out)
			out = append(out, k)
			continue
		}
		n.add(
			warnTwice,
			k.Pos,
			"keep one of the two",
			fmt.Sprintf("key %q stands twice, first on line %d; this one counts",
				k.Name, out[at].Pos.Line),
		)
		out[at] = k
	}
	return out
}

// entries converts the entries of a YAML map to keys.
func entries(node *md.Node, block []string, line int) []Key {
	keys := make([]Key, 0, len(node.Entries))
	for _, e := range node.Entries {
		k := Key{
			Name:  e.Key.Value,
			Pos:   e.Key.Pos,
			Value: e.Value.Any(),
			Raw:   e.Value.Value,
		}
		if e.Value.Kind != md.Scalar {
			k.Raw = sourceText(block, line, e.Value.Pos, e.Value.End)
		}
		keys = append(keys, k)
	}
	return keys
}

// sourceText returns the source between two positions.
func sourceText(block []string, line int, from, to md.Pos) string {
	var b strings.Builder
	for l := from.Line; l <= to.Line && l-line < len(block); l++ {
		text := block[l-line]
		start := 0
		end := len(text)
		if l == from.Line {
			start = min(max(from.Col-1, 0), len(text))
		}
		if l == to.Line {
			end = max(start, min(to.Col-1, len(text)))
		}
		if l > from.Line {
			b.WriteByte('\n')
		}
		b.WriteString(text[start:end])
	}
	return strings.TrimSpace(b.String())
}

// Limits of the advice about single lines; tercet reads later lines in the same way.
const (
	maxTried  = 200
	maxAdvice = 10
)

// parseLines parses frontmatter that is not YAML. A line "key: rest" at the left margin is a key;
// indented and unkeyed lines continue the value before them. A value that is valid YAML keeps its
// type.
func (n *notes) parseLines(block []string, line int) []Key {
	var keys []Key
	advice := 0
	for i := 0; i < len(block); {
		name, rest, ok := keyLine(block[i])
		if !ok {
			if text := strings.TrimSpace(block[i]); text != "" && text[0] != '#' && len(keys) == 0 {
				return nil // prose between two rules
			}
			i++
			continue
		}

		end := i + 1
		for end < len(block) {
			if _, _, ok := keyLine(block[end]); ok {
				break
			}
			end++
		}

		k := Key{Name: name, Pos: formats.Pos{Line: line + i, Col: 1}}
		var problem *md.Problem
		if len(keys) < maxTried {
			problem = k.parseYAML(block[i:end], line+i)
		} else {
			problem = &md.Problem{}
		}

		if problem != nil {
			k.Raw = plainValue(rest, block[i+1:end])
			k.Value = k.Raw
			if problem.Msg != "" && advice < maxAdvice {
				advice++
				advise := yamlAdvice(name, rest, problem.Help)
				n.add(warnLenient, posOrLine(problem.Pos, line+i), advise,
					"not YAML, read as text: "+problem.Msg)
				n.addQuoteFix(k, block[i:end], line+i, rest)
			}
		}
		keys = append(keys, k)
		i = end
	}

	return keys
}

func posOrLine(p md.Pos, line int) formats.Pos {
	if p.IsZero() {
		return formats.Pos{Line: line, Col: 1}
	}
	return p
}

// parseYAML parses one entry as YAML and returns what prevents it.
func (k *Key) parseYAML(entry []string, line int) *md.Problem {
	text := strings.Join(entry, "\n")
	node, problems := md.ParseYAMLWithAliases([]byte(text), md.Pos{Line: line, Col: 1})
	switch {
	case len(problems) > 0:
		return &problems[0]
	case node == nil || node.Kind != md.Map || len(node.Entries) != 1:
		return &md.Problem{Pos: md.Pos{Line: line, Col: 1}, Msg: "expected one key with its value"}
	}
	*k = entries(node, entry, line)[0]
	return nil
}

// keyLine splits a line "key: rest" at the left margin.
func keyLine(line string) (name, rest string, ok bool) {
	found := keyForm().FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], strings.TrimSpace(found[2]), true
}

// plainValue is the text of a value that is not YAML, without enclosing quotes or block indicator.
func plainValue(rest string, more []string) string {
	if len(rest) >= 2 && (rest[0] == '"' || rest[0] == '\'') && rest[len(rest)-1] == rest[0] &&
		len(more) == 0 {
		return rest[1 : len(rest)-1]
	}
	switch rest {
	case "|", "|-", "|+", ">", ">-", ">+":
		rest = ""
	}

	lines := make([]string, 0, 1+len(more))
	if rest != "" {
		lines = append(lines, rest)
	}
	for _, line := range more {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// yamlAdvice is the line as valid YAML.
func yamlAdvice(name, rest, otherwise string) string {
	if rest == "" {
		return otherwise
	}
	if len(rest) > 160 { // two lines of a screen
		return "put the value of " + name + " in quotes"
	}
	return "quote the value: " + name + ": " + quoteYAML(plainValue(rest, nil))
}

func quoteYAML(text string) string {
	if strings.Contains(text, "'") && !strings.ContainsAny(text, `"\`) {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// addQuoteFix adds a fix to the last finding: the one-line value in quotes. It is offered only if
// the entry then has the same value, and positions match the file.
func (n *notes) addQuoteFix(k Key, entry []string, line int, rest string) {
	if n.movedPositions || rest == "" || strings.TrimSpace(strings.Join(entry[1:], "")) != "" ||
		n.count[warnLenient] > maxSimilar {
		return
	}

	from := strings.LastIndex(entry[0], rest)
	text := quoteYAML(k.Raw)
	again := Key{Name: k.Name, Pos: k.Pos}
	if from < 0 || again.parseYAML([]string{entry[0][:from] + text}, line) != nil ||
		again.Name != k.Name || again.Raw != k.Raw || again.Value != k.Value {
		return
	}

	n.list[len(n.list)-1].Fix = &formats.Fix{
		Start: formats.Pos{Line: line, Col: from + 1},
		End:   formats.Pos{Line: line, Col: from + 1 + len(rest)},
		Text:  text,
	}
}
