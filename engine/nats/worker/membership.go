package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"tercet/engine/nats/link"
	"tercet/formats"
)

// JoinVariable is the variable with a join word, for machines that come and go.
const JoinVariable = "TERCET_TEAM"

// joinTime bounds the time that a hub has to let somebody in.
const joinTime = 30 * time.Second

// Membership is the one that a file keeps, else a new one by a join word. A word of another team
// than the kept one joins that team.
func Membership(ctx context.Context, file, word, name string) (link.Member, error) {
	kept, err := link.ReadMember(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}

	none := err != nil
	if word == "" {
		if none {
			return kept, formats.Fail(formats.CodeConfig,
				"ask the owner for a join word: tercet worker --join WORD in a clone, "+
					"tercet --on team join WORD for a person",
				"this user or clone belongs to no team")
		}
		return kept, nil
	}

	invitation, err := link.ParseInvitation(word)
	if err != nil {
		return kept, err
	}
	if !none && string(kept.Fingerprint) == string(invitation.Fingerprint[:]) {
		kept.Address = invitation.Address
		return kept, nil // it is let in already
	}
	return join(ctx, file, invitation, name)
}

// Lock keeps a second worker out of a clone, until unlock is called or the process ends.
func Lock(file string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, formats.OnFile("make", filepath.Dir(file), err)
	}

	f, err := os.OpenFile(file+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, formats.OnFile("open", file+lockSuffix, err)
	}

	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil, errors.Join(formats.Fail(formats.CodeLocked, "start it in another clone",
			"a worker works in this clone already"), f.Close())
	}

	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(formats.OnFile("write", file+lockSuffix, err), f.Close())
	}

	return func() { _ = f.Close() }, nil //nolint:errcheck // the lock ends with it
}

// lockSuffix ends the name of the lock of a clone. The file has the id of the worker's process.
const lockSuffix = ".lock"

// DrainSignal tells a worker to take no more runs.
const DrainSignal = syscall.SIGUSR1

// Drain tells the worker of a clone to take no more runs.
func Drain(file string) error {
	none := formats.Fail(formats.CodeNotFound, "type it in the clone where the worker runs",
		"no worker works in this clone")

	f, err := os.Open(file + lockSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return none
	}
	if err != nil {
		return formats.OnFile("open", file+lockSuffix, err)
	}

	defer f.Close() //nolint:errcheck // it was only read
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return none
	}

	var pid int
	if _, err := fmt.Fscan(f, &pid); err != nil || pid <= 1 {
		return formats.Fail(formats.CodeTransient, "try again", "the worker has only just begun")
	}
	if err := syscall.Kill(pid, DrainSignal); err != nil {
		return formats.Broken(formats.CodeIO, "the worker", err)
	}
	return nil
}

// join becomes a member and keeps the key in a file.
func join(ctx context.Context, file string, i link.Invitation, name string) (link.Member, error) {
	within, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	m, err := link.Join(within, i, NameFrom(name))
	if err != nil {
		return m, err
	}
	return m, m.Write(file)
}

// JoinTeam does the verb join of a person. It replaces an earlier membership.
func JoinTeam(ctx context.Context, file string, args []string, name string, out io.Writer) error {
	if len(args) != 1 {
		return formats.Fail(formats.CodeUsage, "tercet --on team join WORD",
			"expected one join word, got %d words", len(args))
	}

	i, err := link.ParseInvitation(args[0])
	if err != nil {
		return err
	}

	m, err := join(ctx, file, i, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "You are %s, a %s of the team at %s. Try: tercet --on team status\n",
		m.Name, m.Role, m.Address)
	return nil
}

// NameFrom makes the name of a member out of the name of a host or user.
func NameFrom(text string) string {
	name := strings.ToLower(text)
	name, _, _ = strings.Cut(name, ".") // a domain
	name = strings.Trim(regexp.MustCompile(`[^a-z0-9_-]+`).ReplaceAllString(name, "-"), "-_")
	const most = 40
	name = name[:min(len(name), most)]
	if name == "" {
		return "member"
	}
	return name
}
