package subagents

import (
	"tercet/formats"
	"tercet/formats/schema"
)

// schemaProblems lists how the fields of good work break the schema of the request.
func schemaProblems(r formats.Request, ret formats.Return) ([]string, error) {
	if len(r.Schema) == 0 || !ret.Outcome().Passes() || ret.Outcome() == formats.OutcomeSkipped {
		return nil, nil
	}
	root, err := schema.Read(r.Schema)
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "the schema of " + r.Step + " cannot be read",
			Err:     err,
		}
	}
	s, faults := schema.Compile(root)
	if faults != nil {
		return nil, formats.Fail(formats.CodeBug, "",
			"the schema of %s is wrong: %s", r.Step, faults[0].Message)
	}

	fields := ret.Fields
	if fields == nil {
		fields = map[string]any{}
	}
	var out []string
	for _, v := range s.Validate(".fields", fields) {
		out = append(out, v.String())
	}
	return out, nil
}
