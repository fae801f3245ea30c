package returns

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Result is the parsed output of an agent, whether accepted or refused.
type Result struct {
	Agent    string          `json:"agent"`
	Status   string          `json:"status"` // the effective status; in a block as written
	Fields   map[string]any  `json:"fields"`
	Next     string          `json:"next"`
	Return   *formats.Return `json:"return"` // nil if the output is refused
	Warnings []string        `json:"warnings"`
	Nested   []string        `json:"nested"` // agents named in the other blocks
	// Unauthenticated means that the output lacks its delegation's nonce; it may come from quoted
	// text.
	Unauthenticated bool `json:"unauthenticated"`
}

// ReadResult reads an agent's output: a return as JSON, alone or in a json fence, or an
// AGENT_RESULT block. Of several blocks it takes the last one of opt.Agent, else the last. It
// applies the agent's contract. The Result is valid also beside an error, a *Diagnostics with all
// findings.
func ReadResult(
	src []byte,
	opt ParseOptions,
	contract func(agent string) formats.AgentInfo,
) (Result, error) {
	info := contract(opt.Agent)
	opt.Contract = &info
	src = formats.WithoutBOM(src)
	if bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		return objectResult(src, src, 0, opt)
	}

	blocks, found := ParseAgentResult(src)
	for i := range found {
		found[i].File = opt.File
	}
	if len(blocks) == 0 {
		object, ok := findObject(src, opt.Nonce)
		switch {
		case ok && object.fault == "":
			return objectResult(src, []byte(object.text), object.line-1, opt)
		case ok:
			found = slices.DeleteFunc(found, func(d formats.Diagnostic) bool {
				return d.Code == codeNoResult
			})
			found = append(found, formats.Diagnostic{
				Code:     codeNoResult,
				Severity: formats.SeverityError,
				File:     opt.File,
				Pos:      formats.Pos{Line: object.line, Col: 1},
				Message:  object.place() + " is no return: " + object.fault,
				Help:     "put it into a fence marked json, with nothing else in the fence",
			})
		}
	} else if opt.Agent == "" {
		opt.Agent = blocks[len(blocks)-1].Agent
		info = contract(opt.Agent)
	}

	own, nested, ok := PickResult(blocks, opt.Agent)
	out := Result{
		Agent:           opt.Agent,
		Status:          own.Status,
		Fields:          map[string]any{},
		Next:            own.Next,
		Warnings:        append([]string{}, own.Warnings...),
		Nested:          []string{},
		Unauthenticated: opt.Nonce == "" || own.Text("NONCE") != opt.Nonce,
	}
	for _, n := range nested {
		out.Nested = append(out.Nested, n.Agent)
	}

	if ok {
		found = slices.DeleteFunc(found, func(d formats.Diagnostic) bool {
			return !own.contains(d.Pos)
		})
	} else if len(blocks) > 0 {
		found = append(
			found,
			formats.Found(codeNoResult, blocks[0].Pos, "name the agent whose return it is",
				"expected a block of %q, got %s", opt.Agent, strings.Join(out.Nested, ", ")),
		)
	}
	return out, out.acceptBlock(own, formats.Findings{File: opt.File, List: found}, opt, src)
}

// findObject returns the last object with a status in an output. One in a fence marked json takes
// precedence over others; one in any fence with the nonce over all, and has no fault.
func findObject(src []byte, nonce string) (object candidateText, ok bool) {
	all := fencedObjects(src)
	if bare, ok := findBareObject(src); ok && len(all) == 0 {
		all = append(all, bare)
	}

	for _, b := range slices.Backward(all) {
		limits := jsonx.Limits{Bytes: MaxSize, Depth: maxDepth}
		root, err := jsonx.Parse([]byte(b.text), limits)
		if err != nil || root.Get("status") == nil {
			continue
		}

		got, _ := root.Get("nonce").Str()
		if nonce != "" && got == nonce && b.fault != betweenText {
			b.fault = ""
			return b, true
		}
		if !ok || object.fault != "" && b.fault == "" {
			object = b
			ok = true
		}
	}
	return object, ok
}

// objectResult parses the object that follows some lines of an output.
func objectResult(src, object []byte, lines int, opt ParseOptions) (Result, error) {
	ret, err := Parse(object, opt)
	_, _, unknown := FinalMessage(object, ParseOptions{Agent: opt.Agent, Nonce: opt.Nonce})
	out := Result{
		Agent:           opt.Agent,
		Fields:          map[string]any{},
		Next:            ret.NextSteps,
		Warnings:        append([]string{}, ret.Warnings...),
		Nested:          []string{},
		Unauthenticated: unknown != nil,
	}
	maps.Copy(out.Fields, ret.Fields)
	if ret.Status != "" {
		out.Status = ret.Outcome().String()
	}
	if err == nil {
		out.Return = &ret
		return out, nil
	}

	f := formats.Findings{File: opt.File}
	//nolint:errcheck,errorlint // the one kind there is
	for _, d := range err.(*formats.Diagnostics).List {
		d.File = opt.File
		d.Pos.Line = d.Pos.Line + lines
		d.End.Line = d.End.Line + lines
		f.List = append(f.List, d)
	}

	return out, refusal(&f, src)
}

// acceptBlock checks a block completely, and takes its return if it is valid. In strict mode,
// repairs are errors.
func (out *Result) acceptBlock(
	own AgentResult,
	f formats.Findings,
	opt ParseOptions,
	src []byte,
) error {
	for i := 0; opt.Strict && i < len(f.List); i++ {
		f.List[i].Severity = formats.SeverityError
	}

	ret, err := own.Return()
	if err == nil {
		maps.Copy(out.Fields, ret.Fields)
		delete(out.Fields, "NEXT")
		broken := violations(Typed(ret, opt.Contract.Fields), *opt.Contract, opt.Faulty)
		if field := own.Field("ARTIFACTS"); field != nil && opt.Strict {
			_, dropped := artifactsOf(field)
			for _, text := range dropped {
				broken = append(broken, ruleViolation{"artifacts", 0, text})
			}
		}
		for _, b := range broken {
			at := own.Field(strings.ToUpper(b.member))
			switch {
			case !opt.Strict:
				ret.Warnings = append(ret.Warnings, b.text)
			case at == nil:
				f.Add(codeReturnRule, own.Pos, helpRule, "%s", b.text)
			default:
				f.Add(codeReturnRule, at.Pos, helpRule, "%s", b.text)
			}
		}
	}

	if err == nil &&
		!slices.ContainsFunc(f.List, func(d formats.Diagnostic) bool {
			return d.Severity == formats.SeverityError
		}) {
		out.Return = &ret
		out.Warnings = append([]string{}, ret.Warnings...)
		return nil
	}

	if err != nil && f.List == nil {
		f.Add(codeUnknownStatus, own.Pos, "", "%s", fmt.Sprint(err))
	}
	return refusal(&f, src)
}
