#!/bin/sh
# Measures ours beside other ways from an agent to a page's tools, in one run with one client,
# and draws the figures. The others are npm's packages, in the versions that are pinned.
set -eu
cd "$(dirname "$0")/.."

peers=e2e/suite/bench/peers
PAGETOOLS_EXECUTABLE_PATH=$(scripts/browser.sh)
PAGETOOLS_HEADLESS_SHELL=$(scripts/headless-shell.sh)
export PAGETOOLS_EXECUTABLE_PATH PAGETOOLS_HEADLESS_SHELL
npm ci --prefix "$peers" --ignore-scripts --no-audit --no-fund --loglevel=error
chmod +x "$peers"/node_modules/agent-browser/bin/agent-browser-* # its own script would, and none runs
go run ./e2e/suite/bench -peers "$peers" -figures docs/peers/figures.json
for node in "$peers"/node_modules/node-*/bin/node; do
	"$node" "$peers/plots.mjs" docs/peers/figures.json docs/peers
done
