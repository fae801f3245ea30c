package formats

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"tercet/internal/jsonx"
)

// ReturnSchema is the value of the member schema of a return at the edge.
const ReturnSchema = "tercet.return/1"

// bare gives the text of an item that is no object. An empty one says nothing: it is refused as an object without it
// would be, and empty is true.
func (p *returnParser) bare(v *jsonx.Value, what string) (text string, ok, empty bool) {
	text, ok = v.Str()
	if ok && text == "" {
		p.add(codeReturnMember, v, "write it, or remove the item", "expected the "+what+", got none")
		return "", true, true
	}
	return text, ok, false
}

func (p *returnParser) artifact(v *jsonx.Value) {
	var a Artifact
	if path, ok, empty := p.bare(v, "path of an artifact"); empty {
		return
	} else if ok {
		a = Artifact{Type: GuessArtifactType(path), Path: path}
		p.repaired(v, "artifact %q is a bare path and is read as type %s", path, a.Type)
		p.ret.Artifacts = append(p.ret.Artifacts, a)
		return
	}
	if !v.Is(jsonx.Dict) {
		p.wrong(v, "expected an artifact as an object, got %s", v.Kind)
		return
	}
	var kind string
	var kindAt *jsonx.Value
	p.members(v, "an artifact", map[string]func(*jsonx.Value){
		"type":    func(v *jsonx.Value) { kind, kindAt = p.text(v, "artifact type"), v },
		"path":    func(v *jsonx.Value) { a.Path = p.text(v, "artifact path") },
		"summary": func(v *jsonx.Value) { a.Summary = p.short(v, "artifact summary", MaxSummary) },
		"deleted": func(v *jsonx.Value) { a.Deleted = p.truth(v, "deleted") },
		"created": func(v *jsonx.Value) { p.warn("member created of an artifact is the engine's and was dropped") },
	})
	if a.Path == "" {
		p.add(codeReturnMember, v, `add "path"`, "expected the path of an artifact, got none")
		return
	}
	a.Type = p.artifactType(kindAt, kind, a.Path, v)
	p.ret.Artifacts = append(p.ret.Artifacts, a)
}

// artifactType canonicalises the type of an artifact; one that is not known is guessed from the path.
func (p *returnParser) artifactType(at *jsonx.Value, word, path string, whole *jsonx.Value) ArtifactType {
	var out ArtifactType
	switch t := ArtifactType(strings.ToLower(strings.TrimSpace(word))); t {
	case ArtifactReport, ArtifactPlan, ArtifactImplementation, ArtifactSummary, ArtifactReview, ArtifactDocumentation:
		out = t
	case "research", "research_report":
		out = ArtifactReport
	case "":
		out = GuessArtifactType(path)
		p.repaired(whole, "artifact %q has no type and is read as %s", path, out)
		return out
	default:
		out = GuessArtifactType(path)
	}
	if string(out) != word {
		p.repaired(at, "artifact type %q is read as %s", word, out)
	}
	return out
}

func (p *returnParser) truth(v *jsonx.Value, name string) bool {
	b, ok := v.Bool()
	if !ok {
		p.wrong(v, "expected %s as a boolean, got %s", name, v.Kind)
	}
	return b
}

func (p *returnParser) issue(v *jsonx.Value) {
	if text, ok, empty := p.bare(v, "description of an issue"); empty {
		return
	} else if ok {
		p.repaired(v, "an issue is a bare text and is read as a warning")
		p.ret.Issues = append(p.ret.Issues, Issue{Level: LevelWarning, Description: text, Source: "agent"})
		return
	}
	if !v.Is(jsonx.Dict) {
		p.wrong(v, "expected an issue as an object, got %s", v.Kind)
		return
	}
	i := Issue{Source: "agent"}
	p.members(v, "an issue", map[string]func(*jsonx.Value){
		"level":       func(v *jsonx.Value) { i.Level = p.level(v) },
		"description": func(v *jsonx.Value) { i.Description = p.text(v, "description") },
		"files": func(v *jsonx.Value) {
			p.each(v, "files", func(e *jsonx.Value) { i.Files = append(i.Files, p.text(e, "file")) })
		},
		"line":          func(v *jsonx.Value) { i.Line = p.line(v) },
		"suggested_fix": func(v *jsonx.Value) { i.SuggestedFix = p.text(v, "suggested_fix") },
		"source":        func(v *jsonx.Value) { i.Source = p.source(v) },
	})
	if i.Level == "" {
		p.repaired(v, "an issue has no level and is read as a warning")
		i.Level = LevelWarning
	}
	if i.Description == "" {
		p.add(codeReturnMember, v, `add "description"`, "expected the description of an issue, got none")
	}
	p.ret.Issues = append(p.ret.Issues, i)
}

func (p *returnParser) level(v *jsonx.Value) Level {
	word := p.text(v, "level")
	var out Level
	switch canon := strings.ToLower(strings.TrimSpace(word)); Level(canon) {
	case LevelError, LevelWarning, LevelSuggestion:
		out = Level(canon)
	default:
		switch canon {
		case "critical", "blocker", "high", "major":
			out = LevelError
		case "medium", "warn":
			out = LevelWarning
		case "low", "minor", "info", "note":
			out = LevelSuggestion
		default:
			set := []string{string(LevelError), string(LevelWarning), string(LevelSuggestion)}
			p.add(codeReturnMember, v, oneOf(canon, set),
				"expected level error, warning or suggestion, got "+strconv.Quote(word))
			return LevelWarning
		}
	}
	if string(out) != word {
		p.repaired(v, "level %q is read as %s", word, out)
	}
	return out
}

func (p *returnParser) line(v *jsonx.Value) int {
	if n, ok := v.Int(); ok && n >= 0 && n <= 1<<31-1 {
		return int(n)
	}
	if s, ok := v.Str(); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n >= 0 {
			p.repaired(v, "line is a string and is read as a number")
			return n
		}
	}
	p.repaired(v, "line %s is no line number and was dropped", v.Raw(p.src))
	return 0
}

// source keeps what an agent may say of an issue's origin; only a person's answer makes an issue the user's.
func (p *returnParser) source(v *jsonx.Value) string {
	switch word := p.text(v, "source"); word {
	case "agent", "check":
		return word
	default:
		p.repaired(v, "source %q is read as agent", word)
		return "agent"
	}
}

func (p *returnParser) failure(v *jsonx.Value) {
	if text, ok, empty := p.bare(v, "message of an error"); empty {
		return
	} else if ok {
		p.repaired(v, "an error is a bare text and is read as %s", CodeUnknown)
		p.ret.Errors = append(p.ret.Errors, ReturnError{Type: ErrorExecution, Message: text, Code: CodeUnknown})
		return
	}
	if !v.Is(jsonx.Dict) {
		p.wrong(v, "expected an error as an object, got %s", v.Kind)
		return
	}
	var e ReturnError
	var kind, code string
	p.members(v, "an error", map[string]func(*jsonx.Value){
		"type":           func(v *jsonx.Value) { kind = p.text(v, "error type") },
		"message":        func(v *jsonx.Value) { e.Message = p.text(v, "message") },
		"code":           func(v *jsonx.Value) { code = p.text(v, "error code") },
		"recoverable":    func(v *jsonx.Value) { e.Recoverable = p.truth(v, "recoverable") },
		"recommendation": func(v *jsonx.Value) { e.Recommendation = p.text(v, "recommendation") },
	})
	if e.Message == "" {
		p.add(codeReturnMember, v, `add "message"`, "expected the message of an error, got none")
	}
	e.Type, e.Code = p.errorType(v, kind), p.errorCode(v, code)
	p.ret.Errors = append(p.ret.Errors, e)
}

func (p *returnParser) errorType(v *jsonx.Value, word string) ErrorType {
	out := ErrorExecution
	switch t := ErrorType(strings.ToLower(word)); t {
	case ErrorTimeout, ErrorValidation, ErrorExecution, ErrorPermission, ErrorToolUnavailable:
		out = t
	}
	if string(out) != word {
		p.repaired(v, "error type %q is read as %s", word, out)
	}
	return out
}

func (p *returnParser) errorCode(v *jsonx.Value, word string) Code {
	out, err := ParseCode(strings.ToUpper(word))
	if err != nil {
		out = CodeUnknown
	}
	if string(out) != word {
		p.repaired(v, "error code %q is read as %s", word, out)
	}
	return out
}

// plain gives a JSON value as maps, slices, strings, booleans and numbers: int, *big.Int for integers beyond it, and
// float64, which are the numbers that jq works with.
func plain(v *jsonx.Value) any {
	switch v.Kind {
	case jsonx.Null:
		return nil
	case jsonx.Bool:
		b, _ := v.Bool()
		return b
	case jsonx.String:
		s, _ := v.Str()
		return s
	case jsonx.Number:
		return number(v)
	case jsonx.Array:
		out := make([]any, len(v.Elems))
		for i, e := range v.Elems {
			out[i] = plain(e)
		}
		return out
	case jsonx.Dict:
		out := make(map[string]any, len(v.Members))
		for i := range v.Members {
			out[v.Members[i].Key] = plain(v.Members[i].Value)
		}
		return out
	}
	return nil
}

func number(v *jsonx.Value) any {
	n, _ := v.Num()
	literal := n.String()
	if i, err := strconv.Atoi(literal); err == nil {
		return i
	}
	if len(literal) > maxDigits {
		return largest(literal)
	}
	if whole, ok := new(big.Int).SetString(literal, 10); ok {
		return whole
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return largest(literal)
	}
	return f
}

// maxDigits bounds the length of a number that is read exactly.
const maxDigits = 400

// largest stands for a number beyond the range: the nearest one that JSON can say again.
func largest(literal string) float64 {
	f, err := strconv.ParseFloat(literal, 64)
	switch {
	case err == nil:
		return f
	case literal[0] == '-':
		return -math.MaxFloat64
	}
	return math.MaxFloat64
}
