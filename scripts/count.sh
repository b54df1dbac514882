#!/bin/sh
# Counts the lines of the product's Go: no tests, no examples, no scripts, no packages
# of fakes (*test), no e2e/suite, nothing generated. With -v, package by package.
set -eu
cd "$(dirname "$0")/.."

files() {
	git ls-files '*.go' | grep -vE '_test\.go$|^examples/|^scripts/|test/[^/]*$|^e2e/suite/|^js/dist/'
}

if [ "${1:-}" = -v ]; then
	for folder in $(files | sed 's|/[^/]*$||' | sort -u); do
		printf '%6d  %s\n' "$(files | grep -E "^$folder/[^/]*\$" | xargs cat | wc -l)" "$folder"
	done
fi
printf '%6d  in all\n' "$(files | xargs cat | wc -l)"
files | xargs cat | expand -t4 | awk 'length > 100 { wide++ } END { printf "%6d  of them over 100 columns (%.1f %%)\n", wide, 100 * wide / NR }'
