package main

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

// showExits prints the table of exit codes.
func (a *app) showExits() {
	tab := formats.Table{Columns: []string{"code", "name", "when"}}
	exits := []fields{}
	for _, e := range formats.Exits() {
		codes := make([]string, len(e.Codes))
		for i, c := range e.Codes {
			codes[i] = c.String()
		}
		exits = append(exits, fields{
			"code":    e.Number,
			"name":    e.Name,
			"codes":   codes,
			"meaning": e.Meaning,
		})
		when := e.Meaning
		if len(codes) > 0 {
			when += " (" + strings.Join(codes, ", ") + ")"
		}
		tab.Rows = append(tab.Rows, []string{strconv.Itoa(e.Number), e.Name, when})
	}
	if !a.answerJSON("tercet.exit-codes/1", fields{"exits": exits}) {
		a.term.Table(tab)
		a.term.Note("tercet query keeps jq's own codes")
	}
}

const version = "0.1.0"

// commit is what release.sh built from, set by the linker.
var commit string

// builtFrom is the commit of this binary, with -dirty behind it where files had changed; empty
// where the build did not know one.
func builtFrom() string {
	info, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return commit
	}

	known := map[string]string{}
	for _, s := range info.Settings {
		known[s.Key] = s.Value
	}
	from := known["vcs.revision"]
	if from != "" && known["vcs.modified"] == "true" {
		from += "-dirty"
	}
	return from
}

// aboutBinary is one line about this binary.
func aboutBinary() string {
	words := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if from := builtFrom(); from != "" {
		words = append([]string{from}, words...)
	}
	return sprintf("tercet %s (%s)", version, strings.Join(words, " "))
}

func showVersion(c call) error {
	if !c.app.answerJSON("tercet.version/1", fields{
		"version": version,
		"commit":  builtFrom(),
		"go":      runtime.Version(),
		"os":      runtime.GOOS,
		"arch":    runtime.GOARCH,
	}) {
		c.app.term.Answer("%s", aboutBinary())
	}
	return nil
}

func showSchema(c call) error {
	schema, err := project.Schema(c.args[0])
	if err == nil {
		c.app.term.JSON(schema)
	}
	return err
}

var configVerbs = []verb{
	{
		use:   "list",
		short: "print every setting",
		args:  none,
		needs: aSession,
		flags: settingFlags,
		make:  configList,
	},
}

// configList prints what the configuration says, and where it says so.
func configList(cmd *cobra.Command, _ *app) run {
	origin := cmd.Flags().Bool("origin", false, "also the file and line that each value comes from")
	return func(c call) error {
		wait := ""
		if c.app.flags.lockTimeout > 0 {
			wait = c.app.flags.lockTimeout.String()
		}
		list := c.p.Config.List(
			project.Setting{Key: "runner", Value: c.app.flags.runner, Origin: "--runner"},
			project.Setting{Key: "model", Value: c.app.flags.model, Origin: "--model"},
			project.Setting{Key: "lock_timeout", Value: wait, Origin: "--lock-timeout"},
		)
		if c.app.answerJSON("tercet.config/1", fields{"settings": list}) {
			return nil
		}

		columns := 2
		if *origin {
			columns++
		}
		tab := formats.Table{Columns: []string{"key", "value", "origin"}[:columns]}
		for _, s := range list {
			tab.Rows = append(tab.Rows, []string{s.Key, s.Value, s.Origin}[:columns])
		}

		c.app.term.Table(tab)
		return nil
	}
}
