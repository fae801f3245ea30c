package editor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/internal/editor"
)

// TestInterrupts: a second Ctrl-C leaves within two seconds, and is a first one behind them.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	got := editor.Interrupts(0, 2*time.Second, 1999*time.Millisecond)
	if want := []bool{false, false, true}; !slices.Equal(got, want) {
		t.Errorf("Interrupts = %v, want %v", got, want)
	}
}

func TestDecoder(t *testing.T) {
	t.Parallel()
	for want, pieces := range map[string][]string{
		`"ab" enter c`:                {"ab\rc"},
		"up alt+enter esc":            {"\x1b", "[A\x1b\r\x1b"},
		`"日本語"`:                       {"\xe6\x97", "\xa5本語"},
		`paste("a\rb\x1b[A" false) x`: {"\x1b[20", "0~a\rb\x1b[A\x1b[2", "01~x"},
		`paste("open" false)`:         {"\x1b[200~open"},
		`paste("" true) "ok"`: {
			"\x1b[200~" + strings.Repeat("x", editor.MaxPaste),
			strings.Repeat("y", 100),
			"\x1b[201~ok",
		},
		`"after"`: {"\x1b]after"},
		// whoever types ahead of a paste may break off in a sequence
		`paste("a\rb" false)`:     {"\x1bO\x1b[200~a\rb\x1b[201~"},
		`esc paste("a\rb" false)`: {"\x1b\x1b[200~a\rb\x1b[201~"},
		// an end that is another's
		`paste("a\rb" false) alt+\ y`: {"\x1b]0;x\x1b[200~a\rb\x1b[201~\x1b\\y"},
		// Shift-F3 looks like an answer of the terminal
		"ctrl+c":             {"\x1b[1;2R\x03"},
		"ctrl+space ctrl+\\": {"\x00\x1c"},
	} {
		if got, _ := editor.Decode(pieces...); strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", pieces, got, want)
		}
	}
}

// FuzzDecoder: no bytes stop it, all are used, and none of a paste is taken for a key.
func FuzzDecoder(f *testing.F) {
	f.Add("\x1b[1;2R\x1b[200~a\rb\x1b[201~\x1b]x\x07\x1bP\x9b5\xff", 3)
	f.Add("\x9b\x1bO\x1b]0;x\x1b\x1b[200~a\rb\x1b[201~\x1b\\", 9)
	f.Fuzz(func(t *testing.T, data string, cut int) {
		cut = min(max(cut, 0), len(data))
		if got, left := editor.Decode(data[:cut], data[cut:]); left > 0 || len(got) > len(data) {
			t.Errorf("%d events of %d bytes, %d are left", len(got), len(data), left)
		}
		inside := strings.NewReplacer("\x1b", "", "~", "").Replace(data)
		got, _ := editor.Decode("\x1b[200~" + inside + "\x1b[201~")
		if len(got) != 1 || !strings.HasPrefix(got[0], "paste(") {
			t.Errorf("a paste of %q gives %q", inside, got)
		}
		got, _ = editor.Decode(data[:cut], data[cut:]+"\x1b[201~\x1b[200~a\rb\x1b[201~")
		if got[len(got)-1] != `paste("a\rb" false)` {
			t.Errorf("%q and a paste end with %s", data, got[len(got)-1])
		}
	})
}
