package interp

import (
	"fmt"

	"tercet/formats"
)

// fieldsOf are the fields of a return as a schema sees them: without any they are an empty object.
func fieldsOf(ret formats.Return) map[string]any {
	if ret.Fields == nil {
		return map[string]any{}
	}
	return ret.Fields
}

// shaped holds the command's own return to the file's output_schema. One that breaks it is no answer for those who read
// it by the schema: the command has failed, and every violation is told.
func (r *run) shaped(ret formats.Return) formats.Return {
	if r.prog.Output == nil || r.dry.on || !ret.Outcome().Passes() {
		return ret
	}
	found := r.prog.Output.Validate(".fields", fieldsOf(ret))
	if found == nil {
		return ret
	}
	message := found[0].String()
	if len(found) > 1 {
		message = fmt.Sprintf("%s, and %d more violations of output_schema", message, len(found)-1)
	}
	out := formats.Failed(&formats.Failure{
		Code: formats.CodeInvalidReturn, Message: message,
		Help: "give the fields in 'return', or change output_schema of " + r.prog.File.Name,
	})
	out.Artifacts, out.Text = ret.Artifacts, ret.Text
	for _, v := range found {
		out.Issues = append(out.Issues, formats.Issue{Level: formats.LevelError, Description: v.String(), Source: "check"})
	}
	return out
}
