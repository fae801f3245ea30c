package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// shown is a page of which a picture is made.
type shown struct {
	name, path, text string // the text is there when the page is
}

// sizes are those of the screens: a telephone, a tablet, a desk, and a very large one.
var sizes = []struct{ wide, high int64 }{{360, 740}, {800, 900}, {1440, 900}, {2560, 1300}}

// TestEveryScreen: at no size, in light or dark, is a page wider than its window, and nothing of it
// is cut. With -pictures it keeps what it saw.
func TestEveryScreen(t *testing.T) { //nolint:paralleltest // one browser at a time
	p := newPlace(t)
	p.run(*program, "task", "add", "Answer requests in the order in which they came")
	p.run(*program, "task", "add", "Take dates without a zone as UTC")
	p.tercet("/release", "1.1.0", "--yes")
	p.tercet("/release", "1.2.0", "--no-input")
	broken := "---\ncommand: broken\ndescription: Has mistakes\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Go\n\n```yaml step\nid: go\ndelegat: writer\n```\n"
	name := filepath.Join(p.dir, ".tercet", "commands", "broken.md")
	if err := os.WriteFile(name, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	run := strings.TrimSpace(p.run(*program, "query", "--runs", "-r", ".runs[0].run"))
	s := p.serve()
	ctx := p.browse()
	p.open(ctx, s.link)
	for _, page := range []shown{
		{"home", "/", "waits for you"},
		{"run", "/p/shop/runs/" + run, "Steps"},
		{"question", "/p/shop/runs/" + run + "/question", "Publish 1.2.0?"},
		{"start", "/p/shop/start/release?version=one", "At most"},
		{"commands", "/p/shop/start", "Start a command"},
		{"tasks", "/p/shop/tasks", "Answer requests"},
		{"task", "/p/shop/tasks/1", "task 1"},
		{"files", "/p/shop/files", "trusted by the environment"},
		{"file", "/p/shop/files?name=.tercet/commands/broken.md", "delegat"},
		{"trust", "/p/shop/trust", "trusted by the environment"},
	} {
		p.do(ctx, page.name, chromedp.Navigate(s.page(page.path)), sees(page.text))
		for _, size := range sizes {
			for _, scheme := range []string{"light", "dark"} {
				var over int64
				var picture []byte
				p.do(ctx, page.name,
					screen(size.wide, size.high, scheme),
					chromedp.Sleep(50*time.Millisecond), // for a picture
					chromedp.Evaluate("document.documentElement.scrollWidth - innerWidth", &over),
					chromedp.FullScreenshot(&picture, 100),
				)
				if over > 0 {
					t.Errorf("%s is %d pixels too wide at %d", page.name, over, size.wide)
				}
				if *pictures != "" {
					file := fmt.Sprintf("page-%s-%d-%s.png", page.name, size.wide, scheme)
					err := os.WriteFile(filepath.Join(*pictures, file), picture, 0o600)
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}
