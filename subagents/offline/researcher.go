package offline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/git"
)

// Researcher searches the tree for the words of a task and cites what it finds: file, line and history. It judges
// nothing.
type Researcher struct {
	named

	Git   func(dir string) *git.Repo
	Clock Clock
}

const (
	reportName   = "report.md"
	historyFiles = 5 // files whose history is read
	historyEach  = 5 // commits of each
	dateForm     = "2006-01-02"
)

// Run writes a report. Without a line to cite it is partial, and the report says what was tried.
func (s Researcher) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	if s.Git == nil || s.Clock == nil {
		return formats.Return{}, formats.Unset("git and a clock")
	}
	task, focus, err := asked(r, "focus")
	if err != nil {
		return formats.Failed(err), nil
	}
	q := inquiry{task: task, started: s.Clock.Now(), words: words(task.Title+"\n"+focus, task.Description)}
	if err := q.look(ctx, s.Git(r.Dir), r.Dir); err != nil {
		return agentFault(err)
	}
	art, err := place(r, reportName, formats.ArtifactReport, q.report(s.Clock.Now()).Render())
	if err != nil {
		return formats.Return{}, err
	}
	art.Summary = q.summary()
	ret := formats.Return{
		Status: formats.StatusCompleted, Summary: cutText(q.summary()+" (runner: offline)", formats.MaxSummary),
		Warnings:  q.notes,
		Artifacts: []formats.Artifact{art},
	}
	if len(q.found.Hits) == 0 {
		ret.Status = formats.StatusPartial
		ret.NextSteps = fmt.Sprintf("name a file, an identifier or a text in quotes that stands in the project: /revise %d "+
			"TEXT", task.Number)
	}
	return ret, nil
}

// inquiry is one delegation of a Researcher.
type inquiry struct {
	task    *formats.Task
	words   []searchWord
	started time.Time
	git     bool // the tree is in a git repository
	found   finding
	history []touch
	notes   []string
}

// touch is a commit with those of the files found that it changed.
type touch struct {
	commit git.Commit
	files  []string
}

// look searches the tree and reads the history of the files found.
func (q *inquiry) look(ctx context.Context, repo *git.Repo, dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return formats.OnFile("write", dir, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files, inGit, err := listFiles(ctx, repo)
	if err != nil {
		return err
	}
	if q.git = inGit; !inGit {
		q.notes = append(q.notes, "no git repository: the folder was searched, and there is no history to cite")
		if files, err = walk(ctx, root); err != nil {
			return err
		}
	}
	if q.found, err = search(ctx, root, files, q.words); err != nil || !inGit {
		return err
	}
	for _, name := range q.found.Files[:min(len(q.found.Files), historyFiles)] {
		list, err := repo.Log(ctx, historyEach, name)
		if err != nil {
			return err
		}
		for _, c := range list {
			q.touched(c, name)
		}
	}
	// From the newest; commits of one second stay as they were found.
	slices.SortStableFunc(q.history, func(a, b touch) int { return b.commit.Date.Compare(a.commit.Date) })
	return nil
}

func (q *inquiry) touched(c git.Commit, file string) {
	i := slices.IndexFunc(q.history, func(t touch) bool { return t.commit.Hash == c.Hash })
	if i < 0 {
		i = len(q.history)
		q.history = append(q.history, touch{commit: c})
	}
	q.history[i].files = append(q.history[i].files, file)
}

func (q *inquiry) summary() string {
	switch {
	case len(q.words) == 0:
		return "the task names no word to search for"
	case len(q.found.Hits) == 0:
		return "no line holds one of the " + plural(len(q.words), "word") + " of the task"
	default:
		return fmt.Sprintf("cites %s of %s, the first %s:%d, and %s", plural(len(q.found.Hits), "line"),
			plural(q.citedFiles(), "file"), q.found.Hits[0].File, q.found.Hits[0].Line, plural(len(q.history), "commit"))
	}
}

func (q *inquiry) citedFiles() int {
	seen := map[string]bool{}
	for _, h := range q.found.Hits {
		seen[h.File] = true
	}
	return len(seen)
}

func (q *inquiry) report(now time.Time) formats.Draft {
	t := q.task
	sources := "the files of the folder"
	if q.git {
		sources = "git ls-files, git log"
	}
	return formats.Draft{Profile: formats.ProfileReport, Title: t.Title, Texts: map[string]string{
		"Task":    fmt.Sprintf("%d - %s", t.Number, t.Title),
		"Started": q.started.UTC().Format(dateForm), "Completed": now.UTC().Format(dateForm),
		"Effort": orNone(t.Effort), "Priority": orNone(t.Priority), "Dependencies": orNone(numbers(t.Dependencies)),
		"Sources/Inputs": sources, "Artifacts": "This report", "Standards": "None",
		"Executive Summary": "Made by runner: offline, which searches for words and judges nothing. Result: " +
			sentence(q.summary()),
		"Context & Scope": q.context(), "Findings": q.findings(),
		"Decisions":       "None were taken: the runner searches and does not choose.",
		"Recommendations": q.recommendations(), "Appendix": q.appendix(),
	}}
}

// context lists the words that were tried.
func (q *inquiry) context() string {
	var lines []string
	for i, w := range q.words {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", code(w.Text), w.Kind, plural(q.found.Counts[i], "line")))
	}
	where := "The files of the folder"
	if q.git {
		where = "Tracked files"
	}
	text := fmt.Sprintf("%s were searched for the identifiers, paths, quoted texts and telling words of title and "+
		"description: %s read, %s passed over as no text or too large.",
		where, plural(q.found.Searched, "text file"), plural(q.found.Skipped, "file"))
	if len(lines) == 0 {
		return text + "\n\nThe task holds no such word."
	}
	return text + "\n\nWords tried:\n\n" + listOf(lines)
}

// findings cites lines and commits.
func (q *inquiry) findings() string {
	if len(q.found.Hits) == 0 {
		return "No line holds one of the words tried."
	}
	var lines, commits []string
	for _, h := range q.found.Hits {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", code(fmt.Sprintf("%s:%d", h.File, h.Line)), code(h.Text),
			wordList(h.Words)))
	}
	text := "Lines, the most telling first:\n\n" + listOf(lines)
	for _, c := range q.history {
		commits = append(commits, fmt.Sprintf("%s %s: %s (%s)", code(c.commit.Short), c.commit.Date.UTC().Format(dateForm),
			oneLine(c.commit.Subject), wordList(c.files)))
	}
	if len(commits) > 0 {
		text += "\n\nCommits that touched these files, the newest first:\n\n" + listOf(commits)
	}
	return text
}

func wordList(list []string) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = code(w)
	}
	return strings.Join(out, ", ")
}

func oneLine(s string) string { return cutText(strings.Join(strings.Fields(s), " "), maxQuotedLine) }

func (q *inquiry) recommendations() string {
	if len(q.found.Hits) == 0 {
		return "- Name a file, an identifier or a quoted text in the description, and research again."
	}
	best := q.found.Hits[0]
	out := []string{fmt.Sprintf("Read %s around line %d first: it is the most telling line found.", code(best.File),
		best.Line)}
	if i := slices.IndexFunc(q.history, func(t touch) bool { return slices.Contains(t.files, best.File) }); i >= 0 {
		out = append(out, fmt.Sprintf("Look at commit %s, the newest that touched %s.", code(q.history[i].commit.Short),
			code(best.File)))
	}
	return listOf(out)
}

func (q *inquiry) appendix() string {
	var none []string
	for i, w := range q.words {
		if q.found.Counts[i] == 0 {
			none = append(none, w.Text)
		}
	}
	var lines []string
	if len(none) > 0 {
		lines = append(lines, "Words without a line: "+wordList(none)+".")
	}
	if more := q.found.Matches - len(q.found.Hits); more > 0 {
		lines = append(lines, plural(more, "further line")+" with a word of the task, not listed.")
	}
	for _, n := range q.notes {
		lines = append(lines, sentence(n))
	}
	return listOf(lines)
}
