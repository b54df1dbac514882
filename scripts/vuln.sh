#!/bin/sh
# Looks for known vulnerabilities in the code that we call. Arguments go to
# govulncheck. Findings fail. A database that cannot be reached does not: it is
# said, and the check is not done. Everything else that goes wrong fails.
set -eu
cd "$(dirname "$0")/.."

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
# Not with go run, which hides the exit code.
GOBIN="$tools" go install golang.org/x/vuln/cmd/govulncheck@v1.8.0

status=0
"$tools/govulncheck" "$@" ./... >"$tools/log" 2>&1 || status=$?
cat "$tools/log"
# Exit code 3 means findings. A failed fetch of the database is exit code 1 and
# these words; a crash or wrong usage is 2.
if [ "$status" -eq 1 ] && grep -q '^govulncheck: fetching vulnerabilities: Get "https\{0,1\}://' "$tools/log"; then
	echo "vuln.sh: the vulnerability database cannot be reached. NOT CHECKED."
	exit 0
fi
exit "$status"
