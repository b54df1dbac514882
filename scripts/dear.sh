#!/usr/bin/env bash
# Reports with its status whether processes start slowly on this machine, as where memory is dear: there,
# tests beside each other take longer than one after another. Usage: dear.sh PROGRAM, which takes the word
# version.
set -eu
began=$SECONDS
for _ in $(seq 40); do "$1" version >/dev/null; done
[ $((SECONDS - began)) -ge 2 ]
