package prompt

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/parts"
)

// contractText holds the parts of a contract.
//
//go:embed contract.txtar
var contractText string

var contractParts = sync.OnceValue(func() parts.Parts { return parts.Parse(contractText) })

// contract says how to return, out of what the subagent's file promises.
func contract(in Input) string {
	c := contractWriter{in}
	if in.Request.Question != "" {
		// Nothing of what the work needs or makes is due.
		c.Info = formats.AgentInfo{
			Name:        c.Info.Name,
			NoArtifacts: true,
			AgentResult: c.Info.AgentResult,
		}
	}

	var s paragraphs
	s.add(containFacet(in.Request.Facets.Output))
	s.add(c.documents())
	s.add("## Return")
	s.add(c.channel())
	what := "The object `fields` of the return"
	if c.isBlock() {
		s.add(fencedMaterial("The block, each value replaced by yours:", "text", c.blockShape()))
		what = "The fields of the block, as one object,"
	} else {
		s.add(fencedMaterial(
			"The members of the object; words between | are a choice, and a member that is not "+
				"needed is left out:",
			"text",
			c.jsonShape(),
		))
	}

	var schema bytes.Buffer
	if in.Request.Question == "" && json.Indent(&schema, in.Request.Schema, "", "  ") == nil {
		what += " must fit this JSON Schema; every violation is told, once:"
		s.add(fencedMaterial(what, "json", schema.String()))
	}
	s.add(c.rules())
	return s.String()
}

// contractWriter makes the texts of a contract.
type contractWriter struct{ Input }

// documents says where documents go, and which are due.
func (c contractWriter) documents() string {
	texts := contractParts()
	if c.Info.NoArtifacts {
		return texts.Fill("no documents", nil)
	}

	values := parts.Values{
		"folder": pathText(c.Request.Out, "TERCET_OUT"),
		"moved":  "",
		"asked":  "",
	}

	// tercet moves documentation from the folder for documents to docs/.
	documentation := func(s formats.ArtifactSpec) bool {
		return s.Type == formats.ArtifactDocumentation
	}
	if slices.ContainsFunc(c.Info.Artifacts, documentation) {
		values["moved"] = texts.Fill("moved", nil)
	}

	var asked []string
	for _, a := range c.Info.Artifacts {
		line := "- an artifact of type " + inline(string(a.Type))
		if a.Name != "" {
			line += ", as the file " + code(a.Name)
		}
		if a.Document != "" {
			line += ", a document of the profile " + inline(a.Document)
		}
		asked = append(asked, line)
	}

	if len(asked) > 0 {
		values["asked"] = texts.Fill("asked", parts.Values{"artifacts": strings.Join(asked, "\n")})
	}
	return texts.Fill("documents", values)
}

// pathText names a path and the environment variable with it, or the variable alone.
func pathText(path, variable string) string {
	if path == "" {
		return "that the environment variable " + code(variable) + " names"
	}
	return code(path) + " (" + code(variable) + ")"
}

// code puts a text into backticks.
func code(s string) string {
	return "`" + inline(s) + "`"
}

// channel says where the return goes.
func (c contractWriter) channel() string {
	fenced := "one fenced block marked " + code("json") + " with the object shown here"
	shape := "one JSON object"
	otherwise := "the object in one fenced block marked " + code("json")
	if c.isBlock() {
		fenced = "a block as shown here"
		shape = fenced
		otherwise = "the block"
	}
	if c.Channel.NoFile {
		return contractParts().Fill("return as a message", parts.Values{"shape": fenced})
	}
	return contractParts().Fill("return as a file", parts.Values{
		"shape":     shape,
		"file":      pathText(c.Channel.File, "TERCET_RETURN"),
		"otherwise": otherwise,
	})
}

// jsonShape shows a return as a JSON object.
func (c contractWriter) jsonShape() string {
	values := parts.Values{
		"statuses":       joinChoices(c.statuses()),
		"max_summary":    strconv.Itoa(formats.MaxSummary),
		"nonce":          inline(c.Channel.Nonce),
		"agent":          c.name(),
		"verdicts":       joinChoices(c.verdicts()),
		"answer":         "",
		"types":          "",
		"fields":         "",
		"codes":          joinChoices(errorCodes()),
		"blocked_reason": "",
	}

	if c.Request.Question != "" {
		values["answer"] = "the answer, in Markdown"
	}
	if !c.Info.NoArtifacts {
		values["types"] = joinChoices(c.artifactTypes())
	}
	if len(allowed(c, formats.StatusBlocked)) > 0 {
		values["blocked_reason"] = "the question that keeps you from going on"
	}

	var fields []string
	for _, f := range c.fields() {
		fields = append(fields, `"`+f.name+`": "`+f.kind+`"`)
	}
	if len(fields) > 0 {
		values["fields"] = strings.Join(fields, ", ")
	} else if c.Request.Schema != nil && c.Request.Question == "" {
		values["fields"] = "..."
	}

	return contractParts().Fill("json", values)
}

// blockShape shows a return as an AGENT_RESULT block.
func (c contractWriter) blockShape() string {
	texts := contractParts()
	values := parts.Values{
		"agent":     c.name(),
		"words":     c.blockStatuses(),
		"nonce":     inline(c.Channel.Nonce),
		"artifacts": "",
	}

	var fields []string
	for _, f := range c.fields() {
		if f.list {
			fields = append(fields, f.name+":\n  - "+f.kind)
		} else {
			fields = append(fields, f.name+": "+f.kind)
		}
	}
	values["fields"] = strings.Join(fields, "\n")

	if !c.Info.NoArtifacts {
		values["artifacts"] = texts.Fill("block artifacts", nil)
	}
	return texts.Fill("block", values)
}

// rules are what a return must fulfil.
func (c contractWriter) rules() string {
	texts := contractParts()
	values := parts.Values{
		"nonce":       "",
		"agent":       c.name(),
		"verdict":     "",
		"artifacts":   "",
		"error_codes": "",
	}
	if c.Channel.Nonce != "" {
		values["nonce"] = code(c.Channel.Nonce)
	}
	if len(c.verdicts()) > 0 {
		values["verdict"] = ", the verdict what you judge; a review that rejects is completed"
	}
	if !c.Info.NoArtifacts {
		values["artifacts"] = ", and every artifact that it names is there and not empty"
	}
	if !c.isBlock() {
		values["error_codes"] = texts.Fill("error codes", nil)
	}
	return texts.Fill("rules", values)
}

// joinChoices shows words of which one is chosen.
func joinChoices(words []string) string {
	return strings.Join(words, "|")
}

// isBlock reports whether the return is an AGENT_RESULT block.
func (c contractWriter) isBlock() bool {
	return c.Info.AgentResult
}

// name is the agent's name.
func (c contractWriter) name() string {
	return inline(cmp.Or(c.Info.Name, c.Request.Agent))
}

// errorCodes lists the codes of errors that a worker has a use for. The last is that of any other
// error.
func errorCodes() []string {
	return formats.Words([]formats.Code{
		formats.CodeTransient, formats.CodeTimeout, formats.CodeToolUnavailable,
		formats.CodeBuildError, formats.CodeDenied, formats.CodeUnknown,
	})
}

// field is a member of fields as a contract shows it.
type field struct {
	name, kind string
	list       bool
}

// fields lists the members of fields with their types.
func (c contractWriter) fields() []field {
	var out []field
	for _, name := range slices.Sorted(maps.Keys(c.Info.Fields)) {
		f := c.Info.Fields[name]
		if c.isBlock() && name == "ARTIFACT_PATHS" {
			continue // the block has ARTIFACTS
		}
		kind := string(f.Type)
		if f.Type == formats.TypeList && !c.isBlock() {
			kind = "array of strings"
		}
		if f.Optional {
			kind += ", optional"
		}
		out = append(out, field{
			inline(name),
			kind,
			f.Type == formats.TypeList || f.Type == formats.TypeArray,
		})
	}
	return out
}

// artifactTypes lists the allowed artifact types.
func (c contractWriter) artifactTypes() []string {
	var out []string
	for _, a := range c.Info.Artifacts {
		if t := inline(string(a.Type)); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		for _, t := range []formats.ArtifactType{
			formats.ArtifactReport, formats.ArtifactPlan, formats.ArtifactImplementation,
			formats.ArtifactSummary, formats.ArtifactReview, formats.ArtifactDocumentation,
		} {
			out = append(out, string(t))
		}
	}
	return out
}

// allowed gives those of some outcomes that the contract has.
func allowed[T ~string](c contractWriter, outcomes ...T) []string {
	var out []string
	for _, o := range outcomes {
		if c.Info.Statuses == nil || slices.Contains(c.Info.Statuses, formats.Outcome(o)) {
			out = append(out, string(o))
		}
	}
	return out
}

// verdicts lists the allowed verdicts; none if tercet derives the verdict from fields.
func (c contractWriter) verdicts() []string {
	if c.Info.StatusQuery != "" || c.Info.Role != formats.RoleReviewer && c.Info.Statuses == nil {
		return nil
	}
	return allowed(c, formats.VerdictApproved, formats.VerdictConditional, formats.VerdictRejected)
}

// statuses lists the allowed statuses; a failure is always allowed.
func (c contractWriter) statuses() []string {
	out := allowed(c, formats.StatusCompleted)
	if len(c.verdicts()) > 0 || c.Info.StatusQuery != "" {
		out = []string{string(formats.StatusCompleted)}
	}
	out = append(out, allowed(c, formats.StatusPartial, formats.StatusBlocked)...)
	return append(out, string(formats.StatusFailed))
}

// blockStatuses are the statuses of a block. Work that says success has `failure` for the answer
// no; other work its verdict.
func (c contractWriter) blockStatuses() string {
	var words []string
	if c.Info.Statuses == nil || len(allowed(c, formats.StatusCompleted)) > 0 {
		words = []string{"success"}
		if c.Info.Statuses != nil && len(allowed(c, formats.VerdictRejected)) > 0 {
			words = append(words, "failure")
		}
	} else {
		words = allowed(
			c,
			formats.VerdictApproved,
			formats.VerdictConditional,
			formats.VerdictRejected,
		)
	}
	if c.Info.Statuses == nil {
		words = append(words, c.verdicts()...)
	} else {
		words = append(words, allowed(c, formats.OutcomeSkipped, formats.OutcomeSuspended)...)
	}
	words = append(words, allowed(c, formats.StatusPartial, formats.StatusBlocked)...)
	return strings.Join(append(words, "error"), ", ")
}
