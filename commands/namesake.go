package commands

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
)

// shippedSource is the source with the commands inside the binary.
const shippedSource = "library"

var (
	// taskWord is a task number, or several of them and ranges, as other systems write them.
	taskWord = lazy.Regexp(`^#?[1-9]\d{0,8}(-[1-9]\d{0,8})?(,[1-9]\d{0,8}(-[1-9]\d{0,8})?)*$`)
	// taskRange is one part of it.
	taskRange = lazy.Regexp(`(\d+)(?:-(\d+))?`)
	// taskHint is a hint whose first argument is a task, in brackets if it may be left out.
	taskHint = lazy.Regexp(`^(\[?)\S*(?i:task)`)
)

// maxTaskWord bounds the tasks of one word.
const maxTaskWord = 1000

// checkNamesake checks the task of a prompt that has the name of a shipped workflow about a task:
// it has to exist. Where the file's hint says that its first argument is a task, anything else is a
// usage error.
func (l *Library) checkNamesake(
	ctx context.Context,
	c *dialect.Command,
	raw string,
) error {
	if l.Tasks == nil || !l.aboutTask(c.Name) {
		return nil
	}
	first, _, _ := strings.Cut(strings.TrimSpace(raw), " ")
	if !taskWord().MatchString(first) {
		hint := taskHint().FindStringSubmatch(strings.TrimSpace(c.Hint))
		if hint == nil || hint[1] != "" && first == "" {
			return nil
		}
		return formats.Fail(formats.CodeUsage,
			fmt.Sprintf("%s says that it takes %s; /%s:%s is the shipped one",
				c.File, c.Hint, dialect.Tercet, c.Name),
			"/%s: expected a task number, got %q", c.Name, first)
	}

	count := 0
	for _, part := range taskRange().FindAllStringSubmatch(first, -1) {
		low, _ := strconv.Atoi(part[1]) //nolint:errcheck // it has digits
		high, err := strconv.Atoi(part[2])
		if err != nil {
			high = low
		}
		for n := low; n <= high && count < maxTaskWord; n++ {
			if err := l.checkTaskAnywhere(ctx, c, n); err != nil {
				return err
			}
			count++
		}
	}
	return nil
}

// aboutTask reports whether a workflow of that name is shipped whose first argument is a task.
func (l *Library) aboutTask(name string) bool {
	if _, err := fs.Stat(library, path.Join(shippedSource, name+".md")); err != nil {
		return false
	}
	prog, _, err := l.Load(shippedSource, name+".md")
	return err == nil && len(prog.Args) > 0 && prog.Args[0].Type == argspec.Task &&
		prog.Args[0].Required
}

// checkTaskAnywhere fails for a task that neither the state nor a file of another system has.
func (l *Library) checkTaskAnywhere(ctx context.Context, c *dialect.Command, number int) error {
	err := l.checkTasks(ctx, c.Name, false, number)
	if l.Elsewhere == nil || formats.CodeOf(err) != formats.CodeNotFound {
		return err
	}

	file, line, has := l.Elsewhere(ctx, number)
	switch {
	case has && l.Tell != nil:
		l.Tell(fmt.Sprintf("task %d is in %s and not in tercet's state; take it over with: %s",
			number, file, line))
		return nil
	case has:
		return nil
	case file != "":
		return formats.Fail(formats.CodeNotFound,
			"'tercet task list' shows the tasks; those of "+file+" come with: "+line,
			"task %d is neither in tercet's state nor in %s", number, file)
	}
	return err
}
