#!/bin/sh
echo waiting >&2
while [ ! -e go ]; do sleep 0.1; done
printf '{"status": "completed", "summary": "The file came.", "artifacts": []}\n'
