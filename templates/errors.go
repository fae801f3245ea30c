package templates

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// NameError reports a name that no command or subagent can have.
type NameError struct {
	What string // command or subagent
	Got  string
}

// Error states what was expected and got.
func (e *NameError) Error() string {
	if device(e.Got) {
		return fmt.Sprintf("expected a name of a %s that a file can have everywhere, got %q, a device on Windows", e.What, e.Got)
	}
	return fmt.Sprintf("expected a name of a %s, at most 32 lower case letters, digits and '-' that start with a letter, got %q", e.What, e.Got)
}

// ErrorCode is VALIDATION_FAILED.
func (e *NameError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// PurposeError reports a purpose that says nothing, or too much.
type PurposeError struct{ Characters int }

// Error states what was expected and got.
func (e *PurposeError) Error() string {
	if e.Characters == 0 {
		return "expected what the command does, got nothing"
	}
	return fmt.Sprintf("expected at most %d characters of purpose, got %d", maxPurpose, e.Characters)
}

// ErrorCode is VALIDATION_FAILED.
func (e *PurposeError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// CountError reports a number of subagents that a shape does not take.
type CountError struct {
	Shape       Shape
	Got         int
	Least, Most int
	Role        formats.Role // only subagents of this role were counted; empty: all
}

// Error states what was expected and got.
func (e *CountError) Error() string {
	what := "subagents"
	if e.Role != "" {
		what = "subagents of role " + e.Role.String()
	}
	want := fmt.Sprintf("%d to %d", e.Least, e.Most)
	if e.Least == e.Most {
		want = fmt.Sprint(e.Least)
	}
	return fmt.Sprintf("expected %s %s for shape %s, got %d", want, what, e.Shape, e.Got)
}

// ErrorCode is VALIDATION_FAILED.
func (e *CountError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help names the shape that takes so many.
func (e *CountError) Help() string {
	switch {
	case e.Role != "":
		return "let one of them do the phases, or use --shape iterative"
	case e.Got == 1:
		return "use --shape single"
	case e.Got > e.Most && e.Got <= maxAgents:
		return "use --shape sequential"
	}
	return "name them with --agents a,b"
}

// InputError reports a subagent that needs an input which a generated command does not have.
type InputError struct {
	Agent, Input string
	Type         formats.InputType
	Has          []string // what the command can give
	Builtin      bool
}

// Error names the subagent and the input.
func (e *InputError) Error() string {
	return fmt.Sprintf("subagent %s needs the input '%s' (%s), expected one of %s", e.Agent, e.Input, e.Type, strings.Join(e.Has, ", "))
}

// ErrorCode is VALIDATION_FAILED.
func (e *InputError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help says what to do next.
func (e *InputError) Help() string {
	if e.Builtin {
		return (&BuiltinError{Agent: e.Agent}).Help()
	}
	return "make the input optional in the subagent's file, or write the command by hand"
}

// BuiltinError reports a built-in subagent in the place of a worker.
type BuiltinError struct{ Agent string }

// Error names the subagent.
func (e *BuiltinError) Error() string {
	return fmt.Sprintf("expected a worker, got the built-in subagent %s", e.Agent)
}

// ErrorCode is VALIDATION_FAILED.
func (e *BuiltinError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help says what to do next.
func (e *BuiltinError) Help() string {
	return "what it does depends on its inputs: write that step by hand"
}

// PlanError reports subagents of which one makes the plan that the other needs when the command starts.
type PlanError struct{ Planner, Implementer string }

// Error names both.
func (e *PlanError) Error() string {
	return fmt.Sprintf("%s makes a plan and %s does the phases of one, and a command reads the plan before its first step", e.Planner, e.Implementer)
}

// ErrorCode is VALIDATION_FAILED.
func (e *PlanError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help names the shape in which both have a place.
func (e *PlanError) Help() string {
	return "make two commands, or use --shape conditional --agents " + e.Implementer + "," + e.Planner
}

// ContractError reports a subagent whose contract lacks what its role implies.
type ContractError struct {
	Agent string
	Role  formats.Role
	Needs formats.ArtifactType
}

// Error names the subagent and what is missing.
func (e *ContractError) Error() string {
	return fmt.Sprintf("subagent %s of role %s promises no %s, without which the task cannot take its status", e.Agent, e.Role, e.Needs)
}

// ErrorCode is VALIDATION_FAILED.
func (e *ContractError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help says what to do next.
func (e *ContractError) Help() string {
	return fmt.Sprintf("add {type: %s} to returns.artifacts of the subagent", e.Needs)
}

// FileError reports a template that cannot be filled in: a defect of the program.
type FileError struct {
	Name string
	Err  error
}

// Error gives the template and the cause.
func (e *FileError) Error() string { return fmt.Sprintf("template %s: %v", e.Name, e.Err) }

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }

// ErrorCode is BUG.
func (e *FileError) ErrorCode() formats.Code { return formats.CodeBug }
