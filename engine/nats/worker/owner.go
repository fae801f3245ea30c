package worker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tercet/engine/nats/link"
	"tercet/formats"
)

// requireOwner refuses what only the owner of a team does.
func (c *Client) requireOwner(what string) error {
	if c.me.Role == link.Owner {
		return nil
	}
	return formats.Fail(formats.CodeDenied, "the user who runs 'tercet hub' does that",
		"only the owner of the team %s members; you are %s, a %s", what, c.me.Name, c.me.Role)
}

// invite prints a join word.
func (c *Client) invite(ctx context.Context, args []string) error {
	const help = "tercet --on team invite anna, or invite --worker --uses 3 --for 24h"
	f := flag.NewFlagSet("tercet --on team invite", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	worker := f.Bool("worker", false, "invite workers")
	uses := f.Int("uses", 1, "how many may use the word")
	span := f.Duration("for", 24*time.Hour, "how long it can be used")
	asJSON := f.Bool("json", false, "print JSON")

	words := flagsFirst(args)
	if err := f.Parse(words); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(c.out, help)
		return nil
	} else if err != nil || f.NArg() > 1 {
		return formats.Fail(formats.CodeUsage, help, "wrong words for invite: %s",
			strings.Join(args, " "))
	}

	if err := c.requireOwner("invites"); err != nil {
		return err
	}

	q := link.InviteRequest{Name: f.Arg(0), Role: link.Person, Uses: *uses, For: *span}
	how := "tercet --on team join"
	if *worker {
		q.Role = link.Agent
		how = "tercet worker --join"
	}

	var word link.InviteReply
	err := c.conn.Ask(ctx, link.Invite, q, &word)
	if err == nil {
		err = word.Fault.Err()
	}
	if err != nil {
		return err
	}

	if *asJSON {
		return c.printJSON(struct {
			Schema string `json:"schema"`
			link.InviteReply
		}{"tercet.team_invitation/1", word})
	}
	fmt.Fprintln(c.out, word.Word)
	fmt.Fprintf(c.err, "%s '...' joins with this word, %d of them until %s.\n",
		how, *uses, word.Until.Local().Format("2006-01-02 15:04"))
	return nil
}

// flagsFirst puts flags before the name, so that both orders can be typed.
func flagsFirst(args []string) []string {
	i := slices.IndexFunc(args, func(one string) bool { return !strings.HasPrefix(one, "-") })
	if i != 0 || len(args) < 2 {
		return args
	}
	return append(slices.Clone(args[1:]), args[0])
}

// members lists those who are let in.
func (c *Client) members(ctx context.Context, asJSON bool) error {
	t, err := c.fetchTeam(ctx)
	if err != nil {
		return err
	}

	if asJSON {
		return c.printJSON(struct {
			Schema  string            `json:"schema"`
			Members []link.MemberInfo `json:"members"`
		}{"tercet.team_members/1", t.Members})
	}

	for _, one := range t.Members {
		fmt.Fprintf(c.out, "%-20s %-7s since %s\n", one.Name, one.Role,
			one.Since.Local().Format("2006-01-02 15:04"))
	}
	return nil
}

// remove takes the membership of somebody back.
func (c *Client) remove(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return formats.Fail(formats.CodeUsage, "tercet --on team members lists them",
			"expected one member, got %d words", len(args))
	}
	if err := c.requireOwner("removes"); err != nil {
		return err
	}

	var done link.RemoveReply
	err := c.conn.Ask(ctx, link.Remove, link.RemoveRequest{Name: args[0]}, &done)
	if err == nil {
		err = done.Fault.Err()
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "%s is no member any more\n", args[0])
	return nil
}
