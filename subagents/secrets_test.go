package subagents_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tercet/subagents"
)

// TestPiecesCutNoSecret: a text that is read in pieces is whole again when they are put together,
// and a secret, wherever it stands, is whole in one of them.
func TestPiecesCutNoSecret(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("AAAABBBBCCCC\n", 200) +
		"-----END PRIVATE KEY-----"
	fills := map[string]string{
		"lines":           "some words of a log\n",
		"one line":        "some words of a log ",
		"zeros":           strings.Repeat("\x00", 20),
		"no place at all": "abcdefghij",
	}
	random := rand.New(rand.NewPCG(7, 7))
	for name, fill := range fills {
		for _, secret := range []string{
			"sk-0123456789abcdef0123",
			"Authorization: Bearer 0123456789abcdef",
			key,
		} {
			if name == "no place at all" || name != "lines" && strings.Contains(secret, " ") {
				// such a secret may be cut: it is told from its surroundings by white space
				continue
			}
			for range 12 {
				at := mib*(1+random.IntN(4)) - random.IntN(3000)
				if name == "lines" {
					at -= at % len(fill)
				}
				text := strings.Repeat(fill, 5*mib/len(fill))
				text = text[:at] + " " + secret + "\n" + text[at:]
				var all strings.Builder
				whole := 0
				err := subagents.InPieces(
					strings.NewReader(text),
					int64(len(text)),
					func(piece string) error {
						all.WriteString(piece)
						whole += strings.Count(piece, secret)
						if len(piece) > 2*mib {
							return fmt.Errorf("a piece of %d bytes", len(piece))
						}
						return nil
					},
				)
				if err != nil || all.String() != text || whole != 1 {
					t.Fatalf("%s, %.12q at %d: whole %d times, %d of %d bytes, %v",
						name, secret, at, whole, all.Len(), len(text), err)
				}
			}
		}
	}

	for _, text := range []string{
		"", "x",
		strings.Repeat("abcdefghij", 5*mib/10),
		strings.Repeat("-----BEGIN ", mib/2),
	} {
		var all strings.Builder
		err := subagents.InPieces(
			strings.NewReader(text),
			int64(len(text)),
			func(piece string) error {
				all.WriteString(piece)
				return nil
			},
		)
		if err != nil || all.String() != text {
			t.Errorf("pieces of %d bytes are %d together, %v", len(text), all.Len(), err)
		}
	}
}
