#!/bin/sh
# Fuzzes each target of this repository for FUZZTIME, 60s without one. Arguments are packages;
# without any, all. What a target finds is in its testdata/fuzz: commit it with the fix.
set -eu
cd "$(dirname "$0")/.."
time=${FUZZTIME:-60s}
[ $# -gt 0 ] || set -- ./...

listed=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' "$@")
count=0 failed=
for dir in $listed; do
	targets=$(cat "$dir"/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p')
	for target in $targets; do
		echo "== $target of ${dir#"$PWD"/}, $time"
		count=$((count + 1))
		go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" || failed="$failed $target"
	done
done
echo "Fuzzed $count targets.${failed:+ Failed:$failed}"
[ "$count" -gt 0 ] && [ -z "$failed" ]
