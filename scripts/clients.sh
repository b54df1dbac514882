#!/bin/sh
# Runs what others wrote against ours: our cases of WebMCP in the browser's own, clients of MCP
# against pages, and pages made with the frameworks of others, short or all. Clients and frameworks
# need npm's packages, which the tests install into the user's cache; the short form does without
# when there are none, and says NOT CHECKED.
set -eu
cd "$(dirname "$0")/.."

PAGETOOLS_EXECUTABLE_PATH=$(scripts/browser.sh)
PAGETOOLS_HEADLESS_SHELL=$(scripts/headless-shell.sh)
export PAGETOOLS_EXECUTABLE_PATH PAGETOOLS_HEADLESS_SHELL
[ "$1" = all ] && every=1 || every=3
go test ./e2e/suite/conformance -native -every "$every" -count=1
exec go test ./e2e/suite/mcp -run '^(TestClients|TestFrameworks)$' -clients="$1" -v -count=1 -timeout 40m
