package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/subagents/checks"
)

// approver answers gates: once for each digest of a run, by --yes, by a digest that the person trusts, by the gate's
// own auto label where nobody can be asked, else by the person at the terminal.
type approver struct {
	*app

	mu      sync.Mutex
	kept    map[string]formats.Decision // by run and digest
	consent string                      // the auto-approve file that answers for the run; empty: none
}

// Approve implements the consumers' interface; a *formats.GateOpenError says that nobody can answer.
func (p *approver) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := g.Run + "\x00" + g.Digest
	if d, ok := p.kept[key]; ok && g.NeedsPerson {
		return d, nil
	}
	d, err := p.decide(ctx, g)
	if err != nil {
		return d, err
	}
	if p.kept == nil {
		p.kept = map[string]formats.Decision{}
	}
	p.kept[key] = d
	return d, nil
}

func (p *approver) decide(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	approve := ""
	if i := slices.IndexFunc(g.Choices, func(c formats.Choice) bool { return c.Approves }); i >= 0 {
		approve = g.Choices[i].Label
	}
	answer := func(label, by, shown string) (formats.Decision, error) {
		p.term.note("gate: %s %s (%s)", g.Question, label, shown)
		return formats.Decision{Answer: label, By: by}, nil
	}
	w, consented := p.built, cmp.Or(g.Auto, approve)
	switch {
	case consented == "":
	case p.flags.yes:
		return answer(consented, "--yes", "--yes")
	case approve != "" && g.NeedsPerson && w != nil && w.gate.Named(g.Digest):
		return answer(approve, "trusted digest", "trusted digest")
	case !g.NeedsPerson && p.consent != "":
		return answer(consented, "auto-approve file", p.consent)
	}
	switch {
	case p.interactive():
		return p.ask(ctx, g)
	case g.Auto != "":
		return answer(g.Auto, "auto", "auto")
	}
	return formats.Decision{}, &formats.GateOpenError{Gate: g}
}

// ask shows what the answer is bound to and reads one: a label, its first letter, or a number. Enter takes the last
// choice, which is the one that stops.
func (p *approver) ask(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	w := p.io.err
	for _, s := range g.Show {
		for line := range strings.SplitSeq(strings.TrimRight(plain.Text(s), "\n"), "\n") {
			fmt.Fprintln(w, "  | "+line)
		}
	}
	for {
		words := make([]string, len(g.Choices))
		for i, c := range g.Choices {
			_, size := utf8.DecodeRuneInString(c.Label)
			words[i] = fmt.Sprintf("[%s]%s", plain.Line(c.Label[:size]), plain.Line(c.Label[size:]))
		}
		last := g.Choices[len(g.Choices)-1].Label
		fmt.Fprintf(w, "%s  %s  (enter: %s) ", plain.Line(g.Question), strings.Join(words, "  "), plain.Line(last))
		line, err := p.readLine(ctx)
		if err != nil && (!errors.Is(err, io.EOF) || line == "") {
			fmt.Fprintln(w)
			if ctx.Err() != nil {
				return formats.Decision{}, context.Cause(ctx)
			}
			return formats.Decision{}, &formats.GateOpenError{Gate: g, Left: true}
		}
		word, note, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" {
			word = last
		}
		if label, ok := choose(g.Choices, word); ok {
			return formats.Decision{Answer: label, By: "person", Note: strings.TrimSpace(note)}, nil
		}
		fmt.Fprintf(w, "expected one of the choices, got %s; words behind the choice are kept as a note\n",
			plain.Line(strconv.Quote(word)))
	}
}

func choose(list []formats.Choice, word string) (string, bool) {
	i := slices.IndexFunc(list, func(c formats.Choice) bool { return strings.EqualFold(c.Label, word) })
	if i < 0 && len(word) == 1 {
		i = slices.IndexFunc(list, func(c formats.Choice) bool { return strings.EqualFold(c.Label[:1], word) })
	}
	if i < 0 {
		return "", false
	}
	return list[i].Label, true
}

// lines reads standard input line by line in one goroutine, so that a wait that a signal ends loses nothing: what is
// typed then answers the next question. The goroutine ends with the input, or with the process.
type lines struct {
	once sync.Once
	ch   chan lineRead
}

type lineRead struct {
	text string
	err  error
}

// readLine gives the next line of standard input without its line feed; io.EOF comes with the last, unended one.
func (a *app) readLine(ctx context.Context) (string, error) {
	a.lines.once.Do(func() {
		a.lines.ch = make(chan lineRead)
		go func() {
			for {
				text, err := a.in.ReadString('\n')
				a.lines.ch <- lineRead{strings.TrimRight(text, "\r\n"), err}
				if err != nil && !isTTY(a.io.in) {
					close(a.lines.ch)
					return
				}
			}
		}()
	})
	select {
	case got, ok := <-a.lines.ch:
		if !ok {
			return "", io.EOF
		}
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// approveOrReject are the choices of a question about what would run.
var approveOrReject = []formats.Choice{{Label: "approve", Approves: true}, {Label: "reject"}}

// check runs one check of the gatekeeper. A program that a command file names itself is asked about once a process;
// what a project's own tools are is known, and the person asked for it.
func (w *world) check(ctx context.Context, dir string, c checks.Check) (checks.Result, error) {
	if c.Stack == "" {
		sum := sha256.Sum256([]byte(strings.Join(c.Argv, "\x00")))
		d, err := w.approver.Approve(ctx, formats.Gate{
			Question: fmt.Sprintf("Run %q?", c.Argv), Show: []string{"the command file names this program as a check"},
			NeedsPerson: true, Digest: hex.EncodeToString(sum[:]), Choices: approveOrReject,
		})
		if err != nil {
			return checks.Result{}, err
		}
		if d.Answer != approveOrReject[0].Label {
			return checks.Result{}, formats.Fail(formats.CodeDenied, "", "running %q was not approved", c.Argv)
		}
	}
	return checks.Run(ctx, w.starter, dir, c, w.checkBounds())
}
