#!/bin/sh
# Starts one of three nodes on this machine: node.sh a, node.sh b, node.sh c. The process is pagetools itself.
set -eu
case $1 in a) n=0 ;; b) n=1 ;; c) n=2 ;; *) echo "usage: node.sh a|b|c" >&2; exit 2 ;; esac
exec "${PAGETOOLS:-bin/pagetools}" serve --config "$(dirname "$0")/pagetools.yaml" --node "$1" --data-dir "data-$1" \
	--listen "127.0.0.1:73${n}0" --console-listen "127.0.0.1:73${n}1" --peer-listen "127.0.0.1:73${n}2"
