#!/bin/sh
# Prints sentences of the documents that have more words than a reader holds at once, each with its place. These are
# hints: it always succeeds. Code, tables, headings, front matter and the targets of links are no prose.
# Usage: sh scripts/sentences.sh [most words, 27]
cd "$(dirname "$0")/.."
for page in *.md docs/*.md docs/guide/*.md docs/reference/*.md; do
	awk -v page="$page" -v most="${1:-27}" '
		function tell(    sentences, words, n, count, i, k) {
			gsub(/`[^`]*`/, "x", text)
			gsub(/\]\([^)]*\)/, "]", text)
			n = split(text, sentences, /[.!?:;]+[)"]*( |$)/)
			for (i = 1; i <= n; i++) {
				count = 0
				k = split(sentences[i], words, " ")
				for (; k > 0; k--) if (words[k] ~ /[[:alnum:]]/) count++
				if (count > most) printf "%s:%d: hint: a sentence of %d words: %.80s\n", page, from, count, sentences[i]
			}
			text = ""
		}
		/^ *(```|~~~)/ { tell(); code = !code; next }
		FNR == 1 && /^---$/ { head = 1; next }
		head { if (/^---$/) head = 0; next }
		code || /^[#|<]/ || /^ *$/ { tell(); next }
		/^ *([-*>]|[0-9]+\.) / { tell() }
		{ if (text == "") from = FNR; text = text " " $0 }
		END { tell() }
	' "$page"
done
