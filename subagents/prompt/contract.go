package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
)

// contract says how to return, out of what the subagent's file promises.
func contract(in Input) string {
	c := contractor{info: in.Info, request: in.Request, channel: in.Channel}
	if in.Request.Question != "" {
		// Nothing of what the work needs or makes is due.
		c.info = formats.AgentInfo{Name: c.info.Name, NoArtifacts: true, AgentResult: c.info.AgentResult}
	}
	var s sheet
	s.add(settle(in.Request.Facets.Output))
	s.add(c.documents())
	s.add("## Return")
	s.add(c.where())
	if c.block() {
		s.add(c.agentResult())
	} else {
		s.add(c.json())
	}
	s.add(c.shape())
	s.add(c.rules())
	return s.String()
}

type contractor struct {
	info    formats.AgentInfo
	request formats.Request
	channel Channel
}

// block tells whether the return is an AGENT_RESULT block: that is a form of the final message, never of the file.
func (c contractor) block() bool { return c.info.AgentResult && c.channel.NoFile }

func (c contractor) name() string {
	if c.info.Name != "" {
		return inline(c.info.Name)
	}
	return inline(c.request.Agent)
}

// documents says what is to be written, and where.
func (c contractor) documents() string {
	if c.info.NoArtifacts {
		return "Make no document: this work has no artifacts."
	}
	out := "the folder that the environment variable `TERCET_OUT` names"
	if c.request.Out != "" {
		out = "the folder `" + inline(c.request.Out) + "` (`TERCET_OUT`)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Write documents into %s and nowhere else; tercet moves them to their place. In the return their "+
		"paths are\nrelative to that folder. Artifacts of type %s and %s are files of the project, relative to the folder "+
		"you work in.",
		out, formats.ArtifactImplementation, formats.ArtifactDocumentation)
	if len(c.info.Artifacts) == 0 {
		return b.String()
	}
	b.WriteString("\n\nThe contract asks for:\n")
	for _, a := range c.info.Artifacts {
		fmt.Fprintf(&b, "\n- an artifact of type %s", inline(string(a.Type)))
		if a.Name != "" {
			fmt.Fprintf(&b, ", as the file `%s`", inline(a.Name))
		}
		if a.Document != "" {
			fmt.Fprintf(&b, ", a document of the profile %s", inline(a.Document))
		}
	}
	return b.String()
}

// shape shows the schema that the fields are to fit.
func (c contractor) shape() string {
	if c.request.Question != "" || len(c.request.Schema) == 0 {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, c.request.Schema, "", "  "); err != nil {
		return ""
	}
	what := "The object `fields` of the return must fit this JSON Schema; every violation is told, once:"
	if c.block() {
		what = "The fields of the block, as one object, must fit this JSON Schema; every violation is told, once:"
	}
	return material(what, "json", b.String())
}

// where says which channel carries the return.
func (c contractor) where() string {
	if c.channel.NoFile {
		text := "End your final message with the return, and with nothing after it: "
		if c.block() {
			return text + "a block as shown here."
		}
		return text + "one fenced block marked `json` with the object shown here."
	}
	file := "the file that the environment variable `TERCET_RETURN` names"
	if c.channel.File != "" {
		file = "the file `" + inline(c.channel.File) + "` (`TERCET_RETURN`)"
	}
	return "When you are done, write the return as one JSON object into " + file + ". If you cannot write\nthat file, " +
		"end your final message with the object in one fenced block marked `json`, and with nothing after it."
}

// json shows the object, with a line for each member.
func (c contractor) json() string {
	status, verdict := c.words()
	lines := []string{
		member("status", strings.Join(status, "|")),
		member("summary", fmt.Sprintf("what was done, at most %d characters", formats.MaxSummary)),
	}
	if c.channel.Nonce != "" {
		lines = append(lines, member("nonce", inline(c.channel.Nonce)))
	}
	lines = append(lines, member("agent", c.name()))
	if len(verdict) > 0 {
		lines = append(lines, member("verdict", strings.Join(verdict, "|")))
	}
	if c.request.Question != "" {
		lines = append(lines, member("text", "the answer, in Markdown"))
	}
	if !c.info.NoArtifacts {
		lines = append(lines, `"artifacts": [{"type": "`+strings.Join(c.types(),
			"|")+`", "path": "relative/path", "summary": "..."}]`)
	}
	switch {
	case len(c.info.Fields) > 0:
		lines = append(lines, `"fields": {`+strings.Join(c.fields(), ", ")+`}`)
	case c.request.Question == "" && len(c.request.Schema) > 0:
		lines = append(lines, `"fields": {...}`)
	}
	lines = append(lines,
		`"issues": [{"level": "error|warning|suggestion", "description": "...", "files": ["path"], "line": 12, `+
			`"suggested_fix": "..."}]`,
		`"errors": [{"type": "timeout|validation|execution|permission|tool_unavailable", "code": "`+
			formats.CodeUnknown.String()+`", "message": "...", "recoverable": true}]`,
	)
	if slices.Contains(status, string(formats.StatusBlocked)) {
		lines = append(lines, member("blocked_reason", "the question that keeps you from going on"))
	}
	lines = append(lines, member("next_steps", "..."))
	return material("The members of the object; words between | are a choice, and a member that is not needed is left "+
		"out:", "text",
		"{\n  "+strings.Join(lines, ",\n  ")+"\n}")
}

func member(name, value string) string { return `"` + name + `": "` + value + `"` }

// fields are the members of fields, each with its type.
func (c contractor) fields() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.info.Fields)) {
		f := c.info.Fields[name]
		kind := string(f.Type)
		if f.Type == formats.TypeList {
			kind = "array of strings"
		}
		if f.Optional {
			kind += ", optional"
		}
		out = append(out, member(inline(name), kind))
	}
	return out
}

func (c contractor) types() []string {
	var out []string
	for _, a := range c.info.Artifacts {
		if t := inline(string(a.Type)); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		for _, t := range []formats.ArtifactType{
			formats.ArtifactReport, formats.ArtifactPlan, formats.ArtifactImplementation, formats.ArtifactSummary,
			formats.ArtifactReview, formats.ArtifactDocumentation,
		} {
			out = append(out, string(t))
		}
	}
	return out
}

// words are the statuses and verdicts that the contract allows. A verdict that tercet derives from fields is not asked
// for.
func (c contractor) words() (status, verdict []string) {
	allowed := func(o formats.Outcome) bool { return c.info.Statuses == nil || slices.Contains(c.info.Statuses, o) }
	if c.info.StatusQuery == "" && (c.info.Role == formats.RoleReviewer || c.info.Statuses != nil) {
		for _, v := range []formats.Verdict{formats.VerdictApproved, formats.VerdictConditional, formats.VerdictRejected} {
			if allowed(formats.Outcome(v)) {
				verdict = append(verdict, string(v))
			}
		}
	}
	if allowed(formats.OutcomeCompleted) || len(verdict) > 0 || c.info.StatusQuery != "" {
		status = append(status, string(formats.StatusCompleted))
	}
	for _, s := range []formats.ReturnStatus{formats.StatusPartial, formats.StatusBlocked} {
		if allowed(formats.Outcome(s)) {
			status = append(status, string(s))
		}
	}
	return append(status, string(formats.StatusFailed)), verdict
}

// agentResult shows the block.
func (c contractor) agentResult() string {
	words := []string{"success"}
	status, verdict := c.words()
	if c.info.StatusQuery == "" && len(verdict) > 0 {
		words = verdict
		if c.info.Statuses == nil || slices.Contains(c.info.Statuses, formats.OutcomeCompleted) {
			words = append([]string{"success"}, verdict...)
		}
	}
	for _, s := range []formats.ReturnStatus{formats.StatusPartial, formats.StatusBlocked} {
		if slices.Contains(status, string(s)) {
			words = append(words, string(s))
		}
	}
	words = append(words, "error")
	lines := []string{"AGENT_RESULT: " + c.name(), "STATUS: one of " + strings.Join(words, ", ")}
	if c.channel.Nonce != "" {
		lines = append(lines, "NONCE: "+inline(c.channel.Nonce))
	}
	lines = append(lines, "SUMMARY: what was done, on one line")
	for _, name := range slices.Sorted(maps.Keys(c.info.Fields)) {
		f := c.info.Fields[name]
		kind := string(f.Type)
		if f.Optional {
			kind += ", optional"
		}
		if f.Type == formats.TypeList || f.Type == formats.TypeArray {
			lines = append(lines, inline(name)+":", "  - "+kind)
			continue
		}
		lines = append(lines, inline(name)+": "+kind)
	}
	if !c.info.NoArtifacts {
		lines = append(lines, "ARTIFACTS:", "  - relative/path")
	}
	return material("The block, each value replaced by yours:", "text", strings.Join(lines, "\n"))
}

// rules are those of every return that a model gets wrong.
func (c contractor) rules() string {
	var b strings.Builder
	if c.channel.Nonce != "" {
		fmt.Fprintf(&b, "- The nonce is `%s`, exactly. A return with another one, or a final message without it, is "+
			"refused.\n", inline(c.channel.Nonce))
	}
	fmt.Fprintf(&b, "- The return is of %s. One that names another agent is refused.\n", c.name())
	b.WriteString("- The status says whether the work was done")
	if _, verdict := c.words(); len(verdict) > 0 {
		b.WriteString(", the verdict what you judge; a review that rejects is completed")
	}
	b.WriteString(".\n")
	b.WriteString("- A failed return has an error. A completed one has none")
	if !c.info.NoArtifacts {
		b.WriteString(", and every artifact that it names is there and not empty")
	}
	b.WriteString(".\n- Session, run, depth, duration, tokens and cost are measured by tercet: leave them out.")
	return b.String()
}
