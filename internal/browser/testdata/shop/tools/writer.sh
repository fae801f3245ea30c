#!/bin/sh
# Tells what it does as an agent CLI would, and returns.
printf '%s\n' "Read the log of git" "Wrote the notes" >&2
printf '{"status": "completed", "summary": "Wrote the notes: three changes, one of them breaks callers.", "artifacts": []}\n'
