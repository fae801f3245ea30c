package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var goals = flag.Bool("goals", false, "measure how fast the page is on the screen")

// commandFile is the text of a command.
func commandFile(name, limits, steps string) string {
	return "---\ncommand: " + name + "\ndescription: Many steps\nlimits: " + limits +
		"\n---\n\n## Workflow Execution\n\n### Step 1: Many\n\n```yaml step\n" + steps + "```\n"
}

// painted is when the answer of the server began, and when the first of it was painted, in
// milliseconds since the page was asked for.
const painted = `[performance.getEntriesByType('navigation')[0].responseStart,
	performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0]`

// TestGoals measures how fast a run of 1,000 steps is painted, and a step that has ended. It fails
// for no time.
func TestGoals(t *testing.T) { //nolint:paralleltest // one browser at a time
	if !*goals {
		t.Skip("only with -goals")
	}
	p := newPlace(t)
	for name, text := range map[string]string{
		"long": commandFile("long", "{steps: 2000}",
			"id: many\nforeach: \"[range(999)]\"\ndo:\n  - {check: 1 == 1}\n"),
		"beat": commandFile("beat", "{steps: 2000}",
			"id: beat\nforeach: \"[range(60)]\"\ndo:\n  - {wait: 200ms}\n  - {check: 1 == 1}\n"),
	} {
		file := filepath.Join(p.dir, ".tercet", "commands", name+".md")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.run(*program, "/long", "--no-input")
	long := strings.TrimSpace(p.run(*program, "query", "--runs", "-r", ".runs[0].run"))
	ctx := p.browse()
	p.open(ctx, "about:blank")
	var first, later, answered []time.Duration
	for range 9 {
		s := p.serve()
		p.do(ctx, "sign in", chromedp.Navigate(s.link), sees("Nothing waits"))
		for _, times := range []*[]time.Duration{&first, &later} {
			var at []float64
			p.do(ctx, "the run", chromedp.Navigate(s.page("/p/shop/runs/"+long)), sees("Steps"),
				chromedp.Evaluate(painted, &at))
			*times = append(*times, time.Duration(at[1]*float64(time.Millisecond)))
			answered = append(answered, time.Duration(at[0]*float64(time.Millisecond)))
			p.do(ctx, "home", chromedp.Navigate(s.page("/")), sees("Nothing waits"))
		}
		s.cmd.Process.Signal(os.Interrupt)
		s.cmd.Wait()
	}
	slices.Sort(first)
	slices.Sort(later)
	slices.Sort(answered)
	fmt.Printf("first paint of a run of 1,000 steps: %s after the start, then %s; the answer "+
		"begins after %s (medians of %d)\n",
		first[len(first)/2], later[len(later)/2], answered[len(answered)/2], len(first))
	p.beats(ctx)
}

// watchSteps notes when the row of a step that has ended has been painted.
const watchSteps = `window.seen = {};
new MutationObserver(() => {
  for (const state of document.querySelectorAll('#steps .state.good')) {
    const id = state.closest('li').id;
    if (id in seen) continue;
    seen[id] = 0;
    requestAnimationFrame(() => setTimeout(() => { seen[id] = Date.now(); }));
  }
}).observe(document.body, {subtree: true, childList: true}); true`

// beats measures the time from the journal line of a step to its row on the screen.
func (p *place) beats(ctx context.Context) {
	s := p.serve()
	p.do(ctx, "sign in", chromedp.Navigate(s.link), sees("Nothing waits"))
	run := p.start("/beat")
	seen := map[string]int64{}
	p.do(ctx, "the run", chromedp.Navigate(s.page("/p/shop/runs/"+run)), sees("Steps"),
		chromedp.Evaluate(watchSteps, nil),
		chromedp.WaitVisible("#run-head .state.good", chromedp.ByQuery),
		chromedp.Sleep(time.Second), // for what is painted last, which is not measured
		chromedp.Evaluate("window.seen", &seen))
	data, err := os.ReadFile(filepath.Join(p.dir, ".tercet", "runs", run, "journal.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	began := map[string]string{} // the id of the row of a step
	var late []time.Duration
	for line := range bytes.Lines(data) {
		var entry struct {
			Type string
			Time time.Time
			Step string `json:"step_path"`
		}
		if json.Unmarshal(line, &entry) != nil {
			continue
		}
		switch entry.Type {
		case "step_scheduled":
			if began[entry.Step] == "" {
				began[entry.Step] = fmt.Sprintf("s%d", len(began))
			}
		case "step_finished":
			if at := seen[began[entry.Step]]; at > 0 {
				late = append(late, time.UnixMilli(at).Sub(entry.Time))
			}
		}
	}
	if len(late) < 50 {
		p.t.Fatalf("%d steps were seen, want over 50", len(late))
	}
	slices.Sort(late)
	fmt.Printf("a step from its journal line to the screen: median %s, 95 %% of %d within %s\n",
		late[len(late)/2], len(late), late[len(late)*95/100])
}
