package proc

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

// afterTime bounds the time of Command.After.
const afterTime = 20 * time.Second

// afterWord stands before Command.After among the words of a supervisor. No path of a program begins with it.
const afterWord = "--after="

// afterWords gives Command.After as a supervisor is told, or nothing.
func afterWords(after []string) []string {
	if len(after) == 0 {
		return nil
	}
	text, err := json.Marshal(after)
	if err != nil {
		return nil // strings are always JSON
	}
	return []string{afterWord + string(text)}
}

// cutAfter takes Command.After off the words of a supervisor.
func cutAfter(words []string) (after, rest []string) {
	if len(words) == 0 {
		return nil, words
	}
	text, ok := strings.CutPrefix(words[0], afterWord)
	if !ok {
		return nil, words
	}
	if json.Unmarshal([]byte(text), &after) != nil {
		return nil, nil
	}
	return after, words[1:]
}

// after runs Command.After where no supervisor does.
func (k *child) after(ctx context.Context, env []string) {
	words := k.command.After
	if k.keeper != nil || len(words) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env, cmd.WaitDelay = env, DefaultDrain
	ignore(cmd.Run()) // what was to be removed may be gone already; whoever looks afterwards sees it
}
