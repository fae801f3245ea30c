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
	"tercet/formats/documents"
	"tercet/internal/git"
	"tercet/internal/plain"
)

// Researcher searches the tree for the words of a task and cites the hits: file, line and history.
// It judges nothing.
type Researcher struct {
	offlineRunner

	Git   func(dir string) *git.Repo
	Clock Clock
}

const (
	reportName   = "report.md"
	historyFiles = 5     // files whose history is cited
	historyEach  = 5     // commits of each
	historyRead  = 2_000 // the newest commits, whose subjects are searched
	dateForm     = "2006-01-02"
)

// Run writes a report. Without a hit, and without commands in the task, it is partial, and the
// report lists what was tried.
func (s Researcher) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	if s.Git == nil || s.Clock == nil {
		return formats.Return{}, formats.Unset("git and a clock")
	}
	task, focus, err := taskAndText(r, "focus")
	if err != nil {
		return formats.Failed(err), nil
	}

	q := inquiry{
		task:    task,
		started: s.Clock.Now(),
		words:   searchWords(task.Title+"\n"+focus, task.Description),
	}
	if err := q.investigate(ctx, s.Git(r.Dir), r.Dir); err != nil {
		return agentFault(err)
	}

	text := q.report(s.Clock.Now()).Render()
	art, err := writeDocument(r, reportName, formats.ArtifactReport, text)
	if err != nil {
		return formats.Return{}, err
	}

	art.Summary = q.summary()
	ret := formats.Return{
		Status:    formats.StatusCompleted,
		Summary:   cutText(q.summary()+" (runner: offline)", formats.MaxSummary),
		Warnings:  q.notes,
		Artifacts: []formats.Artifact{art},
	}

	// A task that spells out its commands can be planned without a file to change.
	if len(q.found.Hits) == 0 && withoutFences(task.Description) == task.Description {
		ret.Status = formats.StatusPartial
		ret.NextSteps = fmt.Sprintf(
			"name a file, an identifier or a text in quotes that stands in the project: "+
				"/revise %d "+
				"TEXT",
			task.Number,
		)
	}
	return ret, nil
}

// inquiry is one delegation of a Researcher.
type inquiry struct {
	task    *formats.Task
	words   []searchWord
	started time.Time
	git     bool // the tree is in a git repository
	found   searchResult
	history []relevantCommit
	notes   []string
}

// relevantCommit is a commit with those of the files found that it changed.
type relevantCommit struct {
	commit git.Commit
	files  []string
}

// investigate searches the tree and reads the history of the files found.
func (q *inquiry) investigate(ctx context.Context, repo *git.Repo, dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return formats.OnFile("write", dir, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files, inGit, err := listFiles(ctx, repo)
	if err != nil {
		return err
	}

	q.git = inGit
	if !inGit {
		q.notes = append(
			q.notes,
			"no git repository: the folder was searched, and there is no history to cite",
		)
		files, err = listFolder(ctx, root)
		if err != nil {
			return err
		}
	}

	var log []git.Commit
	if inGit {
		log, err = repo.Log(ctx, historyRead)
		if err != nil {
			return err
		}
	}

	ask := query{q.words, q.task.Title, q.task.Description}
	q.found, err = search(ctx, root, files, ask, log)
	if err != nil || !inGit {
		return err
	}

	cited := map[string]int{}
	for _, c := range log {
		t := relevantCommit{commit: c}
		for _, d := range q.found.Files[:min(len(q.found.Files), historyFiles)] {
			if cited[d.name] < historyEach && slices.Contains(c.Files, d.name) {
				cited[d.name]++
				t.files = append(t.files, d.name)
			}
		}
		if t.files != nil {
			q.history = append(q.history, t)
		}
	}

	return nil
}

func (q *inquiry) summary() string {
	switch {
	case len(q.words) == 0:
		return "the task names no word to search for"
	case len(q.found.Hits) == 0:
		if len(q.words) == 1 {
			return "no file holds the only word of the task that the runner can search for"
		}
		return fmt.Sprintf("no file holds one of the %d words of the task", len(q.words))
	default:
		first := q.found.Hits[0]
		return fmt.Sprintf(
			"cites %s of %s, the first %s:%d, and %s",
			formats.Count(len(q.found.Hits), "line"), formats.Count(len(q.found.Files), "file"),
			plain.Line(first.File), first.Line, formats.Count(len(q.history), "commit"),
		)
	}
}

func (q *inquiry) report(now time.Time) documents.Draft {
	t := q.task
	sources := "the files of the folder"
	if q.git {
		sources = "git ls-files, git log"
	}
	return documents.Draft{
		Profile: documents.ProfileReport,
		Title:   t.Title,
		Texts: map[string]string{
			"Task":           fmt.Sprintf("%d - %s", t.Number, t.Title),
			"Started":        q.started.UTC().Format(dateForm),
			"Completed":      now.UTC().Format(dateForm),
			"Effort":         orNone(t.Effort),
			"Priority":       orNone(t.Priority),
			"Dependencies":   orNone(joinNumbers(t.Dependencies)),
			"Sources/Inputs": sources,
			"Artifacts":      "This report",
			"Standards":      "None",
			"Executive Summary": "Made by runner: offline, which searches for words and judges " +
				"nothing. Result: " +
				asSentence(q.summary()),
			"Context & Scope": q.scope(),
			"Findings":        q.findings(),
			"Decisions":       "None were taken: the runner searches and does not choose.",
			"Recommendations": q.recommendations(),
			"Appendix":        q.appendix(),
		},
	}
}

// scope is what was searched, and with which words.
func (q *inquiry) scope() string {
	var lines []string
	for i, w := range q.words {
		files := formats.Count(q.found.Counts[i], "file")
		lines = append(lines, fmt.Sprintf("%s (%s): %s", inlineCode(w.Text), w.Kind, files))
	}

	where := "the files of the folder"
	if q.git {
		where = "tracked files"
	}

	text := fmt.Sprintf(
		"The runner searched %s, their paths and the subjects of commits. It looked for the "+
			"identifiers, paths, quoted texts and words of title and description. It read %s, "+
			"and left out %s as no text or too large.",
		where,
		formats.Count(q.found.Searched, "text file"),
		formats.Count(q.found.Skipped, "file"),
	)

	if len(lines) == 0 {
		return text + "\n\nThe task has no such word."
	}
	return text + "\n\nWords tried:\n\n" + listOf(lines)
}

// findings cites lines and commits.
func (q *inquiry) findings() string {
	if len(q.found.Hits) == 0 {
		return "No file holds one of the words tried."
	}

	var lines, commits []string
	for _, h := range q.found.Hits {
		line := inlineCode(fmt.Sprintf("%s:%d", h.File, h.Line)) + ": " + inlineCode(h.Text)
		if len(h.Words) > 0 {
			line += " (" + wordList(h.Words) + ")"
		}
		lines = append(lines, line)
	}

	text := "The best match comes first. Each file has its best lines:\n\n" + listOf(lines) +
		"\n\nHow each file was found:\n\n" + listOf(q.reasons())
	for _, c := range q.history {
		commits = append(
			commits,
			fmt.Sprintf("%s %s: %s (%s)", inlineCode(c.commit.Short),
				c.commit.Date.UTC().Format(dateForm), oneLine(c.commit.Subject), wordList(c.files)),
		)
	}

	if len(commits) > 0 {
		text += "\n\nCommits that changed these files, the newest first:\n\n" + listOf(commits)
	}
	return text
}

// reasons says of each file what of the task is in its path, its text and the subjects of its
// commits.
func (q *inquiry) reasons() []string {
	var out []string
	for _, d := range q.found.Files {
		var why []string

		if d.named >= 0 {
			why = append(why, "the task names it")
		}
		if in := q.listCounts(d.path, false); in != "" {
			why = append(why, "path: "+in)
		}
		if in := q.listCounts(d.text, true); in != "" {
			why = append(why, "text: "+in)
		}
		if in := q.listCounts(d.subject, false); in != "" {
			why = append(
				why,
				fmt.Sprintf("subjects of %s: %s", formats.Count(d.commits, "commit"), in),
			)
		}
		out = append(out, inlineCode(d.name)+": "+strings.Join(why, "; "))
	}
	return out
}

// listCounts lists the words that stand somewhere, and how often.
func (q *inquiry) listCounts(times []int, tell bool) string {
	var out []string
	for i, n := range times {
		switch {
		case n > 0 && tell:
			out = append(out, fmt.Sprintf("%s %d", inlineCode(q.words[i].Text), n))
		case n > 0:
			out = append(out, inlineCode(q.words[i].Text))
		}
	}
	return strings.Join(out, ", ")
}

func wordList(list []string) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = inlineCode(w)
	}
	return strings.Join(out, ", ")
}

func oneLine(s string) string {
	return plain.Line(cutText(strings.Join(strings.Fields(s), " "), maxQuotedLine))
}

func (q *inquiry) recommendations() string {
	if len(q.found.Hits) == 0 {
		return "- Name a file, an identifier or a quoted text in the description, and research " +
			"again."
	}
	best := q.found.Hits[0]
	out := []string{fmt.Sprintf(
		"Read %s around line %d first: it is the best line of the best match.",
		inlineCode(best.File), best.Line,
	)}

	i := slices.IndexFunc(q.history, func(t relevantCommit) bool {
		return slices.Contains(t.files, best.File)
	})
	if i >= 0 {
		out = append(
			out,
			fmt.Sprintf("Look at commit %s, the newest that changed %s.",
				inlineCode(q.history[i].commit.Short), inlineCode(best.File)),
		)
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
		lines = append(lines, "Words without a file: "+wordList(none)+".")
	}
	for _, n := range q.notes {
		lines = append(lines, asSentence(n))
	}
	return listOf(lines)
}
