package returns

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/record"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
)

// AgentResult is one AGENT_RESULT block.
type AgentResult struct {
	Agent    string
	Pos      formats.Pos
	Status   string         // as written
	Fields   []record.Field // all but STATUS and NEXT, in order
	Next     string
	Elided   bool // the block has a line "..." for fields left out
	Warnings []string
	Twice    []string `json:"-"` // keys that occur more than once; the last one counts
	last     int      // number of its last line
}

// contains reports whether a position is in the block.
func (a *AgentResult) contains(at formats.Pos) bool {
	return at.Line >= a.Pos.Line && at.Line <= a.last
}

// marker opens a block.
const marker = "AGENT_RESULT"

// MaxAgentText bounds the part of an agent's output that is searched, in bytes; of a longer output
// only the end is searched.
const MaxAgentText = 4 << 20

// Field returns a field by its key, or nil.
func (a *AgentResult) Field(key string) *record.Field {
	for i := range a.Fields {
		if a.Fields[i].Key == key {
			return &a.Fields[i]
		}
	}
	return nil
}

// Text returns the value of a field as text, or an empty string.
func (a *AgentResult) Text(key string) string {
	f := a.Field(key)
	if f == nil {
		return ""
	}
	return f.String()
}

// ParseAgentResult finds every AGENT_RESULT block in a text, fenced or not, at any indentation. An
// error concerns the block at its place, or the whole text if it has no block. The diagnostics are
// nil if there is no problem. The caller decides which blocks count as a return.
func ParseAgentResult(text []byte) ([]AgentResult, []formats.Diagnostic) {
	s := &scanner{Findings: &formats.Findings{}}
	text = formats.WithoutBOM(text)
	if len(text) > MaxAgentText {
		text = text[len(text)-MaxAgentText:]
	}
	s.lines = record.Lines(string(text))

	var out []AgentResult
	for s.at = 0; s.at < len(s.lines); {
		indent, name, ok := blockHeader(s.lines[s.at])
		if !ok {
			s.reportNearMiss()
			s.at++
			continue
		}
		out = append(out, s.readBlock(indent, name))
	}

	if len(out) == 0 {
		s.Add(codeNoResult, formats.Pos{},
			"end the answer with '"+marker+": <agent>' and a line 'STATUS: ...'",
			"no_agent_result: expected a block %s, got none", marker)
	}
	return out, s.List
}

// PickResult returns the last block with the agent's name, and all others. Names match in any case.
func PickResult(all []AgentResult, agent string) (own AgentResult, nested []AgentResult, ok bool) {
	for i, one := range slices.Backward(all) {
		if strings.EqualFold(one.Agent, agent) {
			return one, slices.Concat(all[:i], all[i+1:]), true
		}
	}
	return AgentResult{}, all, false
}

// scanner iterates over the lines of a text.
type scanner struct {
	*formats.Findings

	lines  []string
	at     int
	misses int // near misses reported
}

// maxMisses bounds the near misses that are reported.
const maxMisses = 20

// blockHeader reads "AGENT_RESULT: name".
func blockHeader(line string) (indent int, name string, ok bool) {
	form := headerForm().FindStringSubmatch(line)
	if form == nil {
		return 0, "", false
	}
	return len(form[1]), record.StripComment(strings.TrimSpace(form[2])), true
}

func isBlockHeader(line string) bool {
	_, _, ok := blockHeader(line)
	return ok
}

var headerForm = lazy.Regexp(`^([ \t]*)` + marker + `:((?:[ \t].*)?)$`)

// reportNearMiss reports a line whose start was probably meant as the marker.
func (s *scanner) reportNearMiss() {
	if s.misses >= maxMisses {
		return
	}

	line := s.lines[s.at]
	word, _, ok := strings.Cut(line, ":")
	word = strings.ToUpper(strings.Trim(word, " \t>*_#`-"))
	if ok && len(word) <= len(marker)+2 && nearest.Distance(word, marker) <= 2 {
		s.misses++
		s.Add(codeNearMiss, formats.Pos{Line: s.at + 1, Col: 1 + record.IndentWidth(line)},
			"write '"+marker+": <agent>' at the start of a line",
			"this line looks like the marker %s but is not it", marker)
	}
}

// readBlock parses the block whose header is the current line.
func (s *scanner) readBlock(indent int, name string) AgentResult {
	a := AgentResult{Agent: name, Pos: formats.Pos{Line: s.at + 1, Col: indent + 1}}
	fence := s.enclosingFence()
	s.at++

	r := record.Read(s.lines, record.Bounds{
		From:  s.at,
		Base:  indent,
		Fence: fence,
		Ends:  isBlockHeader,
	})

	s.at = r.End
	a.Elided = r.Elided
	a.last = s.at
	if r.Elided {
		a.warn(s, codeElided, a.Pos, "the block was shortened with ...")
	}
	for _, at := range r.Skipped[:min(len(r.Skipped), maxMisses)] {
		a.warn(s, codeSkipped, at, fmt.Sprintf("line %d is no field and was skipped", at.Line))
	}

	status := formats.Pos{}
	seen := map[string]bool{}
	for _, f := range r.Fields {
		if seen[f.Key] {
			a.Twice = append(a.Twice, f.Key)
			a.warn(s, codeRepeatedKey, f.Pos, "key "+f.Key+" stands twice, the last one counts")
			a.Fields = slices.DeleteFunc(a.Fields, func(old record.Field) bool {
				return old.Key == f.Key
			})
		}
		seen[f.Key] = true
		if f.Key != "STATUS" && f.IsPlaceholder() {
			s.Add(codeTemplateEcho, f.Pos, echoHelp, "template_echo: %s is the placeholder '%s'",
				f.Key, f.String())
		}
		switch f.Key {
		case "STATUS":
			a.Status = f.String()
			status = f.Pos
		case "NEXT":
			a.Next = f.String()
		default:
			a.Fields = append(a.Fields, f)
		}
	}

	s.checkRequired(&a, status)
	return a
}

func (a *AgentResult) warn(s *scanner, code string, at formats.Pos, msg string) {
	a.Warnings = append(a.Warnings, msg)
	s.Add(code, at, "", "%s", msg)
}

const echoHelp = "fill the template in; put quotes around a value that looks like one"

// checkRequired checks the required parts of a block.
func (s *scanner) checkRequired(a *AgentResult, status formats.Pos) {
	switch {
	case a.Agent == "":
		s.Add(codeNoName, a.Pos, "write '"+marker+": <agent>'",
			"expected the name of an agent after %s, got none", marker)
	case isTemplateText(a.Agent):
		s.Add(codeTemplateEcho, a.Pos, echoHelp,
			"template_echo: the name of the agent is the placeholder '%s'", a.Agent)
	}

	_, words := statusRowOf(a.Status)
	switch {
	case status.IsZero():
		s.Add(codeNoStatus, a.Pos, "add a line 'STATUS: success'",
			"expected a STATUS in the block of '%s', got none", a.Agent)
	case isTemplateText(a.Status):
		s.Add(codeTemplateEcho, status, echoHelp, "template_echo: STATUS is the placeholder '%s'",
			a.Status)
	case words != nil:
		s.Add(codeUnknownStatus, status, formats.HelpOneOf(strings.ToLower(a.Status), words),
			"expected a STATUS, got '%s'", a.Status)
	}
}

// isTemplateText reports whether a text is the placeholder of a template.
func isTemplateText(s string) bool {
	return templateForm().MatchString(s)
}

var templateForm = lazy.Regexp(`(?s:\{.*\}|<.*>)| \| `)

// enclosingFence returns the backticks of the fence around the current line, or nothing if that is
// uncertain. It is certain if the preceding line is a fence, or the nearest fence above has an info
// string, and a closing fence follows before the next marker.
func (s *scanner) enclosingFence() string {
	run := ""
	for n := s.at - 1; n >= 0; n-- {
		if _, _, ok := blockHeader(s.lines[n]); ok {
			break
		}
		r, info := record.FenceRun(s.lines[n])
		if r == "" {
			continue
		}
		if n == s.at-1 || info != "" {
			run = r
		}
		break
	}

	if run == "" {
		return ""
	}
	for n := s.at + 1; n < len(s.lines); n++ {
		if _, _, ok := blockHeader(s.lines[n]); ok {
			return ""
		}
		if r, info := record.FenceRun(s.lines[n]); r != "" && info == "" &&
			record.ClosesFence(r, run) {
			return run
		}
	}

	return ""
}
