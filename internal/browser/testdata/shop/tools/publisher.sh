#!/bin/sh
printf '{"status": "completed", "summary": "Published.", "artifacts": []}\n'
