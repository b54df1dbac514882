#!/usr/bin/env bash
# Runs tests: "check" those that start no browser, "all" all of them. More arguments go to go test.
set -eu
cd "$(dirname "$0")/.."
tests=$1
shift
bin=$PWD/bin/test
mkdir -p "$bin/real"

# Packages whose tests start browsers; those that only drive processes or read files, in which the race
# detector has nothing to see; and those that compute so much (bridge/gatetest) that they run without
# it, too. What is landing runs by day in make landing and make clients-short.
engine="./session/cdp"
browsers="./e2e ./e2e/app ./e2e/effects ./e2e/run ./examples ./examples/recipes"
processes="./e2e/suite/serve ./e2e/suite/mcp ./e2e/suite/cluster"
landing="./e2e/suite/life ./e2e/suite/conformance"
reading="./e2e/suite/docs"
computing="./bridge/schema ./bridge/policy ./bridge/opentools ./bridge/records/lease ./bridge/store ./e2e/check ./e2e/report
	./e2e/trace ./e2e/har/tape ./transport/mcp/toolset ./transport/openapi"
others=$(go list ./transport/... ./... | sed "s|^$(go list -m)|.|" | grep -vxF "$(printf '%s\n' $engine $browsers $processes $landing $reading)")

# Node runs the tests of the page's half, beside the others. The Go tests run the same code in the
# browser, so a machine without Node tests less, and is told.
node=
node_major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
if [ "$node_major" -ge 20 ]; then
	# Named files: what node makes of a folder differs between its versions.
	node --test --test-reporter=dot js/test/*.test.mjs >"$bin/node.log" 2>&1 &
	node=$!
else
	echo "JavaScript tests: skipped, they need node 20 or newer."
fi

# The race detector needs cgo and a C compiler.
race=-race
if [ "$(go env CGO_ENABLED)" != 1 ] || ! command -v "$(go env CC)" >/dev/null 2>&1; then
	if [ -n "${CI:-}" ]; then
		echo "test.sh: no C compiler, and CI must test with the race detector." >&2
		exit 1
	fi
	race=
	echo "Race detector: off, it needs a C compiler."
fi
# Without it, every process of the race detector sleeps for a second before it ends.
export GORACE="${GORACE:-atexit_sleep_ms=0}"

# counted NAME PROGRAM [NOTE] prints the path of a script that notes a start of NAME and starts
# PROGRAM. It is written when it changes only, so that Go keeps the results of tests.
starts=$bin/starts
: >"$starts"
counted() {
	printf '#!/bin/sh\n# %s\necho %s >>%s\nexec %s "$@"\n' "${3:-}" "$1" "$starts" "$2" >"$bin/$1.new"
	chmod +x "$bin/$1.new"
	cmp -s "$bin/$1.new" "$bin/$1" || mv "$bin/$1.new" "$bin/$1"
	printf '%s' "$bin/$1"
}

# RACE_BINARY=1 tests a program that is built with the race detector.
go build ${RACE_BINARY:+-race} -o "$bin/real/pagetools" ./cmd/pagetools
PAGETOOLS_BINARY=$(counted pagetools "$bin/real/pagetools" "$(cksum <"$bin/real/pagetools")")
export PAGETOOLS_BINARY

# The servers of tests of clusters. Without any, those tests are skipped; in CI they fail.
PAGETOOLS_NATS_SERVERS=${PAGETOOLS_NATS_SERVERS-$(scripts/nats.sh)}
PAGETOOLS_POSTGRES=${PAGETOOLS_POSTGRES-$(scripts/postgres.sh)}
export PAGETOOLS_NATS_SERVERS PAGETOOLS_POSTGRES

# vet runs in make lint. The timeout is for what hangs; on a machine on which memory is dear, all
# takes ten times as long.
test="go test -json -vet=off -timeout 60m"
# A test that starts a browser belongs to the others. These come before those: beside them they would wait
# for the processors longer than a test may take.
check="env PAGETOOLS_EXECUTABLE_PATH=/nowhere PAGETOOLS_HEADLESS_SHELL="
# shellcheck disable=SC2206
checks=($check RACE_DETECTOR="$race" $test $race -p 2 "$@" $others + $check $test -p 1 "$@" $reading $computing)
failed=0
run() { go run ./scripts/testtimes "$@" || failed=$?; }
finish() {
	if [ -n "$node" ]; then
		wait "$node" || failed=$?
		cat "$bin/node.log"
	fi
	exit "$failed"
}
run "${checks[@]}"
if [ "$tests" = check ]; then
	finish
fi

PAGETOOLS_EXECUTABLE_PATH=$(scripts/browser.sh)
case $PAGETOOLS_EXECUTABLE_PATH in
/usr/bin/chromium*) # a script of the distribution's, which adds flags
	[ ! -x /usr/lib/chromium/chromium ] || PAGETOOLS_EXECUTABLE_PATH=/usr/lib/chromium/chromium
	;;
esac
echo "Browser: $PAGETOOLS_EXECUTABLE_PATH"
# What the headless shell does differently is tested in the browser itself, all else in the
# shell; make contract has the engine's contract in the browser.
# PAGETOOLS_HEADLESS_SHELL= takes the browser for all.
if [ -z "${PAGETOOLS_HEADLESS_SHELL+set}" ]; then
	PAGETOOLS_HEADLESS_SHELL=$(scripts/headless-shell.sh)
fi
echo "Headless shell: ${PAGETOOLS_HEADLESS_SHELL:-none}"

PAGETOOLS_EXECUTABLE_PATH=$(counted chromium "$PAGETOOLS_EXECUTABLE_PATH")
export PAGETOOLS_EXECUTABLE_PATH
if [ -n "$PAGETOOLS_HEADLESS_SHELL" ]; then
	PAGETOOLS_HEADLESS_SHELL=$(counted headless-shell "$PAGETOOLS_HEADLESS_SHELL")
fi
export PAGETOOLS_HEADLESS_SHELL

[ -z "${PAGETOOLS_NIGHTLY:-}" ] || processes="$processes $landing"
# Packages beside each other keep two cores busy, one of each kind at a time. Where a process takes long to
# start, memory is dear: there they take longer so than one after another, and their pages wait for the
# processors longer than a page may take.
# shellcheck disable=SC2206
first=($test -p 1 "$@" $processes) second=($test $race -p 1 "$@" $engine $browsers)
if scripts/dear.sh "$bin/real/pagetools"; then
	echo "Processes start slowly here: one package at a time."
	run "${first[@]}"
	run -counts "$starts" "${second[@]}"
else
	run -counts "$starts" "${first[@]}" + "${second[@]}"
fi
finish
