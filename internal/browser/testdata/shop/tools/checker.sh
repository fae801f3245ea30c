#!/bin/sh
printf '{"status": "completed", "verdict": "approved", "summary": "The notes agree with the log.", "artifacts": [], "issues": [{"level": "suggestion", "description": "Say how to migrate.", "files": ["docs/notes.md"], "line": 5, "suggested_fix": "Add one line for each renamed flag."}]}\n'
