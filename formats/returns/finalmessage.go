package returns

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/record"
	"tercet/internal/jsonx"
)

// FinalMessage reads the return from an agent's final message. Accepted forms: an object with a
// status, as the whole message or in a fence, or the agent's AGENT_RESULT block. It must carry
// opt.Nonce: without it a block belongs to another delegation and is ignored. Two blocks with the
// nonce are an error. With opt.Block a single AGENT_RESULT block of the agent counts without the
// nonce, and may be quoted: the agent's own file asks for such a block. raw is the text of the
// return, nil if there is none. The error is a *Diagnostics with all findings.
//
// The fields of an AGENT_RESULT block are texts; Typed converts them to the contract's
// types.
func FinalMessage(text []byte, opt ParseOptions) (ret formats.Return, raw []byte, err error) {
	opt.File = cmp.Or(opt.File, "final message")
	text = formats.WithoutBOM(text)
	if len(text) > MaxAgentText {
		text = text[len(text)-MaxAgentText:]
	}

	m := message{Findings: formats.Findings{File: opt.File}, opt: opt}
	m.collectObjects(text)
	m.collectBlocks(text)
	if b, ok := findBareObject(text); ok && len(m.authenticated)+len(m.ignored) == 0 {
		m.ignored = append(m.ignored, b.place()+" is no return: "+b.fault)
	}

	if len(m.authenticated) == 1 {
		own := m.authenticated[0]
		if own.err == nil {
			own.ret.Warnings = append(own.ret.Warnings, m.ignored...)
		}
		return own.ret, []byte(own.text), own.err
	}

	first := formats.Findings{File: opt.File}
	if len(m.authenticated) > 1 {
		first.Add(codeReturnClaim, formats.Pos{},
			"end the message with one return and show it nowhere else",
			"expected one return with the nonce of this delegation, got %d", len(m.authenticated))
	} else {
		none := "expected a return with the nonce of this delegation at the end of the message, " +
			"got none"
		first.Add(codeNoResult, formats.Pos{},
			"write the return into the file that TERCET_RETURN names, or end the message with it "+
				"and the nonce",
			"%s", strings.Join(append([]string{none}, m.ignored...), "; "))
	}
	return formats.Return{}, nil, &formats.Diagnostics{
		List: append(first.List, m.List...),
		Of:   formats.CodeInvalidReturn,
	}
}

// ParseForm parses a return from a dedicated channel, such as a file. It accepts the JSON form, and
// if the contract's form is agent_result also the agent's AGENT_RESULT block. A nonce in it must be
// opt.Nonce.
func ParseForm(text []byte, block bool, opt ParseOptions) (formats.Return, error) {
	text = formats.WithoutBOM(text)
	if !block || bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return Parse(text, opt)
	}

	f := formats.Findings{File: cmp.Or(opt.File, "return")}
	all, found := ParseAgentResult(text[:min(len(text), MaxAgentText)])
	own, _, ok := PickResult(all, opt.Agent)
	if !ok {
		f.Add(codeNoResult, formats.Pos{Line: 1, Col: 1},
			"write one JSON object, or a block that begins with '"+marker+": "+opt.Agent+"'",
			"expected a return of %s, got none", opt.Agent)
		return formats.Return{}, refusal(&f, nil)
	}

	for _, d := range found {
		if own.contains(d.Pos) {
			addDiagnostic(&f, d)
		}
	}

	if nonce := own.Text("NONCE"); nonce != "" && nonce != opt.Nonce {
		f.Add(
			codeReturnClaim,
			own.Pos,
			"echo the nonce of this delegation",
			"the nonce is not the one of this delegation",
		)
	}
	return returnOfBlock(&f, own)
}

// message collects the possible returns in one final message. Its findings are those of unreadable
// blocks, for the repair round.
type message struct {
	formats.Findings

	opt           ParseOptions
	authenticated []candidate // candidates with the nonce
	ignored       []string    // descriptions of those without
}

// candidate is one text with the nonce.
type candidate struct {
	text string
	ret  formats.Return
	err  error
}

// maxCandidates bounds the blocks of one message that are examined, the last ones.
const maxCandidates = 100

func (m *message) collectObjects(text []byte) {
	whole := strings.TrimSpace(string(text))
	if strings.HasPrefix(whole, "{") && strings.HasSuffix(whole, "}") {
		m.tryObject(candidateText{text: whole, line: 1})
		return
	}
	blocks := fencedObjects(text)
	for _, b := range blocks[max(0, len(blocks)-maxCandidates):] {
		m.tryObject(b)
	}
}

// candidateText is a part of a message that may be an object, and its first line.
type candidateText struct {
	text  string
	line  int
	fault string // what is wrong with its position, or empty
}

func (b candidateText) place() string {
	return fmt.Sprintf("the object at line %d", b.line)
}

// fenceFault says what is wrong with the info string of a fence for an object.
func fenceFault(info string) string {
	mark, _, _ := strings.Cut(info, " ")
	switch {
	case strings.EqualFold(mark, "json"):
		return ""
	case mark == "":
		return "its fence is not marked json"
	}
	const most = 20 // characters of the mark
	return fmt.Sprintf("its fence is marked %s, not json", formats.Clip(mark, most))
}

// fencedObjects returns texts that begin like an object between a line that opens a fence and the
// next one that closes it. Agents nest fences, so their parity means nothing: the nonce decides.
func fencedObjects(text []byte) []candidateText {
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	var out []candidateText
	closers := map[byte][]closer{}
	for i, line := range slices.Backward(lines) {
		run, info := record.FenceRun(line)
		if run == "" {
			continue
		}

		kind := run[0]
		end := slices.IndexFunc(closers[kind], func(c closer) bool {
			return c.width >= len(run)
		})
		if end >= 0 {
			content := strings.Join(lines[i+1:closers[kind][end].line], "\n")
			if strings.HasPrefix(strings.TrimSpace(content), "{") {
				out = append(out, candidateText{content, i + 2, fenceFault(info)})
			}
		}
		// it may also close a fence, and later wider ones still close wider fences
		if info == "" {
			wider := slices.IndexFunc(closers[kind], func(c closer) bool {
				return c.width > len(run)
			})
			rest := closers[kind][:0:0]
			if wider >= 0 {
				rest = closers[kind][wider:]
			}
			closers[kind] = append([]closer{{i, len(run)}}, rest...)
		}
	}

	slices.Reverse(out)
	return out
}

// closer is a line that closes a fence of at most its width.
type closer struct{ line, width int }

// findBareObject returns the object with a status that ends with the last brace of a text.
func findBareObject(text []byte) (b candidateText, ok bool) {
	end := bytes.LastIndexByte(text, '}') + 1
	from := end

	for range maxBraces {
		from = bytes.LastIndexByte(text[:from], '{')
		if from < 0 {
			break
		}
		object := text[from:end]
		root, err := jsonx.Parse(object, jsonx.Limits{Bytes: MaxSize, Depth: maxDepth})
		if err == nil {
			line := 1 + bytes.Count(text[:from], []byte("\n"))
			return candidateText{string(object), line, betweenText}, root.Get("status") != nil
		}
	}
	return candidateText{}, false
}

const betweenText = "it stands between other text"

// maxBraces bounds the positions at which an object within other text may begin.
const maxBraces = 1000

// tryObject examines one JSON object of the message. The nonce excuses a wrong position.
func (m *message) tryObject(b candidateText) {
	root, err := jsonx.Parse([]byte(b.text), jsonx.Limits{Bytes: MaxSize, Depth: maxDepth})
	if err != nil {
		if strings.Contains(b.text, `"status"`) { // probably meant as a return
			at, msg := formats.SyntaxAt([]byte(b.text), err)
			at.Line += b.line - 1
			m.Add(codeReturnSyntax, at, helpReturn, "%s", msg)
		}
		return
	}
	if !root.Is(jsonx.Dict) || root.Get("status") == nil {
		return
	}

	fault := ""
	if b.fault != "" {
		fault = ", and " + b.fault
	}
	nonce := root.Get("nonce")
	if isAbsent(nonce) {
		m.ignored = append(m.ignored, b.place()+" has no nonce"+fault)
		return
	}

	if got, ok := nonce.Str(); !ok || got != m.opt.Nonce || got == "" {
		m.ignored = append(m.ignored, b.place()+" has another nonce"+fault)
		return
	}

	ret, err := Parse([]byte(b.text), m.opt)
	m.authenticated = append(m.authenticated, candidate{b.text, ret, err})
}

func (m *message) collectBlocks(text []byte) {
	blocks, found := ParseAgentResult(text)
	if len(blocks) == 0 && m.opt.Block {
		text = stripQuoteMarks(text)
		blocks, found = ParseAgentResult(text)
	}
	alone := len(blocks) == 1 && len(m.authenticated)+len(m.ignored) == 0
	blocks = blocks[max(0, len(blocks)-maxCandidates):]
	for _, b := range blocks {
		own := formats.Findings{File: m.File}
		for _, d := range found {
			if b.contains(d.Pos) {
				addDiagnostic(&own, d)
			}
		}

		where := fmt.Sprintf("the block at line %d", b.Pos.Line)
		nonce := ""
		if f := b.Field("NONCE"); f != nil && f.Kind == record.FieldText {
			nonce = f.String()
		}
		switch {
		case !strings.EqualFold(b.Agent, m.opt.Agent):
			if nonce == m.opt.Nonce && nonce != "" {
				m.Add(codeReturnClaim, b.Pos, "", "expected agent %q, got %q", m.opt.Agent, b.Agent)
			}
		case nonce == "" && (!m.opt.Block || !alone):
			m.ignored = append(m.ignored, where+" has no NONCE")
		case nonce != "" && nonce != m.opt.Nonce:
			m.ignored = append(m.ignored, where+" has another NONCE")
		default:
			ret, err := returnOfBlock(&own, b)
			m.authenticated = append(
				m.authenticated, candidate{textFromLine(text, b.Pos.Line), ret, err},
			)
		}
	}

	for _, d := range found {
		addDiagnostic(&m.Findings, d)
	}
}

// stripQuoteMarks takes the marks of a quotation from the beginnings of lines.
func stripQuoteMarks(text []byte) []byte {
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), ">")
		if ok {
			lines[i] = strings.TrimPrefix(rest, " ")
		}
	}
	return []byte(strings.Join(lines, ""))
}

// addDiagnostic adds an error of the parser of blocks.
func addDiagnostic(f *formats.Findings, d formats.Diagnostic) {
	if d.Severity == formats.SeverityError && d.Code != codeNoResult {
		d.File = f.File
		f.List = append(f.List, d)
	}
}

// textFromLine is the text from a line on.
func textFromLine(text []byte, line int) string {
	lines := strings.SplitAfter(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	return strings.Join(lines[min(line-1, len(lines)):], "")
}

// returnOfBlock converts the AGENT_RESULT block that is the return.
func returnOfBlock(f *formats.Findings, b AgentResult) (formats.Return, error) {
	for _, key := range []string{"STATUS", "NONCE"} {
		if slices.Contains(b.Twice, key) {
			f.Add(codeReturnClaim, b.Pos, "", "expected one %s in the block, got two", key)
		}
	}

	ret, err := b.Return()
	if err != nil && f.List == nil {
		f.Add(codeReturnClaim, b.Pos, "", "%v", err)
	}
	if f.List != nil {
		return formats.Return{}, refusal(f, nil)
	}
	return ret, nil
}
