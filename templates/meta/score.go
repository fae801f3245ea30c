package meta

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/templates"
)

// score is a workflow of another tool in YAML: states with their facets, and transitions.
type score struct {
	file    string
	name    string
	purpose string
	initial string
	steps   int // bound of all states together; 0: none
	states  []*state
	files   map[string]map[string]string // of named facets, by kind
	notes   []string                     // what is not translated
}

// state is one state: who works in it, or several side by side, and what leads out of it.
type state struct {
	pos         md.Pos
	name        string
	title       string
	agent       string // an existing subagent; empty: its facets make one
	facets      map[string][]facet
	parallel    []*state
	transitions []transition
}

// facet is a part of a prompt, by its name or as a text.
type facet struct {
	pos  md.Pos
	text string
}

// transition is one transition.
type transition struct {
	pos  md.Pos
	text string // its condition
	all  bool   // of all that work side by side
	any  bool   // of one of them
	when verdict
	to   string
	max  int
}

// verdict is what a condition asks for.
type verdict int

const (
	always verdict = iota
	passes
	rejects
	unclear
)

// The words of such files. Case, spaces and hyphens do not matter.
var (
	passWords = []string{
		"approved", "approve", "accepted", "accept", "pass", "passed", "ok", "clean", "clear",
		"done", "yes", "success", "complete", "completed",
	}
	rejectWords = []string{
		"rejected", "reject", "needs_fix", "needs_work", "needs_changes", "changes_requested",
		"fix", "fail", "failed", "no", "found", "issues",
	}
	alwaysWords = []string{"", "always", "true", "default", "else", "otherwise"}
	endWords    = []string{"complete", "completed", "end", "done", "finish", "success"}
	abortWords  = []string{"abort", "aborted", "fail", "failed", "stop"}
)

// The keys of such files, by what they mean here.
var (
	stateKeys   = []string{"states", "steps", "movements"}
	initialKeys = []string{"initial", "initial_state", "initial_step", "initial_movement", "start"}
	boundKeys   = []string{"max_steps", "max_states", "max_movements", "max_iterations"}
	wayKeys     = []string{"transitions", "rules", "on"}
	whenKeys    = []string{"when", "condition", "if"}
	toKeys      = []string{"to", "next", "goto"}
	facetKinds  = map[string][]string{
		"persona":     {"persona", "personas"},
		"policy":      {"policy", "policies"},
		"knowledge":   {"knowledge"},
		"instruction": {"instruction", "instructions", "instruction_template"},
		"output":      {"output", "output_contract", "output_contracts"},
	}
	facetOrder = []string{"persona", "knowledge", "instruction", "output", "policy"}
)

var (
	quantified = lazy.Regexp(`^(all|any)\((.*)\)$`)
	facetName  = lazy.Regexp(`^[A-Za-z0-9_./-]*[A-Za-z0-9_-]$`)
	notWord    = lazy.Regexp(`[^a-z0-9]+`)
)

// scoreReader reads a score, and keeps what is wrong with it.
type scoreReader struct {
	score *score
	found []formats.Diagnostic
}

// readScore reads a workflow of states.
func readScore(file string, src []byte) (*score, error) {
	r := &scoreReader{score: &score{
		file:  file,
		name:  strings.TrimSuffix(path.Base(file), path.Ext(file)),
		files: map[string]map[string]string{},
	}}

	root, problems := md.ParseYAMLWithAliases(src, md.Pos{})
	for _, p := range problems {
		r.addError(p.Pos, p.Help, "%s", p.Msg)
	}

	switch {
	case len(problems) > 0:
	case root == nil || root.Kind != md.Map || firstValue(root, stateKeys) == nil:
		r.addError(md.Pos{Line: 1, Col: 1}, "markdown prompts are adopted as they are",
			"expected a workflow with 'states', got none")
	default:
		r.readRoot(root)
	}

	if len(r.found) > 0 {
		return nil, &formats.Diagnostics{List: r.found, Of: formats.CodeValidationFailed}
	}
	return r.score, nil
}

func (r *scoreReader) addError(at md.Pos, help, format string, args ...any) {
	r.found = append(r.found, formats.Diagnostic{
		Severity: formats.SeverityError,
		File:     r.score.file,
		Pos:      formats.Pos{Line: max(1, at.Line), Col: max(1, at.Col)},
		Message:  fmt.Sprintf(format, args...),
		Help:     help,
	})
}

// firstValue is the value of the first of some keys that a map has.
func firstValue(n *md.Node, keys []string) *md.Node {
	for _, key := range keys {
		if v := n.Get(key); v != nil && !v.Absent() {
			return v
		}
	}
	return nil
}

// scalarText is a value as one line.
func scalarText(n *md.Node) string {
	if n == nil || n.Kind != md.Scalar {
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// noteUntranslated notes the keys of a map that have no meaning here.
func (r *scoreReader) noteUntranslated(n *md.Node, of string, known ...[]string) {
	all := slices.Concat(known...)
	for _, e := range n.Entries {
		if !slices.Contains(all, e.Key.Value) {
			r.score.notes = append(r.score.notes, fmt.Sprintf("%s:%d: '%s' of %s is not translated",
				r.score.file, e.Key.Pos.Line, formats.Clip(e.Key.Value, maxScoreWord), of))
		}
	}
}

// Bounds of a score: of its states, and of a word of it that is shown.
const (
	maxStates    = 40
	maxScoreWord = 60
)

func (r *scoreReader) readRoot(root *md.Node) {
	s := r.score
	if name := kebabName(scalarText(root.Get("name"))); name != "" {
		s.name = name
	}
	s.name = kebabName(s.name)
	s.purpose = scalarText(root.Get("description"))
	s.initial = scalarText(firstValue(root, initialKeys))

	if n := firstValue(root, boundKeys); n != nil {
		most, err := strconv.Atoi(scalarText(n))
		if err != nil || most < 1 {
			r.addError(n.Pos, "", "expected a number of states as the bound, got %q", scalarText(n))
		}
		s.steps = most
	}

	known := [][]string{{"name", "description"}, initialKeys, boundKeys, stateKeys}
	for _, kind := range facetOrder {
		known = append(known, facetKinds[kind])
		list := firstValue(root, facetKinds[kind])
		if list == nil {
			continue
		}
		s.files[kind] = map[string]string{}
		for _, e := range list.Entries {
			s.files[kind][e.Key.Value] = scalarText(e.Value)
		}
	}

	r.noteUntranslated(root, "the workflow", known...)
	s.states = r.readStates(firstValue(root, stateKeys))
	if len(s.states) > maxStates {
		r.addError(s.states[maxStates].pos, "split it into several workflows",
			"expected at most %d states, got %d", maxStates, len(s.states))
	}

	if len(s.states) > 0 && s.initial == "" {
		s.initial = s.states[0].name
	}
	r.checkTargets()
}

// readStates reads a list of states, or a map of them by name.
func (r *scoreReader) readStates(n *md.Node) []*state {
	var out []*state
	add := func(at md.Pos, name string, v *md.Node) {
		sameName := func(s *state) bool { return snakeName(s.name) == snakeName(name) }
		switch {
		case v == nil || v.Kind != md.Map:
			r.addError(at, "", "expected a state as a map of keys")
			return
		case snakeName(name) == "":
			r.addError(at, "add 'name: NAME'", "expected the name of a state, got %q", name)
			return
		case slices.ContainsFunc(out, sameName):
			r.addError(at, "", "expected another name than '%s': a state above has it", name)
			return
		}
		out = append(out, r.readState(at, name, v))
	}

	switch n.Kind {
	case md.List:
		for _, item := range n.Items {
			add(item.Pos, scalarText(item.Get("name")), item)
		}
	case md.Map:
		for _, e := range n.Entries {
			add(e.Key.Pos, e.Key.Value, e.Value)
		}
	case md.Scalar: // no list of states
	}

	if len(out) == 0 && len(r.found) == 0 {
		r.addError(n.Pos, "", "expected a list of states, got none")
	}
	return out
}

func (r *scoreReader) readState(at md.Pos, name string, n *md.Node) *state {
	s := &state{
		pos:    at,
		name:   name,
		title:  scalarText(n.Get("description")),
		agent:  scalarText(n.Get("agent")),
		facets: map[string][]facet{},
	}

	known := [][]string{{"name", "description", "agent", "facets", "parallel"}, wayKeys}
	for _, kind := range facetOrder {
		known = append(known, facetKinds[kind])
		v := firstValue(n, facetKinds[kind])
		if v == nil {
			v = firstValue(n.Get("facets"), facetKinds[kind])
		}
		s.facets[kind] = r.readFacets(v, kind)
	}

	if facets := n.Get("facets"); facets != nil {
		r.noteUntranslated(facets, "the facets of '"+name+"'", known...)
	}
	if n.Get("parallel") != nil {
		s.parallel = r.readStates(n.Get("parallel"))
	}

	r.noteUntranslated(n, "state '"+name+"'", known...)
	s.transitions = r.readTransitions(firstValue(n, wayKeys))
	return s
}

// readFacets reads the names of facets, or their texts.
func (r *scoreReader) readFacets(n *md.Node, kind string) []facet {
	switch {
	case n == nil:
		return nil
	case n.Kind == md.List:
		var out []facet
		for _, item := range n.Items {
			out = append(out, r.readFacets(item, kind)...)
		}
		return out
	case scalarText(n) == "":
		r.addError(n.Pos, "", "expected %s as a name or a text", kind)
		return nil
	}
	return []facet{{n.Pos, scalarText(n)}}
}

// readTransitions reads transitions: a list of conditions with their target, or a map of them.
func (r *scoreReader) readTransitions(n *md.Node) []transition {
	if n == nil {
		return nil
	}

	var out []transition
	if n.Kind == md.Map {
		for _, e := range n.Entries {
			out = append(out,
				parseCondition(transition{pos: e.Key.Pos, text: e.Key.Value, to: scalarText(e.Value)}))
		}
		return out
	}
	for _, item := range n.Items {
		w := transition{
			pos:  item.Pos,
			text: scalarText(firstValue(item, whenKeys)),
			to:   scalarText(firstValue(item, toKeys)),
		}

		if limit := item.Get("max"); limit != nil {
			most, err := strconv.Atoi(scalarText(limit))
			if err != nil || most < 1 {
				r.addError(limit.Pos, "", "expected how often at most, got %q", scalarText(limit))
			}
			w.max = most
		}

		if item.Kind == md.Map {
			r.noteUntranslated(item, "a transition", whenKeys, toKeys, []string{"max"})
		}
		out = append(out, parseCondition(w))
	}
	return out
}

// parseCondition reads what a transition asks for.
func parseCondition(w transition) transition {
	text := strings.TrimSpace(w.text)
	inside := text
	if m := quantified().FindStringSubmatch(text); m != nil {
		w.all = m[1] == "all"
		w.any = m[1] == "any"
		inside = m[2]
	}

	w.when = unclear
	seen := map[verdict]bool{}
	for one := range strings.SplitSeq(inside, ",") {
		seen[verdictOf(strings.Trim(strings.TrimSpace(one), `"'`))] = true
	}

	if len(seen) == 1 {
		for v := range seen {
			w.when = v
		}
	}
	return w
}

func verdictOf(word string) verdict {
	word = snakeName(word)
	switch {
	case slices.Contains(alwaysWords, word):
		return always
	case slices.Contains(passWords, word):
		return passes
	case slices.Contains(rejectWords, word):
		return rejects
	}
	return unclear
}

// checkTargets reports states that are named and not there. A state side by side leads nowhere
// itself.
func (r *scoreReader) checkTargets() {
	s := r.score
	var names []string
	for _, one := range s.states {
		names = append(names, one.name)
	}

	if len(names) > 0 && s.find(s.initial) == nil {
		r.addError(md.Pos{Line: 1, Col: 1}, nearest.Help(s.initial, names),
			"expected a state as the first one, got %q", s.initial)
	}

	for _, one := range s.states {
		for _, w := range one.transitions {
			if w.to == "" || !isEnd(w.to) && s.find(w.to) == nil {
				r.addError(w.pos, nearest.Help(w.to, names),
					"expected a state as the target, got %q", w.to)
			}
		}
		for _, inner := range one.parallel {
			for _, w := range inner.transitions {
				if w.to != "" {
					r.addError(w.pos, "write it at state '"+one.name+"'",
						"expected no target of a state side by side, got %q", w.to)
				}
			}
		}
	}
}

// find finds a state by its name.
func (s *score) find(name string) *state {
	for _, one := range s.states {
		if one.name == name {
			return one
		}
	}
	return nil
}

// isEnd tells whether a target is the end of the workflow, good or bad.
func isEnd(to string) bool {
	return slices.Contains(endWords, snakeName(to)) || slices.Contains(abortWords, snakeName(to))
}

// snakeName is a name as an id, empty if nothing of it can stand in one. kebabName is
// the same as the name of a file.
func snakeName(name string) string {
	id := strings.Trim(notWord().ReplaceAllString(strings.ToLower(name), "_"), "_")
	if id != "" && id[0] >= '0' && id[0] <= '9' {
		id = "s" + id
	}
	return id
}

func kebabName(name string) string {
	return strings.ReplaceAll(snakeName(name), "_", "-")
}

// findFacet gives a facet of a state: the name of one that the project has, or its text.
func (b *Builder) findFacet(s *score, kind string, f facet) (name, text string, err error) {
	named := s.files[kind][f.text]
	if named == "" && (!facetName().MatchString(f.text) || len(f.text) > maxScoreWord) {
		return "", f.text, nil
	}

	own := ".tercet/facets/" + kind + "/" + f.text + ".md"
	if _, err := b.Root.Lstat(own); err == nil && named == "" && templates.ValidName(f.text) {
		return f.text, "", nil
	}

	dir := path.Dir(s.file)
	tried := []string{path.Join(dir, f.text)}
	if named != "" {
		tried = []string{path.Join(dir, named)}
	} else if path.Ext(f.text) == "" {
		tried = nil
		for _, at := range []string{"", "facets", "..", "../facets"} {
			for _, folder := range facetKinds[kind][:min(2, len(facetKinds[kind]))] {
				tried = append(tried, path.Join(dir, at, folder, f.text+".md"))
			}
		}
	}

	for _, file := range tried {
		if !fs.ValidPath(file) {
			continue
		}
		data, err := atomicfile.ReadFile(b.Root, file)
		if err == nil && len(data) <= maxFacet {
			return "", strings.TrimSpace(string(formats.WithoutBOM(data))), nil
		}
	}

	help := "copy it to " + own
	if !templates.ValidName(f.text) {
		own = "the name of a facet"
		help = "write its text, or name a file of the project"
	}
	return "", "", formats.Fail(formats.CodeValidationFailed, help,
		"%s:%d:%d: expected the %s '%s' as %s or %s, got none", s.file, f.pos.Line, f.pos.Col, kind,
		f.text, own, tried[0])
}

// maxFacet bounds a facet that is taken over, in bytes.
const maxFacet = 64 << 10
