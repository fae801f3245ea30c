# A worker: it waits for a word on its pipe and answers what the word says.
read -r word < "$TERCET_ROOT/$1"
case $word in
approved) verdict='"verdict": "approved",' summary='Nothing found.' issues= ;;
rejected) verdict='"verdict": "rejected",' summary='A password is in the log.' issues='{"level": "error", "description": "the password of the shop is written to the log", "files": ["log/log.go:41"]}' ;;
*)
	verdict= summary='Notes of 2 changes.' issues=
	printf '# Changes\n\n## 1.4.0\n\n- Holidays have hours of their own.\n- A request waits for its turn.\n\n## 1.3.0\n\n- The first shop.\n' > CHANGES.md
	;;
esac
echo "{\"status\": \"completed\", $verdict \"summary\": \"$summary\", \"artifacts\": [], \"errors\": [], \"issues\": [$issues]}" > "$TERCET_RETURN"
