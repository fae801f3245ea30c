package subagents

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// Definition is a subagent file: contract, prompt parts and runner.
type Definition struct {
	Shipped bool // ships with tercet
	Info    formats.AgentInfo
	// Facets are the inline sections of the file; Resolve puts the files of the key `facets` before
	// them.
	Facets   formats.Facets
	Refs     FacetRefs
	Argv     []string          // of runner exec: program and arguments
	ArgvPos  formats.Pos       // zero without argv
	Servers  []Server          // MCP servers that it may use
	Model    map[string]string // runner → model; the key "" is the model for every runner
	Limits   Limits
	File     string
	Src      []byte
	Warnings []formats.Diagnostic
	// Unfollowed are settings in another tool's file that tercet does not follow, one a line.
	Unfollowed []string
}

// FacetRefs names files under facets/: one name each for persona, instruction and output, lists for
// the others.
type FacetRefs struct {
	Persona, Instruction, Output string
	Knowledge, Policy            []string
	Pos                          formats.Pos // of the values
	Skills                       []Skill
}

// Skill is the name of a skill of the project, and its place in a file.
type Skill struct {
	Name string
	Pos  formats.Pos
}

// Limits bound one delegation to a model; zero means no limit.
type Limits struct {
	Tokens int
	Cost   float64 // US dollars
	Turns  int
}

// ParseDefinition reads a subagent file. The error is a *formats.Diagnostics with all findings in
// file order. The file must be named after the subagent.
func ParseDefinition(file string, src []byte) (Definition, error) {
	doc, problems := md.Parse(src)
	r := newReader(file)
	for _, p := range problems {
		r.Refuse(p.Code, place(p.Pos, p.End, ""), p.Help, p.Msg)
	}

	def := Definition{File: file, Src: slices.Clone(src)}
	def.Info = formats.AgentInfo{
		Role:  formats.RoleUtility,
		Tools: []string{"read", "search"},
		File:  file,
	}
	switch {
	case doc.Front != nil:
		r.front(&def, doc.Front)
	case len(problems) == 0:
		r.Refuse(codeMissing, place(md.Pos{Line: 1, Col: 1}, md.Pos{}, ""),
			"start the file with a block between two lines of ---",
			"expected frontmatter with name and description, got none")
	}

	r.body(&def, doc)
	r.workflow(&def, doc)
	diags := &formats.Diagnostics{List: r.list, Sources: map[string][]byte{file: def.Src}}
	diags.Sort()
	if diags.HasErrors() {
		return Definition{}, diags
	}

	def.Warnings = diags.List
	return def, nil
}

// body reads the sections after the frontmatter.
func (r *reader) body(def *Definition, doc *md.Document) {
	sections := doc.Sections(2)
	end := doc.LineCount() + 1
	if len(sections) > 0 {
		end = sections[0].Line()
	}
	for _, b := range doc.Blocks {
		if b.Kind == md.Heading && b.Level == 1 && b.Depth == 0 && b.Pos.Line > end {
			r.Refuse(codeSection, place(b.Pos, b.End, ""), "write ## instead of #",
				"expected sections of level 2, got a heading of level 1")
		}
	}

	def.Facets.Instruction = lines(doc, doc.BodyLine, end-1)
	seen := map[string]bool{}
	var others []*md.Node
	for _, s := range sections {
		title := strings.ToLower(s.Title())
		where := place(s.Heading.Pos, s.Heading.End, s.Title())
		if seen[title] {
			r.Refuse(codeTwice, where, "join the two", "section "+s.Title()+" stands twice")
			continue
		}
		seen[title] = true
		text := lines(doc, s.Line()+1, s.EndLine)
		switch title {
		case "persona":
			def.Facets.Persona = text
		case "knowledge":
			def.Facets.Knowledge = nonEmpty(text)
		case "instruction":
			def.Facets.Instruction = strings.Trim(def.Facets.Instruction+"\n\n"+text, "\n")
		case "output":
			def.Facets.Output = text
		case "policy":
			def.Facets.Policy = nonEmpty(text)
		case "argument parsing", "workflow execution", "between steps", "error handling":
			def.Info.Workflow = def.Info.Workflow || title == "workflow execution"
			r.steps = append(r.steps, where)
		default:
			if nearest.Help(s.Title(), facets) == "" {
				def.Facets.Instruction = strings.Trim(
					def.Facets.Instruction+"\n\n"+doc.Line(s.Line())+"\n\n"+text, "\n")
			}
			others = append(others, where)
		}
	}
	r.otherSections(def, others)
}

// facets are the sections of a subagent without steps.
var facets = []string{"Persona", "Knowledge", "Instruction", "Output", "Policy"}

// otherSections reports the sections that are no facets. The text of those that another system has
// is a part of the instruction, which one finding says of all; one that is probably misspelt is an
// error, and so is each in a file with steps, where nobody would read it.
func (r *reader) otherSections(def *Definition, list []*md.Node) {
	var names []string
	var first *md.Node
	for _, where := range list {
		if def.Info.Workflow || nearest.Help(where.Value, facets) != "" {
			r.Unknown(codeSection, where, strict.Form{Unknown: "unknown section %q", Keys: facets})
			continue
		}
		if first == nil {
			first = where
		}
		names = append(names, fmt.Sprintf("%q", where.Value))
	}
	if first != nil {
		r.Refuse(warnOther, first, "write it under ## Instruction, or leave it as it is",
			"the text of "+strings.Join(names, ", ")+" is read as part of the instruction")
	}
}

// workflow checks what only a subagent without steps has, and the other way round. The steps
// themselves are compiled when all subagents are known.
func (r *reader) workflow(def *Definition, doc *md.Document) {
	if !def.Info.Workflow {
		for _, where := range r.steps {
			r.Refuse(codeSection, where, "add the steps, or remove the section",
				"expected a section 'Workflow Execution' beside this one, got none")
		}
		return
	}
	def.Info.Runner = nil
	def.Info.Tools = nil
	if doc.Front == nil {
		return
	}
	for _, key := range []string{"runner", "model", "tools", "facets", "skills", "mcp"} {
		if n := doc.Front.Get(key); n != nil {
			r.Refuse(
				codeNoRunner,
				n,
				"remove the key: the engine runs the steps",
				"a subagent with steps has no "+key,
			)
		}
	}
}

// lines gives the text of some lines without blank ones around it.
func lines(doc *md.Document, from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		b.WriteString(doc.Line(n))
		b.WriteByte('\n')
	}
	return strings.Trim(b.String(), "\n")
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// stem is the name that a file gives to its subagent.
func stem(file string) string {
	return strings.TrimSuffix(path.Base(file), ".md")
}
