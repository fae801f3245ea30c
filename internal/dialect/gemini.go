package dialect

import (
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

var argsMark = markRule{form: lazy.Regexp(`^\{\{args\}\}`), piece: Part{Kind: All, Whole: true}}

// bracesMark is !{...} or @{...} with balanced braces inside.
func bracesMark(sign string, kind PartKind) markRule {
	return markRule{
		form: lazy.Regexp(`^` + sign + `\{`),
		read: func(s *scan, found []string) (Part, bool) {
			rest := s.rest()
			depth := 0
			for i := 1; i < min(len(rest), maxScript); i++ {
				switch rest[i] {
				case '{':
					depth++
				case '}':
					depth--
					if depth > 0 {
						continue
					}
					inside := strings.TrimSpace(rest[2:i])
					p := Part{
						Kind:  kind,
						Text:  rest[:i+1],
						Parts: s.parseInner(inside),
					}
					if kind == Include {
						p.Parts = []Part{{Kind: Literal, Text: inside}}
					}
					return p, inside != ""
				}
			}

			s.notes.add(warnMark, s.pos(), "balance the braces",
				"braces of "+found[0]+" are not closed; it stays as it is written")
			return Part{}, false
		},
	}
}

// readGeminiHead parses a TOML file; its text is the key prompt.
func (n *notes) readGeminiHead(src []byte) (head, bool) {
	h := head{line: 1}
	text, ok := n.decodeText(src)
	if !ok {
		return h, false
	}

	keys, starts, ok := n.parseTOML(text)
	if !ok {
		return h, false
	}

	k, ok := keySet(keys).get("prompt")
	if !ok {
		n.add(codeNoPrompt, formats.Pos{Line: 1, Col: 1},
			`add prompt = """ ... """, or move the file out of the folder of commands`,
			"file has no key prompt and is no command")
		return h, false
	}

	if _, isText := k.Value.(string); !isText {
		n.add(
			codeNoPrompt,
			k.Pos,
			`write prompt = """ ... """`,
			"expected text for prompt, got "+k.Raw,
		)
		return h, false
	}

	h.keys = keys
	h.body = k.Raw
	h.line = k.Pos.Line
	// the library drops a line end after the opening quotes
	if strings.HasPrefix(text[starts["prompt"]:], "\n") {
		h.line++
	}
	return h, true
}

// geminiName joins the parts of a path by ':'; invalid characters become '_', and long parts are
// cut.
func geminiName(stem string) string {
	parts := strings.Split(stem, "/")
	for i, part := range parts {
		part = strings.Map(func(r rune) rune {
			if r < 128 && (isWordByte(byte(r)) || r == '.' || r == '-') {
				return r
			}
			return '_'
		}, part)

		if len(part) > 50 {
			part = part[:47] + "..."
		}
		parts[i] = part
	}
	return strings.Join(parts, ":")
}
