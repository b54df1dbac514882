#!/bin/sh
# Runs every test. Arguments go to go test, after our own flags.
set -eu
cd "$(dirname "$0")/.."

PAGETOOLS_EXECUTABLE_PATH=$(scripts/browser.sh)
export PAGETOOLS_EXECUTABLE_PATH
echo "Browser: $PAGETOOLS_EXECUTABLE_PATH"
# What the headless shell does differently is tested in the browser itself, all else in the
# shell; make contract has the engine's contract in the browser.
# PAGETOOLS_HEADLESS_SHELL= takes the browser for all.
if [ -z "${PAGETOOLS_HEADLESS_SHELL+set}" ]; then
	PAGETOOLS_HEADLESS_SHELL=$(scripts/headless-shell.sh)
fi
export PAGETOOLS_HEADLESS_SHELL
echo "Headless shell: ${PAGETOOLS_HEADLESS_SHELL:-none}"

# Node runs the tests of the page's half. The Go tests run the same code in the
# browser, so a machine without Node tests less, and is told.
node_major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
if [ ! -d js/test ]; then
	echo "JavaScript tests: there is no js/test."
elif [ "$node_major" -ge 20 ]; then
	# Named files: what node makes of a folder differs between its versions.
	node --test js/test/*.test.mjs
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
# Two packages at a time: a browser and a test keep two cores busy. The two that take
# longest come first, so that neither is left over. The timeout is for what hangs; a
# machine on which memory is dear needs ten times the usual time.
# shellcheck disable=SC2086
exec go test $race -timeout 60m -p 2 "$@" ./session/cdp ./e2e/suite ./...
