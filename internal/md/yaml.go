package md

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// bom is the UTF-8 byte order mark.
const bom = "\xef\xbb\xbf"

// errDepth is what the parser returns to us when our limit stops it.
var errDepth = errors.New("nested too deeply")

// ParseYAML reads one YAML document. at is the file position of the first byte of src; the zero
// value means the start of a file. An empty text gives a nil node without a problem, invalid YAML a
// nil node with one. Anchors, aliases, merge keys, tags, document markers and keys that are not
// text are problems. They come beside the node, which is nil only for document markers.
func ParseYAML(src []byte, at Pos) (*Node, []Problem) {
	return parseYAML(src, at, DefaultBytes, false)
}

// ParseYAMLWithAliases is ParseYAML for files of other tools: anchors, aliases and merge keys have
// their meaning in YAML. Aliases that expand without end are problems.
func ParseYAMLWithAliases(src []byte, at Pos) (*Node, []Problem) {
	return parseYAML(src, at, DefaultBytes, true)
}

func parseYAML(src []byte, at Pos, limit int, aliases bool) (*Node, []Problem) {
	if at.IsZero() {
		at = Pos{1, 1}
	}
	text, problem, ok := readText(src, at, limit, true)
	if !ok {
		return nil, []Problem{problem}
	}

	c := converter{
		source: &source{
			lines: text,
			line:  1,
			col:   1,
		},
		aliases: aliases,
	}
	if p, ok := c.findMarker(); ok {
		return nil, []Problem{p}
	}

	root, err := loadYAML(text.text)
	if err != nil {
		return nil, []Problem{c.diagnose(err)}
	}
	if root == nil || len(root.Content) == 0 {
		return nil, nil
	}

	n, _ := c.convert(root.Content[0], -1)
	return n, c.problems
}

// findMarker finds a document marker or a second document. Such a line at the left margin ends
// every scalar, so no parsing is needed to see it.
func (s *source) findMarker() (Problem, bool) {
	for _, start := range s.starts {
		rest := s.text[start:]
		if !strings.HasPrefix(rest, "---") && !strings.HasPrefix(rest, "...") {
			continue
		}
		if len(rest) == 3 || strings.IndexByte(" \t\r\n", rest[3]) >= 0 {
			return s.problem(
				CodeDocuments,
				start,
				start+3,
				fmt.Sprintf("document marker %q inside a YAML block", rest[:3]),
				"a block holds one document; remove the line, or indent it if it belongs to a text",
			), true
		}
	}
	return Problem{}, false
}

// depthLimit tells the YAML parser where to stop.
type depthLimit struct{}

// CheckDepth refuses a level beyond the limit.
func (depthLimit) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return errDepth
	}
	return nil
}

// CheckAlias never refuses: the walk reports aliases and does not expand them.
func (depthLimit) CheckAlias(_, _ int) error {
	return nil
}

// loadYAML runs the third-party parser. A panic in it is a syntax error of the text.
func loadYAML(src string) (n *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			n = nil
			err = fmt.Errorf("YAML parser stopped: %v", r)
		}
	}()

	l, err := yaml.NewLoader(strings.NewReader(src), yaml.WithPlugin(depthLimit{}))
	if err != nil {
		return nil, err
	}

	var root yaml.Node
	if err := l.Load(&root); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &root, nil
}

// converter turns parser nodes into ours.
type converter struct {
	*source
	problems []Problem
	aliases  bool // anchors, aliases and merge keys have their meaning
	within   int  // aliases around the node that is converted
	expanded int  // nodes converted inside of aliases
}

// Limits of what aliases stand for.
const (
	maxExpanded  = 10_000 // nodes
	maxAliasNest = 16     // aliases inside of each other
)

func (c *converter) report(code Code, from, to int, msg, help string) {
	c.problems = append(c.problems, c.problem(code, from, to, msg, help))
}

// convert converts one node and returns it with the offset of its end. indent is the column, from
// 0, of the block collection that holds it, -1 at the top: it decides where a block scalar ends.
func (c *converter) convert(y *yaml.Node, indent int) (*Node, int) {
	off := c.offset(y.Line, y.Column)
	if c.aliases && y.Kind == yaml.AliasNode && y.Alias != nil {
		return c.convertAlias(y, off)
	}

	if c.within > 0 {
		c.expanded++
	}

	start := c.skipProperties(
		off,
		y.Kind == yaml.ScalarNode && y.Value == "" &&
			y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0,
	)

	n := &Node{Pos: c.pos(off)}
	var end int
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Map
		end = c.convertMap(n, y, start)
	case yaml.SequenceNode:
		n.Kind = List
		end = c.convertList(n, y, start)
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode, yaml.StreamNode:
		n.Kind = Scalar
		end = c.convertScalar(n, y, start, indent)
	}

	n.End = c.pos(end)
	return n, end
}

// convertAlias converts the node that an alias stands for. Its place is that of the alias.
func (c *converter) convertAlias(y *yaml.Node, off int) (*Node, int) {
	end := off + len("*"+y.Value)
	n := &Node{
		Kind:  Scalar,
		Style: Plain,
		Type:  Str,
		Value: "*" + y.Value,
	}
	if c.within >= maxAliasNest || c.expanded >= maxExpanded {
		if c.expanded < 2*maxExpanded { // once
			c.expanded = 2 * maxExpanded
			c.report(
				CodeAlias,
				off,
				end,
				"alias *"+y.Value+" expands without end",
				"write the value where it is needed",
			)
		}
	} else {
		c.within++
		n, _ = c.convert(y.Alias, -1)
		c.within--
	}

	n.Pos = c.pos(off)
	n.End = c.pos(end)
	return n, end
}

// merge gives a map the entries that a merge key brings: those of one map or of a list of maps. Its
// own entries, and those of an earlier map, win.
func (n *Node) merge(from *Node) {
	for _, one := range append([]*Node{from}, from.Items...) {
		for _, e := range one.Entries {
			if n.Get(e.Key.Value) == nil {
				n.Entries = append(n.Entries, e)
			}
		}
	}
}

// skipProperties reports an anchor, an alias and a tag, and returns the offset of the value after
// them. A value that was left out stands directly after them.
func (c *converter) skipProperties(off int, absent bool) int {
	for off < len(c.text) {
		end := off
		for end < len(c.text) && strings.IndexByte(" \t\r\n,[]{}", c.text[end]) < 0 {
			end++
		}
		word := c.text[off:end]
		switch c.text[off] {
		case '&':
			if !c.aliases {
				c.report(
					CodeAnchor,
					off,
					end,
					"anchor "+word,
					"anchors are not used here; write the value where it is needed",
				)
			}
		case '*':
			c.report(
				CodeAlias,
				off,
				end,
				"alias "+word,
				"aliases are not used here; write the value, or quote it if it is text",
			)
			return off
		case '!':
			c.report(
				CodeTag,
				off,
				end,
				"tag "+word,
				"tags are not used here; quote the value if it is text",
			)
		default:
			return off
		}

		next := skipBlank(c.text, end)
		if absent || next == end || next == len(c.text) {
			return end
		}
		off = next
	}

	return off
}

// convertMap converts a map. In a flow map, {a: b, c}, YAML ends an unquoted value at a comma and
// takes the rest for keys without values; such pieces are reported together, once.
func (c *converter) convertMap(n *Node, y *yaml.Node, start int) int {
	end := start
	flow := c.setStyle(n, y)
	seen := make(map[string]Pos, len(y.Content)/2)
	n.Entries = make([]Entry, 0, len(y.Content)/2)
	var merged []*Node             // values of merge keys
	last := -1                     // start of the unquoted value before
	var cut struct{ from, to int } // the pieces of an unquoted value that YAML cut at its commas

	flush := func() {
		if cut.to > 0 && last >= 0 {
			c.report(CodeFlowTrap, last, cut.to, `", " ends an unquoted value inside {...}`,
				"quote the value: "+quote(c.text[last:cut.to]))
		} else if cut.to > 0 {
			c.report(CodeFlowTrap, cut.from, cut.to, "entry without a colon inside {...}",
				"write key: value, or quote the value that this belongs to")
		}
		cut.to = 0
		last = -1
	}

	for i := 0; i+1 < len(y.Content); i += 2 {
		key, keyEnd := c.convert(y.Content[i], y.Column-1)
		value, valueEnd := c.convert(y.Content[i+1], y.Column-1)
		end = max(keyEnd, valueEnd)
		if flow && c.isBarePiece(key, value, keyEnd) {
			if cut.to == 0 {
				cut.from = keyEnd - len(key.raw)
			}
			cut.to = keyEnd
			continue
		}
		flush()
		if value.Style == Plain && !value.Absent() {
			last = valueEnd - len(value.raw)
		}
		if c.aliases && key.Style == Plain && key.Value == "<<" {
			merged = append(merged, value)
			continue
		}
		c.checkKey(key, keyEnd, seen)
		n.Entries = append(n.Entries, Entry{key, value})
	}

	flush()
	for _, from := range merged {
		n.merge(from)
	}
	if flow {
		end = c.closingBracket(start, end, '{', '}')
	}
	return end
}

// setStyle notes how a map or a list is written, and tells whether it is in brackets.
func (c *converter) setStyle(n *Node, y *yaml.Node) bool {
	if y.Style&yaml.FlowStyle != 0 {
		n.Style = FlowStyle
		return true
	}
	n.Style = BlockStyle
	return false
}

// isBarePiece tells whether an entry of {...} is text without a colon.
func (c *converter) isBarePiece(key, value *Node, keyEnd int) bool {
	next := skipBlank(c.text, keyEnd)
	return value.Absent() && key.Kind == Scalar && !key.Absent() &&
		!strings.HasPrefix(c.text[next:], ":")
}

// checkKey checks one key of a map.
func (c *converter) checkKey(key *Node, end int, seen map[string]Pos) {
	start := end - len(key.raw)
	switch {
	case key.Kind != Scalar:
		c.problems = append(c.problems, Problem{
			CodeComplexKey,
			key.Pos,
			key.End,
			"a key is text, got a " + string(key.Kind),
			"quote the key",
		})
		return
	case key.Absent():
		c.report(
			CodeComplexKey,
			start,
			end,
			"a value without a key",
			"write key: value, or quote the text",
		)
		return
	case key.Style == Plain && key.Value == "<<":
		c.report(
			CodeMergeKey,
			start,
			end,
			"merge key <<",
			"merge keys are not used here; write the keys out",
		)
		return
	}

	if first, ok := seen[key.Value]; ok {
		c.report(
			CodeDuplicateKey,
			start,
			end,
			fmt.Sprintf("duplicate key %q, first at %s", key.Value, first),
			"keep one of the two",
		)
		return
	}

	seen[key.Value] = key.Pos
}

func (c *converter) convertList(n *Node, y *yaml.Node, start int) int {
	end := start
	flow := c.setStyle(n, y)
	n.Items = make([]*Node, len(y.Content))
	for i, item := range y.Content {
		n.Items[i], end = c.convert(item, y.Column-1)
	}

	if flow {
		end = c.closingBracket(start, end, '[', ']')
	}
	return end
}

func (c *converter) convertScalar(n *Node, y *yaml.Node, start, indent int) int {
	n.Value = y.Value
	n.Type = Str
	var end int
	switch {
	case y.Kind == yaml.AliasNode:
		n.Style = Plain
		n.Value = "*" + y.Value
		end = start + len(n.Value)
	case y.Style&yaml.SingleQuotedStyle != 0:
		n.Style = SingleQuoted
		end = quotedEnd(c.text, start)
	case y.Style&yaml.DoubleQuotedStyle != 0:
		n.Style = DoubleQuoted
		end = quotedEnd(c.text, start)
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.Style = Literal
		if y.Style&yaml.FoldedStyle != 0 {
			n.Style = Folded
		}
		end, n.indent = c.blockEnd(start, indent)
	default:
		n.Style = Plain
		n.Type = scalarType(y.Value)
		end = c.plainEnd(start, y.Value)
	}

	end = min(end, len(c.text))
	n.raw = c.text[start:end]
	return end
}
