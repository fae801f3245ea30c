package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// long is a run of 1,001 steps that then asks.
const long = `---
command: long
description: Many steps and a gate
---

## Workflow Execution

### Step 1: Many

` + "```yaml step\nid: many\nforeach: \"[range(1000)]\"\ndo:\n  - {check: 1 == 1}\n```" + `

### Step 2: Ask

` + "```yaml step\nid: ask\ngate: Go on?\n```\n"

// BenchmarkFirstView is the first view of a run of 1,002 steps by a server that has just begun.
func BenchmarkFirstView(b *testing.B) {
	dir, home := files(b, map[string]string{".tercet/commands/long.md": long})
	server := serve(b, dir, home)

	run := server.start("/p/shop/start/long", url.Values{})
	server.until(run, "waits for an answer")
	address := strings.TrimPrefix(run, "http://"+server.host)

	if err := server.close(); err != nil {
		b.Fatal(err)
	}

	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		again := serve(b, dir, home)
		request := again.request(http.MethodGet, address, "")

		b.StartTimer()
		w := again.send(request)

		b.StopTimer()

		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `id="s1000"`) {
			b.Fatalf("the page is %d: %.500s", w.Code, w.Body)
		}

		b.ReportMetric(float64(w.Body.Len()), "B/page")
		if err := again.close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
