package compile

import (
	"errors"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// Contract checks the jq of a subagent's contract. Places are in the subagent's file.
func Contract(info *formats.AgentInfo) []formats.Diagnostic {
	c := compiler{findings: findings{name: info.File, list: &formats.Diagnostics{}}}
	for _, one := range []struct {
		member, src string
		pos         syntax.Pos
	}{{"status", info.StatusQuery, info.StatusPos}, {"issues", info.IssuesQuery, info.IssuesPos}} {
		if one.src == "" {
			continue
		}
		e := &syntax.Expr{Pos: one.pos, Src: one.src}
		code, err := query.Compile(one.src, query.Options{Strict: true})
		for _, bad := range faults(err) {
			help := "it is jq over {status, fields}"
			if bad.DidYouMean != "" {
				help = "did you mean '" + bad.DidYouMean + "'?"
			}
			c.report(e.At(bad.Offset), CodeExpression, help, "returns.%s: %s", one.member, bad.Msg)
		}
		if err != nil {
			continue
		}
		for _, ref := range code.Paths() {
			c.checkMember(memberAt(e, ref, 0), []string{"status", "fields"})
			if len(ref.Path) > 1 && ref.Path[0] == "fields" {
				c.checkContractField(e, ref, 1, info)
			}
		}
	}

	c.reportMissing()
	return c.list.List
}

// faults are what the compiler of jq found.
func faults(err error) query.Errors {
	if list, many := errors.AsType[query.Errors](err); many {
		return list
	}
	if one, ok := errors.AsType[*query.Error](err); ok {
		return query.Errors{one}
	}
	return nil
}

// workersOf lists the subagents that a step may call, the built-in ones excepted.
func workersOf(info *Info) []*formats.AgentInfo {
	var out []*formats.AgentInfo
	for _, call := range []*Call{info.Call, info.Fallback} {
		if call == nil {
			continue
		}
		for _, one := range append([]*Call{call}, call.Among...) {
			if one.Info.Name != "" && !one.Info.Builtin {
				out = append(out, one.Info)
			}
		}
	}
	return out
}

// checkArtifactsMade reports a command that would be refused at its very end: it gives a task a
// status that needs an artifact, and none of its subagents may return one.
func checkArtifactsMade(c *compiler) {
	during, _ := c.prog.During()
	begins := during != ""
	links := false
	var workers []*formats.AgentInfo
	var ends []*syntax.Value
	for info := range c.prog.Infos() {
		workers = append(workers, workersOf(info)...)
		links = links || info.Call != nil && info.Call.Agent == StatusSync &&
			slices.ContainsFunc(info.Call.With, func(f syntax.Field) bool {
				return f.Key.Text == "artifacts"
			})
		a, ok := info.Step.Action.(*syntax.Status)
		if !ok || a.Phase != nil || a.To == nil || a.To.Kind != syntax.Literal {
			continue
		}
		begins = begins || formats.TaskStatus(literalText(a.To)).InProgress()
		if a.Task == nil {
			ends = append(ends, a.To)
		}
	}

	if c.workflow != nil || !begins || links {
		return
	}
	for _, to := range ends {
		kinds := formats.ArtifactsFor(formats.TaskStatus(literalText(to)))
		made := func(w *formats.AgentInfo) bool { return w.MayGive(kinds...) }
		if kinds == nil || workers == nil || slices.ContainsFunc(workers, made) {
			continue
		}
		c.report(to.Pos, CodeUnmade,
			"add {type: "+string(kinds[0])+"} to returns.artifacts of the subagent that makes it",
			"a task becomes %s only with a %s, and no subagent of this file returns one",
			literalText(to), strings.Join(formats.Words(kinds), " or "))
	}
}
