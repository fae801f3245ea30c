package returns

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/nearest"
)

// Schema is the value of the member schema of a return at the edge.
const Schema = "tercet.return/1"

// readItem reads an item that is an object, or a text that stands for its main member; bare is true
// for a text. It is not ok if the item is unusable.
func (p *parser) readItem(
	v *jsonx.Value,
	what, main string,
	to *string,
	known map[string]reader,
) (bare, ok bool) {
	const none = "expected the %s of %s, got none"
	*to, bare = v.Str()
	if bare {
		if *to == "" { // rejected like an object without it
			p.add(codeReturnMember, v, "write it, or remove the item", none, main, what)
		}
		return bare, *to != ""
	}
	if !v.Is(jsonx.Dict) {
		p.addWrongType(v, "expected %s as an object, got %s", what, v.Kind)
		return false, false
	}

	for _, m := range v.Members {
		read := known[m.Key]
		switch {
		case m.Value.Is(jsonx.Null):
		case read != nil:
			read(m.Value)
		default:
			hint := ""
			if near := nearest.Names(m.Key, slices.Sorted(maps.Keys(known))); len(near) > 0 {
				hint = fmt.Sprintf(": was %q meant", near[0])
			}
			p.noteRepair(m.Value, "%s has the unknown member %q, which was dropped%s",
				what, m.Key, hint)
		}
	}

	if *to == "" {
		p.add(codeReturnMember, v, "add "+strconv.Quote(main), none, main, what)
	}
	return false, true
}

func (p *parser) readArtifact(v *jsonx.Value) {
	var a formats.Artifact
	var word string
	at := v
	bare, ok := p.readItem(v, "an artifact", "path", &a.Path, map[string]reader{
		"type": func(v *jsonx.Value) {
			word = p.readString(v, "artifact type")
			at = v
		},
		"path":    p.textInto(&a.Path, "artifact path"),
		"summary": p.summaryInto(&a.Summary, "artifact summary"),
		"deleted": p.booleanInto(&a.Deleted, "deleted"),
		"created": func(*jsonx.Value) {
			p.warn("member created of an artifact is the engine's and was dropped")
		},
	})
	if !ok || a.Path == "" {
		return
	}

	a.Type = formats.ArtifactType(normalizeWord(word))
	switch {
	case a.Type == "research", a.Type == "research_report":
		a.Type = formats.ArtifactReport
	case !slices.Contains(formats.ArtifactTypes(), a.Type):
		a.Type = formats.GuessArtifactType(a.Path)
		a.Guessed = true
	}

	switch {
	case bare:
		p.noteRepair(v, "artifact %q is a bare path and is read as type %s", a.Path, a.Type)
	case strings.TrimSpace(word) == "":
		p.noteRepair(v, "artifact %q has no type and is read as %s", a.Path, a.Type)
	default:
		if word != "research" { // a word of the protocol that this one comes from
			p.noteReadAs(at, "artifact type", word, string(a.Type))
		}
	}

	p.ret.Artifacts = append(p.ret.Artifacts, a)
}

func (p *parser) booleanInto(to *bool, name string) reader {
	return func(v *jsonx.Value) {
		var ok bool
		*to, ok = v.Bool()
		if !ok {
			p.addWrongType(v, "expected %s as a boolean, got %s", name, v.Kind)
		}
	}
}

func (p *parser) readIssue(v *jsonx.Value) {
	i := formats.Issue{Source: "agent"}
	bare, ok := p.readItem(v, "an issue", "description", &i.Description, map[string]reader{
		"level":       func(v *jsonx.Value) { i.Level = p.readLevel(v) },
		"description": p.textInto(&i.Description, "description"),
		"files": p.eachOf("files", func(e *jsonx.Value) {
			i.Files = append(i.Files, p.readString(e, "file"))
		}),
		"line": func(v *jsonx.Value) { i.Line = p.readLine(v) },
		// Only an answer of the user makes the user the source of an issue.
		"source": func(v *jsonx.Value) {
			i.Source = p.readString(v, "source")
			if i.Source != "agent" && i.Source != "check" {
				p.noteReadAs(v, "source", i.Source, "agent")
				i.Source = "agent"
			}
		},
		"suggested_fix": p.textInto(&i.SuggestedFix, "suggested_fix"),
	})
	if !ok {
		return
	}
	if bare {
		p.noteRepair(v, "an issue is a bare text and is read as a warning")
	} else if i.Level == "" {
		p.noteRepair(v, "an issue has no level and is read as a warning")
	}

	i.Level = cmp.Or(i.Level, formats.LevelWarning)
	p.ret.Issues = append(p.ret.Issues, i)
}

// levels are the words for the level of an issue.
var levels = map[string]formats.Level{
	"error":      formats.LevelError,
	"critical":   formats.LevelError,
	"blocker":    formats.LevelError,
	"high":       formats.LevelError,
	"major":      formats.LevelError,
	"warning":    formats.LevelWarning,
	"medium":     formats.LevelWarning,
	"warn":       formats.LevelWarning,
	"suggestion": formats.LevelSuggestion,
	"low":        formats.LevelSuggestion,
	"minor":      formats.LevelSuggestion,
	"info":       formats.LevelSuggestion,
	"note":       formats.LevelSuggestion,
}

func (p *parser) readLevel(v *jsonx.Value) formats.Level {
	word := p.readString(v, "level")
	out, known := levels[normalizeWord(word)]
	if !known {
		p.add(
			codeReturnMember,
			v,
			formats.HelpOneOf(normalizeWord(word), []string{"error", "warning", "suggestion"}),
			"expected level error, warning or suggestion, got %q",
			word,
		)
		return formats.LevelWarning
	}

	p.noteReadAs(v, "level", word, string(out))
	return out
}

func (p *parser) readLine(v *jsonx.Value) int {
	if n, ok := v.Int(); ok && n >= 0 && n <= math.MaxInt32 {
		return int(n)
	}
	if s, ok := v.Str(); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n >= 0 {
			p.noteRepair(v, "line is a string and is read as a number")
			return n
		}
	}
	p.noteRepair(v, "line %s is no line number and was dropped", v.Raw(p.src))
	return 0
}

func (p *parser) readError(v *jsonx.Value) {
	e := formats.ReturnError{Type: formats.ErrorExecution, Code: formats.CodeUnknown}
	var kind, code string
	bare, ok := p.readItem(v, "an error", "message", &e.Message, map[string]reader{
		"type":           p.textInto(&kind, "error type"),
		"message":        p.textInto(&e.Message, "message"),
		"code":           p.textInto(&code, "error code"),
		"recoverable":    p.booleanInto(&e.Recoverable, "recoverable"),
		"recommendation": p.textInto(&e.Recommendation, "recommendation"),
	})

	switch {
	case !ok:
		return
	case bare:
		p.noteRepair(v, "an error is a bare text and is read as %s", formats.CodeUnknown)
	default:
		if t := formats.ErrorType(strings.ToLower(kind)); slices.Contains(formats.ErrorTypes(), t) {
			e.Type = t
		}
		if c, err := formats.ParseCode(strings.ToUpper(code)); err == nil {
			e.Code = c
		}
		p.noteReadAs(v, "error type", kind, string(e.Type))
		p.noteReadAs(v, "error code", code, string(e.Code))
	}

	p.ret.Errors = append(p.ret.Errors, e)
}
