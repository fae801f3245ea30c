package prompt

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"text/template"

	"tercet/formats"
)

// contractText holds the parts of a contract; `code` puts a text into backticks.
//
//go:embed contract.tmpl
var contractText string

// contractTexts are the parts, parsed when the first is needed: parsing takes longer than all that
// is said with them.
var contractTexts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"inline": func(v any) string {
			return inline(reflect.ValueOf(v).String())
		},
		"code": func(s string) string { return "`" + inline(s) + "`" },
		"choice": func(words []string) string {
			return strings.Join(words, "|")
		},
	}).Parse(contractText))
})

// contract says how to return, out of what the subagent's file promises.
func contract(in Input) string {
	c := contractor{Input: in}
	if in.Request.Question != "" {
		// Nothing of what the work needs or makes is due.
		c.Info = formats.AgentInfo{
			Name:        c.Info.Name,
			NoArtifacts: true,
			AgentResult: c.Info.AgentResult,
		}
	}
	say := func(name string) string {
		var b strings.Builder
		if err := contractTexts().ExecuteTemplate(&b, name, c); err != nil {
			return err.Error() // a test makes every part
		}
		return b.String()
	}
	var s sheet
	s.add(settle(in.Request.Facets.Output))
	s.add(say("documents"))
	s.add("## Return")
	s.add(say("where"))
	what := "The object ~fields~ of the return"
	if c.Block() {
		s.add(material("The block, each value replaced by yours:", "text", say("block")))
		what = "The fields of the block, as one object,"
	} else {
		s.add(material(
			"The members of the object; words between | are a choice, and a member that is not "+
				"needed is left "+
				"out:",
			"text",
			say("json"),
		))
	}

	var schema bytes.Buffer
	if in.Request.Question == "" && json.Indent(&schema, in.Request.Schema, "", "  ") == nil {
		what = strings.ReplaceAll(what, "~", "`") +
			" must fit this JSON Schema; every violation is told, once:"
		s.add(material(what, "json", schema.String()))
	}
	s.add(say("rules"))
	return s.String()
}

// contractor answers what the texts of a contract ask.
type contractor struct{ Input }

// Block reports whether the return is an AGENT_RESULT block.
func (c contractor) Block() bool {
	return c.Info.AgentResult
}

// Moved reports whether the contract names documentation, which tercet moves from the folder for
// documents to docs/.
func (c contractor) Moved() bool {
	documentation := func(s formats.ArtifactSpec) bool {
		return s.Type == formats.ArtifactDocumentation
	}
	return slices.ContainsFunc(c.Info.Artifacts, documentation)
}

// Name is the agent's name.
func (c contractor) Name() string {
	return inline(cmp.Or(c.Info.Name, c.Request.Agent))
}

// MaxSummary bounds a summary, in characters.
func (contractor) MaxSummary() int {
	return formats.MaxSummary
}

// Codes lists the codes of errors that a worker has a use for. The last is that of any other error.
func (contractor) Codes() []string {
	return formats.Words([]formats.Code{
		formats.CodeTransient, formats.CodeTimeout, formats.CodeToolUnavailable,
		formats.CodeBuildError, formats.CodeDenied, formats.CodeUnknown,
	})
}

// field is a member of fields as a contract shows it.
type field struct {
	Name, Kind string
	List       bool
}

// Fields lists the members of fields with their types.
func (c contractor) Fields() []field {
	var out []field
	for _, name := range slices.Sorted(maps.Keys(c.Info.Fields)) {
		f := c.Info.Fields[name]
		if c.Block() && name == "ARTIFACT_PATHS" {
			continue // the block has ARTIFACTS
		}
		kind := string(f.Type)
		if f.Type == formats.TypeList && !c.Block() {
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

// Types lists the allowed artifact types.
func (c contractor) Types() []string {
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
func allowed[T ~string](c contractor, outcomes ...T) []string {
	var out []string
	for _, o := range outcomes {
		if c.Info.Statuses == nil || slices.Contains(c.Info.Statuses, formats.Outcome(o)) {
			out = append(out, string(o))
		}
	}
	return out
}

// Verdicts lists the allowed verdicts; none if tercet derives the verdict from fields.
func (c contractor) Verdicts() []string {
	if c.Info.StatusQuery != "" || c.Info.Role != formats.RoleReviewer && c.Info.Statuses == nil {
		return nil
	}
	return allowed(c, formats.VerdictApproved, formats.VerdictConditional, formats.VerdictRejected)
}

// Blocked reports whether the contract allows the agent to ask a question.
func (c contractor) Blocked() bool {
	return len(allowed(c, formats.StatusBlocked)) > 0
}

// Statuses lists the allowed statuses; a failure is always allowed.
func (c contractor) Statuses() []string {
	out := allowed(c, formats.StatusCompleted)
	if len(c.Verdicts()) > 0 || c.Info.StatusQuery != "" {
		out = []string{string(formats.StatusCompleted)}
	}
	out = append(out, allowed(c, formats.StatusPartial, formats.StatusBlocked)...)
	return append(out, string(formats.StatusFailed))
}

// Words are the statuses of a block. Work that says success has `failure` for the answer no; other
// work its verdict.
func (c contractor) Words() string {
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
		words = append(words, c.Verdicts()...)
	} else {
		words = append(words, allowed(c, formats.OutcomeSkipped, formats.OutcomeSuspended)...)
	}
	words = append(words, allowed(c, formats.StatusPartial, formats.StatusBlocked)...)
	return strings.Join(append(words, "error"), ", ")
}
