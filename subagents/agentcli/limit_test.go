package agentcli_test

import (
	"testing"
	"time"

	"tercet/subagents/agentcli"
)

// TestLimit: the messages in which the programs say that the account's usage limit is reached, with
// when it ends; what is only busy is none.
func TestLimit(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	now := time.Date(2026, 1, 31, 22, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		fault agentcli.Fault
		want  string // when it ends, "unknown", or empty: it is no limit
	}{
		{
			agentcli.Fault{Message: "You've hit your 5-hour limit · resets 6am (UTC)"},
			"2026-02-01 06:00:00",
		},
		{
			agentcli.Fault{
				Message: "You've hit your session limit · resets 11:15pm (Europe/Berlin)",
			},
			"2026-02-01 22:15:00",
		},
		{
			agentcli.Fault{Message: "You've hit your weekly limit · resets Feb 3 at 10am (UTC)"},
			"2026-02-03 10:00:00",
		},
		{
			agentcli.Fault{
				Message: "You’ve hit your usage limit. Upgrade to Pro " +
					"(https://chatgpt.com/explore/pro) or try again at 11:05 PM.",
			},
			"2026-01-31 23:05:00",
		},
		{
			agentcli.Fault{
				Message: "You've hit your usage limit. Try again at Feb 4th, 2026 3:05 PM.",
			},
			"2026-02-04 15:05:00",
		},
		{
			agentcli.Fault{
				Message: "You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.",
			},
			"2026-02-04 02:35:00",
		},
		{agentcli.Fault{Message: "You've hit your usage limit."}, "unknown"},
		{
			agentcli.Fault{
				Message: "You've reached your weekly rate limit. Please wait for your limit " +
					"to reset",
			},
			"unknown",
		},
		{
			agentcli.Fault{
				Message: "You've used all your Copilot Free chat requests for the month.",
			},
			"unknown",
		},
		{
			agentcli.Fault{
				Message: "You have exhausted your capacity on this model. Your quota will reset " +
					"after 18h45m7s.",
			},
			"2026-02-01 17:15:07",
		},
		{agentcli.Fault{Message: "You have exhausted your daily quota on this model."}, "unknown"},
		{agentcli.Fault{Status: 429, Message: "rate limit exceeded"}, ""},
		{
			agentcli.Fault{Status: 429, Message: "You have exhausted your capacity on this model."},
			"",
		},
		{agentcli.Fault{Message: "max_turns limit reached"}, ""},
		{agentcli.Fault{Message: "prompt is too long: context limit reached"}, ""},
	} {
		until, reached := c.fault.Limit(now)
		got := ""
		switch {
		case reached && until.IsZero():
			got = "unknown"
		case reached:
			got = until.Format(time.DateTime)
		}
		if got != c.want {
			t.Errorf("Limit(%+v) = %q, want %q", c.fault, got, c.want)
		}
	}

	until, _ := (agentcli.Fault{Message: "You've hit your session limit · resets 3pm"}).Limit(
		now.In(berlin),
	)
	if until.Format(time.DateTime) != "2026-02-01 14:00:00" {
		t.Errorf("without a zone it is that of the machine, got %s", until)
	}
}

// FuzzLimit: whatever a program says, an end that is read is a time within reach, or unknown.
func FuzzLimit(f *testing.F) {
	for _, s := range []string{
		"usage limit reached|1769904000", "hit your limit, resets Feb 30 at 12:99am (No/Where)",
		"usage limit, try again in 9999999d 1h", "usage limit resets 13pm",
	} {
		f.Add(s)
	}
	now := time.Date(2026, 1, 31, 22, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, message string) {
		until, reached := agentcli.Fault{Status: 429, Message: message}.Limit(now)
		if !reached && !until.IsZero() {
			t.Errorf("%q: no limit, and it ends at %s", message, until)
		}
		if _, err := until.MarshalJSON(); err != nil {
			t.Errorf("%q: %s: %v", message, until, err)
		}
	})
}
