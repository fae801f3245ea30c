package md

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// diagnose turns an error of the YAML parser into a problem that says what to do.
func (s *source) diagnose(err error) Problem {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return s.problem(
			CodeSyntax,
			0,
			0,
			err.Error(),
			"report this text; it should have been refused with a place",
		)
	}

	off := s.offset(le.Mark.Line, le.Mark.Column)
	if le.Mark.Line == 0 {
		off = s.offset(le.ContextMark.Line, le.ContextMark.Column)
	}
	off = min(off, len(s.text))
	if strings.Contains(le.Message, errDepth.Error()) {
		return s.problem(
			CodeYAMLDepth,
			off,
			off,
			"maps and lists nested too deeply",
			"flatten the value",
		)
	}

	line, start := s.lineAt(off)
	tab := strings.IndexByte(line[:len(line)-len(strings.TrimLeft(line, " \t"))], '\t')
	if tab >= 0 {
		return s.problem(
			CodeTab,
			start+tab,
			start+tab+1,
			"tab used for indentation",
			"indent with spaces",
		)
	}

	if from, to, ok := flowTrap(s.text, off); ok {
		return s.problem(
			CodeFlowTrap,
			from,
			to,
			"unquoted value inside {...} or [...] holds a character of the notation",
			"quote the value: "+quote(s.text[from:to]),
		)
	}
	return s.syntaxProblem(le, off)
}

// syntaxProblem words the parser's messages for a reader who has the line before them.
func (s *source) syntaxProblem(le *yaml.LoadError, off int) Problem {
	line, start := s.lineAt(off)
	context := min(s.offset(le.ContextMark.Line, le.ContextMark.Column), len(s.text))
	help := "check the indentation and the quotes of this line"
	if suggestion, ok := quoteLine(line); ok {
		help = "quote the value: " + suggestion
	}

	msg := strings.ToLower(strings.TrimSuffix(le.Message, "."))
	switch {
	case strings.Contains(msg, "mapping values are not allowed"):
		if before := strings.TrimLeft(line[:off-start], " -"); strings.Contains(before, ": ") {
			return s.problem(CodeSyntax, off, off+1, "colon inside an unquoted value", help)
		}
		key, at := s.lineAt(max(start-1, 0))
		if start > 0 && key != "" && indentOf(key) <= indentOf(line) &&
			!strings.Contains(key, ":") {
			return s.problem(
				CodeSyntax,
				at+indentOf(key),
				at+len(key),
				"expected a colon after the key",
				"write key: value",
			)
		}
		return s.problem(
			CodeSyntax,
			start+indentOf(line),
			off,
			"key indented more than the keys before it",
			"indent keys of one map alike",
		)
	case strings.Contains(msg, "unknown anchor"):
		return s.problem(CodeAlias, off, off+1, "alias without an anchor", help)
	case strings.Contains(msg, "cannot start any token") && off < len(s.text):
		return s.problem(
			CodeSyntax,
			off,
			off+1,
			fmt.Sprintf("an unquoted value cannot start with %q", s.text[off:off+1]),
			help,
		)
	case strings.Contains(msg, "end of stream") && strings.Contains(le.ContextMsg, "quoted"):
		return s.problem(CodeSyntax, context, context+1, "quoted text without a closing quote",
			"close the quote, or double it if it is part of the text")
	case strings.Contains(msg, "expected ':'"):
		return s.problem(CodeSyntax, context, off, "expected a colon after the key",
			"write key: value, or indent the line if it continues a text")
	case strings.Contains(msg, "expected key"), strings.Contains(msg, "expected '-'"):
		if trimmed := strings.TrimSpace(s.text[start:off]); strings.HasSuffix(trimmed, "]") ||
			strings.HasSuffix(trimmed, "}") || strings.HasSuffix(trimmed, `"`) ||
			strings.HasSuffix(trimmed, "'") {
			return s.problem(CodeSyntax, off, off, "text after the end of a value", help)
		}
		return s.problem(CodeSyntax, off, off, "expected a key of the same indentation", help)
	case strings.Contains(msg, "document start"):
		if first := skipBlank(s.text, 0); first > 0 && first < off {
			return s.problem(CodeSyntax, first, first, "first key is indented, one after it is not",
				"indent keys of one map alike")
		}
		return s.problem(CodeSyntax, off, off, "text after the end of the map", help)
	case strings.Contains(msg, "expected ',' or") && s.pos(context).Line < s.pos(off).Line:
		return s.problem(
			CodeSyntax,
			context,
			context+1,
			fmt.Sprintf("%q is not closed before line %d",
				s.text[context:context+1], s.pos(off).Line),
			"close the bracket, or quote the value",
		)
	case strings.Contains(msg, "expected ',' or"):
		return s.problem(
			CodeSyntax,
			off,
			off,
			fmt.Sprintf("expected ',' or the end of the %q at %s",
				s.text[context:min(context+1, len(s.text))], s.pos(context)),
			"close the bracket, or quote the value",
		)
	default:
		return s.problem(CodeSyntax, off, off, msg, help)
	}
}

// quoteLine returns "key: 'value'" for a line "key: value" whose value is not quoted yet.
func quoteLine(line string) (string, bool) {
	line = strings.TrimLeft(line, " -")
	key, value, ok := strings.Cut(line, ": ")
	value = strings.TrimSpace(value)
	if !ok || key == "" || value == "" ||
		strings.ContainsAny(key, "\"'{}[]") || strings.IndexByte(`"'|>`, value[0]) >= 0 ||
		!strings.ContainsAny(value, ":#[]{},&*!%@`") {
		return "", false
	}
	return key + ": " + quote(value), true
}
