package main

import (
	"slices"
	"strings"

	"tercet/project"
)

// doctor says what is there, what is missing and what to do about it. It changes nothing.
func doctor(c call) error {
	found, err := c.s.Checkup(c.ctx)
	if err != nil {
		return err
	}
	about := strings.TrimPrefix(aboutBinary(), "tercet ")
	list := append([]project.Finding{{Name: "tercet", Grade: project.Fine, Text: about}}, found...)
	bad := slices.ContainsFunc(list, func(f project.Finding) bool {
		return f.Grade == project.Failure
	})

	if !c.app.answerJSON("tercet.doctor/1", fields{"ok": !bad, "findings": list}) {
		for _, f := range list {
			c.app.term.Sentence("%-4s  %-10s  %s", f.Grade, f.Name, f.Text)
			for line := range strings.Lines(f.Fix) {
				c.app.term.Answer("                  %s", strings.TrimSuffix(line, "\n"))
			}
		}
	}

	if bad {
		return shownError{1}
	}
	return nil
}
